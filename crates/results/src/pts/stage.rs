//! Stages that follow the rounds: bursts, continuous writes, response times at operating points.

use iolite_model::{
    Ending, Nanos, OpKind, PtsPhase, PtsPoint, PtsPreWrite, PtsResumed, PtsSection, PtsStage, PtsStep,
};
use iolite_stats::{Direction, Estimate, Histogram, PhaseResult};

use super::progress::{PtsProgress, figure, longest, response};

/// The steps of a stage together.
#[derive(Debug, Clone, PartialEq)]
pub struct PtsStageFigures {
    /// Number of steps that are done.
    pub steps: u32,
    /// Mean of the steps: operations per second; bytes per second of cross-stimulus recovery. `None` where no operation completed in
    /// one of them.
    pub mean: Option<f64>,
    /// The mean with its 95 % interval, with each step as one observation; `None` for a single step, and without a mean.
    pub interval: Option<Estimate>,
    /// The figures of the first step and of the last; `None` where no operation completed in it.
    pub ends: (Option<f64>, Option<f64>),
    /// Mean response time of the steps in which operations completed, in nanoseconds; `None` where there is no such step.
    pub response: Option<f64>,
    /// Longest response time; `None` where no operation completed.
    pub max: Option<Nanos>,
    /// Mean time without operations before a step, as measured; `None` of stages without waits, and where it is not known.
    pub idle: Option<Nanos>,
}

impl<'a> PtsProgress<'a> {
    /// The steps of a stage that are done, in order.
    pub fn steps(&self, section: PtsSection, stage: PtsStage) -> Vec<&'a PhaseResult> {
        let of = |number| self.phase(section, PtsPhase::Step(PtsStep { stage, number }));
        let count = self.steps_of(section, stage);
        (1..=count).map_while(of).collect()
    }

    /// The steps of a stage together; `None` where none is done.
    pub fn stage(&self, section: PtsSection, stage: PtsStage) -> Option<PtsStageFigures> {
        let steps = self.steps(section, stage);
        let figures = self.step_figures(section, stage);
        let ends = (*figures.first()?, *figures.last()?);
        let values: Option<Vec<f64>> = figures.into_iter().collect();
        let windows = |values: &Vec<f64>| values.iter().map(|value| (1.0, *value)).collect::<Vec<_>>();
        let count = steps.len() as f64;
        Some(PtsStageFigures {
            steps: u32::try_from(steps.len()).unwrap_or(u32::MAX),
            mean: values.as_ref().map(|values| values.iter().sum::<f64>() / count),
            interval: values
                .as_ref()
                .and_then(|values| Estimate::of_windows(&windows(values), Direction::HigherIsBetter)),
            ends,
            response: mean_response(&steps),
            max: steps.iter().map(|result| longest(result)).max().filter(|max| max.0 > 0),
            idle: matches!(stage, PtsStage::Bursts(_)).then(|| self.idle(&steps)).flatten(),
        })
    }

    /// The figure of each step of a stage that is done; `None` where no operation completed in it.
    pub fn step_figures(&self, section: PtsSection, stage: PtsStage) -> Vec<Option<f64>> {
        self.steps(section, stage).iter().map(|result| figure(section.test, result)).collect()
    }

    /// Bytes of each step of a stage that is done.
    pub fn step_bytes(&self, section: PtsSection, stage: PtsStage) -> Vec<u64> {
        let bytes = |result: &&PhaseResult| result.totals.bytes(OpKind::Write);
        self.steps(section, stage).iter().map(bytes).collect()
    }

    /// Response times of all reads and writes at an operating point; `None` before they are measured.
    pub fn responses(&self, section: PtsSection, point: PtsPoint) -> Option<Histogram> {
        let step = PtsStep { stage: PtsStage::Histogram(point), number: 1 };
        let totals = &self.phase(section, PtsPhase::Step(step))?.totals;
        let mut all = Histogram::new();
        let kinds = [OpKind::Read, OpKind::Write].into_iter();
        kinds.filter_map(|kind| totals.response(kind)).for_each(|response| all.merge(response));
        Some(all)
    }

    /// The recovery and write saturation tests that were continued by another run in the middle of their rounds or stages: meanwhile the
    /// device could recover for longer than they say.
    pub fn paused(&self) -> Vec<PtsSection> {
        let continued = self.continued();
        let is_paused = |section: &PtsSection| {
            // Purge and preconditioning are followed by a colon.
            let own = format!("{},", section.name());
            let is_own = |phase: &&PhaseResult| phase.info.task.name().starts_with(&own);
            let numbers = || self.run().phases.iter().filter(is_own).map(|phase| phase.info.index);
            let ends = numbers().min().zip(numbers().max());
            section.test.is_continuous()
                && ends.is_some_and(|(first, last)| is_between(&continued, [first, last]))
        };
        self.terms().sections().into_iter().filter(is_paused).collect()
    }

    /// Whether the writes before a measurement are done, in the run that goes on: during the time between two runs, the device could
    /// recover from them.
    pub fn is_written(&self, section: PtsSection, pre_write: PtsPreWrite) -> bool {
        let (run, name) = (self.run(), section.phase(PtsPhase::PreWrite(pre_write)));
        let is_it = |phase: &PhaseResult| {
            phase.end.ending == Ending::Completed && phase.info.task.name() == name.as_str()
        };
        // The run that goes on may not have a phase yet.
        let begin = run.concluded::<PtsResumed>().map(|resumed| resumed.phases).max().unwrap_or(0);
        let last = run.phases.iter().rposition(is_it);
        last.is_some_and(|last| last as u64 >= begin)
    }

    /// Numbers of the phases with which this run, or one that it continues, has continued another.
    fn continued(&self) -> Vec<u32> {
        let run = self.run();
        let first =
            |resumed: PtsResumed| Some(run.phases.get(usize::try_from(resumed.phases).ok()?)?.info.index);
        run.concluded::<PtsResumed>().filter_map(first).collect()
    }

    /// Mean time between the end of a step and the first operation of the next. Both begin after the same delay, so that it
    /// follows from the times of their releases; steps of different runs are not compared.
    fn idle(&self, steps: &[&PhaseResult]) -> Option<Nanos> {
        let released = &self.run().released;
        let continued = self.continued();
        let between = |pair: &[&PhaseResult]| {
            let numbers = [pair[0].info.index, pair[1].info.index];
            let [one, next] = [released.get(&numbers[0])?, released.get(&numbers[1])?];
            if is_between(&continued, numbers) {
                return None;
            }
            Some(next.0.checked_sub(one.0)?.saturating_sub(pair[0].end.measured.0))
        };
        let waits: Vec<u64> = steps.windows(2).filter_map(between).collect();
        let sum = waits.iter().fold(0_u64, |sum, wait| sum.saturating_add(*wait));
        (!waits.is_empty()).then(|| Nanos(sum / waits.len() as u64))
    }
}

/// Mean of the mean response times of the steps in which operations completed, in nanoseconds.
fn mean_response(steps: &[&PhaseResult]) -> Option<f64> {
    let known: Vec<f64> = steps.iter().map(|result| response(result)).filter(|mean| *mean > 0.0).collect();
    (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
}

/// Whether a run was continued after one phase and before or with the next.
fn is_between(continued: &[u32], [one, next]: [u32; 2]) -> bool {
    continued.iter().any(|with| one < *with && *with <= next)
}
