//! Where a run of SNIA's specification is: which cells are measured, and what its windows say. The procedure decides by it, and
//! the report prints it.

use std::collections::BTreeMap;

use iolite_model::{CacheStamp, Ending, Nanos, OpKind, PtsCell, PtsPhase, PtsSection, PtsTerms, PtsTest};
use iolite_stats::{Direction, Estimate, PhaseResult, SteadyRule, SteadyWatch};

use crate::run::Run;

/// Largest range of the values of a window in percent of their mean (SNIA SSS PTS 2.0.2, steady state).
pub const MAX_RANGE: f64 = 20.0;

/// Largest rise of the least squares line over a window in percent of the mean.
pub const MAX_RISE: f64 = 10.0;

/// The completed phases of a run by their tasks' names.
#[derive(Debug, Clone)]
pub struct PtsProgress<'a> {
    terms: &'a PtsTerms,
    done: BTreeMap<&'a str, &'a PhaseResult>,
}

/// A section's rounds as far as they are measured.
#[derive(Debug, Clone, PartialEq)]
pub struct PtsRounds {
    /// The tracked figure of each complete round.
    pub values: Vec<f64>,
    /// The last window: of the first rounds that are steady, otherwise of the last rounds. `None` before there are enough.
    pub window: Option<PtsWindow>,
}

/// A cell over the rounds of a measurement window.
#[derive(Debug, Clone, PartialEq)]
pub struct PtsFigures {
    /// Mean of the rounds: operations per second; nanoseconds in the latency test, bytes per second in the throughput test.
    pub mean: f64,
    /// The mean with its 95 % interval, with each round as one observation; `None` for a single round.
    pub interval: Option<Estimate>,
    /// Longest response time in these rounds.
    pub max: Nanos,
    /// Cache stamp of each round.
    pub stamps: Vec<CacheStamp>,
}

/// A window of rounds and the two criteria.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PtsWindow {
    /// The last round of it, from 1.
    pub last: u32,
    /// Mean of the values.
    pub mean: f64,
    /// Largest value less the smallest, in percent of the mean.
    pub range: f64,
    /// Rise of the least squares line from the first round to the last, without its sign, in percent of the mean.
    pub rise: f64,
    /// Whether both keep their bounds.
    pub steady: bool,
    /// The least squares line: its value at the first round and at the last.
    pub line: (f64, f64),
}

impl PtsWindow {
    /// The window that ends with these values, the oldest first; `None` for fewer than two.
    pub fn of(values: &[f64], last: u32) -> Option<PtsWindow> {
        if values.len() < 2 {
            return None;
        }
        let rule = SteadyRule { slope: true, limit: f64::INFINITY, percent: false, window: values.len() };
        let mut watch = SteadyWatch::new(rule);
        values.iter().for_each(|&value| {
            watch.push(value);
        });
        let window = watch.window();
        let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let smallest = values.iter().copied().fold(f64::INFINITY, f64::min);
        // Nothing at all was done: that is not a steady state.
        let share = |value: f64| if window.mean > 0.0 { 100.0 * value / window.mean } else { f64::INFINITY };
        let range = share(largest - smallest);
        let rise = share(window.slope.abs() * (values.len() - 1) as f64);
        let steady = range <= MAX_RANGE && rise <= MAX_RISE;
        let half = window.slope * (values.len() - 1) as f64 / 2.0;
        let line = (window.mean - half, window.mean + half);
        Some(PtsWindow { last, mean: window.mean, range, rise, steady, line })
    }
}

impl<'a> PtsProgress<'a> {
    /// Where a run is.
    pub fn of(run: &'a Run, terms: &'a PtsTerms) -> PtsProgress<'a> {
        let completed = run.phases.iter().filter(|phase| phase.end.ending == Ending::Completed);
        let done = completed.map(|phase| (phase.info.task.name(), phase)).collect();
        PtsProgress { terms, done }
    }

    /// The result of a phase, where it is done.
    pub fn phase(&self, section: PtsSection, phase: PtsPhase) -> Option<&'a PhaseResult> {
        self.done.get(&*section.phase(phase)).copied()
    }

    /// The cells of a round that are not done yet, in order.
    pub fn missing(&self, section: PtsSection, round: u32) -> Vec<PtsCell> {
        let is_missing = |cell: &PtsCell| self.phase(section, PtsPhase::Cell(*cell)).is_none();
        self.terms.cells(section, round).into_iter().filter(is_missing).collect()
    }

    /// The tracked figures, and the window.
    pub fn rounds(&self, section: PtsSection) -> PtsRounds {
        let mut values = Vec::new();
        let mut window = None;
        let mut round = 0;
        loop {
            round += 1;
            let Some(value) = self.tracked(section, round) else { return PtsRounds { values, window } };
            values.push(value);
            let length = self.terms.window.max(2) as usize;
            if section.test != PtsTest::WriteSaturation && values.len() >= length {
                window = PtsWindow::of(&values[values.len() - length..], round);
            }
            if window.is_some_and(|window| window.steady) {
                return PtsRounds { values, window };
            }
        }
    }

    /// Whether a section has reached steady state; the write saturation test, which has none, is as it should be.
    pub fn is_steady(&self, section: PtsSection) -> bool {
        section.test == PtsTest::WriteSaturation
            || self.rounds(section).window.is_some_and(|window| window.steady)
    }

    /// The sections whose figures are not those of a steady state.
    pub fn unsteady(&self) -> Vec<PtsSection> {
        self.terms.sections().into_iter().filter(|section| !self.is_steady(*section)).collect()
    }

    /// The tracked figure of a complete round.
    fn tracked(&self, section: PtsSection, round: u32) -> Option<f64> {
        if !self.missing(section, round).is_empty() {
            return None;
        }
        let cell = self.terms.tracked(section, round)?;
        Some(figure(section.test, self.phase(section, PtsPhase::Cell(cell))?))
    }

    /// The rounds of a window.
    pub fn rounds_of(&self, window: PtsWindow) -> std::ops::RangeInclusive<u32> {
        (window.last + 1).saturating_sub(self.terms.window.max(2))..=window.last
    }

    /// A cell over the rounds of a window; `None` where it is in none of them. The cell's own round is ignored.
    pub fn figures(&self, section: PtsSection, window: PtsWindow, cell: PtsCell) -> Option<PtsFigures> {
        let of = |round| self.phase(section, PtsPhase::Cell(PtsCell { round, ..cell }));
        let results: Vec<&PhaseResult> = self.rounds_of(window).filter_map(of).collect();
        let values: Vec<f64> = results.iter().map(|result| figure(section.test, result)).collect();
        if values.is_empty() {
            return None;
        }
        // Each round is one observation.
        let windows: Vec<(f64, f64)> = values.iter().map(|value| (1.0, *value)).collect();
        let direction = match section.test {
            PtsTest::Latency => Direction::LowerIsBetter,
            _ => Direction::HigherIsBetter,
        };
        let longest = results.iter().flat_map(|result| {
            [OpKind::Read, OpKind::Write]
                .map(|kind| result.summary(kind).and_then(|summary| summary.max).unwrap_or(Nanos(0)))
        });
        Some(PtsFigures {
            mean: values.iter().sum::<f64>() / values.len() as f64,
            interval: Estimate::of_windows(&windows, direction),
            max: longest.max().unwrap_or(Nanos(0)),
            stamps: results.iter().map(|result| result.end.cache.stamp()).collect(),
        })
    }

    /// The figure of a cell of one round; `None` where it is not done.
    pub fn figure(&self, section: PtsSection, cell: PtsCell) -> Option<f64> {
        self.phase(section, PtsPhase::Cell(cell)).map(|result| figure(section.test, result))
    }

    /// Bytes that the write saturation test has written.
    pub fn written(&self, section: PtsSection, rounds: usize) -> u64 {
        let of = |round| {
            let cell = self.terms.tracked(section, round)?;
            let result = self.phase(section, PtsPhase::Cell(cell))?;
            Some(result.totals.bytes(OpKind::Write))
        };
        (1..=rounds as u32).filter_map(of).fold(0, u64::saturating_add)
    }
}

/// The figure of a cell that a test is about: operations a second; of the latency test the mean response time in nanoseconds; of
/// the throughput test bytes a second.
fn figure(test: PtsTest, result: &PhaseResult) -> f64 {
    let seconds = result.totals.measured as f64 / 1e9;
    let both = |of: &dyn Fn(OpKind) -> f64| of(OpKind::Read) + of(OpKind::Write);
    let operations = both(&|kind| result.totals.operations(kind) as f64);
    if seconds <= 0.0 || operations <= 0.0 {
        return 0.0;
    }
    match test {
        PtsTest::Iops | PtsTest::WriteSaturation => operations / seconds,
        PtsTest::Throughput => both(&|kind| result.totals.bytes(kind) as f64) / seconds,
        PtsTest::Latency => {
            let sum = |kind| {
                let count = result.totals.operations(kind) as f64;
                result.summary(kind).map_or(0.0, |summary| summary.mean.value * count)
            };
            both(&sum) / operations
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first round, from 1, with which a window of five is steady.
    fn first_steady(values: &[f64]) -> Option<u32> {
        let window = |last: usize| PtsWindow::of(&values[last - 5..last], last as u32);
        (5..=values.len()).filter_map(window).find(|window| window.steady).map(|window| window.last)
    }

    #[test]
    fn a_fresh_drive_that_slows_down_is_steady_at_the_round_calculated_by_hand() {
        let values = [1000.0, 800.0, 600.0, 450.0, 400.0, 390.0, 385.0, 380.0, 378.0, 377.0];
        // Rounds 4 to 8: mean 401, range 70 (17.5 %), slope -15.5 a round, so a rise of 62 (15.5 %): not yet.
        let early = PtsWindow::of(&values[3..8], 8).unwrap();
        assert!((early.mean - 401.0).abs() < 1e-9 && (early.range - 100.0 * 70.0 / 401.0).abs() < 1e-9);
        assert!((early.rise - 100.0 * 62.0 / 401.0).abs() < 1e-9 && !early.steady);
        assert!((early.line.0 - 432.0).abs() < 1e-9 && (early.line.1 - 370.0).abs() < 1e-9);
        // Rounds 5 to 9: mean 386.6, range 22 (5.7 %), slope -5.4, rise 21.6 (5.6 %).
        assert_eq!(first_steady(&values), Some(9));
    }

    #[test]
    fn a_drive_that_loses_a_share_each_round_never_settles() {
        // Of any window the line falls by about 4 times 7 % of its middle.
        let values: Vec<f64> = (0..25).map(|round| 1000.0 * 0.93f64.powi(round)).collect();
        assert_eq!(first_steady(&values), None);
    }

    #[test]
    fn saw_teeth_are_steady_when_they_have_become_small() {
        let values = [520.0, 400.0, 520.0, 400.0, 520.0, 430.0, 480.0, 430.0, 480.0];
        // Rounds 4 to 8: mean 452, range 120 (26.5 %). Rounds 5 to 9: mean 468, range 90 (19.2 %), slope -8, rise 32 (6.8 %).
        assert_eq!(first_steady(&values), Some(9));
    }

    #[test]
    fn bounds_belong_to_what_is_steady_and_nothing_is_not() {
        // Range 20 of 100 exactly; the line does not rise.
        let at = PtsWindow::of(&[110.0, 90.0, 100.0, 90.0, 110.0], 5).unwrap();
        assert_eq!((at.mean, at.range, at.rise, at.steady), (100.0, 20.0, 0.0, true));
        assert!(!PtsWindow::of(&[0.0; 5], 5).unwrap().steady);
        assert_eq!(PtsWindow::of(&[1.0], 1), None);
    }
}
