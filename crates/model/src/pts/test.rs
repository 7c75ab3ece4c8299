//! The tests of the specification, and what each of them does.

use serde::{Deserialize, Serialize};

use crate::load::{SizeLaw, WeightedSize};
use crate::units::Bytes;

const K: u64 = 1024;

/// A test of the specification.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize,
    strum::EnumMessage,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum PtsTest {
    /// Random IOPS by mix and block size.
    Iops,
    /// Response times at queue depth 1.
    Latency,
    /// Sequential throughput by block size.
    Throughput,
    /// Random writes until four times the device size is written, or for 24 hours.
    WriteSaturation,
    /// Bursts of random writes after waits of 5 to 50 seconds (HIR).
    HostIdleRecovery,
    /// Sequential writes before and after random ones (XSR).
    CrossStimulusRecovery,
    /// Reads and writes of many sizes, most of them to a small part of the device (ECW).
    Composite,
    /// The composite workload by number of threads and queue depth.
    DemandVariation,
    /// Random 8 KiB, 65 % reads, by number of threads and queue depth, with response time histograms (DIRTH).
    DemandIntensity,
    /// Hard disks: random IOPS by zone.
    ZoneIops,
    /// Hard disks: sequential throughput by zone.
    ZoneThroughput,
}

/// What kind of use a device is tested for: settings that belong together.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize,
    strum::EnumMessage,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum PtsClass {
    /// All of the device, write cache off.
    Enterprise,
    /// 75 % of the device, write cache on.
    Client,
    /// All of the device by zones, without purge, preconditioning and steady state.
    HardDisk,
}

impl PtsClass {
    /// All classes.
    pub const ALL: &[PtsClass] = <PtsClass as strum::VariantArray>::VARIANTS;

    /// Its name in arguments and output.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The active range, in percent of the device.
    pub const fn range_percent(self) -> u64 {
        match self {
            PtsClass::Client => 75,
            PtsClass::Enterprise | PtsClass::HardDisk => 100,
        }
    }

    /// Whether the device's write cache is on; `None` where it stays as it is.
    pub const fn write_cache(self) -> Option<bool> {
        match self {
            PtsClass::Enterprise => Some(false),
            PtsClass::Client => Some(true),
            PtsClass::HardDisk => None,
        }
    }
}

/// How the device is purged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum PtsPurge {
    /// All blocks of the device are discarded, or of a file those of the active range.
    Discard,
    /// All blocks of the device are discarded, with the data erased (BLKSECDISCARD).
    SecureDiscard,
    /// NVMe Format with erasure of the user data.
    Format,
    /// NVMe Sanitize with block erase, or crypto erase where the drive has no block erase.
    Sanitize,
}

impl PtsPurge {
    /// Its name in arguments and output.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Block sizes of the composite workload with their percentages: those of the enterprise workload of JESD219, which the
/// specification uses.
const COMPOSITE: [(u64, f64); 12] = [
    (512, 4.0),
    (K, 1.0),
    (3 * K / 2, 1.0),
    (2 * K, 1.0),
    (5 * K / 2, 1.0),
    (3 * K, 1.0),
    (7 * K / 2, 1.0),
    (4 * K, 67.0),
    (8 * K, 10.0),
    (16 * K, 7.0),
    (32 * K, 3.0),
    (64 * K, 3.0),
];

/// The block sizes of the composite workload that are multiples of a logical block, with their percentages brought up to 100.
pub fn composite_sizes(logical_block: Bytes) -> SizeLaw {
    let fits = |size: u64| size.is_multiple_of(logical_block.0.max(1));
    let sizes: Vec<(u64, f64)> = COMPOSITE.into_iter().filter(|(size, _)| fits(*size)).collect();
    let total: f64 = sizes.iter().map(|(_, percent)| percent).sum();
    let weighted = |(size, percent)| WeightedSize { size: Bytes(size), percent: 100.0 * percent / total };
    SizeLaw::Split(sizes.into_iter().map(weighted).collect())
}

impl PtsTest {
    /// All of them, in the order in which they run.
    pub const ALL: &[PtsTest] = <PtsTest as strum::VariantArray>::VARIANTS;

    /// Its name in arguments and output.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The mixes of a round, in order: shares of reads in percent.
    pub const fn mixes(self) -> &'static [u8] {
        match self {
            PtsTest::Iops => &[100, 95, 65, 50, 35, 5, 0],
            PtsTest::Latency => &[100, 65, 0],
            PtsTest::Throughput | PtsTest::ZoneThroughput => &[100, 0],
            PtsTest::WriteSaturation | PtsTest::HostIdleRecovery | PtsTest::CrossStimulusRecovery => &[0],
            PtsTest::Composite | PtsTest::DemandVariation => &[40],
            PtsTest::DemandIntensity => &[65],
            PtsTest::ZoneIops => &[100, 50, 0],
        }
    }

    /// The specification's block sizes, the largest first; of the composite workload the largest only.
    pub const fn blocks(self) -> &'static [Bytes] {
        match self {
            PtsTest::Iops => &[
                Bytes(1024 * K),
                Bytes(128 * K),
                Bytes(64 * K),
                Bytes(32 * K),
                Bytes(16 * K),
                Bytes(8 * K),
                Bytes(4 * K),
                Bytes(512),
            ],
            PtsTest::Latency => &[Bytes(8 * K), Bytes(4 * K), Bytes(512)],
            PtsTest::Throughput => &[Bytes(1024 * K), Bytes(64 * K), Bytes(8 * K), Bytes(4 * K), Bytes(512)],
            PtsTest::WriteSaturation | PtsTest::HostIdleRecovery => &[Bytes(4 * K)],
            PtsTest::CrossStimulusRecovery => &[Bytes(1024 * K), Bytes(8 * K)],
            PtsTest::Composite | PtsTest::DemandVariation => &[Bytes(64 * K)],
            PtsTest::DemandIntensity => &[Bytes(8 * K)],
            PtsTest::ZoneIops => &[Bytes(64 * K), Bytes(16 * K), Bytes(4 * K)],
            PtsTest::ZoneThroughput => &[Bytes(1024 * K), Bytes(4 * K)],
        }
    }

    /// The smallest operation of the specification.
    pub fn smallest(self) -> Bytes {
        if self.is_composite() {
            return Bytes(COMPOSITE[0].0);
        }
        self.blocks().last().copied().unwrap_or(Bytes(0))
    }

    /// Whether it writes without a pause but its own, or measures how the device recovers in them: another pause changes its figures.
    pub const fn is_continuous(self) -> bool {
        matches!(self, PtsTest::WriteSaturation | PtsTest::HostIdleRecovery | PtsTest::CrossStimulusRecovery)
    }

    /// Whether it measures the zones of a hard disk.
    pub const fn is_by_zone(self) -> bool {
        matches!(self, PtsTest::ZoneIops | PtsTest::ZoneThroughput)
    }

    /// Whether its cells differ in the number of threads and the queue depth.
    pub const fn is_by_demand(self) -> bool {
        matches!(self, PtsTest::DemandVariation | PtsTest::DemandIntensity)
    }

    /// Whether its operations are those of the composite workload.
    pub const fn is_composite(self) -> bool {
        matches!(self, PtsTest::Composite | PtsTest::DemandVariation)
    }

    /// Whether its figure is bytes per second.
    pub const fn is_throughput(self) -> bool {
        matches!(self, PtsTest::Throughput | PtsTest::CrossStimulusRecovery | PtsTest::ZoneThroughput)
    }

    /// Whether the device is purged before it.
    pub const fn is_purged(self) -> bool {
        !self.is_by_zone()
    }

    /// Whether the specification has workload-independent preconditioning before its rounds.
    pub const fn is_preconditioned(self) -> bool {
        matches!(self, PtsTest::Iops | PtsTest::Latency) || self.is_written_before()
    }

    /// Whether its access pattern is written before its rounds until the rate is steady: workload-dependent preconditioning of tests
    /// that read, after the workload-independent one. The rounds of host idle recovery are such writes themselves.
    pub const fn is_written_before(self) -> bool {
        self.is_composite() || self.is_by_demand()
    }

    /// Whether its rounds go on until its tracked figure is steady.
    pub const fn needs_steady_state(self) -> bool {
        !matches!(self, PtsTest::WriteSaturation | PtsTest::CrossStimulusRecovery) && !self.is_by_zone()
    }
}
