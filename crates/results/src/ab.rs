//! Two jobs that were run in turns: which phases are whose, and what comes of them.

use iolite_model::{Conclusion, OpKind};
use iolite_stats::{Direction, PhaseResult, Sequential, SequentialInterval};
use serde::{Deserialize, Serialize};

use crate::comparison::{Figure, Finding, matched_figures};
use crate::run::Run;

/// Probability of an answer "better" or "worse" where there is no difference.
pub const AB_ERROR: f64 = 0.05;

/// One of the two jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The first.
    A,
    /// The second.
    B,
}

/// A pair of turns, in random order: the numbers of the phases of each side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AbBlock {
    /// Which side came first.
    pub first: Side,
    /// The phases of A.
    pub a: Vec<u32>,
    /// The phases of B.
    pub b: Vec<u32>,
}

/// What two jobs were compared by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AbTerms {
    /// Names of the jobs, A's and B's.
    pub jobs: (String, String),
    /// Pairs at most.
    pub repeat: u32,
    /// The figure that decides when to stop: that of the last part of the jobs, and its main kind of operation.
    pub figure: Figure,
    /// A difference smaller than this share does not matter.
    pub detect: f64,
    /// What the order is drawn by.
    pub seed: u64,
}

/// Why no more pairs were run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AbEnd {
    /// A difference is shown.
    Different,
    /// A difference as large as the one looked for is excluded.
    Alike,
    /// All pairs were run.
    Repeats,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AbConcluded {
    /// What was asked for.
    pub terms: AbTerms,
    /// The pairs, in order.
    pub blocks: Vec<AbBlock>,
    /// Why it ended.
    pub end: AbEnd,
}

impl Conclusion for AbConcluded {
    const KIND: &'static str = "ab";
}

/// A figure over all pairs.
#[derive(Debug, Clone, PartialEq)]
pub struct AbFigure {
    /// Name of the part.
    pub part: String,
    /// Kind of operation.
    pub kind: OpKind,
    /// The figure.
    pub figure: Figure,
    /// Whether it was the one that decided when to stop.
    pub decides: bool,
    /// Geometric means of A and B.
    pub values: (f64, f64),
    /// B over A. Of the figure that decides, its error is 5 %; the others share another 5 %.
    pub interval: SequentialInterval,
    /// The pairs' test.
    pub test: Sequential,
    /// What may be said of B against A.
    pub finding: Finding,
}

/// The pairs of one figure so far.
#[derive(Debug, Clone, PartialEq)]
struct Pairs {
    part: String,
    kind: OpKind,
    figure: Figure,
    direction: Direction,
    decides: bool,
    logs: (f64, f64),
    test: Sequential,
}

/// All figures of the pairs so far.
pub fn figures(run: &Run, blocks: &[AbBlock], deciding: Figure) -> Vec<AbFigure> {
    let mut all: Vec<Pairs> = Vec::new();
    for block in blocks {
        let phases = |numbers: &[u32]| -> Vec<&PhaseResult> {
            run.phases.iter().filter(|phase| numbers.contains(&phase.info.index)).collect()
        };
        add(&mut all, &phases(&block.a), &phases(&block.b), deciding);
    }
    let others = all.iter().filter(|pairs| !pairs.decides).count().max(1);
    all.into_iter().map(|pairs| pairs.figure(others)).collect()
}

/// The figure that decides, of the pairs so far.
pub fn deciding(run: &Run, blocks: &[AbBlock], figure: Figure) -> Option<AbFigure> {
    figures(run, blocks, figure).into_iter().find(|figure| figure.decides)
}

fn add(all: &mut Vec<Pairs>, a: &[&PhaseResult], b: &[&PhaseResult], deciding: Figure) {
    for found in matched_figures(a, b) {
        let same = |pairs: &Pairs| {
            pairs.part == found.part && pairs.kind == found.kind && pairs.figure == found.figure
        };
        let (before, after) = (found.before.value, found.after.value);
        let index = match all.iter().position(same) {
            Some(index) => index,
            None => {
                all.push(Pairs {
                    part: found.part,
                    kind: found.kind,
                    figure: found.figure,
                    direction: found.before.direction,
                    decides: found.is_main && found.figure == deciding,
                    logs: (0.0, 0.0),
                    test: Sequential::default(),
                });
                all.len() - 1
            }
        };
        let pairs = &mut all[index];
        let usable = |value: f64| value.is_finite() && value > 0.0;
        if usable(before) && usable(after) {
            pairs.test.add(before, after);
            pairs.logs.0 += before.ln();
            pairs.logs.1 += after.ln();
        }
    }
}

impl Pairs {
    fn figure(self, others: usize) -> AbFigure {
        let error = if self.decides { AB_ERROR } else { AB_ERROR / others as f64 };
        let interval = self.test.interval(error);
        let faster = (interval.ratio > 1.0) == (self.direction == Direction::HigherIsBetter);
        let finding = match (interval.is_shown(), faster) {
            (false, _) => Finding::NoDifferenceShown,
            (true, true) => Finding::Better,
            (true, false) => Finding::Worse,
        };
        let mean = |sum: f64| (sum / f64::from(interval.pairs.max(1))).exp();
        AbFigure {
            part: self.part,
            kind: self.kind,
            figure: self.figure,
            decides: self.decides,
            values: (mean(self.logs.0), mean(self.logs.1)),
            interval,
            test: self.test,
            finding,
        }
    }
}
