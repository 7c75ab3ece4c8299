//! Where a phase's bytes came from and went to: device or cache.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::units::Bytes;

/// What a phase requested, and how much of it is known to have reached the leaf devices.
///
/// Counters are read when the phase is released, so that the creation of its files is no part of it, and when its last operation
/// has completed; the ramp is included.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Cache {
    /// Bytes requested to be read.
    #[serde(rename = "requested_read_bytes")]
    pub requested_read: Bytes,
    /// Bytes requested to be written.
    #[serde(rename = "requested_written_bytes")]
    pub requested_written: Bytes,
    /// Bytes the leaf devices read for anybody, `None` where there is no device to ask.
    #[serde(rename = "device_read_bytes")]
    pub device_read: Option<Bytes>,
    /// Bytes the leaf devices wrote for anybody, `None` where there is no device to ask.
    #[serde(rename = "device_written_bytes")]
    pub device_written: Option<Bytes>,
    /// Flushes of their write caches that the leaf devices completed for anybody; `None` where there is no device to ask, or it has
    /// never counted one, as drivers do that work without a queue.
    #[serde(default)]
    pub device_flushes: Option<u64>,
    /// Bytes that this program's processes had read from block devices (/proc/PID/io, `read_bytes`); `None` where the kernel does
    /// not count them, or they don't show what the leaf devices did for this program.
    #[serde(default, rename = "own_read_bytes")]
    pub own_read: Option<Bytes>,
    /// Bytes that this program's processes sent to block devices: written directly, or dirtied (/proc/PID/io, `write_bytes`) less
    /// what is still dirty. `None` as for `own_read`.
    #[serde(default, rename = "own_written_bytes")]
    pub own_written: Option<Bytes>,
    /// Share of the target's span that was in the page cache before (0 to 1), where it is known.
    pub resident_before: Option<f64>,
    /// Share of the target's span that was in the page cache after (0 to 1), where it is known.
    pub resident_after: Option<f64>,
    /// Share of the target's span that holds no data on the device (0 to 1): holes, allocated but never written, trimmed. Reads of
    /// it need no medium. `None` where it is not known.
    #[serde(default)]
    pub unwritten: Option<f64>,
    /// Share of the target's span that is stored compressed (0 to 1). `None` where it is not known.
    #[serde(default)]
    pub compressed: Option<f64>,
    /// Share of the target's span that holds nothing but zeros (0 to 1), by samples taken before the reads. `None` where none were
    /// taken: in phases that read nothing, and of targets in which an earlier phase of the run found data.
    #[serde(default)]
    pub zeros: Option<f64>,
    /// Whether a server does the I/O whose processes may not be counted: then nothing that the devices read can be attributed to it.
    #[serde(default)]
    pub unattributed: bool,
    /// Whether direct I/O is known to bypass memory on this file system: by its type, or because it reports the alignment that
    /// direct I/O needs (statx(2), STATX_DIOALIGN). Others accept O_DIRECT and may serve from memory.
    #[serde(default)]
    pub direct_confirmed: bool,
    /// Whether all I/O is requested to bypass the page cache (O_DIRECT).
    #[serde(default)]
    pub direct: bool,
    /// Whether all that was written was made durable, at the latest when the last operation completed: by O_SYNC or O_DSYNC, by
    /// fsync or the like, or by a database's commits.
    #[serde(default)]
    pub synchronised: bool,
}

/// What [`Cache`] amounts to.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CacheStamp {
    /// At least 98 % of the bytes reached the device.
    Device,
    /// This share of the bytes (0 to 1) was served by a cache.
    PartlyCached(f64),
    /// Less than 2 % of the bytes reached the device.
    Cached,
    /// This share of what was read (0 to 1) was never written: no device has to read it.
    Unwritten(f64),
    /// This share of what was read (0 to 1) is stored compressed: the device read less than was requested.
    Compressed(f64),
    /// This share of what was read (0 to 1) is zeros, which a trimmed device or a thin volume need not store.
    Zeros(f64),
    /// Others used the device meanwhile, and their I/O cannot be distinguished.
    OtherIo,
    /// A database server did the I/O, and its processes may not be counted.
    ServerNotCounted,
    /// There is no block device beneath, or it keeps no counters.
    Unknown,
}

impl Cache {
    /// Share of the requested bytes that must reach the device for the stamp `device`, and must not for `cached`.
    const TOLERANCE: f64 = 0.02;

    /// A device that read this much more than was requested has done so for others, where that cannot be distinguished.
    const FOREIGN: f64 = 1.25;

    /// Share of zeros from which on the reads say little of the medium. Below, they are the empty blocks of a file with data.
    const ZEROS: f64 = 0.5;

    /// I/O beyond what was requested that needs no explanation: metadata of the file system.
    const METADATA: u64 = 1 << 20;

    /// Times that a byte written may be written to the device: a short append takes four blocks of journal.
    const JOURNAL: u64 = 8;

    /// Bytes written that were dirty before.
    const DIRTY: u64 = 64 << 20;

    /// Without so many bytes that were read meanwhile to verify what was written. Where a part of them may have come from the page
    /// cache, it is not known how much of what the devices have read was the workload's.
    #[must_use]
    pub fn without_verification(self, verified: Bytes) -> Cache {
        let rest = |read: Option<Bytes>| match verified {
            Bytes(0) => read,
            Bytes(verified) => {
                read.filter(|_| self.bypasses()).map(|read| Bytes(read.0.saturating_sub(verified)))
            }
        };
        Cache { device_read: rest(self.device_read), own_read: rest(self.own_read), ..self }
    }

    /// The stamp: from the reads where there are any, else from the writes.
    ///
    /// Reads decide in a mix, because a device's writes include what the log and the file system add.
    pub fn stamp(&self) -> CacheStamp {
        if self.requested_read.0 == 0 {
            return self.stamp_of_writes();
        }
        let noticeable = |share: Option<f64>| share.filter(|&share| share >= Self::TOLERANCE);
        if let Some(share) = noticeable(self.unwritten) {
            return CacheStamp::Unwritten(share);
        }
        if let Some(share) = noticeable(self.compressed) {
            return CacheStamp::Compressed(share);
        }
        if let Some(share) = self.zeros.filter(|&share| share >= Self::ZEROS) {
            return CacheStamp::Zeros(share);
        }
        let requested = self.requested_read.0;
        match (self.device_read, self.own_read) {
            (Some(device), Some(own)) => stamp_of(requested, device.0.min(own.0)),
            // However much it was, others may have read it. Only that nobody read anything is known.
            (Some(device), None)
                if self.unattributed && device.0 as f64 >= requested as f64 * Self::TOLERANCE =>
            {
                CacheStamp::ServerNotCounted
            }
            (Some(device), None) => {
                // What was in the page cache beforehand cannot have come from a device, however much others read from it.
                let absent =
                    1.0 - noticeable(self.resident_before.filter(|_| !self.bypasses())).unwrap_or(0.0);
                match device.0 {
                    _ if absent < Self::TOLERANCE => CacheStamp::Cached,
                    device if beyond(device, requested) => CacheStamp::OtherIo,
                    device => stamp_of_share((device as f64 / requested as f64).min(absent)),
                }
            }
            (None, _) => match noticeable(self.resident_before) {
                Some(resident) => stamp_of_share(1.0 - resident),
                None => CacheStamp::Unknown,
            },
        }
    }

    /// Whether the page cache is known to have no part in the I/O.
    const fn bypasses(&self) -> bool {
        self.direct && self.direct_confirmed
    }

    /// The stamp of the writes alone.
    pub fn stamp_of_writes(&self) -> CacheStamp {
        let requested = self.requested_written.0;
        match (self.device_written, self.own_written) {
            _ if requested == 0 => CacheStamp::Unknown,
            (Some(device), Some(own)) => stamp_of(requested, device.0.min(own.0)),
            (Some(device), None) => match stamp_of(requested, device.0) {
                // Others can only have added to what the device wrote. More than was requested need not be theirs: journals and
                // metadata are written too. That this program's part is among it is known only where its writes did not stay in memory.
                CacheStamp::Device if self.synchronised || self.bypasses() => CacheStamp::Device,
                CacheStamp::Device if self.unattributed => CacheStamp::ServerNotCounted,
                CacheStamp::Device => CacheStamp::OtherIo,
                less => less,
            },
            (None, _) => CacheStamp::Unknown,
        }
    }

    /// Whether the devices wrote far more than this program: journals, metadata and what was dirty before are no more than that.
    pub fn foreign_writes(&self) -> bool {
        let expected = self.own_written.unwrap_or(self.requested_written).0.saturating_mul(Self::JOURNAL);
        self.device_written.is_some_and(|written| written.0 > expected.saturating_add(Self::DIRTY))
    }

    /// Bytes that the devices read for others, where that is known: much more than this program's own, or than it requested.
    pub fn foreign_read(&self) -> Option<Bytes> {
        let expected = self.own_read.unwrap_or(self.requested_read);
        let device = self.device_read?;
        beyond(device.0, expected.0).then(|| Bytes(device.0 - expected.0))
    }
}

fn beyond(device: u64, expected: u64) -> bool {
    device as f64 > expected as f64 * Cache::FOREIGN + Cache::METADATA as f64
}

fn stamp_of(requested: u64, reached: u64) -> CacheStamp {
    stamp_of_share(reached as f64 / requested as f64)
}

fn stamp_of_share(reached: f64) -> CacheStamp {
    match reached {
        reached if reached >= 1.0 - Cache::TOLERANCE => CacheStamp::Device,
        reached if reached < Cache::TOLERANCE => CacheStamp::Cached,
        reached => CacheStamp::PartlyCached(1.0 - reached),
    }
}

impl CacheStamp {
    /// Without its share: `device`, `partly cached`, `cached`, `unwritten`, `compressed`, `zeros`,
    /// `unknown (other I/O on the device)`, `unknown (server I/O not counted)`, `unknown`.
    pub const fn name(self) -> &'static str {
        match self {
            CacheStamp::Device => "device",
            CacheStamp::PartlyCached(_) => "partly cached",
            CacheStamp::Cached => "cached",
            CacheStamp::Unwritten(_) => "unwritten",
            CacheStamp::Compressed(_) => "compressed",
            CacheStamp::Zeros(_) => "zeros",
            CacheStamp::OtherIo => "unknown (other I/O on the device)",
            CacheStamp::ServerNotCounted => "unknown (server I/O not counted)",
            CacheStamp::Unknown => "unknown",
        }
    }

    /// The share (0 to 1) that is cached, unwritten, compressed or zeros, where the stamp has one.
    pub const fn share(self) -> Option<f64> {
        match self {
            CacheStamp::PartlyCached(share)
            | CacheStamp::Unwritten(share)
            | CacheStamp::Compressed(share)
            | CacheStamp::Zeros(share) => Some(share),
            CacheStamp::Device
            | CacheStamp::Cached
            | CacheStamp::OtherIo
            | CacheStamp::ServerNotCounted
            | CacheStamp::Unknown => None,
        }
    }

    /// What it means for the figures, as a sentence's end.
    pub const fn meaning(self) -> &'static str {
        match self {
            CacheStamp::Device => "what was requested reached the device",
            CacheStamp::PartlyCached(_) => "a cache served a part of it",
            CacheStamp::Cached => "memory served it, not the device",
            CacheStamp::Unwritten(_) => "no device has to read what was never written: fill the target first",
            CacheStamp::Compressed(_) => "the device read less than requested: use incompressible data",
            CacheStamp::Zeros(_) => {
                "a trimmed device or a thin volume stores no zeros: fill the target with other data first"
            }
            CacheStamp::OtherIo => {
                "its I/O cannot be distinguished from that of other programs: repeat when the device is idle"
            }
            CacheStamp::ServerNotCounted => {
                "the server's processes do the I/O, and this user, kernel or file system does not count it: run iolite as root or as \
                 the server's user"
            }
            CacheStamp::Unknown => "no device counters show whether it was reached",
        }
    }
}

impl fmt::Display for CacheStamp {
    /// Its name, with its share in percent: `device`, `partly cached (37 %)`...
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.share() {
            Some(share) => f.pad(&format!("{} ({:.0} %)", self.name(), share * 100.0)),
            None => f.pad(self.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads(requested: u64, device: Option<u64>) -> Cache {
        Cache { requested_read: Bytes(requested), device_read: device.map(Bytes), ..Cache::default() }
    }

    /// A mix served by a cache, whose writes were read back from the device meanwhile.
    #[test]
    fn what_was_read_to_verify_is_not_the_workload_s() {
        let cache = Cache { own_read: Some(Bytes(1000)), ..reads(1000, Some(1000)) };
        let direct = Cache { direct: true, direct_confirmed: true, ..cache };
        assert_eq!(direct.without_verification(Bytes(990)).stamp(), CacheStamp::Cached);
        assert_eq!(direct.without_verification(Bytes(0)).stamp(), CacheStamp::Device);
        // Some of that may have come from the page cache.
        assert_eq!(cache.without_verification(Bytes(990)).stamp(), CacheStamp::Unknown);
        assert_eq!(cache.without_verification(Bytes(0)).stamp(), CacheStamp::Device);
    }

    #[test]
    fn stamps_follow_the_share_that_reached_the_device() {
        let stamp = |requested, device| reads(requested, device).stamp().to_string();
        assert_eq!(stamp(1000, Some(1000)), "device");
        assert_eq!(stamp(1000, Some(980)), "device");
        assert_eq!(stamp(1000, Some(1500)), "device");
        assert_eq!(stamp(1000, Some(630)), "partly cached (37 %)");
        assert_eq!(stamp(1000, Some(19)), "cached");
        assert_eq!(stamp(1000, None), "unknown");
        assert_eq!(stamp(0, Some(0)), "unknown");
        let resident =
            |share| Cache { resident_before: Some(share), ..reads(1000, None) }.stamp().to_string();
        assert_eq!(
            [resident(0.0), resident(0.5), resident(1.0)],
            ["unknown", "partly cached (50 %)", "cached"]
        );
    }

    #[test]
    fn a_neighbour_does_not_turn_cached_into_device() {
        const MIB: u64 = 1 << 20;
        let beside =
            |own: Option<u64>| Cache { own_read: own.map(Bytes), ..reads(63 * MIB, Some(4500 * MIB)) };
        assert_eq!(beside(Some(0)).stamp(), CacheStamp::Cached);
        assert_eq!(beside(Some(63 * MIB)).stamp(), CacheStamp::Device);
        assert_eq!(beside(None).stamp().to_string(), "unknown (other I/O on the device)");
        assert_eq!(beside(Some(63 * MIB)).foreign_read(), Some(Bytes(4437 * MIB)));
        assert_eq!(reads(63 * MIB, Some(63 * MIB)).foreign_read(), None);
    }

    #[test]
    fn a_neighbour_does_not_make_cached_writes_the_devices() {
        let writes = |written| Cache {
            requested_written: Bytes(1000),
            device_written: Some(Bytes(written)),
            direct_confirmed: true,
            ..Cache::default()
        };
        // Buffered and not counted: a neighbour wrote as much, or more.
        for written in [980, 1000, 1200, 90_000] {
            assert_eq!(writes(written).stamp(), CacheStamp::OtherIo, "{written}");
        }
        // Others only add: what the device has not written is in memory for certain.
        assert_eq!(writes(19).stamp(), CacheStamp::Cached);
        assert_eq!(writes(630).stamp().to_string(), "partly cached (37 %)");
        // Whatever others wrote, what was synchronised or written directly is on the device too.
        let certain =
            [Cache { synchronised: true, ..writes(90_000) }, Cache { direct: true, ..writes(1000) }];
        assert!(certain.iter().all(|cache| cache.stamp() == CacheStamp::Device), "{certain:?}");
        let accepted = Cache { direct: true, direct_confirmed: false, ..writes(1000) };
        assert_eq!(accepted.stamp(), CacheStamp::OtherIo, "O_DIRECT is accepted, and perhaps not heeded");
        let server = Cache { unattributed: true, ..writes(3000) };
        assert_eq!(server.stamp(), CacheStamp::ServerNotCounted);
        assert_eq!(Cache { synchronised: true, ..server }.stamp(), CacheStamp::Device);
    }

    #[test]
    fn what_is_resident_is_not_read_from_the_device_by_a_neighbour() {
        let beside =
            |resident, device| Cache { resident_before: Some(resident), ..reads(1000, Some(device)) };
        for device in [980, 1000, 1250, 70_000_000] {
            assert_eq!(beside(1.0, device).stamp(), CacheStamp::Cached, "{device}");
        }
        assert_eq!(beside(0.4, 1000).stamp().to_string(), "partly cached (40 %)");
        assert_eq!(beside(0.4, 300).stamp().to_string(), "partly cached (70 %)");
        assert_eq!(beside(0.0, 1000).stamp(), CacheStamp::Device);
        // Direct reads don't take what is resident.
        let direct = Cache { direct: true, direct_confirmed: true, ..beside(1.0, 1000) };
        assert_eq!(direct.stamp(), CacheStamp::Device);
    }

    #[test]
    fn of_a_server_that_may_not_be_counted_only_rest_is_known() {
        let stamp = |device| Cache { unattributed: true, ..reads(1000, device) }.stamp();
        // Cached, beside a neighbour that happened to read as much as was requested.
        assert_eq!(
            [stamp(Some(980)), stamp(Some(1100)), stamp(Some(4000))],
            [CacheStamp::ServerNotCounted; 3]
        );
        assert_eq!((stamp(Some(10)), stamp(None)), (CacheStamp::Cached, CacheStamp::Unknown));
        let shown =
            [CacheStamp::ServerNotCounted.to_string(), CacheStamp::ServerNotCounted.meaning().to_owned()];
        assert!(shown.iter().all(|text| !text.contains("other")), "no other program is blamed: {shown:?}");
    }

    #[test]
    fn what_no_device_has_to_read_is_stamped_so() {
        let zeros = |share| Cache { zeros: Some(share), ..reads(1000, Some(1000)) }.stamp().to_string();
        assert_eq!([zeros(0.4), zeros(0.95)], ["device", "zeros (95 %)"]);
        let hole = Cache { unwritten: Some(0.5), ..reads(1000, Some(500)) };
        assert_eq!(hole.stamp().to_string(), "unwritten (50 %)");
        let packed = Cache { compressed: Some(1.0), unwritten: Some(0.01), ..reads(1000, Some(60)) };
        assert_eq!(packed.stamp().to_string(), "compressed (100 %)");
        let written = Cache {
            requested_written: Bytes(1000),
            device_written: Some(Bytes(1000)),
            synchronised: true,
            ..Cache::default()
        };
        assert_eq!(Cache { unwritten: Some(1.0), ..written }.stamp(), CacheStamp::Device);
    }

    #[test]
    fn writes_decide_only_where_nothing_is_read() {
        let mut cache = reads(1000, Some(0));
        cache.requested_written = Bytes(1000);
        cache.device_written = Some(Bytes(3000));
        assert_eq!(cache.stamp(), CacheStamp::Cached);
        cache.requested_read = Bytes(0);
        cache.synchronised = true;
        assert_eq!(cache.stamp(), CacheStamp::Device);
        cache.own_written = Some(Bytes(0));
        assert_eq!(cache.stamp(), CacheStamp::Cached);
    }
}
