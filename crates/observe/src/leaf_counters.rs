//! What the leaf devices counted themselves: the kernel's block statistics (Linux, Documentation/block/stat.rst).

use std::fs;
use std::io;

use iolite_model::{Device, DeviceCounters, Storage};

use crate::block_stat::StatFile;
use crate::sysfs::Sysfs;

/// The counters of the leaf devices of a storage, held open so that reading them is one system call a device.
///
/// Where a leaf is reached through partitions only, their counters stand for it, because the disk's own include
/// what goes to its other partitions. Flushes are always the whole disk's: the kernel does not count them for
/// partitions (Documentation/admin-guide/iostats.rst, field 16).
#[derive(Debug)]
pub struct LeafCounters {
    leaves: Vec<Leaf>,
}

impl LeafCounters {
    /// The counters of the leaves of `storage`; `None` where there is no leaf, or one of them keeps no counters that
    /// report what reached it (statistics switched off, or a DAX file system, which bypasses the block layer).
    pub fn new(storage: &Storage) -> Option<LeafCounters> {
        LeafCounters::within(&Sysfs::system(), storage)
    }

    fn within(sysfs: &Sysfs, storage: &Storage) -> Option<LeafCounters> {
        let by_dax = |option: &String| matches!(option.as_str(), "dax" | "dax=always");
        if storage.filesystem.options.iter().any(by_dax) {
            return None;
        }
        let leaves =
            storage.leaves().map(|leaf| Leaf::open(sysfs, storage, leaf)).collect::<Option<Vec<_>>>()?;
        (!leaves.is_empty()).then_some(LeafCounters { leaves })
    }

    /// The sum of the leaves' counters now. They count an operation when it completes, so that all that has
    /// completed before the call is in.
    ///
    /// # Errors
    ///
    /// Where a device has disappeared or its statistics are not of the documented shape.
    pub fn read(&self) -> io::Result<DeviceCounters> {
        let mut sum = DeviceCounters::default();
        for leaf in &self.leaves {
            sum = sum.plus(leaf.read()?);
        }
        Ok(sum)
    }
}

/// Where one leaf's counters are read.
#[derive(Debug)]
struct Leaf {
    /// The disk's own counters.
    disk: StatFile,
    /// Those of the partitions it is reached through, if it is.
    partitions: Vec<StatFile>,
}

impl Leaf {
    fn open(sysfs: &Sysfs, storage: &Storage, leaf: &Device) -> Option<Leaf> {
        let switched_off = fs::read_to_string(sysfs.link(leaf.number).join("queue/iostats"));
        if switched_off.is_ok_and(|value| value.trim() == "0") {
            return None;
        }
        let disk = StatFile::open(sysfs, leaf.number).ok()?;
        let above = storage.devices.iter().filter(|device| device.rests_on.contains(&leaf.name));
        let partitions = if above.clone().all(|device| device.kind == "partition") {
            above.map(|device| StatFile::open(sysfs, device.number).ok()).collect::<Option<_>>()?
        } else {
            Vec::new()
        };
        let leaf = Leaf { disk, partitions };
        // What carries a file system and has never done a thing does not count: NVMe multipath before Linux 6.5.
        let counters = leaf.read().ok()?;
        (counters.reads + counters.writes > 0).then_some(leaf)
    }

    fn read(&self) -> io::Result<DeviceCounters> {
        let disk = self.disk.read()?.counters();
        if self.partitions.is_empty() {
            return Ok(disk);
        }
        let mut sum = DeviceCounters::default();
        for partition in &self.partitions {
            sum = sum.plus(partition.read()?.counters());
        }
        Ok(DeviceCounters { flushes: disk.flushes, ..sum })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::fs::File;
    use std::os::unix::fs::FileExt;
    use std::path::Path;

    use iolite_model::Bytes;

    use super::*;
    use crate::chain::chain;
    use crate::sysfs::Number;
    use crate::sysfs::fake::Fake;

    const DISK: &str = "100 1 2000 5 300 2 4000 9 0 7 14 0 0 0 0 6 3";
    const FIRST: &str = "10 1 200 5 30 2 400 9 0 7 14 0 0 0 0 0 0";
    const SECOND: &str = "1 1 20 5 3 2 40 9 0 7 14 0 0 0 0 0 0";

    fn disk_with_two_partitions() -> Fake {
        let fake = Fake::new();
        fake.add("sda", (8, 0), &[("stat", DISK), ("queue/iostats", "1")]);
        fake.add("sda/sda1", (8, 1), &[("partition", "1"), ("stat", FIRST)]);
        fake.add("sda/sda2", (8, 2), &[("partition", "2"), ("stat", SECOND)]);
        fake
    }

    fn counters(fake: &Fake, tops: &[Number]) -> Option<LeafCounters> {
        let devices = chain(&fake.sysfs(), tops, &|_: &Path| Vec::new());
        LeafCounters::within(&fake.sysfs(), &Storage { devices, ..Storage::default() })
    }

    fn expected(reads: u64, read: u64, writes: u64, written: u64) -> DeviceCounters {
        DeviceCounters { reads, read: Bytes(read * 512), writes, written: Bytes(written * 512), flushes: 6 }
    }

    #[test]
    fn a_partition_stands_for_its_disk_except_in_flushes() {
        let fake = disk_with_two_partitions();
        let read = |tops: &[Number]| counters(&fake, tops).unwrap().read().unwrap();
        assert_eq!(read(&[(8, 0)]), expected(100, 2000, 300, 4000));
        assert_eq!(read(&[(8, 1)]), expected(10, 200, 30, 400));
        assert_eq!(read(&[(8, 1), (8, 2)]), expected(11, 220, 33, 440));
    }

    #[test]
    fn leaves_are_summed_and_read_anew() {
        let fake = disk_with_two_partitions();
        fake.add("sdb", (8, 16), &[("stat", DISK)]);
        fake.add("md0", (9, 0), &[("md/level", "raid0"), ("stat", "9 9 9")]);
        fake.rest("md0", &["sda/sda2", "sdb"]);
        let counters = counters(&fake, &[(9, 0)]).unwrap();
        assert_eq!(counters.read().unwrap().reads, 1 + 100);
        assert_eq!(counters.read().unwrap().flushes, 12);
        fs::write(fake.directory("sdb").join("stat"), "150 1 2000 5 300 2 4000 9 0 7 14\n").unwrap();
        assert_eq!(counters.read().unwrap().reads, 1 + 150);
        fs::write(fake.directory("sdb").join("stat"), "nonsense").unwrap();
        assert!(counters.read().unwrap_err().to_string().contains("nonsense"));
    }

    #[test]
    fn what_keeps_no_counters_has_none() {
        assert!(LeafCounters::new(&Storage::default()).is_none());
        let fake = disk_with_two_partitions();
        fake.add("sdb", (8, 16), &[("stat", DISK), ("queue/iostats", "0")]);
        fake.add("nvme0n1", (259, 0), &[("stat", "0 0 0 0 0 0 0 0 0 0 0")]);
        fake.add("sdc", (8, 32), &[]);
        for number in [(8, 16), (259, 0), (8, 32)] {
            assert!(counters(&fake, &[number]).is_none(), "{number:?}");
        }
        let devices = chain(&fake.sysfs(), &[(8, 0)], &|_: &Path| Vec::new());
        let mut storage = Storage { devices, ..Storage::default() };
        assert!(LeafCounters::within(&fake.sysfs(), &storage).is_some());
        storage.filesystem.options.push("dax=always".into());
        assert!(LeafCounters::within(&fake.sysfs(), &storage).is_none());
    }

    /// Leaf counters of the disk under test and a file of `LENGTH` bytes there open for direct I/O, or why not.
    pub(crate) fn direct_file() -> Result<(LeafCounters, tempfile::NamedTempFile, File), String> {
        use std::os::unix::fs::OpenOptionsExt;
        let file = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let storage = crate::storage(file.path().parent().unwrap()).unwrap();
        let counters = LeafCounters::new(&storage).ok_or("the file system has no leaf that counts")?;
        // Random, so that no layer beneath can remove it.
        let mut noise = 1_u64;
        let mut bytes = vec![0_u8; LENGTH as usize];
        for word in bytes.chunks_exact_mut(8) {
            noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            word.copy_from_slice(&noise.to_le_bytes());
        }
        fs::write(file.path(), bytes).unwrap();
        iolite_sys::page_cache::evict(file.as_file(), 0, LENGTH).unwrap();
        let flags = rustix::fs::OFlags::DIRECT.bits() as i32;
        let direct = File::options().read(true).custom_flags(flags).open(file.path());
        let direct = direct.map_err(|error| format!("no direct I/O here: {error}"))?;
        Ok((counters, file, direct))
    }

    /// Bytes of the file that the tests read.
    pub(crate) const LENGTH: u64 = 16 << 20;

    /// Reads the whole file past the cache.
    pub(crate) fn read_all(direct: &File) {
        const BLOCK: usize = 1 << 20;
        // Aligned by hand: safe code has no aligned allocation.
        let mut memory = vec![0_u8; BLOCK + 4096];
        let start = memory.as_ptr().align_offset(4096);
        for block in 0..LENGTH / BLOCK as u64 {
            direct.read_exact_at(&mut memory[start..start + BLOCK], block * BLOCK as u64).unwrap();
        }
    }

    #[test]
    fn direct_reads_are_counted_by_the_real_device() {
        let (counters, _file, direct) = match direct_file() {
            Ok(ready) => ready,
            Err(reason) => return eprintln!("skipped: {reason}"),
        };
        let before = counters.read().unwrap();
        read_all(&direct);
        let counted = counters.read().unwrap().since(before);
        assert!(counted.read.0 >= LENGTH && counted.reads >= 1, "{counted:?}");
    }
}
