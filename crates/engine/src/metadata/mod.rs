//! A phase of operations on names: each worker makes, finds or removes files in a tree of its own in the scratch
//! directory.
//!
//! A worker's directory (`TREE/wWORKER`) is opened once; each operation names its file relative to it by
//! `dDIRECTORY/fFILE`, so that looking two names up is part of what is measured. Loops are closed: an operation is meant to
//! start when it is issued.
//!
//! File systems remember what has just been removed: ext4 without a journal uses no inode again for a minute or more
//! (`recently_deleted` in its ialloc.c) and searches for others meanwhile, so that creating after unlinking may be several
//! times slower than creating on a fresh file system.

mod names;
mod on_paths;
mod turns;
pub(crate) mod validate;
mod worker;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use iolite_model::{MetadataTask, Nanos, Sink};
use iolite_sys::clock::Clock;
use iolite_sys::directory::Directory;
use iolite_workers::{Control, Finished, Outcome, Patience, StartLine, WorkerGroup, WorkerStart};

use crate::error::EngineError;
use crate::guard::Scratch;
use crate::guard::tree::Part;
use names::Names;
use worker::Worker;

/// Runs operations on names as phase number `phase`, in trees of `scratch`. Intervals and workers' totals go to `sink` as
/// they come. Where an outcome has an offset, of errors and of operations that are stuck, it is the file's number within
/// its worker's tree.
///
/// # Errors
/// The task is invalid, its directories cannot be made, or the files that it is about are not there: nothing was measured.
pub fn run_metadata_task(
    task: &MetadataTask,
    phase: u32,
    scratch: &mut Scratch,
    clock: Clock,
    control: &Control,
    sink: &mut dyn Sink,
) -> Result<Outcome, EngineError> {
    MetadataPhase::prepare(task, phase, scratch, control)?.run(None, clock, control, sink)
}

/// A phase that is ready to be run: its directories are there.
#[derive(Debug)]
pub(crate) struct MetadataPhase {
    task: MetadataTask,
    number: u32,
    /// By worker: its directory.
    roots: Vec<Arc<Directory>>,
    /// Whether anything may have been done.
    has_run: AtomicBool,
}

impl MetadataPhase {
    fn ready(task: &MetadataTask, number: u32, roots: Vec<Arc<Directory>>) -> MetadataPhase {
        MetadataPhase { task: task.clone(), number, roots, has_run: AtomicBool::new(false) }
    }
}

impl Drop for MetadataPhase {
    /// Removes what was named, where that is asked for and the phase was run.
    fn drop(&mut self) {
        if self.task.remove && *self.has_run.get_mut() {
            on_paths::remove(&self.task);
        }
    }
}

impl MetadataPhase {
    /// Checks the task, creates the directories that its files go into, and checks whether the first file of each worker is
    /// there, or is not, as the task needs it.
    pub(crate) fn prepare(
        task: &MetadataTask,
        number: u32,
        scratch: &mut Scratch,
        control: &Control,
    ) -> Result<MetadataPhase, EngineError> {
        validate::validate(task)?;
        if !task.named.is_empty() {
            return MetadataPhase::on_paths(task, number, scratch);
        }
        let mut roots = Vec::with_capacity(task.workers as usize);
        let setup = Setup { task, control, path: scratch.path().join(&task.tree) };
        if task.operation.requires().is_none() {
            let tree = scratch.claim_tree(&task.tree)?;
            for worker in 0..task.workers {
                roots.push(Arc::new(setup.lay_out(&tree, worker)?));
            }
            setup.settle(&tree)?;
        } else {
            let tree = scratch.claimed_tree(&task.tree)?.ok_or_else(|| setup.missing())?;
            for worker in 0..task.workers {
                roots.push(Arc::new(setup.find(&tree, worker)?));
            }
        }
        Ok(MetadataPhase::ready(task, number, roots))
    }

    /// The same where the user has named the files. What is changed must not be in use, like what is written to.
    fn on_paths(
        task: &MetadataTask,
        number: u32,
        scratch: &mut Scratch,
    ) -> Result<MetadataPhase, EngineError> {
        on_paths::check(task, scratch.admitted())?;
        // Names are relative to the current directory, unless they are absolute.
        let here = Directory::open(Path::new(".")).map_err(|source| EngineError::File {
            action: "open the directory of",
            path: PathBuf::from("."),
            source,
        })?;
        Ok(MetadataPhase::ready(task, number, vec![Arc::new(here)]))
    }

    /// Runs it, starting together with whatever waits at `line`.
    pub(crate) fn run(
        &self,
        line: Option<&dyn StartLine>,
        clock: Clock,
        control: &Control,
        sink: &mut dyn Sink,
    ) -> Result<Outcome, EngineError> {
        let group = WorkerGroup {
            phase: self.number,
            first: 0,
            workers: self.task.workers,
            kinds: vec![self.task.operation.kind()],
            delay: Nanos(0),
            stop: self.task.stop,
            ramp: self.task.ramp.into(),
            interval: self.task.interval,
            clock,
            control: control.clone(),
            patience: Patience::default(),
        };
        self.has_run.store(true, Ordering::Relaxed);
        let work = |worker: u32| {
            let (task, root) = (self.task.clone(), self.roots.get(worker as usize).cloned());
            move |start| work(&task, worker, root, start)
        };
        Ok(group.run(line, sink, work)?)
    }
}

fn work(
    task: &MetadataTask,
    worker: u32,
    root: Option<Arc<Directory>>,
    start: WorkerStart,
) -> Result<Finished, EngineError> {
    let root = root.ok_or_else(|| EngineError::worker(format!("worker {worker} has no directory")))?;
    let worker = Worker::new(task, worker, root);
    Ok(start.ready().map(|lane| worker.run(lane)))
}

/// Preparation of a task's trees.
struct Setup<'a> {
    task: &'a MetadataTask,
    control: &'a Control,
    /// The tree.
    path: PathBuf,
}

impl Setup<'_> {
    /// Makes a worker's directories.
    fn lay_out(&self, tree: &Directory, worker: u32) -> Result<Directory, EngineError> {
        let name = Part::Worker.name(worker.into());
        let failed = |source| self.failed("create", &name, source);
        make_directory(tree, &name).map_err(failed)?;
        let root = tree.open_directory(&name).map_err(failed)?;
        for directory in 0..self.task.files.div_ceil(self.task.files_per_directory) {
            if self.control.interrupted() {
                return Err(EngineError::Interrupted);
            }
            let name = Part::Directory.name(directory);
            make_directory(&root, &name).map_err(failed)?;
            if self.task.sync {
                root.open_directory(&name).and_then(|made| made.sync()).map_err(failed)?;
            }
        }
        self.settle(&root)?;
        match root.stat(Names::new(self.task).path()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(root),
            Err(error) => Err(self.failed("examine", &name, error)),
            Ok(()) => Err(self.refused(format!(
                "the names to create already exist in the tree `{}`: remove them first (unlink or rmdir), or use another tree",
                self.task.tree.display()
            ))),
        }
    }

    /// With `sync`, the first operation is not to pay for the preparation.
    fn settle(&self, directory: &Directory) -> Result<(), EngineError> {
        if !self.task.sync {
            return Ok(());
        }
        directory.sync().map_err(|source| self.failed("sync", "", source))
    }

    /// Opens a worker's directory, in which its files are.
    fn find(&self, tree: &Directory, worker: u32) -> Result<Directory, EngineError> {
        let name = Part::Worker.name(worker.into());
        let found = tree.open_directory(&name).and_then(|root| {
            root.stat(Names::new(self.task).path())?;
            Ok(root)
        });
        found.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => self.missing(),
            _ => self.failed("examine", &name, error),
        })
    }

    fn missing(&self) -> EngineError {
        let (what, maker) = match self.task.operation.is_of_directories() {
            true => ("directories", "mkdir"),
            false => ("files", "create"),
        };
        self.refused(format!(
            "the {what} do not exist in the tree `{}`: create them in an earlier task ({maker}) with the same tree and at least \
             as many workers and {what}",
            self.task.tree.display()
        ))
    }

    fn refused(&self, reason: String) -> EngineError {
        EngineError::Task { task: self.task.name.clone(), reason }
    }

    fn failed(&self, action: &'static str, name: &str, source: io::Error) -> EngineError {
        EngineError::File { action, path: self.path.join(name), source }
    }
}

/// Makes a directory, unless a task before has created it.
fn make_directory(parent: &Directory, name: &str) -> io::Result<()> {
    match parent.make_directory(name) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}
