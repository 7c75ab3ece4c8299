//! A phase of TPROC-C.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::time::Duration;

use iolite_db::Error;
use iolite_model::{CheckpointCycles, Iops, Nanos, RateKept, Sink, Stop, TprocCCounted, TprocCTask};
use iolite_sys::clock::Clock;
use iolite_workers::{Control, Finished, Outcome, Patience, StartLine, WorkerEnd, WorkerGroup, WorkerStart};

use super::contract::Database;
use super::counters::{Counters, Measures, Read};
use super::input::User;
use super::layout::Layout;
use super::worker::{Kinds, Tally, Worker, distance};
use crate::error::OltpError;

/// How long sessions may take to get ready, and to finish the transaction they are in: it may wait for locks.
const PATIENCE: Patience = Patience {
    ready: Duration::from_secs(120),
    ended: Duration::from_secs(60),
    interrupted: Duration::from_secs(10),
};
/// Share of the transactions that may be behind at the end of an open loop whose rate was kept.
const TOLERANCE: f64 = 0.01;

/// What came of a phase.
#[derive(Debug)]
pub struct Phase {
    /// What was measured.
    pub outcome: Outcome,
    /// What database and users have counted; `None` where the database could not be asked in the end.
    pub counted: Option<TprocCCounted>,
    /// Cycles of checkpoints in the measured time; `None` where the database does not report them.
    pub cycles: Option<CheckpointCycles>,
}

/// The kinds of operation that a run counts: what [`TprocCTask::kinds`] lists.
///
/// # Errors
/// This process has too many kinds of operations.
pub fn kinds() -> Result<Vec<iolite_model::OpKind>, OltpError> {
    Kinds::register().map(Kinds::all)
}

/// Runs TPROC-C as phase number `phase`: a session per user, opened, then released together.
///
/// # Errors
/// The task is invalid, or a session could not be opened: nothing was measured. A database that fails later ends the
/// phase, whose outcome then says so.
pub fn run(
    database: &Arc<dyn Database>,
    task: &TprocCTask,
    phase: u32,
    clock: Clock,
    control: &Control,
    sink: &mut dyn Sink,
) -> Result<Phase, OltpError> {
    let layout = database.layout()?;
    validate(task, layout)?;
    let kinds = Kinds::register()?;
    let group = WorkerGroup {
        phase,
        first: 0,
        workers: task.users,
        delay: Nanos(0),
        kinds: kinds.all(),
        stop: extended(task),
        ramp: task.ramp.into(),
        interval: task.interval,
        clock,
        control: control.clone(),
        patience: PATIENCE,
    };
    let tally = Arc::new(Tally::default());
    let counters = Counters::start(database, measures(task, phase, clock, control))?;
    let release = Release { clock, released: counters.released(), origin: AtomicU64::default() };
    let outcome = group.run(Some(&release), sink, |worker| {
        let (database, task, tally) = (database.clone(), task.clone(), tally.clone());
        move |start| work(database.as_ref(), &task, layout, worker, kinds, tally, start)
    });
    let origin = release.origin.load(Ordering::Relaxed);
    drop(release);
    let read = counters.finish();
    let mut outcome = outcome?;
    outcome.rate = kept(task, &outcome);
    let after = Nanos(clock.now().saturating_sub(origin));
    let read = read.and_then(Result::ok).and_then(|read| counted(read, after, &tally));
    let (counted, cycles) = read.unzip();
    Ok(Phase { outcome, counted, cycles: cycles.flatten() })
}

/// What ends the users at the latest: the measured time may be extended.
fn extended(task: &TprocCTask) -> Stop {
    let more = task.whole_cycles.unwrap_or_default();
    Stop { runtime: task.stop.runtime.map(|runtime| Nanos(runtime.0.saturating_add(more.0))), ..task.stop }
}

/// When a phase measures.
fn measures(task: &TprocCTask, phase: u32, clock: Clock, control: &Control) -> Measures {
    let after = |runtime: Nanos| Nanos(task.ramp.0.saturating_add(runtime.0));
    let latest = extended(task).runtime.filter(|_| task.whole_cycles.is_some()).map(after);
    let control = control.clone();
    let end: Box<dyn FnOnce() + Send> = Box::new(move || control.end_phase(phase));
    Measures {
        clock,
        ramp: task.ramp,
        end: task.stop.runtime.map(after),
        whole_cycles: latest.map(|latest| (latest, end)),
    }
}

fn validate(task: &TprocCTask, layout: Layout) -> Result<(), OltpError> {
    let refuse = |reason: &str| Err(OltpError::Task { task: task.name.clone(), reason: reason.into() });
    if task.users == 0 {
        return refuse("it needs at least one virtual user");
    }
    if task.warehouses != layout.warehouses || task.reduction != layout.reduction {
        return refuse("the database was built with another number of warehouses or another reduction");
    }
    if task.stop.runtime.is_none() && task.stop.operations.is_none() {
        return refuse("it has no stop condition: specify a duration");
    }
    if task.rate.is_some_and(|Iops(rate)| !(rate.is_finite() && rate > 0.0)) {
        return refuse("the rate has to be a number above 0");
    }
    Ok(())
}

/// What one user does from its release to its end.
fn work(
    database: &dyn Database,
    task: &TprocCTask,
    layout: Layout,
    worker: u32,
    kinds: Kinds,
    tally: Arc<Tally>,
    start: WorkerStart,
) -> Result<Finished, OltpError> {
    let mut session = database.session(task.procedures)?;
    let users = u64::from(task.users);
    let share = |total: u64| total / users + u64::from(u64::from(worker) < total % users);
    let user = User::new(layout, worker, task.seed, task.all_warehouses);
    let Some(lane) = start.ready() else { return Ok(None) };
    let worker = Worker {
        session: session.as_mut(),
        lane,
        user,
        kinds,
        tally,
        keying_thinking: task.keying_thinking,
        distance: distance(task),
        left: task.stop.operations.map_or(u64::MAX, share),
        last_completed: 0,
    };
    let (mut lane, outstanding, failure) = worker.run(task);
    let now = lane.now();
    lane.close(now);
    let mut end = WorkerEnd::default();
    (end.outstanding, end.failure) = (outstanding, failure.map(|error: Error| error.into()));
    Ok(Some((lane, end)))
}

/// Where the users are released: who reads counters has the same origin of time as they have.
struct Release {
    clock: Clock,
    released: Sender<u64>,
    origin: AtomicU64,
}

impl StartLine for Release {
    fn wait(&self, give_up: &dyn Fn() -> bool) -> Option<u64> {
        if give_up() {
            return None;
        }
        let origin = self.clock.now();
        self.origin.store(origin, Ordering::Relaxed);
        // Who reads has failed where this is not heard.
        let _ = self.released.send(origin);
        Some(origin)
    }

    fn leave(&self) {}
}

fn counted(mut read: Read, at: Nanos, tally: &Tally) -> Option<(TprocCCounted, Option<CheckpointCycles>)> {
    let after = read.after(at).ok()?;
    let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let counted = TprocCCounted {
        before: read.before,
        start: read.start,
        end: read.end,
        after,
        new_orders: of(&tally.new_orders),
        committed: of(&tally.committed),
        rolled_back: of(&tally.rolled_back),
        deadlocks: of(&tally.deadlocks),
        lock_timeouts: of(&tally.lock_timeouts),
        skipped_deliveries: of(&tally.skipped),
    };
    Some((counted, read.cycles.found()))
}

/// Whether the rate of an open loop was kept, by the rule of block I/O.
fn kept(task: &TprocCTask, outcome: &Outcome) -> Option<RateKept> {
    let asked = task.rate?;
    let seconds = outcome.totals.measured as f64 / 1e9;
    if seconds <= 0.0 {
        return None;
    }
    let totals = &outcome.totals;
    let completed: u64 =
        iolite_model::OpKind::all().map(|kind| totals.operations(kind) + totals.errors(kind)).sum();
    let backlog = outcome.outstanding.backlog;
    let allowed = (TOLERANCE * asked.0 * seconds).max(f64::from(task.users));
    Some(RateKept {
        asked,
        achieved: Iops(completed as f64 / seconds),
        backlog,
        kept: backlog as f64 <= allowed,
    })
}
