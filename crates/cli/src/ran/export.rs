//! `export`: the tool's runs as a spreadsheet takes them.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use iolite_model::{ErrorCause, ErrorOrigin};
use iolite_report::ran::{ExportFormat, Listed, export};
use jiff::Timestamp;

use super::runs::{Runs, StoredArgs};
use super::tool::Tool;
use crate::exit::{Exit, UsageError};
use crate::output;

/// Exports of one minute beside each other, at most.
const SAME_MINUTE: u32 = 1000;

/// `export` as typed.
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// Directory, in which a file PerfToolsRanRead_YYYYMMDD-HHMM.txt (UTC; .json for JSON) is created, or file, or `-` for
    /// standard output. Existing files are not overwritten
    #[arg(value_name = "DIR|FILE|-", default_value = ".")]
    target: PathBuf,

    /// Output format
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = Format::Csv)]
    format: Format,

    #[command(flatten)]
    stored: StoredArgs,
}

/// The formats by their names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Comma-separated values
    Csv,
    /// Tab-separated values
    Tsv,
    /// JSON array with one object per run
    Json,
}

/// Exports the runs of a tool that have ended.
///
/// # Errors
/// There are none, the results can't be read, or the file can't be made.
pub(crate) fn run(tool: Tool, args: ExportArgs) -> anyhow::Result<Exit> {
    let runs = Runs::open(tool, &args.stored)?;
    let has_ended = |run: &Listed| run.ending.is_some() && run.measured.is_some();
    let list: Vec<Listed> = runs.list()?.into_iter().filter(has_ended).collect();
    if list.is_empty() {
        bail!(
            "nothing to export: there are no completed runs of {} in {}",
            runs.what(),
            runs.path().display()
        );
    }
    let format = match args.format {
        Format::Csv => ExportFormat::Csv,
        Format::Tsv => ExportFormat::Tsv,
        Format::Json => ExportFormat::Json,
    };
    let text = export(&list, format)?;
    if args.target == Path::new("-") {
        output::print_data(&text)?;
        return Ok(Exit::Fit);
    }
    let (path, file) = create(&args.target, tool, args.format)?;
    output::print(&format!("Exporting summary of all {} statistics to {}\n", subject(tool), path.display()))?;
    fill(&path, file, &text)?;
    output::print("Done.\n")?;
    Ok(Exit::Fit)
}

/// What PerfTools call it.
fn subject(tool: Tool) -> &'static str {
    match tool {
        Tool::RanRead => "random read",
        Tool::RanWrite => "random write",
        Tool::RanIo => "random read and write",
    }
}

/// Makes the file, which is not there yet.
fn create(target: &Path, tool: Tool, format: Format) -> anyhow::Result<(PathBuf, File)> {
    if !target.is_dir() {
        let file = File::create_new(target).map_err(|error| refused(target, &error))?;
        return Ok((target.to_owned(), file));
    }
    let extension = if format == Format::Json { "json" } else { "txt" };
    let name = format!("PerfTools{}_{}", tool.name(), Timestamp::now().strftime("%Y%m%d-%H%M"));
    for number in 1..=SAME_MINUTE {
        let number = if number > 1 { format!("-{number}") } else { String::new() };
        let path = target.join(format!("{name}{number}.{extension}"));
        match File::create_new(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return made.map(|file| (path.clone(), file)).map_err(|error| refused(&path, &error)),
        }
    }
    bail!(
        "{}: there are already {SAME_MINUTE} exports of this minute: wait, or specify a file",
        target.display()
    )
}

fn refused(path: &Path, error: &io::Error) -> anyhow::Error {
    let advice = ErrorCause::advice(error, ErrorOrigin::Path(path));
    UsageError::new(format!("cannot export to {}: {error}{advice}", path.display())).into()
}

/// Writes the text; what could not be written in full is removed.
fn fill(path: &Path, mut file: File, text: &str) -> anyhow::Result<()> {
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    if written.is_err() {
        // The error says what is wrong; a part of an export would only mislead.
        let _ = fs::remove_file(path);
    }
    written.with_context(|| format!("cannot write {}", path.display()))
}
