//! Where the file system has placed the data file of a check.

use std::fs::File;

use iolite_model::{Bytes, Device, Warning};
use iolite_suites::Check;

use crate::session::Session;

/// Share of the file system below which the data file's place is mentioned, in percent.
const NARROW: f64 = 50.0;

impl Session<'_> {
    /// Warns where the file system has placed the data file of a check within a part of itself, and its place may matter: on a device
    /// that is not known to be without moving parts.
    pub fn warn_of_narrow_file(&mut self) {
        let warning = self.narrow();
        warning.into_iter().for_each(|warning| self.warn(warning));
    }

    fn narrow(&self) -> Option<Warning> {
        let moves = |device: &Device| device.rotational != Some(false);
        if !self.run().info.storage.leaves().any(moves) {
            return None;
        }
        let file = File::open(self.scratch.path().join(Check::DATA_FILE)).ok()?;
        let span = Bytes(file.metadata().ok()?.len());
        let placed = iolite_sys::extents::placed(&file, span.0).ok()?;
        let size = iolite_sys::file::file_system_size(&file).ok()?.max(1);
        let percent = (placed.end - placed.start) as f64 / size as f64 * 100.0;
        (percent < NARROW).then_some(Warning::Narrow { span, pieces: placed.pieces, percent })
    }
}
