//! The command line as typed. What it means is worked out in each command's own module.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use iolite_model::{Bytes, Nanos};

use crate::exit;

/// Measures storage for people who run databases, and says whether it is good enough and why.
#[derive(Debug, Parser)]
#[command(name = "iolite", version, after_help = exit::TABLE, max_term_width = 100)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Say whether a directory's storage is fit for a database
    ///
    /// Measures the file layer (random and sequential I/O, commit latency) and a database on it, for at most 90 seconds,
    /// and judges the result by a profile. Needs no root.
    Check(Box<CheckArgs>),
    /// List the built-in profiles, or print one as TOML to copy and change
    Profiles {
        /// The profile to print
        name: Option<String>,
    },
}

const CHECK_EXAMPLES: &str = "\
Examples:
  Is it fit for transaction processing on flash?
      iolite check /var/lib/postgresql
  Can it do what I need?
      iolite check . --target-iops 5000 --target-response 2ms
  By another profile, in half a minute:
      iolite check /var/lib/etcd --profile etcd --budget-time 30s
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

    /// Time for the whole check
    #[arg(long, value_name = "TIME", default_value = "90s")]
    pub(crate) budget_time: Nanos,

    /// Bytes that may be written in all [default: a tenth of the free space, at most 4GiB]
    #[arg(long, value_name = "SIZE")]
    pub(crate) budget_space: Option<Bytes>,

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

fn positive(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(value) if f64::is_finite(value) && value > 0.0 && value <= 1e9 => Ok(value),
        _ => Err("write a number of operations per second, for example 5000".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_arguments_are_consistent() {
        Args::command().debug_assert();
    }
}
