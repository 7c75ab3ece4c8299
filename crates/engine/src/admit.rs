//! The guard of what exists already: nothing that the user has not given away is written to, and nothing that is in use.
//!
//! A target is admitted once a run. A device stays claimed (O_EXCL) as long as the run lives, so that nobody mounts it meanwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};
use std::path::Path;

use iolite_model::{Bytes, Overwrite};
use iolite_sys::device;
use iolite_sys::file::{self, Access};

use crate::error::EngineError;

/// What a file or device is, whatever it is called: device and inode, and for a device node the device that it stands for.
pub(crate) type Identity = (u64, u64, u64);

fn identity(file: &File) -> io::Result<Identity> {
    file.metadata().map(|metadata| identity_of(&metadata))
}

/// What is described by these.
pub(crate) fn identity_of(metadata: &Metadata) -> Identity {
    let number = metadata.rdev();
    // A device may have several nodes.
    if metadata.file_type().is_block_device() { (0, 0, number) } else { (metadata.dev(), metadata.ino(), 0) }
}

/// How much of a target's start and end has to be zeros for it to be blank: partition tables, file systems, LVM, RAID and
/// databases all have something there.
const EDGE: u64 = 1 << 20;

/// The targets that a run may write to.
#[derive(Debug, Default)]
pub(crate) struct Admitted {
    /// By what they are, whatever they are called: held open.
    claims: BTreeMap<Identity, File>,
    /// Those of them that this run has made.
    made: BTreeSet<Identity>,
}

impl Admitted {
    /// Opens a target, having made sure that it may be written to where `access` asks for that. Tells its whole size.
    ///
    /// # Errors
    /// It can't be opened, or may not be written to.
    pub(crate) fn open(
        &mut self,
        path: &Path,
        overwrite: Overwrite,
        access: Access,
    ) -> Result<(File, u64), EngineError> {
        let failed = |source| EngineError::File { action: "open", path: path.to_owned(), source };
        if access.write {
            self.admit(path, overwrite)?;
        }
        let opened = device::open_existing(path, access, false).map_err(failed)?.file;
        // What was admitted is what is written to, even if something else has got its name meanwhile.
        if access.write && !self.claims.contains_key(&identity(&opened).map_err(failed)?) {
            let reason = "something else has taken its place while it was opened: try again".into();
            return Err(EngineError::Guarded { path: path.to_owned(), reason });
        }
        let size = device::size_of(&opened).map_err(failed)?;
        Ok((opened, size))
    }

    /// Makes a file of the user's that must not exist yet. This run may write to it from now on.
    ///
    /// # Errors
    /// It exists, or can't be made.
    pub(crate) fn make(&mut self, path: &Path) -> Result<File, EngineError> {
        let failed = |source| EngineError::File { action: "make", path: path.to_owned(), source };
        let file = file::create_to_stay(path).map_err(|error| {
            let directory = path.parent().filter(|directory| *directory != Path::new(""));
            match directory.filter(|directory| !directory.is_dir()) {
                Some(directory) => {
                    let text = format!("there is no directory {}, make it first", directory.display());
                    failed(io::Error::new(error.kind(), text))
                }
                None => failed(error),
            }
        })?;
        let claim = file.try_clone().map_err(failed)?;
        // Nobody else can know of it yet; where there are no locks, there is none.
        let _ = claim.try_lock();
        let identity = identity(&claim).map_err(failed)?;
        self.made.insert(identity);
        self.claims.insert(identity, claim);
        Ok(file)
    }

    /// Whether this run has made what is described by these.
    pub(crate) fn has_made(&self, metadata: &Metadata) -> bool {
        self.made.contains(&identity_of(metadata))
    }

    /// Lets go of files that are removed, whose space would be taken as long as they are open.
    pub(crate) fn forget_removed(&mut self) {
        self.claims.retain(|_, file| file.metadata().map_or(true, |metadata| metadata.nlink() > 0));
        self.made.retain(|identity| self.claims.contains_key(identity));
    }

    /// Makes sure that a target may be written to.
    ///
    /// # Errors
    /// It may not.
    pub(crate) fn admit(&mut self, path: &Path, overwrite: Overwrite) -> Result<(), EngineError> {
        let failed = |source| EngineError::File { action: "open", path: path.to_owned(), source };
        let guarded = |reason: String| Err(EngineError::Guarded { path: path.to_owned(), reason });
        let access = Access { write: true, ..Access::default() };
        // Asked before it is claimed, because a claim fails where it is in use, without a reason.
        let looked =
            device::open_existing(path, Access { write: false, ..access }, false).map_err(failed)?.file;
        let found = identity(&looked).map_err(failed)?;
        if self.made.contains(&found) {
            return Ok(());
        }
        if overwrite == Overwrite::Never {
            return guarded("say with `overwrite` what may be destroyed (blank, anything)".into());
        }
        if self.claims.contains_key(&found) {
            return Ok(());
        }
        if device::is_endless(&looked).map_err(failed)? {
            // There is nothing to lose, nor anything that others could take for their own.
            self.claims.insert(found, looked);
            return Ok(());
        }
        let reasons = match device::device_number(&looked).map_err(failed)? {
            Some(number) => device::in_use(number),
            None => device::file_in_use(&looked),
        }
        .map_err(failed)?;
        if !reasons.is_empty() {
            return guarded(format!("it is in use ({}); free it first", reasons.join("; ")));
        }
        let claim = match device::open_existing(path, access, true) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                return guarded("another program holds it; end that first".into());
            }
            other => other.map_err(failed)?.file,
        };
        if identity(&claim).map_err(failed)? != found {
            return guarded("something else has taken its place while it was opened: try again".into());
        }
        // Ours for the run's life: two runs on one file would take each other's data for damage.
        if let Err(std::fs::TryLockError::WouldBlock) = claim.try_lock() {
            return guarded("another program has locked it; end that first".into());
        }
        if overwrite == Overwrite::Blank
            && let Some(offset) = first_data(&claim).map_err(failed)?
        {
            return guarded(format!(
                "it is not blank, there is data at byte {offset}: wipe it yourself, or say `overwrite = \"anything\"`"
            ));
        }
        self.claims.insert(found, claim);
        Ok(())
    }
}

/// The first byte within the edges of a target that is not zero.
fn first_data(file: &File) -> io::Result<Option<u64>> {
    let size = device::size_of(file)?;
    let mut buffer = vec![0; Bytes::MIB.0 as usize];
    for start in [0, size.saturating_sub(EDGE)] {
        let length = usize::try_from((size - start).min(EDGE)).unwrap_or(buffer.len());
        file.read_exact_at(&mut buffer[..length], start)?;
        if let Some(index) = buffer[..length].iter().position(|byte| *byte != 0) {
            return Ok(Some(start + index as u64));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn try_open(path: &Path, overwrite: Overwrite, write: bool) -> Result<u64, String> {
        let access = Access { write, ..Access::default() };
        let opened = Admitted::default().open(path, overwrite, access);
        opened.map(|(_, size)| size).map_err(|error| error.to_string())
    }

    #[test]
    fn only_what_was_given_away_is_written_to() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("precious");
        for (length, at) in [(10u64, 3u64), (5 << 20, 0), (5 << 20, (5 << 20) - 1)] {
            let file = File::create(&path).unwrap();
            file.set_len(length).unwrap();
            assert_eq!(try_open(&path, Overwrite::Blank, true), Ok(length));
            file.write_all_at(b"x", at).unwrap();
            let error = try_open(&path, Overwrite::Blank, true).unwrap_err();
            assert!(error.contains(&format!("data at byte {at}")), "{error}");
            let error = try_open(&path, Overwrite::Never, true).unwrap_err();
            assert!(error.contains("overwrite"), "{error}");
            assert_eq!(try_open(&path, Overwrite::Anything, true), Ok(length));
            assert_eq!(try_open(&path, Overwrite::Never, false), Ok(length));
        }
    }

    #[test]
    fn what_a_run_has_written_itself_stays_admitted() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        File::create(&path).unwrap().set_len(8192).unwrap();
        let mut admitted = Admitted::default();
        let access = Access { write: true, ..Access::default() };
        let (file, _) = admitted.open(&path, Overwrite::Blank, access).unwrap();
        file.write_all_at(b"x", 0).unwrap();
        assert!(admitted.open(&path, Overwrite::Blank, access).is_ok());
        assert!(admitted.open(&path, Overwrite::Never, access).is_err(), "the second is not to write");
    }

    #[test]
    fn another_file_under_an_admitted_name_is_another_file() {
        let dir = tempfile::tempdir().unwrap();
        let (path, precious) = (dir.path().join("file"), dir.path().join("precious"));
        File::create(&path).unwrap().set_len(8192).unwrap();
        std::fs::write(&precious, "precious").unwrap();
        let mut admitted = Admitted::default();
        let access = Access { write: true, ..Access::default() };
        admitted.open(&path, Overwrite::Blank, access).unwrap();
        std::fs::rename(&precious, &path).unwrap();
        let error = admitted.open(&path, Overwrite::Blank, access).unwrap_err().to_string();
        assert!(error.contains("not blank"), "{error}");
    }

    #[test]
    fn what_a_run_has_made_is_its_own_until_it_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let mut admitted = Admitted::default();
        let access = Access { write: true, ..Access::default() };
        admitted.make(&path).unwrap().write_all_at(b"x", 0).unwrap();
        assert!(admitted.open(&path, Overwrite::Never, access).is_ok());
        let error = admitted.make(&path).unwrap_err().to_string();
        assert!(error.contains("remove it yourself"), "{error}");
        admitted.forget_removed();
        assert_eq!((admitted.claims.len(), admitted.made.len()), (1, 1));
        std::fs::remove_file(&path).unwrap();
        admitted.forget_removed();
        assert_eq!((admitted.claims.len(), admitted.made.len()), (0, 0));
        let error = admitted.make(&dir.path().join("none/file")).unwrap_err().to_string();
        assert!(error.contains("none, make it first"), "{error}");
    }

    #[test]
    fn devices_without_an_end_are_anybodys() {
        let mut admitted = [Admitted::default(), Admitted::default()];
        for path in ["/dev/null", "/dev/zero"] {
            for admitted in &mut admitted {
                let access = Access { write: true, ..Access::default() };
                let (_, size) = admitted.open(Path::new(path), Overwrite::Anything, access).unwrap();
                assert_eq!(size, i64::MAX as u64);
            }
        }
    }

    #[test]
    fn what_is_no_target_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        assert!(try_open(dir.path(), Overwrite::Anything, true).is_err());
        assert!(try_open(Path::new("/dev/tty"), Overwrite::Anything, true).is_err());
        assert!(try_open(Path::new("/dev/null"), Overwrite::Never, true).is_err());
        let error = try_open(&dir.path().join("none"), Overwrite::Anything, true).unwrap_err();
        assert!(error.contains("check the path"), "{error}");
    }
}
