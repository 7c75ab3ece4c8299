//! Options that the verbs of `iolite ranread`, `ranwrite` and `ranio` have in common, and those of each tool's operation.

use clap::Args;
use iolite_model::{Bytes, DbOperation, Durability, Nanos};

use super::tool::Tool;
use crate::shared_args::{OutputArgs, WaitArgs, durability};
use crate::writes::WriteArgs;

/// What a tool's operation is made of.
pub(crate) trait Operation: Args {
    /// The tool it belongs to.
    const TOOL: Tool;

    /// What each job does.
    fn operation(&self) -> DbOperation;
}

/// What RanRead does.
#[derive(Debug, Clone, Args)]
pub(crate) struct ReadOptions {
    /// Read the blocks in ascending order instead of at random: each job scans its part of them
    #[arg(long)]
    pub(crate) sequential: bool,
}

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

    /// Percentage of batches that are reads; the others are transactions
    #[arg(long, value_name = "PERCENT", default_value = "50", value_parser = clap::value_parser!(u8).range(0..=100))]
    pub(crate) read_percent: u8,
}

impl Operation for ReadOptions {
    const TOOL: Tool = Tool::RanRead;

    fn operation(&self) -> DbOperation {
        if self.sequential { DbOperation::Scan } else { DbOperation::RanRead }
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
    /// The database: sqlite:DIR, gtm:DIR, postgres://USER@HOST/DATABASE or mysql://USER@HOST/DATABASE. A URL with a password
    /// should be passed in the environment, because other users can see the command line
    #[arg(long, value_name = "URL", env = "IOLITE_DB", hide_env_values = true)]
    pub(crate) db: String,
}

/// How sessions work: what `run` and `sweep` have in common.
#[derive(Debug, Clone, Args)]
pub(crate) struct SessionArgs {
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,

    /// Durability of a commit when it returns: `full` (on stable storage), `relaxed` (the log is written later, as in PerfTools'
    /// database by default) or `as-configured` (the server's settings)
    #[arg(long, value_name = "HOW", default_value = "full", value_parser = durability)]
    pub(crate) durability: Durability,

    /// Read blocks through the database's buffers even if they can be bypassed (PostgreSQL)
    #[arg(long)]
    pub(crate) through_buffers: bool,

    /// Measure each operation in the client, including the round trip, instead of in the server
    #[arg(long)]
    pub(crate) client_timed: bool,

    #[command(flatten)]
    pub(crate) waits: WaitArgs,

    #[command(flatten)]
    pub(crate) writes: WriteArgs,

    /// Seed of the random numbers; the same seed gives the same operations [default: random]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    /// Cache size of the storage controller, to warn if the database is too small
    #[arg(long, value_name = "SIZE")]
    pub(crate) controller_cache: Option<Bytes>,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}
