//! What a conductor needs of workers, wherever they run: threads, processes, ranks on other hosts.

use std::sync::mpsc::SyncSender;
use std::thread::{self, Thread};
use std::time::Duration;

use iolite_model::{ErrorTally, Interval, OpKind, OperationLog, Outstanding, Stuck, Usage, Verified};
use iolite_stats::{Collector, DetailRecorder, PhaseTotals, Snapshot};

use crate::error::{WorkError, WorkersError};

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

    /// Start and end of the measured part, in nanoseconds since the origin; `u64::MAX` for one that is not known (yet).
    fn span(&self) -> (u64, u64);

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

/// The way from a worker within this process to the conductor.
#[derive(Debug, Clone)]
pub(crate) struct Sender {
    channel: SyncSender<(usize, WorkerMessage)>,
    /// The conductor's thread: one that conducts several groups waits for none of their channels.
    conductor: Thread,
}

/// The conductor does not listen any more.
#[derive(Debug)]
pub(crate) struct NobodyListens;

impl Sender {
    /// The way to the calling thread, which receives from the channel's other end.
    pub(crate) fn to_this_thread(channel: SyncSender<(usize, WorkerMessage)>) -> Sender {
        Sender { channel, conductor: thread::current() }
    }

    /// Sends a message of the worker of this index within its group.
    pub(crate) fn send(&self, message: (usize, WorkerMessage)) -> Result<(), NobodyListens> {
        self.channel.send(message).map_err(|_| NobodyListens)?;
        self.conductor.unpark();
        Ok(())
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

/// What a worker reports at its end.
#[derive(Debug, Default)]
pub struct WorkerEnd {
    /// What had not completed at the end.
    pub outstanding: Outstanding,
    /// Errors of operations, by kind and class.
    pub errors: Vec<ErrorTally>,
    /// The operations that it has given up on.
    pub stuck: Vec<Stuck>,
    /// What verification found, where it was asked for.
    pub verified: Option<Verified>,
    /// What verification has read during the phase, while measured time stood still.
    pub read_back: Option<Box<PhaseTotals>>,
    /// What threads that work for it have used of the machine; the group adds what its own thread has.
    pub usage: Usage,
    /// What the task's [`Watch`](iolite_model::Watch) has kept of each operation.
    pub detail: Option<Box<DetailRecorder>>,
    /// Why the worker had to end before its time; ends the phase, what was measured is kept.
    pub failure: Option<WorkError>,
}
