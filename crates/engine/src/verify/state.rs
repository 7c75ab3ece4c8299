//! What was written, kept in a file so that it can be verified at another time.
//!
//! Three lines of text: the name of the format, JSON ([`Head`]), and the CRC-32C of both in hexadecimal digits. Zeros up to a
//! multiple of [`BLOCK`]. A block that begins with eight bytes of zeros while the phase runs, and with [`CLOSED`] and the CRC-32C of
//! all the rest once it has ended. Then, for each worker and each of its units, an entry of eight bytes: what the unit holds, and
//! the number of a write in flight to it, or 0. Numbers are stored least significant byte first.
//!
//! The file is right at any instant: an entry is replaced as a whole, before a write is submitted and after it has come back.
//! After a power failure it may be older than the data, so that in a state that was not closed later writes count as right.

use std::fs::{File, TryLockError};
use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use iolite_model::FileTask;
use serde::{Deserialize, Serialize};

use crate::error::EngineError;
use crate::verify::written::Written;

/// First line of a state file.
const FORMAT: &[u8] = b"iolite verification state 2\n";

/// What the parts of a file are aligned to.
const BLOCK: usize = 4096;

/// In the first bytes of the second part of a state whose phase has ended.
const CLOSED: [u8; 4] = *b"done";

/// Bytes of an entry.
pub(crate) const ENTRY: u64 = 8;

/// An entry: what the unit holds, and the number of the write in flight to it.
pub(crate) fn entry(holds: u32, in_flight: u32) -> u64 {
    u64::from(holds) | (u64::from(in_flight) << 32)
}

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
    unit: u32,
    parts: Vec<Part>,
}

/// A worker's part of the target.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Part {
    first: u64,
    units: u64,
}

/// A state that is being kept.
#[derive(Debug)]
pub(crate) struct StateFile {
    path: PathBuf,
    file: Arc<File>,
    /// Where the second part begins.
    head: u64,
    parts: Vec<Part>,
}

/// Checks, as far as that can be known, that a state can be created under a path.
///
/// # Errors
/// Something of that name exists, or its directory can't be written to.
pub(crate) fn can_be_created(path: &Path) -> Result<(), EngineError> {
    let created = iolite_sys::file::create_new(path, false).and_then(|_| std::fs::remove_file(path));
    created.map_err(|source| failed("write", path, source))
}

pub(super) fn failed(action: &'static str, path: &Path, source: io::Error) -> EngineError {
    EngineError::State { action, path: path.to_owned(), source }
}

impl StateFile {
    /// Creates the file, durably, with nothing written yet by workers of these parts of the target.
    ///
    /// # Errors
    /// It exists, or can't be written.
    pub(crate) fn create(
        path: &Path,
        task: &FileTask,
        run: u64,
        unit: u32,
        parts: Vec<Range<u64>>,
    ) -> Result<StateFile, EngineError> {
        let part = |part: Range<u64>| Part {
            first: part.start,
            units: (part.end - part.start).div_ceil(u64::from(unit.max(1))),
        };
        let parts: Vec<Part> = parts.into_iter().map(part).collect();
        let head = Head { task: task.clone(), run, unit, parts };
        let created =
            iolite_sys::file::create_new(path, false).map_err(|source| failed("write", path, source))?;
        let file = StateFile::begin(path, created, &head);
        file.map_err(|source| {
            // It was created a moment ago, and says nothing.
            let _ = std::fs::remove_file(path);
            failed("write", path, source)
        })
    }

    fn begin(path: &Path, file: File, head: &Head) -> io::Result<StateFile> {
        // Whoever reads it meanwhile would find a phase at work.
        file.try_lock().map_err(io::Error::from)?;
        let mut text = FORMAT.to_vec();
        text.extend(serde_json::to_vec(head)?);
        text.push(b'\n');
        let crc = crc32c::crc32c(&text);
        text.extend(format!("{crc:08x}\n").into_bytes());
        text.resize(text.len().next_multiple_of(BLOCK), 0);
        let units: u64 = head.parts.iter().map(|part| part.units).sum();
        file.set_len(text.len() as u64 + BLOCK as u64 + units * ENTRY)?;
        file.write_all_at(&text, 0)?;
        file.sync_all()?;
        // The name has to survive what the state is for.
        let directory = path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
        File::open(directory)?.sync_all()?;
        let (head, parts) = (text.len() as u64, head.parts.clone());
        Ok(StateFile { path: path.to_owned(), file: Arc::new(file), head, parts })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn file(&self) -> &Arc<File> {
        &self.file
    }

    /// Where the entries of a worker begin.
    pub(crate) fn start_of(&self, worker: u32) -> u64 {
        let before: u64 = self.parts.iter().take(worker as usize).map(|part| part.units).sum();
        self.head + BLOCK as u64 + before * ENTRY
    }

    /// The phase has ended, and nobody writes to its entries any more.
    pub(crate) fn close(&self) -> Result<(), EngineError> {
        let closed = || {
            let mut bytes = Vec::new();
            File::open(&self.path)?.read_to_end(&mut bytes)?;
            let mut mark = [0; 8];
            mark[..4].copy_from_slice(&CLOSED);
            mark[4..].copy_from_slice(&sum(&bytes, self.head as usize).to_le_bytes());
            self.file.write_all_at(&mark, self.head)?;
            self.file.sync_all()?;
            self.file.unlock()
        };
        closed().map_err(|source| failed("write", &self.path, source))
    }

    /// Removes the file: nothing was written.
    pub(crate) fn remove(&self) {
        // What can't be removed is a state that says that nothing was written, which is right.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// The CRC-32C of all but the eight bytes at `mark`.
fn sum(bytes: &[u8], mark: usize) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&bytes[..mark]), &bytes[mark + 8..])
}

impl State {
    /// Reads a state back.
    ///
    /// # Errors
    /// It can't be read, or is not whole, or its phase is running.
    pub(crate) fn load(path: &Path) -> Result<State, EngineError> {
        let failed = |source| failed("read", path, source);
        let mut file = iolite_sys::file::open_regular(path).map_err(failed)?;
        match file.try_lock_shared() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(failed(io::Error::new(
                    io::ErrorKind::ResourceBusy,
                    "its phase is still running: wait for its end",
                )));
            }
            // Where files can't be locked, a running phase is not known of.
            Err(TryLockError::Error(_)) => {}
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed)?;
        let broken =
            || failed(io::Error::new(io::ErrorKind::InvalidData, "the verification state is incomplete"));
        State::parse(&bytes).ok_or_else(broken)
    }

    fn parse(bytes: &[u8]) -> Option<State> {
        let text = bytes.strip_prefix(FORMAT)?;
        let line = text.iter().position(|byte| *byte == b'\n')?;
        let covered = FORMAT.len() + line + 1;
        let (digits, _) = bytes.get(covered..)?.split_first_chunk::<9>()?;
        if *digits != format!("{:08x}\n", crc32c::crc32c(&bytes[..covered])).as_bytes() {
            return None;
        }
        let head: Head = serde_json::from_slice(&text[..line]).ok()?;
        let mark = (covered + digits.len()).next_multiple_of(BLOCK);
        let stored = bytes.get(mark..)?.first_chunk::<8>()?;
        let open = *stored == [0; 8];
        let closed = stored[..4] == CLOSED && stored[4..] == sum(bytes, mark).to_le_bytes();
        if (!open && !closed) || head.unit == 0 {
            return None;
        }
        let (mut entries, odd) = bytes.get(mark + BLOCK..)?.as_chunks::<{ ENTRY as usize }>();
        let mut written = Vec::new();
        for (part, worker) in head.parts.iter().zip(0u32..) {
            let (mine, others) = entries.split_at_checked(usize::try_from(part.units).ok()?)?;
            entries = others;
            written.push(part.written(worker, head.unit, mine, open));
        }
        (entries.is_empty() && odd.is_empty()).then_some(State { task: head.task, run: head.run, written })
    }
}

impl Part {
    fn written(&self, worker: u32, unit: u32, entries: &[[u8; 8]], open: bool) -> Written {
        let numbers = || entries.iter().map(|entry| u64::from_le_bytes(*entry));
        let in_flight = numbers().enumerate().filter(|(_, entry)| entry >> 32 != 0);
        Written {
            worker,
            first: self.first,
            unit,
            units: numbers().map(|entry| entry as u32).collect(),
            in_flight: in_flight.map(|(index, _)| index).collect(),
            open,
            ..Written::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::journal::Journal;
    use crate::verify::written::Known;

    const UNIT: u32 = 512;

    fn create(path: &Path) -> StateFile {
        let parts = vec![0..u64::from(UNIT) * 2, 8192..8192 + u64::from(UNIT) * 8];
        StateFile::create(path, &FileTask::default(), 77, UNIT, parts).unwrap()
    }

    /// Worker 1 has written the first units, is writing one of them again and another one for the first time.
    fn write(state: &StateFile) -> Written {
        let mut written = Written::new(1, 8192..8192 + u64::from(UNIT) * 8, UNIT).unwrap();
        let mut journal = Journal::new(state, 1).unwrap();
        journal.begin(&written, 8192, 3 * UNIT, 1);
        written.wrote(8192, 3 * UNIT, 1);
        journal.settle(&written, 8192, 3 * UNIT);
        journal.begin(&written, 8192 + 512, UNIT, 2);
        journal.begin(&written, 8192 + 5 * 512, UNIT, 3);
        assert!(journal.finish().is_none());
        written
    }

    #[test]
    fn a_state_is_right_while_its_phase_runs_and_when_it_has_ended() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state");
        let state = create(&path);
        let known = |state: &State| -> Vec<Known> {
            (0..8).map(|unit| state.written[1].known(8192 + unit * u64::from(UNIT))).collect()
        };
        write(&state);
        let running = State::load(&path).unwrap_err().to_string();
        assert!(running.contains("still running"), "{running}");
        let open = State::parse(&std::fs::read(&path).unwrap()).unwrap();
        assert_eq!(
            known(&open)[..4],
            [Known::AtLeast(1), Known::InFlight(1), Known::AtLeast(1), Known::Never]
        );
        assert_eq!((known(&open)[5], open.written[0].known(0)), (Known::Never, Known::Never));
        state.close().unwrap();
        let closed = State::load(&path).unwrap();
        assert_eq!(known(&closed)[..3], [Known::Write(1), Known::InFlight(1), Known::Write(1)]);
        assert_eq!((closed.run, closed.task), (77, FileTask::default()));
        let error = can_be_created(&path).unwrap_err().to_string();
        assert!(error.contains("exists"), "{error}");
    }

    #[test]
    fn a_damaged_state_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state");
        let state = create(&path);
        write(&state);
        state.close().unwrap();
        let whole = std::fs::read(&path).unwrap();
        assert!(State::parse(&whole).is_some());
        for index in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[index] ^= 4;
            assert_eq!(State::parse(&damaged), None, "byte {index}");
            assert_eq!(State::parse(&whole[..index]), None, "cut at {index}");
        }
        assert!(State::load(&directory.path().join("none")).is_err());
    }
}
