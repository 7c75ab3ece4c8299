//! `iolite report`: stored runs as a page.

use std::path::Path;

use crate::args::ReportArgs;
use crate::exit::{Exit, UsageError};
use crate::{output, plot};

/// Writes the runs as a page.
///
/// # Errors
/// There are no such runs, or the file can't be written.
pub(crate) fn run(args: &ReportArgs) -> anyhow::Result<Exit> {
    let files: Vec<_> = args.runs.iter().filter(|name| Path::new(name).is_file()).collect();
    if let Some(file) = files.first() {
        return Err(UsageError::new(format!(
            "{file} is a file: specify a stored run (see `iolite results list`)"
        ))
        .into());
    }
    let page = iolite_report::page(&plot::stored(&args.runs, args.results.clone())?);
    if args.output == Path::new("-") {
        output::print_data(&page)?;
        return Ok(Exit::Fit);
    }
    output::write_file(&args.output, page.as_bytes())?;
    Ok(Exit::Fit)
}
