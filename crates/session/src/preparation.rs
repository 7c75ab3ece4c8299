//! What jobs may ask for between phases: files in the page cache, another I/O scheduler, control groups.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;

use iolite_engine::Control;
use iolite_model::{JobTask, Target};
use iolite_observe::IoScheduler;
use iolite_sys::control_group::ControlGroup;

use crate::error::{Error, Result};

/// I/O schedulers that were switched; they are switched back when this is dropped.
#[derive(Debug, Default)]
pub struct SwitchedSchedulers(Vec<IoScheduler>);

impl SwitchedSchedulers {
    /// Switches the devices beneath these paths to an I/O scheduler.
    ///
    /// # Errors
    /// The storage beneath can't be examined, or a device has no such scheduler or refuses it.
    pub fn switch(&mut self, paths: &[PathBuf], name: &str) -> Result<()> {
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

/// Control groups that jobs run in; those that were created are removed when this is dropped, the latest first: it may lie within an earlier
/// one.
#[derive(Debug, Default)]
pub struct ControlGroups(Vec<ControlGroup>);

impl ControlGroups {
    /// Creates a group unless it exists, and sets its weight if one is given; with `keep` it is not removed.
    ///
    /// # Errors
    /// The system has no control groups for I/O, or no weights of them, or the user may not create one.
    pub fn create(&mut self, name: &str, weight: Option<u32>, keep: bool) -> Result<()> {
        let mut group = ControlGroup::create(name, weight)
            .map_err(|source| Error::ControlGroup { name: name.to_owned(), source })?;
        if keep {
            group.keep();
            self.0.iter_mut().for_each(|earlier| earlier.keep_for(&group));
        }
        self.0.push(group);
        Ok(())
    }

    /// Removes them; why some could not be removed.
    pub fn remove(&mut self) -> Vec<io::Error> {
        let mut errors = Vec::new();
        while let Some(mut group) = self.0.pop() {
            errors.extend(group.remove().err());
        }
        errors
    }
}

impl Drop for ControlGroups {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Bytes read at a time, after which it is checked whether the user wants to stop.
const CHUNK: u64 = 1 << 20;

/// Reads the regular files of a task into the page cache, as far as they exist and the task uses them, or until the user interrupts.
///
/// # Errors
/// A file can't be read.
pub fn read_into_cache(task: &JobTask, control: &Control) -> Result<()> {
    let JobTask::Io(task) = task else { return Ok(()) };
    let Target::Files(target) = &task.target else { return Ok(()) };
    for named in &target.files {
        let path = &named.path;
        let whole = || -> io::Result<()> {
            let mut file = File::open(path)?;
            if file.metadata()?.is_file() {
                file.seek(SeekFrom::Start(named.offset.0))?;
                let mut left = file.take(named.size.0);
                while !control.interrupted() && io::copy(&mut (&mut left).take(CHUNK), &mut io::sink())? > 0 {
                }
            }
            Ok(())
        };
        match whole() {
            // The task will create it, and has nothing to read there.
            Err(source) if source.kind() == io::ErrorKind::NotFound => {}
            other => other.map_err(|source| Error::PreRead { path: path.clone(), source })?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use iolite_model::{Bytes, FileTask, FilesTarget, NamedFile};

    use super::*;

    /// What the page cache holds after a sparse file has been read into it.
    fn read(control: &Control) -> u64 {
        const SIZE: u64 = 8 << 20;
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(SIZE).unwrap();
        let named = NamedFile { path: file.path().to_owned(), offset: Bytes(0), size: Bytes(SIZE) };
        let target = Target::Files(FilesTarget::of(vec![named]));
        read_into_cache(&JobTask::Io(Box::new(FileTask { target, ..FileTask::default() })), control).unwrap();
        iolite_sys::page_cache::resident_bytes(file.as_file(), 0, SIZE).unwrap()
    }

    #[test]
    fn files_are_read_into_the_cache_until_the_user_interrupts() {
        let control = Control::default();
        assert_eq!(read(&control), 8 << 20);
        let none = NamedFile { path: "no-such-file".into(), offset: Bytes(0), size: Bytes(1) };
        let missing = FileTask { target: Target::Files(FilesTarget::of(vec![none])), ..FileTask::default() };
        read_into_cache(&JobTask::Io(Box::new(missing)), &control).unwrap();
        control.interrupt();
        assert_eq!(read(&control), 0);
    }
}
