//! What each step is in the engine's terms.

use std::path::PathBuf;

use iolite_model::{
    Access, BackendKind, BonniePhase, BonnieTerms, Bytes, ClassicStep, Contents, DdStep, DdTerms, FileTarget,
    FileTask, IozoneTerms, IozoneTest, MetadataOperation, MetadataStep, MetadataTask, Mix, Nanos, PageCache,
    Stop, SyncMethod, Target, Task, WriteDurability,
};

/// The file that dd writes and reads back.
pub(super) const DD: &str = "ddfile";
/// The file that it writes to push the first one out of memory.
pub(super) const DD_SECOND: &str = "ddfile2";
/// Bonnie++'s files.
const BONNIE: &str = "bonnie";
/// The file that is written one byte at a time.
const CHARACTERS: &str = "bonnie-characters";

/// Share of the seeks in percent whose block is written back, as Bonnie++'s manual has it.
const WRITTEN_BACK: u8 = 10;

/// Records from one read of the stride test to the next, as IOzone's default.
const STRIDE: u64 = 17;

/// Length of the intervals: short phases too have enough of them to tell their own uncertainty.
const INTERVAL: Nanos = Nanos(100_000_000);

/// Sequential reads through the page cache, one at a time, once from end to end.
fn base(step: ClassicStep, file: FileTarget, block: Bytes) -> FileTask {
    FileTask {
        name: step.name(),
        target: Target::File(file),
        backend: BackendKind::Sync,
        mix: Mix::Read,
        access: Access::Sequential,
        block,
        stop: Stop { loops: Some(1), ..Stop::default() },
        interval: INTERVAL,
        ..FileTask::default()
    }
}

fn file(name: impl Into<PathBuf>, size: Bytes, create: bool, per_worker: bool) -> FileTarget {
    FileTarget { name: name.into(), size, create, preallocate: false, per_worker }
}

/// What was read is changed a little and written back. It was random, so neither compression nor deduplication gains by it.
fn changed() -> Contents {
    Contents { refill: false, scramble: true, ..Contents::default() }
}

/// The task that writes what `task` would read, and makes it durable at its end.
fn writing(task: FileTask) -> FileTask {
    FileTask {
        mix: Mix::Write,
        durability: WriteDurability { end_sync: Some(SyncMethod::Fsync), ..task.durability },
        ..task
    }
}

pub(super) fn dd(terms: &DdTerms, step: DdStep, keep_cache: bool) -> Task {
    let (name, size, create) = match step {
        DdStep::Write => (DD, terms.size, true),
        DdStep::Flush => (DD_SECOND, terms.flush, true),
        DdStep::Read => (DD, terms.size, false),
    };
    let task = base(ClassicStep::Dd(step), file(name, size, create, false), terms.block);
    Task::File(match step {
        DdStep::Write | DdStep::Flush => writing(task),
        DdStep::Read => FileTask { cache: PageCache { invalidate: !keep_cache, ..task.cache }, ..task },
    })
}

/// Bytes of each copy's file.
fn part(whole: Bytes, parts: u32, unit: Bytes) -> Bytes {
    let unit = unit.0.max(1);
    Bytes((whole.0 / u64::from(parts.max(1))).max(unit)).round_down(unit)
}

pub(super) fn bonnie(terms: &BonnieTerms, phase: BonniePhase, keep_cache: bool) -> Task {
    let copies = terms.concurrency.max(1);
    let one = Bytes(1);
    let size = part(terms.size, copies, terms.chunk);
    let characters = part(terms.characters, copies, one);
    let create = matches!(phase, BonniePhase::PutCharacter | BonniePhase::PutBlock);
    let step = ClassicStep::Bonnie(phase);
    let task = match phase {
        BonniePhase::Files(metadata, sequential) => {
            let files = (terms.files / u64::from(copies)).max(1);
            return Task::Metadata(MetadataTask {
                name: step.name(),
                tree: if sequential { "bonnie-sequential".into() } else { "bonnie-random".into() },
                operation: operation(metadata),
                files,
                files_per_directory: files,
                random: !sequential,
                workers: copies,
                stop: Stop { worker_operations: Some(files), ..Stop::default() },
                interval: INTERVAL,
                ..MetadataTask::default()
            });
        }
        BonniePhase::PutCharacter | BonniePhase::GetCharacter => {
            base(step, file(CHARACTERS, characters, create, true), one)
        }
        _ => base(step, file(BONNIE, size, create, true), terms.chunk),
    };
    let task = FileTask { workers: copies, concurrency: copies, ..task };
    let drop = !keep_cache;
    Task::File(match phase {
        BonniePhase::PutCharacter | BonniePhase::PutBlock => writing(task),
        BonniePhase::Rewrite => FileTask {
            mix: Mix::ReadThenWrite(100),
            contents: changed(),
            cache: PageCache { invalidate: drop, ..PageCache::default() },
            ..writing(task)
        },
        BonniePhase::Seeks => seeks(terms, task, drop),
        _ => FileTask { cache: PageCache { invalidate: drop, ..task.cache }, ..task },
    })
}

/// Random reads of the first copy's file by the seekers, some of them written back.
fn seeks(terms: &BonnieTerms, task: FileTask, drop: bool) -> FileTask {
    let size = part(terms.size, terms.concurrency, terms.chunk);
    // What is written back counts as an operation of its own.
    let operations = terms.seeks + terms.seeks * u64::from(WRITTEN_BACK) / 100;
    FileTask {
        target: Target::File(file(format!("{BONNIE}.0"), size, false, false)),
        mix: Mix::ReadThenWrite(WRITTEN_BACK),
        contents: changed(),
        access: Access::Random,
        workers: terms.seekers.max(1),
        concurrency: terms.seekers.max(1),
        stop: Stop { operations: Some(operations), ..Stop::default() },
        cache: PageCache { invalidate: drop, ..task.cache },
        ..task
    }
}

/// The files of Bonnie++'s first phases.
pub(super) fn bonnie_files(terms: &BonnieTerms) -> Vec<PathBuf> {
    let of = |name: &str| {
        (0..terms.concurrency.max(1)).map(|copy| PathBuf::from(format!("{name}.{copy}"))).collect::<Vec<_>>()
    };
    [of(BONNIE), of(CHARACTERS)].concat()
}

/// The file of a process of IOzone's, from 1.
pub(super) fn iozone_file(process: u32) -> PathBuf {
    PathBuf::from(format!("f{process}"))
}

pub(super) fn iozone(terms: &IozoneTerms, test: IozoneTest, process: u32, keep_cache: bool) -> Task {
    let create = test == IozoneTest::Write;
    let records = (terms.size.0 / terms.record.0.max(1)).max(1);
    let span = if test == IozoneTest::RecordRewrite { terms.record } else { terms.size };
    let task = base(
        ClassicStep::Iozone(test, process),
        file(iozone_file(process), span, create, false),
        terms.record,
    );
    let task = if test.writes(process) {
        writing(task)
    } else {
        FileTask { cache: PageCache { invalidate: !keep_cache, ..task.cache }, ..task }
    };
    let stop = Stop { worker_operations: Some(records), ..Stop::default() };
    // Processes with the same seed would go the same way.
    let seed = u64::from(process);
    let access = match test {
        IozoneTest::ReverseRead => Access::Backwards,
        IozoneTest::RandomRead | IozoneTest::RandomWrite | IozoneTest::Mixed => Access::Random,
        IozoneTest::StrideRead => {
            Access::Strided { stride: Bytes(terms.record.0 * STRIDE.min(records.div_ceil(2)).max(1)) }
        }
        _ => Access::Sequential,
    };
    // What has just been read is read again from wherever it is: that is the test.
    let invalidate = task.cache.invalidate && test != IozoneTest::Reread;
    Task::File(FileTask { access, stop, seed, cache: PageCache { invalidate, ..task.cache }, ..task })
}

/// What the engine does in a step of names.
const fn operation(step: MetadataStep) -> MetadataOperation {
    match step {
        MetadataStep::Create => MetadataOperation::Create,
        MetadataStep::Stat => MetadataOperation::Stat,
        MetadataStep::Delete => MetadataOperation::Unlink,
    }
}
