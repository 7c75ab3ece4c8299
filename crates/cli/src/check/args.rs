//! `iolite check` as typed.

use std::path::PathBuf;

use clap::Parser;
use iolite_model::{Bytes, Nanos};

use crate::exit;
use crate::shared_args::{OutputArgs, StallArgs, positive};
use crate::writes::KeepFreeArgs;

const CHECK_EXAMPLES: &str = "\
Examples:
  Is this storage fit for transaction processing?
      iolite check /var/lib/postgresql
  Does it reach 5000 IOPS with a mean response time of 2 ms?
      iolite check . --target-iops 5000 --target-response 2ms
  With another profile, in 30 seconds:
      iolite check /var/lib/etcd --profile etcd --budget-time 30s
  Before production use: on a full device, in steady state, without burst credits:
      iolite check /var/lib/postgresql --thorough --budget 1h --max-write 500GiB
  JSON output:
      iolite check . --json | jq .verdict
  With a custom profile:
      iolite profiles oltp-flash > my.toml; iolite check . --profile my.toml

Test files are placed in a hidden directory inside DIR and are removed at the end. No other file in DIR is opened.";

/// `iolite check` as typed.
#[derive(Debug, Parser)]
#[command(after_help = CHECK_EXAMPLES, after_long_help = format!("{CHECK_EXAMPLES}\n\n{}", exit::TABLE))]
#[command(mut_arg("quiet", |quiet| quiet.help("Print no progress, and at the end only the warnings and the verdict")))]
pub(crate) struct CheckArgs {
    /// Directory on the storage to check; must be writable
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,

    /// Profile with the requirements: `oltp-flash`, `etcd`, `hdd`, or a TOML file
    #[arg(long, value_name = "NAME|FILE", default_value = "oltp-flash")]
    pub(crate) profile: String,

    /// Judge response times at this rate of random reads (open loop) instead of at the knee
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true)]
    pub(crate) target_iops: Option<f64>,

    /// Maximum mean response time of random reads, for example 5ms; overrides the mean of the profile, but not its percentiles
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) target_response: Option<Nanos>,

    /// Before measuring, fill the free space, write until steady state, and read for a quarter of the time; unlike a short
    /// check, this exhausts burst credits and exceeds caches
    #[arg(long)]
    pub(crate) thorough: bool,

    /// Maximum time for the check [default: 90s; with --thorough 2h]
    #[arg(long, visible_alias = "budget", value_name = "TIME")]
    pub(crate) budget_time: Option<Nanos>,

    /// Maximum amount of data to write [default: a tenth of the free space, at most 4GiB; with --thorough 1.8 times the free
    /// space, with a data file of four fifths of it]
    #[arg(long, visible_alias = "max-write", value_name = "SIZE")]
    pub(crate) budget_space: Option<Bytes>,

    #[command(flatten)]
    pub(crate) keep: KeepFreeArgs,

    /// Use the page cache instead of direct I/O (O_DIRECT)
    #[arg(long)]
    pub(crate) buffered: bool,

    #[command(flatten)]
    pub(crate) stalls: StallArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}
