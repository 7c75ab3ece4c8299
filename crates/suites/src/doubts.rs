//! Doubts about a phase that has been measured.

use iolite_model::{Ending, Mix, Nanos, OpKind, Task, Warning};
use iolite_stats::PhaseResult;

/// Measured time below which a figure is said to rest on little.
const SHORT: Nanos = Nanos(250_000_000);

/// What may be doubted about a phase, with advice. `first_error` is the first error of an operation, where the phase's
/// end does not list it.
pub fn doubts(result: &PhaseResult, first_error: Option<&str>) -> Vec<Warning> {
    let name = || {
        let task = &result.info.task;
        format!("{}, {} outstanding", task.name(), task.concurrency())
    };
    let mut doubts = Vec::new();
    let errors = OpKind::ALL.iter().map(|&kind| result.totals.errors(kind)).sum::<u64>();
    if errors > 0 {
        let listed = result.end.errors.first().map(|tally| tally.first.as_str());
        let first = listed.or(first_error).unwrap_or("an unknown error").to_owned();
        doubts.push(Warning::Errors { phase: name(), errors, first });
    }
    let outstanding = result.end.outstanding;
    if outstanding.lost > 0 {
        doubts.push(Warning::Hung { phase: name(), lost: outstanding.lost, age: outstanding.oldest });
    }
    doubts.extend(foreign_load(result, name));
    doubts
}

/// Whether so little time was measured that a figure rests on little.
pub(crate) fn is_short(result: &PhaseResult) -> bool {
    result.end.measured < SHORT
}

/// The phases that ended before their time so early that their figures rest on little.
pub(crate) fn short_phases(history: &[PhaseResult]) -> Option<Warning> {
    let is_short = |result: &&PhaseResult| {
        let limited = result.info.task.stop().runtime.is_some_and(|runtime| result.end.measured < runtime);
        limited && is_short(result) && result.end.ending == Ending::Completed
    };
    let name = |result: &PhaseResult| format!("{} ({})", result.info.task.name(), result.end.measured);
    let phases: Vec<_> = history.iter().filter(is_short).map(name).collect();
    (!phases.is_empty()).then_some(Warning::ShortPhases { phases })
}

/// Reads that the devices did beyond this program's own, where those are known; else beyond those requested, in a phase that only
/// reads files directly: anything else (a database, writes with their journal, read-ahead) adds I/O of its own.
fn foreign_load(result: &PhaseResult, name: impl Fn() -> String) -> Option<Warning> {
    let cache = &result.end.cache;
    let reads_only = matches!(&result.info.task, Task::File(task) if task.direct && task.mix == Mix::Read);
    cache.foreign_read().filter(|_| cache.own_read.is_some() || reads_only)?;
    let (requested, device) = (cache.requested_read, cache.device_read?);
    Some(Warning::ForeignLoad { phase: name(), requested, device })
}
