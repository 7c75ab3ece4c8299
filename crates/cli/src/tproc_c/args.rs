//! The command line of `iolite tproc-c` as typed.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use iolite_model::{Durability, Nanos};

use crate::exit;
use crate::shared_args::{OutputArgs, durability, positive};

const EXAMPLES: &str = "\
Examples:
  Ten warehouses in a database of PostgreSQL, MariaDB or SQLite, built by four sessions:
      iolite tproc-c build --db postgres://me@localhost/bench --warehouses 10 --workers 4
      iolite tproc-c build --db mysql://me@localhost/bench --warehouses 10
      iolite tproc-c build --db sqlite:/data/tpc --warehouses 10
  Eight virtual users for five minutes, after a ramp of two minutes:
      iolite tproc-c run --db postgres://me@localhost/bench --users 8
  The same as statements sent by the client; an open loop of 500 transactions per second:
      iolite tproc-c run --db postgres://me@localhost/bench --users 8 --client-side
      iolite tproc-c run --db postgres://me@localhost/bench --users 64 --rate 500
  More and more virtual users until throughput stops growing; is it good enough?
      iolite tproc-c sweep --db postgres://me@localhost/bench --users 1,2,4,8,16,32
  Did the database keep every order, also after a crash?
      iolite tproc-c check --db postgres://me@localhost/bench
  Remove what build has created:
      iolite tproc-c purge --db postgres://me@localhost/bench

TPROC-C is derived from TPC-C and is not TPC-C: its results are not TPC results and must not be compared with them. docs/tproc-c.md
lists the differences.";

/// `iolite tproc-c` as typed.
#[derive(Debug, Parser)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{}", exit::TABLE))]
pub(crate) struct TprocCArgs {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Create the nine tables and fill them
    Build(BuildArgs),
    /// Measure: New-Orders per minute, and the response times of each transaction
    Run(Box<RunArgs>),
    /// Increase the number of virtual users until New-Orders per minute stop growing, then report the knee and a verdict
    Sweep(Box<SweepArgs>),
    /// Check the consistency conditions of TPC-C: whether the database has kept every order
    Check(CheckArgs),
    /// Remove exactly what build has created, and nothing else
    Purge(DatabaseArgs),
}

/// Which database.
#[derive(Debug, Clone, Args)]
pub(crate) struct DatabaseArgs {
    /// The database: sqlite:DIR, postgres://USER@HOST/DATABASE or mysql://USER@HOST/DATABASE. Where other users could see the
    /// command line, pass a URL with a password in the environment
    #[arg(long, value_name = "URL", env = "IOLITE_DB", hide_env_values = true)]
    pub(crate) db: String,
}

/// `build` as typed.
#[derive(Debug, Args)]
pub(crate) struct BuildArgs {
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,

    /// Warehouses: about 100 MB each
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) warehouses: u32,

    /// Sessions that load at the same time; SQLite has one
    #[arg(long, value_name = "N", default_value = "2", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(crate) workers: u32,

    /// Divide customers, orders and items by this, for tests: results of such a database are marked as reduced, and are comparable
    /// with nothing
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) reduction: u32,

    /// Seed of the random contents [default: another one each time]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    /// Print nothing while it is built
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// `run` as typed.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,

    #[command(flatten)]
    pub(crate) load: LoadArgs,

    /// Virtual users: each a session of its own
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=9999))]
    pub(crate) users: u32,

    /// Time to measure
    #[arg(long, value_name = "TIME", default_value = "300s")]
    pub(crate) duration: Nanos,

    /// Time at the start that is left out of the results
    #[arg(long, value_name = "TIME", default_value = "120s")]
    pub(crate) ramp: Nanos,

    /// Transactions per second over all users, arriving at random (open loop): response times count from when a transaction was
    /// due
    #[arg(long, value_name = "N", value_parser = positive, conflicts_with = "keying_thinking")]
    pub(crate) rate: Option<f64>,

    /// Runs, each from the same start (checkpoint, vacuum, statistics), and the variation between them
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) repeat: u32,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// `sweep` as typed.
#[derive(Debug, Args)]
pub(crate) struct SweepArgs {
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,

    #[command(flatten)]
    pub(crate) load: LoadArgs,

    /// Numbers of virtual users, rising
    #[arg(long, value_name = "N,N...", value_delimiter = ',', default_value = "1,2,4,8,16,32,64",
          value_parser = clap::value_parser!(u32).range(1..=9999))]
    pub(crate) users: Vec<u32>,

    /// Time to measure with each
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub(crate) step: Nanos,

    /// Time at the start of each step that is left out of the results
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub(crate) ramp: Nanos,

    /// Time that 90 % of each transaction's response times must keep at the knee, four times as long for Stock-Level [default: that
    /// of TPC-C, clause 5.2.5.3]
    #[arg(long, value_name = "TIME", default_value = "5s", hide_default_value = true)]
    pub(crate) response: Nanos,

    /// Run every step, also where throughput no longer grows
    #[arg(long)]
    pub(crate) all: bool,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// What users do: what `run` and `sweep` have in common.
#[derive(Debug, Clone, Args)]
pub(crate) struct LoadArgs {
    /// Send each transaction as prepared statements, instead of calling a procedure in the server
    #[arg(long)]
    pub(crate) client_side: bool,

    /// A random warehouse for each transaction, instead of the user's home warehouse
    #[arg(long)]
    pub(crate) all_warehouses: bool,

    /// Keep TPC-C's keying and thinking times: about 20 seconds between the transactions of a user
    #[arg(long)]
    pub(crate) keying_thinking: bool,

    /// What a commit has done when it returns: `full` (all is on stable storage), `relaxed` (the log is written some time later)
    /// or `as-configured` (what the server's own settings say)
    #[arg(long, value_name = "HOW", default_value = "full", value_parser = durability)]
    pub(crate) durability: Durability,

    /// Seed of the random numbers; the same seed gives the same transactions [default: another one each time]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
}

/// `check` as typed.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,

    /// Results database [default: iolite/results.db under XDG_DATA_HOME or ~/.local/share]
    #[arg(long, value_name = "FILE")]
    pub(crate) results: Option<PathBuf>,

    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}
