//! `iolite durability`: whether acknowledged writes and commits are there after a crash.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Parser, Subcommand};
use iolite_db::{DatabaseUrl, without_password};
use iolite_durability::{Error, Witness, check_plan, new_key, read_witness, serve, slots};
use iolite_engine::Control;
use iolite_model::acknowledged::{Findings, Method, Plan};
use iolite_model::{Bytes, Concluded, Ending, Nanos, Storage, WritePlan};
use iolite_oltp::ran::{self, Settings};
use iolite_results::{Run, RunRequest};
use iolite_session::{
    AcknowledgedRun, DatabaseStorage, DatabaseWrites, Error as SessionError, Witnessed, WitnessedRun,
    describe, witness_file,
};
use iolite_suites::{DurabilityCheck, SingleStep};

use crate::conduct::{conduct, printed};
use crate::exit::{self, Exit, UsageError, refuse};
use crate::shared_args::{OutputArgs, QuietOutputArgs};
use crate::writes::{KeepFreeArgs, WriteArgs};
use crate::{output, setup, signals};

const EXAMPLES: &str = "\
Examples:
  Does this disk keep acknowledged writes when power fails? On another host:
      iolite durability witness --listen 0.0.0.0:7480 --output notes
  On the host under test, with the token printed by the witness; then cut its power:
      iolite durability run /var/lib/postgresql --witness tcp://OTHERHOST:7480 --token TOKEN
  After the reboot, with the notes copied from the witness:
      iolite durability check notes
  Does a database keep its commits when its server is killed?
      iolite durability run --db postgres://me@localhost/test --witness notes --duration 60s &
      kill -9 PID-OF-THE-SERVER
      iolite durability check notes --db postgres://me@localhost/test

A write is acknowledged when fdatasync or the commit has returned; it is then sent to the witness. Every write that the \
witness has recorded must be found by the check. What it had not recorded before the crash is not checked: the last half \
second of a witness file on the same host, and with a witness on another host what had not yet been sent or received. \
Keep the witness on another host, or at least on another disk.";

/// What is written to files at most, unless the user says otherwise.
const MAX_WRITE: Bytes = Bytes::GIB;

/// `iolite durability` as typed.
#[derive(Debug, Parser)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DurabilityArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Write, make each write durable and report it to the witness, until the crash
    Run(Box<RunArgs>),
    /// Record the acknowledged writes of a run on another host
    Witness(WitnessArgs),
    /// After the crash, check that every acknowledged write is present
    Check(CheckArgs),
}

#[derive(Debug, clap::Args)]
struct RunArgs {
    /// Directory to test; files are placed in a new directory inside it and kept for the check
    #[arg(value_name = "DIR", required_unless_present = "db", conflicts_with = "db")]
    directory: Option<PathBuf>,

    /// Test commits of this database instead of a directory: sqlite:DIR, postgres://USER@HOST/DATABASE,
    /// mysql://USER@HOST/DATABASE, or gtm:DIR of a database created by `iolite ranwrite setup`
    #[arg(long, value_name = "URL")]
    db: Option<String>,

    /// Where acknowledged writes are recorded: a new file on another file system, or a witness at tcp://HOST:PORT
    #[arg(long, value_name = "FILE|tcp://HOST:PORT")]
    witness: String,

    /// Token printed by the witness on the other host
    #[arg(long, value_name = "TOKEN", default_value = "", hide_default_value = true, env = "IOLITE_TOKEN")]
    #[arg(hide_env_values = true)]
    token: String,

    /// How each write is made durable: `append`, `overwrite`, `dsync` or `rename`
    #[arg(long, default_value = "append", conflicts_with = "db")]
    method: Method,

    /// Number of concurrent writers
    #[arg(long, value_name = "N", default_value_t = 4)]
    workers: u32,

    /// Size of each write
    #[arg(long, value_name = "SIZE", default_value = "4KiB", conflicts_with = "db")]
    block: Bytes,

    /// Maximum amount of data to write [default: 1GiB; with --db no limit]; with --db the run ends when the devices under the
    /// database have written that much
    #[arg(long, value_name = "SIZE")]
    max_write: Option<Bytes>,

    #[command(flatten)]
    keep: KeepFreeArgs,

    /// Time to run [default: until interrupted]
    #[arg(long, value_name = "TIME")]
    duration: Option<Nanos>,

    /// Allow the witness file on the file system under test, where it survives only the end of a process
    #[arg(long)]
    same_file_system: bool,

    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Debug, clap::Args)]
struct WitnessArgs {
    /// Address to listen on
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7480")]
    listen: String,

    /// New file for the notes
    #[arg(long, value_name = "FILE")]
    output: PathBuf,

    /// Token that runs must present [default: a new token, which is printed]
    #[arg(long, value_name = "TOKEN", env = "IOLITE_TOKEN", hide_env_values = true)]
    token: Option<String>,
}

#[derive(Debug, clap::Args)]
struct CheckArgs {
    /// Notes of the witness
    #[arg(value_name = "NOTES")]
    notes: PathBuf,

    /// Directory under test, if its path has changed
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,

    /// URL of the database under test, with its password if needed
    #[arg(long, value_name = "URL", env = "IOLITE_DB", hide_env_values = true)]
    db: Option<String>,

    /// Remove the files or table of the run if nothing was lost
    #[arg(long)]
    remove: bool,

    #[command(flatten)]
    output: QuietOutputArgs,
}

/// Does what is asked for.
///
/// # Errors
/// What can't be done, with the cause and what helps.
pub(crate) fn run(args: DurabilityArgs) -> anyhow::Result<Exit> {
    match args.action {
        Action::Run(args) => acknowledge(*args),
        Action::Witness(args) => witness(args),
        Action::Check(args) => compare(args),
    }
}

fn refused(error: Error) -> anyhow::Error {
    match error {
        Error::Asked(_)
        | Error::SamePlace { .. }
        | Error::PlaceUnknown { .. }
        | Error::InMemory { .. }
        | Error::Foreign { .. } => UsageError::new(error).into(),
        other => other.into(),
    }
}

fn of_session(error: SessionError) -> anyhow::Error {
    match error {
        SessionError::Durability(error) => refused(error),
        other => other.into(),
    }
}

fn database(url: Option<&str>) -> anyhow::Result<Option<DatabaseUrl>> {
    url.map(setup::database).transpose().map_err(|error| UsageError::new(error).into())
}

fn acknowledge(args: RunArgs) -> anyhow::Result<Exit> {
    let interrupted = signals::interrupt_flag()?;
    let control = Control::new(interrupted.clone());
    let url = database(args.db.as_deref())?;
    let directory = args.directory.as_deref().map(setup::writable_directory).transpose()?;
    let place = match (&directory, &url) {
        (Some(directory), _) => directory.display().to_string(),
        (None, url) => url.as_ref().map(|url| without_password(&url.to_string())).unwrap_or_default(),
    };
    let method = if url.is_some() { Method::Commit } else { args.method };
    let run = new_key().map_err(refused)?;
    // What a commit writes only the database knows.
    let bytes = if url.is_some() { Bytes(u64::MAX) } else { args.max_write.unwrap_or(MAX_WRITE) };
    let slots = slots(args.block, args.workers, bytes);
    let plan = Plan { run, method, block: args.block, workers: args.workers, slots, place };
    check_plan(&plan, bytes).map_err(refused)?;
    let (storage, held) = held(&args, &plan, url.as_ref())?;
    let tested = tested(&directory, url.as_ref());
    let witness = match args.witness.strip_prefix("tcp://") {
        Some(address) => Witness::host(address, &args.token).map_err(refused)?,
        None => witness_file(Path::new(&args.witness), tested.filter(|_| !args.same_file_system))
            .map_err(of_session)?,
    };
    let output = &args.output;
    let length = args.duration.unwrap_or_default();
    let mut session = setup::begin(storage, None, output, length, &control)?;
    session.conclude(Concluded::of(&RunRequest::new("durability-run", plan.place.clone())));
    if !output.view.quiet {
        output::note(
            "writing; every acknowledged write must survive: cut the power, reset the host, or kill the server",
        );
    }
    let duration = args.duration.map(|duration| Duration::from_nanos(duration.0));
    let mut writes =
        AcknowledgedRun { plan, url, witness, duration, bytes, held, interrupted, outcome: None };
    let failure = session.drive(&mut SingleStep::new(()), &mut writes).err();
    let ending = match (failure, &writes.outcome) {
        (Some(failure), _) => Ending::Failed(describe(&failure)),
        // An interruption is its usual end, if there is something to check.
        (None, Some(Witnessed::Notes)) => Ending::Completed,
        (None, _) => Ending::Interrupted,
    };
    let run = printed(session.end(ending), output)?;
    if !output.view.quiet {
        output::note(&next_step(&args, writes.outcome.as_ref()));
    }
    Ok(exit::of_run(&run))
}

/// What is to be done after a run.
fn next_step(args: &RunArgs, outcome: Option<&Witnessed>) -> String {
    let elsewhere = args.witness.starts_with("tcp://");
    let created = if elsewhere {
        "what the run has created was"
    } else {
        "what the run has created, and its notes, were"
    };
    match outcome {
        Some(Witnessed::Notes) => {
            let notes = if elsewhere { "NOTES" } else { &args.witness };
            let db = if args.db.is_some() { " --db URL" } else { "" };
            format!("to check: iolite durability check {notes}{db}")
        }
        Some(Witnessed::Nothing { left: Some(left) }) => {
            format!(
                "nothing was acknowledged, so there is nothing to check; remove what is left yourself: {left}"
            )
        }
        Some(Witnessed::Nothing { left: None }) => {
            format!("nothing was acknowledged, so there is nothing to check: {created} removed")
        }
        None => "nothing was written, so there is nothing to check".to_owned(),
    }
}

/// Plans and shows what is written; what a database writes is watched while it runs.
///
/// # Errors
/// It does not keep the limits, or the database can't be asked.
fn held(
    args: &RunArgs,
    plan: &Plan,
    url: Option<&DatabaseUrl>,
) -> anyhow::Result<(Storage, Option<DatabaseWrites>)> {
    let writes = WriteArgs { max_write: args.max_write, keep: args.keep.clone() };
    let (timed, limits) = (args.duration.unwrap_or_default(), writes.limits());
    let quiet = args.output.view.quiet || args.output.json;
    let Some(url) = url else {
        let bytes = args.max_write.unwrap_or(MAX_WRITE);
        let space = iolite_durability::space(plan, bytes);
        let storage = iolite_observe::storage(Path::new(&plan.place))?;
        let planned = WritePlan { bytes, space, duration: timed, ..WritePlan::default() };
        writes.accept(planned, &storage, quiet)?;
        return Ok((storage, None));
    };
    let instance = ran::open(url, Settings::default())?.instance();
    let storage = DatabaseStorage::find(url, instance.as_ref())?;
    // Until it is interrupted: as long as that may be, it is nothing that could be shown.
    let planned = WritePlan { timed: timed.max(Nanos(1)), duration: timed, ..WritePlan::default() };
    if timed.0 > 0 {
        writes.accept_in_database(planned, &storage.storage, quiet)?;
    } else {
        limits.check_in_database(&planned, &storage.storage.filesystem).map_err(UsageError::new)?;
    }
    let held = DatabaseWrites::begin(&storage, &instance, limits);
    Ok((storage.storage, Some(held)))
}

/// The directory that a witness must not share a file system with.
fn tested<'a>(directory: &'a Option<PathBuf>, url: Option<&'a DatabaseUrl>) -> Option<&'a Path> {
    match (directory, url) {
        (Some(directory), _) | (None, Some(DatabaseUrl::Sqlite(directory) | DatabaseUrl::Gtm(directory))) => {
            Some(directory)
        }
        _ => None,
    }
}

fn witness(args: WitnessArgs) -> anyhow::Result<Exit> {
    let interrupted = signals::interrupt_flag()?;
    let token = match args.token {
        Some(token) => token,
        None => String::from(new_key().map_err(refused)?),
    };
    let listener = TcpListener::bind(&args.listen).map_err(|error| {
        UsageError::new(format!("--listen {}: {error}; specify another address or port", args.listen))
    })?;
    let address = listener.local_addr().map(|address| address.to_string()).unwrap_or(args.listen);
    output::print(&format!(
        "listening on {address}; on the host under test run:\n  iolite durability run DIR --witness tcp://{address} --token \
         {token}\n"
    ))?;
    let noted = serve(&listener, &args.output, &token, &interrupted).map_err(refused)?;
    output::note(&format!("{} of notes written to {}", Bytes(noted), args.output.display()));
    Ok(if noted == 0 { Exit::Interrupted } else { Exit::Fit })
}

fn compare(args: CheckArgs) -> anyhow::Result<Exit> {
    let control = Control::new(signals::interrupt_flag()?);
    let mut known = read_witness(&args.notes).map_err(refused)?;
    if let Some(directory) = &args.directory {
        known.plan.place = setup::directory(directory)?.display().to_string();
    }
    let place = known.plan.place.clone();
    let commits = known.plan.method == Method::Commit;
    let url = database(args.db.as_deref().filter(|_| commits))?;
    if commits && url.is_none() {
        refuse!("the notes are of commits to {place}: name it with --db URL");
    }
    let mut witnessed = WitnessedRun::open(known, url.as_ref()).map_err(refused)?;
    let output = args.output.output();
    let mut session = setup::begin(witnessed.storage()?, None, &output, Nanos(0), &control)?;
    session.conclude(Concluded::of(&RunRequest::new("durability", place)));
    let mut check = DurabilityCheck::new(args.remove);
    Ok(exit_of(&conduct(session, &mut check, &mut witnessed, &output)?))
}

fn exit_of(run: &Run) -> Exit {
    let found: Option<Findings> = run.concluded().last();
    match (&run.ending, found) {
        (Some(Ending::Completed), Some(found)) => match (found.lost, found.acknowledged) {
            (0, 0) => Exit::Marginal,
            (0, _) => Exit::Fit,
            _ => Exit::Unfit,
        },
        _ => exit::of_run(run),
    }
}
