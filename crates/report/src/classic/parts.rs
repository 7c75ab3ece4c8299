//! What the tests' reports share.

use iolite_model::{ClassicStep, OpKind};
use iolite_results::Run;
use iolite_stats::PhaseResult;

use crate::styler::Styler;
use crate::table::{NONE, percent};

/// Bytes of a kilobyte as these programs count it.
pub(super) const KILO: f64 = 1024.0;

/// A line of a test with what it means for a database.
#[derive(Debug, Clone, Copy)]
pub(super) struct Meaning {
    pub(super) phase: &'static str,
    pub(super) means: &'static str,
}

/// The result of a step; `None` where it was not run to its end.
pub(super) fn result(run: &Run, step: ClassicStep) -> Option<&PhaseResult> {
    let name = step.name();
    run.phases.iter().find(|phase| phase.info.task.name() == name)
}

/// CPU time of the program in a phase, in percent of its time.
pub(super) fn cpu(run: &Run, phase: &PhaseResult) -> f64 {
    let usage: iolite_model::Usage = run.of_phase(phase.info.index).unwrap_or_default();
    let seconds = phase.totals.measured as f64;
    if seconds > 0.0 { 100.0 * (usage.user.0 + usage.system.0) as f64 / seconds } else { 0.0 }
}

/// How much came from the device, as the cache column of other tables has it.
pub(super) fn stamp(phase: &PhaseResult) -> String {
    crate::table::stamp(phase.end.cache.stamp())
}

/// The half width of the 95 % interval of a phase's rate, relative to the rate; `None` where it has too few operations for one.
pub(super) fn plus_minus(phase: &PhaseResult, kind: OpKind) -> Option<f64> {
    let half = phase.summary(kind)?.rate.relative_half_width();
    half.is_finite().then_some(half)
}

/// The same as the ± column of other tables has it.
pub(super) fn spread(half: Option<f64>) -> String {
    half.map_or_else(|| NONE.to_owned(), percent)
}

/// What [`plus_minus`] is, under a table.
pub(super) const SPREAD: &str = "±: 95 % interval of the rate, within this phase; -: too few operations";

/// What the phases mean, one per line.
pub(super) fn meanings(meanings: &[Meaning], styler: Styler) -> String {
    let width = meanings.iter().map(|meaning| meaning.phase.len()).max().unwrap_or(0) + 4;
    let line = |meaning: &Meaning| {
        let label = format!("  {:<rest$}", meaning.phase, rest = width - 2);
        styler.item(&label, width, meaning.means)
    };
    meanings.iter().map(line).collect()
}
