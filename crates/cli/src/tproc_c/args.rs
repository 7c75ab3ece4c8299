//! The command line of `iolite tproc-c` as typed.

use clap::{Args, Parser, Subcommand, ValueEnum};
use iolite_model::{Durability, Nanos};
use iolite_oltp::tproc_c::MAX_PARTITIONS;
use iolite_results::comparison::DEFAULT_DETECT;

use crate::exit;
use crate::shared_args::{OutputArgs, QuietOutputArgs, StallArgs, WaitArgs, durability, positive};
use crate::writes::WriteArgs;

const EXAMPLES: &str = "\
Examples:
  Build ten warehouses in PostgreSQL (with four sessions), MariaDB or SQLite:
      iolite tproc-c build --db postgres://me@localhost/bench --warehouses 10 --workers 4
      iolite tproc-c build --db mysql://me@localhost/bench --warehouses 10
      iolite tproc-c build --db sqlite:/data/tpc --warehouses 10
  The same with the large tables in five partitions, of two warehouses each:
      iolite tproc-c build --db mysql://me@localhost/bench --warehouses 10 --partitions 5
  Eight virtual users for five minutes, after a ramp of two minutes:
      iolite tproc-c run --db postgres://me@localhost/bench --users 8
  The same with statements sent by the client; an open loop of 500 transactions per second:
      iolite tproc-c run --db postgres://me@localhost/bench --users 8 --client-side
      iolite tproc-c run --db postgres://me@localhost/bench --users 64 --rate 500
  Five runs, each in a fresh copy of the database:
      iolite tproc-c run --db postgres://me@localhost/bench --users 8 --repeat 5 --restore
  Ten minutes or more, until a whole number of checkpoint cycles was measured:
      iolite tproc-c run --db postgres://me@localhost/bench --users 8 --duration 10m --whole-cycles 10m
  The same with one warehouse row per page; both in turns, until it is clear whether that is faster:
      iolite tproc-c run --db postgres://me@localhost/bench --users 8 --spread-warehouse
      iolite tproc-c ab --db postgres://me@localhost/bench --users 8 --vary spread-warehouse
  Increase the number of virtual users until throughput stops growing, with a verdict:
      iolite tproc-c sweep --db postgres://me@localhost/bench --users 1,2,4,8,16,32
  Check that no order was lost, for example after a crash:
      iolite tproc-c check --db postgres://me@localhost/bench
  Remove the tables:
      iolite tproc-c purge --db postgres://me@localhost/bench

TPROC-C is derived from TPC-C but is not TPC-C: its results are not TPC results and must not be compared with them. \
docs/tproc-c.md lists the differences.";

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
    /// Measure New-Orders per minute and the response times of each transaction
    Run(Box<RunArgs>),
    /// Increase the number of virtual users until New-Orders per minute stop increasing, then report the knee and a verdict
    Sweep(Box<SweepArgs>),
    /// Measure the same load in two ways, alternately, and decide whether one has a higher rate of New-Orders: rows of warehouses that
    /// share pages or not, stored procedures or statements, home warehouses or all
    Ab(Box<AbArgs>),
    /// Check TPC-C's consistency conditions, which find lost orders
    Check(CheckArgs),
    /// Remove the tables that build has created, and nothing else
    Purge(DatabaseArgs),
}

/// Which database.
#[derive(Debug, Clone, Args)]
pub(crate) struct DatabaseArgs {
    /// The database: sqlite:DIR, postgres://USER@HOST/DATABASE or mysql://USER@HOST/DATABASE. A URL with a password should be
    /// passed in the environment, because other users can see the command line
    #[arg(long, value_name = "URL", env = "IOLITE_DB", hide_env_values = true)]
    pub(crate) db: String,
}

/// `build` as typed.
#[derive(Debug, Args)]
pub(crate) struct BuildArgs {
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,

    /// Number of warehouses, about 100 MB each
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) warehouses: u32,

    /// Number of concurrent loading sessions; SQLite uses one
    #[arg(long, value_name = "N", default_value = "2", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(crate) workers: u32,

    /// Partition the tables of customers, orders, order lines, new orders, stock and history by hash of the warehouse into N
    /// partitions, at most one per warehouse (PostgreSQL, MariaDB and MySQL). PostgreSQL distributes warehouses by a hash, so that
    /// a partition may have several or none [default: no partitions]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=i64::from(MAX_PARTITIONS)))]
    pub(crate) partitions: Option<u32>,

    /// Divide the number of customers, orders and items by N, for tests. Results are marked as reduced and must not be compared
    /// with others
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) reduction: u32,

    #[command(flatten)]
    pub(crate) writes: WriteArgs,

    /// Seed of the random contents [default: random]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    /// Print no progress
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

    /// Number of virtual users, each with its own session
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=9999))]
    pub(crate) users: u32,

    /// Time to measure
    #[arg(long, value_name = "TIME", default_value = "300s")]
    pub(crate) duration: Nanos,

    /// Time at the start that is excluded from the results
    #[arg(long, value_name = "TIME", default_value = "120s")]
    pub(crate) ramp: Nanos,

    /// Extend the measured time by at most TIME, until it holds a whole number of checkpoint cycles, at least one; see
    /// docs/tproc-c.md. Each run begins after a checkpoint [default: measure for --duration]
    #[arg(long, value_name = "TIME")]
    pub(crate) whole_cycles: Option<Nanos>,

    /// Rate of all users in transactions per second, with random arrivals (open loop); response times are measured from the
    /// scheduled start
    #[arg(long, value_name = "N", value_parser = positive, conflicts_with = "keying_thinking")]
    pub(crate) rate: Option<f64>,

    /// Number of runs, each after a checkpoint, vacuum and update of statistics; reports the variation between runs
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) repeat: u32,

    /// Run in a copy of the database, created before each run and removed after it, so that all runs have the same start and the database
    /// stays as it is (PostgreSQL: CREATE DATABASE ... TEMPLATE; SQLite: a copy of the file). No other session may use the database
    #[arg(long)]
    pub(crate) restore: bool,

    #[command(flatten)]
    pub(crate) stalls: StallArgs,

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

    /// Numbers of virtual users, ascending [default: 1,2,4,8,16,32,64, as far as the server accepts so many sessions]
    #[arg(long, value_name = "N,N...", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=9999))]
    pub(crate) users: Vec<u32>,

    /// Time to measure each step
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub(crate) step: Nanos,

    /// Time at the start of each step that is excluded from the results
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub(crate) ramp: Nanos,

    /// Number of passes over the steps, interleaved: every second pass descends, so that a drift of the host affects all steps
    /// alike; reports the variation between them
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) repeat: u32,

    /// 90th percentile that the response time of each transaction must meet at the knee; four times as long for Stock-Level
    /// [default: as in TPC-C, clause 5.2.5.3]
    #[arg(long, value_name = "TIME", default_value = "5s", hide_default_value = true)]
    pub(crate) response: Nanos,

    /// Run every step, even after throughput stops growing
    #[arg(long)]
    pub(crate) all: bool,

    #[command(flatten)]
    pub(crate) stalls: StallArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// `ab` as typed.
#[derive(Debug, Args)]
pub(crate) struct AbArgs {
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,

    /// What differs between the two sides; the other options apply to both
    #[arg(long, value_name = "WHAT", value_enum, default_value = "spread-warehouse")]
    pub(crate) vary: Vary,

    #[command(flatten)]
    pub(crate) load: LoadArgs,

    /// Number of virtual users, each with its own session
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=9999))]
    pub(crate) users: u32,

    /// Time to measure in each run
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub(crate) duration: Nanos,

    /// Time at the start of each run that is excluded from the results
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub(crate) ramp: Nanos,

    /// Extend the measured time of each run by at most TIME, until it holds a whole number of checkpoint cycles
    #[arg(long, value_name = "TIME")]
    pub(crate) whole_cycles: Option<Nanos>,

    /// Maximum number of pairs
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(2..=10_000))]
    pub(crate) repeat: u32,

    /// Smallest difference that matters, in percent; the comparison also ends when a difference of this size is ruled out
    #[arg(long, value_name = "PERCENT", default_value_t = 100.0 * DEFAULT_DETECT, value_parser = crate::results::detect)]
    pub(crate) detect: f64,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// What differs between the two sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Vary {
    /// A: warehouse rows share pages; B: one warehouse row per page
    SpreadWarehouse,
    /// A: stored procedures; B: statements sent by the client
    ClientSide,
    /// A: each user uses its home warehouse; B: a random warehouse for each transaction
    AllWarehouses,
}

/// What users do: what `run`, `sweep` and `ab` have in common.
#[derive(Debug, Clone, Args)]
pub(crate) struct LoadArgs {
    /// Send each transaction as prepared statements instead of calling a stored procedure
    #[arg(long)]
    pub(crate) client_side: bool,

    /// Use a random warehouse for each transaction instead of the user's home warehouse
    #[arg(long)]
    pub(crate) all_warehouses: bool,

    /// Rebuild the table of warehouses before the run with one row per page (PostgreSQL: filler column and fillfactor; MariaDB and
    /// MySQL: one partition per warehouse), or as built without this option; see docs/study-hot-page.md
    #[arg(long)]
    pub(crate) spread_warehouse: bool,

    /// Keep TPC-C's keying and thinking times: about 20 seconds between the transactions of a user
    #[arg(long)]
    pub(crate) keying_thinking: bool,

    /// Durability of a commit when it returns: `full` (on stable storage), `relaxed` (the log is written later) or
    /// `as-configured` (the server's settings)
    #[arg(long, value_name = "HOW", default_value = "full", value_parser = durability)]
    pub(crate) durability: Durability,

    #[command(flatten)]
    pub(crate) waits: WaitArgs,

    #[command(flatten)]
    pub(crate) writes: WriteArgs,

    /// Seed of the random numbers; the same seed gives the same transactions [default: random]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
}

/// `check` as typed.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,

    #[command(flatten)]
    pub(crate) output: QuietOutputArgs,
}
