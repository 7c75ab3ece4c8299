//! `iolite check` as typed.

use std::path::PathBuf;

use clap::Parser;
use iolite_model::{Bytes, Nanos};

use crate::exit;
use crate::shared_args::positive;
use crate::writes::KeepFreeArgs;

const CHECK_EXAMPLES: &str = "\
Examples:
  Is it fit for transaction processing on flash?
      iolite check /var/lib/postgresql
  Can it do what I need?
      iolite check . --target-iops 5000 --target-response 2ms
  By another profile, in half a minute:
      iolite check /var/lib/etcd --profile etcd --budget-time 30s
  Before it goes into service: on a full device, in its steady state, without burst credits:
      iolite check /var/lib/postgresql --thorough --budget 1h --max-write 500GiB
  For machines:
      iolite check . --json | jq .verdict
  By a profile of my own:
      iolite profiles oltp-flash > my.toml; iolite check . --profile my.toml

Test files go into a hidden directory inside DIR and are removed at the end. Nothing else in DIR is opened.";

/// `iolite check` as typed.
#[derive(Debug, Parser)]
#[command(after_help = CHECK_EXAMPLES, after_long_help = format!("{CHECK_EXAMPLES}\n\n{}", exit::TABLE))]
pub(crate) struct CheckArgs {
    /// A directory on the storage to check; you must be able to write to it
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,

    /// What the storage must do: `oltp-flash`, `etcd`, `hdd`, or a TOML file
    #[arg(long, value_name = "NAME|FILE", default_value = "oltp-flash")]
    pub(crate) profile: String,

    /// Judge at this rate of random reads (an open loop) instead of at the knee
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true)]
    pub(crate) target_iops: Option<f64>,

    /// Mean response time that random reads must keep, for example 5ms, instead of the profile's
    /// (whose percentiles still hold)
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) target_response: Option<Nanos>,

    /// Fill the free space, write until the rate is steady, and read for a quarter of the time before
    /// anything is judged: sees the end of burst credits and of caches that a short check does not
    #[arg(long)]
    pub(crate) thorough: bool,

    /// Time for the whole check [default: 90s; with --thorough 2h]
    #[arg(long, visible_alias = "budget", value_name = "TIME")]
    pub(crate) budget_time: Option<Nanos>,

    /// Bytes that may be written in all [default: a tenth of the free space, at most 4GiB; with
    /// --thorough 1.8 times the free space, of which the data file takes four fifths]
    #[arg(long, visible_alias = "max-write", value_name = "SIZE")]
    pub(crate) budget_space: Option<Bytes>,

    #[command(flatten)]
    pub(crate) keep: KeepFreeArgs,

    /// Go through the page cache instead of around it (no O_DIRECT): shows what a cache hides
    #[arg(long)]
    pub(crate) buffered: bool,

    /// Results database [default: iolite/results.db under XDG_DATA_HOME or ~/.local/share]
    #[arg(long, value_name = "FILE")]
    pub(crate) results: Option<PathBuf>,

    /// Print one JSON document instead of tables
    #[arg(long)]
    pub(crate) json: bool,

    /// Print nothing while it runs, and at the end only the warnings and the verdict
    #[arg(long, short)]
    pub(crate) quiet: bool,
}
