//! The state of a verified job in fio's form, version 3, as fio 3.33 writes it.
//!
//! | bytes | what |
//! |---|---|
//! | 0..8 | version |
//! | 8..16 | bytes after this header |
//! | 16..24 | CRC-32C of them, not inverted at its end |
//! | 24..32 | entries of the list of completed writes |
//! | 32..36 | queue depth |
//! | 36..40 | number of files |
//! | 40..48 | number of writes |
//! | 48..56 | index of the thread |
//! | 56..112 | state of fio's random numbers; zeros here |
//! | 112..176 | name of the job |
//! | 176.. | entries: file and offset of the last writes that have completed, the newest first |

use std::io;
use std::path::Path;

use iolite_model::{FileTask, Target};

use crate::error::EngineError;
use crate::target::Targets;
use crate::verify::state::failed;
use crate::verify::written::Written;

const VERSION: u64 = 3;

/// Bytes of version, length and CRC.
const HEADER: usize = 24;

/// Bytes before the entries.
const FIXED: usize = 176;

/// Bytes of an entry.
const ENTRY: usize = 16;

/// Larger than any state: the entries of a queue of a million.
const LARGEST: u64 = 16 << 20;

/// Bytes of a name, the last of which is 0.
const NAME: usize = 64;

/// What fio keeps of a job that writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FioState {
    /// Name of the job.
    name: String,
    /// Queue depth.
    depth: u32,
    /// Number of files.
    files: u32,
    /// Number of writes.
    writes: u64,
    /// Files and offsets of the last writes that have completed, the newest first.
    completed: Vec<(u64, u64)>,
}

impl FioState {
    /// What a worker of a task has written.
    pub(crate) fn of(task: &FileTask, written: &Written, targets: &Targets) -> FioState {
        let located = written.last.iter().map(|offset| targets.locate(*offset));
        let files = if let Target::Files(target) = &task.target { target.files.len() as u32 } else { 1 };
        FioState {
            name: task.name.clone(),
            depth: task.depth_of(written.worker),
            files,
            writes: written.writes,
            completed: located.map(|(file, offset)| (u64::from(file), offset)).collect(),
        }
    }

    /// Reads a state.
    ///
    /// # Errors
    /// It can't be read, or is not one of version 3.
    pub(crate) fn load(path: &Path) -> Result<FioState, EngineError> {
        let bytes = read(path).map_err(|source| failed("read", path, source))?;
        FioState::parse(&bytes)
            .ok_or_else(|| failed("read", path, io::Error::new(io::ErrorKind::InvalidData, why_not(&bytes))))
    }

    /// Saves the state. It replaces another state, and nothing else.
    pub(crate) fn save(&self, path: &Path) -> Result<(), EngineError> {
        match read(path) {
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return Err(failed("write", path, error));
            }
            Ok(bytes) if FioState::parse(&bytes).is_none() => {
                let reason = "it exists and is not a verification state: remove it, or use --aux-path";
                return Err(failed("write", path, io::Error::new(io::ErrorKind::AlreadyExists, reason)));
            }
            Ok(_) | Err(_) => {}
        }
        std::fs::write(path, self.bytes()).map_err(|source| failed("write", path, source))
    }

    /// Writes that are certain to have completed, however many were in flight.
    pub(crate) fn completed_writes(&self) -> u64 {
        let known = u64::from(self.depth).min(self.writes);
        self.writes - known.saturating_sub(self.completed.len() as u64)
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; FIXED];
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        let length = FIXED - HEADER + self.completed.len() * ENTRY;
        put(0, &VERSION.to_le_bytes());
        put(8, &(length as u64).to_le_bytes());
        put(24, &(self.completed.len() as u64).to_le_bytes());
        put(32, &self.depth.to_le_bytes());
        put(36, &self.files.to_le_bytes());
        put(40, &self.writes.to_le_bytes());
        let name = self.name.as_bytes();
        put(112, &name[..name.len().min(NAME - 1)]);
        for (file, offset) in &self.completed {
            bytes.extend(file.to_le_bytes());
            bytes.extend(offset.to_le_bytes());
        }
        let sum = u64::from(!crc32c::crc32c(&bytes[HEADER..]));
        bytes[16..24].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    fn parse(bytes: &[u8]) -> Option<FioState> {
        let long = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let short = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let entries = bytes.get(FIXED..)?;
        let whole = long(0)? == VERSION
            && long(8)? == (bytes.len() - HEADER) as u64
            && long(16)? == u64::from(!crc32c::crc32c(&bytes[HEADER..]))
            && long(24)?.checked_mul(ENTRY as u64)? == entries.len() as u64;
        let name: Vec<u8> = bytes[112..FIXED].iter().copied().take_while(|byte| *byte != 0).collect();
        let completed = (FIXED..bytes.len()).step_by(ENTRY).map(|at| Some((long(at)?, long(at + 8)?)));
        whole.then_some(FioState {
            name: String::from_utf8_lossy(&name).into_owned(),
            depth: short(32)?,
            files: short(36)?,
            writes: long(40)?,
            completed: completed.collect::<Option<_>>()?,
        })
    }
}

/// A state's bytes. What is no plain file, such as a named pipe, is not opened: reading it could wait for ever.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let metadata = std::fs::metadata(path)?;
    if !metadata.is_file() || metadata.len() > LARGEST {
        let reason = "it is not a verification state: specify another file";
        return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
    }
    std::fs::read(path)
}

/// Why these bytes are not a state that is read, and what to do about it.
fn why_not(bytes: &[u8]) -> String {
    let version = bytes.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
    match version.filter(|version| (1..256).contains(version) && *version != VERSION) {
        Some(version) => format!(
            "it is a verification state of version {version}, and only version {VERSION} (of fio 3.33) is read: save it again with \
             this program or fio 3.33, or verify without verify_state_load"
        ),
        None => "it is not a verification state of fio 3.33 (version 3), or damaged: save it again, or verify without \
                 verify_state_load"
            .into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> FioState {
        let completed = vec![(0, 0x4000), (0, 0x3000)];
        FioState { name: "job".into(), depth: 2, files: 1, writes: 5, completed }
    }

    #[test]
    fn a_state_is_read_as_it_was_written() {
        let bytes = state().bytes();
        assert_eq!((bytes.len(), bytes[0], bytes[8]), (208, 3, 184));
        assert_eq!(FioState::parse(&bytes), Some(state()));
        for index in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[index] ^= 1;
            assert_eq!(FioState::parse(&damaged), None, "byte {index}");
            assert_eq!(FioState::parse(&bytes[..index]), None, "cut at {index}");
        }
    }

    #[test]
    fn a_named_pipe_is_refused_and_not_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("state");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert!(FioState::load(&pipe).is_err() && state().save(&pipe).is_err());
    }

    /// The checksum that fio 3.33 wrote for one job.
    #[test]
    fn the_checksum_is_fio_s() {
        let one = FioState { depth: 1, writes: 6, completed: vec![(0, 0x5000)], name: "s".into(), ..state() };
        assert_eq!(one.bytes()[16..20], 0x3f00_b604_u32.to_le_bytes());
    }

    #[test]
    fn what_may_have_been_in_flight_is_not_counted() {
        let state = |completed| FioState { depth: 4, completed, ..state() };
        assert_eq!(state(vec![(0, 0); 4]).completed_writes(), 5);
        assert_eq!(state(vec![(0, 0); 1]).completed_writes(), 2);
        assert_eq!(FioState { writes: 1, ..state(vec![(0, 0)]) }.completed_writes(), 1);
    }

    #[test]
    fn only_states_are_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state");
        state().save(&path).unwrap();
        let later = FioState { writes: 9, ..state() };
        later.save(&path).unwrap();
        assert_eq!(FioState::load(&path).unwrap(), later);
        std::fs::write(&path, "text").unwrap();
        assert!(state().save(&path).unwrap_err().to_string().contains("exists"));
        assert!(FioState::load(&path).unwrap_err().to_string().contains("version 3"));
        // fio 3.42's.
        std::fs::write(&path, [7u64.to_le_bytes(), 0u64.to_le_bytes()].concat()).unwrap();
        let refused = FioState::load(&path).unwrap_err().to_string();
        assert!(refused.contains("version 7") && refused.contains("fio 3.33"), "{refused}");
    }
}
