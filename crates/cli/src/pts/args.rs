//! The arguments of `iolite pts`.

use std::path::PathBuf;

use anyhow::bail;
use clap::{Parser, ValueEnum};
use iolite_model::{PtsClass, PtsPurge, PtsTest};
use iolite_suites::{PtsPurgeRequest, PtsRange, PtsRequest, PtsWriteCacheRequest};

use crate::exit;
use crate::shared_args::{OutputArgs, choice, number};
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
    #[arg(long, value_name = "TEST,...", value_delimiter = ',', value_parser = choice(PtsTest::ALL))]
    pub(crate) tests: Vec<PtsTest>,

    /// Fraction of the specified times and sizes, for a rehearsal: with 0.01, each cell takes a hundredth of the time, and
    /// preconditioning and write saturation write a hundredth of the data. The device is still purged completely. Every output
    /// states it
    #[arg(long, value_name = "SHARE", default_value = "1", value_parser = scale)]
    pub(crate) scale: f64,

    /// What the drive is used for: its active range, write cache, and the amounts of preconditioning and write saturation, which
    /// are then multiples of the size of the device instead of the active range [default: all of the device, settings unchanged]
    #[arg(long, value_name = "CLASS", value_parser = choice(PtsClass::ALL))]
    pub(crate) class: Option<PtsClass>,

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

fn scale(text: &str) -> anyhow::Result<f64> {
    number(text, |share| share <= 1.0, "a fraction above 0 and up to 1, for example 0.01")
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
            tests: self.tests.clone(),
            scale: self.scale,
            class: self.class,
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
