//! What the phases of the specification are in the engine's terms.

use iolite_model::{
    Access, BackendKind, Bytes, ExistingTarget, FileTask, HotSpot, Mix, Nanos, OnError, Overwrite, PtsCell,
    PtsDemand, PtsPhase, PtsPreWrite, PtsSection, PtsStage, PtsStep, PtsTerms, PtsTest, Sizes, Start, Stop,
    Target, Task, composite_sizes,
};

/// Bytes of an operation of the preconditioning.
const SEQUENTIAL: Bytes = Bytes(128 << 10);

/// Bytes that are discarded at a time at most.
const PURGED: u64 = 16 << 20;

/// Bytes of an operation of host idle recovery, and of the sequential and the random writes of cross-stimulus recovery.
const BURST: Bytes = Bytes(4 << 10);
const LARGE: Bytes = Bytes(1 << 20);
const SMALL: Bytes = Bytes(8 << 10);

/// Offsets of the composite workload are multiples of this, so that its operations of 4 KiB and more are aligned.
const ALIGNMENT: Bytes = Bytes(4 << 10);

/// Parts of the active range that the composite workload accesses most: percentage of the range, and of the operations. The rest
/// of the operations goes to the rest of the range (JESD219).
const HOT: [(u64, f64); 2] = [(5, 50.0), (15, 30.0)];

/// How the target is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PtsAccess {
    /// Back end of what has several operations outstanding.
    pub backend: BackendKind,
    /// Past the page cache.
    pub direct: bool,
    /// Bytes that a purge discards: all of a device, the active range of a file.
    pub purged: Bytes,
}

fn base(terms: &PtsTerms, section: PtsSection, phase: PtsPhase) -> FileTask {
    FileTask {
        name: section.phase(phase),
        target: part(terms, Bytes(0), terms.span),
        backend: BackendKind::Sync,
        access: Access::Sequential,
        // After an error the figures are none, and preconditioning that leaves blocks out is none.
        errors: OnError { max: Some(0), ..OnError::default() },
        ..FileTask::default()
    }
}

/// A part of the active range.
fn part(terms: &PtsTerms, offset: Bytes, size: Bytes) -> Target {
    let (path, overwrite) = (terms.target.clone(), Overwrite::Anything);
    Target::Existing(ExistingTarget { path, offset, size, overwrite })
}

/// Discards all blocks, in whole MiB: what is beyond the active range as well, or it would not be as new.
pub(super) fn purge(terms: &PtsTerms, section: PtsSection, access: &PtsAccess) -> Task {
    let size = access.purged.round_down(Bytes::MIB.0);
    // The largest power of two that divides the size: nothing is left at its end.
    let block = Bytes(PURGED.min(1 << size.0.trailing_zeros().min(62)));
    Task::File(FileTask {
        target: part(terms, Bytes(0), size),
        mix: Mix::Trim,
        block,
        stop: Stop { loops: Some(1), ..Stop::default() },
        ..base(terms, section, PtsPhase::Purge)
    })
}

/// Writes twice the capacity, or the share of it that a rehearsal has, from the start of the span to its end and again.
pub(super) fn precondition(terms: &PtsTerms, section: PtsSection, access: &PtsAccess) -> Task {
    Task::File(FileTask {
        mix: Mix::Write,
        block: SEQUENTIAL,
        backend: access.backend,
        direct: access.direct,
        concurrency: terms.depth.max(1),
        stop: Stop { bytes: Some(terms.precondition()), ..Stop::default() },
        ..base(terms, section, PtsPhase::Precondition)
    })
}

/// A cell of a round.
pub(super) fn cell(terms: &PtsTerms, section: PtsSection, cell: PtsCell, access: &PtsAccess) -> Task {
    let test = section.test;
    let demand = match test {
        PtsTest::Latency => PtsDemand { threads: 1, depth: 1 },
        // One thread: several would each have a part of the range, which is no sequential access of the device; a hard disk would seek.
        PtsTest::Throughput | PtsTest::ZoneThroughput => {
            PtsDemand { threads: 1, depth: usual(terms).outstanding() }
        }
        _ => cell.demand.unwrap_or(usual(terms)),
    };
    let target = if test.is_by_zone() {
        let length = terms.zone_length();
        part(terms, Bytes(length.0.saturating_mul(u64::from(cell.round.saturating_sub(1)))), length)
    } else {
        part(terms, Bytes(0), terms.span)
    };
    let task = FileTask {
        target,
        mix: mix(cell.read_percent),
        access: if test.is_throughput() { Access::Sequential } else { Access::Random },
        block: cell.block,
        ..base(terms, section, PtsPhase::Cell(cell))
    };
    loaded(composed(task, terms, test), terms.cell_length(test), demand, access)
}

/// Writes of the access pattern of a test, before it is measured.
pub(super) fn pre_write(
    terms: &PtsTerms,
    section: PtsSection,
    pre_write: PtsPreWrite,
    demand: PtsDemand,
    access: &PtsAccess,
) -> Task {
    let task = FileTask {
        mix: Mix::Write,
        access: Access::Random,
        block: largest_block(terms, section),
        ..base(terms, section, PtsPhase::PreWrite(pre_write))
    };
    loaded(composed(task, terms, section.test), terms.pre_write_length(pre_write), demand, access)
}

/// A step of a stage. `offset` is where sequential writes begin; `demand` that of an operating point.
pub(super) fn step(
    terms: &PtsTerms,
    section: PtsSection,
    step: PtsStep,
    offset: Bytes,
    demand: PtsDemand,
    access: &PtsAccess,
) -> Task {
    let (block, order) = match step.stage {
        PtsStage::Bursts(_) | PtsStage::Continuous(_) => (terms.block(BURST), Access::Random),
        PtsStage::SequentialBefore | PtsStage::SequentialAfter => (LARGE, Access::Sequential),
        PtsStage::RandomBetween => (terms.block(SMALL), Access::Random),
        PtsStage::Histogram(_) => (largest_block(terms, section), Access::Random),
    };
    let read_percent = section.test.mixes().first().copied().unwrap_or(0);
    let task = FileTask {
        target: part(terms, offset, Bytes(terms.span.0.saturating_sub(offset.0))),
        mix: mix(read_percent),
        access: order,
        block,
        start: Start { delay: terms.wait(step.stage), ..Start::default() },
        ..base(terms, section, PtsPhase::Step(step))
    };
    loaded(composed(task, terms, section.test), terms.length(step.stage), demand, access)
}

/// Number of threads and queue depth of the tests that do not vary them.
pub(super) fn usual(terms: &PtsTerms) -> PtsDemand {
    PtsDemand { threads: terms.threads.max(1), depth: terms.depth.max(1) }
}

/// The largest block of a test.
fn largest_block(terms: &PtsTerms, section: PtsSection) -> Bytes {
    terms.block(section.test.blocks().first().copied().unwrap_or(BURST))
}

fn mix(read_percent: u8) -> Mix {
    match read_percent {
        100 => Mix::Read,
        0 => Mix::Write,
        percent => Mix::ReadPercent(percent),
    }
}

/// The task with the sizes and offsets of the composite workload, if it is of a test that has it.
fn composed(task: FileTask, terms: &PtsTerms, test: PtsTest) -> FileTask {
    if !test.is_composite() {
        return task;
    }
    let alignment = ALIGNMENT.max(terms.logical_block);
    let mut spots = Vec::new();
    let mut offset = 0;
    for (percent, io_percent) in HOT {
        let length = Bytes(terms.span.0 / 100 * percent).round_down(alignment.0);
        spots.push(HotSpot { offset: Bytes(offset), length, io_percent });
        offset += length.0;
    }
    let sizes = Some(Sizes::alike(composite_sizes(terms.logical_block), alignment));
    FileTask { access: Access::HotSpots(spots), sizes, ..task }
}

fn loaded(task: FileTask, time: Nanos, demand: PtsDemand, access: &PtsAccess) -> Task {
    let PtsDemand { threads, depth } = demand;
    // One operation at a time needs no back end that can do more.
    let backend = if depth == 1 { BackendKind::Sync } else { access.backend };
    Task::File(FileTask {
        backend,
        direct: access.direct,
        workers: threads,
        concurrency: demand.outstanding(),
        stop: Stop { runtime: Some(time), ..Stop::default() },
        interval: Nanos((time.0 / 10).clamp(10_000_000, Nanos::SECOND.0)),
        ..task
    })
}
