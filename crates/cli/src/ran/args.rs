//! The command line of `iolite ranread`, `ranwrite` and `ranio` as typed: the same verbs, each tool with the options of its
//! own operation.

use clap::{Args, Parser, Subcommand};

use super::export::ExportArgs;
use super::history::HistoryArgs;
use super::making::{AddGlobalsArgs, CreateGlobalsArgs, SetupArgs};
use super::options::DatabaseArgs;
use super::reset::ResetArgs;
use super::run::RunArgs;
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
