//! The kernel's counters of a block device (Linux, Documentation/block/stat.rst): the one place that parses them.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use iolite_model::{Bytes, DeviceCounters, DiskCounts};

use crate::sysfs::{Number, SECTOR, Sysfs};

/// All counters of a `stat` file. Pairs are reads, then writes; times are in milliseconds, sectors of 512 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct BlockStat {
    pub(crate) ios: [u64; 2],
    pub(crate) merges: [u64; 2],
    pub(crate) sectors: [u64; 2],
    pub(crate) ticks: [u64; 2],
    /// Operations in flight: the only field that goes up and down.
    pub(crate) in_flight: u64,
    /// Time with at least one operation in flight.
    pub(crate) busy: u64,
    /// Time that all operations took together, those still in flight included.
    pub(crate) queued: u64,
    /// Discards (since Linux 4.18): operations, sectors, time.
    pub(crate) discards: [u64; 3],
    /// Flushes (since Linux 5.5): operations, time. Counted for whole disks only.
    pub(crate) flushes: [u64; 2],
}

impl BlockStat {
    /// The counters in the text of a `stat` file; `None` where it is not of the documented shape.
    pub(crate) fn parse(text: &str) -> Option<BlockStat> {
        let fields: Vec<u64> =
            text.split_whitespace().map(|field| field.parse().ok()).collect::<Option<_>>()?;
        let later = |index: usize| fields.get(index).copied().unwrap_or(0);
        let &[
            reads,
            read_merges,
            read,
            read_ticks,
            writes,
            write_merges,
            written,
            write_ticks,
            in_flight,
            busy,
            queued,
        ] = fields.get(..11)?
        else {
            return None;
        };
        Some(BlockStat {
            ios: [reads, writes],
            merges: [read_merges, write_merges],
            sectors: [read, written],
            ticks: [read_ticks, write_ticks],
            in_flight,
            busy,
            queued,
            discards: [later(11), later(13), later(14)],
            flushes: [later(15), later(16)],
        })
    }

    /// As the counters of reads, writes and flushes.
    pub(crate) fn counters(&self) -> DeviceCounters {
        DeviceCounters {
            reads: self.ios[0],
            read: Bytes(self.sectors[0].saturating_mul(SECTOR)),
            writes: self.ios[1],
            written: Bytes(self.sectors[1].saturating_mul(SECTOR)),
            flushes: self.flushes[0],
        }
    }

    /// As what a disk did: `util` is left 0, because it is a share of a time that is not known here.
    pub(crate) fn disk_counts(&self) -> DiskCounts {
        DiskCounts {
            ios: self.ios,
            merges: self.merges,
            sectors: self.sectors,
            ticks: self.ticks,
            in_queue: self.queued,
            util: 0.0,
        }
    }
}

/// One `stat` file of sysfs, held open so that reading it is one system call.
#[derive(Debug)]
pub(crate) struct StatFile {
    path: PathBuf,
    file: File,
}

impl StatFile {
    /// That of the device with this number.
    pub(crate) fn open(sysfs: &Sysfs, number: Number) -> io::Result<StatFile> {
        let path = sysfs.link(number).join("stat");
        let file = File::open(&path)?;
        Ok(StatFile { path, file })
    }

    /// The counters now.
    pub(crate) fn read(&self) -> io::Result<BlockStat> {
        // 17 fields of at most 20 digits. Reading at the start makes the kernel write the file anew.
        let mut buffer = [0; 512];
        let length = self.file.read_at(&mut buffer, 0)?;
        let text = String::from_utf8_lossy(&buffer[..length]);
        BlockStat::parse(&text).ok_or_else(|| {
            let path = self.path.display();
            io::Error::new(
                io::ErrorKind::InvalidData,
                format!("`{path}` is not of the shape of Documentation/block/stat.rst: `{}`", text.trim()),
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_those_of_the_documentation() {
        let stat = BlockStat::parse("100 1 2000 5 300 2 4000 9 3 7 14 10 0 80 2 6 8\n").unwrap();
        assert_eq!((stat.ios, stat.merges, stat.sectors), ([100, 300], [1, 2], [2000, 4000]));
        assert_eq!((stat.ticks, stat.in_flight, stat.busy, stat.queued), ([5, 9], 3, 7, 14));
        assert_eq!((stat.discards, stat.flushes), ([10, 80, 2], [6, 8]));
        assert_eq!(stat.counters().written, Bytes(4000 * 512));
    }

    #[test]
    fn older_kernels_have_fewer_fields() {
        let stat = BlockStat::parse("100 1 2000 5 300 2 4000 9 0 7 14").unwrap();
        assert_eq!((stat.discards, stat.flushes), ([0; 3], [0; 2]));
        assert_eq!(BlockStat::parse("1 2 3"), None);
        assert_eq!(BlockStat::parse("100 1 2000 5 300 2 4000 9 0 7 x"), None);
    }
}
