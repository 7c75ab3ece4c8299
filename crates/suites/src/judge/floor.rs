//! Floors on throughput, and how much the storage does within the bounds on response times.

use iolite_model::{Fitness, Floor, HostLimit, Iops, Measure, Nanos, Rate, Reason, ReasonUnit, Statistic};
use iolite_stats::{Estimate, PhaseResult, SignTest};

use super::beside::from_memory;
use super::{Disturbance, ENOUGH_FOR_RATE, Evidence, between_windows, never, spared, unjudged};

/// The most that random reads did within the bound on their mean response time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Capacity {
    /// Which reads.
    pub(crate) measure: Measure,
    /// Outstanding operations and operations per second; `None` where no load kept the bound.
    pub(crate) best: Option<(u32, Estimate)>,
    /// The bound.
    pub(crate) within: Nanos,
    /// More outstanding operations were not tried.
    pub(crate) limited: bool,
    /// The limit that the load generator met under that load: the storage may do more.
    pub(crate) generator: Option<HostLimit>,
    /// What else was seen meanwhile.
    pub(crate) disturbed: Option<Disturbance>,
    /// The user asks for a rate, which takes the place of the profile's.
    pub(crate) target: bool,
}

/// How much the storage does within the bound on response times, compared with a floor where there is one.
pub(super) fn judge_capacity(capacity: &Capacity, floor: Option<(f64, f64)>) -> Reason {
    let Capacity { measure, best, within, limited, disturbed, generator, .. } = *capacity;
    let measured = match best {
        Some((outstanding, rate)) => format!(
            "up to {} IOPS ({} to {}) within {within}, with {outstanding} outstanding{}",
            Iops(rate.value),
            Iops(rate.low),
            Iops(rate.high),
            if limited { "; more was not tried" } else { "" }
        ),
        None => format!("no load had a mean of {within}"),
    };
    let fitness = match (floor, best) {
        (Some((bound, factor)), Some((_, rate))) => {
            reaches(&rate, bound, factor, |_| SignTest::of(&[], bound, 0.0))
        }
        // That the bound was not kept is a criterion of its own.
        (Some(_), None) => Fitness::Marginal,
        (None, _) => Fitness::Fit,
    };
    let asked = floor.map_or_else(String::new, |(bound, _)| format!("at least {} IOPS", Iops(bound)));
    let value = best.map_or(f64::NAN, |(_, rate)| rate.value);
    let bound = floor.map_or(f64::NAN, |(bound, _)| bound);
    let reason = Reason::new(fitness, format!("{measure}, capacity"), measured, asked);
    let reason = reason.with_figure(Statistic::Rate, value, bound, ReasonUnit::OperationsPerSecond);
    let mut reason = spared(reason, disturbed, never);
    if let Some(limit) = generator {
        // What was done is the least that the storage does: it counts for it, and not against it.
        reason.spare(format!("{limit}: the storage may do more"));
    }
    reason
}

/// A floor on throughput; `None` where the user's own rate takes its place.
pub(super) fn judge_floor(
    floor: &Floor,
    evidence: Option<&Evidence<'_>>,
    capacities: &[Capacity],
    direct: bool,
) -> Option<Reason> {
    if let Some(capacity) = capacities.iter().find(|capacity| capacity.measure == floor.measure) {
        let Rate::Operations(bound) = floor.at_least else { return unjudged_floor(floor, "it needs IOPS") };
        return (!capacity.target).then(|| judge_capacity(capacity, Some((bound.0, floor.marginal_factor))));
    }
    let Some(evidence) = evidence else { return unjudged_floor(floor, "not measured") };
    if let Some(why) = unjudged(evidence.result, evidence.kind, ENOUGH_FOR_RATE) {
        return unjudged_floor(floor, &why);
    }
    let Some(summary) = evidence.result.summary(evidence.kind) else {
        return unjudged_floor(floor, "no operation succeeded");
    };
    // Bytes per second of the same intervals.
    let bytes = summary.bytes_per_second / summary.rate.value;
    let (factor, bound) = match floor.at_least {
        Rate::Operations(rate) => (1.0, rate.0),
        Rate::Bytes(bandwidth) => (bytes, bandwidth.0),
    };
    let per_window = |window: &PhaseResult| {
        let seconds = window.totals.measured as f64 / 1e9;
        Some((seconds, window.totals.operations(evidence.kind) as f64))
    };
    let rate = on_ratio_scale(between_windows(summary.rate, evidence, per_window));
    let rate = counted_in_whole(rate, evidence);
    let scaled = rate.scaled(factor);
    let text = |value: f64| match floor.at_least {
        Rate::Operations(_) => Rate::Operations(Iops(value)).to_string(),
        Rate::Bytes(_) => Rate::Bytes(iolite_model::Bandwidth(value)).to_string(),
    };
    let series: Vec<_> = evidence
        .result
        .totals
        .series
        .iter()
        .map(|p| (p.seconds, factor * p.operations[evidence.kind] as f64))
        .collect();
    let median = |bound| SignTest::of(&series, bound, summary.rate.effective_samples);
    let fitness = reaches(&scaled, bound, floor.marginal_factor, median);
    let measured = format!("{} ({} to {})", text(scaled.value), text(scaled.low), text(scaled.high));
    let unit = match floor.at_least {
        Rate::Operations(_) => ReasonUnit::OperationsPerSecond,
        Rate::Bytes(_) => ReasonUnit::BytesPerSecond,
    };
    let reason =
        floor_reason(fitness, floor, measured).with_figure(Statistic::Rate, scaled.value, bound, unit);
    let mut reason = reason.of_phase(evidence.result.info.index);
    if let Some(why) = from_memory(evidence.result, evidence.kind, direct) {
        reason.reserve(Fitness::Marginal, why);
    }
    let is_unfit_without = |slower: f64| scaled.high * slower < bound / floor.marginal_factor;
    Some(spared(reason, evidence.disturbed, is_unfit_without))
}

/// An interval of the logarithm, by the delta method (Casella & Berger 2002, Statistical Inference, 5.5.4): a rate is above 0 and
/// varies in proportion to itself, so that a wide interval between few windows does not reach down to 0.
pub(crate) fn on_ratio_scale(rate: Estimate) -> Estimate {
    let spread = (rate.high - rate.value) / rate.value;
    if !spread.is_finite() {
        return rate;
    }
    Estimate { low: rate.value * (-spread).exp(), high: rate.value * spread.exp(), ..rate }
}

/// A rate at least as uncertain as its counts are: each window may have cut off an operation at its ends, which matters where
/// operations are few (large blocks on a slow device) and every window has counted the same.
fn counted_in_whole(rate: Estimate, evidence: &Evidence<'_>) -> Estimate {
    let seconds = evidence.result.totals.measured as f64 / 1e9;
    if seconds <= 0.0 {
        return rate;
    }
    let one_each = evidence.windows.len().max(1) as f64 / seconds;
    let low = rate.low.min((rate.value - one_each).max(0.0));
    Estimate { low, high: rate.high.max(rate.value + one_each), ..rate }
}

fn unjudged_floor(floor: &Floor, why: &str) -> Option<Reason> {
    Some(floor_reason(Fitness::Marginal, floor, format!("not judged: {why}")))
}

fn floor_reason(fitness: Fitness, floor: &Floor, measured: String) -> Reason {
    Reason::new(
        fitness,
        format!("{}, throughput", floor.measure),
        measured,
        format!("at least {}", floor.at_least),
    )
}

/// Whether throughput reaches a floor: fit where it does and is above the margin with certainty, unfit where it is below the
/// margin and below the floor with certainty.
///
/// Certain is what the whole interval shows, or the median of the intervals by the sign test: a stall that widens the interval of
/// a mean makes neither a fast device slow nor a slow one fast.
pub(crate) fn reaches(
    rate: &Estimate,
    bound: f64,
    marginal_factor: f64,
    median: impl Fn(f64) -> SignTest,
) -> Fitness {
    let margin = bound / marginal_factor;
    if rate.value >= bound && (rate.low >= margin || median(margin).above()) {
        Fitness::Fit
    } else if rate.value < margin && (rate.high < bound || median(bound).below()) {
        Fitness::Unfit
    } else {
        Fitness::Marginal
    }
}

#[cfg(test)]
mod tests {
    use iolite_stats::{Direction, Estimate};

    use super::on_ratio_scale;

    #[test]
    fn a_wide_interval_of_a_rate_stays_above_zero_and_a_narrow_one_stays_as_it_is() {
        let of = |windows: &[(f64, f64)]| {
            on_ratio_scale(Estimate::of_windows(windows, Direction::HigherIsBetter).unwrap())
        };
        let wide = of(&[(1.0, 970.0), (1.0, 2000.0), (1.0, 1600.0)]);
        assert!(wide.low > 200.0 && wide.low < 970.0 && wide.high > 2000.0, "{wide:?}");
        let narrow = of(&[(1.0, 999.0), (1.0, 1000.0), (1.0, 1001.0)]);
        assert!((narrow.low - 997.5).abs() < 1.0 && (narrow.high - 1002.5).abs() < 1.0, "{narrow:?}");
        // Fast from a cache once, slow twice: the mean is no evidence of a floor.
        assert!(of(&[(1.0, 3000.0), (1.0, 100.0), (1.0, 100.0)]).low < 100.0);
    }
}
