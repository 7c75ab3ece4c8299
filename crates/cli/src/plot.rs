//! `iolite plot`: stored runs as a chart.

use std::path::Path;

use iolite_report::plot::{chart, svg};
use iolite_store::Store;

use crate::args::PlotArgs;
use crate::exit::{Exit, UsageError};
use crate::results::{find, read};
use crate::{output, setup};

/// Draws the runs and writes the picture.
///
/// # Errors
/// There are no such runs, they have measured nothing, or the file can't be written.
pub(crate) fn run(args: &PlotArgs) -> anyhow::Result<Exit> {
    let path = setup::stored_results(args.results.clone())?;
    if !path.exists() {
        let message = format!(
            "there are no results yet: {} does not exist; name another file with --results FILE",
            path.display()
        );
        return Err(UsageError(message).into());
    }
    let store = Store::open(&path)?;
    let mut ids = Vec::new();
    for name in &args.runs {
        let id = find(&store, name)?;
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    let runs = ids.iter().map(|id| read(&store, id)).collect::<anyhow::Result<Vec<_>>>()?;
    let chart = chart(&runs, args.kind.into()).map_err(|error| UsageError(error.to_string()))?;
    let picture = svg(&chart);
    if args.output == Path::new("-") {
        output::print(&picture)?;
        return Ok(Exit::Fit);
    }
    std::fs::write(&args.output, picture).map_err(|error| {
        UsageError(format!("cannot write {}: {error}; choose another file", args.output.display()))
    })?;
    Ok(Exit::Fit)
}
