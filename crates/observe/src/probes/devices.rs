//! What the block devices do (Linux, Documentation/block/stat.rst).

use std::fs;

use iolite_model::{ReadingValue, Storage};

use crate::block_stat::{BlockStat, StatFile};
use crate::probe::{Probe, ProbeError, Subject};
use crate::sysfs::{SECTOR, Sysfs, parse_number};

/// Reads the counters of block devices; subjects are their names.
#[derive(Debug)]
pub struct Devices {
    devices: Vec<(String, StatFile)>,
}

impl Devices {
    /// Every device beneath `storage`, from the file system's own down to the leaves; without a storage, every disk of
    /// the host that has done something. `None` where there is none.
    pub fn find(storage: Option<&Storage>) -> Option<Devices> {
        Devices::within(&Sysfs::system(), storage)
    }

    fn within(sysfs: &Sysfs, storage: Option<&Storage>) -> Option<Devices> {
        let named: Vec<_> = match storage {
            Some(storage) => {
                storage.devices.iter().map(|device| (device.name.clone(), device.number)).collect()
            }
            None => sysfs.disks(),
        };
        let open = |(name, number)| Some((name, StatFile::open(sysfs, number).ok()?));
        let mut devices: Vec<(String, StatFile)> = named.into_iter().filter_map(open).collect();
        if storage.is_none() {
            devices.retain(|(_, stat)| stat.read().is_ok_and(|stat| stat.ios != [0, 0]));
        }
        (!devices.is_empty()).then_some(Devices { devices })
    }
}

impl Probe for Devices {
    fn name(&self) -> &'static str {
        "device"
    }

    fn read(&mut self) -> Result<Vec<Subject>, ProbeError> {
        let mut subjects = Vec::with_capacity(self.devices.len());
        let mut failure = None;
        for (name, file) in &self.devices {
            match file.read() {
                Ok(stat) => subjects.push(Subject { name: name.clone(), values: values(&stat) }),
                // One that was removed is no reason to lose the others.
                Err(error) => failure = Some(error),
            }
        }
        match failure {
            Some(error) if subjects.is_empty() => Err(ProbeError::Other(Box::new(error))),
            _ => Ok(subjects),
        }
    }
}

fn values(stat: &BlockStat) -> Vec<ReadingValue> {
    let count = |name, value: u64| ReadingValue::counter(name, value as f64);
    let bytes = |name, sectors: u64| ReadingValue::counter(name, sectors as f64 * SECTOR as f64);
    let seconds = |name, milliseconds: u64| ReadingValue::counter(name, milliseconds as f64 / 1e3);
    vec![
        count("reads", stat.ios[0]),
        bytes("read_bytes", stat.sectors[0]),
        seconds("read_seconds", stat.ticks[0]),
        count("read_merges", stat.merges[0]),
        count("writes", stat.ios[1]),
        bytes("written_bytes", stat.sectors[1]),
        seconds("write_seconds", stat.ticks[1]),
        count("write_merges", stat.merges[1]),
        count("flushes", stat.flushes[0]),
        seconds("flush_seconds", stat.flushes[1]),
        count("discards", stat.discards[0]),
        bytes("discarded_bytes", stat.discards[1]),
        seconds("busy_seconds", stat.busy),
        seconds("queue_seconds", stat.queued),
        ReadingValue::gauge("in_flight", stat.in_flight as f64),
    ]
}

impl Sysfs {
    /// Name and number of each disk of the host, partitions not; sorted by name.
    fn disks(&self) -> Vec<(String, (u32, u32))> {
        let Ok(entries) = fs::read_dir(self.block_directory()) else { return Vec::new() };
        let mut disks: Vec<_> = entries
            .flatten()
            .filter_map(|entry| {
                let number = parse_number(&fs::read_to_string(entry.path().join("dev")).ok()?)?;
                Some((entry.file_name().to_string_lossy().replace('!', "/"), number))
            })
            .collect();
        disks.sort();
        disks
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::chain::chain;
    use crate::sysfs::fake::Fake;

    #[test]
    fn each_device_is_a_subject_and_a_lost_one_is_left_out() {
        let fake = Fake::new();
        let stat = "100 1 2000 5000 300 2 4000 9000 4 7000 14000 0 0 0 0 6 3";
        fake.add("sda", (8, 0), &[("stat", stat)]);
        fake.add("sda/sda1", (8, 1), &[("partition", "1"), ("stat", stat)]);
        let devices = chain(&fake.sysfs(), &[(8, 1)], &|_: &Path| Vec::new());
        let storage = Storage { devices, ..Storage::default() };
        let mut probe = Devices::within(&fake.sysfs(), Some(&storage)).unwrap();
        let subjects = probe.read().unwrap();
        let names: Vec<_> = subjects.iter().map(|subject| subject.name.as_str()).collect();
        assert_eq!(names, ["sda1", "sda"]);
        let value = |name: &str| subjects[0].values.iter().find(|value| value.name == name).unwrap().value;
        assert_eq!(
            (value("read_bytes"), value("write_seconds"), value("in_flight")),
            (1_024_000.0, 9.0, 4.0)
        );
        fs::write(fake.directory("sda/sda1").join("stat"), "gone").unwrap();
        assert_eq!(probe.read().unwrap().len(), 1);
        fs::write(fake.directory("sda").join("stat"), "gone").unwrap();
        assert!(probe.read().is_err());
    }

    #[test]
    fn storage_without_devices_has_no_probe() {
        assert!(Devices::find(Some(&Storage::default())).is_none());
    }
}
