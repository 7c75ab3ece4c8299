//! Whole batches, by our procedures, which time each operation where it happens.

use std::fmt::Write;
use std::time::{Duration, Instant};

use iolite_db::mysql::Rows;
use iolite_model::{Bytes, ErrorCause, Nanos, OpKind};
use mysql::Statement;
use mysql::prelude::Queryable;

use super::super::contract::{Batch, Cycle, Timed, Within};
use super::bulk::value_bytes;
use super::schema::{self, DIGITS, READS};
use super::session::{Worker, missing};
use iolite_db::{Error, Result};

/// Most operations that one call of a procedure does: its arguments stay far below any max_allowed_packet.
const CALL: usize = 5000;
/// Max time for which a call may begin operations: a limit beyond it is none.
const DAY: Duration = Duration::from_secs(86400);

/// See [`Within`].
pub(super) struct MysqlWithin {
    worker: Worker,
    reads: Option<Statement>,
    sets: Option<Statement>,
}

/// What a procedure hands back.
type Answer = (Option<Vec<u8>>, u16, Option<String>);

/// The time a batch may take.
#[derive(Clone, Copy)]
struct Allowed {
    began: Instant,
    limit: Duration,
}

impl Allowed {
    /// What is left; `None` when the time is over.
    fn left(&self) -> Option<Duration> {
        self.limit.checked_sub(self.began.elapsed()).filter(|left| left.as_micros() > 0)
    }
}

impl MysqlWithin {
    /// # Errors
    /// [`Error::Unsupported`] on a server on which SYSDATE() stands still during a statement.
    pub(super) fn new(mut worker: Worker) -> Result<MysqlWithin> {
        let stamps: Option<(String, u8, String)> = worker
            .conn
            .query_row("SELECT CAST(SYSDATE(6) AS CHAR), SLEEP(0.001), CAST(SYSDATE(6) AS CHAR)")
            .map_err(|e| worker.refusal("read the clock of", e))?;
        if stamps.is_none_or(|(before, _, after)| before == after) {
            return Err(Error::Unsupported {
                database: worker.context.facts.version.engine(),
                what: "time operations within itself: its SYSDATE() is the time when a statement began",
                remedy: ErrorCause::MyClockStands,
            });
        }
        Ok(MysqlWithin { worker, reads: None, sets: None })
    }

    fn reading(&mut self) -> Result<Statement> {
        if let Some(statement) = &self.reads {
            return Ok(statement.clone());
        }
        let sql = format!("CALL {READS}(?, ?)");
        let statement = self.worker.prepare("prepare reads of", &sql)?;
        Ok(self.reads.insert(statement).clone())
    }

    fn setting(&mut self) -> Result<Statement> {
        if let Some(statement) = &self.sets {
            return Ok(statement.clone());
        }
        self.worker.owns_global()?;
        let sql = format!("CALL {}(?, ?, ?)", schema::sets(self.worker.number.saturating_add(1)));
        let statement = self.worker.prepare("prepare writes to", &sql)?;
        Ok(self.sets.insert(statement).clone())
    }

    /// Reads, one after the other; whether all were done.
    fn reads(&mut self, blocks: &[u64], allowed: Allowed, done: &mut Vec<Timed>) -> Result<bool> {
        let statement = self.reading()?;
        for blocks in blocks.chunks(CALL) {
            let Some(left) = allowed.left() else { return Ok(false) };
            let mut numbers = String::new();
            for &block in blocks {
                let _ = write!(numbers, "{:0DIGITS$}", self.worker.row(block)?);
            }
            let answer: Option<Answer> = self
                .worker
                .conn
                .exec_row(&statement, (numbers, left.as_micros() as u64))
                .map_err(|e| self.worker.refusal("read blocks of", e))?;
            let page = Bytes(self.worker.layout.page);
            let before = done.len();
            self.take(answer, "read blocks of", done, |_| Some((OpKind::Read, page)))?;
            if done.len() - before < blocks.len() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// One transaction.
    fn transaction(&mut self, subscripts: &[u64], done: &mut Vec<Timed>) -> Result<()> {
        let statement = self.setting()?;
        for &subscript in subscripts {
            self.worker.needs_subscript(subscript)?;
        }
        for (part, subscripts) in subscripts.chunks(CALL).enumerate() {
            let (mut list, mut noise) = (String::new(), Vec::new());
            for &subscript in subscripts {
                let _ = write!(list, "{subscript:0DIGITS$}");
                noise.resize(noise.len() + value_bytes(subscript), 0);
            }
            self.worker.filler.fill(&mut noise);
            let answer: Option<Answer> = self
                .worker
                .conn
                .exec_row(&statement, (list, noise, part == 0))
                .map_err(|e| self.worker.refusal("write to", e))?;
            let of = |n: usize| subscripts.get(n).map(|&s| (OpKind::Write, Bytes(value_bytes(s) as u64)));
            self.take(answer, "write to", done, of)?;
        }
        let began = Instant::now();
        self.worker.commit()?;
        let took = i64::try_from(began.elapsed().as_nanos()).unwrap_or(i64::MAX);
        // Placed behind the last set on the server's clock, from which ours may differ: it began somewhat later there,
        // by the way of the answer, and took so long.
        if let Some(started) = done.last().map(|last| last.ended) {
            let ended = started.saturating_add(took);
            done.push(Timed { kind: OpKind::Commit, started, ended, bytes: Bytes(0) });
        }
        Ok(())
    }

    /// Takes a procedure's answer apart: pairs of microseconds.
    fn take(
        &self,
        answer: Option<Answer>,
        doing: &'static str,
        done: &mut Vec<Timed>,
        what: impl Fn(usize) -> Option<(OpKind, Bytes)>,
    ) -> Result<()> {
        let target = &self.worker.context.target;
        let odd =
            || target.damaged(doing, "our procedure there answered something else than ours does".into());
        let (stamps, code, message) = answer.ok_or_else(odd)?;
        let text = String::from_utf8(stamps.unwrap_or_default()).map_err(|_| odd())?;
        let mut numbers = text.split_ascii_whitespace().map(|number| number.parse::<i64>().ok());
        let mut count = 0;
        while let Some(started) = numbers.next() {
            let nanos = |micros: Option<Option<i64>>| micros.flatten()?.checked_mul(1000);
            let stamped = nanos(Some(started)).zip(nanos(numbers.next()));
            let ((started, ended), (kind, bytes)) = stamped.zip(what(count)).ok_or_else(odd)?;
            done.push(Timed { kind, started, ended, bytes });
            count += 1;
        }
        match code {
            0 => Ok(()),
            1146 if doing == "write to" => Err(missing(&self.worker.context, &self.worker.table())),
            code => Err(target.returned(doing, code, &message.unwrap_or_default())),
        }
    }
}

impl Within for MysqlWithin {
    fn prepare(&mut self, reads: bool, writes: bool) -> Result<()> {
        if reads {
            self.reading()?;
            // Opens the table and compiles the procedure.
            if self.worker.blocks > 0 {
                let batch = Batch { cycles: vec![Cycle::Reads(vec![0])], limit: Nanos(u64::MAX) };
                self.perform(&batch, &mut Vec::new())?;
            }
        }
        if writes {
            let statement = self.setting()?;
            let answer: Option<Answer> = self
                .worker
                .conn
                .exec_row(&statement, ("", "", false))
                .map_err(|e| self.worker.refusal("write to", e))?;
            self.take(answer, "write to", &mut Vec::new(), |_| None)?;
            // The procedure without sets does not open the table.
            let table = self.worker.table();
            let opened = self.worker.conn.query_drop(format!("SELECT 1 FROM {table} LIMIT 0"));
            opened.map_err(|e| super::session::lacking(&self.worker.context, &table, "write to", e))?;
        }
        Ok(())
    }

    fn subscripts(&self) -> u64 {
        self.worker.subscripts
    }

    fn perform(&mut self, batch: &Batch, done: &mut Vec<Timed>) -> Result<()> {
        let limit = Duration::from_nanos(batch.limit.0).min(DAY);
        let allowed = Allowed { began: Instant::now(), limit };
        let mut cycles = batch.cycles.iter().peekable();
        while let Some(cycle) = cycles.next() {
            if allowed.left().is_none() {
                return Ok(());
            }
            match cycle {
                Cycle::Reads(blocks) => {
                    // A call of the procedure does as many as there are.
                    let mut blocks = blocks.clone();
                    while let Some(Cycle::Reads(more)) = cycles.peek() {
                        blocks.extend(more);
                        cycles.next();
                    }
                    if !self.reads(&blocks, allowed, done)? {
                        return Ok(());
                    }
                }
                Cycle::Sets(subscripts) if subscripts.is_empty() => {}
                Cycle::Sets(subscripts) => self.transaction(subscripts, done)?,
            }
        }
        Ok(())
    }
}
