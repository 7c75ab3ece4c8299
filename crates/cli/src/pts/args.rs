//! The arguments of `iolite pts`.

use std::path::PathBuf;

use anyhow::bail;
use clap::{Parser, ValueEnum};
use iolite_model::{PtsClass, PtsPurge, PtsTest};
use iolite_suites::{PtsPurgeRequest, PtsRange, PtsRequest, PtsWriteCacheRequest};

use crate::exit;
use crate::shared_args::OutputArgs;
use crate::writes::WriteArgs;

const EXAMPLES: &str = "\
Examples:
  Print how much would be written, and exit:
      iolite pts /dev/nvme1n1
  A rehearsal with a hundredth of the times and sizes, then all tests, which take days:
      sudo iolite pts /dev/nvme1n1 --allow-overwrite /dev/nvme1n1 --scale 0.01
      sudo iolite pts /dev/nvme1n1 --allow-overwrite /dev/nvme1n1
  A client drive: three quarters of it, with its write cache on; a hard disk: outer, middle and inner zone:
      sudo iolite pts /dev/sdb --allow-overwrite /dev/sdb --class client
      sudo iolite pts /dev/sdc --allow-overwrite /dev/sdc --class hard-disk
  Continue after a crash or reboot:
      sudo iolite pts /dev/nvme1n1 --allow-overwrite /dev/nvme1n1 --resume latest

All data on the device is destroyed. docs/suites.md describes the differences from the specification, and the reasons.";

/// `iolite pts` as typed.
#[derive(Debug, Parser)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{}", exit::TABLE))]
pub(crate) struct PtsArgs {
    /// Device or existing file to test; its data is destroyed
    #[arg(value_name = "DEVICE|FILE")]
    pub(crate) target: PathBuf,

    /// Confirm that this device or file may be overwritten; must equal the target
    #[arg(long, value_name = "DEVICE|FILE")]
    pub(crate) allow_overwrite: Option<PathBuf>,

    /// Tests to run; their order is that of the specification [default: all without those of hard disks, or those of the class]
    #[arg(long, value_name = "TEST,...", value_delimiter = ',')]
    pub(crate) tests: Vec<TestArg>,

    /// Fraction of the specified times and sizes, for a rehearsal: with 0.01, each cell takes a hundredth of the time, and
    /// preconditioning and write saturation write a hundredth of the data. The device is still purged completely. Every output
    /// states it
    #[arg(long, value_name = "SHARE", default_value = "1", value_parser = scale)]
    pub(crate) scale: f64,

    /// What the drive is used for: its active range, write cache, and the amounts of preconditioning and write saturation, which
    /// are then multiples of the size of the device instead of the active range [default: all of the device, settings unchanged]
    #[arg(long, value_name = "CLASS")]
    pub(crate) class: Option<ClassArg>,

    /// Active range, from the start of the device: a size, or a percentage of the device [default: that of the class, or 100%]
    #[arg(long, value_name = "SIZE|PERCENT%", value_parser = range)]
    pub(crate) active_range: Option<PtsRange>,

    /// Switch the write cache of the drive, and restore it at the end [default: that of the class, or unchanged]
    #[arg(long, value_name = "STATE")]
    pub(crate) write_cache: Option<WriteCacheArg>,

    /// How the device is purged before each test [default: discard if the device supports it]
    #[arg(long, value_name = "METHOD")]
    pub(crate) purge: Option<PurgeArg>,

    /// Number of threads, in tests that neither use a single thread nor vary the number
    #[arg(long, value_name = "N", default_value = "2", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(crate) threads: u32,

    /// Queue depth of each thread
    #[arg(long, value_name = "N", default_value = "16", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) depth: u32,

    /// Numbers of threads, and queue depths of each thread, that the demand tests combine [default: 1,2,4,6,8,16,32]
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(crate) demand: Option<Vec<u32>>,

    /// Number of zones of a hard disk, of equal size, from the outer tracks to the inner ones [default: 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) zones: Option<u32>,

    /// Maximum number of rounds if steady state is not reached
    #[arg(long, value_name = "N", default_value = "25", value_parser = clap::value_parser!(u32).range(5..=1000))]
    pub(crate) max_rounds: u32,

    /// Continue this interrupted run: its id, the beginning of its id, or `latest`
    #[arg(long, value_name = "RUN")]
    pub(crate) resume: Option<String>,

    #[command(flatten)]
    pub(crate) writes: WriteArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// A test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TestArg {
    /// Random IOPS by mix and block size
    Iops,
    /// Response times at queue depth 1
    Latency,
    /// Sequential throughput by block size
    Throughput,
    /// Random writes until four times the device size is written, or for 24 hours
    WriteSaturation,
    /// Bursts of random writes after waits of 5 to 50 seconds (HIR)
    HostIdleRecovery,
    /// Sequential writes before and after random ones (XSR)
    CrossStimulusRecovery,
    /// Reads and writes of many sizes, most of them to a small part of the device (ECW)
    Composite,
    /// The composite workload by number of threads and queue depth
    DemandVariation,
    /// Random 8 KiB, 65 % reads, by number of threads and queue depth, with response time histograms (DIRTH)
    DemandIntensity,
    /// Hard disks: random IOPS by zone
    ZoneIops,
    /// Hard disks: sequential throughput by zone
    ZoneThroughput,
}

/// What a drive is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ClassArg {
    /// All of the device, write cache off
    Enterprise,
    /// 75 % of the device, write cache on
    Client,
    /// All of the device by zones, without purge, preconditioning and steady state
    HardDisk,
}

/// State of a write cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum WriteCacheArg {
    /// On
    On,
    /// Off
    Off,
    /// As it is, whatever the class
    Unchanged,
}

/// How a device is purged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PurgeArg {
    /// Not at all
    None,
    /// Discard all blocks of the device; of a file, those of the active range
    Discard,
    /// Discard all blocks of the device and erase their data (BLKSECDISCARD)
    SecureDiscard,
    /// NVMe Format with erasure of the user data; all of the namespace is erased
    Format,
    /// NVMe Sanitize; all of the drive is erased
    Sanitize,
}

impl From<TestArg> for PtsTest {
    fn from(test: TestArg) -> PtsTest {
        match test {
            TestArg::Iops => PtsTest::Iops,
            TestArg::Latency => PtsTest::Latency,
            TestArg::Throughput => PtsTest::Throughput,
            TestArg::WriteSaturation => PtsTest::WriteSaturation,
            TestArg::HostIdleRecovery => PtsTest::HostIdleRecovery,
            TestArg::CrossStimulusRecovery => PtsTest::CrossStimulusRecovery,
            TestArg::Composite => PtsTest::Composite,
            TestArg::DemandVariation => PtsTest::DemandVariation,
            TestArg::DemandIntensity => PtsTest::DemandIntensity,
            TestArg::ZoneIops => PtsTest::ZoneIops,
            TestArg::ZoneThroughput => PtsTest::ZoneThroughput,
        }
    }
}

fn scale(text: &str) -> anyhow::Result<f64> {
    match text.parse() {
        Ok(share) if f64::is_finite(share) && share > 0.0 && share <= 1.0 => Ok(share),
        _ => bail!("specify a fraction above 0 and up to 1, for example 0.01"),
    }
}

/// A size, or a percentage.
fn range(text: &str) -> anyhow::Result<PtsRange> {
    match text.trim().strip_suffix('%') {
        Some(percent) => match percent.trim().parse() {
            Ok(percent @ 1..=100) => Ok(PtsRange::Percent(percent)),
            _ => bail!("specify a whole percentage from 1% to 100%, or a size, for example 75% or 100GiB"),
        },
        None => Ok(PtsRange::Size(text.parse()?)),
    }
}

impl PtsArgs {
    /// What is asked for.
    pub(super) fn request(&self) -> PtsRequest {
        PtsRequest {
            tests: self.tests.iter().map(|&test| test.into()).collect(),
            scale: self.scale,
            class: self.class.map(|class| match class {
                ClassArg::Enterprise => PtsClass::Enterprise,
                ClassArg::Client => PtsClass::Client,
                ClassArg::HardDisk => PtsClass::HardDisk,
            }),
            range: self.active_range,
            threads: self.threads,
            depth: self.depth,
            max_rounds: self.max_rounds,
            demand: self.demand.clone(),
            zones: self.zones,
            purge: match self.purge {
                None => PtsPurgeRequest::IfPossible,
                Some(PurgeArg::None) => PtsPurgeRequest::Never,
                Some(PurgeArg::Discard) => PtsPurgeRequest::By(PtsPurge::Discard),
                Some(PurgeArg::SecureDiscard) => PtsPurgeRequest::By(PtsPurge::SecureDiscard),
                Some(PurgeArg::Format) => PtsPurgeRequest::By(PtsPurge::Format),
                Some(PurgeArg::Sanitize) => PtsPurgeRequest::By(PtsPurge::Sanitize),
            },
            write_cache: match self.write_cache {
                None => PtsWriteCacheRequest::OfClass,
                Some(WriteCacheArg::Unchanged) => PtsWriteCacheRequest::Unchanged,
                Some(state) => PtsWriteCacheRequest::Switch(state == WriteCacheArg::On),
            },
        }
    }
}
