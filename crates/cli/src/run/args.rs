//! `iolite run` and `iolite latency-target` as typed.

use std::path::PathBuf;

use clap::Parser;
use iolite_model::Nanos;

use crate::exit;
use crate::shared_args::{OutputArgs, percent, positive};
use crate::writes::WriteArgs;

const RUN_EXAMPLES: &str = "\
Examples:
  Random reads of 8 KiB past the page cache, 32 at a time, for ten seconds, on a new file in this directory:
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
  For machines, the files in another directory:
      iolite run job.toml --directory /var/lib/postgresql --json | jq '.phases[].operations'

Files that a job makes go into a hidden directory inside DIR and are removed at the end. What exists already is written to
only where the job says so (target.existing with `overwrite`), and never while it is mounted or in use.
docs/job.md describes every field of a job.";

/// `iolite run` as typed.
#[derive(Debug, Parser)]
#[command(after_help = RUN_EXAMPLES, after_long_help = format!("{RUN_EXAMPLES}\n\n{}", exit::TABLE))]
pub(crate) struct RunArgs {
    /// The job, a TOML file; `-` for standard input
    #[arg(value_name = "JOB")]
    pub(crate) job: PathBuf,

    /// Where the job's own files are made
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) directory: PathBuf,

    /// Allow overwriting this device although it holds a file system, partition table, volume or swap space; may be repeated
    #[arg(long, value_name = "DEVICE")]
    pub(crate) allow_overwrite: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) writes: WriteArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

const LATENCY_TARGET_EXAMPLES: &str = "\
Examples:
  How many outstanding reads keep 99 % of the response times under 2 ms?
      iolite latency-target job.toml --quantile 99 --bound 2ms --depth 256
  How many operations a second, arriving at random, keep 99.9 % under 10 ms?
      iolite latency-target job.toml --quantile 99.9 --bound 10ms --rate 100000 --window 10s

The last task of the job is the one that is searched; tasks before it are run once, to lay files out. What ends the searched
task, its ramp, its delay and its errors (which end the search) are the search's own.";

/// `iolite latency-target` as typed.
#[derive(Debug, Parser)]
#[command(after_help = LATENCY_TARGET_EXAMPLES, after_long_help = format!("{LATENCY_TARGET_EXAMPLES}\n\n{}", exit::TABLE))]
#[command(group = clap::ArgGroup::new("parameter").required(true).args(["depth", "rate"]))]
pub(crate) struct LatencyTargetArgs {
    /// The job, a TOML file; `-` for standard input
    #[arg(value_name = "JOB")]
    pub(crate) job: PathBuf,

    /// The response time to keep, for example 5ms
    #[arg(long, value_name = "TIME")]
    pub(crate) bound: Nanos,

    /// The share of the operations, in percent, that is to keep it
    #[arg(long, value_name = "PERCENT", default_value = "99", value_parser = percent)]
    pub(crate) quantile: f64,

    /// How long each try is measured; up to ten times as long where the quantile has too few operations
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub(crate) window: Nanos,

    /// Search the number of outstanding operations, up to this one
    #[arg(long, value_name = "MOST", value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub(crate) depth: Option<u32>,

    /// Search the number of operations per second (an open loop), up to this one
    #[arg(long, value_name = "MOST", value_parser = positive)]
    pub(crate) rate: Option<f64>,

    /// Where the job's own files are made
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) directory: PathBuf,

    /// Allow overwriting this device although it holds a file system, partition table, volume or swap space; may be repeated
    #[arg(long, value_name = "DEVICE")]
    pub(crate) allow_overwrite: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) writes: WriteArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}
