//! `reset`: forgets the tool's statistics.

use clap::Args;
use iolite_model::RunId;
use iolite_report::count;

use super::runs::{Runs, StoredArgs};
use super::tool::Tool;
use crate::exit::Exit;
use crate::output;

/// `reset` as typed.
#[derive(Debug, Args)]
pub(crate) struct ResetArgs {
    #[command(flatten)]
    stored: StoredArgs,
}

/// Forgets the runs of a tool that have ended; checks and other tools' runs stay, and so does what goes on.
///
/// # Errors
/// The results can't be changed: then all are still there.
pub(crate) fn run(tool: Tool, args: ResetArgs) -> anyhow::Result<Exit> {
    let mut runs = Runs::open(tool, &args.stored)?;
    let (ended, running): (Vec<_>, Vec<_>) =
        runs.summaries()?.into_iter().partition(|run| run.ending.is_some());
    let ended: Vec<RunId> = ended.into_iter().map(|run| run.id).collect();
    let gone = runs.store.forget(&ended)?.len() as u64;
    let (what, path) = (runs.what(), runs.path().display());
    let mut text = match gone {
        0 => format!("Nothing to delete: there are no completed runs of {what} in {path}.\n"),
        1 => format!("Deleted 1 run of {what} from {path}.\n"),
        gone => format!("Deleted {} runs of {what} from {path}.\n", count(gone)),
    };
    for run in running {
        text += &format!(
            "{} is still running and was kept; to stop it: iolite {} stop {}\n",
            run.id.0,
            tool.command(),
            run.id.0
        );
    }
    output::print(&text)?;
    Ok(Exit::Fit)
}
