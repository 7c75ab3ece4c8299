//! `iolite plot` and `iolite report`: stored runs as a chart or a page.

use std::path::{Path, PathBuf};

use iolite_report::plot::{chart, svg};
use iolite_results::Run;
use iolite_store::Store;

use crate::args::{PlotArgs, ReportArgs};
use crate::exit::{Exit, UsageError};
use crate::results::{find, read};
use crate::{output, setup};

/// Draws the runs and writes the picture.
///
/// # Errors
/// There are no such runs, they have measured nothing, or the file can't be written.
pub(crate) fn run(args: &PlotArgs) -> anyhow::Result<Exit> {
    let runs = stored(&args.runs, args.results.clone())?;
    let chart = chart(&runs, args.kind.into()).map_err(|error| UsageError(error.to_string()))?;
    let picture = svg(&chart);
    written(&args.output, &picture)
}

/// Writes the runs as a page.
///
/// # Errors
/// There are no such runs, or the file can't be written.
pub(crate) fn page(args: &ReportArgs) -> anyhow::Result<Exit> {
    let runs = stored(&args.runs, args.results.clone())?;
    written(&args.output, &iolite_report::page(&runs))
}

/// The named runs, each once, in the order of their names.
fn stored(names: &[String], results: Option<PathBuf>) -> anyhow::Result<Vec<Run>> {
    let path = setup::stored_results(results)?;
    if !path.exists() {
        let message = format!(
            "there are no results yet: {} does not exist; name another file with --results FILE",
            path.display()
        );
        return Err(UsageError(message).into());
    }
    let store = Store::open(&path)?;
    let mut ids = Vec::new();
    for name in names {
        let id = find(&store, name)?;
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    ids.iter().map(|id| read(&store, id)).collect()
}

/// Writes a document to a file, or to standard output for `-`.
fn written(output: &Path, document: &str) -> anyhow::Result<Exit> {
    if output == Path::new("-") {
        output::print(document)?;
        return Ok(Exit::Fit);
    }
    std::fs::write(output, document).map_err(|error| {
        UsageError(format!("cannot write {}: {error}; choose another file", output.display()))
    })?;
    Ok(Exit::Fit)
}
