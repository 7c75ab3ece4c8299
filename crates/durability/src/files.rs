//! Writes of files, each durable when it returns.

use std::fs::{DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use iolite_model::acknowledged::{Method, Plan};

use crate::error::Result;
use crate::error::io as failed;
use crate::plan::{directory, slot};
use crate::record::{Identity, fill};

/// The name of a file before it replaces another.
const NEW: &str = "new";

/// What the names of files that have a place each begin with.
const SLOT: &str = "slot-";

/// Makes the run's directory and files, durable with all that leads to them.
///
/// # Errors
/// [`Error::Io`](crate::Error::Io), also where the directory is there already.
pub(crate) fn prepare(plan: &Plan) -> Result<()> {
    let directory = directory(plan);
    let made = DirBuilder::new().mode(0o700).create(&directory);
    made.map_err(failed("create", &directory))?;
    let laid_out = lay_out(plan, &directory);
    if laid_out.is_err() {
        // It stays where it cannot be removed; the error that is reported is the first.
        let _ = remove(plan);
    }
    laid_out
}

fn lay_out(plan: &Plan, directory: &Path) -> Result<()> {
    for worker in 0..plan.workers {
        prepare_worker(plan, worker).map_err(failed("lay out", &path(plan, worker)))?;
    }
    let sync = |directory: &Path| File::open(directory)?.sync_all();
    sync(directory).map_err(failed("synchronise", directory))?;
    let above = Path::new(&plan.place);
    sync(above).map_err(failed("synchronise", above))
}

/// Removes the run's files, and its directory if nothing else is in it.
///
/// # Errors
/// [`Error::Io`](crate::Error::Io), also where files of others are in it, which stay.
pub(crate) fn remove(plan: &Plan) -> Result<()> {
    let gone = |result: io::Result<()>| match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    };
    for worker in 0..plan.workers {
        let path = path(plan, worker);
        if plan.method != Method::Rename {
            gone(std::fs::remove_file(&path)).map_err(failed("remove", &path))?;
            continue;
        }
        for entry in std::fs::read_dir(&path).into_iter().flatten().flatten() {
            let is_own = |name: &str| name == NEW || name.starts_with(SLOT);
            if entry.file_name().to_str().is_some_and(is_own) {
                gone(std::fs::remove_file(entry.path())).map_err(failed("remove", &entry.path()))?;
            }
        }
        gone(std::fs::remove_dir(&path)).map_err(failed("remove", &path))?;
    }
    let directory = directory(plan);
    std::fs::remove_dir(&directory).map_err(failed("remove", &directory))
}

/// A worker's file, or directory of files.
pub(crate) fn path(plan: &Plan, worker: u32) -> PathBuf {
    directory(plan).join(format!("worker-{worker}"))
}

/// The file of a place, where each has one.
pub(crate) fn slot_path(plan: &Plan, worker: u32, slot: u64) -> PathBuf {
    path(plan, worker).join(format!("{SLOT}{slot}"))
}

fn prepare_worker(plan: &Plan, worker: u32) -> io::Result<()> {
    let path = path(plan, worker);
    if plan.method == Method::Rename {
        DirBuilder::new().mode(0o700).create(&path)?;
        return File::open(&path)?.sync_all();
    }
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(&path)?;
    if plan.method.replaces() {
        // Written, not only allocated: recycled logs are.
        let mut block = vec![0; block_size(plan)];
        for _ in 0..plan.slots {
            fill(&mut block, plan.run, Identity { worker, number: 0 });
            file.write_all(&block)?;
        }
    }
    file.sync_all()
}

fn block_size(plan: &Plan) -> usize {
    // Checked against the largest that there may be.
    usize::try_from(plan.block.0).unwrap_or(usize::MAX)
}

/// Writes of one worker.
pub(crate) struct Writer<'a> {
    plan: &'a Plan,
    worker: u32,
    file: File,
    block: Vec<u8>,
}

impl<'a> Writer<'a> {
    /// # Errors
    /// [`Error::Io`](crate::Error::Io).
    pub(crate) fn open(plan: &'a Plan, worker: u32) -> Result<Writer<'a>> {
        let path = path(plan, worker);
        let mut options = File::options();
        match plan.method {
            // The directory, to synchronise it.
            Method::Rename => options.read(true),
            Method::Dsync => options.write(true).custom_flags(libc::O_DSYNC),
            Method::Append | Method::Overwrite | Method::Commit => options.write(true),
        };
        let file = options.open(&path).map_err(failed("open", &path))?;
        Ok(Writer { plan, worker, file, block: vec![0; block_size(plan)] })
    }

    /// Does a write, and makes it durable.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io): the write was not acknowledged.
    pub(crate) fn write(&mut self, number: u64) -> Result<()> {
        fill(&mut self.block, self.plan.run, Identity { worker: self.worker, number });
        let slot = slot(self.plan, number);
        let written = match self.plan.method {
            Method::Rename => self.rename(slot),
            Method::Dsync => self.file.write_all_at(&self.block, slot * self.plan.block.0),
            Method::Append | Method::Overwrite | Method::Commit => self
                .file
                .write_all_at(&self.block, slot * self.plan.block.0)
                .and_then(|()| self.file.sync_data()),
        };
        written.map_err(failed("write", &path(self.plan, self.worker)))
    }

    fn rename(&self, slot: u64) -> io::Result<()> {
        let new = path(self.plan, self.worker).join(NEW);
        let mut file = File::options().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        file.write_all(&self.block)?;
        file.sync_all()?;
        std::fs::rename(&new, slot_path(self.plan, self.worker, slot))?;
        self.file.sync_all()
    }
}
