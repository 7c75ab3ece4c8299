//! How much of what was asked for reached the device, and how much of the target was in the page cache.

use std::fs::File;

use iolite_model::{Bytes, Cache, DeviceCounters};
use iolite_sys::page_cache;

use crate::LeafCounters;

/// Watches the leaf devices and the page cache over a phase. A probe that fails yields `None`, never an error.
#[derive(Debug)]
pub struct CacheProbe<'a> {
    counters: Option<&'a LeafCounters>,
    target: Option<(&'a File, u64)>,
    counted: Option<DeviceCounters>,
    resident: Option<f64>,
}

impl<'a> CacheProbe<'a> {
    /// Notes the state before a phase, of the devices (`counters`) and of the first bytes of the target (`target`: a
    /// file and the length of its span in bytes).
    pub fn start(counters: Option<&'a LeafCounters>, target: Option<(&'a File, u64)>) -> CacheProbe<'a> {
        // The residency first: looking for it must not come between the counters and the phase.
        let resident = target.and_then(resident_share);
        CacheProbe { counters, target, counted: counters.and_then(read), resident }
    }

    /// Compares with the state now, after a phase that asked for these many bytes, its ramp included.
    ///
    /// Call it when the last operation has completed. What is written to the page cache and not yet written back
    /// has not reached the device, and is not counted.
    pub fn finish(self, requested_read: Bytes, requested_written: Bytes) -> Cache {
        let now = self.counters.and_then(read);
        let counted = now.zip(self.counted).map(|(now, before)| now.since(before));
        Cache {
            requested_read,
            requested_written,
            device_read: counted.map(|counted| counted.read),
            device_written: counted.map(|counted| counted.written),
            resident_before: self.resident,
            resident_after: self.target.and_then(resident_share),
        }
    }
}

fn read(counters: &LeafCounters) -> Option<DeviceCounters> {
    counters.read().ok()
}

/// The share (0 to 1) of a file's first `length` bytes that is in the page cache.
fn resident_share((file, length): (&File, u64)) -> Option<f64> {
    if length == 0 {
        return None;
    }
    let resident = page_cache::resident_bytes(file, 0, length).ok()?;
    Some(resident as f64 / length as f64)
}

#[cfg(test)]
mod tests {
    use iolite_model::CacheStamp;

    use super::*;
    use crate::leaf_counters::tests::{LENGTH, direct_file, read_all};

    #[test]
    fn direct_reads_reach_the_device_and_cached_reads_do_not() {
        let (counters, file, direct) = match direct_file() {
            Ok(ready) => ready,
            Err(reason) => return eprintln!("skipped: {reason}"),
        };
        let probe = CacheProbe::start(Some(&counters), Some((&direct, LENGTH)));
        read_all(&direct);
        let cache = probe.finish(Bytes(LENGTH), Bytes(0));
        assert_eq!((cache.stamp(), cache.requested_read), (CacheStamp::Device, Bytes(LENGTH)));
        assert_eq!((cache.resident_before, cache.resident_after), (Some(0.0), Some(0.0)));

        // Through the cache: from the device into it.
        let probe = CacheProbe::start(Some(&counters), Some((&direct, LENGTH)));
        std::fs::read(file.path()).unwrap();
        let cache = probe.finish(Bytes(LENGTH), Bytes(0));
        assert_eq!((cache.resident_before, cache.resident_after), (Some(0.0), Some(1.0)));
        assert!(cache.device_read.unwrap().0 >= LENGTH, "{cache:?}");
    }

    #[test]
    fn what_cannot_be_told_is_none() {
        let cache = CacheProbe::start(None, None).finish(Bytes(1), Bytes(2));
        let expected = Cache { requested_read: Bytes(1), requested_written: Bytes(2), ..Cache::default() };
        assert_eq!((cache, cache.stamp()), (expected, CacheStamp::Unknown));
        let file = tempfile::tempfile().unwrap();
        assert_eq!(CacheProbe::start(None, Some((&file, 0))).finish(Bytes(1), Bytes(2)), expected);
    }
}
