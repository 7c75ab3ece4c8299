//! Caveats about a job before it is run.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use iolite_model::{Access, BackendKind, Bytes, FileTask, Fill, Job, JobTask, Mix, Nanos, Overwrite, Target};

use super::{SystemContext, span};

/// Shorter says little: caches and the state of flash take longer to show.
const SHORT: Nanos = Nanos(10_000_000_000);

/// What is smaller than this fits into caches of devices and controllers.
const SMALL: Bytes = Bytes(1 << 30);

/// The block that media write in, mostly.
const SECTOR: u64 = 4096;

/// A warning about tasks of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobCaveat {
    /// What it is about, for programs: `page-cache`, `zeros`, `depth`...
    pub kind: &'static str,
    /// Names of the tasks.
    pub tasks: Vec<String>,
    /// What, and what to do.
    pub text: String,
}

impl fmt::Display for JobCaveat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.tasks.join(", "), self.text)
    }
}

/// A kind of warning with its text.
type Caveat = (&'static str, String);

/// All warnings about a job, each with the tasks that it is about.
pub fn caveats(job: &Job, context: &SystemContext) -> Vec<JobCaveat> {
    let mut found: Vec<JobCaveat> = Vec::new();
    let mut add = |name: &str, (kind, text): Caveat| match found
        .iter_mut()
        .find(|caveat| caveat.kind == kind && caveat.text == text)
    {
        Some(caveat) => {
            if !caveat.tasks.iter().any(|task| task == name) {
                caveat.tasks.push(name.to_owned());
            }
        }
        None => found.push(JobCaveat { kind, tasks: vec![name.to_owned()], text }),
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
        Target::Null { .. } => Vec::new(),
        Target::File(file) => vec![file.name.as_path()],
        Target::Existing(existing) => vec![existing.path.as_path()],
        Target::Files(files) => files.files.iter().map(|file| file.path.as_path()).collect(),
    }
}

/// Whether operations reach storage at all.
fn is_real(task: &FileTask) -> bool {
    !matches!(task.target, Target::Null { .. })
        && !matches!(
            task.backend,
            BackendKind::Null | BackendKind::Fallocate | BackendKind::Truncate | BackendKind::Busy(_)
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
    let unless =
        if overwrite == Overwrite::Blank { ", unless data is found in its first or last MiB" } else { "" };
    Some(("destroys", format!("overwrites {}; its contents are lost{unless}", there.join(", "))))
}

fn through_cache(task: &FileTask, context: &SystemContext) -> Option<Caveat> {
    let mapped = task.backend == BackendKind::Mmap;
    if !is_real(task) || task.direct && !mapped {
        return None;
    }
    let remedy = if mapped { "use another engine with direct I/O" } else { "add direct I/O (direct=1)" };
    if !task.mix.reads() {
        return (task.durability.sync.is_none() && task.durability.open.is_none()).then(|| {
            let end = if task.durability.end_sync.is_some() { " and synced only at the end" } else { "" };
            (
                "page-cache",
                format!("writes complete when the data is in the page cache{end}: {remedy}, or sync"),
            )
        });
    }
    let memory = context.memory;
    match span(task, context) {
        Some(span) if task.cache.invalidate && once(task, span) => Some((
            "page-cache",
            format!(
                "the page cache is not bypassed: the kernel's read-ahead determines the requests to the device; {remedy}"
            ),
        )),
        Some(span) if memory.0 > 0 && span < memory => Some((
            "page-cache",
            format!(
                "the page cache is not bypassed and all {span} fit into the memory of this host ({memory}): after the \
         first pass, reads are served from memory; {remedy}"
            ),
        )),
        _ => Some((
            "page-cache",
            format!("the page cache is not bypassed and serves a part of the reads: {remedy}"),
        )),
    }
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
    Some((
        "small-region",
        format!("all {span} may fit into a cache of the device or the host: use {SMALL} or more"),
    ))
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
    Some((
        "contents",
        format!(
            "{what}: storage that compresses, deduplicates or detects zeros stores almost nothing; write new \
         random data each time (refill_buffers)"
        ),
    ))
}

fn depth(task: &FileTask) -> Option<Caveat> {
    let deep = task.concurrency > task.workers;
    if task.backend.is_synchronous() && deep {
        let name = task.backend.name();
        return Some((
            "depth",
            format!(
                "{} outstanding operations with the engine {name}, which supports only one: use io_uring or libaio, or more \
                 workers (numjobs)",
                task.concurrency
            ),
        ));
    }
    (task.backend == BackendKind::Libaio && deep && !task.direct).then(|| {
        (
            "depth",
            "libaio is asynchronous only with direct I/O: without it, one operation is outstanding"
                .to_owned(),
        )
    })
}

fn rate(task: &FileTask) -> Option<Caveat> {
    let rate = task.asked_rate()?;
    let outstanding = task.concurrency;
    Some((
        "rate",
        format!(
            "{rate} operations per second are requested: response times are measured from the scheduled start, so \
         they include waiting behind slow operations; fio measures from the issue and reports lower latencies \
         if the rate is not reached (at most {outstanding} outstanding)"
        ),
    ))
}

fn short(task: &FileTask) -> Option<Caveat> {
    let runtime = task.stop.runtime.filter(|runtime| *runtime < SHORT && is_real(task))?;
    Some((
        "short",
        format!("{runtime} is short: the state of caches and flash changes over minutes; use 60 s or more"),
    ))
}

fn durability(task: &FileTask) -> Option<Caveat> {
    let synced = task.durability.sync.is_some()
        || task.durability.open.is_some()
        || task.durability.end_sync.is_some();
    let dsync = matches!(task.backend, BackendKind::Vectored(flags) if flags.dsync);
    if !task.mix.writes() || !is_real(task) || synced || dsync || !task.direct || fills(task) {
        return None;
    }
    Some((
        "durability",
        "writes complete when the data is in the cache of the device: a database also waits for a sync \
         (fdatasync=1, sync=dsync)"
            .to_owned(),
    ))
}

fn small_block(task: &FileTask) -> Option<Caveat> {
    let odd = !task.block.0.is_multiple_of(SECTOR) && task.sizes.is_none();
    (task.direct && odd && is_real(task)).then(|| {
        (
            "block",
            format!(
                "direct I/O in blocks of {} fails on devices with 4 KiB blocks, and causes read-modify-write on others",
                task.block
            ),
        )
    })
}

/// Random writes onto storage that nothing has filled.
fn fresh(task: &FileTask, filled: &BTreeSet<&Path>) -> Option<Caveat> {
    let random = !task.access.is_sequential();
    let prepared = paths(task).iter().all(|path| filled.contains(path));
    (task.mix.writes() && random && is_real(task) && !prepared && task.ramp.0 == 0).then(|| {
        (
            "fresh",
            "random writes without preconditioning or ramp: fresh flash is faster; write the whole device twice \
         first, or use a ramp (ramp_time)"
                .to_owned(),
        )
    })
}

fn same_offsets(task: &FileTask) -> Option<Caveat> {
    let random = !task.access.is_sequential();
    (random && task.mix.reads() && is_real(task) && !task.direct && !task.cache.invalidate).then(|| {
        (
            "repeat",
            "every run reads the same random offsets (randrepeat), and the page cache is not dropped first \
         (invalidate=0): the second run reads from memory"
                .to_owned(),
        )
    })
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
        let what = match (&task.access, task.mix) {
            (Access::Sequential, Mix::Read) => {
                "read the same blocks sequentially: all but the first are served from a cache; give each its own region \
                 (offset_increment)"
            }
            (_, mix) if mix.writes() => {
                "write to the same file: they overwrite each other's blocks, and the file system serializes them"
            }
            _ => continue,
        };
        found.push((task.name.clone(), ("shared", format!("{} tasks {what}", others + 1))));
    }
    let workers = tasks.iter().filter(|task| {
        task.workers > 1
            && task.access == Access::Sequential
            && task.regions == iolite_model::Regions::Shared
            && is_real(task)
    });
    found.extend(workers.map(|task| {
        let text = format!(
            "{} workers read the same blocks concurrently: all but the first are served from a cache",
            task.workers
        );
        (task.name.clone(), ("shared", text))
    }));
    found
}
