//! What a conductor needs of workers, wherever they run: threads, processes, ranks on other hosts.

use std::time::Duration;

use iolite_model::{Interval, OpKind, OperationLog};
use iolite_stats::{Collector, Snapshot};

use crate::error::{WorkError, WorkersError};
use crate::lane::WorkerEnd;

/// The way to the workers of one group. Workers are numbered by their index within the group.
pub trait Transport {
    /// Starts a worker, which prepares at once.
    ///
    /// # Errors
    /// There is no thread or process to be had.
    fn start(&mut self, worker: usize) -> Result<(), WorkersError>;

    /// The next message of any worker; `None` where none comes within `patience`.
    fn receive(&mut self, patience: Duration) -> Option<(usize, WorkerMessage)>;

    /// All are ready: time counts from this instant of the group's clock. `None` calls the phase off.
    fn release(&mut self, origin: Option<u64>);

    /// What adds the workers' counts up. Called once, when they have been released.
    fn collector(&mut self) -> Collector;

    /// How long after its end an interval is passed on: workers that are in time have handed their share over by then.
    fn settle(&self) -> Duration;

    /// Passes on that the phase is to end as if its time were over. Threads read that from the group's control.
    fn end(&mut self) {}

    /// Passes on that the phase is to end at once. Threads read that from the group's control.
    fn interrupt(&mut self) {}

    /// Kind, offset and issue (nanoseconds since the origin) of the operation that a worker is stuck in, where that can
    /// be seen from outside.
    fn stuck_in(&self, _worker: usize) -> Option<(OpKind, u64, u64)> {
        None
    }
}

/// What a worker sends.
#[derive(Debug)]
pub enum WorkerMessage {
    /// It has prepared and waits for its release.
    Ready,
    /// What it has measured in an interval, where the collector has no feed of it.
    Interval(Interval),
    /// Operations that have completed.
    Operations(OperationLog),
    /// It could not prepare, or its work failed.
    Failed(WorkError),
    /// It has measured.
    Ended(Box<WorkerReport>),
    /// Its thread or process has ended: nothing more comes from it.
    Gone,
}

/// What a worker reports when it has measured.
#[derive(Debug)]
pub struct WorkerReport {
    /// What it has counted besides operations.
    pub end: WorkerEnd,
    /// When its measured part ended, in nanoseconds since the origin.
    pub closed: Option<u64>,
    /// Counts that it has not handed over.
    pub left: Vec<Snapshot>,
}
