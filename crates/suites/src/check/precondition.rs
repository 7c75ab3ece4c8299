//! Random writes before anything is judged, until their rate is steady.

use iolite_model::{OpKind, Warning};
use iolite_stats::{PhaseResult, Preconditioned, SteadyRule, SteadyWatch};

use super::Check;
use super::plan::Stage;

/// Rounds that are looked at (SNIA PTS 2.0.2, steady state: the last five).
const WINDOW: usize = 5;

/// No round may lie further from their mean than this, in percent (PTS: a range of 20 %).
const DEVIATION: f64 = 10.0;

/// The best line through them may not rise or fall by more than 10 % of the mean from the first to the last.
const SLOPE: f64 = 10.0 / (WINDOW as f64 - 1.0);

/// The warning about figures that rest on a state that still changed.
pub(super) fn warning(found: &Preconditioned) -> Option<Warning> {
    (!found.steady).then_some(Warning::NotSteady { rounds: found.rounds, percent: found.deviation_percent })
}

impl Check {
    /// Whether the random writes so far have become steady.
    pub(super) fn is_steady(&self, history: &[PhaseResult]) -> bool {
        self.preconditioned(history).is_some_and(|found| found.steady)
    }

    /// What came of the random writes; `None` without any.
    pub(super) fn preconditioned(&self, history: &[PhaseResult]) -> Option<Preconditioned> {
        let rule =
            |slope, limit| SteadyWatch::new(SteadyRule { slope, limit, percent: true, window: WINDOW });
        let (mut deviation, mut slope) = (rule(false, DEVIATION), rule(true, SLOPE));
        let (mut rounds, mut steady) = (0, false);
        for result in self.results(Stage::Precondition, history) {
            let rate = result.summary(OpKind::Write).map_or(0.0, |summary| summary.rate.value);
            let (near, level) = (deviation.push(rate), slope.push(rate));
            (rounds, steady) = (rounds + 1, near && level);
        }
        let window = deviation.window();
        (rounds > 0).then_some(Preconditioned {
            steady,
            rounds,
            iops: window.mean,
            deviation_percent: window.criterion,
        })
    }
}
