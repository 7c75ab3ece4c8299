//! `iolite study` as typed.

use std::path::PathBuf;

use anyhow::bail;
use clap::{Parser, Subcommand, ValueEnum};
use iolite_model::{Bytes, Nanos, Order, Overwrite};

use crate::exit;
use crate::shared_args::OutputArgs;
use crate::writes::WriteArgs;

const EXAMPLES: &str = "\
Examples:
  Would a test of this file measure memory?
      iolite study cache /var/lib/postgresql/base/16384/2619
  The same with the device beneath, in a file made for this:
      iolite study cache /data --make 4GiB --device /dev/sdb1
  Which read-ahead do scans want, and does it hurt random reads?
      sudo iolite study readahead /dev/sdb
  From which size on is the bandwidth used up, and what does that cost in response time?
      iolite study blocksize /data --write --depth 8";

/// `iolite study` as typed.
#[derive(Debug, Parser)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{}", exit::TABLE))]
pub(crate) struct StudyArgs {
    #[command(subcommand)]
    pub(crate) study: StudyKind,
}

#[derive(Debug, Subcommand)]
pub(crate) enum StudyKind {
    /// What the page cache does: the same reads cold, warm, direct, and on the device
    ///
    /// Reads at random and one after the other, one read at a time: through the page cache when it holds nothing of the file,
    /// through the page cache when it holds all of it, past it (direct I/O), and on the device beneath where one is given. Tells
    /// the reads that were asked for beside those that the devices counted. What exists already is only read.
    Cache(CacheArgs),
    /// What read-ahead does: throughput and requests by setting
    ///
    /// Sets the device's read-ahead (/sys/block/DEVICE/queue/read_ahead_kb) to one value after the other, reads through the page
    /// cache with each, and restores what it was, also on Ctrl-C and errors. Only `kill -9` and a crash prevent that: the
    /// original value is printed first. Needs root. What exists already is only read.
    Readahead(ReadAheadArgs),
    /// What the size of operations does: a surface of rates and response times
    ///
    /// Every size with every mix of reads and writes, at random. Reads only, unless --write is given.
    Blocksize(BlockSizeArgs),
}

/// What a study works on.
#[derive(Debug, clap::Args)]
pub(crate) struct TargetArgs {
    /// A file, a block device, or a directory in which a file is made for this and removed at the end
    #[arg(value_name = "FILE|DEV|DIR")]
    pub(crate) target: PathBuf,

    /// In a directory: size of the file that is made [default: 1GiB, at most a tenth of the free space]
    #[arg(long, value_name = "SIZE")]
    pub(crate) make: Option<Bytes>,

    /// Of what exists already: how much of it is used, from its start [default: all, at most a quarter of the memory]
    #[arg(long, value_name = "SIZE", conflicts_with = "make")]
    pub(crate) size: Option<Bytes>,

    /// How long each window is measured
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = window)]
    pub(crate) window: Nanos,
}

/// `iolite study cache` as typed.
#[derive(Debug, clap::Args)]
pub(crate) struct CacheArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,

    /// Read this device beneath the file too, as many bytes from its start
    #[arg(long, value_name = "DEV")]
    pub(crate) device: Option<PathBuf>,

    /// Size of each read
    #[arg(long, value_name = "SIZE", default_value = "8KiB")]
    pub(crate) block: Bytes,

    #[command(flatten)]
    pub(crate) writes: WriteArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// `iolite study readahead` as typed.
#[derive(Debug, clap::Args)]
pub(crate) struct ReadAheadArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,

    /// Settings to try, in KiB
    #[arg(long, value_name = "KIB,...", value_delimiter = ',', default_values_t = iolite_suites::DEFAULT_READ_AHEAD, value_parser = clap::value_parser!(u64).range(..=1_048_576))]
    pub(crate) values: Vec<u64>,

    /// Size of each read
    #[arg(long, value_name = "SIZE", default_value = "8KiB")]
    pub(crate) block: Bytes,

    #[command(flatten)]
    pub(crate) writes: WriteArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// `iolite study blocksize` as typed.
#[derive(Debug, clap::Args)]
pub(crate) struct BlockSizeArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,

    /// Sizes to try [default: powers of 2 from 512B to 1MiB]
    #[arg(long, value_name = "SIZE,...", value_delimiter = ',')]
    pub(crate) sizes: Vec<Bytes>,

    /// Write too: 70 % and 50 % reads, and writes only; of what exists already that destroys what it holds
    #[arg(long)]
    pub(crate) write: bool,

    /// With --write on what exists already: what may be destroyed
    #[arg(long, value_name = "WHAT", requires = "write")]
    pub(crate) overwrite: Option<OverwriteArg>,

    /// Allow overwriting this device although it holds a file system, partition table, volume or swap space; may be repeated
    #[arg(long, value_name = "DEVICE")]
    pub(crate) allow_overwrite: Vec<PathBuf>,

    /// One after the other rather than at random
    #[arg(long)]
    pub(crate) sequential: bool,

    /// Operations outstanding at once
    #[arg(long, value_name = "N", default_value = "16", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) depth: u32,

    #[command(flatten)]
    pub(crate) writes: WriteArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// What of an existing target may be destroyed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OverwriteArg {
    /// A target whose first and last MiB hold zeros
    Blank,
    /// Whatever it holds
    Anything,
}

impl From<OverwriteArg> for Overwrite {
    fn from(argument: OverwriteArg) -> Overwrite {
        match argument {
            OverwriteArg::Blank => Overwrite::Blank,
            OverwriteArg::Anything => Overwrite::Anything,
        }
    }
}

impl BlockSizeArgs {
    /// Order of the offsets.
    pub(crate) fn order(&self) -> Order {
        if self.sequential { Order::Sequential } else { Order::Random }
    }
}

fn window(text: &str) -> anyhow::Result<Nanos> {
    let window = text.parse::<Nanos>()?;
    if !(Nanos(100_000_000)..=Nanos(3_600_000_000_000)).contains(&window) {
        bail!("give between 100ms and 1h");
    }
    Ok(window)
}
