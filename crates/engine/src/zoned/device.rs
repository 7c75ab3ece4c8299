//! Operations on zones: of the kernel, and of what has no zones of its own.

use std::fmt;
use std::fs::File;
use std::io;
use std::sync::Arc;

use iolite_sys::zoned::{self, Zone, ZoneKind};

/// Zones that a file or device without zones may be divided into: drives have a hundred thousand.
const MAX_ZONES: u64 = 1 << 22;

/// A device with zones. All positions are in bytes from its start.
pub trait ZoneDevice: fmt::Debug + Send + Sync {
    /// The zones that start in a range, in order.
    ///
    /// # Errors
    /// The device's.
    fn report(&self, from: u64, to: u64) -> io::Result<Vec<Zone>>;

    /// Empties a zone.
    ///
    /// # Errors
    /// The device's.
    fn reset(&self, start: u64, length: u64) -> io::Result<()>;

    /// Makes a zone full, whatever is written in it.
    ///
    /// # Errors
    /// The device's.
    fn finish(&self, start: u64, length: u64) -> io::Result<()>;

    /// Number of zones that may be open at once; `None` for no limit.
    fn max_open(&self) -> Option<u32>;

    /// Number of zones that may hold some data without being full (or be open) at once, whoever has written it; `None` for no limit.
    fn max_active(&self) -> Option<u32> {
        None
    }
}

/// A zoned block device of the kernel.
#[derive(Debug)]
pub(crate) struct KernelZones(pub(crate) Arc<File>);

impl ZoneDevice for KernelZones {
    fn report(&self, from: u64, to: u64) -> io::Result<Vec<Zone>> {
        zoned::report(&self.0, from, to)
    }

    fn reset(&self, start: u64, length: u64) -> io::Result<()> {
        zoned::reset(&self.0, start, length)
    }

    fn finish(&self, start: u64, length: u64) -> io::Result<()> {
        zoned::finish(&self.0, start, length)
    }

    fn max_open(&self) -> Option<u32> {
        zoned::max_open(&self.0)
    }

    fn max_active(&self) -> Option<u32> {
        zoned::max_active(&self.0)
    }
}

/// A file or device without zones that is used as if it had some: there is nothing to be done for a reset, and the write pointers
/// are only in memory.
#[derive(Debug)]
pub(crate) struct AssumedZones {
    /// Bytes of the file or device.
    pub(crate) whole: u64,
    /// Size of a zone.
    pub(crate) size: u64,
    /// Bytes of it that hold data.
    pub(crate) capacity: u64,
}

impl ZoneDevice for AssumedZones {
    fn report(&self, from: u64, to: u64) -> io::Result<Vec<Zone>> {
        let (size, capacity) = (self.size.max(1), self.capacity);
        let zones = from.div_ceil(size)..to.min(self.whole).div_ceil(size);
        if zones.end.saturating_sub(zones.start) > MAX_ZONES {
            let text = format!("zones of {size} bytes would be more than {MAX_ZONES}: use larger zones");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let zone = |number: u64| {
            let start = number * size;
            let length = size.min(self.whole - start);
            let (capacity, kind) = (capacity.min(length), ZoneKind::Sequential);
            Zone { start, length, capacity, write_pointer: start, kind, active: false }
        };
        Ok(zones.map(zone).collect())
    }

    fn reset(&self, _start: u64, _length: u64) -> io::Result<()> {
        Ok(())
    }

    fn finish(&self, _start: u64, _length: u64) -> io::Result<()> {
        Ok(())
    }

    fn max_open(&self) -> Option<u32> {
        None
    }
}
