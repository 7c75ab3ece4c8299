//! Judges what was measured by a profile.

mod beside;
mod floor;

use iolite_model::{
    Criterion, Ending, Fitness, HostLimit, Iops, Layer, Measure, Nanos, OpKind, Profile, Quantile, Reason,
    ReasonUnit, Statistic, Verdict, Warning,
};
use iolite_stats::{Estimate, Knee, PhaseResult, Summary};

use crate::phase_warnings::is_short;
use beside::judge_beside;
pub(crate) use beside::{HostUse, caps, from_memory, judge_failures, judge_run, judge_storage};
pub(crate) use floor::{Capacity, on_ratio_scale, reaches};
use floor::{judge_capacity, judge_floor};

/// A phase that shows what a criterion asks about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Evidence<'a> {
    /// What it shows.
    pub(crate) measure: Measure,
    /// The phase; where there were several windows, all of them as one.
    pub(crate) result: &'a PhaseResult,
    /// Each window.
    pub(crate) windows: &'a [&'a PhaseResult],
    /// The kind of operation that counts.
    pub(crate) kind: OpKind,
    /// What else was seen meanwhile: what is slow then says little of the storage.
    pub(crate) disturbed: Option<Disturbance>,
    /// Under which load, as text: `at the knee (8 outstanding)`.
    pub(crate) load: &'a str,
}

/// The rate that the storage must sustain, and what was found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RateDemand<'a> {
    /// Operations per second asked for.
    pub(crate) target: f64,
    /// Of what, as text: `random read 8 KiB`.
    pub(crate) what: &'a str,
    /// The knee's search.
    pub(crate) knee: Option<&'a Knee>,
    /// The phase at the target rate, where it was run.
    pub(crate) at_target: Option<&'a PhaseResult>,
    /// What else was seen meanwhile.
    pub(crate) disturbed: Option<Disturbance>,
    /// The limit that the load generator met: the storage may do more.
    pub(crate) generator: Option<HostLimit>,
}

/// Share of the operations that were due that counts as reaching a target rate: a few are always in flight at the end.
const REACHED: f64 = 0.97;

/// What was beside a measurement, so that what would be unfit is no more than marginal, unless it explains only a part of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Disturbance {
    /// Others read from or wrote to the device.
    Device,
    /// The program waited for a CPU, or the hypervisor took it away: response times bear that, whatever the storage does. A mean
    /// response time is at most `slower` times as long for it, and a rate that many times as low.
    Host { slower: f64 },
}

impl Disturbance {
    /// The factor by which a mean or a rate can be worse for it, at most.
    pub(crate) fn slower(self) -> f64 {
        match self {
            Disturbance::Device => f64::INFINITY,
            Disturbance::Host { slower } => slower,
        }
    }

    /// Said of what would be unfit otherwise.
    pub(crate) fn reservation(self) -> &'static str {
        match self {
            Disturbance::Device => "there was other load on the device: repeat on an idle device",
            Disturbance::Host { .. } => "the host's CPUs were busy with other work: repeat on an idle host",
        }
    }
}

/// Operations in flight at the end of a run that keeps up.
const FEW_LATE: u64 = 2;

/// Operations that say enough however short the time: as many as bound p99.9.
const ENOUGH: u64 = 2995;

/// What else bears on a verdict.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Circumstances<'a> {
    /// What keeps the data in memory only, where it does.
    pub(crate) volatile: Option<&'a str>,
    /// Whether the page cache was bypassed.
    pub(crate) direct: bool,
    /// Operations that failed, over all stages of all phases.
    pub(crate) errors: u64,
    /// Operations that never completed, over all phases.
    pub(crate) lost: u64,
    /// Warnings that what was measured is not the storage alone.
    pub(crate) beside: &'a [Warning],
    /// All phases, whatever they were run for.
    pub(crate) phases: &'a [PhaseResult],
}

pub(crate) fn judge(
    profile: &Profile,
    circumstances: Circumstances<'_>,
    evidence: &[Evidence<'_>],
    demands: &[RateDemand<'_>],
    capacities: &[Capacity],
) -> Verdict {
    let rates = demands.iter().map(judge_rate);
    let times = profile.criteria.iter().map(|criterion| {
        let evidence = evidence.iter().find(|evidence| evidence.measure == criterion.measure);
        judge_time(criterion, evidence, &circumstances)
    });
    let floors = profile.floors.iter().filter_map(|floor| {
        let evidence = evidence.iter().find(|evidence| evidence.measure == floor.measure);
        judge_floor(floor, evidence, capacities, circumstances.direct)
    });
    let stated = capacities.iter().filter(|capacity| {
        capacity.target || !profile.floors.iter().any(|floor| floor.measure == capacity.measure)
    });
    let medium = circumstances.volatile.map(judge_medium);
    let failures = judge_failures(circumstances.errors, circumstances.lost);
    let beside = judge_beside(circumstances.beside);
    let circumstances = medium.into_iter().chain(failures);
    let throughput = floors.chain(stated.map(|capacity| judge_capacity(capacity, None)));
    // What the storage itself does comes before what else was seen.
    let reasons = circumstances.chain(rates).chain(times).chain(throughput).chain(beside);
    Verdict::of(&profile.name, reasons.collect())
}

/// Marginal in place of unfit where something else was seen meanwhile, which is then said; not where the storage is unfit even
/// if all was this factor slower for it than it would have been.
fn spared(
    mut reason: Reason,
    disturbed: Option<Disturbance>,
    is_unfit_without: impl FnOnce(f64) -> bool,
) -> Reason {
    if let Some(disturbance) = disturbed.filter(|disturbance| !is_unfit_without(disturbance.slower())) {
        reason.spare(disturbance.reservation());
    }
    reason
}

/// Of what nothing is known but that it was disturbed.
fn never(_: f64) -> bool {
    false
}

/// Operations that say enough of a rate however short the time: a fast device has written a small file before half a second is
/// over.
const ENOUGH_FOR_RATE: u64 = 300;

/// Why a phase shows nothing, where it does not: one over early shows something all the same from `enough` operations on.
fn unjudged(result: &PhaseResult, kind: OpKind, enough: u64) -> Option<String> {
    match &result.end.ending {
        Ending::Failed(why) => return Some(format!("its stage failed: {why}")),
        Ending::Interrupted => return Some("its stage was interrupted".into()),
        Ending::Completed => {}
    }
    let few = result.totals.operations(kind) < enough && result.errors() == 0;
    (is_short(result) && few).then(|| format!("measured for only {}", result.end.measured))
}

/// However fast, what forgets is no place for a database.
pub(crate) fn judge_medium(medium: &str) -> Reason {
    let measured = format!("{medium} keeps its data in memory");
    Reason::new(Fitness::Unfit, "durability", measured, "data that survives a restart")
}

fn judge_time(
    criterion: &Criterion,
    evidence: Option<&Evidence<'_>>,
    circumstances: &Circumstances<'_>,
) -> Reason {
    let statistic = criterion.quantile.map_or("mean".to_owned(), |quantile| Quantile(quantile).to_string());
    let reason = |fitness, load: &str, measured: String, value| {
        let what =
            format!("{}{}{load}, {statistic}", criterion.measure, if load.is_empty() { "" } else { " " });
        let asked = format!("at most {}", criterion.at_most);
        let reason = Reason::new(fitness, what, measured, asked);
        let judged =
            criterion.quantile.map_or(Statistic::Mean, |quantile| Statistic::Quantile(Quantile(quantile)));
        let bound = criterion.at_most;
        let reason = reason.with_figure(judged, value, bound.0 as f64, ReasonUnit::Nanoseconds);
        evidence.iter().fold(reason, |reason, evidence| reason.of_phase(evidence.result.info.index))
    };
    let Some(evidence) = evidence else {
        return reason(Fitness::Marginal, "", "not judged: not measured".into(), f64::NAN);
    };
    if let Some(why) = unjudged(evidence.result, evidence.kind, ENOUGH) {
        return reason(Fitness::Marginal, evidence.load, format!("not judged: {why}"), f64::NAN);
    }
    let Some(estimate) = estimate(criterion, evidence) else {
        // Without an error or a hang, nothing was due: that says nothing against the storage.
        let outstanding = evidence.result.end.outstanding;
        let failed =
            evidence.result.totals.errors(evidence.kind) > 0 || outstanding.at_end + outstanding.backlog > 0;
        let fitness = if failed { Fitness::Unfit } else { Fitness::Marginal };
        return reason(fitness, evidence.load, "no operation succeeded".into(), f64::NAN);
    };
    let fitness = fitness(&estimate, criterion.at_most.0 as f64, criterion.marginal_factor);
    let measured = format!("{} ({} to {})", nanos(estimate.value), nanos(estimate.low), nanos(estimate.high));
    let mut reason = reason(fitness, evidence.load, measured, estimate.value);
    for (at_best, why) in reservations(criterion, evidence, circumstances.direct) {
        reason.reserve(at_best, why);
    }
    let fit = reason.fitness == Fitness::Fit && criterion.quantile.is_some();
    if let Some(why) = stalls_elsewhere(criterion.at_most, circumstances.phases).filter(|_| fit) {
        reason.reserve(Fitness::Marginal, why);
    }
    // A mean bears no more than the share of the time that was lost; a single wait may be all that a quantile shows.
    let is_unfit_without = |slower: f64| {
        criterion.quantile.is_none()
            && estimate.low / slower > criterion.at_most.0 as f64 * criterion.marginal_factor
    };
    spared(reason, evidence.disturbed, is_unfit_without)
}

/// What a value alone does not show, with the best that can then be said.
fn reservations(criterion: &Criterion, evidence: &Evidence<'_>, direct: bool) -> Vec<(Fitness, String)> {
    let mut reservations = Vec::new();
    let result = evidence.result;
    if let Some(quantile) = criterion.quantile {
        if too_few(criterion, quantile, evidence) {
            let all = result.totals.operations(evidence.kind);
            reservations.push((Fitness::Marginal, format!("{all} operations are too few")));
        }
        reservations.extend(stalls(quantile, criterion.at_most, evidence));
    }
    let memory = from_memory(evidence.result, evidence.kind, direct);
    reservations.extend(memory.map(|why| (Fitness::Marginal, why)));
    reservations
}

/// Whether so few operations say nothing of a quantile.
fn too_few(criterion: &Criterion, quantile: f64, evidence: &Evidence<'_>) -> bool {
    let result = evidence.result;
    if keeps(criterion, quantile, evidence) {
        return false;
    }
    // Where none was slower than the bound, that slow ones come together makes none of them worth less; a stall that few
    // operations saw is looked for by time.
    let slow = result.totals.response(evidence.kind).map_or(0, |times| times.count_above(criterion.at_most));
    let operations = match slow {
        0 => result.totals.operations(evidence.kind),
        _ => result.effective_for_quantile(evidence.kind, Quantile(quantile)),
    };
    !bounds_quantile(quantile, operations)
}

/// Times the allowed share of time from which on stalls that were certainly seen so often are unfit.
const MANY_STALLS: f64 = 10.0;
/// Times the allowed share of time that is too much even if it may be by chance.
const TOO_MUCH: f64 = 3.0;

/// What a closed loop does not see of a stall: a quantile holds for a client only if an operation that comes at a random
/// instant keeps the bound with that probability. Somewhat more than allowed may be one or two stalls by chance: to be said against
/// the storage it has to be significant, or far more.
fn stalls(quantile: f64, bound: Nanos, evidence: &Evidence<'_>) -> Option<(Fitness, String)> {
    let allowed = 1.0 - quantile;
    let share = evidence.result.probability_above(evidence.kind, bound);
    let at_least = evidence.result.probability_above_at_least(evidence.kind, bound);
    let fitness = match () {
        () if at_least > MANY_STALLS * allowed => Fitness::Unfit,
        () if at_least > allowed || share > TOO_MUCH * allowed => Fitness::Marginal,
        () => return None,
    };
    let [percent, min] = [share, at_least].map(|share| share * 100.0);
    let text = format!(
        "at a random instant {percent:.2} % (at least {min:.2} %) would have waited longer than {bound}"
    );
    Some((fitness, text))
}

/// Whether more stalls than allowed were seen, and too few of them to say that the storage has as many.
fn stalls_are_undecided(quantile: f64, bound: Nanos, evidence: &Evidence<'_>) -> bool {
    let allowed = 1.0 - quantile;
    let at_least = evidence.result.probability_above_at_least(evidence.kind, bound);
    evidence.result.probability_above(evidence.kind, bound) > allowed && at_least <= MANY_STALLS * allowed
}

/// Share of the time of a whole check for which stalls count, whatever was run meanwhile.
const STALLED: f64 = 0.01;
/// Times the mean response time of a phase that a stall is longer than: below that, operations wait for each other.
const QUEUED: f64 = 4.0;

/// Stalls that the windows of a criterion may have missed because they are short: a device that holds everything up does so in
/// every phase.
fn stalls_elsewhere(bound: Nanos, phases: &[PhaseResult]) -> Option<String> {
    let (mut time, mut stalled) = (0.0, 0.0);
    for phase in phases.iter().filter(|phase| phase.info.task.layer() == Layer::File) {
        let kind = phase.main_kind();
        let Some(summary) = phase.summary(kind) else { continue };
        let bound = bound.max(Nanos((QUEUED * summary.mean.value) as u64));
        let seconds = phase.totals.measured as f64 / 1e9;
        time += seconds;
        stalled += seconds * phase.probability_above(kind, bound);
    }
    let share = stalled / time;
    let percent = share * 100.0;
    (share > STALLED).then(|| {
        format!(
            "over {time:.0} s of this check, an operation at a random instant would have waited longer than {bound} in {percent:.1} % \
             of the time"
        )
    })
}

/// Whether more of the same measurement could tell whether a criterion is met: its interval reaches from one side of the bound to the
/// other, or operations or time were too few to say anything. Not where something else was seen meanwhile.
pub(crate) fn is_undecided(criterion: &Criterion, evidence: &Evidence<'_>) -> bool {
    if evidence.disturbed.is_some() || evidence.result.end.ending != Ending::Completed {
        return false;
    }
    let bound = criterion.at_most.0 as f64;
    let straddled =
        estimate(criterion, evidence).is_some_and(|found| found.low <= bound && found.high > bound);
    straddled
        || unjudged(evidence.result, evidence.kind, ENOUGH).is_some()
        || criterion.quantile.is_some_and(|quantile| {
            too_few(criterion, quantile, evidence)
                || stalls_are_undecided(quantile, criterion.at_most, evidence)
        })
}

fn estimate(criterion: &Criterion, evidence: &Evidence<'_>) -> Option<Estimate> {
    match criterion.quantile {
        None => evidence.result.summary(evidence.kind).map(|summary| with_drift(summary.mean, evidence)),
        Some(quantile) => evidence.result.quantile(evidence.kind, Quantile(quantile)).map(|found| Estimate {
            // A wide interval says little of a bound that hardly any operation is beyond.
            high: if keeps(criterion, quantile, evidence) {
                found.high.min(criterion.at_most.0 as f64).max(found.value)
            } else {
                found.high
            },
            ..found
        }),
    }
}

/// Whether no more operations than a quantile allows take longer than its bound, with the confidence of its interval.
fn keeps(criterion: &Criterion, quantile: f64, evidence: &Evidence<'_>) -> bool {
    evidence.result.share_above_at_most(evidence.kind, criterion.at_most) <= 1.0 - quantile
}

/// A mean whose interval includes what differs between windows, where there are some.
fn with_drift(mean: Estimate, evidence: &Evidence<'_>) -> Estimate {
    between_windows(mean, evidence, |window| {
        let summary = window.summary(evidence.kind)?;
        Some((summary.operations as f64, summary.mean.value * summary.operations as f64))
    })
}

/// The wider of an estimate's own interval and of that between the windows, each of which is a `(base, amount)`.
fn between_windows(
    own: Estimate,
    evidence: &Evidence<'_>,
    of_window: impl Fn(&PhaseResult) -> Option<(f64, f64)>,
) -> Estimate {
    let windows: Vec<_> = evidence.windows.iter().filter_map(|window| of_window(window)).collect();
    let Some(apart) = Estimate::of_windows(&windows, own.direction) else { return own };
    let wider = if apart.high - apart.low > own.high - own.low {
        Estimate {
            value: own.value,
            low: own.value - (apart.value - apart.low),
            high: own.value + (apart.high - apart.value),
            ..apart
        }
    } else {
        own
    };
    // Neither a time nor a rate is below 0, however far apart the windows are.
    let smallest = Estimate::least_of_windows(&windows).min(own.value);
    Estimate { low: if wider.low > 0.0 { wider.low } else { smallest }, ..wider }
}

/// Whether the largest of so many observations is at least the quantile with 95 % confidence, so that a bound above it
/// can be said to hold: 1 - q^n >= 0.95 (Conover 1999, Practical Nonparametric Statistics, 3.3, one-sided tolerance
/// limits). 2995 operations for p99.9.
fn bounds_quantile(quantile: f64, operations: u64) -> bool {
    quantile.powf(operations as f64) <= 0.05
}

/// Fit when the value with its whole interval is within the bound, unfit when beyond the margin with its whole
/// interval; whatever lies between is marginal.
pub(crate) fn fitness(estimate: &Estimate, bound: f64, marginal_factor: f64) -> Fitness {
    if estimate.value <= bound && estimate.high <= bound {
        Fitness::Fit
    } else if estimate.low > bound && estimate.value > bound * marginal_factor {
        Fitness::Unfit
    } else {
        Fitness::Marginal
    }
}

fn judge_rate(demand: &RateDemand<'_>) -> Reason {
    let (reason, high) = judge_rate_alone(demand);
    let is_unfit_without = |slower: f64| high * slower < demand.target * REACHED;
    let mut reason = spared(reason, demand.disturbed, is_unfit_without);
    if let Some(limit) = demand.generator {
        reason.spare(format!("{limit}: the storage may do more"));
    }
    reason
}

/// A demand on the rate, whatever else was seen, and the highest rate that was possible by what was measured.
fn judge_rate_alone(demand: &RateDemand<'_>) -> (Reason, f64) {
    let asked = format!("{} IOPS", Iops(demand.target));
    let reason = |fitness, measured: String, value| {
        Reason::new(fitness, format!("{}, rate", demand.what), measured, format!("at least {asked}"))
            .with_figure(Statistic::Rate, value, demand.target, ReasonUnit::OperationsPerSecond)
    };
    let of_result = |reason: Reason, result: &PhaseResult| reason.of_phase(result.info.index);
    if let Some(result) = demand.at_target {
        if let Some(why) = unjudged(result, OpKind::Read, ENOUGH_FOR_RATE) {
            let unknown = reason(Fitness::Marginal, format!("not judged: {why}"), f64::NAN);
            return (of_result(unknown, result), f64::INFINITY);
        }
        if let Some(summary) = result.summary(OpKind::Read) {
            let (fitness, measured) = reached(result, &summary);
            return (of_result(reason(fitness, measured, summary.rate.value), result), summary.rate.high);
        }
    }
    match demand.knee.map(|knee| knee.plateau) {
        Some(plateau) => {
            let saturated = demand.knee.is_some_and(|knee| knee.saturated);
            let measured = format!(
                "{} IOPS at most ({} to {})",
                Iops(plateau.value),
                Iops(plateau.low),
                Iops(plateau.high)
            );
            let fitness =
                if saturated && plateau.high < demand.target { Fitness::Unfit } else { Fitness::Marginal };
            (reason(fitness, measured, plateau.value), plateau.high)
        }
        None => (reason(Fitness::Marginal, "not judged: not measured".into(), f64::NAN), f64::INFINITY),
    }
}

/// Whether the operations that were due have completed.
fn reached(result: &PhaseResult, summary: &Summary) -> (Fitness, String) {
    let outstanding = result.end.outstanding;
    let late = outstanding.backlog + outstanding.at_end;
    let due = summary.operations + result.totals.errors(OpKind::Read) + late;
    let share = summary.operations as f64 / due as f64;
    let measured = format!(
        "{} IOPS sustained: {} of {due} operations that were due, {} behind at the end",
        Iops(summary.rate.value),
        summary.operations,
        outstanding.backlog
    );
    // What is in flight at the end is late only if more than a few are.
    let is_reached = share >= REACHED || late <= FEW_LATE;
    (if is_reached { Fitness::Fit } else { Fitness::Unfit }, measured)
}

pub(crate) fn nanos(value: f64) -> String {
    if value.is_finite() { Nanos(value.round() as u64).to_string() } else { "unbounded".into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolite_model::{FileTask, Outstanding, Task};
    use iolite_stats::{Collector, Completion, Direction, Timetable, recorder};

    const FINE: Circumstances<'static> =
        Circumstances { volatile: None, direct: true, errors: 0, lost: 0, beside: &[], phases: &[] };

    fn estimate(value: f64, low: f64, high: f64) -> Estimate {
        let direction = Direction::LowerIsBetter;
        Estimate { value, standard_error: 0.0, low, high, effective_samples: 9.0, direction }
    }

    #[test]
    fn the_interval_decides_between_fit_marginal_and_unfit() {
        let fitness = |value, low, high| super::fitness(&estimate(value, low, high), 100.0, 1.25);
        assert_eq!(fitness(90.0, 85.0, 95.0), Fitness::Fit);
        assert_eq!(fitness(100.0, 100.0, 100.0), Fitness::Fit);
        assert_eq!(fitness(98.0, 90.0, 106.0), Fitness::Marginal);
        assert_eq!(fitness(110.0, 105.0, 115.0), Fitness::Marginal);
        assert_eq!(fitness(140.0, 95.0, 180.0), Fitness::Marginal);
        assert_eq!(fitness(140.0, 130.0, 150.0), Fitness::Unfit);
    }

    /// Arrivals are random: how many were due differs from what the rate asked for, and is what counts.
    #[test]
    fn a_rate_is_reached_by_the_operations_that_were_due() {
        let reached = |completed: u64, backlog: u64, at_end: u64| {
            let timetable = Timetable { ramp_end: 0, interval: 100, end: 1_000_000 };
            let (mut recorder, feed) = recorder(timetable, &[OpKind::Read]);
            let mut collector = Collector::new(0, vec![feed]);
            for at in 0..completed {
                let (intended, completed) = (at, at + 1);
                let read =
                    Completion { kind: OpKind::Read, intended, issued: intended, completed, bytes: 512 };
                recorder.record(read);
            }
            recorder.finish().iter().for_each(|left| collector.absorb(0, left));
            let task = Task::File(FileTask::default());
            let mut result = crate::check::tests::empty(task);
            result.totals = collector.finish(0, 1_000_000).2;
            result.end.outstanding = Outstanding { backlog, at_end, ..Outstanding::default() };
            super::reached(&result, &result.summary(OpKind::Read).unwrap())
        };
        // Of 1,000 asked for 900 came by chance, and all of them were served.
        assert_eq!(reached(900, 0, 2).0, Fitness::Fit);
        assert_eq!((reached(970, 29, 1).0, reached(969, 30, 1).0), (Fitness::Fit, Fitness::Unfit));
        // Of few, two in flight at the end are not late.
        assert_eq!((reached(20, 0, 2).0, reached(20, 1, 2).0), (Fitness::Fit, Fitness::Unfit));
        let (_, said) = reached(900, 99, 1);
        assert!(said.contains("900 of 1000 operations that were due, 99 behind"), "{said}");
    }

    #[test]
    fn a_quantile_needs_enough_operations_to_be_bounded() {
        assert!(!bounds_quantile(0.999, 2994) && bounds_quantile(0.999, 2995));
        assert!(!bounds_quantile(0.99, 298) && bounds_quantile(0.99, 299));
        assert!(!bounds_quantile(1.0, u64::MAX));
    }

    #[test]
    fn what_was_not_measured_is_never_fit() {
        let profile = crate::built_in("etcd").unwrap();
        let verdict = judge(&profile, FINE, &[], &[], &[]);
        assert_eq!(verdict.fitness, Fitness::Marginal);
        assert_eq!(verdict.reasons[0].measured, "not judged: not measured");
        assert_eq!(verdict.reasons[0].what, "fdatasync after a buffered append, p99");
        assert_eq!(verdict.reasons[0].asked, "at most 10.0 ms");
    }

    #[test]
    fn errors_are_unfit_however_fast_the_rest() {
        let verdict =
            judge(&crate::built_in("etcd").unwrap(), Circumstances { errors: 3, ..FINE }, &[], &[], &[]);
        assert_eq!(
            (verdict.fitness, verdict.reasons[0].measured.as_str()),
            (Fitness::Unfit, "3 operations failed")
        );
    }

    #[test]
    fn what_forgets_is_unfit_however_fast() {
        let verdict = judge(
            &crate::built_in("etcd").unwrap(),
            Circumstances { volatile: Some("tmpfs"), ..FINE },
            &[],
            &[],
            &[],
        );
        assert_eq!(verdict.fitness, Fitness::Unfit);
        assert_eq!(verdict.reasons[0].measured, "tmpfs keeps its data in memory");
    }
}
