//! `iolite observe`: what the machine does, recorded without a workload of ours.

mod cachestat;

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use iolite_engine::Control;
use iolite_model::{Concluded, Nanos};
use iolite_observe::Schedule;
use iolite_results::RunRequest;
use iolite_session::{Observation, Session, Setup, ending};
use iolite_suites::SingleStep;

use crate::exit::{self, Exit, UsageError};
use crate::shared_args::OutputArgs;
use crate::{output, setup, signals};

const EXAMPLES: &str = "\
Examples:
  CPU, memory, pressure, page cache and the devices of a database directory, for five minutes:
      iolite observe /var/lib/postgresql
  For an hour, every ten seconds; `iolite results show` prints the result again:
      iolite observe /var/lib/postgresql --interval 10s --duration 1h
  Hits and misses of the page cache, a line per second:
      sudo iolite observe cachestat";

/// Share of one CPU that readings may take.
const MAX_CPU: f64 = 0.01;

/// `iolite observe` as typed.
#[derive(Debug, Parser)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{}", exit::TABLE))]
pub(crate) struct ObserveArgs {
    #[command(subcommand)]
    verb: Option<Verb>,

    /// Directory on the storage whose devices are observed
    #[arg(value_name = "DIR", default_value = ".")]
    directory: PathBuf,

    /// Time to observe; Ctrl-C ends it early and keeps the readings
    #[arg(long, value_name = "TIME", default_value = "300s")]
    duration: Nanos,

    /// Time between readings
    #[arg(long, value_name = "TIME", default_value = "1s")]
    interval: Nanos,

    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Print hits and misses of the page cache once per interval
    Cachestat(cachestat::CachestatArgs),
}

/// Observes.
///
/// # Errors
/// The arguments are invalid, or the directory can't be examined.
pub(crate) fn run(args: &ObserveArgs) -> anyhow::Result<Exit> {
    match &args.verb {
        Some(Verb::Cachestat(args)) => cachestat::run(args),
        None => machine(args),
    }
}

fn machine(args: &ObserveArgs) -> anyhow::Result<Exit> {
    let control = Control::new(signals::interrupt_flag()?);
    let schedule = schedule(args.duration, args.interval)?;
    let directory = setup::directory(&args.directory)?;
    let storage = iolite_observe::storage(&directory)?;
    let setup = Setup {
        directory: None,
        results: setup::usable_results(args.output.results.clone())?,
        view: setup::asked_view(&args.output.view, args.duration)?,
    };
    let mut session = Session::begin_sampling(setup::run_info(storage), setup, schedule, &control)?;
    session.conclude(Concluded::of(&RunRequest::new("observe", directory.display().to_string())));
    let failure = session.drive(&mut SingleStep::new(args.duration), &mut Observation).err();
    let run = session.end(ending(failure, &control));
    output::run(&run, args.output.format())?;
    Ok(exit::of_run(&run))
}

/// When the machine is read.
fn schedule(duration: Nanos, interval: Nanos) -> Result<Schedule, UsageError> {
    if duration == Nanos(0) || interval.0 < 10_000_000 {
        let message =
            "--duration must be above 0 and --interval at least 10ms: specify, for example, --interval 1s";
        return Err(UsageError::new(message));
    }
    Ok(Schedule { interval, max_cpu: Some(MAX_CPU) })
}
