//! Where the file system has placed the data file of a check.

use std::fs::File;

use iolite_model::{Bytes, Storage, Warning};
use iolite_suites::Check;
use iolite_sys::extents::Placed;

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
        if !may_seek(&self.run().info.storage) {
            return None;
        }
        let file = File::open(self.scratch.path().join(Check::DATA_FILE)).ok()?;
        let span = Bytes(file.metadata().ok()?.len());
        let placed = iolite_sys::extents::placed(&file, span.0).ok()?;
        narrow(span, placed, iolite_sys::file::file_system_size(&file).ok()?)
    }
}

/// Whether a place on the storage may matter: unless all of its devices are known to be without moving parts.
fn may_seek(storage: &Storage) -> bool {
    storage.leaves().any(|device| device.rotational != Some(false))
}

/// The warning where a file of this span lies in a part of a file system of this size.
fn narrow(span: Bytes, placed: Placed, size: u64) -> Option<Warning> {
    let percent = (placed.end - placed.start) as f64 / size.max(1) as f64 * 100.0;
    (percent < NARROW).then_some(Warning::Narrow { span, pieces: placed.pieces, percent })
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolite_model::Device;

    #[test]
    fn a_file_within_a_part_of_its_file_system_is_warned_of() {
        let of = |start, end| narrow(Bytes::GIB, Placed { start, end, pieces: 8 }, 100 << 30);
        assert_eq!(of(0, 60 << 30), None);
        let warning = Warning::Narrow { span: Bytes::GIB, pieces: 8, percent: 40.0 };
        assert_eq!(of(20 << 30, 60 << 30), Some(warning));
    }

    #[test]
    fn the_place_matters_unless_all_devices_are_known_not_to_rotate() {
        let storage = |each: &[Option<bool>]| {
            let device = |&rotational: &Option<bool>| Device { rotational, ..Device::default() };
            Storage { devices: each.iter().map(device).collect(), ..Storage::default() }
        };
        assert!(!may_seek(&storage(&[Some(false), Some(false)])));
        assert!(may_seek(&storage(&[Some(false), Some(true)])) && may_seek(&storage(&[None])));
    }
}
