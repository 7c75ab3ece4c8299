//! Studies: the same operations under one circumstance after another.
//!
//! Their steps are known beforehand, except for how many there are; what the windows say is worked out when they have been
//! measured.

mod block_size;
mod cache;
mod read_ahead;

use std::path::PathBuf;

use iolite_model::{
    Access, BackendKind, Bytes, ExistingTarget, FileTarget, FileTask, Mix, Nanos, OpKind, Order, Overwrite,
    Stop, StudyFinding, StudyWindow, Target,
};
use iolite_stats::PhaseResult;

pub use block_size::{BlockSizeStudy, DEFAULT_BLOCKS};
pub use cache::CacheStudy;
pub use read_ahead::{DEFAULT_READ_AHEAD, ReadAheadStudy};

/// Name of a study's own file in its scratch directory.
pub const OWN_FILE: &str = "studied";

/// Size of the operations that lay a file out or read it into memory.
const BULK: Bytes = Bytes(1 << 20);

/// Measured time below which figures are rough.
const SHORT: Nanos = Nanos(500_000_000);

/// What a study reads, or writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// What exists already; `None` for a file of the study's own.
    pub existing: Option<PathBuf>,
    /// Bytes of it that are used, from its start.
    pub span: Bytes,
    /// What of an existing one may be destroyed.
    pub overwrite: Overwrite,
    /// Whether it takes direct I/O.
    pub direct: bool,
}

/// What is to be done about the page cache before a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Before {
    /// Nothing.
    Keep,
    /// Drop what it holds of the subject.
    Drop,
}

/// One step of a study.
#[derive(Debug, Clone, PartialEq)]
pub struct StudyStep<C> {
    /// What is done first.
    pub before: Before,
    /// What is run.
    pub task: FileTask,
    /// What is particular about it; `None` for a step that only prepares the next.
    pub circumstance: Option<C>,
}

impl Subject {
    /// The steps that make the subject ready: a file of the study's own is written in full.
    fn lay_out<C>(&self) -> Option<StudyStep<C>> {
        if self.existing.is_some() {
            return None;
        }
        let file = FileTarget {
            name: OWN_FILE.into(),
            size: self.span,
            create: true,
            preallocate: false,
            per_worker: false,
        };
        let task = FileTask {
            name: "lay out".into(),
            target: Target::File(file),
            backend: BackendKind::Sync,
            mix: Mix::Write,
            access: Access::Sequential,
            block: BULK,
            direct: self.direct,
            stop: Stop { loops: Some(1), ..Stop::default() },
            ..FileTask::default()
        };
        Some(StudyStep { before: Before::Keep, task, circumstance: None })
    }

    fn target(&self) -> Target {
        match &self.existing {
            Some(path) => Target::Existing(ExistingTarget {
                path: path.clone(),
                offset: Bytes(0),
                size: self.span,
                overwrite: self.overwrite,
            }),
            None => Target::File(FileTarget {
                name: OWN_FILE.into(),
                size: self.span,
                create: false,
                preallocate: false,
                per_worker: false,
            }),
        }
    }

    /// Reads of one at a time in this order. Each block is read once before any is read again, so that what one read leaves in
    /// a cache serves no other.
    fn reads(&self, order: Order, block: Bytes, window: Nanos) -> FileTask {
        FileTask {
            target: self.target(),
            backend: BackendKind::Sync,
            mix: Mix::Read,
            access: match order {
                Order::Random => Access::Covering,
                Order::Sequential => Access::Sequential,
            },
            block,
            stop: Stop { runtime: Some(window), ..Stop::default() },
            interval: interval(window),
            ..FileTask::default()
        }
    }
}

/// Ten intervals to a window, as far as they may be so short.
fn interval(window: Nanos) -> Nanos {
    Nanos((window.0 / 10).clamp(10_000_000, Nanos::SECOND.0))
}

/// The result of a window's phase.
fn result<'a, C>(window: &StudyWindow<C>, history: &'a [PhaseResult]) -> Option<&'a PhaseResult> {
    history.get(window.phase as usize)
}

/// Operations a second of all kinds in a window.
fn rate<C>(window: &StudyWindow<C>, history: &[PhaseResult]) -> Option<f64> {
    let result = result(window, history)?;
    let seconds = result.totals.measured as f64 / 1e9;
    let operations: u64 =
        [OpKind::Read, OpKind::Write].iter().map(|&kind| result.totals.operations(kind)).sum();
    (operations > 0 && seconds > 0.0).then(|| operations as f64 / seconds)
}

/// Bytes a second of all kinds in a window.
fn bandwidth<C>(window: &StudyWindow<C>, history: &[PhaseResult]) -> Option<f64> {
    let result = result(window, history)?;
    let seconds = result.totals.measured as f64 / 1e9;
    let bytes: u64 = [OpKind::Read, OpKind::Write].iter().map(|&kind| result.totals.bytes(kind)).sum();
    (bytes > 0 && seconds > 0.0).then(|| bytes as f64 / seconds)
}

/// The warning about windows that ended long before their time.
fn short<C>(windows: &[StudyWindow<C>], history: &[PhaseResult]) -> Option<StudyFinding> {
    let measured = windows.iter().filter_map(|window| {
        let result = result(window, history)?;
        let whole = result.info.task.stop().runtime.unwrap_or_default();
        (result.end.measured.0 < whole.0 / 2).then_some(result.end.measured)
    });
    let shortest = measured.min().filter(|shortest| *shortest < SHORT)?;
    Some(StudyFinding::Short { shortest })
}

#[cfg(test)]
mod tests;
