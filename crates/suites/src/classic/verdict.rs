//! What the figures mean for a database: the bounds of the profile `oltp-flash`, applied to what these tests measure.

use iolite_model::{
    BonniePhase, Bytes, CacheStamp, ClassicStep, ClassicTerms, DdStep, Fitness, Iops, IozoneTest, Nanos,
    OpKind, Reason, Verdict,
};
use iolite_results::Run;
use iolite_stats::{PhaseResult, Streamed};

/// The profile whose bounds these are.
const PROFILE: &str = "oltp-flash";

/// Bytes a second of sequential reads and writes (the profile's floors: a gp3 volume's baseline).
const STREAM: f64 = 125.0 * 1024.0 * 1024.0;
/// Down to this share of it the verdict is marginal.
const STREAM_MARGIN: f64 = 1.5;
/// Random reads a second (the profile's floor).
const READS: f64 = 3000.0;
/// Mean response time of random reads (the profile's bound).
const RESPONSE: Nanos = Nanos(2_000_000);
const MARGIN: f64 = 1.25;

/// The verdict of what was measured.
pub(super) fn verdict(terms: &ClassicTerms, run: &Run) -> Verdict {
    let mut reasons = Vec::new();
    if terms.dd.is_some() {
        let of = |step| result(run, ClassicStep::Dd(step));
        reasons
            .extend(of(DdStep::Write).and_then(|phase| stream("dd, write with sync", phase, OpKind::Write)));
        reasons.extend(of(DdStep::Read).and_then(|phase| stream("dd, read back", phase, OpKind::Read)));
    }
    if terms.bonnie.is_some() {
        let of = |phase| result(run, ClassicStep::Bonnie(phase));
        let output = of(BonniePhase::PutBlock);
        reasons.extend(output.and_then(|phase| stream("Bonnie++, block output", phase, OpKind::Write)));
        let input = of(BonniePhase::GetBlock);
        reasons.extend(input.and_then(|phase| stream("Bonnie++, block input", phase, OpKind::Read)));
        let seeks = of(BonniePhase::Seeks);
        reasons.extend(seeks.and_then(|phase| rate("Bonnie++, random seeks", &[phase])));
        reasons.extend(seeks.and_then(|phase| response("Bonnie++, mean of a seek", phase)));
    }
    if let Some(iozone) = &terms.iozone {
        let processes = (1..=iozone.processes)
            .filter_map(|process| result(run, ClassicStep::Iozone(IozoneTest::RandomRead, process)));
        let processes: Vec<_> = processes.collect();
        reasons.extend(rate("IOzone, random readers", &processes));
        let slowest = processes.into_iter().max_by_key(|phase| phase.totals.measured);
        reasons.extend(slowest.and_then(|phase| response("IOzone, mean of a random read", phase)));
    }
    Verdict::of(PROFILE, reasons)
}

/// Bytes a second, durable where they are written.
fn stream(what: &str, phase: &PhaseResult, kind: OpKind) -> Option<Reason> {
    let value = Streamed::of(phase, kind)?.durable_rate();
    let shown = |rate: f64| format!("{}/s", Bytes(rate as u64));
    let reason = at_least(what, value, STREAM, STREAM_MARGIN, shown);
    Some(unless_cached(reason, &[phase]))
}

/// Random reads a second of phases that ran together.
fn rate(what: &str, phases: &[&PhaseResult]) -> Option<Reason> {
    let reads: u64 = phases.iter().map(|phase| phase.totals.operations(OpKind::Read)).sum();
    let measured = phases.iter().map(|phase| phase.totals.measured).max().filter(|measured| *measured > 0)?;
    let value = reads as f64 / (measured as f64 / 1e9);
    let reason = at_least(what, value, READS, MARGIN, |rate| format!("{} IOPS", Iops(rate)));
    Some(unless_cached(reason, phases))
}

/// The mean response time of random reads.
fn response(what: &str, phase: &PhaseResult) -> Option<Reason> {
    let mean = phase.summary(OpKind::Read)?.mean.value;
    let bound = RESPONSE.0 as f64;
    let fitness = match mean {
        mean if mean <= bound => Fitness::Fit,
        mean if mean <= bound * MARGIN => Fitness::Marginal,
        _ => Fitness::Unfit,
    };
    let reason = Reason::new(fitness, what, Nanos(mean as u64).to_string(), format!("at most {RESPONSE}"));
    Some(unless_cached(reason.with_figure(mean, bound), &[phase]))
}

fn at_least(what: &str, value: f64, bound: f64, margin: f64, shown: impl Fn(f64) -> String) -> Reason {
    let fitness = match value {
        value if value >= bound => Fitness::Fit,
        value if value >= bound / margin => Fitness::Marginal,
        _ => Fitness::Unfit,
    };
    Reason::new(fitness, what, shown(value), format!("at least {}", shown(bound))).with_figure(value, bound)
}

/// A figure of memory shows nothing of the storage, however good it is.
fn unless_cached(mut reason: Reason, phases: &[&PhaseResult]) -> Reason {
    let cached = |phase: &&PhaseResult| match phase.end.cache.stamp() {
        CacheStamp::Cached => true,
        CacheStamp::PartlyCached(share) => share > 0.5,
        _ => false,
    };
    if reason.fitness == Fitness::Fit && phases.iter().any(cached) {
        reason.reserve(Fitness::Marginal, "the reads came mostly from memory");
    }
    reason
}

/// The result of a step in a run, where it came to its end.
fn result(run: &Run, step: ClassicStep) -> Option<&PhaseResult> {
    let name = step.name();
    run.phases.iter().find(|phase| phase.info.task.name() == name)
}
