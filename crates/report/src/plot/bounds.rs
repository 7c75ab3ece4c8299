//! What a run was to keep, as lines over its course: the bounds that a sweep is judged by, the criteria of a verdict over the phases that
//! they judged, and requested rates.

use iolite_model::{Iops, Reason, ReasonUnit, Task};
use iolite_stats::SweepConcluded;

use super::chart::Series;
use super::source::{Lines, Source, released};

/// Bounds of a chart at most.
const MAX_BOUNDS: usize = 8;

/// A bound of the rate or of the mean response time.
pub(super) struct Bound {
    /// How the legend names it.
    pub(super) series: Series,
    /// It is one of the rate.
    pub(super) is_rate: bool,
    /// A horizontal line over each phase that it applies to.
    pub(super) lines: Lines,
}

/// The bounds of the runs that these sources are of.
pub(super) fn bounds(sources: &[Source<'_>]) -> Vec<Bound> {
    let mut found: Vec<Bound> = Vec::new();
    for source in sources {
        let run = &source.run.info.id.0;
        for (name, is_rate, value) in of_phase(source).into_iter().filter(|(.., value)| *value > 0.0) {
            let line = level(source, value);
            let same = |bound: &&mut Bound| bound.series.run == *run && bound.series.name == name;
            match found.iter_mut().find(same) {
                // Another kind of operation of the same phase.
                Some(bound) if bound.lines.contains(&line) => {}
                Some(bound) => bound.lines.push(line),
                None => found.push(Bound {
                    series: Series { run: run.clone(), name },
                    is_rate,
                    lines: vec![line],
                }),
            }
        }
    }
    found.truncate(MAX_BOUNDS);
    found
}

/// What applies to a phase: name, whether it is about the rate, and value.
fn of_phase(source: &Source<'_>) -> Vec<(String, bool, f64)> {
    let terms = source.run.concluded().last().map(|SweepConcluded { terms, .. }| terms);
    let mean = terms
        .as_ref()
        .map(|terms| (format!("bound: mean of at most {}", terms.average), false, terms.average.0 as f64));
    let target = terms.and_then(|terms| terms.target_iops);
    let target = target.map(|target| (format!("bound: at least {target} IOPS"), true, target.0));
    let requested = match &source.phase.info.task {
        Task::File(task) => task.asked_rate(),
        Task::TprocC(task) => task.rate,
        _ => None,
    };
    let requested = requested.map(|Iops(rate)| (format!("requested: {} IOPS", Iops(rate)), true, rate));
    [mean, target, requested].into_iter().flatten().chain(judged(source)).collect()
}

/// The bounds of the verdict's criteria that judged this phase: of the rate, or of a mean response time.
fn judged(source: &Source<'_>) -> Vec<(String, bool, f64)> {
    let index = source.phase.info.index;
    let reasons = source.run.verdict.iter().flat_map(|verdict| &verdict.reasons);
    let of_phase = reasons.filter(|reason| reason.phase == Some(index) && !reason.bound.is_nan());
    let bound = |reason: &Reason| {
        let is_rate = match reason.unit? {
            // The chart shows means: a bound of a quantile or of the longest time says nothing of them.
            ReasonUnit::Nanoseconds if reason.is_of_mean() => false,
            ReasonUnit::Nanoseconds => return None,
            ReasonUnit::OperationsPerSecond => true,
            ReasonUnit::BytesPerSecond | ReasonUnit::Count => return None,
        };
        Some((format!("criterion: {}: {}", reason.what, reason.asked), is_rate, reason.bound))
    };
    of_phase.filter_map(bound).collect()
}

/// A horizontal line over the measured part of a phase.
fn level(source: &Source<'_>, value: f64) -> Vec<(f64, f64)> {
    let start = released(source);
    let seconds: f64 = source.phase.totals.series.iter().map(|point| point.seconds).sum();
    vec![(start, value), (start + seconds, value)]
}
