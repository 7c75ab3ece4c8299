//! The completed phases of a run, the rounds of its sections, and the figures of their cells.

use std::collections::BTreeMap;

use iolite_model::{
    CacheStamp, Ending, Nanos, OpKind, PtsCell, PtsPhase, PtsPreWrite, PtsPurged, PtsSection, PtsStage,
    PtsTerms, PtsTest,
};
use iolite_stats::{Direction, Estimate, PhaseResult};

use super::window::PtsWindow;
use crate::run::Run;

/// The completed phases of a run by their tasks' names.
#[derive(Debug, Clone)]
pub struct PtsProgress<'a> {
    run: &'a Run,
    terms: &'a PtsTerms,
    done: BTreeMap<&'a str, &'a PhaseResult>,
}

/// A section's rounds as far as they are measured.
#[derive(Debug, Clone, PartialEq)]
pub struct PtsRounds {
    /// The tracked figure of each complete round; `None` of a round in which no operation completed in the tracked cell.
    pub values: Vec<Option<f64>>,
    /// The last window: of the first rounds that are steady, otherwise of the last rounds. `None` before there are enough.
    pub window: Option<PtsWindow>,
}

/// A cell over the rounds of a measurement window. Of host idle recovery, the mean is that of the last minute of each round, bytes and
/// response times are those of the whole round.
#[derive(Debug, Clone, PartialEq)]
pub struct PtsFigures {
    /// Mean of the rounds: operations per second; nanoseconds in the latency test, bytes per second in the throughput test.
    pub mean: f64,
    /// The mean with its 95 % interval, with each round as one observation; `None` for a single round.
    pub interval: Option<Estimate>,
    /// Bytes per second in these rounds.
    pub bytes_per_second: f64,
    /// Mean response time of these rounds, in nanoseconds.
    pub response: f64,
    /// Longest response time in these rounds.
    pub max: Nanos,
    /// Cache stamp of each round.
    pub stamps: Vec<CacheStamp>,
}

impl<'a> PtsProgress<'a> {
    /// Where a run is.
    pub fn of(run: &'a Run, terms: &'a PtsTerms) -> PtsProgress<'a> {
        let completed = run.phases.iter().filter(|phase| phase.end.ending == Ending::Completed);
        let done = completed.map(|phase| (phase.info.task.name(), phase)).collect();
        PtsProgress { run, terms, done }
    }

    pub(super) fn run(&self) -> &'a Run {
        self.run
    }

    /// What was asked for.
    pub fn terms(&self) -> &'a PtsTerms {
        self.terms
    }

    /// Whether the device was purged before a section, by a phase or by a command of its own.
    pub fn is_purged(&self, section: PtsSection) -> bool {
        let by_command = || {
            let name = section.name();
            self.run.concluded::<PtsPurged>().any(|purged| purged.section == name)
        };
        self.phase(section, PtsPhase::Purge).is_some() || by_command()
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

    /// Number of steps of a stage.
    pub(super) fn steps_of(&self, section: PtsSection, stage: PtsStage) -> u32 {
        self.terms.stages(section).into_iter().find(|(of, _)| *of == stage).map_or(0, |(_, count)| count)
    }

    /// The cells of a round of a section.
    pub(super) fn cells(&self, section: PtsSection) -> Vec<PtsCell> {
        self.terms.cells(section, 1)
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
            if section.test.needs_steady_state() && values.len() >= length {
                window = PtsWindow::of(&values[values.len() - length..], round);
            }
            if window.is_some_and(|window| window.steady) {
                return PtsRounds { values, window };
            }
        }
    }

    /// The rates of the rounds of workload-dependent preconditioning, each of its first minute, and the window; empty of tests without.
    pub fn pre_writes(&self, section: PtsSection) -> PtsRounds {
        let mut values = Vec::new();
        let mut window = None;
        for number in 1..=self.terms.max_rounds {
            let phase = PtsPhase::PreWrite(PtsPreWrite::Precondition(number));
            let Some(result) = self.phase(section, phase) else { break };
            values.push(rate_within(result, 0.0, self.terms.cell.as_secs_f64()));
            let length = self.terms.window.max(2) as usize;
            if values.len() >= length {
                window = PtsWindow::of(&values[values.len() - length..], number);
            }
        }
        PtsRounds { values, window }
    }

    /// Whether any cell of a section is measured.
    pub fn has_cells(&self, section: PtsSection) -> bool {
        self.missing(section, 1).len() < self.terms.cells(section, 1).len()
    }

    /// Whether a section has reached steady state, in its rounds and in their preconditioning; a test that needs none is as it should
    /// be.
    pub fn is_steady(&self, section: PtsSection) -> bool {
        let steady = |rounds: PtsRounds| rounds.window.is_some_and(|window| window.steady);
        let writes = self.pre_writes(section);
        !section.test.needs_steady_state()
            || (steady(self.rounds(section)) && (writes.values.is_empty() || steady(writes)))
    }

    /// The sections whose figures are not those of a steady state.
    pub fn unsteady(&self) -> Vec<PtsSection> {
        self.terms.sections().into_iter().filter(|section| !self.is_steady(*section)).collect()
    }

    /// The sections that need no steady state, or have reached it, and are not through: the run was ended before.
    pub fn incomplete(&self) -> Vec<PtsSection> {
        let is_missing = |section: &PtsSection| {
            let rounds = self.rounds(*section).values.len();
            let stages = self.terms.stages(*section).into_iter();
            let cut = |(stage, count): (PtsStage, u32)| self.steps(*section, stage).len() < count as usize;
            match section.test {
                PtsTest::WriteSaturation => !self.is_saturated(*section, rounds),
                test if test.is_by_zone() => rounds < self.terms.rounds(*section) as usize,
                _ => stages.into_iter().any(cut),
            }
        };
        let sections = self.terms.sections().into_iter();
        sections.filter(|section| self.is_steady(*section) && is_missing(section)).collect()
    }

    /// Whether the write saturation test is over after so many rounds: by what they have written, or by their time.
    pub fn is_saturated(&self, section: PtsSection, rounds: usize) -> bool {
        let spent = (rounds as u64).saturating_mul(self.terms.cell.0);
        self.written(section, rounds) >= self.terms.saturated().0 || spent >= self.terms.saturation.0
    }

    /// The tracked figure of a complete round; `None` where the round is not complete.
    fn tracked(&self, section: PtsSection, round: u32) -> Option<Option<f64>> {
        if !self.missing(section, round).is_empty() {
            return None;
        }
        let cell = self.terms.tracked(section, round)?;
        Some(self.cell_figure(section, self.phase(section, PtsPhase::Cell(cell))?))
    }

    /// The figure of a cell: of host idle recovery of its last minute only. `None` where no operation completed then.
    fn cell_figure(&self, section: PtsSection, result: &PhaseResult) -> Option<f64> {
        if section.test != PtsTest::HostIdleRecovery {
            return figure(section.test, result);
        }
        let (whole, last) = (result.totals.measured as f64 / 1e9, self.terms.cell.as_secs_f64());
        rate_within(result, (whole - last).max(0.0), whole)
    }

    /// The rounds of a window.
    pub fn rounds_of(&self, window: PtsWindow) -> std::ops::RangeInclusive<u32> {
        (window.last + 1).saturating_sub(self.terms.window.max(2))..=window.last
    }

    /// A cell over the rounds of a window; `None` where it is in none of them, and where it has no figure in one of them: a mean of the
    /// others would leave out the slowest. The cell's own round is ignored.
    pub fn figures(&self, section: PtsSection, window: PtsWindow, cell: PtsCell) -> Option<PtsFigures> {
        let of = |round| self.phase(section, PtsPhase::Cell(PtsCell { round, ..cell }));
        let results: Vec<&PhaseResult> = self.rounds_of(window).filter_map(of).collect();
        let values: Option<Vec<f64>> =
            results.iter().map(|result| self.cell_figure(section, result)).collect();
        let values = values?;
        if values.is_empty() {
            return None;
        }
        // Each round is one observation.
        let windows: Vec<(f64, f64)> = values.iter().map(|value| (1.0, *value)).collect();
        let direction = match section.test {
            PtsTest::Latency => Direction::LowerIsBetter,
            _ => Direction::HigherIsBetter,
        };
        Some(PtsFigures {
            mean: values.iter().sum::<f64>() / values.len() as f64,
            interval: Estimate::of_windows(&windows, direction),
            bytes_per_second: results.iter().map(|result| throughput(result)).sum::<f64>()
                / values.len() as f64,
            response: results.iter().map(|result| response(result)).sum::<f64>() / values.len() as f64,
            max: results.iter().map(|result| longest(result)).max().unwrap_or(Nanos(0)),
            stamps: results.iter().map(|result| result.end.cache.stamp()).collect(),
        })
    }

    /// The figure of a cell of one round; `None` where it is not done, and where no operation completed in it.
    pub fn figure(&self, section: PtsSection, cell: PtsCell) -> Option<f64> {
        self.phase(section, PtsPhase::Cell(cell)).and_then(|result| self.cell_figure(section, result))
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
/// tests of throughput bytes a second. `None` where no operation completed: a rate of 0 would be steady, and a time of 0 the best.
pub(super) fn figure(test: PtsTest, result: &PhaseResult) -> Option<f64> {
    let seconds = result.totals.measured as f64 / 1e9;
    let operations = both(|kind| result.totals.operations(kind) as f64);
    if seconds <= 0.0 || operations <= 0.0 {
        return None;
    }
    Some(match test {
        PtsTest::Latency => response(result),
        test if test.is_throughput() => throughput(result),
        _ => operations / seconds,
    })
}

/// Reads and writes per second between two times of a phase, in seconds: of the intervals that begin in it. Of a phase without any
/// interval there, of all of it. `None` where no operation completed.
fn rate_within(result: &PhaseResult, from: f64, to: f64) -> Option<f64> {
    // Intervals end a little after they should: the next one would begin beyond the end.
    const TOLERANCE: f64 = 1e-3;
    if from <= 0.0 && to >= result.totals.measured as f64 / 1e9 {
        return figure(PtsTest::WriteSaturation, result);
    }
    let mut begin = 0.0;
    let (mut seconds, mut operations) = (0.0, 0.0);
    for point in &result.totals.series {
        if begin + TOLERANCE >= from && begin + TOLERANCE < to {
            seconds += point.seconds;
            operations += both(|kind| point.operations[kind] as f64);
        }
        begin += point.seconds;
    }
    if seconds <= 0.0 {
        return figure(PtsTest::WriteSaturation, result);
    }
    (operations > 0.0).then(|| operations / seconds)
}

/// Bytes read and written per second; 0 where no time was measured.
fn throughput(result: &PhaseResult) -> f64 {
    let seconds = result.totals.measured as f64 / 1e9;
    let bytes = both(|kind| result.totals.bytes(kind) as f64);
    if seconds > 0.0 { bytes / seconds } else { 0.0 }
}

/// Mean response time of all reads and writes in nanoseconds; 0 without any.
pub(super) fn response(result: &PhaseResult) -> f64 {
    let operations = both(|kind| result.totals.operations(kind) as f64);
    let sum = |kind| {
        let count = result.totals.operations(kind) as f64;
        result.summary(kind).map_or(0.0, |summary| summary.mean.value * count)
    };
    if operations > 0.0 { both(sum) / operations } else { 0.0 }
}

/// Longest response time of all reads and writes.
pub(super) fn longest(result: &PhaseResult) -> Nanos {
    let of = |kind| result.summary(kind).and_then(|summary| summary.max).unwrap_or(Nanos(0));
    of(OpKind::Read).max(of(OpKind::Write))
}

fn both(of: impl Fn(OpKind) -> f64) -> f64 {
    of(OpKind::Read) + of(OpKind::Write)
}
