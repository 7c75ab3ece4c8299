//! A phase of block I/O: opens the target, and runs a crew of measured loops on the back end asked for.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use iolite_model::{BackendKind, FileTarget, FileTask, OpKind, Sink, Target};
use iolite_sys::clock::Clock;
use iolite_sys::file::{self, Access};
use iolite_sys::mapping;
use iolite_workload::{Arrivals, Filler, OpStream, Share};

use crate::backend::{Backend, Libaio, Mmap, Null, Sync, Threads, Uring, Vectored};
use crate::crew::{Crew, Finished, Outcome, Start};
use crate::measured::{Loop, Plan};
use crate::{Control, EngineError, Scratch};

/// Runs a task of block I/O as phase number `phase`; its file lies in `scratch`. Intervals and workers' totals go to
/// `sink` as they come.
///
/// # Errors
/// The task makes no sense, its file cannot be made or opened, or the back end cannot be had: nothing was measured.
pub fn run_file_task(
    task: &FileTask,
    phase: u32,
    scratch: &mut Scratch,
    clock: Clock,
    control: &Control,
    sink: &mut dyn Sink,
) -> Result<Outcome, EngineError> {
    validate(task)?;
    let file = match &task.target {
        Target::Null { .. } => None,
        Target::File(target) => Some(Arc::new(open_target(target, task, scratch)?)),
    };
    crew(task, phase, clock, control).run(sink, |worker| {
        let (task, file) = (task.clone(), file.clone());
        move |start| work(&task, worker, file, start)
    })
}

/// Runs a task as [`run_file_task`] does, on back ends of the caller's making instead of its own: the way to measure
/// a simulated device ([`Sim`](crate::Sim)). `make` is called once by each worker's thread with the worker's number and
/// its depth. The task's back end and target must be the null ones; the target's size is the span.
///
/// # Errors
/// The task makes no sense, or `make` fails: nothing was measured.
pub fn run_file_task_on<B: Backend>(
    task: &FileTask,
    phase: u32,
    clock: Clock,
    control: &Control,
    sink: &mut dyn Sink,
    make: impl Fn(u32, u32) -> io::Result<B> + Clone + Send + 'static,
) -> Result<Outcome, EngineError> {
    validate(task)?;
    if task.backend != BackendKind::Null {
        return refuse(task, "a back end was given, but the task names another");
    }
    crew(task, phase, clock, control).run(sink, |worker| {
        let (task, make) = (task.clone(), make.clone());
        move |start| {
            let plan = plan(&task, worker)?;
            let failed = |source| EngineError::Backend { backend: task.backend, source };
            measure(make(worker, plan.depth).map_err(failed)?, plan, start)
        }
    })
}

fn crew(task: &FileTask, phase: u32, clock: Clock, control: &Control) -> Crew {
    Crew {
        phase,
        workers: task.workers,
        kinds: kinds(task),
        stop: task.stop,
        ramp: task.ramp,
        interval: task.interval,
        clock,
        control: control.clone(),
    }
}

fn refuse<T>(task: &FileTask, reason: &str) -> Result<T, EngineError> {
    Err(EngineError::Task { task: task.name.clone(), reason: reason.into() })
}

fn validate(task: &FileTask) -> Result<(), EngineError> {
    let refuse = |reason: &str| refuse(task, reason);
    if task.workers == 0 || task.concurrency < task.workers {
        return refuse("it needs at least one worker, and one outstanding operation for each");
    }
    if task.block.0 == 0 || task.block.0 > 1 << 30 {
        return refuse("its block size must be between 1 byte and 1 GiB");
    }
    if task.backend.is_synchronous() && task.concurrency != task.workers {
        return refuse(
            "the back ends sync, vectored and mmap have one outstanding operation per worker: give as many workers",
        );
    }
    if (task.backend == BackendKind::Null) != matches!(task.target, Target::Null { .. }) {
        return refuse("the null back end goes with the null target, and only with it");
    }
    if task.stop.runtime.is_none() && task.stop.bytes.is_none() && task.stop.operations.is_none() {
        return refuse("nothing would end it: give a runtime, bytes or operations");
    }
    if let Err(error) = iolite_workload::validate(task) {
        return refuse(&error.to_string());
    }
    validate_backend(task)
}

/// What only one back end asks of its task.
fn validate_backend(task: &FileTask) -> Result<(), EngineError> {
    let refuse = |reason: &str| refuse(task, reason);
    let extends = matches!(&task.target, Target::File(file) if file.create && !file.preallocate);
    match task.backend {
        BackendKind::Mmap if task.direct => refuse(
            "mapped memory is the page cache, which direct I/O bypasses: use another back end, or no direct I/O",
        ),
        BackendKind::Mmap if extends => {
            refuse("a mapping can't extend its file: preallocate it, or write it with another back end first")
        }
        BackendKind::Vectored(flags) if (flags.hipri || flags.atomic) && !task.direct => refuse(
            "the flags hipri and atomic mean something with direct I/O only: add it, or leave them out",
        ),
        BackendKind::Vectored(flags) if flags.dontcache && task.direct => refuse(
            "the flag dontcache is about the page cache, which direct I/O bypasses: leave one of them out",
        ),
        BackendKind::Vectored(flags) if (flags.dsync || flags.atomic) && !task.mix.writes() => {
            refuse("the flags dsync and atomic are about writes, and it writes nothing: leave them out")
        }
        _ => Ok(()),
    }
}

/// The kinds of operation that the task will record.
fn kinds(task: &FileTask) -> Vec<OpKind> {
    let mut kinds = Vec::new();
    if !matches!(task.mix, iolite_model::Mix::Write) {
        kinds.push(OpKind::Read);
    }
    if task.mix.writes() {
        kinds.push(OpKind::Write);
    }
    if let Some(every) = task.sync_every {
        kinds.push(OpKind::Sync);
        kinds.extend((every == 1).then_some(OpKind::Commit));
    }
    kinds
}

fn open_target(target: &FileTarget, task: &FileTask, scratch: &mut Scratch) -> Result<File, EngineError> {
    let failed = |action, path: &Path, source| EngineError::File { action, path: path.to_owned(), source };
    if !target.create {
        let path = scratch.claimed(&target.name)?;
        let access = Access { write: task.mix.writes(), direct: task.direct };
        return file::open(&path, access).map_err(|source| failed("open", &path, source));
    }
    let path = scratch.claim(&target.name)?;
    let file = file::create_new(&path, task.direct).map_err(|source| failed("make", &path, source))?;
    if target.preallocate {
        match file::preallocate(&file, target.size.0) {
            // Where blocks can't be reserved (tmpfs of old, NFS), the file at least has its size.
            Err(error) if error.kind() == io::ErrorKind::Unsupported => file.set_len(target.size.0),
            other => other,
        }
        .map_err(|source| failed("reserve the space of", &path, source))?;
    }
    Ok(file)
}

fn work(
    task: &FileTask,
    worker: u32,
    file: Option<Arc<File>>,
    start: Start,
) -> Result<Finished, EngineError> {
    let plan = plan(task, worker)?;
    let (block, writes) = (task.block.0 as usize, plan.writes);
    let failed = |source| EngineError::Backend { backend: task.backend, source };
    let Some(file) = file else { return measure(Null::new(block), plan, start) };
    match task.backend {
        // validate() has seen to it that the null back end has no file.
        BackendKind::Null => measure(Null::new(block), plan, start),
        BackendKind::Sync => measure(Sync::new(file, block).map_err(failed)?, plan, start),
        BackendKind::IoUring => measure(Uring::new(file, plan.depth, block).map_err(failed)?, plan, start),
        BackendKind::Vectored(flags) => {
            measure(Vectored::new(file, block, flags, writes).map_err(failed)?, plan, start)
        }
        BackendKind::Libaio => measure(Libaio::new(file, plan.depth, block).map_err(failed)?, plan, start),
        BackendKind::Mmap => {
            // A fault would read the neighbours too, which only this order is going to ask for.
            let random = !matches!(task.access, iolite_model::Access::Sequential);
            let usage = mapping::Use { write: writes, random };
            let span = task.target.size().0;
            measure(Mmap::new(file, span, block, usage).map_err(failed)?, plan, start)
        }
        BackendKind::Threads => measure(Threads::new(file, plan.depth, block).map_err(failed)?, plan, start),
    }
}

/// What a worker is to do.
fn plan(task: &FileTask, worker: u32) -> Result<Plan, EngineError> {
    let stream = OpStream::new(task, worker).ok_or_else(|| EngineError::TooSmall {
        task: task.name.clone(),
        size: task.target.size(),
        workers: task.workers,
        block: task.block,
    })?;
    Ok(Plan {
        stream,
        arrivals: Arrivals::new(task.arrival, worker, task.workers, task.seed),
        filler: Filler::new(task.seed, worker),
        depth: task.depth_of(worker),
        operations: Share::of(task, worker).operations,
        writes: task.mix.writes(),
        block: task.block.0 as u32,
        sync_every: task.sync_every,
    })
}

/// Waits for the barrier and runs the loop: compiled once per back end.
fn measure<B: Backend>(mut backend: B, plan: Plan, start: Start) -> Result<Finished, EngineError> {
    Ok(start.ready().map(|lane| Loop::new(&mut backend, plan, lane).run()))
}
