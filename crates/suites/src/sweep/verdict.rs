//! Judges a sweep: by the target's rate, by the average and the ceiling, at the step that counts.

use iolite_model::{
    Ending, Fitness, Iops, JudgedStep, Nanos, OpKind, Reason, ReasonUnit, Statistic, Verdict,
};
use iolite_stats::{Knee, PhaseResult, SweptStep};

use super::SweepOptions;
use crate::judge::{fitness, from_memory, judge_failures, judge_medium, nanos};
use crate::phase_warnings::is_short;

/// An average up to so many times its bound is marginal, as in the profiles.
const MARGINAL: f64 = 1.25;

/// Share of the operations up to which those above the ceiling are rare.
const RARE: f64 = 0.001;

/// How often as much is still not unfit, of the time rather than of the operations: one stall by chance.
const BY_CHANCE: f64 = 10.0;

/// The step that response times are judged at: the fewest jobs that reach the target, else the step nearest the knee.
pub(super) fn judged(steps: &[SweptStep], knee: Option<&Knee>, target: Option<Iops>) -> Option<JudgedStep> {
    let reached = target.and_then(|target| {
        let step = steps.iter().find(|step| rate(step) >= target.0)?;
        Some(JudgedStep { jobs: step.jobs, why: format!("the fewest that reach {target} IOPS") })
    });
    reached.or_else(|| {
        let Some(knee) = knee else {
            let only = steps.first()?;
            return Some(JudgedStep { jobs: only.jobs, why: "the only step".into() });
        };
        let distance = |step: &&SweptStep| (f64::from(step.jobs) / f64::from(knee.concurrency)).ln().abs();
        let step = steps.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)))?;
        let why = if step.jobs == knee.concurrency {
            "the knee".into()
        } else {
            format!("nearest the knee, {}", knee.concurrency)
        };
        Some(JudgedStep { jobs: step.jobs, why })
    })
}

fn rate(step: &SweptStep) -> f64 {
    step.result.logical().map_or(0.0, |logical| logical.rate.value)
}

/// The verdict. `history` is everything that was run, failed phases too.
pub(super) fn judge(
    options: &SweepOptions,
    steps: &[SweptStep],
    history: &[PhaseResult],
    knee: Option<&Knee>,
    judged: Option<&JudgedStep>,
) -> Verdict {
    let terms = &options.terms;
    let step = judged.and_then(|judged| steps.iter().find(|step| step.jobs == judged.jobs));
    // A session that had to end (its server was stopped, say) ends the sweep; it says nothing of the storage.
    let whole = |result: &&PhaseResult| !matches!(result.end.ending, Ending::Failed(_));
    let errors = history.iter().filter(whole).map(PhaseResult::errors).sum();
    let lost = history.iter().map(|result| result.end.outstanding.lost).sum();
    let mut reasons: Vec<Reason> = options.volatile.as_deref().map(judge_medium).into_iter().collect();
    reasons.extend(judge_failures(errors, lost));
    reasons.extend(terms.target_iops.map(|target| judge_rate(target, steps, knee)));
    if let (Some(step), Some(judged)) = (step, judged) {
        let load = format!("with {} {} ({})", step.jobs, jobs_word(step.jobs), judged.why);
        // A commit too, for that is where a set waits for the storage.
        for &kind in terms.operation.kinds() {
            reasons.extend(judge_average(options, step, kind, &load));
            reasons.extend(judge_ceiling(options, step, kind, &load));
        }
    }
    let profile = format!("{}, mean {}, max {}", terms.operation.name(), terms.average, terms.ceiling);
    Verdict::of(&profile, reasons)
}

fn word(kind: OpKind) -> &'static str {
    match kind {
        OpKind::Read => "reads",
        OpKind::Write => "sets",
        OpKind::Commit => "commits",
        other => other.name(),
    }
}

/// A count with its thousands separated.
fn count(value: u64) -> String {
    // A rate below ten would show a decimal.
    if value < 10 { value.to_string() } else { Iops(value as f64).to_string() }
}

fn jobs_word(jobs: u32) -> &'static str {
    if jobs == 1 { "job" } else { "jobs" }
}

fn judge_rate(target: Iops, steps: &[SweptStep], knee: Option<&Knee>) -> Reason {
    let best = steps.iter().filter_map(|step| Some((step.jobs, step.result.logical()?.rate)));
    let best = best.max_by(|a, b| a.1.value.total_cmp(&b.1.value));
    let reason = |fitness, measured: String, value| {
        Reason::new(fitness, "rate", measured, format!("at least {target} IOPS")).with_figure(
            Statistic::Rate,
            value,
            target.0,
            ReasonUnit::OperationsPerSecond,
        )
    };
    let Some((jobs, max)) = best else {
        return reason(Fitness::Marginal, "not measured".into(), f64::NAN);
    };
    // Of what was measured, and of the plateau, the more certain: a single step may be high by chance.
    let plateau = knee.filter(|knee| knee.saturated).map(|knee| knee.plateau);
    let text =
        |value: f64, low: f64, high: f64| format!("{} IOPS ({} to {})", Iops(value), Iops(low), Iops(high));
    let reached = steps.iter().filter_map(|step| step.result.logical()).any(|step| step.rate.low >= target.0);
    if max.value >= target.0 {
        let fitness = if reached { Fitness::Fit } else { Fitness::Marginal };
        let measured = format!("{} with {jobs} {}", text(max.value, max.low, max.high), jobs_word(jobs));
        return reason(fitness, measured, max.value);
    }
    match plateau {
        Some(plateau) if plateau.high < target.0 && max.high < target.0 => {
            let measured = format!("{} at most", text(plateau.value, plateau.low, plateau.high));
            reason(Fitness::Unfit, measured, plateau.value)
        }
        _ => {
            let measured =
                format!("{} seen with {jobs} {}", text(max.value, max.low, max.high), jobs_word(jobs));
            reason(Fitness::Marginal, measured, max.value)
        }
    }
}

fn judge_average(options: &SweepOptions, step: &SweptStep, kind: OpKind, load: &str) -> Option<Reason> {
    let bound = options.terms.average;
    let mean = step.result.summary(kind)?.mean;
    let measured = format!("{} ({} to {})", nanos(mean.value), nanos(mean.low), nanos(mean.high));
    let fitness = fitness(&mean, bound.0 as f64, MARGINAL);
    let what = format!("{} {load}, mean", word(kind));
    let reason = Reason::new(fitness, what, measured, format!("at most {bound}"));
    Some(reserved(
        reason.with_figure(Statistic::Mean, mean.value, bound.0 as f64, ReasonUnit::Nanoseconds),
        options,
        step,
        kind,
    ))
}

/// Never above the ceiling is what was asked: a single operation above it is not fit, however many were not.
fn judge_ceiling(options: &SweepOptions, step: &SweptStep, kind: OpKind, load: &str) -> Option<Reason> {
    let bound = options.terms.ceiling;
    let result = &step.result;
    result.summary(kind)?;
    // Of those in flight at the end of their time it is not known which kind they were: the last to come, where a set waits.
    let is_last = options.terms.operation.kinds().last() == Some(&kind);
    let late = Late::of(result, kind, bound, is_last);
    let measured = match late.count {
        0 => format!("{} (the longest of {})", late.longest, count(late.all)),
        above => format!(
            "{} of {} above {bound} ({:.3} %), the longest {}",
            count(above),
            count(late.all),
            late.of_operations() * 100.0,
            late.longest
        ),
    };
    let own = if late.count == 0 {
        Fitness::Fit
    } else if late.of_operations() <= RARE && late.of_time <= RARE * BY_CHANCE {
        Fitness::Marginal
    } else {
        Fitness::Unfit
    };
    let what = format!("{} {load}, longest", word(kind));
    let mut reason = Reason::new(own, what, measured, format!("never above {bound}")).with_figure(
        Statistic::Longest,
        late.longest.0 as f64,
        bound.0 as f64,
        ReasonUnit::Nanoseconds,
    );
    if late.count > 0 && late.of_time > late.of_operations() {
        // A closed loop asks for nothing while it is stalled, and so sees one slow operation where others would see many.
        let percent = late.of_time * 100.0;
        reason.reserve(own, format!("at a random instant {percent:.2} % would have waited longer"));
    }
    Some(reserved(reason, options, step, kind))
}

/// The operations above the ceiling.
struct Late {
    count: u64,
    all: u64,
    /// Share of the time for which one that comes then would take longer.
    of_time: f64,
    longest: Nanos,
}

impl Late {
    fn of_operations(&self) -> f64 {
        self.count as f64 / self.all.max(1) as f64
    }

    fn of(result: &PhaseResult, kind: OpKind, bound: Nanos, with_those_at_end: bool) -> Late {
        let totals = &result.totals;
        let max = result.summary(kind).and_then(|summary| summary.max).unwrap_or(Nanos(0));
        // The histogram is coarser than the maximum, which is exact.
        let above = totals.response(kind).map_or(0, |times| times.count_above(bound));
        let above = if max <= bound { 0 } else { above.max(1) };
        // Of those in flight at the end of their time only the longest is known.
        let oldest = Nanos(totals.drain_max).max(result.end.outstanding.oldest);
        let at_end = Some(oldest).filter(|&oldest| with_those_at_end && oldest > bound);
        let more = u64::from(at_end.is_some());
        Late {
            count: above + more,
            all: totals.operations(kind) + more,
            of_time: result.probability_above(kind, bound),
            longest: at_end.map_or(max, |at_end| max.max(at_end)),
        }
    }
}

/// What a value alone does not show: what a cache delivered says nothing for the storage, only what it did badly says
/// something against it.
fn reserved(mut reason: Reason, options: &SweepOptions, step: &SweptStep, kind: OpKind) -> Reason {
    if is_short(&step.result) {
        reason.reserve(Fitness::Marginal, format!("measured for only {}", step.result.end.measured));
    }
    if let Some(why) = from_memory(&step.result, kind, options.direct) {
        reason.reserve(Fitness::Marginal, why);
    }
    reason
}
