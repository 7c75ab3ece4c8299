//! The command line as typed. What it means is worked out in each command's own module.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use iolite_model::{Bytes, Nanos};
use iolite_report::Format;
use iolite_report::plot::PlotKind;

use crate::ab::AbArgs;
use crate::classic::ClassicArgs;
use crate::database::DbArgs;
use crate::durability::DurabilityArgs;
use crate::exit;
use crate::explain::ExplainArgs;
use crate::iometer::IometerArgs;
use crate::observe::ObserveArgs;
use crate::pts::PtsArgs;
use crate::ran::{IoOptions, RanArgs, ReadOptions, WriteOptions};
use crate::reference::{CompletionsArgs, ManArgs};
use crate::results::ResultsArgs;
use crate::study::StudyArgs;
use crate::tproc_c::TprocCArgs;
use crate::waits::WaitsArgs;

/// Measures storage for people who run databases, and says whether it is good enough and why.
#[derive(Debug, Parser)]
#[command(name = "iolite", version, after_help = exit::TABLE, max_term_width = 100)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Check whether a directory's storage is fit for a database
    ///
    /// Measures the file layer (random and sequential I/O, commit latency) and a database on it, for at most 90 seconds,
    /// and judges the result by a profile. Needs no root.
    Check(Box<CheckArgs>),
    /// Run a job: workloads described in a TOML file, or a fio job file
    ///
    /// Runs the tasks of a job one after the other, or together, and prints what each did: rates, response times, errors,
    /// what verification found, and how much was served by a cache.
    Run(Box<RunArgs>),
    /// Run fio job files and command lines
    ///
    /// All that follows is fio's own command line: see `iolite fio --help`, and docs/fio.md for every option and where this differs
    /// from fio on purpose. Called by the name `fio` (a link), the program does the same.
    #[command(disable_help_flag = true)]
    Fio {
        /// fio's options and job files
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Compare two jobs, run in turns until the answer is clear
    ///
    /// Runs both jobs once per pair, in random order, until a difference is shown, or one that matters is excluded, or the pairs are
    /// used up.
    Ab(Box<AbArgs>),
    /// Find the largest queue depth, or rate, that keeps a response time
    ///
    /// Runs a job's last task again and again, in windows, with more or less load, until the largest one is found that keeps
    /// a quantile of the response times under a bound.
    LatencyTarget(Box<LatencyTargetArgs>),
    /// Verify what an earlier run has written
    ///
    /// Reads all that a task with `verify.state` has written, and compares: after a crash, a power failure, a move.
    Verify(VerifyArgs),
    /// List the built-in profiles, or print one as TOML to copy and change
    Profiles {
        /// The profile to print
        name: Option<String>,
    },
    /// Compare the same I/O under different circumstances: page cache, read-ahead, block size
    Study(Box<StudyArgs>),
    /// The disk performance tests people know: dd, Bonnie++, IOzone
    ///
    /// Runs the steps of these programs on the engine of this one, prints their figures as they do, with the longest latency,
    /// CPU use and where the data came from, and says what each means for a database.
    Classic(Box<ClassicArgs>),
    /// SNIA's performance test specification (PTS): a drive in steady state
    ///
    /// Purges the device, preconditions it, and repeats a grid of mixes and block sizes in rounds until the figures are steady.
    /// Destroys all data on the device; a whole run takes a day, and goes on after a crash with --resume.
    Pts(Box<PtsArgs>),
    /// Iometer's access specifications and configuration files (.icf)
    Iometer(Box<IometerArgs>),
    /// Random reads of blocks inside a database, by as many jobs as you like (PerfTools' RanRead)
    #[command(name = "ranread")]
    RanRead(RanArgs<ReadOptions>),
    /// Random writes inside a database, in transactions (PerfTools' RanWrite)
    #[command(name = "ranwrite")]
    RanWrite(RanArgs<WriteOptions>),
    /// Random reads and writes inside a database, batch by batch (PerfTools' RanIO)
    #[command(name = "ranio")]
    RanIo(RanArgs<IoOptions>),
    /// Transactions derived from TPC-C inside a database, by virtual users (TPROC-C)
    #[command(name = "tproc-c")]
    TprocC(TprocCArgs),
    /// Show what the sessions of a database wait for
    Waits(WaitsArgs),
    /// Record what the machine and its devices do, without a workload
    Observe(ObserveArgs),
    /// Start and stop private servers for those who have none running
    Db(DbArgs),
    /// Show whether acknowledged writes and commits survive a crash or a power cut
    Durability(Box<DurabilityArgs>),
    /// List, show, compare, annotate, export, import and delete stored runs
    Results(Box<ResultsArgs>),
    /// Draw stored runs as a chart: a timeline, a histogram, a distribution by quantile
    Plot(PlotArgs),
    /// Explain a result, or a job before it is run, in plain words
    Explain(ExplainArgs),
    /// Print completions for a shell: bash, zsh, fish, elvish, powershell
    Completions(CompletionsArgs),
    /// Print the manual page, or write the pages of all commands into a directory
    Man(ManArgs),
}

const CHECK_EXAMPLES: &str = "\
Examples:
  Is it fit for transaction processing on flash?
      iolite check /var/lib/postgresql
  Can it do what I need?
      iolite check . --target-iops 5000 --target-response 2ms
  By another profile, in half a minute:
      iolite check /var/lib/etcd --profile etcd --budget-time 30s
  Before it goes into service: on a full device, in its steady state, without burst credits:
      iolite check /var/lib/postgresql --thorough --budget 1h --max-write 500GiB
  For machines:
      iolite check . --json | jq .verdict
  By a profile of my own:
      iolite profiles oltp-flash > my.toml; iolite check . --profile my.toml

Test files go into a hidden directory inside DIR and are removed at the end. Nothing else in DIR is opened.";

/// `iolite check` as typed.
#[derive(Debug, Parser)]
#[command(after_help = CHECK_EXAMPLES, after_long_help = format!("{CHECK_EXAMPLES}\n\n{}", exit::TABLE))]
pub(crate) struct CheckArgs {
    /// A directory on the storage to check; you must be able to write to it
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,

    /// What the storage must do: `oltp-flash`, `etcd`, `hdd`, or a TOML file
    #[arg(long, value_name = "NAME|FILE", default_value = "oltp-flash")]
    pub(crate) profile: String,

    /// Judge at this rate of random reads (an open loop) instead of at the knee
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true)]
    pub(crate) target_iops: Option<f64>,

    /// Mean response time that random reads must keep, for example 5ms, instead of the profile's
    /// (whose percentiles still hold)
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) target_response: Option<Nanos>,

    /// Fill the free space, write until the rate is steady, and read for a quarter of the time before
    /// anything is judged: sees the end of burst credits and of caches that a short check does not
    #[arg(long)]
    pub(crate) thorough: bool,

    /// Time for the whole check [default: 90s; with --thorough 2h]
    #[arg(long, visible_alias = "budget", value_name = "TIME")]
    pub(crate) budget_time: Option<Nanos>,

    /// Bytes that may be written in all [default: a tenth of the free space, at most 4GiB; with
    /// --thorough 1.8 times the free space, of which the data file takes four fifths]
    #[arg(long, visible_alias = "max-write", value_name = "SIZE")]
    pub(crate) budget_space: Option<Bytes>,

    /// Go through the page cache instead of around it (no O_DIRECT): shows what a cache hides
    #[arg(long)]
    pub(crate) buffered: bool,

    /// Results database [default: iolite/results.db under XDG_DATA_HOME or ~/.local/share]
    #[arg(long, value_name = "FILE")]
    pub(crate) results: Option<PathBuf>,

    /// Print one JSON document instead of tables
    #[arg(long)]
    pub(crate) json: bool,

    /// Print nothing while it runs, and at the end only the warnings and the verdict
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

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
    pub(crate) output: OutputArgs,
}

/// Where results go, and how they are shown.
#[derive(Debug, clap::Args)]
pub(crate) struct OutputArgs {
    /// Results database [default: iolite/results.db under XDG_DATA_HOME or ~/.local/share]
    #[arg(long, value_name = "FILE")]
    pub(crate) results: Option<PathBuf>,

    /// Print one JSON document instead of tables
    #[arg(long)]
    pub(crate) json: bool,

    /// Print nothing while it runs
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

impl OutputArgs {
    /// How the run is printed.
    pub(crate) fn format(&self) -> Format {
        if self.json { Format::Json } else { Format::Text }
    }
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
    pub(crate) output: OutputArgs,
}

/// `iolite verify` as typed.
#[derive(Debug, Parser)]
#[command(after_long_help = exit::TABLE)]
pub(crate) struct VerifyArgs {
    /// The verification state that the run has kept
    #[arg(value_name = "STATE")]
    pub(crate) state: PathBuf,

    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

const PLOT_EXAMPLES: &str = "\
Examples:
  Operations per second and response times over the course of the latest run:
      iolite plot latest --kind timeline -o timeline.svg
  Response times of two runs by quantile, one over the other:
      iolite plot latest~1 latest --kind cdf -o cdf.svg
  To another program:
      iolite plot latest --kind histogram -o - | rsvg-convert -o histogram.png

RUN is a run's id, the beginning of one, `latest`, or `latest~N` for the Nth before the latest. docs/plots.md describes the charts.";

/// `iolite plot` as typed.
#[derive(Debug, Parser)]
#[command(after_help = PLOT_EXAMPLES)]
pub(crate) struct PlotArgs {
    /// The runs, drawn in one chart
    #[arg(value_name = "RUN", required = true)]
    pub(crate) runs: Vec<String>,

    /// What is drawn
    #[arg(long, value_enum)]
    pub(crate) kind: ChartKind,

    /// The SVG file, overwritten if it exists; `-` for standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: PathBuf,

    /// Results database [default: iolite/results.db under XDG_DATA_HOME or ~/.local/share]
    #[arg(long, value_name = "FILE")]
    pub(crate) results: Option<PathBuf>,
}

/// The charts by their names.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ChartKind {
    /// Operations per second and mean response time over time
    Timeline,
    /// Share of the operations by response time
    Histogram,
    /// Response time by quantile
    Cdf,
}

impl From<ChartKind> for PlotKind {
    fn from(kind: ChartKind) -> PlotKind {
        match kind {
            ChartKind::Timeline => PlotKind::Timeline,
            ChartKind::Histogram => PlotKind::Histogram,
            ChartKind::Cdf => PlotKind::Cdf,
        }
    }
}

fn percent(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(value) if f64::is_finite(value) && value > 0.0 && value < 100.0 => Ok(value),
        _ => Err("write a percentage between 0 and 100, for example 99.9".into()),
    }
}

pub(crate) fn positive(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(value) if f64::is_finite(value) && value > 0.0 && value <= 1e9 => Ok(value),
        _ => Err("write a number of operations per second, for example 5000".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_arguments_are_consistent() {
        Args::command().debug_assert();
    }
}
