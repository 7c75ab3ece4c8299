//! What was written, kept in a file so that it can be verified at another time.
//!
//! A line that names the format, a line of JSON ([`Head`]), then for each worker its units' numbers, four bytes each, least
//! significant byte first, then the CRC-32C of all that. Written under another name and renamed, so that a state is whole
//! or not there.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use iolite_model::FileTask;
use serde::{Deserialize, Serialize};

use crate::error::EngineError;
use crate::verify::written::Written;

/// First line of a state file.
const FORMAT: &[u8] = b"iolite verification state 1\n";

/// What was written by a phase.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct State {
    /// The task, with the target as it was opened.
    pub(crate) task: FileTask,
    /// Number of the run in all headers.
    pub(crate) run: u64,
    /// By worker.
    pub(crate) written: Vec<Written>,
}

/// The JSON line.
#[derive(Serialize, Deserialize)]
struct Head {
    task: FileTask,
    run: u64,
    parts: Vec<Part>,
}

#[derive(Serialize, Deserialize)]
struct Part {
    worker: u32,
    first: u64,
    unit: u32,
    writes: u64,
    units: u64,
}

impl State {
    /// Writes the state to a file that does not exist yet, durably.
    ///
    /// # Errors
    /// It exists, or can't be written.
    pub(crate) fn save(&self, path: &Path) -> Result<(), EngineError> {
        let part = State::can_be_saved(path)?;
        let linked = self.write(&part).and_then(|()| std::fs::hard_link(&part, path));
        let _ = std::fs::remove_file(&part);
        // The name has to survive what the state is for.
        let directory = path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
        let synced = linked.and_then(|()| File::open(directory)?.sync_all());
        synced.map_err(|source| EngineError::State { action: "write", path: path.to_owned(), source })
    }

    /// Makes sure, as far as that can be known, that a state can be saved under a path; returns the name of its beginnings.
    pub(crate) fn can_be_saved(path: &Path) -> Result<PathBuf, EngineError> {
        let failed = |source| EngineError::State { action: "write", path: path.to_owned(), source };
        if path.symlink_metadata().is_ok() {
            return Err(failed(io::Error::from(io::ErrorKind::AlreadyExists)));
        }
        let mut name = path.as_os_str().to_owned();
        name.push(".part");
        let part = PathBuf::from(name);
        iolite_sys::file::create_new(&part, false).map_err(failed)?;
        std::fs::remove_file(&part).map_err(failed)?;
        Ok(part)
    }

    fn write(&self, path: &Path) -> io::Result<()> {
        let parts = self.written.iter().map(|written| Part {
            worker: written.worker,
            first: written.first,
            unit: written.unit,
            writes: written.writes,
            units: written.units.len() as u64,
        });
        let head = Head { task: self.task.clone(), run: self.run, parts: parts.collect() };
        let mut out = Summed { file: BufWriter::new(iolite_sys::file::create_new(path, false)?), crc: 0 };
        out.put(FORMAT)?;
        out.put(&serde_json::to_vec(&head)?)?;
        out.put(b"\n")?;
        for unit in self.written.iter().flat_map(|written| &written.units) {
            out.put(&unit.to_le_bytes())?;
        }
        let Summed { mut file, crc } = out;
        file.write_all(&crc.to_le_bytes())?;
        file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
    }

    /// Reads a state back.
    ///
    /// # Errors
    /// It can't be read, or is not whole.
    pub(crate) fn load(path: &Path) -> Result<State, EngineError> {
        let failed = |source| EngineError::State { action: "read", path: path.to_owned(), source };
        let mut bytes = Vec::new();
        File::open(path).and_then(|mut file| file.read_to_end(&mut bytes)).map_err(failed)?;
        let broken =
            || failed(io::Error::new(io::ErrorKind::InvalidData, "it is no whole verification state"));
        State::parse(&bytes).ok_or_else(broken)
    }

    fn parse(bytes: &[u8]) -> Option<State> {
        let (content, crc) = bytes.split_last_chunk::<4>()?;
        if crc32c::crc32c(content) != u32::from_le_bytes(*crc) {
            return None;
        }
        let rest = content.strip_prefix(FORMAT)?;
        let line = rest.iter().position(|byte| *byte == b'\n')?;
        let head: Head = serde_json::from_slice(&rest[..line]).ok()?;
        let (mut units, odd) = rest[line + 1..].as_chunks::<4>();
        let mut written = Vec::with_capacity(head.parts.len());
        for part in head.parts {
            let (mine, others) = units.split_at_checked(usize::try_from(part.units).ok()?)?;
            units = others;
            written.push(Written {
                worker: part.worker,
                first: part.first,
                unit: Some(part.unit).filter(|unit| *unit > 0)?,
                writes: part.writes,
                units: mine.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect(),
            });
        }
        (units.is_empty() && odd.is_empty()).then_some(State { task: head.task, run: head.run, written })
    }
}

/// A file and the sum of what was written to it.
struct Summed {
    file: BufWriter<File>,
    crc: u32,
}

impl Summed {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.crc = crc32c::crc32c_append(self.crc, bytes);
        self.file.write_all(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> State {
        let mut written = Written::new(3, 4096..4096 * 9, 4096).unwrap();
        let number = written.next_number();
        written.wrote(8192, 4096, number);
        State {
            task: FileTask::default(),
            run: 77,
            written: vec![Written::new(0, 0..4096, 512).unwrap(), written],
        }
    }

    #[test]
    fn a_state_comes_back_as_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state");
        state().save(&path).unwrap();
        assert_eq!(State::load(&path).unwrap(), state());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
        let error = state().save(&path).unwrap_err().to_string();
        assert!(error.contains("exists"), "{error}");
    }

    #[test]
    fn a_damaged_state_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state");
        state().save(&path).unwrap();
        let whole = std::fs::read(&path).unwrap();
        for index in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[index] ^= 4;
            assert_eq!(State::parse(&damaged), None, "byte {index}");
            assert_eq!(State::parse(&whole[..index]), None, "cut at {index}");
        }
        assert!(State::load(&dir.path().join("none")).is_err());
    }
}
