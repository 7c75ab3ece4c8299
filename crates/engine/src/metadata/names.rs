//! The name of the file whose turn it is.

use std::path::Path;

use iolite_model::MetadataTask;

use crate::guard::tree::Part;

/// Length of the directory's part of a path.
const DIRECTORY: usize = Part::Directory.length();

/// Length of a path.
const PATH: usize = DIRECTORY + 1 + Part::File.length();

/// The path of the file whose turn it is.
#[derive(Debug, Clone)]
pub(super) enum Names {
    /// In a tree, rewritten in place for each operation.
    Tree(TreeNames),
    /// Paths of the user's.
    Named {
        /// All of them.
        paths: Vec<String>,
        /// Whose turn it is.
        current: usize,
    },
}

/// A path relative to a worker's directory.
#[derive(Debug, Clone)]
pub(super) struct TreeNames {
    text: [u8; PATH],
    last: Part,
    files_per_directory: u64,
}

impl Names {
    /// The path of the task's first file, or directory where these are made.
    pub(super) fn new(task: &MetadataTask) -> Names {
        if !task.named.is_empty() {
            // validate() has seen to it that all are UTF-8.
            let paths = task.named.iter().map(|path| path.to_string_lossy().into_owned()).collect();
            return Names::Named { paths, current: 0 };
        }
        let last = if task.operation.is_of_directories() { Part::Subdirectory } else { Part::File };
        let files_per_directory = task.files_per_directory.max(1);
        let mut names = Names::Tree(TreeNames { text: [b'/'; PATH], last, files_per_directory });
        names.set(0);
        names
    }

    /// Makes it the path of this file: files are numbered through all directories of a worker.
    pub(super) fn set(&mut self, number: u64) {
        match self {
            Names::Tree(TreeNames { text, last, files_per_directory }) => {
                let (directory, rest) = text.split_at_mut(DIRECTORY);
                Part::Directory.write(number / *files_per_directory, directory);
                last.write(number, &mut rest[1..]);
            }
            Names::Named { paths, current } => {
                *current = (number as usize).min(paths.len().saturating_sub(1))
            }
        }
    }

    /// The path.
    pub(super) fn path(&self) -> &str {
        match self {
            // Letters, digits and a slash.
            Names::Tree(names) => str::from_utf8(&names.text).unwrap_or_default(),
            Names::Named { paths, current } => paths.get(*current).map_or("", String::as_str),
        }
    }

    /// The path of the directory that it is in.
    pub(super) fn directory(&self) -> &str {
        match self {
            Names::Tree(names) => str::from_utf8(&names.text[..DIRECTORY]).unwrap_or_default(),
            Names::Named { .. } => {
                let parent = Path::new(self.path()).parent().and_then(Path::to_str);
                parent.filter(|parent| !parent.is_empty()).unwrap_or(".")
            }
        }
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

    #[test]
    fn named_files_are_used_in_their_order() {
        let named = vec!["a".into(), "b/c".into(), "/d/e".into()];
        let mut names = Names::new(&MetadataTask { files: 3, named, ..MetadataTask::default() });
        let mut at = |number| {
            names.set(number);
            (names.path().to_owned(), names.directory().to_owned())
        };
        let expected = [("a", "."), ("b/c", "b"), ("/d/e", "/d")];
        assert_eq!(
            [0, 1, 2].map(&mut at),
            expected.map(|(path, directory)| (path.to_owned(), directory.to_owned()))
        );
    }
}
