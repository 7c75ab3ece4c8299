//! `iolite results export`, `import`, `gc` and `sql`.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::{Args, ValueEnum};
use iolite_model::{Nanos, RunId};
use iolite_report::export::csv;
use iolite_report::intervals::parquet;
use iolite_report::{Format, show};
use iolite_store::{Answer, RunSummary, Store};

use crate::exit::{UsageError, refuse};
use crate::output;

/// `iolite results export` as typed.
#[derive(Debug, Args)]
pub(super) struct ExportArgs {
    /// Runs, or their tags
    #[arg(value_name = "RUN|TAG", required = true)]
    runs: Vec<String>,

    /// Output format
    #[arg(long, value_enum, default_value_t = Form::Db)]
    format: Form,

    /// Output file; `-` for standard output (not with db and parquet)
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    output: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// A results database, which `import` reads without loss
    Db,
    /// A JSON list of runs
    Json,
    /// A table with one row per run, phase and kind of operation
    Csv,
    /// An Apache Parquet file with one row per run, phase, interval and kind of operation
    Parquet,
}

/// `iolite results gc` as typed.
#[derive(Debug, Args)]
pub(super) struct GcArgs {
    /// Delete runs that started longer ago than this, for example 90d
    #[arg(long, value_name = "TIME")]
    older_than: Option<Nanos>,

    /// Keep only the latest N of the runs that have neither tag nor note
    #[arg(long, value_name = "N")]
    keep: Option<usize>,

    /// Print the runs that would be deleted, and change nothing
    #[arg(long)]
    dry_run: bool,
}

/// Writes runs to a file.
///
/// # Errors
/// There are no such runs, or the file can't be written.
pub(super) fn export(store: &Store, args: &ExportArgs) -> anyhow::Result<()> {
    let runs = super::ids(store, &args.runs)?;
    let to_standard_output = args.output == Path::new("-");
    if args.format == Form::Db {
        if to_standard_output {
            refuse!("a database cannot be written to standard output: specify a file with -o FILE");
        }
        // Into a database that is there already, runs would be mixed with others'.
        if args.output.exists() {
            refuse!("{} already exists: specify a new file, or import into it", args.output.display());
        }
        output::is_for_output(&args.output)?;
        store.copy_to(&args.output, &runs)?;
        return Ok(());
    }
    if args.format == Form::Parquet {
        if to_standard_output {
            refuse!("a Parquet file cannot be written to standard output: specify a file with -o FILE");
        }
        let events = runs.iter().map(|id| store.events(id)).collect::<Result<Vec<_>, _>>()?;
        return Ok(output::write_file(&args.output, &parquet(&events)?)?);
    }
    let runs = runs.iter().map(|id| super::read(store, id)).collect::<anyhow::Result<Vec<_>>>()?;
    let text = match args.format {
        Form::Csv => csv(&runs)?,
        _ => {
            let shown = runs.iter().map(|run| show(run, Format::Json, output::style()));
            format!("[\n{}]\n", shown.collect::<Vec<_>>().join(","))
        }
    };
    if to_standard_output {
        return Ok(output::print_data(&text)?);
    }
    Ok(output::write_file(&args.output, text.as_bytes())?)
}

/// Deletes runs that nobody needs, and gives their space back.
///
/// # Errors
/// The database can't be written to.
pub(super) fn gc(store: &mut Store, args: &GcArgs) -> anyhow::Result<()> {
    let now = Nanos::from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default());
    let mut unmarked: Vec<RunSummary> = Vec::new();
    for run in store.runs()?.into_iter().filter(|run| run.ending.is_some()) {
        if store.tags(&run.id)?.is_empty() && store.notes(&run.id)?.is_empty() {
            unmarked.push(run);
        }
    }
    let is_old =
        |run: &RunSummary| args.older_than.is_some_and(|age| run.started_unix < now.saturating_sub(age));
    let beyond = |place: usize| args.keep.is_some_and(|keep| place >= keep);
    let unneeded = unmarked.iter().enumerate().filter(|(place, run)| is_old(run) || beyond(*place));
    let unneeded: Vec<RunId> = unneeded.map(|(_, run)| run.id.clone()).collect();
    if args.dry_run {
        let listed = unneeded.iter().map(|run| format!("would delete {run}\n"));
        return Ok(output::print(&listed.collect::<String>())?);
    }
    let gone = store.forget(&unneeded)?;
    let (before, after) = store.compact()?;
    let sizes = (iolite_model::Bytes(before), iolite_model::Bytes(after));
    Ok(output::print(&format!("{} runs deleted; {} -> {}\n", gone.len(), sizes.0, sizes.1))?)
}

/// Answers a question in SQL.
///
/// # Errors
/// It is not a question, or would write.
pub(super) fn sql(store: &Store, question: &str, json: bool) -> anyhow::Result<()> {
    let answer = store.ask(question).map_err(UsageError::new)?;
    let text = if json { as_json(answer) } else { as_table(&answer) };
    Ok(output::print_data(&text)?)
}

fn as_json(answer: Answer) -> String {
    let object = |row: Vec<serde_json::Value>| {
        let fields = answer.columns.iter().cloned().zip(row);
        serde_json::Value::Object(fields.collect())
    };
    let rows: Vec<_> = answer.rows.into_iter().map(object).collect();
    format!("{:#}\n", serde_json::Value::Array(rows))
}

/// Columns apart by a tab; no escape sequence of a name reaches a terminal, nor a tab or a newline.
fn as_table(answer: &Answer) -> String {
    let cell = |value: &serde_json::Value| match value {
        serde_json::Value::Null => String::new(),
        serde_json::Value::String(text) => clean(text),
        other => other.to_string(),
    };
    let mut lines = vec![answer.columns.iter().map(|name| clean(name)).collect::<Vec<_>>().join("\t")];
    lines.extend(answer.rows.iter().map(|row| row.iter().map(cell).collect::<Vec<_>>().join("\t")));
    lines.join("\n") + "\n"
}

fn clean(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { c.escape_default().to_string() } else { c.to_string() })
        .collect()
}
