//! What the figures mean for a database: the bounds of the profile `oltp-flash`, applied to what these tests measure.

use iolite_model::{
    BonniePhase, Bytes, ClassicStep, ClassicTerms, DdStep, Fitness, HostLimit, Iops, IozoneTest, Nanos,
    OpKind, Reason, ReasonUnit, Statistic, Task, Verdict,
};
use iolite_results::Run;
use iolite_stats::{Estimate, PhaseResult, SignTest, Streamed};

use crate::judge::{
    Disturbance, HostUse, fitness, from_memory, judge_failures, judge_run, judge_storage, nanos,
    on_ratio_scale, reaches,
};
use crate::phase_warnings::{beside_others, is_short};

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

/// A figure that is judged, and the phases that it comes from: those of several processes ran together.
struct Judged<'a> {
    what: &'static str,
    figure: Figure,
    phases: Vec<&'a PhaseResult>,
}

/// What is judged of phases.
#[derive(Clone, Copy)]
enum Figure {
    /// Bytes a second of a kind, durable where they are written.
    Stream(OpKind),
    /// Random reads a second.
    Rate,
    /// The mean response time of random reads; of several phases that of the slowest.
    Response,
}

/// The verdict of what was measured.
pub(super) fn verdict(terms: &ClassicTerms, run: &Run) -> Verdict {
    let judged = judged(terms, run);
    let groups: Vec<_> = judged.iter().map(|judged| judged.phases.clone()).collect();
    let mut reasons: Vec<Reason> = judge_storage(run).into_iter().collect();
    reasons.extend(judge_failures(run.errors(), run.lost()));
    reasons.extend(judged.iter().map(|judged| judged.reason(run)));
    reasons.extend(judge_run(run, &groups));
    Verdict::of(PROFILE, reasons)
}

/// What is judged of the tests that were asked for.
fn judged<'a>(terms: &ClassicTerms, run: &'a Run) -> Vec<Judged<'a>> {
    let of = |what, figure, steps: &[ClassicStep]| {
        let named = |step: &ClassicStep| {
            let name = step.name();
            run.phases.iter().find(|phase| phase.info.task.name() == name)
        };
        Judged { what, figure, phases: steps.iter().filter_map(named).collect() }
    };
    let mut judged = Vec::new();
    if terms.dd.is_some() {
        let steps = [DdStep::Write, DdStep::Read].map(ClassicStep::Dd);
        judged.push(of("dd, write with sync", Figure::Stream(OpKind::Write), &steps[..1]));
        judged.push(of("dd, read back", Figure::Stream(OpKind::Read), &steps[1..]));
    }
    if terms.bonnie.is_some() {
        let [output, input, seeks] =
            [BonniePhase::PutBlock, BonniePhase::GetBlock, BonniePhase::Seeks].map(ClassicStep::Bonnie);
        judged.push(of("Bonnie++, block output", Figure::Stream(OpKind::Write), &[output]));
        judged.push(of("Bonnie++, block input", Figure::Stream(OpKind::Read), &[input]));
        judged.push(of("Bonnie++, random seeks", Figure::Rate, &[seeks]));
        judged.push(of("Bonnie++, random seeks, mean", Figure::Response, &[seeks]));
    }
    if let Some(iozone) = &terms.iozone {
        let readers =
            (1..=iozone.processes).map(|process| ClassicStep::Iozone(IozoneTest::RandomRead, process));
        let readers: Vec<_> = readers.collect();
        judged.push(of("IOzone, random readers", Figure::Rate, &readers));
        judged.push(of("IOzone, random readers, mean", Figure::Response, &readers));
    }
    judged
}

impl Judged<'_> {
    /// What was beside these phases: I/O of others, or waits for CPUs.
    fn disturbance(&self, run: &Run) -> Option<Disturbance> {
        if self.phases.iter().any(|phase| beside_others(phase, is_direct(phase))) {
            return Some(Disturbance::Device);
        }
        let (host, phases) = (HostUse::of(run), || self.phases.iter().copied());
        let is_wait = |limit: &HostLimit| matches!(limit, HostLimit::RunQueue(_) | HostLimit::Steal(_));
        let waited = host.limits(phases()).iter().any(is_wait) || host.steal().is_some();
        waited.then(|| Disturbance::Host { slower: host.slower(phases()) })
    }

    /// Whether the figure misses its bound by more than the margin even if all was this factor slower than it would have been.
    fn is_unfit_without(&self, slower: f64) -> bool {
        self.estimate().is_some_and(|estimate| match self.figure {
            Figure::Stream(_) => estimate.high * slower < STREAM / STREAM_MARGIN,
            Figure::Rate => estimate.high * slower < READS / MARGIN,
            Figure::Response => estimate.low / slower > RESPONSE.0 as f64 * MARGIN,
        })
    }

    fn reason(&self, run: &Run) -> Reason {
        let mut reason = self.figure().unwrap_or_else(|| {
            Reason::new(
                Fitness::Marginal,
                self.what,
                "not judged: no operation succeeded",
                self.figure.asked(),
            )
        });
        if let [phase] = self.phases[..] {
            reason = reason.of_phase(phase.info.index);
        }
        if let Some(disturbance) =
            self.disturbance(run).filter(|disturbance| !self.is_unfit_without(disturbance.slower()))
        {
            reason.spare(disturbance.reservation());
        }
        let kind = match self.figure {
            Figure::Stream(kind) => kind,
            Figure::Rate | Figure::Response => OpKind::Read,
        };
        let memory = self.phases.iter().find_map(|phase| from_memory(phase, kind, is_direct(phase)));
        if let Some(why) = memory {
            reason.reserve(Fitness::Marginal, why);
        }
        if let Some(short) = self.phases.iter().find(|phase| is_short(phase)) {
            reason.reserve(
                Fitness::Marginal,
                format!("measured for only {}: use a larger --size", short.end.measured),
            );
        }
        reason
    }

    /// The figure compared with its bound; `None` where nothing was measured.
    fn figure(&self) -> Option<Reason> {
        let estimate = self.estimate()?;
        let (fitness, bound) = match self.figure {
            Figure::Stream(_) => (at_least(estimate, STREAM, STREAM_MARGIN), STREAM),
            Figure::Rate => (at_least(estimate, READS, MARGIN), READS),
            Figure::Response => (fitness(&estimate, RESPONSE.0 as f64, MARGIN), RESPONSE.0 as f64),
        };
        let (statistic, unit) = match self.figure {
            Figure::Stream(_) => (Statistic::Rate, ReasonUnit::BytesPerSecond),
            Figure::Rate => (Statistic::Rate, ReasonUnit::OperationsPerSecond),
            Figure::Response => (Statistic::Mean, ReasonUnit::Nanoseconds),
        };
        let [value, low, high] =
            [estimate.value, estimate.low, estimate.high].map(|of| self.figure.shown(of));
        let measured = format!("{value} ({low} to {high})");
        Some(Reason::new(fitness, self.what, measured, self.figure.asked()).with_figure(
            statistic,
            estimate.value,
            bound,
            unit,
        ))
    }

    /// The figure with its 95 % interval within the run.
    fn estimate(&self) -> Option<Estimate> {
        match self.figure {
            Figure::Stream(kind) => {
                let phase = self.phases.first()?;
                let (rate, durable) = (phase.summary(kind)?.rate, Streamed::of(phase, kind)?.durable_rate());
                Some(on_ratio_scale(rate.scaled(durable / rate.value)))
            }
            Figure::Rate => {
                let rates = self.phases.iter().filter_map(|phase| Some(phase.summary(OpKind::Read)?.rate));
                // Processes that run together are slow together: their errors add up.
                let sum = rates.reduce(|one, other| Estimate {
                    value: one.value + other.value,
                    low: one.low + other.low,
                    high: one.high + other.high,
                    standard_error: one.standard_error + other.standard_error,
                    ..one
                });
                sum.map(on_ratio_scale)
            }
            Figure::Response => {
                let slowest = self.phases.iter().max_by_key(|phase| phase.totals.measured)?;
                Some(slowest.summary(OpKind::Read)?.mean)
            }
        }
    }
}

fn is_direct(phase: &PhaseResult) -> bool {
    matches!(&phase.info.task, Task::File(task) if task.direct)
}

/// Whether a rate reaches a floor.
fn at_least(rate: Estimate, floor: f64, margin: f64) -> Fitness {
    reaches(&rate, floor, margin, |bound| SignTest::of(&[], bound, 0.0))
}

impl Figure {
    fn shown(self, value: f64) -> String {
        match self {
            Figure::Stream(_) => format!("{}/s", Bytes(value as u64)),
            Figure::Rate => format!("{} IOPS", Iops(value)),
            Figure::Response => nanos(value),
        }
    }

    fn asked(self) -> String {
        match self {
            Figure::Stream(_) => format!("at least {}", self.shown(STREAM)),
            Figure::Rate => format!("at least {}", self.shown(READS)),
            Figure::Response => format!("at most {RESPONSE}"),
        }
    }
}
