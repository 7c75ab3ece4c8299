//! What a study works on, and its steps.

use std::path::PathBuf;

use iolite_model::{
    Access, BackendKind, Bytes, ExistingTarget, FileTarget, FileTask, Mix, Nanos, Order, Overwrite, Stop,
    Target,
};

/// Name of a study's own file in its scratch directory.
pub const OWN_FILE: &str = "studied";

/// Size of the operations that lay a file out or read it into memory.
pub(super) const BULK: Bytes = Bytes(1 << 20);

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
    pub(super) fn lay_out<C>(&self) -> Option<StudyStep<C>> {
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
    pub(super) fn reads(&self, order: Order, block: Bytes, window: Nanos) -> FileTask {
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

    /// A device that is only read.
    pub fn device(path: PathBuf, span: Bytes) -> Subject {
        Subject { existing: Some(path), span, overwrite: Overwrite::Never, direct: true }
    }
}

/// Ten intervals to a window, as far as they may be so short.
fn interval(window: Nanos) -> Nanos {
    Nanos((window.0 / 10).clamp(10_000_000, Nanos::SECOND.0))
}
