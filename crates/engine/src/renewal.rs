//! Files that are removed and created again before each further part of the work (`parts_anew`), as fio does it.
//!
//! Others that have such a file open keep what it held: tasks that share a name each go on with a file of their own, and the name stays
//! with the last that was created.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use iolite_sys::file::{self, Access};

use crate::backend::{FileSpan, Files};

/// How often a name is freed for a file before another task's is left there.
const TRIES: u32 = 100;

/// The files that have taken the place of those that a phase was begun with, for whoever uses them after its worker; shared by its
/// clones.
#[derive(Debug, Clone, Default)]
pub(crate) struct Renewed(Arc<Mutex<Option<Files>>>);

impl Renewed {
    /// The latest; `None` while the first ones are in use.
    pub(crate) fn files(&self) -> Option<Files> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Files>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How a worker creates its files again.
#[derive(Debug)]
pub(crate) struct Renewal {
    /// Names of the files, in their order.
    pub(crate) paths: Arc<[PathBuf]>,
    pub(crate) access: Access,
    /// Files have their size again before they are used: a mapping cannot extend them.
    pub(crate) sized: bool,
    /// Other tasks use the same files: what they have open is not emptied.
    pub(crate) shared: bool,
    pub(crate) renewed: Renewed,
}

impl Renewal {
    /// Removes the regular ones of these files, and creates them again; devices stay as they are. What they held is given back where
    /// nobody else uses it, though other parts of the program have them open.
    ///
    /// # Errors
    /// One can't be removed or created; a task that does not write creates none.
    pub(crate) fn renew(&self, files: &Files) -> io::Result<Files> {
        let spans = files.spans().iter().zip(&*self.paths).map(|(span, path)| self.renew_one(span, path));
        let files = Files::new(spans.collect::<io::Result<_>>()?).ok_or(io::ErrorKind::NotFound)?;
        *self.renewed.lock() = Some(files.clone());
        Ok(files)
    }

    fn renew_one(&self, span: &FileSpan, path: &Path) -> io::Result<FileSpan> {
        let metadata = span.file.metadata()?;
        if !metadata.is_file() {
            return Ok(span.clone());
        }
        let file = self.create(path)?;
        if self.sized {
            file.set_len(metadata.len())?;
        }
        // Another name may lead to it still: a hard link, or what a symbolic link was for.
        if self.access.write && !self.shared && span.file.metadata()?.nlink() == 0 {
            span.file.set_len(0)?;
        }
        Ok(FileSpan { file: Arc::new(file), ..span.clone() })
    }

    fn create(&self, path: &Path) -> io::Result<File> {
        for _ in 0..TRIES {
            match fs::symlink_metadata(path) {
                Ok(found) if !found.is_file() && !found.is_symlink() => {
                    let reason = "its name was given to something that is no regular file";
                    return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
                }
                Ok(_) => remove(path)?,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
            if !self.access.write {
                return file::open(path, self.access);
            }
            // As fio does, for the user alone.
            match file::create_new_with(path, self.access) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                created => return created,
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }
}

/// Removes a file, unless another task just has.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn renewal(paths: &[&Path], write: bool, shared: bool) -> Renewal {
        Renewal {
            paths: paths.iter().map(|path| path.to_path_buf()).collect(),
            access: Access { write, ..Access::default() },
            sized: false,
            shared,
            renewed: Renewed::default(),
        }
    }

    fn files(path: &Path) -> Files {
        Files::from(Arc::new(File::options().read(true).write(true).open(path).unwrap()))
    }

    #[test]
    fn files_are_created_again_and_others_keep_theirs() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        for (shared, kept) in [(true, 4), (false, 0)] {
            fs::write(&path, "data").unwrap();
            let (one, other) = (files(&path), files(&path));
            let renewal = renewal(&[&path], true, shared);
            assert!(renewal.renewed.files().is_none());
            let again = renewal.renew(&one).unwrap();
            let length = |files: &Files| files.spans()[0].file.metadata().unwrap().len();
            assert_eq!((length(&again), length(&other), fs::metadata(&path).unwrap().len()), (0, kept, 0));
            again.spans()[0].file.set_len(7).unwrap();
            assert_eq!(fs::metadata(&path).unwrap().len(), 7, "it has the name");
            assert!(renewal.renewed.files().is_some());
        }
    }

    #[test]
    fn what_has_another_name_keeps_its_data() {
        let dir = tempfile::tempdir().unwrap();
        let (kept, hard, symbolic) =
            (dir.path().join("kept"), dir.path().join("hard"), dir.path().join("symbolic"));
        fs::write(&kept, "data").unwrap();
        fs::hard_link(&kept, &hard).unwrap();
        std::os::unix::fs::symlink(&kept, &symbolic).unwrap();
        for name in [&hard, &symbolic] {
            renewal(&[name], true, false).renew(&files(name)).unwrap();
            assert_eq!(fs::read_to_string(&kept).unwrap(), "data");
            assert_eq!(fs::symlink_metadata(name).unwrap().len(), 0);
        }
    }

    #[test]
    fn mappings_get_their_size_and_readers_no_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        fs::write(&path, "data").unwrap();
        let sized = Renewal { sized: true, ..renewal(&[&path], true, false) };
        let again = sized.renew(&files(&path)).unwrap();
        assert_eq!(fs::read(&path).unwrap(), [0; 4]);
        let error = renewal(&[&path], false, false).renew(&again).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        fs::create_dir(&path).unwrap();
        assert!(renewal(&[&path], true, false).renew(&again).is_err());
        assert!(path.is_dir(), "what is no file stays");
    }
}
