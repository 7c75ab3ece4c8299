//! After a crash: what was acknowledged is looked for, and what the test has left is removed where nothing is lost.

use iolite_model::Nanos;
use iolite_model::acknowledged::Findings;
use iolite_results::Run;

use crate::procedure::{Conclusions, Procedure, Step};

/// What a check of durability needs of its environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DurabilityStep {
    /// Look for all that was acknowledged, and record the [`Findings`].
    Compare,
    /// Remove the files or the table of the test.
    Remove,
}

/// The check of durability.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DurabilityCheck {
    ahead: Option<DurabilityStep>,
    remove: bool,
}

impl DurabilityCheck {
    /// A check; with `remove`, what the test has left is removed if nothing is lost.
    pub fn new(remove: bool) -> DurabilityCheck {
        DurabilityCheck { ahead: Some(DurabilityStep::Compare), remove }
    }
}

impl Procedure for DurabilityCheck {
    type Preparation = DurabilityStep;

    fn next(&mut self, run: &Run, _elapsed: Nanos) -> Step<DurabilityStep> {
        if let Some(step) = self.ahead.take() {
            return Step::Prepare(step);
        }
        let found: Option<Findings> = run.concluded().last();
        match found {
            Some(found) if found.lost == 0 && std::mem::take(&mut self.remove) => {
                Step::Prepare(DurabilityStep::Remove)
            }
            _ => Step::Done(Conclusions::default()),
        }
    }

    fn runs_tasks(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use iolite_model::acknowledged::{Method, Plan, RunKey};
    use iolite_model::{Bytes, Concluded, Event, RunInfo, Sink};

    use super::*;

    fn run() -> Run {
        Run::new(RunInfo::default())
    }

    /// The steps of a check that finds so many losses.
    fn steps(remove: bool, lost: u64) -> Vec<DurabilityStep> {
        let (mut check, mut run, mut steps) = (DurabilityCheck::new(remove), run(), Vec::new());
        while let Step::Prepare(step) = check.next(&run, Nanos(0)) {
            steps.push(step);
            let (method, place) = (Method::Append, "/data".to_owned());
            let plan = Plan { run: RunKey([3; 16]), method, block: Bytes(4096), workers: 1, slots: 4, place };
            let losses = Vec::new();
            let found = Findings {
                plan,
                ended: false,
                acknowledged: 9,
                judged: 9,
                lost,
                losses,
                torn_in_progress: 0,
            };
            run.event(&Event::Concluded(Box::new(Concluded::of(&found))));
            assert!(steps.len() < 5, "{steps:?}");
        }
        steps
    }

    #[test]
    fn only_what_has_lost_nothing_is_removed() {
        use DurabilityStep::{Compare, Remove};
        assert_eq!(steps(true, 0), [Compare, Remove]);
        assert_eq!(steps(true, 1), [Compare]);
        assert_eq!(steps(false, 0), [Compare]);
    }
}
