//! Studies: the same operations under one circumstance after another, and what the comparison says.

use serde::{Deserialize, Serialize};

use crate::cache::Cache;
use crate::concluded::Conclusion;
use crate::storage::DeviceCounters;
use crate::units::{Bandwidth, Bytes, Iops, Nanos};

/// One measured window of a study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StudyWindow<C> {
    /// What is particular about it.
    #[serde(flatten)]
    pub circumstance: C,
    /// Its phase's index in the run.
    pub phase: u32,
    /// What the leaf devices counted meanwhile; `None` where there is no device to ask.
    pub device: Option<DeviceCounters>,
    /// Share of the span that was in the page cache before (0 to 1), where that is known.
    pub resident_before: Option<f64>,
    /// The same after the window.
    pub resident_after: Option<f64>,
}

/// Order of the offsets in a study.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Order {
    /// At random.
    Random,
    /// One after the other.
    Sequential,
}

impl Order {
    /// As printed: `random`, `sequential`.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// How reads reach the storage in a study of the page cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CacheWay {
    /// Through the page cache, which held nothing of the span beforehand.
    Cold,
    /// Through the page cache, which held all of the span as far as there was memory.
    Warm,
    /// Past the page cache (O_DIRECT).
    Direct,
    /// Past the page cache and the file system: on the device beneath.
    Raw,
}

impl CacheWay {
    /// As printed.
    pub const fn name(self) -> &'static str {
        match self {
            CacheWay::Cold => "buffered, cold",
            CacheWay::Warm => "buffered, warm",
            CacheWay::Direct => "direct",
            CacheWay::Raw => "raw device",
        }
    }
}

/// What is particular about a window of a study of the page cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CachePoint {
    /// How the reads reach the storage.
    pub way: CacheWay,
    /// Order of the offsets.
    pub order: Order,
}

/// What is particular about a window of a study of read-ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ReadAheadPoint {
    /// The setting in effect.
    #[serde(rename = "read_ahead_bytes")]
    pub read_ahead: Bytes,
    /// Order of the offsets.
    pub order: Order,
}

/// What is particular about a window of a study of block sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BlockPoint {
    /// Size of each operation.
    #[serde(rename = "block_bytes")]
    pub block: Bytes,
    /// Share of reads in percent (0 to 100); the rest are writes.
    pub read_percent: u8,
}

/// What a study's windows say when they are compared. Its text says what was seen and what that means.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case", tag = "finding")]
pub enum StudyFinding {
    /// The page cache is much faster than what lies beneath.
    #[error(
        "{} reads from the page cache ran at {cached} IOPS, {factor:.1} times as fast as {beneath} ({stored} IOPS): without \
         direct I/O (direct=1 in fio), a test of this file measures memory, not storage, once the file is cached",
        .order.name()
    )]
    CacheIsFaster {
        /// Order of the offsets.
        order: Order,
        /// Rate out of the page cache.
        cached: Iops,
        /// What is compared with, in words.
        beneath: String,
        /// Rate of that.
        stored: Iops,
        /// Factor of the speed-up.
        factor: f64,
    },
    /// The page cache is hardly faster than what lies beneath.
    #[error(
        "{} reads from the page cache were not much faster ({factor:.1} times) than {beneath}: either the storage is as fast as \
         memory, or it is served by another cache",
        .order.name()
    )]
    CacheIsAlike {
        /// Order of the offsets.
        order: Order,
        /// What is compared with, in words.
        beneath: String,
        /// Factor of the speed-up.
        factor: f64,
    },
    /// Reads past the page cache did not reach the device.
    #[error(
        "{way}, {}: of {asked} requested, only {device} reached the device: a lower layer (the file of a loop device, a cache of \
         the file system or of the host) holds the data in memory",
        .order.name()
    )]
    CachedBeneath {
        /// How the reads went, in words.
        way: String,
        /// Order of the offsets.
        order: Order,
        /// Bytes asked for.
        asked: Bytes,
        /// Bytes the device read.
        device: Bytes,
    },
    /// The page cache could not be emptied.
    #[error(
        "{:.0} % of the region remained in the page cache although it was dropped (mapped, locked or used by another program): \
         the cold figures are too good", .resident * 100.0
    )]
    NotCold {
        /// Share of the span (0 to 1).
        resident: f64,
    },
    /// The page cache could not be filled.
    #[error(
        "only {:.0} % of the region was in the page cache for the warm figures: not enough memory, use a smaller --size",
        .resident * 100.0
    )]
    NotWarm {
        /// Share of the span (0 to 1).
        resident: f64,
    },
    /// The kernel read ahead.
    #[error(
        "{issued} sequential reads of {block} through the cold page cache became {requests} requests of {request} on the device: \
         because of the kernel's read-ahead, these figures do not describe reads of {block}"
    )]
    ReadAhead {
        /// Reads asked for.
        issued: u64,
        /// Size of each.
        block: Bytes,
        /// Requests that the device completed.
        requests: u64,
        /// Mean size of these.
        request: Bytes,
    },
    /// More was read than was asked for.
    #[error(
        "random reads caused {factor:.1} times the requested bytes to be read from the device{}: read-ahead, file system blocks \
         larger than the reads, or I/O of another program",
        at(*.read_ahead)
    )]
    Amplified {
        /// The setting of read-ahead, in a study of that.
        read_ahead: Option<Bytes>,
        /// Bytes the device read for each byte asked for.
        factor: f64,
    },
    /// What the file system costs.
    #[error("{} reads of the file had {file} IOPS, of the device beneath {raw} IOPS: {}", .order.name(), cost(*.file, *.raw))]
    FileSystem {
        /// Order of the offsets.
        order: Order,
        /// Rate of direct reads of the file.
        file: Iops,
        /// Rate of direct reads of the device.
        raw: Iops,
    },
    /// The read-ahead from which on sequential reads gain no more.
    #[error(
        "sequential reads reach {best_rate} with a read-ahead of {best} and gain nothing beyond; the current setting of \
         {present} gives {present_rate}{}", change(*.present, *.present_rate, *.best, *.best_rate)
    )]
    BestReadAhead {
        /// The smallest setting within 5 % of the largest rate.
        best: Bytes,
        /// Bytes a second with it.
        best_rate: Bandwidth,
        /// The setting found.
        present: Bytes,
        /// Bytes a second with that.
        present_rate: Bandwidth,
    },
    /// Sequential reads lose with more read-ahead than the best.
    #[error(
        "a larger read-ahead is slower: sequential reads reach {rate} with {read_ahead}, {best_rate} with {best}"
    )]
    TooMuchReadAhead {
        /// The larger setting with the lowest rate.
        read_ahead: Bytes,
        /// Bytes a second with it.
        rate: Bandwidth,
        /// The setting with the largest rate.
        best: Bytes,
        /// Bytes a second with that.
        best_rate: Bandwidth,
    },
    /// Read-ahead makes no difference to sequential reads.
    #[error("read-ahead does not affect sequential reads on this device: every setting gave {low} to {high}")]
    ReadAheadIdle {
        /// The lowest rate.
        low: Bandwidth,
        /// The highest rate.
        high: Bandwidth,
    },
    /// Random reads suffer from read-ahead.
    #[error(
        "random reads are slowed down: {with} IOPS with a read-ahead of {read_ahead}, because the device reads more than \
         requested, {without} IOPS with {min}: a small setting is better for a database"
    )]
    ReadAheadHurts {
        /// The setting with the lowest rate.
        read_ahead: Bytes,
        /// Rate with it.
        with: Iops,
        /// The smallest setting.
        min: Bytes,
        /// Rate with that.
        without: Iops,
    },
    /// Random reads do not suffer from read-ahead.
    #[error(
        "none of these settings slows down random reads: the kernel detects the random access, and the device reads no more than \
         requested"
    )]
    ReadAheadHarmless,
    /// Where the bandwidth is used up.
    #[error("{}: at most {max}; within 10 % of that from blocks of {block} on", mix(*.read_percent))]
    Bandwidth {
        /// Share of reads in percent.
        read_percent: u8,
        /// Bytes a second at most.
        max: Bandwidth,
        /// The smallest size within 10 % of that.
        block: Bytes,
    },
    /// Some windows were so short that their figures are rough.
    #[error(
        "some windows ended after {shortest}, because each block is read only once when it must come from the device: use a \
         larger file (--make, --size) for steadier figures"
    )]
    Short {
        /// The shortest.
        shortest: Nanos,
    },
    /// Up to which size operations cost the same.
    #[error("{}: at most {max} IOPS; {}", mix(*.read_percent), up_to(*.min, *.block))]
    Operations {
        /// Share of reads in percent.
        read_percent: u8,
        /// The smallest size tried.
        min: Bytes,
        /// Operations a second at most.
        max: Iops,
        /// The largest size within 10 % of that.
        block: Bytes,
    },
    /// Small blocks are slower than larger ones.
    #[error(
        "{}: blocks of {small} are slower ({slow} IOPS) than blocks of {block} ({fast} IOPS): the storage must read, modify and \
         write larger blocks", mix(*.read_percent)
    )]
    SmallBlocksSuffer {
        /// Share of reads in percent.
        read_percent: u8,
        /// The smallest size.
        small: Bytes,
        /// Rate with it.
        slow: Iops,
        /// The size with the highest rate.
        block: Bytes,
        /// Rate with that.
        fast: Iops,
    },
}

/// A mix in words: `100 % reads`, `70 % reads, 30 % writes`.
fn mix(read_percent: u8) -> String {
    match read_percent {
        100.. => "reads".to_owned(),
        0 => "writes".to_owned(),
        percent => format!("{percent} % reads and {} % writes", 100 - percent),
    }
}

fn up_to(min: Bytes, block: Bytes) -> String {
    if block == min {
        format!("every size above {min} has fewer")
    } else {
        format!("blocks up to {block} cost hardly more than smaller ones")
    }
}

fn at(read_ahead: Option<Bytes>) -> String {
    read_ahead.map_or_else(String::new, |read_ahead| format!(" with a read-ahead of {read_ahead}"))
}

/// What to do about the present setting: one that is within 5 % of the best is left alone.
fn change(present: Bytes, present_rate: Bandwidth, best: Bytes, best_rate: Bandwidth) -> &'static str {
    match (present_rate.0 >= best_rate.0 * 0.95, present < best) {
        (true, _) => ": leave it as it is",
        (false, true) => "; a larger one would serve scans and backups",
        (false, false) => "; a smaller one would serve scans and backups",
    }
}

fn cost(file: Iops, raw: Iops) -> String {
    let share = (1.0 - file.0 / raw.0) * 100.0;
    if share > 3.0 {
        format!("the file system takes {share:.0} %")
    } else {
        "the file system costs next to nothing".to_owned()
    }
}

impl<C> StudyWindow<C> {
    /// Bytes read and requests done by the device for a phase that asked for `cache`, as (asked, device, requests);
    /// `None` where there is no device to ask or nothing was asked.
    pub fn reads(&self, cache: &Cache) -> Option<(Bytes, Bytes, u64)> {
        let device = self.device?;
        (cache.requested_read.0 > 0).then_some((cache.requested_read, device.read, device.reads))
    }
}

impl<C: Serialize + serde::de::DeserializeOwned> Conclusion for StudyWindow<C> {
    const KIND: &'static str = "study-window";
}

/// The setting that a study changed, and restored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StudySetting {
    /// The device whose setting it is.
    pub device: String,
    /// What it was before, and is again.
    #[serde(rename = "original_bytes")]
    pub original: Bytes,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_read_as_sentences() {
        let faster = StudyFinding::CacheIsFaster {
            order: Order::Random,
            cached: Iops(400_000.0),
            beneath: "direct reads".into(),
            stored: Iops(10_000.0),
            factor: 40.0,
        };
        assert_eq!(
            faster.to_string(),
            "random reads from the page cache ran at 400,000 IOPS, 40.0 times as fast as direct reads (10,000 IOPS): without \
             direct I/O (direct=1 in fio), a test of this file measures memory, not storage, once the file is cached"
        );
        let file = |file, raw| StudyFinding::FileSystem {
            order: Order::Sequential,
            file: Iops(file),
            raw: Iops(raw),
        };
        assert!(file(90.0, 100.0).to_string().ends_with("the file system takes 10 %"));
        assert!(file(99.0, 100.0).to_string().ends_with("next to nothing"));
    }
}
