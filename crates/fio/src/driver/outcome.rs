//! What came of a thread: its error number, and the errors that it went on after.

use iolite_model::errno::{EAGAIN, EILSEQ, EINVAL, EIO, ENOSPC, ETIMEDOUT};
use iolite_model::{Ending, ErrorClass, ErrorTally, FileTask, JobTask, OpKind, Task};
use iolite_results::{ReadBack, Run};
use iolite_stats::PhaseResult;

use crate::language::thread::Thread;

/// The number of a phase's error, 0 where there was none: of the error that ended it, else of the first that it went on after, as
/// fio has it. `failure` is the number of what kept its set from running.
pub(super) fn error_number(phase: &PhaseResult, failure: Option<i32>) -> i32 {
    let failed = matches!(phase.end.ending, Ending::Failed(_));
    if failed && too_long(phase) {
        return ETIMEDOUT;
    }
    let errors = &phase.end.errors;
    // Engines that work on names count their errors, and have none.
    let first = errors.first().filter(|_| failed || matches!(phase.info.task, Task::File(_)));
    let error = errors.iter().find(|tally| ends(phase, tally)).or(first);
    match error {
        Some(tally) => number_of(tally.class, tally.number),
        None if failed => failure.unwrap_or(EIO),
        None => 0,
    }
}

/// Whether a job has done all that it was to do in spite of its errors, because it was to go on after them (`continue_on_error`):
/// with fio, the command does not fail then.
pub fn went_on(phase: &PhaseResult) -> bool {
    let ended = phase.end.errors.iter().any(|tally| ends(phase, tally));
    matches!(phase.info.task, Task::File(_)) && phase.end.ending == Ending::Completed && !ended
}

/// Whether a phase has failed with errors like these. Data that could not be read back is an error whatever the job goes on
/// after, unless a full backlog was being verified; with fio, too.
fn ends(phase: &PhaseResult, tally: &ErrorTally) -> bool {
    let Task::File(task) = &phase.info.task else { return false };
    let backlog = task.direct && task.verify.as_ref().is_some_and(|verify| verify.backlog > 0);
    let unreadable = phase.end.verified.as_ref().is_some_and(|verified| verified.unreadable > 0) && !backlog;
    let of_reads = tally.kind == OpKind::Read && tally.class != ErrorClass::Verify;
    task.errors.stop.contains(&tally.class) || (unreadable && of_reads)
}

/// How a job ends that could not read all that was left to verify at its end, whatever it goes on after: with fio, too. `None` where
/// it ended otherwise.
pub(super) fn unread(run: &Run, phase: &PhaseResult) -> Option<Ending> {
    let reads = run.of_phase::<ReadBack>(phase.info.index)?.unread;
    let reason = format!("{reads} reads have failed when what was written was read back at the end");
    (reads > 0 && phase.end.ending == Ending::Completed).then_some(Ending::Failed(reason))
}

/// Whether an operation took longer than any may (`max_latency`), which ends a phase.
fn too_long(phase: &PhaseResult) -> bool {
    let Task::File(FileTask { errors, .. }) = &phase.info.task else { return false };
    let limits = OpKind::all().filter_map(|kind| Some((errors.limit(kind)?, phase.totals.service(kind)?)));
    limits.map(|(longest, services)| (longest, services.max())).any(|(longest, taken)| taken > longest)
}

/// Errors that the thread went on after, where it was to go on after some: how many, and the number of the first; (0, 0) where there
/// were none. A read is one error, however much of it is wrong.
pub(super) fn continued(thread: &Thread, phase: &PhaseResult) -> Option<(u64, i32)> {
    let JobTask::Io(task) = &thread.task else { return None };
    if task.errors.stop == ErrorClass::ALL && task.errors.max.is_none() {
        return None;
    }
    let mut errors =
        phase.end.errors.iter().filter(|tally| !task.errors.stop.contains(&tally.class)).peekable();
    let first = errors.peek().map_or(0, |first| number_of(first.class, first.number));
    Some((errors.map(|tally| tally.count).sum(), first))
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
