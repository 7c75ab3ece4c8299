//! What a server has in its directories, by what it is: a file may have other names (hard links, a bind mount of a part of a directory).

use std::fs::{self, DirEntry};
use std::os::unix::fs::DirEntryExt;
use std::path::{Path, PathBuf};

use super::as_seen_by;
use crate::holders::{Backing, backing_of, held};

/// What one server has.
#[derive(Debug)]
pub(super) struct Survey {
    process: u32,
    /// Directories at any depth, files that it names, and what links lead to.
    places: Vec<Backing>,
    /// The directories again, by their paths.
    listed: Vec<PathBuf>,
    /// The numbers of the files in them, each with its place in `listed`, in order: a directory of 100,000 files takes no more calls than
    /// it takes to list it.
    files: Vec<(u64, u32)>,
}

impl Survey {
    /// Of nothing yet.
    pub(super) fn of(process: u32) -> Survey {
        Survey { process, places: Vec::new(), listed: Vec::new(), files: Vec::new() }
    }

    /// Adds a file, or what is in a directory, by a path that the server uses in `directory`.
    pub(super) fn add(&mut self, directory: &Path, path: &Path) {
        self.places.extend(held(&as_seen_by(self.process, directory, path)));
    }

    /// Adds what is in a directory at any depth, and where symbolic links in it lead to.
    pub(super) fn add_tree(&mut self, directory: &Path) {
        let mut left = vec![directory.to_owned()];
        while let Some(directory) = left.pop() {
            let place = self.listed.len() as u32;
            self.places.extend(held(&directory));
            for entry in entries(&directory) {
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() => left.push(entry.path()),
                    Ok(kind) if kind.is_symlink() => {
                        let target = fs::read_link(entry.path());
                        target.iter().for_each(|target| self.add(&directory, target));
                    }
                    _ => self.files.push((entry.ino(), place)),
                }
            }
            self.listed.push(directory);
        }
        self.files.sort_unstable();
    }

    /// The server's process, where it has the file at a path without links.
    pub(super) fn process_with(&self, path: &Path) -> Option<u32> {
        let backing = |at: &Path| Some(backing_of(&fs::metadata(at).ok()?));
        let is_known = |at: &Path| backing(at).is_some_and(|found| self.places.contains(&found));
        let is_its = path.ancestors().any(is_known) || self.lists(backing(path)?);
        is_its.then_some(self.process)
    }

    /// Whether a file is in one of the directories. Numbers are those of one file system, and another may have it, too.
    fn lists(&self, file: Backing) -> bool {
        let Backing::File(_, inode) = file else { return false };
        let first = self.files.partition_point(|(number, _)| *number < inode);
        let of_number = self.files[first..].iter().take_while(|(number, _)| *number == inode);
        let mut directories = of_number.map(|&(_, place)| &self.listed[place as usize]);
        directories
            .any(|at| entries(at).any(|entry| entry.ino() == inode && held(&entry.path()) == Some(file)))
    }
}

/// What a directory holds, as far as it can be read.
fn entries(directory: &Path) -> impl Iterator<Item = DirEntry> + use<> {
    fs::read_dir(directory).into_iter().flatten().flatten()
}

/// The paths of what a directory holds.
pub(super) fn paths(directory: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    entries(directory).map(|entry| entry.path())
}
