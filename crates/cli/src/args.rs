//! The command line as typed. What it means is worked out in each command's own module.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use iolite_model::Nanos;
use iolite_report::plot::PlotKind;

use crate::ab::AbArgs;
use crate::check::CheckArgs;
use crate::classic::ClassicArgs;
use crate::database::DbArgs;
use crate::durability::DurabilityArgs;
use crate::exit;
use crate::explain::ExplainArgs;
use crate::iometer::IometerArgs;
use crate::layers::LayersArgs;
use crate::observe::ObserveArgs;
use crate::pts::PtsArgs;
use crate::ran::{IoOptions, RanArgs, ReadOptions, WriteOptions};
use crate::reference::args::{CompletionsArgs, ManArgs};
use crate::results::ResultsArgs;
use crate::run::{LatencyTargetArgs, RunArgs};
use crate::serve::ServeArgs;
use crate::shared_args::choice;
use crate::study::StudyArgs;
use crate::tproc_c::TprocCArgs;
use crate::verify::VerifyArgs;
use crate::waits::WaitsArgs;

/// Measure storage, judge whether it is good enough for a database, and explain why.
#[derive(Debug, Parser)]
#[command(name = "iolite", version, after_help = exit::TABLE, max_term_width = 100)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Check whether the storage of a directory is fit for a database
    ///
    /// Measures random and sequential file I/O, commit latency, and a database on the same storage, and judges the results against a
    /// profile. By default, the check takes at most 90 seconds. It does not require root.
    Check(Box<CheckArgs>),
    /// Run a job: a TOML file that describes workloads, or a fio job file
    ///
    /// Runs the tasks of a job one after the other or concurrently. For each task, prints rates, response times, errors, verification
    /// results, and how much of the I/O was served by a cache.
    Run(Box<RunArgs>),
    /// Run fio job files and command lines
    ///
    /// The arguments are those of fio: see `iolite fio --help`. docs/fio.md describes every option and the intended differences
    /// from fio. The program behaves the same when it is called through a link named `fio`.
    #[command(disable_help_flag = true)]
    Fio {
        /// fio's options and job files
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Compare two jobs by running them alternately until the result is clear
    ///
    /// Runs pairs of both jobs in random order until a difference is established, until a difference that matters is ruled out,
    /// or until the maximum number of pairs is reached.
    Ab(Box<AbArgs>),
    /// Find the highest queue depth or rate that meets a response time target
    ///
    /// Runs the last task of a job repeatedly, in windows with varying load, to find the highest load at which a percentile of
    /// the response times stays within a bound.
    LatencyTarget(Box<LatencyTargetArgs>),
    /// Verify data written by an earlier run
    ///
    /// Reads and verifies everything that a task with `verify.state` has written, for example after a crash, a power failure or a
    /// migration.
    Verify(VerifyArgs),
    /// List the built-in profiles, or print one as TOML
    Profiles {
        /// Profile to print
        name: Option<String>,
    },
    /// Compare the same I/O under different conditions: page cache, read-ahead, block size
    Study(Box<StudyArgs>),
    /// Compare what each layer costs: device, file system, page cache, databases
    ///
    /// Runs the same random reads, commits and scans on a raw device, through the file system with and without the page cache, and
    /// inside databases, in random order, and reports how much time each layer adds.
    Layers(Box<LayersArgs>),
    /// Run classic disk tests: dd, Bonnie++, IOzone
    ///
    /// Runs the steps of these programs on iolite's engine and prints the same figures, with the maximum latency, CPU use and the
    /// source of the data (device or cache), and explains what each figure means for a database.
    Classic(Box<ClassicArgs>),
    /// Run the SNIA Performance Test Specification (PTS): performance of a drive in steady state
    ///
    /// Purges and preconditions the device, then repeats a grid of mixes and block sizes in rounds until steady state. Destroys
    /// all data on the device. A complete run takes a day; an interrupted run is continued with --resume.
    Pts(Box<PtsArgs>),
    /// Run Iometer's access specifications and configuration files (.icf)
    Iometer(Box<IometerArgs>),
    /// Read random blocks inside a database (PerfTools' RanRead)
    #[command(name = "ranread")]
    RanRead(RanArgs<ReadOptions>),
    /// Write randomly inside a database, in transactions (PerfTools' RanWrite)
    #[command(name = "ranwrite")]
    RanWrite(RanArgs<WriteOptions>),
    /// Read and write randomly inside a database, in batches (PerfTools' RanIO)
    #[command(name = "ranio")]
    RanIo(RanArgs<IoOptions>),
    /// Run transactions derived from TPC-C inside a database, with virtual users (TPROC-C)
    #[command(name = "tproc-c")]
    TprocC(TprocCArgs),
    /// Show the wait events of the sessions of a database
    Waits(WaitsArgs),
    /// Record the activity of the host and its devices, without a workload
    Observe(ObserveArgs),
    /// Start and stop private database servers
    Db(DbArgs),
    /// Test whether acknowledged writes and commits survive a crash or a power failure
    Durability(Box<DurabilityArgs>),
    /// List, show, compare, annotate, export, import and delete stored runs
    Results(Box<ResultsArgs>),
    /// Draw stored runs, or fio's logs and JSON, as a chart
    Plot(PlotArgs),
    /// Write stored runs as one HTML page: verdict, figures, charts, settings
    Report(ReportArgs),
    /// Show the stored runs as web pages: list, runs, comparisons
    Serve(ServeArgs),
    /// Explain a result, or a job before it is run
    Explain(ExplainArgs),
    /// Print completions for a shell: bash, zsh, fish, elvish, powershell
    Completions(CompletionsArgs),
    /// Print the manual page, or write the manual pages of all commands to a directory
    Man(ManArgs),
}

impl Command {
    /// Whether it checks for signals, or measures something: others end by a signal as any program does.
    pub(crate) fn is_interruptible(&self) -> bool {
        use Command::{Completions, Db, Explain, Man, Plot, Profiles, Report, Results};
        !matches!(
            self,
            Profiles { .. } | Db(_) | Results(_) | Plot(_) | Report(_) | Explain(_) | Completions(_) | Man(_)
        )
    }
}

const PLOT_EXAMPLES: &str = "\
Examples:
  Operations per second and response times of the latest run over time:
      iolite plot latest --kind timeline -o timeline.svg
  In the terminal:
      iolite plot latest --kind heatmap --show
  Response times of two runs by percentile, overlaid:
      iolite plot latest~1 latest --kind cdf -o cdf.svg
  fio's logs, also printing minimum, mean, maximum and standard deviation of each:
      iolite plot job_bw.*.log --smooth 5s --trend -o bandwidth.svg
  Response times of fio's jobs (JSON+) by percentile:
      iolite plot old.json new.json --kind cdf -o cdf.svg
  Pipe the chart to another program:
      iolite plot latest --kind histogram -o - | rsvg-convert -o histogram.png

RUN is the id of a run, the beginning of an id, `latest`, or `latest~N` for the Nth run before the latest. docs/plots.md describes the charts.";

/// `iolite plot` as typed.
#[derive(Debug, Parser)]
#[command(after_help = PLOT_EXAMPLES)]
pub(crate) struct PlotArgs {
    /// Runs or their tags, or fio's JSON files or logs, to draw in one chart
    #[arg(value_name = "RUN|TAG|FILE", required = true)]
    pub(crate) runs: Vec<String>,

    /// Kind of chart
    #[arg(long, value_parser = choice(PlotKind::ALL), default_value = PlotKind::Timeline.name())]
    pub(crate) kind: PlotKind,

    /// In a timeline of fio's logs, smooth each series by a moving average over this time
    #[arg(long, value_name = "TIME", value_parser = smoothing)]
    pub(crate) smooth: Option<Nanos>,

    /// In a timeline of fio's logs, add a linear trend line to each series
    #[arg(long)]
    pub(crate) trend: bool,

    /// Output file in SVG format, overwritten if it exists; `-` for standard output. With the extension .png the chart is written
    /// as PNG, which requires rsvg-convert
    #[arg(long, short, value_name = "FILE", required_unless_present = "show")]
    pub(crate) output: Option<PathBuf>,

    /// Draw the chart in the terminal: as a picture if the terminal announces that it can show one (kitty, Ghostty, WezTerm; sixel
    /// graphics: foot, mlterm, contour, Konsole, iTerm2; requires rsvg-convert), otherwise in braille characters
    #[arg(long, value_name = "HOW", value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "auto")]
    pub(crate) show: Option<Show>,

    /// Results database [default: iolite/results.db under XDG_DATA_HOME or ~/.local/share]
    #[arg(long, value_name = "FILE")]
    pub(crate) results: Option<PathBuf>,
}

/// How a chart is drawn in the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Show {
    /// As the terminal announces
    Auto,
    /// In braille characters
    Braille,
    /// As a picture, by kitty's graphics protocol
    Kitty,
    /// As a picture, in sixel graphics
    Sixel,
}

/// Time to smooth over.
fn smoothing(text: &str) -> anyhow::Result<Nanos> {
    match text.parse::<Nanos>()? {
        Nanos(0) => anyhow::bail!("specify a time above 0, for example 5s"),
        time => Ok(time),
    }
}

const REPORT_EXAMPLES: &str = "\
Examples:
  A page about the latest run:
      iolite report latest -o report.html
  A page about two runs, overlaid in its charts:
      iolite report latest~1 latest -o both.html

RUN is the id of a run, the beginning of an id, `latest`, or `latest~N` for the Nth run before the latest. docs/report.md describes the page.";

/// `iolite report` as typed.
#[derive(Debug, Parser)]
#[command(after_help = REPORT_EXAMPLES)]
pub(crate) struct ReportArgs {
    /// Runs to include in the page, or their tags
    #[arg(value_name = "RUN|TAG", required = true)]
    pub(crate) runs: Vec<String>,

    /// Output file, overwritten if it exists; `-` for standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: PathBuf,

    /// Results database [default: iolite/results.db under XDG_DATA_HOME or ~/.local/share]
    #[arg(long, value_name = "FILE")]
    pub(crate) results: Option<PathBuf>,
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
