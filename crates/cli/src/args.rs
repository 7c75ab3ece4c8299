//! The command line as typed. What it means is worked out in each command's own module.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use iolite_report::plot::PlotKind;

use crate::ab::AbArgs;
use crate::check::CheckArgs;
use crate::classic::ClassicArgs;
use crate::database::DbArgs;
use crate::durability::DurabilityArgs;
use crate::exit::{self, UsageError};
use crate::explain::ExplainArgs;
use crate::iometer::IometerArgs;
use crate::observe::ObserveArgs;
use crate::pts::PtsArgs;
use crate::ran::{IoOptions, RanArgs, ReadOptions, WriteOptions};
use crate::reference::args::{CompletionsArgs, ManArgs};
use crate::results::ResultsArgs;
use crate::run::{LatencyTargetArgs, RunArgs};
use crate::study::StudyArgs;
use crate::tproc_c::TprocCArgs;
use crate::verify::VerifyArgs;
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
    /// Draw stored runs, or fio's logs and JSON, as a chart
    Plot(PlotArgs),
    /// Write stored runs as one HTML page: verdict, figures, charts, settings
    Report(ReportArgs),
    /// Explain a result, or a job before it is run, in plain words
    Explain(ExplainArgs),
    /// Print completions for a shell: bash, zsh, fish, elvish, powershell
    Completions(CompletionsArgs),
    /// Print the manual page, or write the pages of all commands into a directory
    Man(ManArgs),
}

const PLOT_EXAMPLES: &str = "\
Examples:
  Operations per second and response times over the course of the latest run:
      iolite plot latest --kind timeline -o timeline.svg
  In the terminal:
      iolite plot latest --kind heatmap --show
  Response times of two runs by quantile, one over the other:
      iolite plot latest~1 latest --kind cdf -o cdf.svg
  fio's logs as they are, with minimum, mean, maximum and standard deviation of each printed:
      iolite plot job_bw.*.log --smooth 5 --trend -o bandwidth.svg
  Response times of fio's jobs (JSON+) by quantile:
      iolite plot old.json new.json --kind cdf -o cdf.svg
  To another program:
      iolite plot latest --kind histogram -o - | rsvg-convert -o histogram.png

RUN is a run's id, the beginning of one, `latest`, or `latest~N` for the Nth before the latest. docs/plots.md describes the charts.";

/// `iolite plot` as typed.
#[derive(Debug, Parser)]
#[command(after_help = PLOT_EXAMPLES)]
pub(crate) struct PlotArgs {
    /// The runs, or files of fio's (JSON, or logs), drawn in one chart
    #[arg(value_name = "RUN|FILE", required = true)]
    pub(crate) runs: Vec<String>,

    /// What is drawn
    #[arg(long, value_enum, default_value_t = ChartKind::Timeline)]
    pub(crate) kind: ChartKind,

    /// In a timeline of fio's logs: replace each value by the mean over this many seconds around it
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) smooth: Option<f64>,

    /// In a timeline of fio's logs: add the straight line that fits each series best
    #[arg(long)]
    pub(crate) trend: bool,

    /// The SVG file, overwritten if it exists; `-` for standard output; a name that ends in .png is written as PNG by
    /// rsvg-convert, where that is installed
    #[arg(long, short, value_name = "FILE", required_unless_present = "show")]
    pub(crate) output: Option<PathBuf>,

    /// Draw the chart in the terminal, in braille characters
    #[arg(long)]
    pub(crate) show: bool,

    /// Results database [default: iolite/results.db under XDG_DATA_HOME or ~/.local/share]
    #[arg(long, value_name = "FILE")]
    pub(crate) results: Option<PathBuf>,
}

/// Seconds to smooth over.
fn seconds(text: &str) -> Result<f64, UsageError> {
    match text.trim_end_matches('s').parse() {
        Ok(value) if f64::is_finite(value) && value > 0.0 => Ok(value),
        _ => Err(UsageError::new("write a number of seconds, for example 5")),
    }
}

const REPORT_EXAMPLES: &str = "\
Examples:
  The latest run as a page:
      iolite report latest -o report.html
  Two runs on one page, overlaid in its charts:
      iolite report latest~1 latest -o both.html

RUN is a run's id, the beginning of one, `latest`, or `latest~N` for the Nth before the latest. docs/report.md describes the page.";

/// `iolite report` as typed.
#[derive(Debug, Parser)]
#[command(after_help = REPORT_EXAMPLES)]
pub(crate) struct ReportArgs {
    /// The runs, on one page
    #[arg(value_name = "RUN", required = true)]
    pub(crate) runs: Vec<String>,

    /// The HTML file, overwritten if it exists; `-` for standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: PathBuf,

    /// Results database [default: iolite/results.db under XDG_DATA_HOME or ~/.local/share]
    #[arg(long, value_name = "FILE")]
    pub(crate) results: Option<PathBuf>,
}

/// The charts by their names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ChartKind {
    /// Operations per second and mean response time over time
    Timeline,
    /// Share of the operations by response time
    Histogram,
    /// Response time by quantile
    Cdf,
    /// Share of the operations by response time over the course of a phase
    Heatmap,
    /// Operations per second and response time by the number of operations in flight
    Sweep,
    /// Operations per second by the number of operations in flight and their size, or their mix
    Surface,
    /// Runs side by side: rates with their range, response times from the median to the 99th percentile
    Compare,
    /// Runs by their start: rates and response times of the same phases
    Trend,
}

impl From<ChartKind> for PlotKind {
    fn from(kind: ChartKind) -> PlotKind {
        match kind {
            ChartKind::Timeline => PlotKind::Timeline,
            ChartKind::Histogram => PlotKind::Histogram,
            ChartKind::Cdf => PlotKind::Cdf,
            ChartKind::Heatmap => PlotKind::Heatmap,
            ChartKind::Sweep => PlotKind::Sweep,
            ChartKind::Surface => PlotKind::Surface,
            ChartKind::Compare => PlotKind::Compare,
            ChartKind::Trend => PlotKind::Trend,
        }
    }
}

#[cfg(test)]
#[allow(clippy::print_stdout)]
#[path = "../../fio/tests/stirrer/mod.rs"]
mod stirrer;

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::stirrer::{Stirrer, fuzz};
    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        Args::command().debug_assert();
    }

    const WORDS: &[&str] = &[
        "setup",
        "run",
        "sweep",
        "create-globals",
        "count-subscripts",
        "get-sizes",
        "export",
        "history",
        "stop",
        "purge",
        "--jobs",
        "--size",
        "--time",
        "--durability=full",
        "--transaction-length",
        "--hang",
        "--interval",
        "--globals",
        "--help",
        "2ms",
        "100",
        "1e400",
        "-1",
        "10GB",
        "0x",
        "18446744073709551616",
        "4KiB..",
        "sqlite:x",
        "postgres://",
        "=",
        "--",
        "",
        "\u{1f980}",
        "nan",
        "50%",
        "1,2,4",
        "1:",
        "@",
    ];

    /// The verbs and options of PerfTools' programs are only parsed: nothing is run.
    #[test]
    fn no_arguments_of_a_verb_make_it_stumble() {
        let mut stirrer = Stirrer::new(0x0009_e7f0, WORDS);
        let mut accepted = 0;
        fuzz("options of PerfTools' verbs", 2000, || {
            let tool = ["ranread", "ranwrite", "ranio"][stirrer.below(3)];
            let mut words = vec!["iolite".to_owned(), tool.to_owned()];
            for _ in 0..stirrer.below(8) {
                let (word, more) = (WORDS[stirrer.below(WORDS.len())], WORDS[stirrer.below(WORDS.len())]);
                words.push(if stirrer.below(6) == 0 { format!("{word}{more}") } else { word.to_owned() });
            }
            accepted += u32::from(Args::try_parse_from(&words).is_ok());
        });
        assert!(accepted > 0, "not one command line was right");
    }
}
