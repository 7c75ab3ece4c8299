//! A run: workers write, make durable, and tell the witness, until they are stopped or the power is.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use iolite_model::acknowledged::{Plan, Totals};
use iolite_model::{Bytes, Nanos};

use crate::database::Commits;
use crate::error::{Error, Result};
use crate::files::{Writer, prepare};
use crate::plan::check as check_plan;
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

/// Does a run in a directory, or in the database that `database` opens. `progress` receives the acknowledged writes about once a second.
///
/// # Errors
/// What ended the first worker that could not go on; all that was acknowledged until then is with the witness.
pub fn run(
    plan: &Plan,
    database: Option<&Open<'_>>,
    witness: &Witness,
    limits: &Limits,
    progress: &mut dyn FnMut(u64),
) -> Result<Totals> {
    check_plan(plan)?;
    match database {
        None => prepare(plan)?,
        Some(open) => open()?.create()?,
    }
    witness.plan(plan)?;
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
        let (mut shown, mut looked) = (Instant::now(), Instant::now());
        while !workers.iter().all(std::thread::ScopedJoinHandle::is_finished) {
            std::thread::sleep(Duration::from_millis(50));
            if limit.is_none() && looked.elapsed() >= LOOK {
                (looked, limit) = (Instant::now(), (limits.watch)());
                stop.fetch_or(limit.is_some(), Ordering::Relaxed);
            }
            if shown.elapsed() >= Duration::from_secs(1) {
                shown = Instant::now();
                progress(count.load(Ordering::Relaxed));
            }
        }
    });
    let elapsed = Nanos(started.elapsed().as_nanos() as u64);
    let failure = failure.lock().unwrap_or_else(PoisonError::into_inner).take();
    match failure {
        Some(error) => Err(error),
        None => {
            witness.end()?;
            Ok(Totals { acknowledged: count.into_inner(), elapsed, limit })
        }
    }
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
        let max = self.limits.bytes.0 / self.plan.block.0 / u64::from(self.plan.workers);
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
