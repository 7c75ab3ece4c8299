//! The difference between two runs, or between two sets of repeats.

#[cfg(test)]
mod calibration;
mod circumstances;
mod condition;
mod figures;
mod order;
mod settings;
#[cfg(test)]
mod tests;

use iolite_model::{Ending, OpKind};
use iolite_stats::{Covers, Difference, Direction, Estimate, shown};
use serde::{Deserialize, Serialize};

use crate::run::Run;

pub use condition::{Condition, ConditionError};
use figures::Part;
pub use figures::{Figure, MatchedFigure, matched_figures};

/// Difference that repeats are suggested for where nothing else is asked: 5 %.
pub const DEFAULT_DETECT: f64 = 0.05;

/// Two sets of runs, compared figure by figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Ids of the runs before.
    pub before: Vec<String>,
    /// Ids of the runs after.
    pub after: Vec<String>,
    /// The parts of the runs that both sides have, with their figures.
    pub parts: Vec<PartComparison>,
    /// What differs besides the figures, and what makes the figures less comparable, a sentence each.
    pub caveats: Vec<String>,
    /// What the intervals cover.
    pub covers: Covers,
    /// Number of pairs, where all parts were compared in as many.
    pub pairs: Option<usize>,
    /// Number of figures compared; which differences are shown allows for it.
    pub figures: usize,
    /// The difference that repeats are suggested for, as a share.
    pub detect: f64,
    /// Runs of each side that would show it; `None` where there are as many already.
    pub repeats: Option<u32>,
}

/// One phase, or all phases that do the same, on both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct PartComparison {
    /// Name of the task; `before -> after` where the sides call it otherwise.
    pub name: String,
    /// Operations outstanding at once, or sessions, before and after.
    pub concurrency: (u32, u32),
    /// Cache stamps, before and after.
    pub stamps: (String, String),
    /// Number of pairs of runs that were compared, each run with its neighbour in time; `None` where the sides were compared as sets.
    pub pairs: Option<usize>,
    /// The figures.
    pub figures: Vec<FigureComparison>,
}

/// A figure on both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct FigureComparison {
    /// The kind of operation.
    pub kind: OpKind,
    /// The figure.
    pub figure: Figure,
    /// How it differs.
    pub difference: Difference,
    /// What may be said of it.
    pub finding: Finding,
}

/// What may be said of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finding {
    /// Better after than before.
    Better,
    /// Worse after than before.
    Worse,
    /// It may be chance.
    NoDifferenceShown,
}

/// Why runs can't be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ComparisonError {
    /// A side has no run.
    #[error("a comparison needs at least one run before and one after")]
    Empty,
    /// A run is on both sides.
    #[error("run {0} is on both sides: specify two different runs")]
    Same(String),
    /// A run goes on, was cut short or failed before anything was measured.
    #[error("run {0} has no completed phase with successful operations: there is nothing to compare")]
    Unfinished(String),
    /// No part is in both.
    #[error(
        "the runs have no phase in common: the first side measured {before}; the second side measured {after}"
    )]
    NothingInCommon {
        /// The parts before.
        before: String,
        /// The parts after.
        after: String,
    },
}

impl Comparison {
    /// Compares the runs before with the runs after. `detect` is the difference that repeats are suggested for, as a share.
    ///
    /// Where the runs of both sides alternate in time, each run is compared with its neighbour, so that a level that moves on from run to
    /// run is in both; but not where one side came first in nearly all pairs, because a steady trend then is a difference. Of each part,
    /// the pairs count that have it on both sides.
    ///
    /// Parts are matched by the task's name and its concurrency; where none match and both sides have the same number, by
    /// their place. Several phases of a run that do the same count as one measurement.
    ///
    /// # Errors
    /// [`ComparisonError`] where there is nothing to compare.
    pub fn of(before: &[&Run], after: &[&Run], detect: f64) -> Result<Comparison, ComparisonError> {
        if before.is_empty() || after.is_empty() {
            return Err(ComparisonError::Empty);
        }
        if let Some(both) = before.iter().find(|run| after.iter().any(|other| other.info.id == run.info.id)) {
            return Err(ComparisonError::Same(both.info.id.0.clone()));
        }
        let parts = |runs: &[&Run]| runs.iter().map(|run| parts_of(run)).collect::<Result<Vec<_>, _>>();
        let (mut before_parts, mut after_parts) = (parts(before)?, parts(after)?);
        let pairs = order::pairs(before, after);
        for (one, other, pair) in pairs.into_iter().flatten() {
            let both = before_parts[one].iter_mut().chain(&mut after_parts[other]);
            both.for_each(|part| part.pair = Some(pair));
        }
        let matched = figures::matched(&before_parts, &after_parts);
        if matched.is_empty() {
            let names = |parts: &[Vec<Part>]| figures::names(&parts[0]);
            let (before, after) = (names(&before_parts), names(&after_parts));
            return Err(ComparisonError::NothingInCommon { before, after });
        }
        let mut caveats = circumstances::of_runs(before, after);
        caveats.extend(order::one_after_the_other(before, after));
        caveats.extend(matched.iter().flat_map(circumstances::of_part));
        caveats.extend(figures::left_out(&before_parts, &after_parts, &matched));
        let compared = matched.iter().map(figures::compared).filter(|(part, _)| !part.figures.is_empty());
        let (parts, of_pairs): (Vec<PartComparison>, Vec<Option<String>>) = compared.unzip();
        for caveat in of_pairs.into_iter().flatten() {
            // What is so for all parts is said once.
            if !caveats.contains(&caveat) {
                caveats.push(caveat);
            }
        }
        let pairs = parts.first().and_then(|first| first.pairs);
        let pairs = pairs.filter(|_| parts.iter().all(|part| part.pairs == pairs));
        let ids = |runs: &[&Run]| runs.iter().map(|run| run.info.id.0.clone()).collect();
        Ok(concluded(Comparison {
            before: ids(before),
            after: ids(after),
            parts,
            caveats,
            covers: if before.len() + after.len() > 2 { Covers::BetweenRuns } else { Covers::WithinRuns },
            pairs,
            figures: 0,
            detect,
            repeats: None,
        }))
    }

    /// All figures with the part they belong to.
    pub fn all(&self) -> impl Iterator<Item = (&PartComparison, &FigureComparison)> {
        self.parts.iter().flat_map(|part| part.figures.iter().map(move |figure| (part, figure)))
    }
}

/// Says of each figure what may be said, all of them taken together.
fn concluded(mut comparison: Comparison) -> Comparison {
    let p_values: Vec<f64> = comparison.all().map(|(_, figure)| figure.difference.p).collect();
    let detect = comparison.detect;
    let needed = comparison.all().filter(|(_, figure)| figure.figure.decides());
    let needed = needed.map(|(_, figure)| figure.difference.repeats_for(detect)).max();
    let each = comparison.parts.iter_mut().flat_map(|part| &mut part.figures);
    for (figure, is_shown) in each.zip(shown(&p_values)) {
        figure.finding = match (is_shown, figure.difference.is_better()) {
            (false, _) => Finding::NoDifferenceShown,
            (true, true) => Finding::Better,
            (true, false) => Finding::Worse,
        };
    }
    let has = comparison.before.len().min(comparison.after.len()) as u32;
    comparison.figures = p_values.len();
    comparison.repeats = needed.filter(|needed| *needed > has);
    comparison
}

/// What a run measured, part by part.
fn parts_of(run: &Run) -> Result<Vec<Part>, ComparisonError> {
    let done =
        run.phases.iter().filter(|phase| phase.end.ending == Ending::Completed && !phase.totals.is_empty());
    let parts = figures::parts(done);
    if parts.is_empty() { Err(ComparisonError::Unfinished(run.info.id.0.clone())) } else { Ok(parts) }
}

/// An estimate of which nothing is known but its value.
fn bare(value: f64, direction: Direction) -> Estimate {
    Estimate::mean(value, 0.0, 0.0, direction)
}
