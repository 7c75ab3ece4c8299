//! What a worker of the measured loop is to do.

use iolite_model::{OnError, SyncMethod, SyncRule};
use iolite_workload::{Arrivals, Filler, OpStream, Priorities, Share};

use crate::backend::Backend;
use crate::flow::FlowSeat;
use crate::measured::batch::Batching;
use crate::zoned::ZoneSeat;

/// What a worker of a block I/O phase is to do.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) stream: OpStream,
    /// Where the span begins in the target, in bytes.
    pub(crate) base: u64,
    pub(crate) arrivals: Arrivals,
    pub(crate) filler: Filler,
    pub(crate) fill: Fill,
    /// What has been read is changed and written back.
    pub(crate) writes_back: bool,
    /// All buffers hold data already: made up before time began.
    pub(crate) filled: bool,
    /// Operations in flight at most; the back end has as many slots.
    pub(crate) depth: u32,
    pub(crate) batch: Batching,
    /// What is left to issue.
    pub(crate) share: Share,
    /// Size of the largest operation.
    pub(crate) largest: u32,
    pub(crate) sync: Option<SyncRule>,
    /// Further syncs, each with the number of writes until it is due.
    pub(crate) also: Vec<(SyncRule, u32)>,
    /// When all is issued, or the time is over, what was written is made durable once more.
    pub(crate) end_sync: Option<SyncMethod>,
    /// Each write is submitted together with its sync.
    pub(crate) linked: bool,
    pub(crate) errors: OnError,
    /// Which operations have an I/O priority of their own.
    pub(crate) priorities: Option<Box<Priorities>>,
    /// A write for which there is no space ends the phase, and is no error.
    pub(crate) until_full: bool,
    /// Its seat at the zones of its device.
    pub(crate) zones: Option<Box<ZoneSeat>>,
    /// The ratio that it keeps with others.
    pub(crate) flow: Option<FlowSeat>,
}

impl Plan {
    /// Makes up data for every slot before time begins, where it does not depend on the operation.
    pub(crate) fn fill_all<B: Backend>(&mut self, backend: &mut B) {
        if self.fill != Fill::Ahead {
            return;
        }
        for slot in 0..self.depth.max(1) {
            let buffer = backend.buffer(slot);
            let length = (self.largest as usize).min(buffer.len());
            self.filler.fill(&mut buffer[..length]);
        }
        self.filled = true;
    }
}

/// When data is made up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fill {
    /// Never: nothing is written.
    Never,
    /// For every free slot before any operation is begun: it is not the storage's time.
    Ahead,
    /// When an operation has been drawn, because it depends on where it goes or how long it is. The operation is issued
    /// after that, and in a closed loop intended then.
    Drawn,
}
