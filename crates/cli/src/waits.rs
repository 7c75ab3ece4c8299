//! `iolite waits`: what the sessions of a database wait for, beside whatever works in it.

use clap::{Args, Parser, Subcommand};
use iolite_engine::Control;
use iolite_model::{Concluded, Nanos};
use iolite_results::RunRequest;
use iolite_session::{WaitsWatch, answered};
use iolite_suites::SingleStep;

use crate::conduct::conduct;
use crate::exit::{self, Exit, UsageError, refuse};
use crate::shared_args::{OutputArgs, sample_interval};
use crate::{setup, signals};

const EXAMPLES: &str = "\
Examples:
  Sample the waits of an application for a minute:
      iolite waits watch --db postgres://me@localhost/app
  For ten minutes, once per second; `iolite results show` prints the result again:
      iolite waits watch --db mysql://me@localhost/app --duration 10m --interval 1s

Active sessions are sampled from pg_stat_activity and pg_locks in PostgreSQL, and from the process list and InnoDB's \
transactions and locks in MariaDB and MySQL. Sessions of other users are visible with the privileges of \
pg_read_all_stats or PROCESS.";

/// `iolite waits` as typed.
#[derive(Debug, Parser)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{}", exit::TABLE))]
pub(crate) struct WaitsArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Sample the active sessions of a database: average active sessions by wait, top statements, blocking sessions
    Watch(WatchArgs),
}

/// `watch` as typed.
#[derive(Debug, Args)]
struct WatchArgs {
    /// The database: postgres://USER@HOST/DATABASE or mysql://USER@HOST/DATABASE. A URL with a password should be passed in the
    /// environment, because other users can see the command line
    #[arg(long, value_name = "URL", env = "IOLITE_DB", hide_env_values = true)]
    db: String,

    /// Time to sample; Ctrl-C ends it early and keeps the samples
    #[arg(long, value_name = "TIME", default_value = "60s")]
    duration: Nanos,

    /// Time between samples. Each is one query; its mean time is printed with the result
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = sample_interval)]
    interval: Nanos,

    #[command(flatten)]
    output: OutputArgs,
}

/// Does what a verb asks for.
///
/// # Errors
/// The arguments are invalid, or the database can't be asked.
pub(crate) fn run(args: WaitsArgs) -> anyhow::Result<Exit> {
    let Verb::Watch(args) = args.verb;
    watch(&args)
}

fn watch(args: &WatchArgs) -> anyhow::Result<Exit> {
    let control = Control::new(signals::interrupt_flag()?);
    if args.duration == Nanos(0) {
        refuse!("--duration must be above 0: specify, for example, 60s");
    }
    let url = setup::database(&args.db).map_err(UsageError::new)?;
    let (asked, interval) = (url.clone(), args.interval);
    let watch = answered(&control, move || WaitsWatch::open(&asked, interval)).map_err(refused)?;
    let Some(mut watch) = watch else {
        refuse!("{url} does not report waits: only PostgreSQL, MariaDB and MySQL do");
    };
    let storage = watch.storage().clone();
    let mut session = setup::begin(storage, None, &args.output, args.duration, &control)?;
    session.conclude(Concluded::of(&RunRequest::new("waits", url.to_string())));
    let run = conduct(session, &mut SingleStep::new(args.duration), &mut watch, &args.output)?;
    Ok(exit::of_run(&run))
}

/// A refusal to open the database is the user's error; one that does not respond is not.
fn refused(error: iolite_session::Error) -> anyhow::Error {
    let error = error.into();
    match exit::cause(&error) {
        Some(
            iolite_db::Error::Url(_) | iolite_db::Error::Unsupported { .. } | iolite_db::Error::Build { .. },
        ) => UsageError::new(error).into(),
        _ => error,
    }
}
