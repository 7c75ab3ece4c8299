//! Zones of zoned block devices (linux/blkzoned.h): report, reset and finish.

use std::fs::File;
use std::io;

use rustix::ioctl::{self, Getter, Setter, Updater};

use crate::device;

/// `BLKREPORTZONE`: takes a header with the first sector and the number of zones, and fills in that many of them.
const BLKREPORTZONE: ioctl::Opcode = ioctl::opcode::read_write::<Header>(0x12, 130);
/// `BLKRESETZONE`: takes a range of whole zones.
const BLKRESETZONE: ioctl::Opcode = ioctl::opcode::write::<Range>(0x12, 131);
/// `BLKGETZONESZ`: the zone size in sectors; 0 for a device without zones.
const BLKGETZONESZ: ioctl::Opcode = ioctl::opcode::read::<u32>(0x12, 132);
/// `BLKFINISHZONE`: takes a range of whole zones.
const BLKFINISHZONE: ioctl::Opcode = ioctl::opcode::write::<Range>(0x12, 136);

/// Bytes that the interface counts in, whatever the device's blocks.
const SECTOR: u64 = 512;

/// Zones that one call reports: 16 KiB of them.
const REPORTED: usize = 256;

/// `BLK_ZONE_REP_CAPACITY`: the zones' capacities are filled in (Linux 5.9).
const HAS_CAPACITY: u32 = 1;

/// `struct blk_zone_report` without its zones.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Header {
    sector: u64,
    zones: u32,
    flags: u32,
}

/// `struct blk_zone`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct RawZone {
    start: u64,
    length: u64,
    write_pointer: u64,
    kind: u8,
    condition: u8,
    non_sequential: u8,
    reset: u8,
    reserved: [u8; 4],
    capacity: u64,
    reserved_too: [u8; 24],
}

/// `struct blk_zone_report` with room for its zones.
#[repr(C)]
struct Report {
    header: Header,
    zones: [RawZone; REPORTED],
}

/// `struct blk_zone_range`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Range {
    sector: u64,
    sectors: u64,
}

/// How a zone may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ZoneKind {
    /// Anywhere.
    Conventional,
    /// At its write pointer only.
    Sequential,
    /// Not at all: it is offline, or can only be read.
    Unusable,
}

/// A zone as the device reports it; all in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Zone {
    /// First byte.
    pub start: u64,
    /// Length, which its successor starts after.
    pub length: u64,
    /// Bytes from the start that hold data.
    pub capacity: u64,
    /// First byte that is not written; of a conventional zone its end.
    pub write_pointer: u64,
    /// How it may be written.
    pub kind: ZoneKind,
    /// It is open or closed, and takes one of the zones that the device lets be active.
    pub active: bool,
}

impl Zone {
    fn of(raw: &RawZone, has_capacity: bool) -> Zone {
        // Conditions of linux/blkzoned.h.
        let (full, read_only, offline) = (raw.condition == 14, raw.condition == 13, raw.condition == 15);
        let start = raw.start.saturating_mul(SECTOR);
        let length = raw.length.saturating_mul(SECTOR);
        let capacity = if has_capacity { raw.capacity.saturating_mul(SECTOR) } else { length };
        let conventional = raw.kind == 1;
        // The write pointer of a full zone is not valid.
        let write_pointer = match () {
            () if conventional => start.saturating_add(length),
            () if full => start.saturating_add(capacity),
            () => raw.write_pointer.saturating_mul(SECTOR),
        };
        let kind = match () {
            () if read_only || offline => ZoneKind::Unusable,
            () if conventional => ZoneKind::Conventional,
            () => ZoneKind::Sequential,
        };
        // Implicitly open, explicitly open, closed.
        let active = !conventional && matches!(raw.condition, 2..=4);
        Zone { start, length, capacity, write_pointer, kind, active }
    }
}

/// Size of the zones of a file's device in bytes; `None` for what has no zones.
///
/// # Errors
/// The kernel's, apart from those of what has no zones.
pub fn zone_size(file: &File) -> io::Result<Option<u64>> {
    if !device::is_block_device(file)? {
        return Ok(None);
    }
    // SAFETY: BLKGETZONESZ writes a u32 (block/ioctl.c) to the pointer it is given, and keeps none.
    match unsafe { ioctl::ioctl(file, Getter::<BLKGETZONESZ, u32>::new()) } {
        Ok(0) | Err(rustix::io::Errno::NOTTY | rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::INVAL) => {
            Ok(None)
        }
        Ok(sectors) => Ok(Some(u64::from(sectors) * SECTOR)),
        Err(error) => Err(error.into()),
    }
}

/// The zones of a zoned block device that start in a range of bytes, in order.
///
/// # Errors
/// The kernel's: `ENOTTY` for a device without zones.
pub fn report(file: &File, from: u64, to: u64) -> io::Result<Vec<Zone>> {
    let mut zones: Vec<Zone> = Vec::new();
    let mut at = from;
    while at < to {
        let header = Header { sector: at / SECTOR, zones: REPORTED as u32, flags: 0 };
        let mut report = Box::new(Report { header, zones: [RawZone::default(); REPORTED] });
        // SAFETY: BLKREPORTZONE reads the header, and writes it and at most as many zones as it says (block/blk-zoned.c,
        // blkdev_report_zones_ioctl) behind it, where `Report` has room for REPORTED of them; it keeps no pointer.
        unsafe { ioctl::ioctl(file, Updater::<BLKREPORTZONE, Report>::new(&mut report)) }?;
        let found = (report.header.zones as usize).min(REPORTED);
        let has_capacity = report.header.flags & HAS_CAPACITY != 0;
        let these = report.zones[..found].iter().map(|raw| Zone::of(raw, has_capacity));
        zones.extend(these.filter(|zone| zone.start < to));
        let Some(next) = report.zones[..found].last().map(|last| (last.start + last.length) * SECTOR) else {
            break;
        };
        if next <= at {
            break;
        }
        at = next;
    }
    Ok(zones)
}

/// Resets the zones of a range: they are empty.
///
/// # Errors
/// The kernel's: `EBADF` where the file is not open for writing, `EINVAL` for what is not a range of whole zones.
pub fn reset(file: &File, start: u64, length: u64) -> io::Result<()> {
    let range = Range { sector: start / SECTOR, sectors: length / SECTOR };
    // SAFETY: BLKRESETZONE reads a blk_zone_range (block/blk-zoned.c, blkdev_zone_mgmt_ioctl) from the pointer it is given, and
    // keeps none.
    unsafe { ioctl::ioctl(file, Setter::<BLKRESETZONE, Range>::new(range)) }?;
    Ok(())
}

/// Finishes the zones of a range: they are full, whatever is written in them.
///
/// # Errors
/// As [`reset`].
pub fn finish(file: &File, start: u64, length: u64) -> io::Result<()> {
    let range = Range { sector: start / SECTOR, sectors: length / SECTOR };
    // SAFETY: BLKFINISHZONE reads a blk_zone_range (block/blk-zoned.c, blkdev_zone_mgmt_ioctl) from the pointer it is given, and
    // keeps none.
    unsafe { ioctl::ioctl(file, Setter::<BLKFINISHZONE, Range>::new(range)) }?;
    Ok(())
}

/// Number of zones that a device lets be open, or active (open or closed), at once: the smaller limit; `None` for no limit.
pub fn max_open(file: &File) -> Option<u32> {
    [limit(file, "max_open_zones"), max_active(file)].into_iter().flatten().min()
}

/// Number of zones that a device lets be active (open or closed) at once; `None` for no limit.
pub fn max_active(file: &File) -> Option<u32> {
    limit(file, "max_active_zones")
}

fn limit(file: &File, name: &str) -> Option<u32> {
    let number = device::device_number(file).ok()??;
    let limit = device::queue(number, name).and_then(|limit| u32::try_from(limit).ok());
    limit.filter(|limit| *limit > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{FileExt, OpenOptionsExt};

    #[test]
    fn the_structures_have_the_kernels_layout() {
        assert_eq!((size_of::<Header>(), size_of::<RawZone>(), size_of::<Range>()), (16, 64, 16));
        assert_eq!(std::mem::offset_of!(RawZone, kind), 24);
        assert_eq!(std::mem::offset_of!(RawZone, capacity), 32);
        assert_eq!(std::mem::offset_of!(Report, zones), 16);
    }

    #[test]
    fn a_report_is_in_bytes_and_knows_conditions() {
        let raw = RawZone {
            start: 8,
            length: 16,
            write_pointer: 10,
            kind: 2,
            condition: 2,
            capacity: 12,
            ..RawZone::default()
        };
        let open = Zone {
            start: 4096,
            length: 8192,
            capacity: 6144,
            write_pointer: 5120,
            kind: ZoneKind::Sequential,
            active: true,
        };
        assert_eq!(Zone::of(&raw, true), open);
        assert_eq!(Zone::of(&raw, false), Zone { capacity: 8192, ..open });
        let full = RawZone { condition: 14, write_pointer: u64::MAX, ..raw };
        assert_eq!(Zone::of(&full, true), Zone { write_pointer: 10_240, active: false, ..open });
        assert_eq!(Zone::of(&RawZone { condition: 15, ..raw }, true).kind, ZoneKind::Unusable);
        let conventional = Zone::of(&RawZone { kind: 1, condition: 0, ..raw }, true);
        assert_eq!((conventional.kind, conventional.write_pointer), (ZoneKind::Conventional, 12_288));
    }

    #[test]
    fn files_and_other_devices_have_no_zones() {
        let file = tempfile::tempfile().unwrap();
        assert_eq!(zone_size(&file).unwrap(), None);
        assert!(report(&file, 0, 4096).is_err() && reset(&file, 0, 4096).is_err());
        if let Some(device) = crate::testing::LoopDevice::new(8 << 20) {
            assert_eq!(zone_size(&device.open()).unwrap(), None);
            assert_eq!((max_open(&device.open()), max_active(&device.open())), (None, None));
        }
    }

    /// A zoned device of this machine that holds nothing, named by the variable IOLITE_TEST_ZONED.
    #[test]
    fn a_zone_of_a_real_device_is_written_and_reset() {
        let Some(path) = std::env::var_os("IOLITE_TEST_ZONED") else {
            eprintln!("skipped: IOLITE_TEST_ZONED names no zoned block device that may be overwritten");
            return;
        };
        let file =
            fs::OpenOptions::new().read(true).write(true).custom_flags(libc::O_DIRECT).open(path).unwrap();
        let size = zone_size(&file).unwrap().expect("a zoned block device");
        let zones = report(&file, 0, u64::MAX).unwrap();
        let zone = zones.iter().find(|zone| zone.kind == ZoneKind::Sequential).expect("a sequential zone");
        assert_eq!(zone.length, size);
        let now = || report(&file, zone.start, zone.start + 1).unwrap()[0].write_pointer - zone.start;
        reset(&file, zone.start, zone.length).unwrap();
        assert_eq!(now(), 0);
        let block = crate::buffer::AlignedBuffer::new(4096).unwrap();
        file.write_all_at(block.as_slice(), zone.start).unwrap();
        assert_eq!(now(), 4096);
        assert!(file.write_all_at(block.as_slice(), zone.start).is_err(), "not at the write pointer");
        finish(&file, zone.start, zone.length).unwrap();
        assert_eq!(now(), zone.capacity);
        reset(&file, zone.start, zone.length).unwrap();
        assert_eq!(now(), 0);
    }
}
