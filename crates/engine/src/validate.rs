//! Whether a task of block I/O makes sense as a whole; its workload's parameters are for the workload crate to check.

use std::collections::BTreeSet;

use iolite_model::{
    Access, BackendKind, Batch, BusyOptions, FileLock, FileTask, FilesTarget, LayOut, Mix, Nanos, Overwrite,
    Ramp, RangeSync, RingOptions, SyncMethod, SyncRule, Target, Verify,
};

use crate::error::EngineError;
use crate::layout::reads_data;
use crate::target::writes_to;
use crate::zoned;

/// The shortest interval.
const SHORTEST_INTERVAL: Nanos = Nanos(10_000_000);

/// The most threads of a task: a process can have some 16,000 by the usual limit on memory maps, and dies beyond.
const MAX_THREADS: u32 = 10_000;

/// The most entries of a ring (IORING_MAX_ENTRIES).
const MAX_RING: u32 = 32_768;

/// The most operations outstanding.
const MAX_OUTSTANDING: u32 = 1 << 20;

/// What direct I/O is in multiples of at least.
const SECTOR: u64 = 512;

fn refuse<T>(task: &FileTask, reason: &str) -> Result<T, EngineError> {
    Err(EngineError::Task { task: task.name.clone(), reason: reason.into() })
}

/// Checks a task.
///
/// # Errors
/// What is invalid, with its remedy.
pub(crate) fn validate(task: &FileTask) -> Result<(), EngineError> {
    let refuse = |reason: &str| refuse(task, reason);
    validate_load(task)?;
    if task.largest().0 == 0
        || task.block.0 == 0
        || task.largest().max(task.block) > FileTask::LARGEST_OPERATION
    {
        return refuse("its block size must be between 1 byte and 1 GiB");
    }
    if task.stop.is_nothing() {
        return refuse("runtime, bytes, operations and loops must be above 0");
    }
    if task.direct && !task.block.0.is_multiple_of(SECTOR) {
        return refuse("direct I/O requires multiples of 512 bytes: use such a block size, or no direct I/O");
    }
    let idle = matches!(task.backend, BackendKind::Null | BackendKind::Busy(_));
    if idle != matches!(task.target, Target::Null { .. }) {
        return refuse(
            "the back ends null and busy require the null target, and no other back end supports it",
        );
    }
    if !task.stop.has_end() && task.access != Access::Append {
        return refuse("it has no stop condition: specify a runtime, bytes, operations or loops");
    }
    let asynchronous = matches!(task.backend, BackendKind::IoUring(_) | BackendKind::Libaio);
    if !task.priorities.is_empty() && !asynchronous {
        return refuse(
            "priorities of single operations require io-uring or libaio: use one of them, or one priority for all (`placement`)",
        );
    }
    if task.stop.full && !task.mix.writes() && !reads_data(task) {
        return refuse("`full` requires a task that writes, or reads what is laid out until then");
    }
    if task.interval < SHORTEST_INTERVAL {
        return refuse("its intervals are shorter than 10 ms, too short to measure: make them longer");
    }
    if let Err(error) = iolite_workload::validate(task) {
        return refuse(&error.to_string());
    }
    if let Some(reason) = task.zoned.as_ref().and_then(|zoned| zoned::validate::refusal(task, zoned)) {
        return refuse(reason);
    }
    validate_threads_only(task)?;
    validate_huge_pages(task)?;
    validate_target(task)?;
    validate_sync(task)?;
    validate_backend(task)
}

/// Numbers of concurrent threads and operations.
fn validate_load(task: &FileTask) -> Result<(), EngineError> {
    let refuse = |reason: &str| refuse(task, reason);
    if task.workers == 0 || task.concurrency < task.workers {
        return refuse("it needs at least one worker, and one outstanding operation for each");
    }
    if task.workers > MAX_THREADS || task.backend == BackendKind::Threads && task.concurrency > MAX_THREADS {
        return refuse("it needs more than 10,000 threads: use fewer, or an asynchronous back end");
    }
    if matches!(task.backend, BackendKind::IoUring(_)) && task.depth_of(0) > MAX_RING {
        return refuse(
            "a ring has at most 32,768 operations outstanding: use more workers, or fewer operations",
        );
    }
    if task.concurrency > MAX_OUTSTANDING {
        return refuse("it has more than 1,048,576 operations outstanding, the maximum: use fewer");
    }
    if task.backend.is_synchronous() && task.concurrency != task.workers {
        return refuse(
            "its back end has one outstanding operation per worker: use as many workers, or an asynchronous back end",
        );
    }
    let Batch { complete_min, complete_max, .. } = task.batch;
    if matches!(task.backend, BackendKind::Vectored(flags) if flags.hipri_percent > 100) {
        return refuse("`hipri_percent` must be 0 to 100");
    }
    if (1..complete_min).contains(&complete_max) {
        return refuse("`complete_max` must be at least `complete_min`");
    }
    Ok(())
}

/// What workers share, which processes can't.
fn validate_threads_only(task: &FileTask) -> Result<(), EngineError> {
    if let Some(flow) = task.flow
        && (flow.weight == 0 || task.placement.processes)
    {
        return refuse(
            task,
            "a flow needs a weight of at least 1, and threads: remove `placement.processes` or `flow`",
        );
    }
    if task.workers > 1 && task.verify.is_some() && matches!(task.ramp, Ramp::Amount(_)) {
        return refuse(
            task,
            "a `ramp` of an amount of several workers cannot be measured beside verification, during which a worker's time stands still: \
             use a time for the ramp, or one worker",
        );
    }
    if task.placement.processes && matches!(task.ramp, Ramp::Amount(_)) {
        return refuse(
            task,
            "a `ramp` of an amount requires threads: remove `placement.processes`, or use a time for the ramp",
        );
    }
    if task.placement.processes && (task.watch.detail || task.watch.operations) {
        return refuse(task, "`watch` requires threads: remove `placement.processes` or `watch`");
    }
    Ok(())
}

/// Sizes that huge pages may have; which of them the system has is found out when buffers are made.
fn validate_huge_pages(task: &FileTask) -> Result<(), EngineError> {
    match task.placement.huge_pages {
        Some(size) if !iolite_sys::buffer::is_huge_page(size.0) => refuse(
            task,
            "`huge_pages` must be a power of two of at least 64 KiB: use one of the sizes in /sys/kernel/mm/hugepages, such as 2 MiB",
        ),
        _ => Ok(()),
    }
}

fn validate_target(task: &FileTask) -> Result<(), EngineError> {
    let refuse = |reason: &str| refuse(task, reason);
    let stays = match &task.target {
        Target::Existing(existing) if existing.overwrite == Overwrite::Never && writes_to(task) => {
            return refuse(
                "it would write to an existing target: set `overwrite` to `blank` or `anything` to allow it",
            );
        }
        Target::Files(files) => {
            validate_files(task, files)?;
            !files.remove
        }
        Target::Existing(_) => true,
        Target::Null { .. } | Target::File(_) => false,
    };
    let state = task.verify.as_ref().is_some_and(|verify| verify.state.is_some());
    if state && !stays {
        return refuse(
            "its file is removed after the run and cannot be verified later: remove `state`, or use an existing target",
        );
    }
    if task.placement.processes && task.verify.as_ref().is_some_and(Verify::during) {
        return refuse(
            "processes verify after the phase only: remove `passes` and `backlog`, or `processes`",
        );
    }
    if state && task.placement.processes {
        return refuse("`state` requires threads: remove `placement.processes` or `state`");
    }
    Ok(())
}

/// What the files named by the user have to be; their order is the workload's.
fn validate_files(task: &FileTask, target: &FilesTarget) -> Result<(), EngineError> {
    let refuse = |reason: &str| refuse(task, reason);
    if target.files.is_empty() {
        return refuse("it has no file: specify at least one");
    }
    let beyond =
        |offset: u64, size: u64| offset.checked_add(size).is_none_or(|end| i64::try_from(end).is_err());
    if target.files.iter().any(|file| beyond(file.offset.0, file.size.0)) {
        return refuse(
            "the end of a file's region exceeds the largest possible offset: use a smaller offset or size",
        );
    }
    if target.parts_anew > 1 && task.workers > 1 {
        return refuse(
            "each of several workers would empty the files that the others use: use one worker, or set `parts_anew = 0`",
        );
    }
    if target.parts_anew > 1 && task.placement.processes {
        return refuse("`parts_anew` requires threads: remove `placement.processes` or `parts_anew`");
    }
    if target.lock != FileLock::None && target.parts_anew > 1 {
        return refuse(
            "files that are created again cannot be locked: set `parts_anew = 0`, or `lock = \"none\"`",
        );
    }
    if target.lock != FileLock::None && task.placement.processes {
        return refuse(
            "files are locked among the threads of a process: remove `placement.processes`, or set `lock = \"none\"`",
        );
    }
    let mut names = BTreeSet::new();
    if task.verify.is_some() && !target.files.iter().all(|file| names.insert(&file.path)) {
        return refuse("it contains a file twice, which verification would report as damage: use one name");
    }
    if target.lay_out == LayOut::Grow {
        if reads_data(task) {
            return refuse(
                "it reads from files that are created empty: use writes only, or lay the files out",
            );
        }
        if !task.stop.full && target.files.iter().any(|file| file.size.0 == 0) {
            return refuse("a growing file needs a size: specify it");
        }
    }
    Ok(())
}

fn validate_sync(task: &FileTask) -> Result<(), EngineError> {
    let refuse = |reason: &str| refuse(task, reason);
    let rules = || task.durability.rules();
    if !task.durability.also.is_empty() && task.durability.sync.is_none() {
        return refuse("`durability.also` needs `durability.sync`: name the first of its rules `sync`");
    }
    if task.durability.range == (RangeSync { wait_before: false, write: false, wait_after: false }) {
        return refuse(
            "a sync_file_range that does nothing is none: set one of `range.write`, `range.wait_before` and `range.wait_after`",
        );
    }
    if rules().next().is_none() {
        return Ok(());
    }
    if rules().any(|rule| rule.every == 0) {
        return refuse("a sync after every 0 writes is not possible: remove it, or specify a number");
    }
    if !task.mix.writes() {
        return refuse("it syncs but does not write: remove the sync");
    }
    if task.access == Access::Append && rules().any(|rule| rule.method == SyncMethod::FileRange) {
        return refuse("the offset of an append is not known, so no range can be synced: use fdatasync");
    }
    Ok(())
}

/// What only one back end asks of its task.
fn validate_backend(task: &FileTask) -> Result<(), EngineError> {
    let refuse = |reason: &str| refuse(task, reason);
    let extends = match &task.target {
        Target::File(file) => file.create && !file.preallocate,
        Target::Files(files) => files.lay_out == LayOut::Grow,
        Target::Null { .. } | Target::Existing(_) => false,
    };
    match task.backend {
        BackendKind::Busy(options) => validate_busy(task, options),
        BackendKind::Splice | BackendKind::Fallocate | BackendKind::Truncate | BackendKind::MoveExtents
            if task.access == Access::Append =>
        {
            refuse("its back end does not support appends: use sync, or another order")
        }
        kind if !kind.moves_data() && task.verify.is_some() => {
            refuse("its back end does not write data that can be verified: remove `verify`")
        }
        BackendKind::Truncate if task.mix != Mix::Write => {
            refuse("the back end truncate supports writes only")
        }
        BackendKind::MoveExtents if task.mix != Mix::Write || task.placement.processes => {
            refuse("the back end move-extents supports writes only, in threads")
        }
        BackendKind::MoveExtents if !matches!(&task.target, Target::Files(files) if files.donor.is_some()) => {
            refuse("the back end move-extents needs a `donor` to exchange blocks with: name one")
        }
        BackendKind::Mmap if task.direct => {
            refuse("the back end mmap does not support direct I/O: use another back end, or no direct I/O")
        }
        BackendKind::Mmap if extends => refuse(
            "the back end mmap cannot extend a file: preallocate it, or write it with another back end first",
        ),
        BackendKind::Vectored(flags) if (flags.hipri || flags.atomic) && !task.direct => {
            refuse("the flags hipri and atomic require direct I/O: add it, or remove them")
        }
        BackendKind::Vectored(flags) if flags.dontcache && task.direct => {
            refuse("the flag dontcache cannot be combined with direct I/O: remove one of them")
        }
        BackendKind::Vectored(flags) if (flags.dsync || flags.atomic) && !task.mix.writes() => {
            refuse("the flags dsync and atomic apply to writes, but it does not write: remove them")
        }
        BackendKind::IoUring(options) => validate_ring(task, options),
        _ => Ok(()),
    }
}

fn validate_busy(task: &FileTask, options: BusyOptions) -> Result<(), EngineError> {
    if options.percent > 100 {
        return refuse(task, "the CPU load must be 0 to 100 percent");
    }
    if !(1_000..=1_000_000_000).contains(&options.chunk.0) {
        return refuse(task, "the chunk must be 1 microsecond to 1 second");
    }
    Ok(())
}

fn validate_ring(task: &FileTask, options: RingOptions) -> Result<(), EngineError> {
    let refuse = |reason: &str| refuse(task, reason);
    if options.completion_polling && !task.direct {
        return refuse("polling for completions requires direct I/O: add it, or remove the polling");
    }
    if options.submit_polling_cpu.is_some() && !options.submit_polling {
        return refuse(
            "a CPU of the polling thread requires submit_polling: add it, or remove submit_polling_cpu",
        );
    }
    if options.dontcache && task.direct {
        return refuse("the flag dontcache cannot be combined with direct I/O: remove one of them");
    }
    if options.force_async > 0 && options.linked_sync {
        return refuse("force_async and linked_sync exclude each other: remove one of them");
    }
    let syncs = task.durability.sync.is_some() || task.durability.end_sync.is_some();
    if options.completion_polling && (syncs || task.mix.trims()) {
        return refuse(
            "a polled ring supports only reads and writes: remove syncs and trims, or the polling",
        );
    }
    match task.durability.sync {
        _ if !options.linked_sync => Ok(()),
        _ if !task.durability.also.is_empty() => {
            refuse("a linked sync is the only one: remove `durability.also`, or the link")
        }
        Some(SyncRule { every: 1, method: SyncMethod::Fdatasync | SyncMethod::Fsync }) => Ok(()),
        _ => refuse("a linked sync requires a sync (fdatasync or fsync) after every write"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolite_model::{Bytes, Placement, Stop};

    #[test]
    fn huge_pages_have_a_size_that_there_is() {
        let with = |size: u64| {
            let placement = Placement { huge_pages: Some(Bytes(size)), ..Placement::default() };
            let stop = Stop { operations: Some(1), ..Stop::default() };
            validate(&FileTask { placement, stop, ..FileTask::default() })
        };
        for size in [0, 1, 4096, 3 << 20, 6 << 20] {
            let error = with(size).unwrap_err().to_string();
            assert!(error.contains("power of two of at least 64 KiB"), "{size}: {error}");
        }
        for size in [64 << 10, 2 << 20, 1 << 30] {
            assert!(with(size).is_ok(), "{size}");
        }
    }
}
