//! Trees of many small files in a scratch directory: the names in them, and their removal.
//!
//! A tree is `TREE/wWORKER/dDIRECTORY/fFILE`, or with `sFILE` where directories are made instead of files. All numbers of a
//! kind are equally long. Because only such names are removed, a tree is one line of the owner file, however many files are
//! in it.

use iolite_sys::directory::Directory;

/// A part of a path in a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// The directory of a worker.
    Worker,
    /// A directory for files.
    Directory,
    /// A file.
    File,
    /// A directory in the place of a file.
    Subdirectory,
}

impl Part {
    /// Workers that a tree can be for.
    pub(crate) const WORKERS: u64 = 10_u64.pow(Part::Worker.digits() as u32);

    /// Files that a worker can have.
    pub(crate) const FILES: u64 = 10_u64.pow(Part::File.digits() as u32);

    const fn letter(self) -> u8 {
        match self {
            Part::Worker => b'w',
            Part::Directory => b'd',
            Part::File => b'f',
            Part::Subdirectory => b's',
        }
    }

    const fn digits(self) -> usize {
        match self {
            Part::Worker => 5,
            Part::Directory | Part::File | Part::Subdirectory => 9,
        }
    }

    /// Length of its names.
    pub(crate) const fn length(self) -> usize {
        1 + self.digits()
    }

    /// Writes the name with this number, of which the last digits are taken. `name` is as long as it.
    pub(crate) fn write(self, mut number: u64, name: &mut [u8]) {
        for place in name.iter_mut().rev() {
            *place = b'0' + (number % 10) as u8;
            number /= 10;
        }
        if let Some(first) = name.first_mut() {
            *first = self.letter();
        }
    }

    /// The name with this number.
    pub(crate) fn name(self, number: u64) -> String {
        format!("{}{number:0width$}", char::from(self.letter()), width = self.digits())
    }

    /// Whether a name is one of these.
    fn is(self, name: &str) -> bool {
        let digits = name.as_bytes().strip_prefix(&[self.letter()]);
        digits.is_some_and(|digits| digits.len() == self.digits() && digits.iter().all(u8::is_ascii_digit))
    }
}

/// What was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Removed {
    pub(super) files: usize,
    pub(super) bytes: u64,
}

/// Removes a tree from its scratch directory, as far as it is ours: what has other names than a tree's, lies behind a
/// link or on another file system stays, and with it the directories above.
pub(super) fn remove(scratch: &Directory, name: &str) -> Removed {
    let mut removed = Removed::default();
    if let Ok(device) = scratch.device() {
        let mut sweep = Sweep { device, removed: &mut removed };
        sweep.directory(scratch, name, &[Part::Worker, Part::Directory]);
    }
    removed
}

/// A removal in progress.
struct Sweep<'a> {
    device: u64,
    removed: &'a mut Removed,
}

impl Sweep<'_> {
    /// Removes a directory with what is ours in it: directories of the `levels` below, then files. Returns whether it is
    /// gone.
    fn directory(&mut self, parent: &Directory, name: &str, levels: &[Part]) -> bool {
        let Ok(directory) = parent.open_directory(name) else { return false };
        if directory.device().ok() != Some(self.device) {
            return false;
        }
        // A directory may leave names out when it shrinks while it is read: until there is nothing to remove any more.
        let mut any = true;
        while std::mem::take(&mut any) {
            let read = directory.for_each_name(|name| {
                any |= name.to_str().is_ok_and(|name| self.entry(&directory, name, levels));
            });
            if read.is_err() {
                break;
            }
        }
        parent.remove_directory(name).is_ok()
    }

    /// Removes what has this name, if it is ours; returns whether it is gone.
    fn entry(&mut self, directory: &Directory, name: &str, levels: &[Part]) -> bool {
        if let Some((level, below)) = levels.split_first() {
            return level.is(name) && self.directory(directory, name, below);
        }
        if Part::Subdirectory.is(name) {
            return directory.remove_directory(name).is_ok();
        }
        let bytes = if Part::File.is(name) { directory.remove_file(name).ok() } else { None };
        self.removed.files += usize::from(bytes.is_some());
        self.removed.bytes += bytes.unwrap_or(0);
        bytes.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn names_are_written_as_they_are_recognised() {
        for part in [Part::Worker, Part::Directory, Part::File, Part::Subdirectory] {
            for number in [0, 7, 99_999] {
                let mut name = vec![b'?'; part.length()];
                part.write(number, &mut name);
                assert_eq!(String::from_utf8(name).unwrap(), part.name(number));
                assert!(part.is(&part.name(number)));
            }
            for other in
                ["", "x", "f", "f1", "f00000000x", "f0000000000", "g000000000", "w000000", "F000000000"]
            {
                assert!(!part.is(other), "{part:?} {other}");
            }
        }
        assert_eq!((Part::Worker.name(12), Part::File.name(3)), ("w00012".into(), "f000000003".into()));
        assert_eq!((Part::WORKERS, Part::FILES), (100_000, 1_000_000_000));
    }

    #[test]
    fn only_what_is_ours_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let elsewhere = dir.path().join("elsewhere");
        fs::create_dir_all(elsewhere.join("d000000000")).unwrap();
        fs::write(elsewhere.join("d000000000/f000000000"), "mine").unwrap();
        let inner = dir.path().join("tree/w00000/d000000000");
        fs::create_dir_all(inner.join("s000000001/full")).unwrap();
        fs::create_dir_all(inner.join("f000000002")).unwrap();
        fs::create_dir_all(dir.path().join("tree/w00002/d000000000/s000000000")).unwrap();
        for name in ["f000000000", "f000000001", "f1", "notes"] {
            fs::write(inner.join(name), "x").unwrap();
        }
        symlink(elsewhere.join("d000000000/f000000000"), inner.join("f000000003")).unwrap();
        symlink(&elsewhere, dir.path().join("tree/w00001")).unwrap();
        symlink(elsewhere.join("d000000000"), dir.path().join("tree/w00000/d000000001")).unwrap();
        symlink(&elsewhere, dir.path().join("linked")).unwrap();

        let scratch = Directory::open(dir.path()).unwrap();
        assert_eq!(remove(&scratch, "linked").files, 0);
        // The link that has a file's name counts as one: it goes, not what it leads to.
        assert_eq!(remove(&scratch, "tree").files, 3);
        assert_eq!(fs::read_to_string(elsewhere.join("d000000000/f000000000")).unwrap(), "mine");
        let mut left: Vec<_> = Directory::open(&inner).unwrap().names().unwrap();
        left.sort();
        assert_eq!(left, ["f000000002", "f1", "notes", "s000000001"]);
        assert!(dir.path().join("tree/w00001").is_symlink());
        assert!(dir.path().join("tree/w00000/d000000001").is_symlink());
        assert!(!dir.path().join("tree/w00002").exists());
    }
}
