//! `iolite run` and `iolite latency-target` as typed.

use std::path::PathBuf;

use clap::Parser;
use iolite_model::Nanos;

use crate::exit;
use crate::shared_args::{OutputArgs, StallArgs, percent, positive};
use crate::writes::WriteArgs;

const RUN_EXAMPLES: &str = "\
Examples:
  Random 8 KiB reads with direct I/O at queue depth 32 for ten seconds, on a new file in this directory:
      cat > job.toml <<EOF
      [[tasks]]
      [tasks.io]
      name = 'lay out'
      target.file = { name = 'data', size = '1GiB', create = true }
      backend = 'sync'
      mix = 'write'
      access = 'sequential'
      block = '1MiB'
      stop.loops = 1

      [[tasks]]
      [tasks.io]
      name = 'random read'
      target.file = { name = 'data', size = '1GiB', create = false }
      backend.io-uring = {}
      direct = true
      block = '8KiB'
      concurrency = 32
      stop.runtime = '10s'
      EOF
      iolite run job.toml
  JSON output, with the files in another directory:
      iolite run job.toml --directory /var/lib/postgresql --json | jq '.phases[].operations'
  What operations of more than 5 ms waited for:
      sudo iolite run job.toml --stalls=5ms

Files that a job creates are placed in a hidden directory inside DIR and are removed at the end. \
Existing files and devices are overwritten only if the job allows it (target.existing with `overwrite`), and \
never while they are mounted or in use. docs/job.md describes every field of a job.";

/// `iolite run` as typed.
#[derive(Debug, Parser)]
#[command(after_help = RUN_EXAMPLES, after_long_help = format!("{RUN_EXAMPLES}\n\n{}", exit::TABLE))]
pub(crate) struct RunArgs {
    /// Job file, in TOML or fio's format; `-` for standard input
    #[arg(value_name = "JOB")]
    pub(crate) job: PathBuf,

    /// Directory in which the job creates its files
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) directory: PathBuf,

    /// Allow overwriting this device even if it holds a file system, partition table, volume or swap space; may be repeated
    #[arg(long, value_name = "DEVICE")]
    pub(crate) allow_overwrite: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) stalls: StallArgs,

    #[command(flatten)]
    pub(crate) writes: WriteArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

const LATENCY_TARGET_EXAMPLES: &str = "\
Examples:
  The highest queue depth at which 99 % of the reads complete within 2 ms:
      iolite latency-target job.toml --quantile 99 --bound 2ms --depth 256
  The highest rate of random arrivals at which 99.9 % of the operations complete within 10 ms:
      iolite latency-target job.toml --quantile 99.9 --bound 10ms --rate 100000 --window 10s

The search runs the last task of the job; the tasks before it are run once, to lay out files. The search sets the \
stop condition, ramp and delay of the task itself, and any error ends it.";

/// `iolite latency-target` as typed.
#[derive(Debug, Parser)]
#[command(after_help = LATENCY_TARGET_EXAMPLES, after_long_help = format!("{LATENCY_TARGET_EXAMPLES}\n\n{}", exit::TABLE))]
#[command(group = clap::ArgGroup::new("parameter").required(true).args(["depth", "rate"]))]
pub(crate) struct LatencyTargetArgs {
    /// Job file, in TOML or fio's format; `-` for standard input
    #[arg(value_name = "JOB")]
    pub(crate) job: PathBuf,

    /// Response time to meet, for example 5ms
    #[arg(long, value_name = "TIME")]
    pub(crate) bound: Nanos,

    /// Percentage of the operations that must meet it
    #[arg(long, value_name = "PERCENT", default_value = "99", value_parser = percent)]
    pub(crate) quantile: f64,

    /// Time to measure each load; up to ten times as long if the percentile would otherwise rest on too few operations
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub(crate) window: Nanos,

    /// Search for the queue depth, up to this value
    #[arg(long, value_name = "MAX", value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub(crate) depth: Option<u32>,

    /// Search for the rate in operations per second (open loop), up to this value
    #[arg(long, value_name = "MAX", value_parser = positive)]
    pub(crate) rate: Option<f64>,

    /// Directory in which the job creates its files
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) directory: PathBuf,

    /// Allow overwriting this device even if it holds a file system, partition table, volume or swap space; may be repeated
    #[arg(long, value_name = "DEVICE")]
    pub(crate) allow_overwrite: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) writes: WriteArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}
