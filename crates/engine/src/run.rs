//! Runs a phase, its workers in threads or in processes.

use iolite_model::{FileTask, Sink};
use iolite_sys::clock::Clock;
use iolite_workers::{Control, Outcome, StartLine};

use crate::error::EngineError;
use crate::guard::Scratch;
use crate::phase::{Phase, Ran};
use crate::{processes, rate};

/// Runs a task of block I/O as phase number `phase`; a file that it makes lies in `scratch`. Intervals and workers' totals
/// go to `sink` as they come.
///
/// # Errors
/// The task is invalid, its target cannot be made or opened, or the back end cannot be had: nothing was measured.
pub fn run_file_task(
    task: &FileTask,
    phase: u32,
    scratch: &mut Scratch,
    clock: Clock,
    control: &Control,
    sink: &mut dyn Sink,
) -> Result<Outcome, EngineError> {
    let mut phase = Phase::prepare(task, phase, scratch, control)?;
    phase.share_zones()?;
    Ok(run_phase(&phase, None, clock, control, sink)?.verify())
}

/// Runs a phase that is ready, starting together with whatever waits at `line`.
pub(crate) fn run_phase(
    phase: &Phase,
    line: Option<&dyn StartLine>,
    clock: Clock,
    control: &Control,
    sink: &mut dyn Sink,
) -> Result<Ran, EngineError> {
    if phase.task.placement.processes {
        let mut ran = processes::run(phase, line, clock, control, sink)?;
        ran.outcome.rate = rate::kept(&phase.task, &ran.outcome);
        return Ok(ran);
    }
    let outcome = phase.run_threads(0, phase.task.workers, line, clock, control, sink)?;
    Ok(phase.conclude_on_files(outcome, clock, control))
}
