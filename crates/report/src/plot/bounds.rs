//! What a run was to keep, as lines over its course: the bounds that a sweep is judged by, the criteria of a verdict over the phases that
//! they judged, and requested rates.

use iolite_model::{Iops, OpKind, Quantile, Reason, ReasonUnit, Statistic, Task};
use iolite_stats::SweepConcluded;

use super::chart::Series;
use super::source::{Lines, MIB, Source, released};

/// Bounds of a chart at most.
const MAX_BOUNDS: usize = 8;

/// What a bound is about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Bounded {
    /// Operations per second.
    Rate,
    /// MiB per second.
    Throughput,
    /// The mean response time.
    Mean,
    /// A quantile of the response times of this kind, or the longest of them.
    Distribution(OpKind),
}

impl Bounded {
    /// Whether it is about the distribution of response times, not a figure of all operations.
    fn is_of_distribution(self) -> bool {
        matches!(self, Bounded::Distribution(_))
    }
}

/// A bound of a figure.
pub(super) struct Bound {
    /// How the legend names it.
    pub(super) series: Series,
    /// What it is about.
    pub(super) bounded: Bounded,
    /// A horizontal line over each phase that it applies to.
    pub(super) lines: Lines,
}

impl Bound {
    /// The lines, if they are about this; none otherwise.
    pub(super) fn lines_of(&self, bounded: Bounded) -> Lines {
        if self.bounded == bounded { self.lines.clone() } else { Lines::new() }
    }
}

/// The bounds of rates, throughputs and means of the runs that these sources are of.
pub(super) fn bounds(sources: &[Source<'_>]) -> Vec<Bound> {
    found(sources, false)
}

/// The bounds of quantiles and longest response times of the runs that these sources are of.
pub(super) fn bounds_of_distributions(sources: &[Source<'_>]) -> Vec<Bound> {
    found(sources, true)
}

fn found(sources: &[Source<'_>], of_distributions: bool) -> Vec<Bound> {
    let mut found: Vec<Bound> = Vec::new();
    for source in sources {
        let run = &source.run.info.id.0;
        let wanted = |(_, bounded, value): &(String, Bounded, f64)| {
            *value > 0.0 && bounded.is_of_distribution() == of_distributions
        };
        for (name, bounded, value) in of_phase(source).into_iter().filter(wanted) {
            let line = level(source, value);
            let same = |bound: &&mut Bound| {
                (&bound.series.run, &bound.series.name, bound.bounded) == (run, &name, bounded)
            };
            match found.iter_mut().find(same) {
                // Another kind of operation of the same phase.
                Some(bound) if bound.lines.contains(&line) => {}
                Some(bound) => bound.lines.push(line),
                None => found.push(Bound { series: Series::bound(run, name), bounded, lines: vec![line] }),
            }
        }
    }
    found.truncate(MAX_BOUNDS);
    found
}

/// What applies to a phase: name, what it is about, and value.
fn of_phase(source: &Source<'_>) -> Vec<(String, Bounded, f64)> {
    let terms = source.run.concluded().last().map(|SweepConcluded { terms, .. }| terms);
    let mean = terms.as_ref().map(|terms| {
        (format!("bound: mean of at most {}", terms.average), Bounded::Mean, terms.average.0 as f64)
    });
    let target = terms.and_then(|terms| terms.target_iops);
    let target = target.map(|target| (format!("bound: at least {target} IOPS"), Bounded::Rate, target.0));
    let requested = match &source.phase.info.task {
        Task::File(task) => task.asked_rate(),
        Task::TprocC(task) => task.rate,
        _ => None,
    };
    let requested =
        requested.map(|Iops(rate)| (format!("requested: {} IOPS", Iops(rate)), Bounded::Rate, rate));
    [mean, target, requested].into_iter().flatten().chain(judged(source)).collect()
}

/// The bounds of the verdict's criteria that judged this phase.
fn judged(source: &Source<'_>) -> Vec<(String, Bounded, f64)> {
    let index = source.phase.info.index;
    let reasons = source.run.verdict.iter().flat_map(|verdict| &verdict.reasons);
    let of_phase = reasons.filter(|reason| reason.phase == Some(index) && !reason.bound.is_nan());
    let bound = |reason: &Reason| {
        let (bounded, value) = match (reason.statistic?, reason.unit?) {
            (Statistic::Mean, _) => (Bounded::Mean, reason.bound),
            (statistic @ (Statistic::Quantile(_) | Statistic::Longest), _) => {
                (Bounded::Distribution(kind_judged(source, reason, statistic)), reason.bound)
            }
            (Statistic::Rate, ReasonUnit::OperationsPerSecond) => (Bounded::Rate, reason.bound),
            (Statistic::Rate, ReasonUnit::BytesPerSecond) => (Bounded::Throughput, reason.bound / MIB),
            (Statistic::Rate | Statistic::Count, _) => return None,
        };
        Some((format!("criterion: {}: {}", reason.what, reason.asked), bounded, value))
    };
    of_phase.filter_map(bound).collect()
}

/// The kind of operation of the phase that a criterion judged, which it does not name: the one whose figure is nearest to the judged
/// value; the main one where nothing could be judged.
fn kind_judged(source: &Source<'_>, reason: &Reason, statistic: Statistic) -> OpKind {
    let phase = source.phase;
    let figure = |kind: OpKind| match statistic {
        Statistic::Quantile(quantile) => Some(phase.totals.response(kind)?.quantile(quantile).0 as f64),
        Statistic::Longest => Some(phase.totals.response(kind)?.quantile(Quantile(1.0)).0 as f64),
        Statistic::Mean | Statistic::Rate | Statistic::Count => None,
    };
    let distance = |kind: OpKind| {
        let distance = (figure(kind).filter(|_| phase.totals.operations(kind) > 0)? - reason.value).abs();
        distance.is_finite().then_some(distance)
    };
    let known = OpKind::all().filter_map(|kind| Some((kind, distance(kind)?)));
    let nearest = known.min_by(|one, other| one.1.total_cmp(&other.1));
    nearest.map_or(phase.main_kind(), |(kind, _)| kind)
}

/// A horizontal line over the measured part of a phase.
fn level(source: &Source<'_>, value: f64) -> Vec<(f64, f64)> {
    let start = released(source);
    let seconds: f64 = source.phase.totals.series.iter().map(|point| point.seconds).sum();
    vec![(start, value), (start + seconds, value)]
}
