//! The name of the file whose turn it is.

use iolite_model::MetadataTask;

use crate::guard::tree::Part;

/// Length of the directory's part of a path.
const DIRECTORY: usize = Part::Directory.length();

/// Length of a path.
const PATH: usize = DIRECTORY + 1 + Part::File.length();

/// A path relative to a worker's directory, rewritten in place for each operation.
#[derive(Debug, Clone)]
pub(super) struct Names {
    text: [u8; PATH],
    last: Part,
    files_per_directory: u64,
}

impl Names {
    /// The path of the task's first file, or directory where these are made.
    pub(super) fn new(task: &MetadataTask) -> Names {
        let last = if task.operation.is_of_directories() { Part::Subdirectory } else { Part::File };
        let files_per_directory = task.files_per_directory.max(1);
        let mut names = Names { text: [b'/'; PATH], last, files_per_directory };
        names.set(0);
        names
    }

    /// Makes it the path of this file: files are numbered through all directories of a worker.
    pub(super) fn set(&mut self, number: u64) {
        let (directory, rest) = self.text.split_at_mut(DIRECTORY);
        Part::Directory.write(number / self.files_per_directory, directory);
        self.last.write(number, &mut rest[1..]);
    }

    /// The path.
    pub(super) fn path(&self) -> &str {
        // Letters, digits and a slash.
        str::from_utf8(&self.text).unwrap_or_default()
    }

    /// The path of the directory that it is in.
    pub(super) fn directory(&self) -> &str {
        str::from_utf8(&self.text[..DIRECTORY]).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_fill_one_directory_after_the_other() {
        let mut task = MetadataTask { files_per_directory: 100, ..MetadataTask::default() };
        let mut names = Names::new(&task);
        assert_eq!((names.path(), names.directory()), ("d000000000/f000000000", "d000000000"));
        names.set(99);
        assert_eq!(names.path(), "d000000000/f000000099");
        names.set(999_999_999);
        assert_eq!((names.path(), names.directory()), ("d009999999/f999999999", "d009999999"));
        task.operation = iolite_model::MetadataOperation::Rmdir;
        task.files_per_directory = 1;
        names = Names::new(&task);
        names.set(12);
        assert_eq!(names.path(), "d000000012/s000000012");
    }
}
