//! A run: workers write, make durable, and tell the witness, until they are stopped or the power is.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use iolite_model::acknowledged::{Plan, Totals};
use iolite_model::{Bytes, Nanos};

use crate::database::Commits;
use crate::error::{Error, Result};
use crate::files::{Writer, prepare, remove as remove_files};
use crate::plan::{check_within as check_plan, laid_out};
use crate::record::Identity;
use crate::witness::Witness;

/// Checks whether a limit is met, and returns which.
pub type Watch<'a> = dyn Fn() -> Option<String> + Sync + 'a;

/// Opens a connection for commits: one for the table, and one for each worker.
pub type Open<'a> = dyn Fn() -> Result<Box<dyn Commits>> + Sync + 'a;

/// Limits of a run.
pub struct Limits<'a> {
    /// Time; `None` for until it is interrupted.
    pub duration: Option<Duration>,
    /// Bytes that are written at most.
    pub bytes: Bytes,
    /// Ends the run.
    pub interrupted: &'a AtomicBool,
    /// Ends the run too, when it names a limit; asked several times a second.
    pub watch: &'a Watch<'a>,
}

/// How often the watch is asked.
const LOOK: Duration = Duration::from_millis(200);

/// How long a write may go on when the run is over, until that is reported.
const OVERDUE: Duration = Duration::from_secs(3);

/// How a run is going.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Writes acknowledged so far.
    pub acknowledged: u64,
    /// The run is over, but writes have not returned for a while: the storage or the server does not respond.
    pub overdue: bool,
}

/// What came of a run.
#[derive(Debug)]
pub struct Outcome {
    /// What was acknowledged; all of it is with the witness.
    pub totals: Totals,
    /// What ended the first worker that could not go on.
    pub failure: Option<Error>,
    /// What the run has created and could not remove, where nothing was acknowledged and so nothing is to be checked.
    pub left: Option<String>,
}

/// Does a run in a directory, or in the database that `database` opens. `progress` is called about once a second. Where nothing is
/// acknowledged, what the run has created is removed again, and so are its notes if they are a file.
///
/// # Errors
/// It could not begin. What ends it later is in its outcome.
pub fn run(
    plan: &Plan,
    database: Option<&Open<'_>>,
    witness: &Witness,
    limits: &Limits,
    progress: &mut dyn FnMut(Progress),
) -> Result<Outcome> {
    check_plan(plan, limits.bytes)?;
    match database {
        None => prepare(plan)?,
        Some(open) => open()?.create()?,
    }
    let mut outcome = match witness.plan(plan) {
        Ok(()) => work(plan, database, witness, limits, progress),
        Err(error) => Outcome::of(0, Instant::now(), Some(error)),
    };
    if outcome.totals.acknowledged == 0 {
        outcome.left = remove(plan, database, witness);
    }
    Ok(outcome)
}

/// Removes what a run has created; what could not be removed.
fn remove(plan: &Plan, database: Option<&Open<'_>>, witness: &Witness) -> Option<String> {
    let removed = match database {
        None => remove_files(plan).map_err(|error| format!("the files of the run: {error}")),
        Some(open) => open()
            .and_then(|mut session| session.remove())
            .map_err(|error| format!("the table of the run: {error}")),
    };
    let notes = witness.discard().map_err(|error| error.to_string());
    let left: Vec<String> = [removed, notes].into_iter().filter_map(std::result::Result::err).collect();
    (!left.is_empty()).then(|| left.join("; "))
}

impl Outcome {
    fn of(acknowledged: u64, started: Instant, failure: Option<Error>) -> Outcome {
        let elapsed = Nanos(started.elapsed().as_nanos() as u64);
        Outcome { totals: Totals { acknowledged, elapsed, limit: None }, failure, left: None }
    }
}

/// Writes until a limit, an interruption or a failure.
fn work(
    plan: &Plan,
    database: Option<&Open<'_>>,
    witness: &Witness,
    limits: &Limits,
    progress: &mut dyn FnMut(Progress),
) -> Outcome {
    let (count, stop, failure) = (AtomicU64::new(0), AtomicBool::new(false), Mutex::new(None));
    let (started, mut limit) = (Instant::now(), None);
    let shared = Shared { plan, database, witness, limits, count: &count, stop: &stop, started };
    std::thread::scope(|scope| {
        let mut workers = Vec::new();
        for worker in 0..plan.workers {
            let failed = |error| {
                shared.stop.store(true, Ordering::Relaxed);
                failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            };
            let work = move || {
                if let Err(error) = shared.work(worker) {
                    failed(error);
                }
            };
            match std::thread::Builder::new().spawn_scoped(scope, work) {
                Ok(thread) => workers.push(thread),
                Err(source) => {
                    failed(Error::Thread { source });
                    break;
                }
            }
        }
        let (mut shown, mut looked, mut over) = (Instant::now(), Instant::now(), None);
        while !workers.iter().all(std::thread::ScopedJoinHandle::is_finished) {
            std::thread::sleep(Duration::from_millis(50));
            if limit.is_none() && looked.elapsed() >= LOOK {
                (looked, limit) = (Instant::now(), (limits.watch)());
                stop.fetch_or(limit.is_some(), Ordering::Relaxed);
            }
            if shown.elapsed() >= Duration::from_secs(1) {
                shown = Instant::now();
                let since = over.or_else(|| shared.ended().then_some(shown));
                over = since;
                let overdue = since.is_some_and(|since: Instant| since.elapsed() >= OVERDUE);
                progress(Progress { acknowledged: count.load(Ordering::Relaxed), overdue });
            }
        }
    });
    let failure = failure.lock().unwrap_or_else(PoisonError::into_inner).take();
    let mut outcome = Outcome::of(count.load(Ordering::Relaxed), started, failure);
    outcome.totals.limit = limit;
    if outcome.totals.acknowledged > 0 {
        let ended = if outcome.failure.is_none() { witness.end() } else { witness.sync() };
        // What was noted before is kept: a failure at the end takes nothing away.
        outcome.failure = outcome.failure.or(ended.err());
    }
    outcome
}

#[derive(Clone, Copy)]
struct Shared<'a> {
    plan: &'a Plan,
    database: Option<&'a Open<'a>>,
    witness: &'a Witness,
    limits: &'a Limits<'a>,
    count: &'a AtomicU64,
    stop: &'a AtomicBool,
    started: Instant,
}

impl Shared<'_> {
    fn work(&self, worker: u32) -> Result<()> {
        match self.database {
            None => {
                let mut writer = Writer::open(self.plan, worker)?;
                self.acknowledge(worker, |number| writer.write(number))
            }
            Some(open) => {
                let mut session = open()?;
                self.acknowledge(worker, |number| session.commit(Identity { worker, number }))
            }
        }
    }

    /// One write after the other: noted when it is durable, never before.
    fn acknowledge(&self, worker: u32, mut write: impl FnMut(u64) -> Result<()>) -> Result<()> {
        let bytes = self.limits.bytes.0.saturating_sub(laid_out(self.plan).0);
        let max = bytes / self.plan.block.0 / u64::from(self.plan.workers);
        for number in 1..=max {
            if self.ended() {
                break;
            }
            write(number)?;
            self.witness.acknowledged(Identity { worker, number })?;
            self.count.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    fn ended(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
            || self.limits.interrupted.load(Ordering::Relaxed)
            || self.limits.duration.is_some_and(|duration| self.started.elapsed() >= duration)
    }
}
