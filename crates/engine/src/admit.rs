//! The guard of what exists already: nothing is written to that the user has not allowed to be overwritten, or that is in use.
//!
//! A target is admitted once a run. A device stays claimed (O_EXCL) as long as the run lives, so that nobody mounts it meanwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use iolite_model::Overwrite;
use iolite_sys::file::{self, Access};
use iolite_sys::{device, holders, pseudo, signature};

use crate::blank;
use crate::error::EngineError;
use crate::neighbours::Neighbours;
use crate::renewal::Renewed;

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

/// Devices with data on them (a file system, a partition table, ...) that a run may overwrite.
#[derive(Debug, Clone)]
pub enum Overwriting {
    /// None but these.
    Named(Vec<NamedDevice>),
    /// Whatever the tasks name, as with fio.
    Anything,
}

/// A block device that the user allows to be overwritten, as it was when the run began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedDevice {
    number: device::Number,
    serial: Option<String>,
}

impl NamedDevice {
    /// The device at a path, wherever links lead.
    ///
    /// # Errors
    /// There is none, or it is not a block device.
    pub fn at(path: &Path) -> io::Result<NamedDevice> {
        let found = device::open_existing(path, Access::default(), false)?;
        let number = found.device.ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::InvalidInput,
                "it is not a block device: only devices need this option",
            )
        })?;
        Ok(NamedDevice { number, serial: device::serial(number) })
    }
}

impl Default for Overwriting {
    fn default() -> Overwriting {
        Overwriting::Named(Vec::new())
    }
}

/// What a block device holds, by its signature; `None` where that is nothing known, or it is not a device that can be read.
pub fn contents(path: &Path) -> Option<String> {
    let found = device::open_existing(path, Access::default(), false).ok()?;
    let number = found.device?;
    let own = signature::find(&found.file, device::size_of(&found.file).ok()?).ok()?;
    own.map(str::to_owned).or_else(|| device::partition_contents(number))
}

impl Overwriting {
    fn allows(&self, number: device::Number) -> bool {
        match self {
            Overwriting::Anything => true,
            // A number may be another disk's by now: its serial number must be the same, too.
            Overwriting::Named(devices) => {
                let found = NamedDevice { number, serial: device::serial(number) };
                devices.contains(&found)
            }
        }
    }
}

/// The targets that a run may write to.
#[derive(Debug, Default)]
pub(crate) struct Admitted {
    /// By what they are, whatever they are called: held open.
    claims: BTreeMap<Identity, File>,
    /// Those of them that this run has created.
    made: BTreeSet<Identity>,
    /// Files of the set of tasks that is being prepared whose data is on the device: a thousand tasks with one file sync it once. Nothing
    /// is written to it meanwhile but what is laid out, which is synced.
    on_device: BTreeSet<Identity>,
    /// Files that workers create in place of others.
    renewed: Vec<Renewed>,
    /// Which devices with data on them may be overwritten.
    pub(crate) overwriting: Overwriting,
    /// Files that this program itself has in use: no target.
    pub(crate) reserved: Vec<PathBuf>,
    /// Targets that a process may use which could not be examined, not reported yet.
    pub(crate) unexamined: BTreeSet<PathBuf>,
    neighbours: Option<Neighbours>,
}

impl Admitted {
    /// Opens a target, having made sure that it may be written to where `access` asks for that. Returns its whole size.
    ///
    /// # Errors
    /// It can't be opened, or may not be written to.
    pub(crate) fn open(
        &mut self,
        path: &Path,
        overwrite: Overwrite,
        access: Access,
    ) -> Result<(File, u64), EngineError> {
        let failed = |source| EngineError::opening(path, access, source);
        if access.write {
            self.admit(path, overwrite)?;
        } else {
            self.is_not_reserved(path)?;
            storage_only(path)?;
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
        let failed = |source| EngineError::File { action: "create", path: path.to_owned(), source };
        self.is_not_reserved(path)?;
        if let Some(reason) = path.parent().and_then(pseudo::reason_of_directory) {
            return Err(EngineError::Guarded { path: path.to_owned(), reason });
        }
        let file = file::create_to_stay(path).map_err(|error| {
            let directory = path.parent().filter(|directory| *directory != Path::new(""));
            match directory.filter(|directory| !directory.is_dir()) {
                Some(directory) => {
                    let text = format!("there is no directory {}, create it first", directory.display());
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

    /// Makes sure that a target is none of the files that this program itself has in use, by any name.
    ///
    /// # Errors
    /// It is one of them.
    fn is_not_reserved(&self, path: &Path) -> Result<(), EngineError> {
        // Not opened: closing a descriptor of a database takes the locks of the whole process with it.
        let identity = |path: &Path| path.metadata().ok().map(|metadata| identity_of(&metadata));
        let (found, place) = (identity(path), place_of(path));
        // What is not there yet may be created by this program at any time.
        let is_it = |own: &PathBuf| place.as_ref() == Some(own) || found.is_some() && found == identity(own);
        if self.reserved.iter().any(is_it) {
            let reason = "it belongs to the results database of this run: name another file".into();
            return Err(EngineError::Guarded { path: path.to_owned(), reason });
        }
        Ok(())
    }

    /// Whether this run has created what is described by these.
    pub(crate) fn has_created(&self, metadata: &Metadata) -> bool {
        self.made.contains(&identity_of(metadata))
    }

    /// A phase begins whose workers may create its files again: they are this run's as well.
    pub(crate) fn expect(&mut self, renewed: Renewed) {
        self.renewed.push(renewed);
    }

    /// Notes that the data of a file is on its device until the next set of tasks is prepared, since the caller syncs it. Returns
    /// whether it was noted before: then there is nothing to sync.
    pub(crate) fn note_on_device(&mut self, file: &File) -> bool {
        identity(file).is_ok_and(|identity| !self.on_device.insert(identity))
    }

    /// A set of tasks is going to be prepared. Lets go of files that are removed, whose space would be taken as long as they are open, and takes on those that workers have
    /// created in their place.
    pub(crate) fn begin_set(&mut self) {
        self.on_device.clear();
        for files in std::mem::take(&mut self.renewed).iter().filter_map(Renewed::files) {
            for span in files.spans() {
                if let (Ok(file), Ok(identity)) = (span.file.try_clone(), identity(&span.file)) {
                    self.made.insert(identity);
                    self.claims.insert(identity, file);
                }
            }
        }
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
        self.is_not_reserved(path)?;
        storage_only(path)?;
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
        let number = device::device_number(&looked).map_err(failed)?;
        let reasons = match number {
            Some(number) => device::in_use(number),
            None => device::file_in_use(&looked),
        }
        .map_err(failed)?;
        if !reasons.is_empty() {
            return guarded(format!("it is in use ({}); free it first", reasons.join("; ")));
        }
        if number.is_none()
            && let Some(holder) = holders::opened_by(&looked)
        {
            return guarded(format!("{holder} has it open; end that first"));
        }
        if number.is_none()
            && let Some(server) = self.neighbours().servers.above(path)
        {
            return guarded(format!("it belongs to a database server that runs, {server}; stop that first"));
        }
        if number.is_none()
            && let Some(reason) = self.neighbours().used_by_another_name(path).map_err(failed)?
        {
            return guarded(reason);
        }
        let everybody_is_seen = holders::everybody_is_seen(&looked);
        drop(looked);
        let claim = self.claim(path, access, number)?;
        if identity(&claim).map_err(failed)? != found {
            return guarded("something else has taken its place while it was opened: try again".into());
        }
        self.may_be_overwritten(path, &claim, number, overwrite)?;
        if !everybody_is_seen {
            self.unexamined.insert(path.to_owned());
        }
        self.claims.insert(found, claim);
        Ok(())
    }

    /// Makes sure that a file may be removed or filled by its name, without keeping it open: as long as it is, removing it would free
    /// no space.
    ///
    /// # Errors
    /// It may not.
    pub(crate) fn check(&mut self, path: &Path, overwrite: Overwrite) -> Result<(), EngineError> {
        let failed = |source| EngineError::File { action: "examine", path: path.to_owned(), source };
        let found = identity_of(&path.metadata().map_err(failed)?);
        let is_claimed = self.claims.contains_key(&found);
        self.admit(path, overwrite)?;
        if !is_claimed {
            self.claims.remove(&found);
        }
        Ok(())
    }

    /// Those who may use files under other names, looked for again from time to time.
    fn neighbours(&mut self) -> &Neighbours {
        let current = self.neighbours.take().filter(Neighbours::are_current);
        self.neighbours.insert(current.unwrap_or_else(Neighbours::now))
    }

    /// Opens a target for the run's life, refused where somebody else uses it.
    fn claim(
        &self,
        path: &Path,
        access: Access,
        number: Option<device::Number>,
    ) -> Result<File, EngineError> {
        let guarded = |reason: String| Err(EngineError::Guarded { path: path.to_owned(), reason });
        let claim = match device::open_existing(path, access, true) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                return guarded("another program holds it; end that first".into());
            }
            other => {
                other
                    .map_err(|source| EngineError::File { action: "open", path: path.to_owned(), source })?
                    .file
            }
        };
        if let Some(holder) = holders::locked_by(&claim) {
            return guarded(format!("{holder} has locked it; end that first"));
        }
        if let Some(number) = number
            && let Some(holder) =
                holders::devices_opened_by(&device::related(number), device::file_beneath(number))
        {
            return guarded(format!("{holder} has it, or a device of the same data, open; end that first"));
        }
        // Ours for the run's life: two runs on one file would take each other's data for damage.
        if let Err(std::fs::TryLockError::WouldBlock) = claim.try_lock() {
            return guarded("another program has locked it; end that first".into());
        }
        Ok(claim)
    }

    /// Makes sure that what a target holds may be destroyed.
    fn may_be_overwritten(
        &self,
        path: &Path,
        claim: &File,
        number: Option<device::Number>,
        overwrite: Overwrite,
    ) -> Result<(), EngineError> {
        let failed = |source| EngineError::File { action: "read", path: path.to_owned(), source };
        let guarded = |reason: String| Err(EngineError::Guarded { path: path.to_owned(), reason });
        let size = device::size_of(claim).map_err(failed)?;
        let holds = match number {
            Some(number) => {
                let own = signature::find(claim, size).map_err(failed)?;
                own.map(str::to_owned).or_else(|| device::partition_contents(number))
            }
            None => None,
        };
        if overwrite == Overwrite::Blank {
            if let Some(what) = &holds {
                return guarded(format!(
                    "it is not blank, it holds {what}: wipe it yourself (wipefs), or say `overwrite = \"anything\"`"
                ));
            }
            if let Some(offset) = blank::first_data(claim, size, number.is_some()).map_err(failed)? {
                return guarded(format!(
                    "it is not blank, there is data at byte {offset}: wipe it yourself, or say `overwrite = \"anything\"`"
                ));
            }
        }
        if let (Some(what), Some(number)) = (holds, number)
            && !self.overwriting.allows(number)
        {
            return guarded(format!(
                "it holds {what}: allow overwriting it with `--allow-overwrite {}`, or name another device",
                path.display()
            ));
        }
        Ok(())
    }
}

/// A path without links in its directory, whether something is there or not.
fn place_of(path: &Path) -> Option<PathBuf> {
    let directory = path.parent().filter(|directory| *directory != Path::new("")).unwrap_or(Path::new("."));
    Some(directory.canonicalize().ok()?.join(path.file_name()?))
}

/// Makes sure that what is at a path is storage, not a setting of the kernel.
///
/// # Errors
/// It is none; what cannot be examined is not reported here: opening it will fail.
pub(crate) fn storage_only(path: &Path) -> Result<(), EngineError> {
    // Not opened: a file of the kernel's may be one that can only be written to.
    let Ok(found) = device::look_at(path) else { return Ok(()) };
    let is_file = found.metadata().is_ok_and(|metadata| metadata.is_file());
    match pseudo::reason(&found) {
        Ok(Some(reason)) if is_file => Err(EngineError::Guarded { path: path.to_owned(), reason }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    fn try_open(path: &Path, overwrite: Overwrite, write: bool) -> Result<u64, String> {
        let access = Access { write, ..Access::default() };
        let opened = Admitted::default().open(path, overwrite, access);
        opened.map(|(_, size)| size).map_err(|error| error.to_string())
    }

    #[test]
    fn only_what_was_allowed_to_be_overwritten_is_written_to() {
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
    fn what_the_program_itself_uses_is_no_target_by_any_name() {
        let dir = tempfile::tempdir().unwrap();
        let (path, link) = (dir.path().join("results.db-wal"), dir.path().join("link"));
        std::fs::write(&path, "commits").unwrap();
        std::fs::hard_link(&path, &link).unwrap();
        let missing = dir.path().canonicalize().unwrap().join("missing");
        let reserved = vec![missing.clone(), path.clone()];
        let mut admitted = Admitted { reserved, ..Admitted::default() };
        for path in [&path, &link] {
            for write in [false, true] {
                let access = Access { write, ..Access::default() };
                let error = admitted.open(path, Overwrite::Anything, access).unwrap_err().to_string();
                assert!(error.contains("results database of this run"), "{error}");
            }
            assert!(admitted.check(path, Overwrite::Anything).is_err());
        }
        assert_eq!(std::fs::read(&path).unwrap(), b"commits");
        assert!(admitted.make(&dir.path().join("missing")).is_err() && !missing.exists());
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
        assert_eq!(std::fs::read(&path).unwrap(), b"precious");
    }

    #[test]
    fn what_a_run_has_created_is_its_own_until_it_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let mut admitted = Admitted::default();
        let access = Access { write: true, ..Access::default() };
        admitted.make(&path).unwrap().write_all_at(b"x", 0).unwrap();
        assert!(admitted.open(&path, Overwrite::Never, access).is_ok());
        let error = admitted.make(&path).unwrap_err().to_string();
        assert!(error.contains("remove it yourself"), "{error}");
        admitted.begin_set();
        assert_eq!((admitted.claims.len(), admitted.made.len()), (1, 1));
        std::fs::remove_file(&path).unwrap();
        admitted.begin_set();
        assert_eq!((admitted.claims.len(), admitted.made.len()), (0, 0));
        let error = admitted.make(&dir.path().join("none/file")).unwrap_err().to_string();
        assert!(error.contains("none, create it first"), "{error}");
    }

    #[test]
    fn a_file_is_synced_once_for_each_set_of_tasks() {
        let dir = tempfile::tempdir().unwrap();
        let [one, other] = ["one", "other"].map(|name| File::create(dir.path().join(name)).unwrap());
        let again = File::open(dir.path().join("one")).unwrap();
        let mut admitted = Admitted::default();
        assert_eq!(
            [&one, &again, &other, &other].map(|file| admitted.note_on_device(file)),
            [false, true, false, true]
        );
        admitted.begin_set();
        assert!(!admitted.note_on_device(&again));
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
