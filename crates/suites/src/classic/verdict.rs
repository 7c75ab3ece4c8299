//! What the figures mean for a database: the bounds of the profile `oltp-flash`, applied to what these tests measure.

use iolite_model::{
    BonniePhase, Bytes, ClassicStep, ClassicTerms, DdStep, Fitness, Iops, IozoneTest, Nanos, OpKind, Reason,
    Task, Verdict,
};
use iolite_results::Run;
use iolite_stats::{PhaseResult, Streamed};

use crate::judge::{from_memory, judge_failures, judge_run};

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
    let mut reasons: Vec<Reason> = judge_failures(run.errors(), run.lost()).collect();
    reasons.extend(judged.iter().map(Judged::reason));
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
        judged.push(of("Bonnie++, mean of a seek", Figure::Response, &[seeks]));
    }
    if let Some(iozone) = &terms.iozone {
        let readers =
            (1..=iozone.processes).map(|process| ClassicStep::Iozone(IozoneTest::RandomRead, process));
        let readers: Vec<_> = readers.collect();
        judged.push(of("IOzone, random readers", Figure::Rate, &readers));
        judged.push(of("IOzone, mean of a random read", Figure::Response, &readers));
    }
    judged
}

impl Judged<'_> {
    fn reason(&self) -> Reason {
        let mut reason = self.figure().unwrap_or_else(|| {
            Reason::new(
                Fitness::Marginal,
                self.what,
                "not judged: no operation succeeded",
                self.figure.asked(),
            )
        });
        let kind = match self.figure {
            Figure::Stream(kind) => kind,
            Figure::Rate | Figure::Response => OpKind::Read,
        };
        let direct = |phase: &PhaseResult| matches!(&phase.info.task, Task::File(task) if task.direct);
        let memory = self.phases.iter().find_map(|phase| from_memory(phase, kind, direct(phase)));
        if let Some(why) = memory {
            reason.reserve(Fitness::Marginal, why);
        }
        reason
    }

    /// The figure compared with its bound; `None` where nothing was measured.
    fn figure(&self) -> Option<Reason> {
        match self.figure {
            Figure::Stream(kind) => {
                let value = Streamed::of(self.phases.first()?, kind)?.durable_rate();
                Some(self.at_least(value, STREAM, STREAM_MARGIN))
            }
            Figure::Rate => {
                let phases = self.phases.iter();
                let reads: u64 = phases.clone().map(|phase| phase.totals.operations(OpKind::Read)).sum();
                let measured = phases.map(|phase| phase.totals.measured).max();
                let measured = measured.filter(|measured| *measured > 0 && reads > 0)?;
                Some(self.at_least(reads as f64 / (measured as f64 / 1e9), READS, MARGIN))
            }
            Figure::Response => {
                let slowest = self.phases.iter().max_by_key(|phase| phase.totals.measured)?;
                let (mean, bound) = (slowest.summary(OpKind::Read)?.mean.value, RESPONSE.0 as f64);
                let fitness = match mean {
                    mean if mean <= bound => Fitness::Fit,
                    mean if mean <= bound * MARGIN => Fitness::Marginal,
                    _ => Fitness::Unfit,
                };
                let reason =
                    Reason::new(fitness, self.what, Nanos(mean as u64).to_string(), self.figure.asked());
                Some(reason.with_figure(mean, bound))
            }
        }
    }

    fn at_least(&self, value: f64, bound: f64, margin: f64) -> Reason {
        let fitness = match value {
            value if value >= bound => Fitness::Fit,
            value if value >= bound / margin => Fitness::Marginal,
            _ => Fitness::Unfit,
        };
        let reason = Reason::new(fitness, self.what, self.figure.shown(value), self.figure.asked());
        reason.with_figure(value, bound)
    }
}

impl Figure {
    fn shown(self, value: f64) -> String {
        match self {
            Figure::Stream(_) => format!("{}/s", Bytes(value as u64)),
            Figure::Rate => format!("{} IOPS", Iops(value)),
            Figure::Response => Nanos(value as u64).to_string(),
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
