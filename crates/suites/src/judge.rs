//! Judges what was measured by a profile.

use iolite_model::{
    CacheStamp, Criterion, Fitness, Iops, Measure, Nanos, OpKind, Profile, Quantile, Reason, Verdict,
};
use iolite_stats::{Estimate, Knee, PhaseResult};

use crate::doubts::is_short;

/// A phase that shows what a criterion asks about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Evidence<'a> {
    /// What it shows.
    pub(crate) measure: Measure,
    /// The phase.
    pub(crate) result: &'a PhaseResult,
    /// The kind of operation that counts.
    pub(crate) kind: OpKind,
    /// Under which load, for people: `at the knee (8 outstanding)`.
    pub(crate) load: &'a str,
}

/// The rate that the storage must sustain, and what was found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RateDemand<'a> {
    /// Operations per second asked for.
    pub(crate) target: f64,
    /// Of what, for people: `random read 8 KiB`.
    pub(crate) what: &'a str,
    /// The knee's search.
    pub(crate) knee: Option<&'a Knee>,
    /// The phase at the target rate, where it was run.
    pub(crate) at_target: Option<&'a PhaseResult>,
}

/// Share of a target rate that counts as reaching it: a Poisson process of a few seconds varies by a percent or two.
const REACHED: f64 = 0.97;

/// What else bears on a verdict.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Circumstances<'a> {
    /// What keeps the data in memory only, where it does.
    pub(crate) volatile: Option<&'a str>,
    /// Whether the page cache was bypassed.
    pub(crate) direct: bool,
    /// Operations that failed, over all phases.
    pub(crate) errors: u64,
    /// Operations that never came back, over all phases.
    pub(crate) lost: u64,
}

/// The verdict by the profile, by the demands on the rate, and by the circumstances.
pub(crate) fn judge(
    profile: &Profile,
    circumstances: Circumstances<'_>,
    evidence: &[Evidence<'_>],
    demands: &[RateDemand<'_>],
) -> Verdict {
    let rates = demands.iter().map(judge_rate);
    let times = profile.criteria.iter().map(|criterion| {
        let evidence = evidence.iter().find(|evidence| evidence.measure == criterion.measure);
        judge_time(criterion, evidence, circumstances.direct)
    });
    let medium = circumstances.volatile.map(judge_medium);
    let errors = none_wanted("errors", circumstances.errors, "operations failed");
    let lost = none_wanted("hangs", circumstances.lost, "operations never came back");
    Verdict::of(
        &profile.name,
        medium.into_iter().chain(errors).chain(lost).chain(rates).chain(times).collect(),
    )
}

/// However fast, what forgets is no place for a database.
pub(crate) fn judge_medium(medium: &str) -> Reason {
    Reason {
        fitness: Fitness::Unfit,
        what: "durability".into(),
        measured: format!("{medium} keeps its data in memory"),
        asked: "data that survives a restart".into(),
        value: f64::NAN,
        bound: f64::NAN,
    }
}

/// However fast the others are, an operation that fails or hangs is lost data or a stopped database.
pub(crate) fn none_wanted(what: &str, count: u64, happened: &str) -> Option<Reason> {
    (count > 0).then(|| Reason {
        fitness: Fitness::Unfit,
        what: what.into(),
        measured: format!("{count} {happened}"),
        asked: "none".into(),
        value: count as f64,
        bound: 0.0,
    })
}

fn judge_time(criterion: &Criterion, evidence: Option<&Evidence<'_>>, direct: bool) -> Reason {
    let statistic = criterion.quantile.map_or("mean".to_owned(), |quantile| Quantile(quantile).to_string());
    let reason = |fitness, load: &str, measured: String, value| Reason {
        fitness,
        what: format!("{}{}{load}, {statistic}", criterion.measure, if load.is_empty() { "" } else { " " }),
        measured,
        asked: format!("at most {}", criterion.at_most),
        value,
        bound: criterion.at_most.0 as f64,
    };
    let Some(evidence) = evidence else {
        return reason(Fitness::Marginal, "", "not measured".into(), f64::NAN);
    };
    let Some(estimate) = estimate(criterion, evidence) else {
        // Without an error or a hang, nothing was due: that says nothing against the storage.
        let outstanding = evidence.result.end.outstanding;
        let failed =
            evidence.result.totals.errors(evidence.kind) > 0 || outstanding.at_end + outstanding.backlog > 0;
        let fitness = if failed { Fitness::Unfit } else { Fitness::Marginal };
        return reason(fitness, evidence.load, "no operation succeeded".into(), f64::NAN);
    };
    let mut fitness = fitness(&estimate, criterion.at_most.0 as f64, criterion.marginal_factor);
    let mut measured =
        format!("{} ({} to {})", nanos(estimate.value), nanos(estimate.low), nanos(estimate.high));
    for (cap, but) in reservations(criterion, evidence, direct) {
        fitness = fitness.max(cap);
        measured.push_str(&format!(", but {but}"));
    }
    reason(fitness, evidence.load, measured, estimate.value)
}

/// What a value alone does not show, with the best that can then be said.
fn reservations(criterion: &Criterion, evidence: &Evidence<'_>, direct: bool) -> Vec<(Fitness, String)> {
    let mut reservations = Vec::new();
    let result = evidence.result;
    if let Some(quantile) = criterion.quantile {
        let operations = result.effective_for_quantile(evidence.kind, Quantile(quantile));
        if !bounds_quantile(quantile, operations) {
            let all = result.totals.operations(evidence.kind);
            reservations.push((Fitness::Marginal, format!("{all} operations are too few to tell")));
        }
        reservations.extend(stalls(quantile, criterion.at_most, evidence));
    }
    if is_short(result) {
        reservations.push((Fitness::Marginal, format!("measured for only {}", result.end.measured)));
    }
    // What a cache delivered says nothing for the storage; only what it did badly says something against it.
    match result.end.cache.stamp() {
        CacheStamp::Device => {}
        CacheStamp::Unknown if direct && result.end.cache.direct_confirmed => {}
        CacheStamp::Unknown => reservations.push((Fitness::Marginal, "perhaps from memory".into())),
        cache => reservations.push((Fitness::Marginal, cache.to_string())),
    }
    reservations
}

/// What a closed loop does not see of a stall: a quantile holds for a client only if an operation that comes at a random
/// instant keeps the bound with that probability. A little more than allowed may be one stall by chance.
fn stalls(quantile: f64, bound: Nanos, evidence: &Evidence<'_>) -> Option<(Fitness, String)> {
    let allowed = 1.0 - quantile;
    let share = evidence.result.probability_above(evidence.kind, bound);
    let fitness = if share > 10.0 * allowed { Fitness::Unfit } else { Fitness::Marginal };
    let percent = share * 100.0;
    let text = format!("at a random instant {percent:.2} % would have waited longer than {bound}");
    (share > allowed).then_some((fitness, text))
}

fn estimate(criterion: &Criterion, evidence: &Evidence<'_>) -> Option<Estimate> {
    match criterion.quantile {
        None => evidence.result.summary(evidence.kind).map(|summary| summary.mean),
        Some(quantile) => evidence.result.quantile(evidence.kind, Quantile(quantile)),
    }
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
    let asked = format!("{} IOPS", Iops(demand.target));
    let reason = |fitness, measured, value| Reason {
        fitness,
        what: format!("{}, rate", demand.what),
        measured,
        asked: format!("at least {asked}"),
        value,
        bound: demand.target,
    };
    if let Some(summary) = demand.at_target.and_then(|result| result.summary(OpKind::Read)) {
        let backlog = demand.at_target.map_or(0, |result| result.end.outstanding.backlog);
        let measured =
            format!("{} IOPS sustained, {backlog} operations behind at the end", Iops(summary.rate.value));
        let behind = backlog as f64 > demand.target * (1.0 - REACHED);
        let reached = summary.rate.value >= demand.target * REACHED && !behind;
        return reason(if reached { Fitness::Fit } else { Fitness::Unfit }, measured, summary.rate.value);
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
            reason(fitness, measured, plateau.value)
        }
        None => reason(Fitness::Marginal, "not measured".into(), f64::NAN),
    }
}

pub(crate) fn nanos(value: f64) -> String {
    if value.is_finite() { Nanos(value.round() as u64).to_string() } else { "unbounded".into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolite_stats::Direction;

    const FINE: Circumstances<'static> = Circumstances { volatile: None, direct: true, errors: 0, lost: 0 };

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

    #[test]
    fn a_quantile_needs_enough_operations_to_be_bounded() {
        assert!(!bounds_quantile(0.999, 2994) && bounds_quantile(0.999, 2995));
        assert!(!bounds_quantile(0.99, 298) && bounds_quantile(0.99, 299));
        assert!(!bounds_quantile(1.0, u64::MAX));
    }

    #[test]
    fn what_was_not_measured_is_never_fit() {
        let profile = crate::built_in("etcd").unwrap();
        let verdict = judge(&profile, FINE, &[], &[]);
        assert_eq!(verdict.fitness, Fitness::Marginal);
        assert_eq!(verdict.reasons[0].measured, "not measured");
        assert_eq!(verdict.reasons[0].what, "fdatasync, preallocated, p99");
        assert_eq!(verdict.reasons[0].asked, "at most 10.0 ms");
    }

    #[test]
    fn errors_are_unfit_however_fast_the_rest() {
        let verdict = judge(&crate::built_in("etcd").unwrap(), Circumstances { errors: 3, ..FINE }, &[], &[]);
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
        );
        assert_eq!(verdict.fitness, Fitness::Unfit);
        assert_eq!(verdict.reasons[0].measured, "tmpfs keeps its data in memory");
    }
}
