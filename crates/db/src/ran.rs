//! RanRead, RanWrite and RanIO: InterSystems PerfTools' operations, each operation timed.

use std::sync::Arc;
use std::time::Duration;

use iolite_engine::{Control, Crew, EngineError, Finished, Lane, Outcome, Start, WorkerEnd};
use iolite_model::{DbOperation, DbTask, Nanos, OpKind, Outstanding, Sink};
use iolite_stats::Completion;
use iolite_sys::clock::Clock;
use iolite_workload::{Purpose, below, generator};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::adapter::{Database, Error, Session};

/// Runs a task inside a database as phase number `phase`: one session per worker, prepared, then released together.
/// Intervals and workers' totals go to `sink` as they come.
///
/// # Errors
/// The task makes no sense, or a session could not be opened: nothing was measured. A database that fails later ends
/// the phase, whose outcome then says so.
pub fn run_db_task(
    database: &Arc<dyn Database>,
    task: &DbTask,
    phase: u32,
    clock: Clock,
    control: &Control,
    sink: &mut dyn Sink,
) -> Result<Outcome, EngineError> {
    let blocks = database.blocks().map_err(other)?;
    validate(task, blocks)?;
    let crew = Crew {
        phase,
        first: 0,
        workers: task.workers,
        delay: Nanos(0),
        kinds: kinds(task.operation),
        stop: task.stop,
        ramp: task.ramp,
        interval: task.interval,
        clock,
        control: control.clone(),
    };
    crew.run(sink, |worker| {
        let (database, task) = (database.clone(), task.clone());
        move |start| work(database.as_ref(), &task, worker, blocks, start)
    })
}

fn validate(task: &DbTask, blocks: u64) -> Result<(), EngineError> {
    let refuse = |reason: &str| Err(EngineError::Task { task: task.name.clone(), reason: reason.into() });
    if task.workers == 0 {
        return refuse("it needs at least one worker");
    }
    if blocks == 0 {
        return refuse("the database has no blocks to read: create it first");
    }
    if task.stop.runtime.is_none() && task.stop.operations.is_none() {
        return refuse("nothing would end it: give a runtime or operations");
    }
    match task.operation {
        DbOperation::RanWrite { transaction_length: 0, .. }
        | DbOperation::RanIo { transaction_length: 0, .. } => {
            refuse("a transaction needs at least one operation")
        }
        _ => Ok(()),
    }
}

fn kinds(operation: DbOperation) -> Vec<OpKind> {
    match operation {
        DbOperation::RanRead => vec![OpKind::Read],
        DbOperation::RanWrite { .. } => vec![OpKind::Write, OpKind::Commit],
        DbOperation::RanIo { .. } => vec![OpKind::Read, OpKind::Write, OpKind::Commit],
    }
}

fn other(error: Error) -> EngineError {
    EngineError::Other(error.to_string())
}

fn work(
    database: &dyn Database,
    task: &DbTask,
    worker: u32,
    blocks: u64,
    start: Start,
) -> Result<Finished, EngineError> {
    let mut session = database.session(worker).map_err(other)?;
    let kinds = kinds(task.operation);
    let (reads, writes) = (kinds.contains(&OpKind::Read), kinds.contains(&OpKind::Write));
    session.prepare(reads, writes).map_err(other)?;
    let Some(lane) = start.ready() else { return Ok(None) };
    let share = |total: u64| {
        total / u64::from(task.workers) + u64::from(u64::from(worker) < total % u64::from(task.workers))
    };
    let mut worker = Worker {
        blocks,
        left: task.stop.operations.map_or(u64::MAX, share),
        generator: generator(task.seed, worker, Purpose::Offsets),
        dice: generator(task.seed, worker, Purpose::Mix),
        session: session.as_mut(),
        last_completed: 0,
        lane,
    };
    let failure = worker.run(task.operation).err().map(other);
    // A session has one operation at a time: the last one was underway when the time was over.
    let at_end = u64::from(worker.last_completed > worker.lane.end());
    let end = worker.lane.now();
    worker.lane.close(end);
    let outstanding = Outstanding { at_end, ..Outstanding::default() };
    let mut end = WorkerEnd::default();
    (end.outstanding, end.failure) = (outstanding, failure);
    Ok(Some((worker.lane, end)))
}

/// One worker, from its release to its end.
struct Worker<'a> {
    session: &'a mut dyn Session,
    lane: Lane,
    last_completed: u64,
    blocks: u64,
    /// Operations it may still do.
    left: u64,
    generator: Xoshiro256PlusPlus,
    dice: Xoshiro256PlusPlus,
}

impl Worker<'_> {
    fn run(&mut self, operation: DbOperation) -> Result<(), Error> {
        while self.left > 0 && !self.lane.is_over(self.lane.now()) {
            match operation {
                DbOperation::RanRead => self.reads(1)?,
                DbOperation::RanWrite { transaction_length, hang } => {
                    self.transaction(transaction_length)?;
                    self.hang(hang);
                }
                DbOperation::RanIo { transaction_length, hang, read_percent } => {
                    if below(&mut self.dice, 100) < u64::from(read_percent) {
                        self.reads(transaction_length)?;
                    } else {
                        self.transaction(transaction_length)?;
                    }
                    self.hang(hang);
                }
            }
        }
        Ok(())
    }

    /// Reads random blocks by number.
    fn reads(&mut self, count: u32) -> Result<(), Error> {
        for _ in 0..u64::from(count).min(self.left) {
            let block = below(&mut self.generator, self.blocks);
            self.timed(OpKind::Read, |session| session.read_block(block).map(|bytes| bytes.0))?;
            self.left -= 1;
        }
        Ok(())
    }

    /// Sets random subscripts and commits. A transaction begun is ended, though the time may be over meanwhile.
    fn transaction(&mut self, length: u32) -> Result<(), Error> {
        self.session.begin()?;
        let subscripts = self.session.subscripts();
        for _ in 0..u64::from(length).min(self.left) {
            let subscript = 1 + below(&mut self.generator, subscripts);
            self.timed(OpKind::Write, |session| session.write(subscript).map(|bytes| bytes.0))?;
            self.left -= 1;
        }
        self.timed(OpKind::Commit, |session| session.commit().map(|()| 0))
    }

    /// Does one operation and records how long it took.
    fn timed(
        &mut self,
        kind: OpKind,
        operation: impl FnOnce(&mut dyn Session) -> Result<u64, Error>,
    ) -> Result<(), Error> {
        let issued = self.lane.now();
        let result = operation(self.session);
        let completed = self.lane.now();
        self.last_completed = completed;
        match result {
            Ok(bytes) => {
                self.lane.record(Completion { kind, intended: issued, issued, completed, bytes });
                Ok(())
            }
            Err(error) => {
                self.lane.record_error(kind, completed);
                Err(error)
            }
        }
    }

    /// PerfTools' pause between batches.
    fn hang(&mut self, hang: Nanos) {
        let left = self.lane.end().saturating_sub(self.lane.now());
        std::thread::sleep(Duration::from_nanos(hang.0.min(left)));
    }
}
