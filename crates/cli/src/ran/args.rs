//! The command line of `iolite ranread`, `ranwrite` and `ranio` as typed: the same verbs, each tool with the options of its
//! own operation.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use iolite_model::{Bytes, DbOperation, Durability, Nanos};

use super::Tool;
use super::export::ExportArgs;
use super::history::HistoryArgs;
use super::reset::ResetArgs;
use super::stop::StopArgs;
use super::sweep::SweepArgs;
use crate::exit;

const EXAMPLES: &str = "\
Examples:
  A database of 48 GiB to read from, in a directory (SQLite); globals for ten jobs that write:
      iolite ranread setup --db sqlite:/data/ran --size 48GiB
      iolite ranwrite create-globals --db sqlite:/data/ran --globals 10
  Twenty jobs that read at random for five minutes:
      iolite ranread run --db sqlite:/data/ran --jobs 20
  Ten jobs that write transactions of 50 sets and pause for 2 ms:
      iolite ranwrite run --db sqlite:/data/ran --jobs 10
  More and more jobs until throughput stops growing; is it good enough?
      iolite ranread sweep --db sqlite:/data/ran
  The same inside PostgreSQL, MariaDB and GT.M:
      iolite ranread setup --db postgres://me@localhost/bench --size 48GiB
      iolite ranread setup --db mysql://me@localhost/bench --size 48GiB
      iolite ranread setup --db gtm:/data/gtm --size 48GiB
  All runs for a spreadsheet; remove what setup has created:
      iolite ranread export --format csv
      iolite ranread purge --db sqlite:/data/ran

Sizes and times need a unit (48GiB, 300s); PerfTools' numbers without one are gigabytes, seconds, and milliseconds of --hang.
All three tools share one database. docs/databases.md explains what each database does.";

/// `iolite ranread`, `ranwrite` or `ranio` as typed.
#[derive(Debug, Parser)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{}", exit::TABLE))]
pub(crate) struct RanArgs<O: Args> {
    #[command(subcommand)]
    pub(crate) verb: Verb<O>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb<O: Args> {
    /// Make a database with blocks to read, pre-expanded; the last component of its directory is created if missing
    Setup(SetupArgs),
    /// Make the globals ^RanWriteGlobal1..N that jobs write into, one per job
    CreateGlobals(CreateGlobalsArgs),
    /// Add globals, up to this number
    AddGlobals(AddGlobalsArgs),
    /// Count the subscripts of each global one by one (slow)
    CountSubscripts(DatabaseArgs),
    /// Print `N,size1,size2,...`: the globals' sizes as recorded (quick)
    GetSizes(DatabaseArgs),
    /// Measure with a number of jobs, for a time or a number of iterations
    Run(Box<RunArgs<O>>),
    /// Increase the number of jobs until throughput stops growing, then report the knee and a verdict
    Sweep(Box<SweepArgs<O>>),
    /// End a run that goes on, or all; what they have measured is kept
    Stop(StopArgs),
    /// List the runs
    History(HistoryArgs),
    /// Write the runs that have ended to a file for a spreadsheet
    Export(ExportArgs),
    /// Forget the runs that have ended
    Reset(ResetArgs),
    /// Remove exactly what setup has made, and nothing else; an empty directory remains
    Purge(DatabaseArgs),
}

/// What a tool's operation is made of.
pub(crate) trait Operation: Args {
    /// The tool it belongs to.
    const TOOL: Tool;

    /// What each job does.
    fn operation(&self) -> DbOperation;
}

/// RanRead has nothing to choose.
#[derive(Debug, Clone, Args)]
pub(crate) struct ReadOptions {}

/// What RanWrite does.
#[derive(Debug, Clone, Args)]
pub(crate) struct WriteOptions {
    /// Sets per transaction
    #[arg(long, value_name = "N", default_value = "50", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) transaction_length: u32,

    /// Pause of each job after each transaction
    #[arg(long, value_name = "TIME", default_value = "2ms")]
    pub(crate) hang: Nanos,
}

/// What RanIO does.
#[derive(Debug, Clone, Args)]
pub(crate) struct IoOptions {
    #[command(flatten)]
    pub(crate) write: WriteOptions,

    /// Share of batches that are reads, in percent; the others are transactions
    #[arg(long, value_name = "PERCENT", default_value = "50", value_parser = clap::value_parser!(u8).range(0..=100))]
    pub(crate) read_percent: u8,
}

impl Operation for ReadOptions {
    const TOOL: Tool = Tool::RanRead;

    fn operation(&self) -> DbOperation {
        DbOperation::RanRead
    }
}

impl Operation for WriteOptions {
    const TOOL: Tool = Tool::RanWrite;

    fn operation(&self) -> DbOperation {
        DbOperation::RanWrite { transaction_length: self.transaction_length, hang: self.hang }
    }
}

impl Operation for IoOptions {
    const TOOL: Tool = Tool::RanIo;

    fn operation(&self) -> DbOperation {
        let WriteOptions { transaction_length, hang } = self.write;
        DbOperation::RanIo { transaction_length, hang, read_percent: self.read_percent }
    }
}

/// Which database.
#[derive(Debug, Clone, Args)]
pub(crate) struct DatabaseArgs {
    /// The database: sqlite:DIR, gtm:DIR, postgres://USER@HOST/DATABASE or mysql://USER@HOST/DATABASE. Where other users
    /// could see the command line, a URL with a password belongs into the environment
    #[arg(long, value_name = "URL", env = "IOLITE_DB", hide_env_values = true)]
    pub(crate) db: String,
}

/// `setup` as typed.
#[derive(Debug, Args)]
pub(crate) struct SetupArgs {
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,

    /// Size of the blocks to read: at least twice the memory, and four times the storage controller's cache
    #[arg(long, value_name = "SIZE", default_value = "1GiB")]
    pub(crate) size: Bytes,

    /// Cache of the storage controller, to warn where the database is too small for it
    #[arg(long, value_name = "SIZE")]
    pub(crate) controller_cache: Option<Bytes>,

    /// Print nothing while it is made
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// `create-globals` as typed.
#[derive(Debug, Args)]
pub(crate) struct CreateGlobalsArgs {
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,

    /// Globals: as many as jobs that are to write
    #[arg(long, value_name = "N", default_value = "5", value_parser = clap::value_parser!(u32).range(1..=9999))]
    pub(crate) globals: u32,

    /// Subscripts in each; the more there are, the fewer sets fall into the same block
    #[arg(long, value_name = "N", default_value = "1000000", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) subscripts: u64,

    /// Remove the globals that are there first
    #[arg(long)]
    pub(crate) replace: bool,

    /// Print nothing while they are made
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// `add-globals` as typed.
#[derive(Debug, Args)]
pub(crate) struct AddGlobalsArgs {
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,

    /// Globals there are to be in all
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=9999))]
    pub(crate) globals: u32,

    /// Subscripts in each new one [default: as many as the first has]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) subscripts: Option<u64>,

    /// Print nothing while they are made
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// How sessions work: what `run` and `sweep` have in common.
#[derive(Debug, Clone, Args)]
pub(crate) struct SessionArgs {
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,

    /// What a commit has done when it returns: `full` (all is on stable storage), `relaxed` (the log is written some
    /// time later, as PerfTools' database does by default) or `as-configured` (what the server's own settings say)
    #[arg(long, value_name = "HOW", default_value = "full", value_parser = durability)]
    pub(crate) durability: Durability,

    /// Read blocks through the database's own buffers, where there is a way around them (PostgreSQL)
    #[arg(long)]
    pub(crate) through_buffers: bool,

    /// Time each operation in this program, the way to the server and back included, instead of within the server
    #[arg(long)]
    pub(crate) client_timed: bool,

    /// Seed of the random numbers; the same seed gives the same operations [default: another one each time]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    /// Cache of the storage controller, to warn where the database is too small for it
    #[arg(long, value_name = "SIZE")]
    pub(crate) controller_cache: Option<Bytes>,

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

/// `run` as typed.
#[derive(Debug, Args)]
pub(crate) struct RunArgs<O: Args> {
    #[command(flatten)]
    pub(crate) session: SessionArgs,

    /// Jobs: each a session of its own
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=9999))]
    pub(crate) jobs: u32,

    /// Time to measure [default: 300s, without --iterations]
    #[arg(long, value_name = "TIME")]
    pub(crate) runtime: Option<Nanos>,

    /// Operations of each job, as PerfTools' older form has it; with --runtime whichever is reached first
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) iterations: Option<u64>,

    /// Time at the start that is left out of the results; not with --iterations, which count from the start
    #[arg(long, value_name = "TIME", default_value = "0s", conflicts_with = "iterations")]
    pub(crate) ramp: Nanos,

    #[command(flatten)]
    pub(crate) operation: O,
}

fn durability(text: &str) -> Result<Durability, String> {
    match text {
        "full" => Ok(Durability::Full),
        "relaxed" => Ok(Durability::Relaxed),
        "as-configured" => Ok(Durability::AsConfigured),
        _ => Err("write `full`, `relaxed` or `as-configured`".into()),
    }
}
