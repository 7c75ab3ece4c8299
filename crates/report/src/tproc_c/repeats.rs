//! Repetitions of one load: how much NOPM vary between runs from the same start.

use iolite_model::Task;

use super::TprocCPhase;
use crate::run::{Note, rendered};
use crate::styler::{Emphasis, Styler, count};

/// Quantiles of Student's t for a two-sided 95 % interval, by degrees of freedom from 1.
const STUDENT: [f64; 10] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];
const NORMAL: f64 = 1.96;

/// NOPM, or TPM, of several runs with the same number of users.
pub(super) struct Repeats {
    pub(super) runs: usize,
    pub(super) mean: f64,
    pub(super) min: f64,
    pub(super) max: f64,
    /// Standard deviation between runs.
    pub(super) deviation: f64,
    /// Half-width of the mean's 95 % interval between runs.
    pub(super) half_width: f64,
}

impl Repeats {
    /// `None` for a single run, or for runs of different loads.
    pub(super) fn of(phases: &[TprocCPhase]) -> Option<Repeats> {
        let users = |phase: &TprocCPhase| match &phase.result.info.task {
            Task::TprocC(task) => task.users,
            other => other.concurrency(),
        };
        let first = users(phases.first()?);
        if phases.len() < 2 || phases.iter().any(|phase| users(phase) != first) {
            return None;
        }
        let nopm: Vec<f64> = phases.iter().filter_map(|phase| Some(phase.counted.as_ref()?.nopm())).collect();
        Repeats::of_values(&nopm)
    }

    /// `None` of fewer than two values.
    pub(super) fn of_values(values: &[f64]) -> Option<Repeats> {
        if values.len() < 2 {
            return None;
        }
        let runs = values.len();
        let mean = values.iter().sum::<f64>() / runs as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = (squares / (runs - 1) as f64).sqrt();
        let student = STUDENT.get(runs - 2).copied().unwrap_or(NORMAL);
        Some(Repeats {
            runs,
            mean,
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            max: values.iter().copied().fold(0.0, f64::max),
            deviation,
            half_width: student * deviation / (runs as f64).sqrt(),
        })
    }

    pub(super) fn text(&self, styler: Styler) -> String {
        let whole = |value: f64| count(value.round() as u64);
        let share = |value: f64| if self.mean > 0.0 { value * 100.0 / self.mean } else { 0.0 };
        let title = format!("{} runs from the same start", self.runs);
        let text = format!(
            "mean {} ± {:.1} % (95 % interval of the mean, between runs), {} to {}, standard deviation {:.1} %",
            whole(self.mean),
            share(self.half_width),
            whole(self.min),
            whole(self.max),
            share(self.deviation)
        );
        styler.paint(Emphasis::Strong, &title) + "\n" + &rendered(&Note::plain("NOPM", text), styler)
    }
}
