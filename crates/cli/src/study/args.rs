//! `iolite study` as typed.

use std::path::PathBuf;

use anyhow::bail;
use clap::{Parser, Subcommand};
use iolite_model::{Bytes, Nanos, Order, Overwrite};

use crate::exit;
use crate::shared_args::{OutputArgs, choice};
use crate::writes::WriteArgs;

const EXAMPLES: &str = "\
Examples:
  Would a test of this file measure memory instead of storage?
      iolite study cache /var/lib/postgresql/base/16384/2619
  The same with a new file, compared with the device beneath it:
      iolite study cache /data --make 4GiB --device /dev/sdb1
  Which read-ahead suits sequential scans, and does it slow down random reads?
      sudo iolite study readahead /dev/sdb
  From which block size on is the bandwidth saturated, and at what response time?
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
    /// Effect of the page cache: the same reads cold, warm, with direct I/O, and from the device
    ///
    /// Reads randomly and sequentially at queue depth 1: through a cold page cache, through a warm page cache, with direct I/O,
    /// and from the underlying device if one is given. Shows the bytes requested next to those counted by the devices. Existing
    /// files and devices are only read.
    Cache(CacheArgs),
    /// Effect of read-ahead: throughput and request size by setting
    ///
    /// Sets the device's read-ahead (/sys/block/DEVICE/queue/read_ahead_kb) to each value in turn, reads through the page cache,
    /// and restores the original value at the end, also after Ctrl-C and errors. Only `kill -9` and a crash prevent that; the
    /// original value is printed first. Requires root. Existing files and devices are only read.
    Readahead(ReadAheadArgs),
    /// Effect of the block size: rates and response times by block size and mix
    ///
    /// Measures every block size with every mix of random reads and writes. Only reads, unless --write is given.
    Blocksize(BlockSizeArgs),
}

/// What a study works on.
#[derive(Debug, clap::Args)]
pub(crate) struct TargetArgs {
    /// File, block device, or directory in which a temporary file is created
    #[arg(value_name = "FILE|DEV|DIR")]
    pub(crate) target: PathBuf,

    /// Size of the file created in a directory [default: 1GiB, at most a tenth of the free space]
    #[arg(long, value_name = "SIZE")]
    pub(crate) make: Option<Bytes>,

    /// Size of the region used of an existing file or device, from its start [default: all, at most a quarter of the memory]
    #[arg(long, value_name = "SIZE", conflicts_with = "make")]
    pub(crate) size: Option<Bytes>,

    /// Time to measure each point
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = window)]
    pub(crate) window: Nanos,
}

/// `iolite study cache` as typed.
#[derive(Debug, clap::Args)]
pub(crate) struct CacheArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,

    /// Also read the same amount from the start of this device, on which the file is stored
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

    /// Settings to try, at most 1GiB [default: 0 and powers of 2 from 16KiB to 4MiB]
    #[arg(long, value_name = "SIZE,...", value_delimiter = ',', value_parser = read_ahead)]
    pub(crate) values: Vec<Bytes>,

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

    /// Also write: 70 % and 50 % reads, and writes only. Destroys the contents of an existing file or device
    #[arg(long)]
    pub(crate) write: bool,

    /// With --write on an existing file or device: what may be overwritten
    #[arg(long, value_name = "WHAT", requires = "write", value_parser = choice(&[Overwrite::Blank, Overwrite::Anything]))]
    pub(crate) overwrite: Option<Overwrite>,

    /// Allow overwriting this device even if it holds a file system, partition table, volume or swap space; may be repeated
    #[arg(long, value_name = "DEVICE")]
    pub(crate) allow_overwrite: Vec<PathBuf>,

    /// Sequential instead of random offsets
    #[arg(long)]
    pub(crate) sequential: bool,

    /// Queue depth: number of outstanding operations
    #[arg(long, value_name = "N", default_value = "16", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) depth: u32,

    #[command(flatten)]
    pub(crate) writes: WriteArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

impl BlockSizeArgs {
    /// Order of the offsets.
    pub(crate) fn order(&self) -> Order {
        if self.sequential { Order::Sequential } else { Order::Random }
    }
}

fn read_ahead(text: &str) -> anyhow::Result<Bytes> {
    let size = text.parse::<Bytes>()?;
    if size > Bytes::GIB || !size.0.is_multiple_of(Bytes::KIB.0) {
        bail!("specify a size of whole KiB, at most 1GiB: the kernel sets read-ahead in KiB");
    }
    Ok(size)
}

fn window(text: &str) -> anyhow::Result<Nanos> {
    let window = text.parse::<Nanos>()?;
    if !(Nanos(100_000_000)..=Nanos(3_600_000_000_000)).contains(&window) {
        bail!("specify a time from 100ms to 1h");
    }
    Ok(window)
}
