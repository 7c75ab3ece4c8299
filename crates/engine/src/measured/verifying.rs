//! What the measured loop does for verification.

use iolite_model::ErrorClass;

use super::{InFlight, Loop, WRONG};
use crate::backend::{Backend, Op};
use crate::error::EngineError;
use crate::verify::Checks;
use crate::watch::Watches;

impl<B: Backend, V: Checks, W: Watches> Loop<'_, B, V, W> {
    /// Notifies verification that an operation is over. False where what was read is not what was written, which is recorded
    /// as an error.
    #[inline(never)]
    pub(super) fn checked(&mut self, slot: u32, state: &InFlight, done: bool, completed: u64) -> bool {
        let buffer = self.backend.buffer(slot);
        let length = (state.length as usize).min(buffer.len());
        let op = Op { io: state.io, slot, offset: state.offset, length: state.length };
        let right = self.checks.back(&op, done, &buffer[..length]);
        if !right {
            let found = self.checks.finding().map(|found| format!(": {found}")).unwrap_or_default();
            let what = || {
                (format!("a read at byte {} differs from the data written{found}", op.offset), Some(WRONG))
            };
            self.note_error(ErrorClass::Verify, state, completed, what);
        }
        right
    }

    /// Reads back and verifies what is due, now that nothing is in flight, while measured time stands still. What is wrong ends
    /// the phase where such errors do. Returns the instant after.
    #[inline(never)]
    pub(super) fn verify_what_is_due(&mut self) -> u64 {
        let room = (self.plan.depth.max(1), self.plan.largest as usize);
        let (checks, backend) = (&mut self.checks, &mut *self.backend);
        backend.verifies(true);
        let verified = self.lane.standing_still(|lane| checks.read_back(backend, room, lane));
        backend.verifies(false);
        let now = self.lane.now();
        let failure = match verified {
            Ok(errors) => {
                let found = errors.classes();
                self.errors.merge(errors);
                let ends = found.into_iter().find(|(_, class)| self.errors.end_it(&self.plan.errors, *class));
                ends.map(|(kind, class)| EngineError::Stopped {
                    what: format!("verification: {}", self.errors.last_words(kind, class)),
                })
            }
            Err(error) => Some(error),
        };
        if let Some(failure) = failure {
            self.failure.get_or_insert(failure);
            self.lane.cut(now);
        }
        now
    }
}
