//! A run made of the files of another program.

use std::collections::HashMap;

use iolite_model::{Event, Nanos};

/// A run made of the files of another program.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// Its events, complete.
    pub events: Vec<Event>,
    /// Where it came from, and what is unknown: to be kept as its note.
    pub note: String,
}

impl Imported {
    /// When the run ended: with its last phase, in nanoseconds since 1970.
    pub fn finished(&self) -> Nanos {
        let mut started = HashMap::new();
        let mut last = Nanos(0);
        for event in &self.events {
            match event {
                Event::RunStarted(info) => last = info.started_unix,
                Event::PhaseStarted(info) => {
                    started.insert(info.index, info.started);
                }
                Event::PhaseEnded(end) => {
                    let from = started.get(&end.phase).copied().unwrap_or_default();
                    last = last
                        .max(Nanos(self.started().0.saturating_add(from.0).saturating_add(end.measured.0)));
                }
                _ => {}
            }
        }
        last
    }

    fn started(&self) -> Nanos {
        match self.events.first() {
            Some(Event::RunStarted(info)) => info.started_unix,
            _ => Nanos(0),
        }
    }
}
