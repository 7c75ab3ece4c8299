//! Going on with a run that was cut short.

use iolite_model::{Ending, Event, Sink};

use crate::session::Session;

impl Session<'_> {
    /// Records what an earlier run has completed as part of this one, so that this run is whole: its finished phases with what
    /// was concluded of them, and its warnings.
    pub fn take_over(&mut self, earlier: Vec<Event>) {
        let completed: Vec<u32> = earlier
            .iter()
            .filter_map(|event| match event {
                Event::PhaseEnded(end) if end.ending == Ending::Completed => Some(end.phase),
                _ => None,
            })
            .collect();
        let kept = |phase: u32| completed.contains(&phase);
        for event in earlier {
            let keep = match &event {
                Event::PhaseStarted(info) => kept(info.index),
                Event::PhaseReleased(release) => kept(release.phase),
                Event::Interval(interval) => kept(interval.phase),
                Event::Worker(worker) => kept(worker.phase),
                Event::PhaseEnded(end) => kept(end.phase),
                Event::Concluded(concluded) => concluded.phase.is_some_and(kept),
                Event::Warning(_) => true,
                _ => false,
            };
            if keep {
                self.events.event(&event);
            }
        }
    }
}
