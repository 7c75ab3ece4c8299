//! `history`: the tool's runs, one after the other.

use clap::Args;
use iolite_report::ran::{history, history_json};

use super::runs::{Runs, StoredArgs};
use super::tool::Tool;
use crate::exit::Exit;
use crate::output;

/// `history` as typed.
#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    #[command(flatten)]
    stored: StoredArgs,

    /// Print one JSON document instead of a table
    #[arg(long)]
    json: bool,
}

/// Shows the runs of a tool, the earliest first; those that go on are shown as running.
///
/// # Errors
/// The results can't be read.
pub(crate) fn run(tool: Tool, args: HistoryArgs) -> anyhow::Result<Exit> {
    let runs = Runs::open(tool, &args.stored)?;
    let list = runs.list()?;
    let text = if args.json {
        format!("{:#}\n", history_json(tool.name(), &list))
    } else if list.is_empty() {
        let none = format!("There are no runs of {} in {}.\n", runs.what(), runs.path().display());
        output::print(&none)?;
        return Ok(Exit::Fit);
    } else {
        history(&list, output::style())
    };
    output::print_rendered(&text)?;
    Ok(Exit::Fit)
}
