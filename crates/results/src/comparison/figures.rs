//! The figures of a run, and which of two runs belong together.

use std::collections::BTreeMap;
use std::fmt;

use iolite_model::{Bandwidth, Iops, Layer, Nanos, OpKind, Quantile, Task};
use iolite_stats::{Difference, Estimate, PhaseResult};
use serde::{Deserialize, Serialize};

use super::order::{MIN_PAIRS, Pair, fixed};
use super::settings::settings;
use super::{FigureComparison, Finding, PartComparison};

/// A figure that is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Figure {
    /// Operations per second.
    Rate,
    /// Bytes per second.
    Bandwidth,
    /// Mean response time.
    Mean,
    /// Median response time.
    P50,
    /// 99th percentile of the response times.
    P99,
    /// 99.9th percentile of the response times.
    #[serde(rename = "p99.9")]
    #[strum(serialize = "p99.9")]
    P999,
}

impl Figure {
    /// All, in the order they are printed.
    pub const ALL: [Figure; 6] =
        [Figure::Rate, Figure::Bandwidth, Figure::Mean, Figure::P50, Figure::P99, Figure::P999];

    /// Its name, as in `--fail-if`.
    pub fn name(self) -> &'static str {
        self.into()
    }

    fn quantile(self) -> Option<Quantile> {
        match self {
            Figure::P50 => Some(Quantile(0.5)),
            Figure::P99 => Some(Quantile(0.99)),
            Figure::P999 => Some(Quantile(0.999)),
            Figure::Rate | Figure::Bandwidth | Figure::Mean => None,
        }
    }

    /// Whether the number of repeats is chosen for it: rare percentiles would ask for too many.
    pub(super) fn decides(self) -> bool {
        matches!(self, Figure::Rate | Figure::Mean)
    }

    /// Its value, human-readable: nanoseconds as time, a rate as a count.
    pub fn describe(self, value: f64) -> String {
        match self {
            Figure::Rate => Iops(value).to_string(),
            Figure::Bandwidth => Bandwidth(value).to_string(),
            _ => Nanos(value.round().max(0.0) as u64).to_string(),
        }
    }

    /// The figure of a phase; `None` where nothing succeeded, and where there are too few operations for a percentile.
    pub fn of(self, phase: &PhaseResult, kind: OpKind) -> Option<Estimate> {
        match self.quantile() {
            Some(quantile) => {
                let independent = phase.effective_for_quantile(kind, quantile);
                let resolved = Estimate::resolves(quantile, independent);
                phase.quantile(kind, quantile).filter(|_| resolved)
            }
            None if self == Figure::Bandwidth => phase.bandwidth(kind),
            None => {
                let summary = phase.summary(kind)?;
                let estimate = if self == Figure::Rate { summary.rate } else { summary.mean };
                Some(estimate).filter(|estimate| estimate.value.is_finite())
            }
        }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// All phases of a run that do the same, as one.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub(super) name: String,
    pub(super) concurrency: u32,
    /// Which of the parts of this name and concurrency, from 0.
    ordinal: usize,
    pub(super) phase: PhaseResult,
    /// The pair that its run is one of, where the runs of both sides alternate.
    pub(super) pair: Option<Pair>,
}

impl Part {
    fn key(&self) -> (&str, u32, usize) {
        (&self.name, self.concurrency, self.ordinal)
    }
}

/// The same part in the runs before and in those after; not every run need have it.
pub(super) struct Matched<'a> {
    pub(super) before: Vec<&'a Part>,
    pub(super) after: Vec<&'a Part>,
}

/// The parts of a run. The program's own calibration is none.
pub(super) fn parts<'a>(phases: impl Iterator<Item = &'a PhaseResult>) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for phase in phases.filter(|phase| phase.info.task.layer() != Layer::Calibration) {
        let (name, concurrency) = (phase.info.task.name(), phase.info.task.concurrency());
        let named: Vec<usize> = (0..parts.len())
            .filter(|&index| parts[index].name == name && parts[index].concurrency == concurrency)
            .collect();
        let same = named.iter().find(|&&index| alike(&parts[index].phase.info.task, &phase.info.task));
        match same {
            Some(&index) => parts[index].phase = parts[index].phase.followed_by(phase),
            None => parts.push(Part {
                name: name.to_owned(),
                concurrency,
                ordinal: named.len(),
                phase: phase.clone(),
                pair: None,
            }),
        }
    }
    parts
}

/// Whether two tasks ask for the same, but for the random numbers and the length.
fn alike(one: &Task, other: &Task) -> bool {
    settings(one).iter().eq(settings(other).iter())
}

/// Parts by name, for an error.
pub(super) fn names(parts: &[Part]) -> String {
    let names: Vec<_> = parts.iter().map(|part| format!("`{}` ({})", part.name, part.concurrency)).collect();
    names.join(", ")
}

/// A figure that two sets of phases have in common.
#[derive(Debug, Clone, PartialEq)]
pub struct MatchedFigure {
    /// Name of the part; `before -> after` where the sides call it otherwise.
    pub part: String,
    /// The kind of operation.
    pub kind: OpKind,
    /// The figure.
    pub figure: Figure,
    /// Whether it is of the last part, and of the kind of operation that this is about.
    pub is_main: bool,
    /// The figure before.
    pub before: Estimate,
    /// The figure after.
    pub after: Estimate,
}

/// The figures that two sets of phases have in common, parts matched as in a comparison of runs.
pub fn matched_figures(before: &[&PhaseResult], after: &[&PhaseResult]) -> Vec<MatchedFigure> {
    let sides = [before, after].map(|phases| vec![parts(phases.iter().copied())]);
    if sides.iter().any(|side| side[0].is_empty()) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let matched = matched(&sides[0], &sides[1]);
    for (place, each) in matched.iter().enumerate() {
        let (one, other) = (each.before[0], each.after[0]);
        let (main, is_last) = (one.phase.main_kind(), place + 1 == matched.len());
        for (kind, figure) in OpKind::all().flat_map(|kind| Figure::ALL.map(|figure| (kind, figure))) {
            let both = figure.of(&one.phase, kind).zip(figure.of(&other.phase, kind));
            found.extend(both.map(|(before, after)| MatchedFigure {
                part: title(one, other),
                kind,
                figure,
                is_main: is_last && kind == main,
                before,
                after,
            }));
        }
    }
    found
}

/// What a part is called on both sides.
fn title(before: &Part, after: &Part) -> String {
    if before.name == after.name { before.name.clone() } else { format!("{} -> {}", before.name, after.name) }
}

/// Which parts belong together.
pub(super) fn matched<'a>(before: &'a [Vec<Part>], after: &'a [Vec<Part>]) -> Vec<Matched<'a>> {
    let first = &before[0];
    let with_key = |side: &'a [Vec<Part>], part: &Part| -> Vec<&'a Part> {
        side.iter().filter_map(|parts| parts.iter().find(|other| other.key() == part.key())).collect()
    };
    let by_name =
        first.iter().map(|part| Matched { before: with_key(before, part), after: with_key(after, part) });
    let found: Vec<_> = by_name.filter(|matched| !matched.after.is_empty()).collect();
    if !found.is_empty() {
        return found;
    }
    // Two jobs with other names for what they do: by their place.
    let count = first.len();
    if before.iter().chain(after).any(|parts| parts.len() != count) {
        return Vec::new();
    }
    let at = |side: &'a [Vec<Part>], index: usize| side.iter().map(|parts| &parts[index]).collect();
    (0..count).map(|index| Matched { before: at(before, index), after: at(after, index) }).collect()
}

/// What only one of the sides has.
pub(super) fn left_out(before: &[Vec<Part>], after: &[Vec<Part>], matched: &[Matched<'_>]) -> Vec<String> {
    let is_used = |part: &&Part| {
        let same = |used: &&Part| std::ptr::eq(*used, *part);
        matched.iter().any(|matched| matched.before.iter().chain(&matched.after).any(same))
    };
    let unused = |side: &[Vec<Part>]| {
        let parts: Vec<Part> = side.iter().flatten().filter(|part| !is_used(part)).cloned().collect();
        names(&parts)
    };
    let said = [("before", unused(before)), ("after", unused(after))];
    let said = said.into_iter().filter(|(_, names)| !names.is_empty());
    said.map(|(side, names)| format!("Only the runs {side} have {names}.")).collect()
}

/// The figures of a part, and what there is to say of how its runs were compared.
pub(super) fn compared(matched: &Matched<'_>) -> (PartComparison, Option<String>) {
    let (before, after) = (matched.before[0], matched.after[0]);
    let (sides, caveat) = sides(matched);
    let kinds = OpKind::all().filter(|&kind| {
        let has = |part: &&Part| part.phase.totals.operations(kind) > 0;
        sides.before.iter().all(has) && sides.after.iter().all(has)
    });
    let figures = kinds.flat_map(|kind| Figure::ALL.map(|figure| (kind, figure)));
    let figures = figures.filter_map(|(kind, figure)| compared_figure(&sides, kind, figure));
    let stamp = |part: &Part| part.phase.end.cache.stamp().to_string();
    let part = PartComparison {
        name: title(before, after),
        concurrency: (before.concurrency, after.concurrency),
        stamps: (stamp(before), stamp(after)),
        pairs: sides.in_pairs.then_some(sides.before.len()),
        figures: figures.collect(),
    };
    (part, caveat)
}

fn compared_figure(sides: &Sides<'_>, kind: OpKind, figure: Figure) -> Option<FigureComparison> {
    let of =
        |side: &[&Part]| side.iter().map(|part| figure.of(&part.phase, kind)).collect::<Option<Vec<_>>>();
    let (before, after) = (of(&sides.before)?, of(&sides.after)?);
    let test = if sides.in_pairs { Difference::of_pairs } else { Difference::of };
    let difference = test(&before, &after)?;
    Some(FigureComparison { kind, figure, difference, finding: Finding::NoDifferenceShown })
}

/// The runs of a part that are compared.
struct Sides<'a> {
    before: Vec<&'a Part>,
    after: Vec<&'a Part>,
    /// Whether those at the same place are a pair.
    in_pairs: bool,
}

/// The runs of a part: in pairs where the runs of both sides are pairs, enough of these have the part on both sides, and the order
/// within them varies; otherwise two sets. And why they are not what the order of the runs would let expect.
fn sides<'a>(matched: &Matched<'a>) -> (Sides<'a>, Option<String>) {
    let sets = || Sides { before: matched.before.clone(), after: matched.after.clone(), in_pairs: false };
    let by_pair = |side: &[&'a Part]| {
        side.iter().map(|part| Some((part.pair?, *part))).collect::<Option<BTreeMap<Pair, &'a Part>>>()
    };
    let (Some(before), Some(after)) = (by_pair(&matched.before), by_pair(&matched.after)) else {
        return (sets(), None);
    };
    let name = title(matched.before[0], matched.after[0]);
    let complete: Vec<Pair> = before.keys().filter(|pair| after.contains_key(pair)).copied().collect();
    if complete.len() < MIN_PAIRS {
        let count = complete.len();
        let caveat = format!(
            "`{name}`: only {count} pairs of runs have it on both sides, and a comparison in pairs needs {MIN_PAIRS}: its runs are \
             compared as two sets."
        );
        return (sets(), Some(caveat));
    }
    if let Some(caveat) = fixed(&complete) {
        return (sets(), Some(caveat));
    }
    let single = before.len() + after.len() - 2 * complete.len();
    let caveat = (single > 0).then(|| {
        let runs = if single == 1 { "1 run is" } else { &format!("{single} runs are") };
        format!("`{name}`: {runs} left out, because the other run of the pair does not have it.")
    });
    let of = |side: &BTreeMap<Pair, &'a Part>| {
        complete.iter().filter_map(|pair| side.get(pair).copied()).collect()
    };
    (Sides { before: of(&before), after: of(&after), in_pairs: true }, caveat)
}
