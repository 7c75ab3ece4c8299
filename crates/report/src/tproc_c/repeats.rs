//! Repetitions of one load: how much NOPM vary between runs from the same start.

use iolite_model::Task;
use iolite_stats::{Direction, Estimate};
use serde::Serialize;

use super::TprocCPhase;
use crate::run::{Note, rendered};
use crate::styler::{Emphasis, Styler, count};

/// NOPM, or TPM, of several runs with the same number of users.
#[derive(Serialize)]
pub(super) struct Repeats {
    runs: usize,
    #[serde(rename = "nopm_mean")]
    pub(super) mean: f64,
    #[serde(rename = "nopm_min")]
    min: f64,
    #[serde(rename = "nopm_max")]
    max: f64,
    /// Standard deviation between runs.
    #[serde(rename = "nopm_deviation")]
    deviation: f64,
    /// Half-width of the mean's 95 % interval between runs.
    #[serde(rename = "nopm_half_width")]
    pub(super) half_width: f64,
}

impl Repeats {
    /// `None` for a single run, or for runs of different loads.
    pub(super) fn of(phases: &[TprocCPhase<'_>]) -> Option<Repeats> {
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
        let windows: Vec<(f64, f64)> = values.iter().map(|value| (1.0, *value)).collect();
        let mean = Estimate::of_windows(&windows, Direction::HigherIsBetter)?;
        Some(Repeats {
            runs: values.len(),
            mean: mean.value,
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            max: values.iter().copied().fold(0.0, f64::max),
            deviation: mean.standard_error * (values.len() as f64).sqrt(),
            half_width: mean.high - mean.value,
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
