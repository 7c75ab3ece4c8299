//! Rows in bulk: LOAD DATA from contents made as they are sent, or INSERTs of many rows where the server takes no files, over
//! two connections at once.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::hash::{BuildHasher, RandomState};
use std::io::Write as _;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use iolite_workload::Filler;
use mysql::prelude::Queryable;
use mysql::{Conn, LocalInfileHandler};

use iolite_db::mysql::{Context, skip_binary_log};
use iolite_db::{Error, Result};

/// Connections at once: the server inserts on one processor per connection, and makes little more of a third one here.
const CONNECTIONS: usize = 2;
/// Bytes of a LOAD DATA's rows: a transaction, after which progress is reported.
const LOAD: u64 = 16 << 20;
/// Most bytes of an INSERT's rows, where the server takes so much.
const INSERT: u64 = 4 << 20;

/// Rows of one table, in order.
#[derive(Debug, Clone)]
pub(super) struct Job {
    pub(super) table: String,
    pub(super) keys: RangeInclusive<u64>,
    pub(super) contents: Contents,
}

/// What a row holds beside its key.
#[derive(Debug, Clone, Copy)]
pub(super) enum Contents {
    /// So many bytes.
    Block(usize),
    /// A value of a subscript: 50 to 100 bytes.
    Value,
}

/// Bytes of a subscript's value: as many whenever it is set, so that no set ever splits a page.
pub(super) fn value_bytes(subscript: u64) -> usize {
    50 + (subscript % 51) as usize
}

impl Contents {
    fn bytes(self, key: u64) -> usize {
        match self {
            Contents::Block(bytes) => bytes,
            Contents::Value => value_bytes(key),
        }
    }

    fn largest(self) -> u64 {
        match self {
            Contents::Block(bytes) => bytes as u64 + 30,
            Contents::Value => 130,
        }
    }
}

enum Event {
    Rows(u64),
    Done(usize),
    Failed(Error),
}

/// Does all jobs; where `logged` is false, outside of the binary log if this role may. `report` receives the rows done of all jobs and may end it, `finished` the number of a job whose rows are all
/// there; both on this thread.
///
/// # Errors
/// The first one, after all connections have ended what they were doing.
pub(super) fn run(
    context: &Context,
    jobs: &[Job],
    logged: bool,
    report: &mut dyn FnMut(u64) -> Result<()>,
    finished: &mut dyn FnMut(usize) -> Result<()>,
) -> Result<()> {
    let queue: Mutex<VecDeque<usize>> = Mutex::new((0..jobs.len()).collect());
    let cancelled = AtomicBool::new(false);
    let (sender, events) = channel();
    thread::scope(|scope| {
        for _ in 0..CONNECTIONS.min(jobs.len()) {
            let (own, queue, cancelled) = (sender.clone(), &queue, &cancelled);
            let spawned = thread::Builder::new().spawn_scoped(scope, move || {
                if let Err(error) = work(context, jobs, logged, queue, cancelled, &own) {
                    cancelled.store(true, Ordering::Relaxed);
                    // Nobody listens any more only where something failed before.
                    let _ = own.send(Event::Failed(error));
                }
            });
            if let Err(error) = spawned {
                cancelled.store(true, Ordering::Relaxed);
                let _ = sender.send(Event::Failed(Error::thread(error)));
                break;
            }
        }
        drop(sender);
        let result = follow(&events, report, finished);
        cancelled.store(result.is_err(), Ordering::Relaxed);
        result
    })
}

fn follow(
    events: &Receiver<Event>,
    report: &mut dyn FnMut(u64) -> Result<()>,
    finished: &mut dyn FnMut(usize) -> Result<()>,
) -> Result<()> {
    let mut rows = 0;
    report(rows)?;
    for event in events {
        match event {
            Event::Rows(more) => {
                rows += more;
                report(rows)?;
            }
            Event::Done(job) => finished(job)?,
            Event::Failed(error) => return Err(error),
        }
    }
    Ok(())
}

/// Does jobs until there are no more, over one connection.
fn work(
    context: &Context,
    jobs: &[Job],
    logged: bool,
    queue: &Mutex<VecDeque<usize>>,
    cancelled: &AtomicBool,
    events: &Sender<Event>,
) -> Result<()> {
    let mut conn = context.target.open()?;
    if !logged && context.facts.has_binary_log() {
        // Who may not writes to it; the caller has been warned.
        let _ =
            skip_binary_log(&mut conn).map_err(|e| context.target.refusal("configure a session of", e))?;
    }
    loop {
        let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let Some(job) = next else { return Ok(()) };
        let (seed, mut first) = (RandomState::new().hash_one(job), *jobs[job].keys.start());
        let last = *jobs[job].keys.end();
        while first <= last {
            if cancelled.load(Ordering::Relaxed) {
                return Ok(());
            }
            let end = last.min(first + rows_at_once(context, jobs[job].contents) - 1);
            let part = Job { keys: first..=end, ..jobs[job].clone() };
            let filler = Filler::new(seed ^ first, 0);
            let sent = match context.facts.takes_infile() {
                true => load(&mut conn, part, filler),
                false => insert(&mut conn, &part, filler),
            };
            sent.map_err(|e| context.target.refusal("fill a table in", e))?;
            let _ = events.send(Event::Rows(end - first + 1));
            first = end + 1;
        }
        let _ = events.send(Event::Done(job));
    }
}

fn rows_at_once(context: &Context, contents: Contents) -> u64 {
    let bytes = match context.facts.takes_infile() {
        true => LOAD,
        // Two digits a byte.
        false => INSERT.min(context.facts.packet() / 3),
    };
    (bytes / contents.largest()).max(1)
}

/// The server asks for a file, and gets what we make as it reads it.
fn load(conn: &mut Conn, part: Job, mut filler: Filler) -> mysql::Result<()> {
    // Bytes are taken as they are but for the four that mean something, and NUL's escape is not used.
    let sql = format!(
        "LOAD DATA LOCAL INFILE 'iolite' INTO TABLE {} CHARACTER SET binary FIELDS TERMINATED BY '\\t' \
         ESCAPED BY '\\\\' LINES TERMINATED BY '\\n'",
        part.table
    );
    conn.set_local_infile_handler(Some(LocalInfileHandler::new(move |_, file| {
        let (mut data, mut text) = (Vec::new(), Vec::new());
        for key in part.keys.clone() {
            data.resize(part.contents.bytes(key), 0);
            filler.fill(&mut data);
            write!(text, "{key}\t")?;
            for &byte in &data {
                match byte {
                    b'\\' => text.extend(b"\\\\"),
                    b'\t' => text.extend(b"\\t"),
                    b'\n' => text.extend(b"\\n"),
                    byte => text.push(byte),
                }
            }
            text.push(b'\n');
            file.write_all(&text)?;
            text.clear();
        }
        Ok(())
    })));
    let done = conn.query_drop(sql);
    conn.set_local_infile_handler(None);
    done
}

fn insert(conn: &mut Conn, part: &Job, mut filler: Filler) -> mysql::Result<()> {
    let mut sql = format!("INSERT INTO {} VALUES ", part.table);
    let mut data = Vec::new();
    for key in part.keys.clone() {
        data.resize(part.contents.bytes(key), 0);
        filler.fill(&mut data);
        let comma = if key == *part.keys.start() { "" } else { "," };
        // Writing to a string does not fail.
        let _ = write!(sql, "{comma}({key},x'");
        for byte in &data {
            let digit = |half: u8| char::from(b"0123456789abcdef"[usize::from(half)]);
            sql.extend([digit(byte >> 4), digit(byte & 15)]);
        }
        sql.push_str("')");
    }
    conn.query_drop(sql)
}
