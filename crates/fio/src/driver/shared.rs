//! Consumers of events that are wanted back.

use std::sync::{Arc, Mutex, PoisonError};

use iolite_model::{Event, Sink};

/// A consumer of events that is wanted back.
#[derive(Debug)]
pub struct Shared<S>(Arc<Mutex<Option<S>>>);

impl<S> Clone for Shared<S> {
    fn clone(&self) -> Shared<S> {
        Shared(self.0.clone())
    }
}

impl<S> Shared<S> {
    /// Holds a consumer.
    pub fn of(sink: S) -> Shared<S> {
        Shared(Arc::new(Mutex::new(Some(sink))))
    }

    /// Takes the consumer; what is shared holds none afterwards.
    pub fn take(&self) -> Option<S> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Does something with it, unless it has been taken.
    pub fn with(&self, work: impl FnOnce(&mut S)) {
        if let Some(sink) = self.0.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            work(sink);
        }
    }
}

impl<S: Sink> Sink for Shared<S> {
    fn event(&mut self, event: &Event) {
        self.with(|sink| sink.event(event));
    }
}
