//! What drives report of their wear.

use std::fs::File;
use std::path::Path;

use iolite_model::{Bytes, Device, DriveWear, Storage};

/// Size of a logical sector where the kernel does not report it.
const SECTOR: u64 = 512;

/// The wear of the drives beneath, as far as they report it to this user: NVMe drives by their health log, SATA drives by
/// their statistics.
pub fn wear(storage: &Storage) -> Vec<DriveWear> {
    storage.leaves().filter_map(of).collect()
}

fn of(drive: &Device) -> Option<DriveWear> {
    let open = || File::open(Path::new("/dev").join(&drive.name)).ok();
    let (used_percent, written) = match drive.kind.as_str() {
        "nvme" => {
            let health = iolite_sys::nvme::health(&open()?).ok()?;
            (health.used_percent, health.written)
        }
        "scsi" => {
            let wear = iolite_sys::ata::wear(&open()?).ok()?;
            let sector = drive.logical_block.map_or(SECTOR, |block| block.0);
            (wear.used_percent, wear.sectors_written.saturating_mul(sector))
        }
        _ => return None,
    };
    Some(DriveWear { device: drive.name.clone(), used_percent, written: Bytes(written) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drives_that_report_nothing_are_left_out() {
        let device =
            |name: &str, kind: &str| Device { name: name.into(), kind: kind.into(), ..Device::default() };
        let devices = vec![device("iolite-none", "nvme"), device("null", "nvme"), device("sda", "scsi")];
        assert_eq!(wear(&Storage { devices, ..Storage::default() }), []);
    }
}
