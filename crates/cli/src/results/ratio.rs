//! `iolite results ratio`.

use clap::Args;
use iolite_report::ratios::{document, text};
use iolite_store::Store;

use crate::output;

const EXAMPLES: &str = "\
Examples:
  Ratio of the best to the worst pattern of a run:
      iolite results ratio latest
  The same for the runs of two targets, by their tags:
      iolite results ratio raid ssd

A pattern is a phase with its name and load (concurrency or rate); a target is a directory on a host. Repeats with the same cache \
stamp form one row, and the variation between them is part of its ±. Ratios between different cache stamps are marked. To test whether a \
difference is significant, use `iolite results compare`.";

/// `iolite results ratio` as typed.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct RatioArgs {
    /// Runs, or their tags
    #[arg(value_name = "RUN|TAG", required = true)]
    runs: Vec<String>,

    /// Print one JSON document instead of a table
    #[arg(long)]
    json: bool,
}

/// Prints the ratios of stored runs.
///
/// # Errors
/// There are no such runs.
pub(super) fn print(store: &Store, args: &RatioArgs) -> anyhow::Result<()> {
    let runs = super::runs(store, &args.runs)?;
    let printed = if args.json { format!("{:#}\n", document(&runs)) } else { text(&runs, output::style()) };
    Ok(output::print_rendered(&printed)?)
}
