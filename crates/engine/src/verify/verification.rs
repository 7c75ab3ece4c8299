//! Verification of a phase: what its workers stamp and compare, and what is compared when they have ended.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, PoisonError};

use iolite_model::{
    Bytes, Ending, ErrorClass, ErrorTally, FileTask, Fill, Nanos, NullSink, OpKind, Ramp, Stop, Verified,
    Verify,
};
use iolite_stats::PhaseTotals;
use iolite_sys::clock::Clock;
use iolite_workers::{Control, Outcome, Patience, WorkerEnd, WorkerGroup, WorkerStart};
use iolite_workload::Seal;

use crate::backend::Backend;
use crate::error::EngineError;
use crate::target::Targets;
use crate::verify::checker::Checker;
use crate::verify::checker::Kept;
use crate::verify::dump::Dump;
use crate::verify::fio_state::FioState;
use crate::verify::journal::Journal;
use crate::verify::judge::Judge;
use crate::verify::passes::Passes;
use crate::verify::read_back::{Found, Left, read_back};
use crate::verify::state::StateFile;
use crate::verify::written::Written;

/// Bytes read at a time when all is read back.
const BLOCK: usize = 256 << 10;

/// What is verified: a phase, as far as that matters here.
#[derive(Debug)]
pub(crate) struct Subject {
    pub(crate) task: FileTask,
    /// Number of the phase.
    pub(crate) phase: u32,
    /// Workers in this process.
    pub(crate) workers: u32,
    pub(crate) targets: Targets,
}

/// What came of reading all that was written.
pub(crate) struct ReadAll {
    /// By units.
    pub(crate) verified: Verified,
    /// Reads that have failed, and those of which a unit is wrong.
    errors: Vec<ErrorTally>,
    /// The reads.
    reads: PhaseTotals,
}

/// How a phase is verified.
#[derive(Debug, Clone)]
pub(crate) struct Verification {
    verify: Arc<Verify>,
    unit: u32,
    /// In all headers: distinguishes this phase's data from any other's.
    run: u64,
    seal: Seal,
    /// What its workers have written.
    written: Kept,
    /// Where that is kept for another time, once the phase has begun.
    state: Arc<OnceLock<StateFile>>,
    dump: Dump,
}

impl Verification {
    /// The verification that a task asks for.
    pub(crate) fn of(task: &FileTask) -> Result<Option<Verification>, EngineError> {
        // A number that no other phase has had, whatever machine or time it ran at: the standard library's random keys.
        let run = RandomState::new().hash_one(&task.name);
        task.verify.as_ref().map(|verify| Verification::new(task, verify, run)).transpose()
    }

    /// The same with the number of a certain run.
    pub(crate) fn new(task: &FileTask, verify: &Verify, run: u64) -> Result<Verification, EngineError> {
        let unit = verify.unit_for(task.block).0 as u32;
        let seal = Seal::new(verify.check, unit, run)
            .map_err(|error| EngineError::Task { task: task.name.clone(), reason: error.to_string() })?;
        let seal = seal
            .with_header_at(verify.header_at)
            .and_then(|seal| seal.with_newer_headers(verify.newer_headers))
            .map_err(|error| EngineError::Task { task: task.name.clone(), reason: error.to_string() })?;
        let seal = match &task.contents.fill {
            Fill::Pattern(pattern) => seal.with_pattern(pattern, &verify.offsets),
            _ => seal,
        };
        Ok(Verification {
            verify: Arc::new(verify.clone()),
            unit,
            run,
            seal,
            written: Kept::default(),
            state: Arc::default(),
            dump: Dump::of(task),
        })
    }

    /// The number in all headers.
    pub(crate) fn run(&self) -> u64 {
        self.run
    }

    /// Bytes to read at a time when a task's data is read back.
    pub(crate) fn read_back_block(task: &FileTask) -> usize {
        let asked = task.verify.as_ref().map_or(Bytes(0), |verify| verify.block);
        if asked.0 > 0 { asked.0 as usize } else { BLOCK.max(task.largest().0 as usize) }
    }

    /// What a worker of a phase asks, whose operations lie in `part`.
    pub(crate) fn checker(
        &self,
        of: &Subject,
        worker: u32,
        part: Range<u64>,
        slots: u32,
    ) -> Result<Checker, EngineError> {
        let part = remembered(&of.task, part);
        let written = Written::new(worker, part, self.unit).ok_or(EngineError::worker(
            "not enough memory for the verification state: use a larger verification unit, or a smaller target",
        ))?;
        let judge = self.judge(of, self.verify.anyone);
        let journal = self.state.get().map(|state| Journal::new(state, worker)).transpose()?;
        let kept = self.written.clone();
        let passes = Passes::of(&of.task, &self.verify, worker);
        Checker::new(judge, (written, journal), kept, (passes, of.task.direct), slots)
            .map_err(|source| EngineError::Backend { backend: of.task.backend, source })
    }

    /// Decides about what is read of a phase.
    fn judge(&self, of: &Subject, anyone: bool) -> Judge {
        Judge {
            seal: self.seal.clone(),
            anyone,
            verify: self.verify.clone(),
            dump: self.dump.clone(),
            task: of.task.name.clone(),
            targets: of.targets.for_a_worker(),
        }
    }

    /// Creates the verification state, if one is to be kept: from now on it says what was written, whatever becomes of the program.
    /// `part` returns the place of a worker's operations.
    pub(crate) fn begin_state(
        &self,
        task: &FileTask,
        part: impl Fn(u32) -> Result<Range<u64>, EngineError>,
    ) -> Result<(), EngineError> {
        let Some(path) = self.verify.state.as_ref().filter(|_| !self.verify.fio_state) else { return Ok(()) };
        let parts = (0..task.workers).map(|worker| Ok(remembered(task, part(worker)?)));
        let parts = parts.collect::<Result<Vec<_>, EngineError>>()?;
        let state = StateFile::create(path, task, self.run, self.unit, parts)?;
        // A phase begins once.
        let _ = self.state.set(state);
        Ok(())
    }

    /// Removes the state of a phase that could not be run.
    pub(crate) fn discard_state(&self) {
        if let Some(state) = self.state.get() {
            state.remove();
        }
    }

    /// Reads back and keeps what the task says, when the measurement is over.
    pub(crate) fn conclude<B: Backend>(
        &self,
        of: &Subject,
        outcome: &mut Outcome,
        clock: Clock,
        control: &Control,
        make: impl Fn(&FileTask, u32) -> io::Result<(B, u32, usize)> + Clone + Send + 'static,
    ) -> Result<(), EngineError> {
        let mut written = std::mem::take(&mut *self.written.lock().unwrap_or_else(PoisonError::into_inner));
        written.sort_by_key(|written| written.worker);
        // A worker that hangs takes what it knows with it.
        let complete = written.len() == of.workers as usize;
        outcome.verified.get_or_insert_default().incomplete |= !complete;
        // A state that is not closed counts later writes as right.
        if let Some(state) = self.state.get().filter(|_| complete) {
            state.close()?;
        }
        let saves = self.verify.fio_state && !self.verify.only;
        let state = self.verify.state.as_ref().filter(|_| saves);
        // A thread of fio's is a task of one worker.
        if let (Some(path), Some(written)) = (state, written.first()) {
            FioState::of(&of.task, written, &of.targets).save(path)?;
        }
        if self.verify.after {
            // Comparing what is in memory with itself would say nothing.
            of.targets.forget_cached(&of.task.name)?;
            let ReadAll { verified, errors, reads } = self.read_all(of, written, clock, control, make)?;
            outcome.verified.get_or_insert_default().add(verified);
            let unread = errors.iter().filter(|tally| tally.class != ErrorClass::Verify);
            outcome.unread = unread.map(|tally| tally.count).sum();
            errors.into_iter().for_each(|tally| ErrorTally::add(&mut outcome.errors, tally));
            let before = outcome.read_back.take();
            outcome.read_back =
                Some(before.map_or_else(|| reads.clone(), |before| before.followed_by(&reads)));
        }
        Ok(())
    }

    /// Reads back all that the workers have written, by as many threads.
    pub(crate) fn read_all<B: Backend>(
        &self,
        of: &Subject,
        written: Vec<Written>,
        clock: Clock,
        control: &Control,
        make: impl Fn(&FileTask, u32) -> io::Result<(B, u32, usize)> + Clone + Send + 'static,
    ) -> Result<ReadAll, EngineError> {
        let group = WorkerGroup {
            phase: of.phase,
            first: 0,
            workers: written.len() as u32,
            kinds: vec![OpKind::Read],
            delay: Nanos(0),
            stop: Stop::default(),
            ramp: Ramp::NONE,
            interval: Nanos::SECOND,
            clock,
            control: control.apart(),
            patience: Patience::default(),
        };
        let workers = written.len();
        let mut parts = written.into_iter();
        // An interruption after the last read leaves nothing out; a worker that does not come back does.
        let through = Arc::new(AtomicUsize::new(0));
        let backend = of.task.backend;
        let outcome = group.run(None, &mut NullSink, |_| {
            let judge = self.judge(of, false);
            let (part, task, make, through) = (parts.next(), of.task.clone(), make.clone(), through.clone());
            move |start: WorkerStart| {
                let Some(mut part) = part else { return Ok::<_, EngineError>(None) };
                let (mut back_end, slots, room) =
                    make(&task, part.worker).map_err(|source| EngineError::Backend { backend, source })?;
                let Some(mut lane) = start.ready() else { return Ok(None) };
                let left = (&mut part, Left::All(0));
                let Found { verified, errors } =
                    read_back(&mut back_end, (slots, room), left, &judge, &mut lane)
                        .map_err(EngineError::Queue)?;
                lane.close(lane.now());
                through.fetch_add(1, Ordering::Relaxed);
                let (verified, errors) = (Some(verified), errors.into_tallies());
                Ok(Some((lane, WorkerEnd { verified, errors, ..WorkerEnd::default() })))
            }
        })?;
        if let Ending::Failed(reason) = outcome.ending {
            return Err(EngineError::Other(reason));
        }
        let mut verified = outcome.verified.unwrap_or_default();
        verified.incomplete |= through.load(Ordering::Relaxed) < workers;
        Ok(ReadAll { verified, errors: outcome.errors, reads: outcome.totals })
    }
}

/// What is to be remembered of a worker's part: nothing, where nothing is written.
fn remembered(task: &FileTask, part: Range<u64>) -> Range<u64> {
    if task.mix.writes() || task.mix.trims() { part } else { part.start..part.start }
}
