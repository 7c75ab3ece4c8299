//! What drives report of their wear.

use std::fs::File;
use std::path::Path;

use iolite_model::{Bytes, DriveWear, Storage};

/// The wear of the drives beneath, as far as they report it to this user: NVMe drives by their health log.
pub fn wear(storage: &Storage) -> Vec<DriveWear> {
    let drives = storage.leaves().filter(|leaf| leaf.kind == "nvme");
    let of = |name: &str| {
        let health = iolite_sys::nvme::health(&File::open(Path::new("/dev").join(name)).ok()?).ok()?;
        Some(DriveWear {
            device: name.to_owned(),
            used_percent: health.used_percent,
            written: Bytes(health.written),
        })
    };
    drives.filter_map(|drive| of(&drive.name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolite_model::Device;

    #[test]
    fn drives_that_report_nothing_are_left_out() {
        let device =
            |name: &str, kind: &str| Device { name: name.into(), kind: kind.into(), ..Device::default() };
        let devices = vec![device("iolite-none", "nvme"), device("null", "nvme"), device("sda", "scsi")];
        assert_eq!(wear(&Storage { devices, ..Storage::default() }), []);
    }
}
