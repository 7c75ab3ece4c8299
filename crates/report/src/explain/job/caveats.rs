//! Caveats about a job before it is run.

use std::collections::BTreeSet;
use std::path::Path;

use iolite_model::{Access, BackendKind, Bytes, FileTask, Fill, Job, JobTask, Mix, Nanos, Overwrite, Target};

use super::super::caveat::{Caveat, Subject};
use super::{SystemContext, span};

/// Shorter says little: caches and the state of flash take longer to show.
const SHORT: Nanos = Nanos(10_000_000_000);

/// What is smaller than this fits into caches of devices and controllers.
const SMALL: Bytes = Bytes(1 << 30);

/// The block that media write in, mostly.
const SECTOR: u64 = 4096;

/// All warnings about a job, each with the tasks that it is about.
pub(super) fn caveats(job: &Job, context: &SystemContext) -> Vec<Subject> {
    let mut found: Vec<Subject> = Vec::new();
    let mut add = |name: &str, caveat: Caveat| match found.iter_mut().find(|known| known.caveat == caveat) {
        Some(known) if known.names.iter().any(|task| task == name) => {}
        Some(known) => known.names.push(name.to_owned()),
        None => found.push(caveat.of(name)),
    };
    let mut filled: BTreeSet<&Path> = BTreeSet::new();
    for set in job.sets() {
        let tasks = set.iter().filter_map(|task| match task {
            JobTask::Io(task) => Some(&**task),
            JobTask::Metadata(_) => None,
        });
        for task in tasks.clone() {
            let each = [
                destroys(task, context),
                through_cache(task, context),
                small(task, context),
                contents(task),
                depth(task),
                rate(task),
                short(task),
                durability(task),
                small_block(task),
                fresh(task, &filled),
                same_offsets(task),
            ];
            each.into_iter().flatten().for_each(|caveat| add(&task.name, caveat));
        }
        for (name, caveat) in shared(&tasks.clone().collect::<Vec<_>>()) {
            add(&name, caveat);
        }
        filled.extend(tasks.filter(|task| fills(task)).flat_map(|task| paths(task)));
    }
    found
}

/// The files and devices of a task of a job.
pub(super) fn paths_of(task: &JobTask) -> Vec<&Path> {
    match task {
        JobTask::Io(task) => paths(task),
        JobTask::Metadata(_) => Vec::new(),
    }
}

/// The files and devices of a task.
fn paths(task: &FileTask) -> Vec<&Path> {
    match &task.target {
        Target::File(file) => vec![file.name.as_path()],
        target => target.named(),
    }
}

/// Whether operations reach storage at all.
fn is_real(task: &FileTask) -> bool {
    !matches!(task.target, Target::Null { .. })
        && !matches!(
            task.backend,
            BackendKind::Null
                | BackendKind::Fallocate
                | BackendKind::Truncate
                | BackendKind::MoveExtents
                | BackendKind::Busy(_)
        )
}

/// Whether all of the target is written once, so that a later task meets no empty storage.
fn fills(task: &FileTask) -> bool {
    task.mix == Mix::Write && task.stop.runtime.is_none()
}

fn destroys(task: &FileTask, context: &SystemContext) -> Option<Caveat> {
    let overwrite = match &task.target {
        Target::Existing(existing) => existing.overwrite,
        Target::Files(files) => files.overwrite,
        Target::File(_) | Target::Null { .. } => return None,
    };
    let there: Vec<String> = paths(task)
        .into_iter()
        .filter(|path| context.found.contains_key(*path))
        .map(|path| path.display().to_string())
        .collect();
    let changes = task.mix.writes() || task.mix.trims();
    if !changes || there.is_empty() || overwrite == Overwrite::Never {
        return None;
    }
    Some(Caveat::Overwrites { paths: there, unless_found: overwrite == Overwrite::Blank })
}

fn through_cache(task: &FileTask, context: &SystemContext) -> Option<Caveat> {
    let mapped = task.backend == BackendKind::Mmap;
    if !is_real(task) || task.direct && !mapped {
        return None;
    }
    if !task.mix.reads() {
        let is_synced = task.durability.sync.is_some() || task.durability.open.is_some();
        let end_sync = task.durability.end_sync.is_some();
        return (!is_synced).then_some(Caveat::WritesCached { end_sync, mapped });
    }
    let memory = context.memory;
    Some(match span(task, context) {
        Some(span) if task.cache.invalidate && once(task, span) => Caveat::ReadAhead { mapped },
        Some(span) if memory.0 > 0 && span < memory => Caveat::FitsMemory { span, memory, mapped },
        _ => Caveat::ReadsCached { mapped },
    })
}

/// Whether it goes through its target but once, so that nothing is read again.
fn once(task: &FileTask, span: Bytes) -> bool {
    let stop = &task.stop;
    let bytes = stop.bytes.or(stop.worker_bytes).is_some_and(|bytes| bytes <= span);
    let ordered = matches!(task.access, Access::Sequential | Access::Covering | Access::Backwards);
    ordered && task.workers == 1 && (stop.loops == Some(1) || bytes)
}

/// Direct I/O to so little that caches beneath hold it.
fn small(task: &FileTask, context: &SystemContext) -> Option<Caveat> {
    let span = span(task, context).filter(|span| *span < SMALL && is_real(task) && task.direct)?;
    Some(Caveat::SmallRegion { span, wanted: SMALL })
}

fn contents(task: &FileTask) -> Option<Caveat> {
    if !task.mix.writes() || !is_real(task) {
        return None;
    }
    let contents = &task.contents;
    let what = match &contents.fill {
        Fill::Zeros => "zeros are written",
        Fill::Pattern(_) => "a short pattern is written repeatedly",
        Fill::Compressible { percent: 50.., .. } => "the data written compresses well",
        _ if contents.duplicate_percent >= 50 => "most of the data written is duplicate",
        _ if !contents.refill => "the same buffers are written repeatedly",
        _ => return None,
    };
    Some(Caveat::Contents(what))
}

fn depth(task: &FileTask) -> Option<Caveat> {
    let deep = task.concurrency > task.workers;
    if task.backend.is_synchronous() && deep {
        return Some(Caveat::SynchronousEngine { depth: task.concurrency, engine: task.backend.name() });
    }
    (task.backend == BackendKind::Libaio && deep && !task.direct).then_some(Caveat::BufferedLibaio)
}

fn rate(task: &FileTask) -> Option<Caveat> {
    Some(Caveat::ScheduledStart { rate: task.asked_rate()?, outstanding: task.concurrency })
}

fn short(task: &FileTask) -> Option<Caveat> {
    let runtime = task.stop.runtime.filter(|runtime| *runtime < SHORT && is_real(task))?;
    Some(Caveat::ShortRuntime(runtime))
}

fn durability(task: &FileTask) -> Option<Caveat> {
    let synced = task.durability.sync.is_some()
        || task.durability.open.is_some()
        || task.durability.end_sync.is_some();
    let dsync = matches!(task.backend, BackendKind::Vectored(flags) if flags.dsync);
    let is_safe = synced || dsync || !task.direct || fills(task);
    (task.mix.writes() && is_real(task) && !is_safe).then_some(Caveat::NotSynced)
}

fn small_block(task: &FileTask) -> Option<Caveat> {
    let odd = !task.block.0.is_multiple_of(SECTOR) && task.sizes.is_none();
    (task.direct && odd && is_real(task)).then_some(Caveat::SmallBlock(task.block))
}

/// Random writes onto storage that nothing has filled.
fn fresh(task: &FileTask, filled: &BTreeSet<&Path>) -> Option<Caveat> {
    let random = !task.access.is_sequential();
    let prepared = paths(task).iter().all(|path| filled.contains(path));
    (task.mix.writes() && random && is_real(task) && !prepared && task.ramp.is_none())
        .then_some(Caveat::Fresh)
}

fn same_offsets(task: &FileTask) -> Option<Caveat> {
    let random = !task.access.is_sequential();
    (random && task.mix.reads() && is_real(task) && !task.direct && !task.cache.invalidate)
        .then_some(Caveat::SameOffsets)
}

/// Tasks that run together on one file.
fn shared(tasks: &[&FileTask]) -> Vec<(String, Caveat)> {
    let mut found = Vec::new();
    for (number, task) in tasks.iter().enumerate() {
        let same = |other: &&&FileTask| paths(other).iter().any(|path| paths(task).contains(path));
        let others = tasks
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != number)
            .map(|(_, task)| task)
            .filter(same)
            .count();
        if others == 0 || !is_real(task) {
            continue;
        }
        let caveat = match (&task.access, task.mix) {
            (Access::Sequential, Mix::Read) => Caveat::TasksRead(others + 1),
            (_, mix) if mix.writes() => Caveat::TasksWrite(others + 1),
            _ => continue,
        };
        found.push((task.name.clone(), caveat));
    }
    let workers = tasks.iter().filter(|task| {
        task.workers > 1
            && task.access == Access::Sequential
            && task.regions == iolite_model::Regions::Shared
            && is_real(task)
    });
    found.extend(workers.map(|task| (task.name.clone(), Caveat::WorkersRead(task.workers))));
    found
}
