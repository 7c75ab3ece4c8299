//! The task of each window.

use iolite_model::{
    Access, BackendKind, Bytes, DbOperation, DbTask, ExistingTarget, FileTarget, FileTask, Mix, Nanos,
    Overwrite, PageCache, RingOptions, Stop, SyncRule, Target, Task, WriteDurability,
};

use super::{DatabaseCommits, Layers, LayersOptions, Path, Shape};
use crate::check::DatabaseSize;

/// Size of random reads and of commits: a page of most databases.
const PAGE: Bytes = Bytes(8 << 10);
/// Size of the reads of a scan, about what databases' read-ahead asks for.
const SCAN: Bytes = Bytes(256 << 10);
/// Reads of a scan outstanding.
const SCAN_DEPTH: u32 = 4;
/// Bytes that the commits of one window may write.
const COMMITTED: Bytes = Bytes(64 << 20);
/// Time at the start of a window of reads that is left out.
const RAMP: Nanos = Nanos(100_000_000);
/// Short, so that a window of a second has enough of them.
const INTERVAL: Nanos = Nanos(100_000_000);
/// Share of the run's own database that its global takes, in percent, and about how many bytes a subscript takes.
const GLOBAL_PERCENT: u64 = 20;
const SUBSCRIPT: u64 = 120;

/// Writes the data file, once.
pub(super) fn layout(options: &LayersOptions) -> Task {
    let size = options.size.round_down(Bytes::MIB.0);
    Task::File(FileTask {
        name: "data file, sequential write 1 MiB".into(),
        target: data_file(size, true),
        mix: Mix::Write,
        access: Access::Sequential,
        block: Bytes::MIB,
        concurrency: if options.io_uring { 4 } else { 1 },
        stop: Stop { bytes: Some(size), ..Stop::default() },
        ramp: Nanos(0).into(),
        ..base(options)
    })
}

/// A load of the search for the knee.
pub(super) fn search(options: &LayersOptions, load: u32) -> Task {
    Task::File(with_load(
        FileTask { name: "random read 8 KiB, search for the knee".into(), ..base(options) },
        load,
    ))
}

/// The run's own database.
pub(super) fn own_database(options: &LayersOptions) -> DatabaseSize {
    let subscripts = (options.size.0 / 100 * GLOBAL_PERCENT / SUBSCRIPT).max(1000);
    DatabaseSize { globals: 1, subscripts, size: options.size }
}

/// A window of a shape through a layer; `None` where the layer does not have it: the device is not written, nor a database
/// without a global.
pub(super) fn window(options: &LayersOptions, path: Path, shape: Shape, knee: u32) -> Option<Task> {
    match path {
        Path::Database(number) => inside(options, number, shape, knee),
        path => file(options, path, shape, knee).map(Task::File),
    }
}

/// What a shape is called.
pub(super) fn shape_name(shape: Shape, knee: u32) -> String {
    match shape {
        Shape::ReadOne => "random read 8 KiB, queue depth 1".into(),
        Shape::ReadKnee => format!("random read 8 KiB, queue depth {knee} (the file system's knee)"),
        Shape::Commit => "commit of 8 KiB, one after the other".into(),
        Shape::Scan => "sequential scan, 256 KiB".into(),
    }
}

/// What a layer is called.
pub(super) fn path_name(options: &LayersOptions, path: Path) -> String {
    match path {
        Path::Device => options.device.as_ref().map_or("device".into(), |path| path.display().to_string()),
        Path::Direct => "file, direct I/O".into(),
        Path::Buffered => "file, page cache".into(),
        Path::Database(number) => {
            options.databases.get(number).map_or("database".into(), |database| database.name.clone())
        }
    }
}

fn name(options: &LayersOptions, path: Path, shape: Shape, knee: u32) -> String {
    let shape = match shape {
        Shape::ReadOne => "random read, depth 1".into(),
        Shape::ReadKnee => format!("random read, depth {knee}"),
        Shape::Commit => "commit".into(),
        Shape::Scan => "scan".to_owned(),
    };
    format!("{shape}, {}", path_name(options, path))
}

fn base(options: &LayersOptions) -> FileTask {
    FileTask {
        target: data_file(options.size.round_down(Bytes::MIB.0), false),
        backend: if options.io_uring {
            BackendKind::IoUring(RingOptions::default())
        } else {
            BackendKind::Sync
        },
        block: PAGE,
        direct: options.direct,
        stop: Stop { runtime: Some(options.window), ..Stop::default() },
        ramp: RAMP.into(),
        interval: INTERVAL,
        seed: options.seed,
        ..FileTask::default()
    }
}

fn data_file(size: Bytes, create: bool) -> Target {
    Target::File(FileTarget {
        name: Layers::DATA_FILE.into(),
        size,
        create,
        preallocate: true,
        per_worker: false,
    })
}

fn with_load(task: FileTask, load: u32) -> FileTask {
    let workers = if task.backend.is_synchronous() { load } else { 1 };
    FileTask { workers, concurrency: load, ..task }
}

fn file(options: &LayersOptions, path: Path, shape: Shape, knee: u32) -> Option<FileTask> {
    let name = name(options, path, shape, knee);
    let base = FileTask { name, ..base(options) };
    let base = match path {
        Path::Device => FileTask {
            target: Target::Existing(ExistingTarget {
                path: options.device.clone()?,
                offset: Bytes(0),
                size: Bytes(0),
                overwrite: Overwrite::Never,
            }),
            direct: true,
            ..base
        },
        // What the page cache holds of earlier windows is dropped before each.
        Path::Buffered => FileTask { direct: false, cache: PageCache::INVALIDATED, ..base },
        _ => base,
    };
    Some(match shape {
        Shape::ReadOne => with_load(base, 1),
        Shape::ReadKnee => with_load(base, knee),
        Shape::Scan => with_load(FileTask { access: Access::Sequential, block: SCAN, ..base }, SCAN_DEPTH),
        Shape::Commit if path == Path::Device => return None,
        Shape::Commit => FileTask {
            backend: BackendKind::Sync,
            mix: Mix::Write,
            access: Access::Sequential,
            cache: PageCache::default(),
            durability: WriteDurability::synced(SyncRule::fdatasync(1)),
            stop: Stop { bytes: Some(COMMITTED), ..base.stop },
            ramp: Nanos(0).into(),
            ..base
        },
    })
}

fn inside(options: &LayersOptions, number: usize, shape: Shape, knee: u32) -> Option<Task> {
    let database = options.databases.get(number)?;
    let (operation, workers) = match shape {
        Shape::ReadOne => (DbOperation::RanRead, 1),
        Shape::ReadKnee => (DbOperation::RanRead, knee),
        Shape::Commit if database.commits == DatabaseCommits::Measured => {
            (DbOperation::RanWrite { transaction_length: 1, hang: Nanos(0) }, 1)
        }
        Shape::Scan => (DbOperation::Scan, 1),
        Shape::Commit => return None,
    };
    // As many commits as a window may have on a file.
    let operations = (shape == Shape::Commit).then_some(COMMITTED.0 / PAGE.0);
    Some(Task::Database(DbTask {
        name: name(options, Path::Database(number), shape, knee),
        operation,
        workers,
        stop: Stop { runtime: Some(options.window), operations, ..Stop::default() },
        ramp: if shape == Shape::Commit { Nanos(0) } else { RAMP },
        interval: INTERVAL,
        seed: options.seed,
        timed_by: database.timed_by,
    }))
}
