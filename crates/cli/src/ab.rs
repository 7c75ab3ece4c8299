//! `iolite ab`: arguments -> two jobs -> turns -> outputs.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Parser;
use iolite_engine::Control;
use iolite_model::{Concluded, Ending, Job};
use iolite_report::ab::AbReport;
use iolite_results::ab::AbTerms;
use iolite_results::comparison::{DEFAULT_DETECT, Figure};
use iolite_results::{Run, RunRequest};
use iolite_session::Renewing;
use iolite_suites::Ab;

use crate::conduct::conduct;
use crate::exit::{Exit, UsageError};
use crate::job::{self, Loaded};
use crate::shared_args::OutputArgs;
use crate::writes::WriteArgs;
use crate::{exit, run as jobs, setup, signals};

const EXAMPLES: &str = "\
Examples:
  Is io_uring faster than libaio here? At most 20 pairs, fewer if the result is clear:
      iolite ab libaio.toml uring.toml --directory /var/lib/postgresql
  Compare the 99th percentile, ignoring differences below 10 %:
      iolite ab a.fio b.fio --figure p99 --detect 10 --repeat 40
  Show the result again:
      iolite results show latest

Each pair runs both jobs in random order, so that drift of the host affects both equally. Files that do not exist before the run \
are separate for each job (their names start with a- and b-), and files that a job writes are created again in each pair. Files \
and devices that exist before the run are shared. After each pair a sequential test decides whether the result is clear; its error rate is at most 5 % (docs/statistics.md).";

/// `iolite ab` as typed.
#[derive(Debug, Parser)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{}", exit::TABLE))]
pub(crate) struct AbArgs {
    /// First job: a TOML file or a fio job file
    #[arg(value_name = "JOB-A")]
    a: PathBuf,

    /// Second job
    #[arg(value_name = "JOB-B")]
    b: PathBuf,

    /// Maximum number of pairs
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(2..=10_000))]
    repeat: u32,

    /// Figure of the last task to compare: rate, bandwidth, mean, p50, p99 or p99.9 [default: rate; mean if the job sets a rate]
    #[arg(long, value_name = "FIGURE", value_parser = figure)]
    figure: Option<Figure>,

    /// Smallest difference that matters, in percent; the comparison also ends when a difference of this size is ruled out
    #[arg(long, value_name = "PERCENT", default_value_t = 100.0 * DEFAULT_DETECT, value_parser = crate::results::detect)]
    detect: f64,

    /// Seed for the order of the runs
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Directory for the jobs' own files
    #[arg(long, value_name = "DIR", default_value = ".")]
    directory: PathBuf,

    /// Allow overwriting this device even if it holds a file system, partition table, volume or swap space; may be repeated
    #[arg(long, value_name = "DEVICE")]
    allow_overwrite: Vec<PathBuf>,

    #[command(flatten)]
    writes: WriteArgs,

    #[command(flatten)]
    output: OutputArgs,
}

fn figure(text: &str) -> anyhow::Result<Figure> {
    let found = Figure::ALL.into_iter().find(|figure| figure.name() == text);
    found.with_context(|| format!("write one of {}", Figure::ALL.map(Figure::name).join(", ")))
}

/// Compares two jobs.
///
/// # Errors
/// The jobs make no sense, or can't be begun. A failure later is part of what is printed.
pub(crate) fn run(args: AbArgs) -> anyhow::Result<Exit> {
    let (Loaded { job: a, .. }, Loaded { job: b, .. }) = (job::load(&args.a)?, job::load(&args.b)?);
    let control = Control::new(signals::interrupt_flag()?);
    job::check(&a)?;
    job::check(&b)?;
    let no_task = || UsageError::new("a job without tasks cannot be compared");
    let figure = args.figure.or_else(|| Ab::usual_figure(&a)).ok_or_else(no_task)?;
    let devices = setup::named_devices(&args.allow_overwrite)?;
    let both = Job { name: String::new(), tasks: [a.tasks.clone(), b.tasks.clone()].concat() };
    let mut session = jobs::begin(&both, &args.directory, &args.writes, &args.output, &control)?;
    session.scratch().allow_overwriting(devices);
    let name = |job: &Job, path: &PathBuf| match job.name.as_str() {
        "" => path.display().to_string(),
        name => name.to_owned(),
    };
    let terms = AbTerms {
        jobs: (name(&a, &args.a), name(&b, &args.b)),
        repeat: args.repeat,
        figure,
        detect: args.detect / 100.0,
        seed: args.seed.unwrap_or_else(|| session.run().info.started_unix.0),
    };
    session.conclude(Concluded::of(&RunRequest::new("ab", "")));
    let run = conduct(session, &mut Ab::new(&a, &b, terms, Path::exists), &mut Renewing, &args.output)?;
    Ok(exit_of(&run))
}

fn exit_of(run: &Run) -> Exit {
    match run.ending {
        Some(Ending::Completed) if AbReport::of(run).is_none() => Exit::Interrupted,
        _ => exit::of_run(run),
    }
}
