//! One worker's process, and the batches it does.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use iolite_model::{Durability, ErrorCause};

use super::super::contract::{Batch, Cycle, Timed, Within};
use super::files::{self, Catalogue};
use super::wire::{self, Answers, Header};
use super::{Gtm, journal};
use iolite_db::gtm::process::Refused;
use iolite_db::gtm::{ENGINE, Process, engine};
use iolite_db::{Error, Result};

/// How often journals that GT.M has set aside are looked for.
const TIDYING: Duration = Duration::from_secs(5);

/// See [`Within`].
pub(super) struct GtmSession {
    process: Process,
    directory: PathBuf,
    worker: u32,
    globals: u32,
    subscripts: u64,
    blocks: u64,
    block: u64,
    relaxed: bool,
    ready: Arc<AtomicBool>,
    tidied: Instant,
}

impl GtmSession {
    /// A session over a complete database.
    pub(super) fn open(
        gtm: &Gtm,
        mut process: Process,
        catalogue: &Catalogue,
        worker: u32,
    ) -> Result<GtmSession> {
        process.ask("open", "pool")?;
        Ok(GtmSession {
            process,
            directory: gtm.directory.clone(),
            worker,
            globals: catalogue.globals.len() as u32,
            subscripts: catalogue.globals.get(worker as usize).copied().unwrap_or(0),
            blocks: catalogue.blocks.unwrap_or(0),
            block: catalogue.block,
            relaxed: gtm.settings.durability == Durability::Relaxed,
            ready: Arc::clone(&gtm.ready),
            tidied: Instant::now(),
        })
    }

    fn number(&self) -> u32 {
        self.worker + 1
    }

    fn ask(&mut self, doing: &'static str, command: &str) -> Result<String> {
        let asked = self.process.ask(doing, command);
        if asked.is_err() {
            self.ready.store(false, Ordering::Relaxed);
        }
        asked
    }

    /// Refuses what is not there, which GT.M would make.
    fn check(&self, cycle: &Cycle) -> Result<()> {
        match cycle {
            Cycle::Reads(numbers) => match numbers.iter().find(|&&number| number >= self.blocks) {
                Some(&number) => Err(Error::NoBlock { number, blocks: self.blocks }),
                None => Ok(()),
            },
            Cycle::Sets(_) if self.subscripts == 0 => {
                Err(Error::NoGlobal { worker: self.worker, globals: self.globals })
            }
            Cycle::Sets(numbers) => {
                match numbers.iter().find(|&&number| number == 0 || number > self.subscripts) {
                    Some(&subscript) => Err(Error::NoSubscript {
                        subscript,
                        subscripts: self.subscripts,
                        path: format!("^RanWriteGlobal{}", self.number()).into(),
                    }),
                    None => Ok(()),
                }
            }
        }
    }

    fn line(
        &mut self,
        header: &Header,
        width: usize,
        cycles: &[Cycle],
        line: &wire::Line,
        done: &mut Vec<Timed>,
    ) -> Result<()> {
        let (from, mut answers) = (done.len(), Answers::new(cycles, line, self.block));
        let command = wire::command(header, width, line);
        let answer = self.process.converse(command.as_bytes(), |fields| answers.take(fields, done));
        let answer = answer.inspect_err(|_| self.ready.store(false, Ordering::Relaxed))?;
        let failed = |cause: Refused| {
            let full = cause.mentions(&["GBLOFLOW", "NOSPC", "ENO28"]);
            let likely = if full { ErrorCause::GtmFull } else { ErrorCause::GtmOther };
            engine("work in", &self.directory, cause.into(), likely)
        };
        let answer = answer.map_err(failed)?;
        let (began, rest) = answer.split_once(' ').unwrap_or((&answer, ""));
        let began = began.parse::<i64>().ok().filter(|_| !answers.garbled);
        let began = began.ok_or_else(|| failed(Refused(format!("its answer cannot be read: {answer}"))))?;
        for timed in &mut done[from..] {
            timed.started += began * 1000;
            timed.ended += began * 1000;
        }
        match rest.strip_prefix("error ") {
            Some(cause) => Err(failed(Refused(cause.to_owned()))),
            None if rest == journal::ON => Ok(()),
            None => Err(journal::lost(&self.directory)),
        }
    }

    /// Journals set aside would fill the disk, and nobody needs them: the current one begins with all that was before in
    /// the database.
    fn tidy(&mut self) -> Result<()> {
        if self.tidied.elapsed() < TIDYING {
            return Ok(());
        }
        self.tidied = Instant::now();
        files::remove(&files::generations(&self.directory)?)
    }
}

impl Within for GtmSession {
    fn prepare(&mut self, reads: bool, writes: bool) -> Result<()> {
        let place = self.directory.display().to_string();
        if reads && self.ask("look for the blocks of", "lastblock")? != self.blocks.to_string() {
            let cause = "the last of ^RanReadBlock is not there".into();
            return Err(engine("read", &self.directory, cause, ErrorCause::ContentsChanged));
        }
        if writes {
            if self.subscripts == 0 {
                return Err(Error::NoGlobal { worker: self.worker, globals: self.globals });
            }
            let (number, subscripts) = (self.number(), self.subscripts.to_string());
            if self.ask("look for a global of", &format!("last {number}"))? != subscripts {
                return Err(Error::GlobalMissing { global: format!("^RanWriteGlobal{number}"), place });
            }
            if self.ask("look for the journal of", "journal")? != journal::ON {
                return Err(journal::lost(&self.directory));
            }
            // Reads all of it into the buffers, as far as they go.
            self.ask("read a global of", &format!("count {number}  {subscripts}"))?;
        }
        Ok(())
    }

    fn subscripts(&self) -> u64 {
        self.subscripts
    }

    fn perform(&mut self, batch: &Batch, done: &mut Vec<Timed>) -> Result<()> {
        batch.cycles.iter().try_for_each(|cycle| self.check(cycle))?;
        let width = wire::width(&batch.cycles);
        let lines = wire::lines(&batch.cycles, width).map_err(|_| Error::Unsupported {
            database: ENGINE,
            what: "have a transaction of so many sets",
            remedy: ErrorCause::GtmLongTransaction,
        })?;
        let (began, limit) = (Instant::now(), batch.limit.as_duration());
        for line in &lines {
            let header = Header {
                limit: limit.saturating_sub(began.elapsed()),
                relaxed: self.relaxed,
                global: self.number(),
            };
            self.line(&header, width, &batch.cycles, line, done)?;
        }
        self.tidy()
    }
}
