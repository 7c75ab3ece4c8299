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
  Create a database of 48 GiB in a directory (SQLite), and globals for ten writing jobs:
      iolite ranread setup --db sqlite:/data/ran --size 48GiB
      iolite ranwrite create-globals --db sqlite:/data/ran --globals 10
  Read randomly with twenty jobs for five minutes:
      iolite ranread run --db sqlite:/data/ran --jobs 20
  Write with ten jobs, in transactions of 50 sets with a pause of 2 ms:
      iolite ranwrite run --db sqlite:/data/ran --jobs 10
  Increase the number of jobs until throughput stops growing, with a verdict:
      iolite ranread sweep --db sqlite:/data/ran
  The same inside PostgreSQL, MariaDB and GT.M:
      iolite ranread setup --db postgres://me@localhost/bench --size 48GiB
      iolite ranread setup --db mysql://me@localhost/bench --size 48GiB
      iolite ranread setup --db gtm:/data/gtm --size 48GiB
  Export all runs for a spreadsheet; remove the database:
      iolite ranread export --format csv
      iolite ranread purge --db sqlite:/data/ran

Sizes and times need a unit (48GiB, 300s). In PerfTools, numbers without a unit are gigabytes, seconds, and milliseconds \
for --hang. All three tools use the same database. docs/databases.md describes each database system.";

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
    /// Create a database with blocks to read, at its full size; the last component of its directory is created if missing
    Setup(SetupArgs),
    /// Create the globals ^RanWriteGlobal1..N that jobs write to, one per job
    CreateGlobals(CreateGlobalsArgs),
    /// Add globals
    AddGlobals(AddGlobalsArgs),
    /// Count the subscripts of each global by reading them (slow)
    CountSubscripts(DatabaseArgs),
    /// Print the number and recorded sizes of the globals, as `N,size1,size2,...` (fast)
    GetSizes(DatabaseArgs),
    /// Run a number of jobs for a time or a number of iterations
    Run(Box<RunArgs<O>>),
    /// Increase the number of jobs until throughput stops growing, then report the knee and a verdict
    Sweep(Box<SweepArgs<O>>),
    /// Stop one or all running measurements; results measured so far are stored
    Stop(StopArgs),
    /// List the runs
    History(HistoryArgs),
    /// Export completed runs to a file for a spreadsheet
    Export(ExportArgs),
    /// Delete the records of completed runs
    Reset(ResetArgs),
    /// Remove the database that setup has created, and nothing else; an empty directory remains
    Purge(DatabaseArgs),
}
