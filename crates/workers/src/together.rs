//! Groups that start together.

use std::sync::{Arc, Mutex, PoisonError};

use iolite_model::{Event, Sink};

use crate::barrier::{Barrier, StartLine};

/// The start line of groups that start together; whoever starts them opens its barrier.
#[derive(Debug, Default)]
pub struct StartTogether(Arc<Barrier>);

impl StartTogether {
    /// The barrier at which the groups wait.
    pub fn barrier(&self) -> &Barrier {
        &self.0
    }
}

impl StartLine for StartTogether {
    fn wait(&self, _give_up: &dyn Fn() -> bool) -> Option<u64> {
        // Whoever opens the barrier checks whether the user wants to stop.
        self.0.pass()
    }

    fn leave(&self) {
        self.0.leave();
    }
}

/// One consumer for the events of several groups.
pub struct SharedSink<'a, 'b>(pub &'a Mutex<&'b mut dyn Sink>);

impl Sink for SharedSink<'_, '_> {
    fn event(&mut self, event: &Event) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).event(event);
    }
}
