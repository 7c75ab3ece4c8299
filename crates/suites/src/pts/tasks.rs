//! What the phases of the specification are in the engine's terms.

use iolite_model::{
    Access, BackendKind, Bytes, ExistingTarget, FileTask, Mix, Nanos, Overwrite, PtsCell, PtsPhase,
    PtsSection, PtsTerms, PtsTest, Stop, Target, Task,
};

/// Bytes of an operation of the preconditioning.
const SEQUENTIAL: Bytes = Bytes(128 << 10);

/// Bytes that are discarded at a time at most.
const PURGED: u64 = 16 << 20;

/// Times that the span is written by the preconditioning, unless it is a rehearsal.
const TIMES: u32 = 2;

/// How the target is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PtsAccess {
    /// Back end of what has several operations outstanding.
    pub backend: BackendKind,
    /// Past the page cache.
    pub direct: bool,
}

/// Whether the specification has workload-independent preconditioning before a test's rounds.
pub(super) const fn is_preconditioned(test: PtsTest) -> bool {
    matches!(test, PtsTest::Iops | PtsTest::Latency)
}

fn base(terms: &PtsTerms, section: PtsSection, phase: PtsPhase) -> FileTask {
    FileTask {
        name: section.phase(phase),
        target: Target::Existing(ExistingTarget {
            path: terms.target.clone(),
            offset: Bytes(0),
            size: terms.span,
            overwrite: Overwrite::Anything,
        }),
        backend: BackendKind::Sync,
        access: Access::Sequential,
        ..FileTask::default()
    }
}

/// Discards all blocks of the span.
pub(super) fn purge(terms: &PtsTerms, section: PtsSection) -> Task {
    // The largest power of two that divides the span: nothing is left at its end.
    let block = Bytes(PURGED.min(1 << terms.span.0.trailing_zeros().min(62)));
    Task::File(FileTask {
        mix: Mix::Trim,
        block,
        stop: Stop { loops: Some(1), ..Stop::default() },
        ..base(terms, section, PtsPhase::Purge)
    })
}

/// Writes the span twice, or the share of it that a rehearsal has.
pub(super) fn precondition(terms: &PtsTerms, section: PtsSection, access: &PtsAccess) -> Task {
    Task::File(FileTask {
        mix: Mix::Write,
        block: SEQUENTIAL,
        backend: access.backend,
        direct: access.direct,
        concurrency: terms.depth.max(1),
        stop: if terms.is_rehearsal() {
            Stop { bytes: Some(terms.precondition()), ..Stop::default() }
        } else {
            Stop { loops: Some(TIMES), ..Stop::default() }
        },
        ..base(terms, section, PtsPhase::Precondition)
    })
}

/// A cell of a round.
pub(super) fn cell(terms: &PtsTerms, section: PtsSection, cell: PtsCell, access: &PtsAccess) -> Task {
    // One operation at a time needs no back end that can do more.
    let alone = section.test == PtsTest::Latency;
    let (workers, depth) = if alone { (1, 1) } else { (terms.threads.max(1), terms.depth.max(1)) };
    Task::File(FileTask {
        mix: match cell.read_percent {
            100 => Mix::Read,
            0 => Mix::Write,
            percent => Mix::ReadPercent(percent),
        },
        access: if section.test == PtsTest::Throughput { Access::Sequential } else { Access::Random },
        block: cell.block,
        backend: if alone { BackendKind::Sync } else { access.backend },
        direct: access.direct,
        workers,
        concurrency: workers.saturating_mul(depth),
        stop: Stop { runtime: Some(terms.cell), ..Stop::default() },
        interval: Nanos((terms.cell.0 / 10).clamp(10_000_000, Nanos::SECOND.0)),
        seed: u64::from(cell.round),
        ..base(terms, section, PtsPhase::Cell(cell))
    })
}
