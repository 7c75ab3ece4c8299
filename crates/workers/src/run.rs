//! A group runs: its workers prepare, are released together, measure, and are collected.
//!
//! Block I/O, metadata and databases all run as groups; what differs is the work.

use iolite_model::Sink;

use crate::barrier::StartLine;
use crate::conductor;
use crate::error::{WorkError, WorkersError};
use crate::group::WorkerGroup;
use crate::lane::{Finished, WorkerStart};
use crate::outcome::Outcome;
use crate::threads::Threads;
use crate::transport::Transport;

impl WorkerGroup {
    /// Runs the phase: starts a thread per worker, which prepares and then calls [`WorkerStart::ready`], and collects until
    /// all have ended. Events of the phase go to `sink`. With a `line`, time starts for the group as it does for whatever
    /// else waits there.
    ///
    /// A worker that hangs does not hang a group whose phase has a runtime: some seconds after its end the worker is given
    /// up on and counted as lost.
    ///
    /// # Errors
    /// A worker could not be started, or could not prepare. A failure after the barrier is the outcome's ending.
    pub fn run<W, E>(
        &self,
        line: Option<&dyn StartLine>,
        sink: &mut dyn Sink,
        work: impl FnMut(u32) -> W,
    ) -> Result<Outcome, WorkersError>
    where
        W: FnOnce(WorkerStart) -> Result<Finished, E> + Send + 'static,
        E: Into<WorkError> + 'static,
    {
        let control = self.control.for_phase(self.phase);
        self.run_over(&mut Threads::new(self, control, work), line, sink)
    }

    /// As [`run`](WorkerGroup::run), with workers that are reached by another way than threads are.
    ///
    /// # Errors
    /// As for [`run`](WorkerGroup::run).
    pub fn run_over(
        &self,
        transport: &mut dyn Transport,
        line: Option<&dyn StartLine>,
        sink: &mut dyn Sink,
    ) -> Result<Outcome, WorkersError> {
        let outcome = conductor::conduct(self, &self.control.for_phase(self.phase), transport, line, sink);
        self.control.forget(self.phase);
        outcome
    }
}
