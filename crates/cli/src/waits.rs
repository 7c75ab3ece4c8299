//! `iolite waits`: what the sessions of a database wait for, beside whatever works in it.

use std::time::{Duration, Instant};

use clap::{Args, Parser, Subcommand};
use iolite_db::{DatabaseUrl, Instance, WaitSampler};
use iolite_engine::Control;
use iolite_model::{Concluded, Ending, Nanos};
use iolite_oltp::tproc_c;
use iolite_results::Asked;
use iolite_session::{Session, Setup};
use std::sync::Arc;

use crate::args::OutputArgs;
use crate::exit::{self, Exit, UsageError};
use crate::ran::{Place, answered};
use crate::{output, setup, signals};

const EXAMPLES: &str = "\
Examples:
  What does an application wait for, for a minute?
      iolite waits watch --db postgres://me@localhost/app
  For ten minutes, once per second; what was printed is shown again by `iolite results show`:
      iolite waits watch --db mysql://me@localhost/app --duration 10m --interval 1s

Active sessions are sampled: PostgreSQL's from pg_stat_activity and pg_locks, MariaDB's and MySQL's from the list of processes and
InnoDB's transactions and locks. To see the sessions of others takes a privilege: pg_read_all_stats, or PROCESS.";

/// Longest sleep before the user's interrupt is looked for.
const LOOK: Duration = Duration::from_millis(100);

/// `iolite waits` as typed.
#[derive(Debug, Parser)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{}", exit::TABLE))]
pub(crate) struct WaitsArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Sample the active sessions of a database: average sessions by wait, top statements, who holds up whom
    Watch(WatchArgs),
}

/// `watch` as typed.
#[derive(Debug, Args)]
struct WatchArgs {
    /// The database: postgres://USER@HOST/DATABASE or mysql://USER@HOST/DATABASE. Where other users could see the command line,
    /// pass a URL with a password in the environment
    #[arg(long, value_name = "URL", env = "IOLITE_DB", hide_env_values = true)]
    db: String,

    /// Time to watch; Ctrl-C ends it earlier and keeps what was seen
    #[arg(long, value_name = "TIME", default_value = "60s")]
    duration: Nanos,

    /// Time from one sample to the next
    #[arg(long, value_name = "TIME", default_value = "100ms")]
    interval: Nanos,

    #[command(flatten)]
    output: OutputArgs,
}

/// Does what a verb asks for.
///
/// # Errors
/// The arguments make no sense, or the database can't be asked.
pub(crate) fn run(args: WaitsArgs) -> anyhow::Result<Exit> {
    let Verb::Watch(args) = args.verb;
    watch(&args)
}

fn watch(args: &WatchArgs) -> anyhow::Result<Exit> {
    let control = Control::new(signals::interrupt_flag()?);
    if args.duration == Nanos(0) || args.interval.0 < 1_000_000 {
        let message = "--duration must be above 0 and --interval at least 1ms: give, for example, --duration 60s --interval 100ms";
        return Err(UsageError(message.into()).into());
    }
    let url = DatabaseUrl::parse(&args.db).map_err(|error| UsageError(error.to_string()))?;
    let asked = url.clone();
    let (instance, place) = answered(&control, move || {
        let instance = instance(&asked)?;
        let place = Place::find(&asked, instance.as_ref())?;
        Ok((instance, place))
    })?;
    let interval = Duration::from_nanos(args.interval.0);
    let starting = instance.clone();
    let reader = answered(&control, move || Ok(starting.wait_reader()?))?;
    let Some(sampler) = reader.and_then(|reader| WaitSampler::start(reader, interval)) else {
        let message = format!("{url} shows no waits: PostgreSQL, MariaDB and MySQL do");
        return Err(UsageError(message).into());
    };
    let setup = Setup {
        // Nothing is written there.
        directory: &std::env::temp_dir(),
        results: setup::usable_results(args.output.results.clone())?,
        view: setup::view(setup::live(args.output.quiet), args.duration),
    };
    let mut session = Session::begin(setup::run_info(place.storage.clone()), setup, &control)?;
    session.conclude(Concluded::of(&Asked::new("waits", url.to_string())));
    session.events().message("watching the sessions of the database");
    sleep(&control, args.duration);
    let found = sampler.finish();
    let failure = found.as_ref().and_then(|found| found.failure.clone());
    if let Some(found) = &found {
        session.conclude(Concluded::of(found));
    }
    let ending = match (found, failure) {
        (None, _) => Ending::Failed(format!("{url} has stopped responding")),
        (_, Some(failure)) => Ending::Failed(failure),
        _ if control.interrupted() => Ending::Interrupted,
        _ => Ending::Completed,
    };
    let exit = match ending {
        Ending::Completed => Exit::Fit,
        Ending::Interrupted => Exit::Interrupted,
        Ending::Failed(_) => Exit::Failure,
    };
    let run = session.end(ending);
    output::run(&run, args.output.format())?;
    output::failure(&run, args.output.quiet);
    Ok(exit)
}

/// The instance at a URL.
fn instance(url: &DatabaseUrl) -> anyhow::Result<Arc<dyn Instance>> {
    let database = tproc_c::open(url, iolite_model::Durability::AsConfigured)
        .map_err(|error| UsageError(error.to_string()))?;
    Ok(database.instance())
}

/// Sleeps for a time, or until the user interrupts.
pub(crate) fn sleep(control: &Control, time: Nanos) {
    let end = Instant::now() + Duration::from_nanos(time.0);
    while !control.interrupted() {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        std::thread::sleep(left.min(LOOK));
    }
}
