//! `iolite results ratio`.

use clap::Args;
use iolite_model::RunId;
use iolite_report::ratios::{document, text};
use iolite_results::Run;
use iolite_store::Store;

use super::compare::named;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  How far are the best and the worst pattern of a run apart?
      iolite results ratio latest
  And on two targets:
      iolite results ratio raid ssd

Patterns are phases by their names and loads (concurrency or rate), targets are directories of hosts. Repeats with the same cache stamp \
are one row, whose ± includes how much they differ. Ratios across cache stamps are marked. Whether a difference is significant is \
shown by `iolite results compare`.";

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
    let mut ids: Vec<RunId> = Vec::new();
    for name in &args.runs {
        for id in named(store, name)? {
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
    }
    let runs = ids.iter().map(|id| super::read(store, id)).collect::<anyhow::Result<Vec<Run>>>()?;
    let printed = if args.json { format!("{:#}\n", document(&runs)) } else { text(&runs, output::style()) };
    Ok(output::print_rendered(&printed)?)
}
