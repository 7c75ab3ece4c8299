//! How a task uses a zoned block device.

use serde::{Deserialize, Serialize};

use crate::units::Bytes;

/// Use of a zoned block device, whose zones are written at their write pointers only. Regular files and other block devices are
/// used as if they had zones, which are empty at the start of a set of tasks, whatever they hold.
///
/// Whatever the order of the offsets, a write goes to the write pointer of its zone, a read to data that has been written, and a
/// trim resets a zone. A random offset chooses the zone; in sequential orders the zones follow one another. A full zone that is
/// written again is reset before. One write of a zone is in flight at a time.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Zoned {
    /// Size of a zone; 0 for that of the device. What has no zones of its own needs one, of at least 512 bytes.
    pub size: Bytes,
    /// Bytes from the start of a zone that hold data; 0 for all of it. A zoned device has its own.
    pub capacity: Bytes,
    /// In sequential orders, bytes left out after each zone: a multiple of the size.
    pub skip: Bytes,
    /// Maximum number of zones that all tasks that start together write to at the same time; 0 for the limit of the device.
    pub max_open: u32,
    /// Maximum number of zones that each worker of the task writes to at the same time; 0 for no limit of its own.
    pub max_open_per_worker: u32,
    /// Allows more open zones than the device's own limit.
    pub ignore_limits: bool,
    /// Reads go anywhere, also beyond write pointers, where there is no data.
    pub read_beyond: bool,
    /// Resets zones from time to time before they are written, as garbage collection does.
    pub resets: Option<ZoneResets>,
    /// A write that does not fit into its zone any more is shortened to what is left, instead of finishing the zone.
    pub write_remainder: bool,
    /// After a write that failed, the zone's write pointer is read from the device.
    pub recover: bool,
}

/// Resets of zones that are due from time to time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ZoneResets {
    /// Share of the capacity, 0 to 1, above which zones are reset.
    pub threshold: f64,
    /// Resets for each write, 0 to 1.
    pub frequency: f64,
}
