//! Block I/O.

use std::path::Path;

use iolite_model::{
    Access, BackendKind, Bytes, Donor, FileOrder, FileTask, FilesTarget, IoFlags, JobTask, Mix, NamedFile,
    Nanos, Overwrite, Regions, Start, Target,
};

use crate::language::error::{OptionError, Result};
use crate::language::options::Spec;
use crate::language::options::files::{can_fill, fills, lay_out, reserve};
use crate::language::options::io::{Direction, access, holds_cache};
use crate::language::options::zones::{ZoneMode, zoned};
use crate::language::options::{extents, sizes};
use crate::language::thread::ThreadIndex;

/// Distance of the values of bandwidth and rate that fio's statistics are made of.
const INTERVAL: Nanos = Nanos(500_000_000);

/// The block I/O of a thread, without what other groups of options say about it.
///
/// # Errors
/// Settings that do not go together.
pub(super) fn task(spec: &Spec, place: ThreadIndex) -> Result<FileTask> {
    let mix = mix(spec);
    let backend = backend(spec, mix)?;
    let access = access(spec, mix)?;
    let (block, sizes) = sizes::sizes(spec, mix, access == Access::Covering)?;
    let files = match backend {
        BackendKind::Busy(_) => Vec::new(),
        _ => extents::extents(spec, place, sizes::smallest(spec, mix))?,
    };
    holds_cache(spec, &access, FilesTarget::of(files.clone()).size())?;
    if fills(spec) && !mix.reads() {
        can_fill(&access, &files)?;
    }
    let mut task = FileTask {
        name: spec.job.name.clone(),
        target: target(spec, backend, mix, files.clone())?,
        backend,
        mix,
        access,
        regions: Regions::Shared,
        zoned: zoned(spec, mix)?,
        block,
        sizes,
        direct: (spec.io.direct || spec.io.atomic) && bypasses(backend),
        priorities: spec.engine.priorities.shares()?,
        interval: INTERVAL,
        seed: spec.io.seed(place),
        start: Start { together: place.together, ..Start::default() },
        ..FileTask::default()
    };
    spec.files.lower(spec, &mut task)?;
    let stop = match backend {
        BackendKind::Busy(_) => busy_stop(spec)?,
        // Nothing will be done: there is no end to work out.
        _ if does_nothing(spec, &task) => iolite_model::Stop { loops: Some(1), ..Default::default() },
        _ => extents::stop(spec, &task, &files)?,
    };
    Ok(FileTask { stop, ..task })
}

/// Whether no operation fits into any of the job's files.
pub(super) fn does_nothing(spec: &Spec, task: &FileTask) -> bool {
    let Target::Files(target) = &task.target else { return false };
    extents::parts_are_too_small(spec, target.files.len() as u64, sizes::smallest(spec, task.mix))
}

/// What is done differently for reasons that are no single option's.
pub(super) fn notes(spec: &Spec, task: &JobTask) -> Vec<String> {
    let JobTask::Io(task) = task else { return Vec::new() };
    let mut notes = Vec::new();
    if spec.depth.iodepth > 1 && task.concurrency == 1 {
        notes.push(format!(
            "iodepth: ioengine={} is synchronous and has one operation in flight, as in fio: use \
         io_uring or libaio, or numjobs",
            spec.engine.name
        ));
    }
    if spec.io.direct && !task.direct && task.backend == BackendKind::Mmap {
        notes.push("direct has no effect: ioengine=mmap uses the page cache".into());
    }
    if spec.zones.mode == ZoneMode::Zbd && task.mix.writes() && task.concurrency > 1 {
        notes.push(
            "zonemode: one write of a zone is in flight at a time, so that none overtakes another".into(),
        );
    }
    if spec.zones.mode == ZoneMode::Zbd
        && !task.mix.writes()
        && !task.mix.trims()
        && !spec.zones.zbd.read_beyond
    {
        notes.push("zonemode: the zones of what is no zoned device are empty at the start, so that nothing of it is read, as in fio".into());
    }
    if does_nothing(spec, task) {
        notes.push("size: the files are smaller than an operation: nothing is done, as in fio".into());
    }
    if matches!(task.access, Access::Normal { .. }) {
        notes.push("random_distribution: normal is not scattered: neighbours are alike".into());
    }
    notes
}

fn mix(spec: &Spec) -> Mix {
    match spec.io.direction {
        Direction::Read => Mix::Read,
        Direction::Write => Mix::Write,
        Direction::Trim => Mix::Trim,
        Direction::Mixed => Mix::ReadPercent(spec.io.read_percent),
        Direction::TrimWrite => Mix::TrimThenWrite,
    }
}

fn backend(spec: &Spec, mix: Mix) -> Result<BackendKind> {
    match spec.engine.backend()? {
        BackendKind::Vectored(flags) if spec.io.atomic && spec.engine.name == "pvsync2" => {
            Ok(BackendKind::Vectored(IoFlags { atomic: mix.writes(), ..flags }))
        }
        BackendKind::MoveExtents if mix != Mix::Write => Err(OptionError::refused(
            "ioengine=e4defrag does something for writes only",
            "use rw=write or randwrite",
        )
        .at("rw")),
        BackendKind::Truncate if mix != Mix::Write => Err(OptionError::refused(
            "ioengine=ftruncate does something for writes only",
            "use rw=write or randwrite",
        )
        .at("rw")),
        backend => Ok(backend),
    }
}

/// Whether direct I/O means anything for it.
fn bypasses(backend: BackendKind) -> bool {
    use BackendKind::{Fallocate, Mmap, MoveExtents, Truncate};
    !matches!(backend, Mmap | Fallocate | Truncate | MoveExtents) && !is_nothing(backend)
}

/// Whether it works on no file at all.
fn is_nothing(backend: BackendKind) -> bool {
    matches!(backend, BackendKind::Null | BackendKind::Busy(_))
}

fn target(spec: &Spec, backend: BackendKind, mix: Mix, files: Vec<NamedFile>) -> Result<Target> {
    match backend {
        BackendKind::Busy(_) => return Ok(Target::Null { size: Bytes::GIB }),
        BackendKind::Null => {
            let size = FilesTarget::of(files).size();
            return match size {
                Bytes(0) => {
                    Err(OptionError::refused("ioengine=null has no file to take it from", "specify size")
                        .at("size"))
                }
                size => Ok(Target::Null { size }),
            };
        }
        _ => {}
    }
    Ok(Target::Files(FilesTarget {
        order: if files.len() > 1 { order(spec) } else { FileOrder::default() },
        open: if files.len() > 1 { spec.files.open.unwrap_or(0) } else { 0 },
        lock: spec.files.lock,
        parts_anew: if spec.files.remove_each && !spec.job.goes_on() { spec.job.loops } else { 0 },
        overwrite: Overwrite::Anything,
        lay_out: lay_out(spec, mix, &files),
        reserve: reserve(spec, backend, mix),
        remove: spec.files.remove,
        donor: donor(spec, backend, &files),
        files,
    }))
}

/// What blocks are exchanged with: a file in the job's directory.
fn donor(spec: &Spec, backend: BackendKind, files: &[NamedFile]) -> Option<Donor> {
    let name = spec.engine.donor.as_ref().filter(|_| backend == BackendKind::MoveExtents)?;
    let own = files.first().filter(|_| !spec.files.directories.is_empty());
    let directory = own.and_then(|named| named.path.parent()).unwrap_or(Path::new(""));
    Some(Donor { path: directory.join(name), each_time: spec.engine.donates_each_time })
}

/// Which of several files comes next. As in fio, offsets that may come again never end, so that the first of the files is never done.
fn order(spec: &Spec) -> FileOrder {
    match spec.files.order {
        FileOrder::Sequential if spec.io.random && spec.io.repeats() => FileOrder::RoundRobin(u64::MAX),
        order => order,
    }
}

/// Nothing is done that could be over: only time ends it, or the end of a program.
fn busy_stop(spec: &Spec) -> Result<iolite_model::Stop> {
    match spec.job.limit() {
        // More than it does before it is ended: it does none.
        None if spec.engine.name == "exec" => {
            Ok(iolite_model::Stop { operations: Some(1 << 62), ..Default::default() })
        }
        Some(runtime) => Ok(iolite_model::Stop { runtime: Some(runtime), ..Default::default() }),
        None => Err(OptionError::refused(
            "ioengine=cpuio does not end by itself, nor with other jobs here",
            "give it a runtime",
        )
        .at("runtime")),
    }
}
