//! Runs a phase, its workers in threads or in processes.

use std::io;
use std::sync::Arc;

use iolite_model::{BackendKind, FileTask, Sink};
use iolite_sys::clock::Clock;
use iolite_workers::{Control, Outcome, StartLine};

use crate::backend::Backend;
use crate::error::EngineError;
use crate::guard::Scratch;
use crate::phase::{Phase, Ran};
use crate::target::Targets;
use crate::validate::validate;
use crate::zoned::{ZoneDevice, ZonesOfTask};
use crate::{placement, processes, rate};

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
    scratch.admitted().begin_set();
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

/// Runs a task as [`run_file_task`](crate::run_file_task) does, on back ends of the caller's making instead of its own: the way
/// to measure a simulated device. `make` is called once by each worker's thread with the worker's number and
/// its depth, and, where all is verified afterwards, once more. The task's back end and target must be the null ones; the
/// target's size is the span.
///
/// # Errors
/// The task is invalid, or `make` fails: nothing was measured.
pub fn run_file_task_on<B: Backend>(
    task: &FileTask,
    phase: u32,
    clock: Clock,
    control: &Control,
    sink: &mut dyn Sink,
    make: impl Fn(u32, u32) -> io::Result<B> + Clone + Send + 'static,
) -> Result<Outcome, EngineError> {
    run_on(task, phase, None, clock, control, sink, make)
}

/// As [`run_file_task_on`], on a simulated device with zones of this size: the task's `zoned` says how they are used.
///
/// # Errors
/// As for [`run_file_task_on`]; the zones are not as the task describes them.
pub fn run_zoned_file_task_on<B: Backend>(
    task: &FileTask,
    phase: u32,
    zones: (Arc<dyn ZoneDevice>, u64),
    clock: Clock,
    control: &Control,
    sink: &mut dyn Sink,
    make: impl Fn(u32, u32) -> io::Result<B> + Clone + Send + 'static,
) -> Result<Outcome, EngineError> {
    run_on(task, phase, Some(zones), clock, control, sink, make)
}

fn run_on<B: Backend>(
    task: &FileTask,
    phase: u32,
    zones: Option<(Arc<dyn ZoneDevice>, u64)>,
    clock: Clock,
    control: &Control,
    sink: &mut dyn Sink,
    make: impl Fn(u32, u32) -> io::Result<B> + Clone + Send + 'static,
) -> Result<Outcome, EngineError> {
    validate(task)?;
    if task.backend != BackendKind::Null || task.placement.processes {
        let reason =
            "a back end of the caller's making takes the place of the null back end, in threads".into();
        return Err(EngineError::Task { task: task.name.clone(), reason });
    }
    let mut phase = Phase::new(task.clone(), phase, Targets::none())?;
    if let Some((device, size)) = zones {
        phase.zones = ZonesOfTask::of_device(task, device, size)?;
        phase.share_zones()?;
    }
    let phase = phase;
    phase.begin_state()?;
    let outcome = phase.group(0, task.workers, clock, control).run(None, sink, |worker| {
        let (phase, make) = (phase.clone(), make.clone());
        move |start| {
            let _held = placement::place(&phase.task.placement, worker)?;
            let plan = phase.plan(worker)?;
            let backend = make(worker, plan.depth).map_err(|source| phase.no_backend(source))?;
            phase.measure(backend, plan, start)
        }
    })?;
    let make = move |task: &FileTask, worker| {
        let depth = task.depth_of(worker);
        Ok((make(worker, depth)?, depth, task.largest().0 as usize))
    };
    Ok(phase.conclude(outcome, clock, control, make).verify())
}
