//! What came of a thread: its error number, and the errors that it went on after.

use iolite_model::errno::{EAGAIN, EILSEQ, EINVAL, EIO, ENOSPC, ETIMEDOUT};
use iolite_model::{Ending, ErrorClass, ErrorTally, FileTask, JobTask, OpKind, Task};
use iolite_stats::PhaseResult;

use crate::language::thread::Thread;

/// The number of the error that ended a phase, 0 where none did; `failure` is the number of what kept its set from running.
pub(super) fn error_number(phase: &PhaseResult, failure: Option<i32>) -> i32 {
    let wrong = phase.end.verified.as_ref().is_some_and(|verified| verified.wrong + verified.unreadable > 0);
    if wrong {
        return EILSEQ;
    }
    if !matches!(phase.end.ending, Ending::Failed(_)) {
        return 0;
    }
    if too_long(phase) {
        return ETIMEDOUT;
    }
    let of_operations = phase.end.errors.first().map(|tally| number_of(tally.class, tally.number));
    of_operations.or(failure).unwrap_or(EIO)
}

/// Whether an operation took longer than any may (`max_latency`), which ends a phase.
fn too_long(phase: &PhaseResult) -> bool {
    let Task::File(FileTask { errors, .. }) = &phase.info.task else { return false };
    let limits = OpKind::all().filter_map(|kind| Some((errors.limit(kind)?, phase.totals.service(kind)?)));
    limits.map(|(longest, services)| (longest, services.max())).any(|(longest, taken)| taken > longest)
}

/// Errors, where the thread was to go on after some: how many, and the number of the first; (0, 0) where there were none.
pub(super) fn continued(thread: &Thread, phase: &PhaseResult) -> Option<(u64, i32)> {
    let JobTask::Io(task) = &thread.task else { return None };
    if task.errors.stop == ErrorClass::ALL && task.errors.max.is_none() {
        return None;
    }
    let errors = &phase.end.errors;
    let verification = |tally: &&ErrorTally| tally.class == ErrorClass::Verify;
    let of_reads: u64 = errors.iter().filter(verification).map(|tally| tally.count).sum();
    // What was read back and found wrong is no error of an operation.
    let found = phase.end.verified.as_ref().map_or(0, |verified| verified.wrong + verified.unreadable);
    let count = errors.iter().map(|tally| tally.count).sum::<u64>() + found.saturating_sub(of_reads);
    let first = errors.first().map(|first| number_of(first.class, first.number));
    Some((count, first.unwrap_or(if found > 0 { EILSEQ } else { 0 })))
}

fn number_of(class: ErrorClass, number: Option<i32>) -> i32 {
    number.unwrap_or(match class {
        ErrorClass::Verify => EILSEQ,
        ErrorClass::Space => ENOSPC,
        ErrorClass::Again => EAGAIN,
        ErrorClass::Unsupported => EINVAL,
        ErrorClass::Short | ErrorClass::Device | ErrorClass::Other => EIO,
    })
}
