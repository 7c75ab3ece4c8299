//! What a worker has written, noted in the verification state while it writes.
//!
//! The file is mapped into memory: what is stored there belongs to the kernel at once, and is there when the program is killed. A
//! write is noted before it is submitted and again when it has come back.

use std::path::PathBuf;

use iolite_sys::mapping::{Mapping, Use};

use crate::error::EngineError;
use crate::verify::state::{self, StateFile};
use crate::verify::written::Written;

/// The entries of one worker's units.
pub(crate) struct Journal {
    mapping: Mapping,
    /// Where they begin in the file.
    start: u64,
    path: PathBuf,
    failed: Option<EngineError>,
}

impl Journal {
    pub(crate) fn new(state: &StateFile, worker: u32) -> Result<Journal, EngineError> {
        let usage = Use { write: true, random: true, huge: false };
        let mapping = Mapping::new(state.file().clone(), usage).map_err(|source| EngineError::State {
            action: "map",
            path: state.path().to_owned(),
            source,
        })?;
        Ok(Journal { mapping, start: state.start_of(worker), path: state.path().to_owned(), failed: None })
    }

    /// Write `number` is about to be submitted.
    pub(crate) fn begin(&mut self, written: &Written, offset: u64, length: u32, number: u32) {
        self.store(written, offset, length, number);
    }

    /// No write is in flight to these units.
    pub(crate) fn settle(&mut self, written: &Written, offset: u64, length: u32) {
        self.store(written, offset, length, 0);
    }

    /// The first failure, if any.
    pub(crate) fn finish(self) -> Option<EngineError> {
        self.failed
    }

    fn store(&mut self, written: &Written, offset: u64, length: u32, in_flight: u32) {
        for unit in written.of(offset, length) {
            let entry = state::entry(written.units[unit], in_flight);
            if let Err(source) = self.mapping.store(self.start + unit as u64 * state::ENTRY, entry) {
                let path = self.path.clone();
                self.failed.get_or_insert(EngineError::State { action: "write", path, source });
                return;
            }
        }
    }
}
