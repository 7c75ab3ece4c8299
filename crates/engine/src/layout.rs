//! Making the files that a task names: laid out where reads need data, reserved where writes need space.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::path::{Path, PathBuf};

use iolite_model::{
    BackendKind, Bytes, ErrorClass, FileTask, FilesTarget, LayOut, NamedFile, Overwrite, Reserve,
};
use iolite_sys::file::{self, Access};
use iolite_sys::pseudo;
use iolite_workers::Control;
use iolite_workload::Filler;

use crate::admit::{Admitted, Identity, identity_of, storage_only};
use crate::backend::Files;
use crate::error::EngineError;
use crate::renewal::Renewed;

/// Bytes written at a time, after which is looked whether to go on.
const CHUNK: u64 = 1 << 20;

/// Bytes after which those before are written out: what is dirty at the end, and an interruption waits for, stays small.
const WINDOW: u64 = 64 << 20;

/// Makes files, and unmakes them where not all can be made.
pub(crate) struct Layout<'a> {
    task: &'a FileTask,
    target: &'a FilesTarget,
    admitted: &'a mut Admitted,
    control: &'a Control,
    filler: Filler,
    undo: Undo,
}

/// What has been made: unmade again unless it is kept.
#[derive(Debug, Default)]
pub(crate) struct Undo {
    made: Vec<PathBuf>,
    /// In the order in which they were made.
    directories: Vec<PathBuf>,
    /// Files that were there, with their length before.
    extended: Vec<(File, u64)>,
}

impl<'a> Layout<'a> {
    /// For the files of a task.
    ///
    /// # Errors
    /// The task's contents make no sense.
    pub(crate) fn new(
        task: &'a FileTask,
        target: &'a FilesTarget,
        admitted: &'a mut Admitted,
        control: &'a Control,
    ) -> Result<Layout<'a>, EngineError> {
        let refused = |error: iolite_workload::WorkloadError| EngineError::Task {
            task: task.name.clone(),
            reason: error.to_string(),
        };
        let filler = Filler::of(task, 0).map_err(refused)?;
        Ok(Layout { task, target, admitted, control, filler, undo: Undo::default() })
    }

    /// Sees to it that a file is there, and as long and as full as the task asks for.
    ///
    /// # Errors
    /// It can't be made or extended, there is no space, the guard refuses it, or the user wants to stop.
    pub(crate) fn prepare(&mut self, named: &NamedFile) -> Result<(), EngineError> {
        match fs::metadata(&named.path) {
            Ok(found) => self.complete(named, &found),
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.make(named),
            Err(source) => Err(failed("open", &named.path, source)),
        }
    }

    /// What has been made.
    pub(crate) fn finish(self) -> Undo {
        self.undo
    }

    fn make(&mut self, named: &NamedFile) -> Result<(), EngineError> {
        let path = &named.path;
        // Before directories are made for it.
        let there = path.ancestors().skip(1).find(|parent| parent.as_os_str().is_empty() || parent.exists());
        if let Some(reason) = there.and_then(pseudo::reason_of_directory) {
            return Err(EngineError::Guarded { path: path.clone(), reason });
        }
        let refused = |kind: io::ErrorKind, why: &str| Err(failed("open", path, io::Error::new(kind, why)));
        if self.target.lay_out == LayOut::Never {
            let why = "it does not exist, and the job does not create it (`lay_out`; of fio, `allow_file_create=0` or --readonly)";
            return refused(io::ErrorKind::NotFound, why);
        }
        if named.size.0 == 0 && !self.task.stop.full {
            let why = "it does not exist, and no size is given to create it: specify one";
            return refused(io::ErrorKind::InvalidInput, why);
        }
        self.make_parents(path)?;
        let file = self.admitted.make(path)?;
        self.undo.made.push(path.clone());
        self.lengthen(named, &file, 0)
    }

    /// Makes the directories that a file is to be in, as far as they are missing.
    fn make_parents(&mut self, path: &Path) -> Result<(), EngineError> {
        let missing =
            path.ancestors().skip(1).take_while(|parent| !parent.as_os_str().is_empty() && !parent.exists());
        let missing: Vec<PathBuf> = missing.map(Path::to_owned).collect();
        for directory in missing.into_iter().rev() {
            fs::create_dir(&directory).map_err(|source| failed("create", &directory, source))?;
            self.undo.directories.push(directory);
        }
        Ok(())
    }

    /// Extends a file that is there, or writes it anew.
    fn complete(&mut self, named: &NamedFile, found: &Metadata) -> Result<(), EngineError> {
        let (path, length) = (&named.path, found.len());
        storage_only(path)?;
        // A device has its size, and what is neither that nor a file is refused when it is opened.
        if !found.is_file() || found.file_type().is_block_device() {
            return Ok(());
        }
        let fills = named.size.0 == 0 && self.task.stop.full && reads_data(self.task);
        let short = fills || (named.size.0 > 0 && length < end_of(named));
        match self.target.lay_out {
            LayOut::Never | LayOut::Grow => Ok(()),
            LayOut::Needed if !short => Ok(()),
            LayOut::Needed
                if self.target.overwrite == Overwrite::Never && !self.admitted.has_created(found) =>
            {
                let (whole, offset, size) = (Bytes(length), named.offset, named.size);
                Err(EngineError::Span { path: path.clone(), whole, offset, size })
            }
            LayOut::Needed | LayOut::Always => {
                let access = Access { write: true, ..Access::default() };
                let (file, _) = self.admitted.open(path, self.target.overwrite, access)?;
                if short {
                    let again = file.try_clone().map_err(|source| failed("open", path, source))?;
                    self.undo.extended.push((again, length));
                }
                self.lengthen(named, &file, length)
            }
        }
    }

    /// Gives a file of `length` bytes what it lacks.
    fn lengthen(&mut self, named: &NamedFile, file: &File, length: u64) -> Result<(), EngineError> {
        let end = match named.size.0 {
            0 if self.task.stop.full && reads_data(self.task) => u64::MAX,
            0 => length,
            _ => end_of(named),
        };
        let done = match self.target.lay_out {
            LayOut::Always => self.fill(file, named.offset.0.min(length), end),
            // What is there may have holes, which the writes of a mix have no space for then. What is only read stays.
            LayOut::Needed if end == u64::MAX && self.task.mix.writes() => self.fill(file, 0, end),
            LayOut::Needed if reads_data(self.task) => self.fill(file, length, end),
            LayOut::Needed => self.reserve(file, length, end),
            LayOut::Never | LayOut::Grow => Ok(()),
        };
        match done {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(EngineError::Interrupted),
            other => other.map_err(|source| failed("lay out", &named.path, source)),
        }
    }

    /// Writes all from one offset to the other, or as much as there is space for where the task ends then. `Interrupted` where the
    /// user wants to stop.
    fn fill(&mut self, file: &File, from: u64, to: u64) -> io::Result<()> {
        let until_full = self.task.stop.full;
        if from < to && self.target.reserve == Reserve::Allocate && !until_full {
            // Without its size, which shows how much has been written if the program ends here.
            unless_unsupported(file::reserve(file, from, to - from, true), || Ok(()))?;
        }
        let block = self.task.largest().0.clamp(1, CHUNK) as usize;
        let mut buffer = vec![0; CHUNK.min(to.saturating_sub(from)) as usize];
        let (mut next, mut clean) = (from, from);
        while next < to {
            if self.control.interrupted() {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let piece = &mut buffer[..CHUNK.min(to - next) as usize];
            piece.chunks_mut(block).for_each(|block| self.filler.fill(block));
            match file.write_all_at(piece, next) {
                // What fits is what there is to work on.
                Err(error) if until_full && is_full(&error) => break,
                done => done?,
            }
            next += piece.len() as u64;
            if next - clean >= WINDOW {
                file::sync_range(file, clean, next - clean)?;
                clean = next;
            }
        }
        // What was laid out must not be on its way while the phase is measured.
        file.sync_data()?;
        self.admitted.note_on_device(file);
        Ok(())
    }

    fn reserve(&self, file: &File, length: u64, end: u64) -> io::Result<()> {
        match self.target.reserve {
            Reserve::Allocate => {
                unless_unsupported(file::reserve(file, length, end - length, false), || file.set_len(end))
            }
            Reserve::KeepSize => {
                unless_unsupported(file::reserve(file, length, end - length, true), || Ok(()))
            }
            Reserve::Truncate => file.set_len(end),
            Reserve::None => Ok(()),
        }
    }
}

impl Undo {
    /// All that is made stays.
    pub(crate) fn keep(mut self) {
        self.made.clear();
        self.directories.clear();
        self.extended.clear();
    }
}

impl Drop for Undo {
    fn drop(&mut self) {
        for path in &self.made {
            let _ = fs::remove_file(path);
        }
        for directory in self.directories.iter().rev() {
            let _ = fs::remove_dir(directory);
        }
        for (file, length) in &self.extended {
            let _ = file.set_len(*length);
        }
    }
}

/// Whether the task reads what the target holds.
pub(crate) fn reads_data(task: &FileTask) -> bool {
    task.mix.reads() && task.backend != BackendKind::Fallocate
}

fn end_of(named: &NamedFile) -> u64 {
    named.offset.0.saturating_add(named.size.0)
}

/// What a file system has not (NFS, tmpfs of old) is done otherwise.
fn unless_unsupported(done: io::Result<()>, other: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => other(),
        done => done,
    }
}

/// Whether a write failed because nothing more fits.
fn is_full(error: &io::Error) -> bool {
    error.raw_os_error().is_some_and(|number| ErrorClass::of(number) == ErrorClass::Space)
}

pub(crate) fn failed(action: &'static str, path: &Path, source: io::Error) -> EngineError {
    EngineError::File { action, path: path.to_owned(), source }
}

/// Files of the user's that are removed when nothing of the phase is left to do.
#[derive(Debug, Default)]
pub(crate) struct Removal {
    files: Vec<(PathBuf, Identity)>,
    /// Files that have taken their place.
    renewed: Renewed,
}

impl Removal {
    /// The regular ones of these files, as they are now, and those that take their place.
    pub(crate) fn of<'a>(
        files: impl Iterator<Item = (&'a Path, io::Result<Metadata>)>,
        renewed: &Renewed,
    ) -> io::Result<Removal> {
        let mut removal = Removal { files: Vec::new(), renewed: renewed.clone() };
        for (path, metadata) in files {
            let metadata = metadata?;
            if metadata.is_file() {
                removal.files.push((path.to_owned(), identity_of(&metadata)));
            }
        }
        Ok(removal)
    }
}

impl Drop for Removal {
    fn drop(&mut self) {
        let latest = self.renewed.files();
        let latest = latest.iter().flat_map(Files::spans).filter_map(|span| span.file.metadata().ok());
        let latest: Vec<Identity> = latest.map(|metadata| identity_of(&metadata)).collect();
        for (path, identity) in &self.files {
            // Only what the phase has used, whatever has got its name since.
            let used = |found: &Metadata| {
                let found = identity_of(found);
                found == *identity || latest.contains(&found)
            };
            // Of a symbolic link, the link.
            if fs::metadata(path).is_ok_and(|found| found.is_file() && used(&found)) {
                let _ = fs::remove_file(path);
            }
        }
    }
}
