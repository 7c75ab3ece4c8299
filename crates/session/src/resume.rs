//! Going on with a run that was cut short.

use iolite_model::{Ending, Event, Nanos, Sink};
use iolite_results::Run;
use iolite_stats::PhaseResult;

use crate::session::Session;

impl Session<'_> {
    /// Records what an earlier run has completed as part of this one, so that this run is whole: its finished phases with what
    /// was concluded of them, and its warnings. What this run measures is placed after them. To be called before anything else of
    /// this run is recorded. Returns the time that the earlier run takes of this one.
    pub fn take_over(&mut self, earlier: Vec<Event>) -> Nanos {
        let before = end_of(&earlier);
        self.begins_after(before);
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
                Event::Warning(warning) => {
                    // What this run has been warned of already, such as of its storage, is not said twice.
                    self.events.warn(warning.clone());
                    false
                }
                _ => false,
            };
            if keep {
                self.events.event(&event);
            }
        }
        before
    }
}

/// Time from the start of a run to the end of its last completed phase.
fn end_of(events: &[Event]) -> Nanos {
    let phases = Run::of(events).map(|run| run.phases).unwrap_or_default();
    let completed = phases.iter().filter(|phase| phase.end.ending == Ending::Completed);
    let end = |phase: &PhaseResult| {
        let length = phase.end.measured.0.saturating_add(phase.totals.ramp_end);
        phase.info.started.0.saturating_add(length)
    };
    Nanos(completed.map(end).max().unwrap_or(0))
}
