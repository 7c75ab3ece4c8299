//! What operations go to, opened.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use iolite_model::{Access as Order, Bytes, ExistingTarget, FileTarget, FileTask, Target};
use iolite_sys::file::{self, Access};

use crate::EngineError;
use crate::admit::Admitted;
use crate::guard::Scratch;
use crate::validate::changes;

/// The open files of a phase.
#[derive(Debug, Clone, Default)]
pub(crate) struct Targets {
    /// None where operations go to nothing, one that all workers share, or one for each.
    files: Vec<Arc<File>>,
    /// Where the span begins in each, in bytes.
    base: u64,
}

impl Targets {
    /// Of a phase whose operations go to nothing, or to a back end of someone else's making.
    pub(crate) fn none() -> Targets {
        Targets::default()
    }

    /// Of a process with one worker.
    pub(crate) fn inherited(file: Option<Arc<File>>, base: u64) -> Targets {
        Targets { files: file.into_iter().collect(), base }
    }

    /// Opens a task's target, and tells the task its size where it is the target's to know.
    ///
    /// # Errors
    /// It can't be made or opened, or the guard refuses it.
    pub(crate) fn open(task: &mut FileTask, scratch: &mut Scratch) -> Result<Targets, EngineError> {
        let access =
            Access { write: changes(task.mix), direct: task.direct, append: task.access == Order::Append };
        match &mut task.target {
            Target::Null { .. } => Ok(Targets::none()),
            Target::File(target) => Ok(Targets {
                files: open_own(target, task.workers, access, task.mix.reads(), scratch)?,
                base: 0,
            }),
            Target::Files(_) => {
                let reason = "files named by the user can't be opened yet".into();
                Err(EngineError::Task { task: task.name.clone(), reason })
            }
            Target::Existing(existing) => {
                let (file, size) = open_existing(existing, access, scratch.admitted())?;
                existing.size = size;
                // As it is to be found from anywhere, for whoever verifies it later.
                existing.path = existing.path.canonicalize().unwrap_or_else(|_| existing.path.clone());
                Ok(Targets { files: vec![Arc::new(file)], base: existing.offset.0 })
            }
        }
    }

    /// Opens what exists already, only to read.
    ///
    /// # Errors
    /// It can't be opened, or is not something that exists already.
    pub(crate) fn open_to_read(task: &mut FileTask) -> Result<Targets, EngineError> {
        let access = Access { write: false, direct: task.direct, append: false };
        let Target::Existing(existing) = &mut task.target else {
            let reason = "its target is gone with the run that made it".into();
            return Err(EngineError::Task { task: task.name.clone(), reason });
        };
        let (file, size) = open_existing(existing, access, &mut Admitted::default())?;
        existing.size = size;
        Ok(Targets { files: vec![Arc::new(file)], base: existing.offset.0 })
    }

    /// The file of a worker.
    pub(crate) fn file(&self, worker: u32) -> Option<&Arc<File>> {
        self.files.get(if self.files.len() > 1 { worker as usize } else { 0 })
    }

    /// All files.
    pub(crate) fn files(&self) -> &[Arc<File>] {
        &self.files
    }

    /// Where the span begins, in bytes.
    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    /// Where an operation of this offset goes: its file's position among the task's, and the offset within that file.
    #[inline]
    pub(crate) fn locate(&self, offset: u64) -> (u32, u64) {
        (0, offset)
    }
}

/// Makes or opens files in the scratch directory.
fn open_own(
    target: &FileTarget,
    workers: u32,
    access: Access,
    reads: bool,
    scratch: &mut Scratch,
) -> Result<Vec<Arc<File>>, EngineError> {
    let mut names = vec![target.name.clone()];
    if target.per_worker {
        let numbered = |worker: u32| {
            let mut name = target.name.clone().into_os_string();
            name.push(format!(".{worker}"));
            name.into()
        };
        names = (0..workers).map(numbered).collect();
    }
    names.iter().map(|name| open_one(target, name, access, reads, scratch).map(Arc::new)).collect()
}

fn open_one(
    target: &FileTarget,
    name: &Path,
    access: Access,
    reads: bool,
    scratch: &mut Scratch,
) -> Result<File, EngineError> {
    let failed = |action, path: &Path, source| EngineError::File { action, path: path.to_owned(), source };
    if !target.create {
        let path = scratch.claimed(name)?;
        let file = file::open(&path, access).map_err(|source| failed("open", &path, source))?;
        let whole = file.metadata().map_err(|source| failed("look at", &path, source))?.len();
        if reads && whole < target.size.0 {
            return Err(EngineError::Span { path, whole: Bytes(whole), offset: Bytes(0), size: target.size });
        }
        return Ok(file);
    }
    let path = scratch.claim(name)?;
    let file = file::create_new_with(&path, access).map_err(|source| failed("make", &path, source))?;
    if target.preallocate {
        match file::preallocate(&file, target.size.0) {
            // Where blocks can't be reserved (tmpfs of old, NFS), the file at least has its size.
            Err(error) if error.kind() == io::ErrorKind::Unsupported => file.set_len(target.size.0),
            other => other,
        }
        .map_err(|source| failed("reserve the space of", &path, source))?;
    }
    Ok(file)
}

/// Opens what the user has named, and tells the size of its span.
fn open_existing(
    existing: &ExistingTarget,
    access: Access,
    admitted: &mut Admitted,
) -> Result<(File, Bytes), EngineError> {
    let path = &existing.path;
    let (file, whole) = admitted.open(existing, access)?;
    let rest = whole.checked_sub(existing.offset.0).filter(|rest| *rest > 0);
    let size = if existing.size.0 == 0 {
        rest
    } else {
        rest.filter(|rest| existing.size.0 <= *rest).map(|_| existing.size.0)
    };
    let Some(size) = size else {
        return Err(EngineError::Span {
            path: path.clone(),
            whole: Bytes(whole),
            offset: existing.offset,
            size: existing.size,
        });
    };
    Ok((file, Bytes(size)))
}
