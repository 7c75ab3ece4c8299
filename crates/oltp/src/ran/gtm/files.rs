//! The files of a database, and the catalogue that lists them.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use iolite_model::Bytes;

use super::BLOCK;
use iolite_db::{Error, Result};

pub(super) use iolite_db::gtm::DIRECTORY;
use iolite_db::gtm::record::RECORD;
/// The blocks to read.
pub(super) const READ: &str = "iolite-read.dat";
/// The globals to write.
pub(super) const WRITE: &str = "iolite-write.dat";
/// Their journal.
pub(super) const JOURNAL: &str = "iolite-write.mjl";
/// Our routine, and what GT.M compiles it to.
pub(super) const ROUTINE: &str = "iolite.m";
pub(super) const OBJECT: &str = "iolite.o";
pub(super) const CATALOGUE: &str = "iolite-gtm.catalogue";

/// What a subscript takes in its block, on the average: 75 bytes and the key, and its share of what stays free.
const NODE_BYTES: u64 = 121;

/// About what a global of so many subscripts takes.
pub(super) fn global_size(subscripts: u64) -> Bytes {
    Bytes(subscripts.saturating_mul(NODE_BYTES))
}
const MADE: [&str; 7] = [DIRECTORY, READ, WRITE, JOURNAL, ROUTINE, OBJECT, RECORD];
/// The catalogue's first line.
const MARK: &str = "iolite GT.M database, version 1";

/// What is there, as recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Catalogue {
    /// Blocks to read; `None` until all of them are there.
    pub(super) blocks: Option<u64>,
    /// Subscripts of each global.
    pub(super) globals: Vec<u64>,
    /// Globals, from 1, that something may be left of.
    pub(super) making: Option<(u32, u32)>,
    /// Whether the files are opened past the page cache.
    pub(super) direct: bool,
    /// Size of a block to read.
    pub(super) block: u64,
}

impl Default for Catalogue {
    fn default() -> Catalogue {
        Catalogue { blocks: None, globals: Vec::new(), making: None, direct: false, block: BLOCK }
    }
}

impl Catalogue {
    /// The catalogue in `directory`; `None` where there is none.
    pub(super) fn read(directory: &Path) -> Result<Option<Catalogue>> {
        let path = directory.join(CATALOGUE);
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) if error.kind() == ErrorKind::NotADirectory => return Ok(None),
            read => read.map_err(|e| Error::io("read", &path, e))?,
        };
        Catalogue::parse(&text).map(Some).ok_or(Error::Foreign { path })
    }

    /// Writes the first catalogue of `directory`, before anything else is made there.
    pub(super) fn create(directory: &Path) -> Result<()> {
        let path = directory.join(CATALOGUE);
        let made = OpenOptions::new().write(true).create_new(true).open(&path);
        let mut file = made.map_err(|e| Error::io("create", &path, e))?;
        let text = Catalogue::default().text();
        file.write_all(text.as_bytes())
            .and_then(|()| file.sync_all())
            .map_err(|e| Error::io("write", &path, e))?;
        sync(directory)
    }

    /// Replaces the catalogue at once: a crash leaves the old one or the new one.
    pub(super) fn write(&self, directory: &Path) -> Result<()> {
        let (path, new) = (directory.join(CATALOGUE), directory.join(format!("{CATALOGUE}.new")));
        let written = File::create(&new).and_then(|mut file| {
            file.write_all(self.text().as_bytes())?;
            file.sync_all()
        });
        written.and_then(|()| fs::rename(&new, &path)).map_err(|e| Error::io("write", &path, e))?;
        sync(directory)
    }

    fn text(&self) -> String {
        let mut text = format!("{MARK}\n");
        MADE.iter().for_each(|name| text += &format!("file {name}\n"));
        if let Some((first, last)) = self.making {
            text += &format!("making {first} {last}\n");
        }
        for (index, subscripts) in self.globals.iter().enumerate() {
            text += &format!("global {} {subscripts}\n", index + 1);
        }
        text += &format!("direct {}\nblock {}\n", self.direct, self.block);
        if let Some(blocks) = self.blocks {
            text += &format!("blocks {blocks}\n");
        }
        text
    }

    fn parse(text: &str) -> Option<Catalogue> {
        let mut lines = text.lines();
        let mut catalogue = Catalogue::default();
        if lines.next()? != MARK {
            return None;
        }
        for line in lines {
            let mut words = line.split(' ');
            match (words.next()?, words.next()?, words.next()) {
                ("file", _, None) => {}
                ("blocks", blocks, None) => catalogue.blocks = Some(blocks.parse().ok()?),
                ("block", block, None) => catalogue.block = block.parse().ok()?,
                ("direct", direct, None) => catalogue.direct = direct.parse().ok()?,
                ("making", first, Some(last)) => {
                    catalogue.making = Some((first.parse().ok()?, last.parse().ok()?));
                }
                ("global", number, Some(subscripts)) => {
                    catalogue.globals.push(subscripts.parse().ok()?);
                    (number.parse() == Ok(catalogue.globals.len())).then_some(())?;
                }
                _ => return None,
            }
        }
        Some(catalogue)
    }
}

/// Whatever in the directory has the name of a file of ours, the catalogue last.
pub(super) fn existing(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut found = generations(directory)?;
    let (names, new) = (MADE.iter().copied(), format!("{CATALOGUE}.new"));
    let names = names.chain([new.as_str(), CATALOGUE]);
    found.extend(names.map(|name| directory.join(name)).filter(|path| fs::symlink_metadata(path).is_ok()));
    Ok(found)
}

/// Journals that GT.M has set aside: it appends to their names the time at which it did.
pub(super) fn generations(directory: &Path) -> Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(directory) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        entries => entries.map_err(|e| Error::io("read", directory, e))?,
    };
    let old = |name: &str| {
        let time = name.strip_prefix(JOURNAL).and_then(|rest| rest.strip_prefix('_'));
        // A second one within the same second gets _0, _1...
        time.is_some_and(|time| !time.is_empty() && time.bytes().all(|b| b.is_ascii_digit() || b == b'_'))
    };
    let named = |entry: &fs::DirEntry| entry.file_name().to_str().is_some_and(old);
    Ok(entries.flatten().filter(named).map(|entry| entry.path()).collect())
}

/// Removes files; what is gone already is no error.
pub(super) fn remove(paths: &[PathBuf]) -> Result<()> {
    for path in paths {
        match fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(Error::io("remove", path, error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Has the directory's entries on stable storage.
pub(super) fn sync(directory: &Path) -> Result<()> {
    File::open(directory)
        .and_then(|directory| directory.sync_all())
        .map_err(|e| Error::io("sync", directory, e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_catalogue_is_read_as_it_was_written() {
        let full = Catalogue {
            blocks: Some(7),
            globals: vec![10, 20],
            making: Some((3, 4)),
            direct: true,
            block: 32_768,
        };
        for catalogue in [Catalogue::default(), full] {
            assert_eq!(Catalogue::parse(&catalogue.text()), Some(catalogue));
        }
    }

    #[test]
    fn what_is_no_catalogue_is_refused() {
        for text in ["", "x", &format!("{MARK}\nglobal 2 5\n"), &format!("{MARK}\nblocks many\n")] {
            assert_eq!(Catalogue::parse(text), None, "{text}");
        }
    }

    #[test]
    fn only_journals_set_aside_are_generations() {
        let directory = tempfile::tempdir().unwrap();
        let names = ["iolite-write.mjl_2026325223355", "iolite-write.mjl_2026325223355_0"];
        let others =
            ["iolite-write.mjl", "iolite-write.mjl_old", "iolite-write.mjl_", "other.mjl_2026325223355"];
        for name in names.iter().chain(&others) {
            fs::write(directory.path().join(name), "").unwrap();
        }
        let mut found = generations(directory.path()).unwrap();
        found.sort();
        assert_eq!(found, names.map(|name| directory.path().join(name)));
    }
}
