//! `iolite observe`: what the machine does, recorded without a workload of ours.

mod cachestat;

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Parser, Subcommand};
use iolite_engine::{Control, EngineError};
use iolite_model::{Concluded, Nanos, Storage, Warning};
use iolite_observe::Schedule;
use iolite_results::RunRequest;
use iolite_session::{GaveUp, Observation, ServerObservation, Session, Setup, ending, patiently};
use iolite_suites::SingleStep;

use crate::exit::{self, Exit, UsageError, refuse};
use crate::shared_args::{OutputArgs, WaitArgs};
use crate::{output, setup, signals};

const EXAMPLES: &str = "\
Examples:
  CPU, memory, pressure, page cache and the devices of a database directory, for five minutes:
      iolite observe /var/lib/postgresql
  For an hour, every ten seconds; `iolite results show` prints the result again:
      iolite observe /var/lib/postgresql --interval 10s --duration 1h
  The same, with the counters and wait events of a database under its present workload:
      iolite observe --db postgres://me@localhost/app --duration 10m
  Hits and misses of the page cache, a line per second:
      sudo iolite observe cachestat

If the database does not respond or is restarted, the gap is reported, and the host is observed without interruption.";

/// Share of one CPU that readings may take.
const MAX_CPU: f64 = 0.01;

/// How long a database is asked where its files are, before the host is observed without knowing that.
const ASKED: Duration = Duration::from_secs(10);

/// `iolite observe` as typed.
#[derive(Debug, Parser)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{}", exit::TABLE))]
pub(crate) struct ObserveArgs {
    #[command(subcommand)]
    verb: Option<Verb>,

    /// Directory on the storage whose devices are observed [default: the storage of the database of --db, or the working directory]
    #[arg(value_name = "DIR")]
    directory: Option<PathBuf>,

    /// Also read the counters of this database and the wait events of its sessions: postgres://USER@HOST/DATABASE or
    /// mysql://USER@HOST/DATABASE. SQLite (sqlite:DIR) reports neither. A URL with a password should be passed in the environment,
    /// because other users can see the command line
    #[arg(long, value_name = "URL", env = "IOLITE_DB", hide_env_values = true)]
    db: Option<String>,

    /// Time to observe; Ctrl-C ends it early and keeps the readings
    #[arg(long, value_name = "TIME", default_value = "300s")]
    duration: Nanos,

    /// Time between readings
    #[arg(long, value_name = "TIME", default_value = "1s")]
    interval: Nanos,

    #[command(flatten)]
    waits: WaitArgs,

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
    let server = server(args)?;
    let (storage, unknown) = storage(args, server.as_ref(), &control)?;
    let setup = Setup {
        directory: None,
        results: setup::usable_results(args.output.results.clone())?,
        view: setup::asked_view(&args.output.view, args.duration)?,
    };
    let subject = storage.directory.display().to_string();
    let mut session = Session::begin_sampling(setup::run_info(storage), setup, schedule, &control)?;
    session.conclude(Concluded::of(&RunRequest::new("observe", subject)));
    unknown.into_iter().for_each(|warning| session.warn(warning));
    let mut step = SingleStep::new(args.duration);
    let driven = match server {
        Some(mut server) => session.drive(&mut step, &mut server),
        None => session.drive(&mut step, &mut Observation),
    };
    let run = session.end(ending(driven.err(), &control));
    output::run(&run, args.output.format())?;
    Ok(exit::of_run(&run))
}

/// The database to observe, if any.
fn server(args: &ObserveArgs) -> anyhow::Result<Option<ServerObservation>> {
    let Some(url) = &args.db else {
        return match args.waits.is_given() {
            true => {
                Err(UsageError::new("--waits needs --db: specify whose sessions are to be sampled").into())
            }
            false => Ok(None),
        };
    };
    let url = setup::database(url).map_err(UsageError::new)?;
    Ok(Some(ServerObservation::new(url, args.waits.sampling())))
}

/// The storage whose devices are observed: that of the directory, of the database, or of the working directory; the last with a warning
/// where the database can't be asked.
fn storage(
    args: &ObserveArgs,
    server: Option<&ServerObservation>,
    control: &Control,
) -> anyhow::Result<(Storage, Option<Warning>)> {
    let of_directory =
        |path: &Path| -> anyhow::Result<Storage> { Ok(iolite_observe::storage(&setup::directory(path)?)?) };
    match (&args.directory, server.cloned()) {
        (Some(directory), _) => Ok((of_directory(directory)?, None)),
        (None, None) => Ok((of_directory(Path::new("."))?, None)),
        (None, Some(server)) => match patiently(control, ASKED, move || server.storage()) {
            Ok(Ok(storage)) => Ok((storage, None)),
            Err(GaveUp::Interrupted) => Err(EngineError::Interrupted.into()),
            unknown => {
                let why = match unknown {
                    Ok(Err(error)) => iolite_session::describe(&error),
                    _ => "the database does not respond".to_owned(),
                };
                output::note(&format!("{why}; meanwhile, the devices of the working directory are observed"));
                Ok((of_directory(Path::new("."))?, Some(ServerObservation::other_devices(why))))
            }
        },
    }
}

/// When the machine is read.
fn schedule(duration: Nanos, interval: Nanos) -> Result<Schedule, UsageError> {
    if duration == Nanos(0) || interval.0 < 10_000_000 {
        refuse!(
            "--duration must be above 0 and --interval at least 10ms: specify, for example, --interval 1s"
        );
    }
    Ok(Schedule { interval, max_cpu: Some(MAX_CPU) })
}
