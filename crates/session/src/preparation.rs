//! What jobs may ask for between phases: files in the page cache, another I/O scheduler.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;

use anyhow::Context;
use iolite_engine::EngineError;
use iolite_model::errno::{EINVAL, EIO};
use iolite_model::{JobTask, Target};
use iolite_observe::IoScheduler;

/// I/O schedulers that were switched; they are switched back when this is dropped.
#[derive(Debug, Default)]
pub struct SwitchedSchedulers(Vec<IoScheduler>);

impl SwitchedSchedulers {
    /// Switches the devices beneath these paths to an I/O scheduler.
    ///
    /// # Errors
    /// The storage beneath can't be examined, or a device has no such scheduler or refuses it.
    pub fn switch(&mut self, paths: &[PathBuf], name: &str) -> anyhow::Result<()> {
        let Some(storage) = iolite_observe::storage_beneath(paths.iter().map(PathBuf::as_path))? else {
            return Ok(());
        };
        for device in &storage.devices {
            if let Some(scheduler) = IoScheduler::of(device) {
                let mut scheduler = scheduler?;
                let switched = scheduler.switch(name);
                self.0.push(scheduler);
                switched?;
            }
        }
        Ok(())
    }
}

/// Reads the regular files of a task into the page cache, as far as the task uses them.
///
/// # Errors
/// A file can't be read.
pub fn read_into_cache(task: &JobTask) -> anyhow::Result<()> {
    let JobTask::Io(task) = task else { return Ok(()) };
    let Target::Files(target) = &task.target else { return Ok(()) };
    for named in &target.files {
        let path = &named.path;
        let whole = || -> io::Result<()> {
            let mut file = File::open(path)?;
            if file.metadata()?.is_file() {
                file.seek(SeekFrom::Start(named.offset.0))?;
                io::copy(&mut file.take(named.size.0), &mut io::sink())?;
            }
            Ok(())
        };
        whole().with_context(|| format!("cannot read {} into the page cache", path.display()))?;
    }
    Ok(())
}

/// The number (errno(3)) of an error: the kernel's where it has one; 0 for an interruption, `EINVAL` for what the engine refuses,
/// `EIO` for what goes wrong while jobs run: a rate that is missed, a queue that breaks.
pub fn error_number(error: &anyhow::Error) -> i32 {
    let system = error.chain().find_map(|cause| cause.downcast_ref::<io::Error>()?.raw_os_error());
    system.unwrap_or(match error.downcast_ref::<EngineError>() {
        Some(EngineError::Interrupted) => 0,
        Some(_) => EINVAL,
        None => EIO,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_the_kernel_s_number_or_that_of_its_kind() {
        let full = io::Error::from_raw_os_error(28);
        assert_eq!(error_number(&anyhow::Error::new(full).context("cannot lay out")), 28);
        assert_eq!(error_number(&EngineError::Interrupted.into()), 0);
        assert_eq!(error_number(&anyhow::anyhow!("a rate was missed")), EIO);
    }
}
