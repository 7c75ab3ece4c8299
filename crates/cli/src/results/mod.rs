//! `iolite results`: stored runs listed, shown again, compared, annotated, deleted.

mod compare;
mod import;
mod transfer;

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use iolite_report::Format;
use iolite_report::runs::{RunLine, list, list_json};
use iolite_results::Run;
use iolite_store::{Marks, RunSummary, Store};

use crate::exit::{Exit, UsageError};
use crate::{output, setup};

pub(crate) use compare::detect;
pub(crate) use import::{of_fio, read_log};

const EXAMPLES: &str = "\
Examples:
  All runs, the latest first:
      iolite results list
  The latest run as it was printed, and the previous run as JSON:
      iolite results show latest
      iolite results json latest~1 | jq .phases
  Annotate a run:
      iolite results note latest 'before the new controller'
      iolite results tag latest before nvme0
  Did the latest run differ from the previous one? (see `iolite results compare --help`)
      iolite results compare latest~1 latest
  Copy runs to another host:
      iolite results export before after -o runs.db
      iolite results import runs.db
  Import results of fio, to list, show, compare and plot them:
      iolite results import job.json
      iolite results import job_iops.*.log job_lat.*.log job_clat_hist.*.log
  Export to a spreadsheet:
      iolite results export latest latest~1 --format csv -o runs.csv
  Delete runs:
      iolite results delete 20261120T160301
      iolite results gc --keep 100 --dry-run
  Query with SQL:
      iolite results sql 'SELECT run, name, kind, iops FROM summary'

RUN is the id of a run, the beginning of an id, `latest`, or `latest~N` for the Nth run before the latest.";

/// `iolite results` as typed.
#[derive(Debug, Parser)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ResultsArgs {
    #[command(subcommand)]
    action: Action,

    /// Results database [default: iolite/results.db under XDG_DATA_HOME or ~/.local/share]
    #[arg(long, value_name = "FILE", global = true)]
    results: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the runs, the latest first
    List {
        /// Only runs with this tag
        #[arg(long)]
        tag: Option<String>,
        /// Only runs whose command line or directory contains TEXT
        #[arg(long, value_name = "TEXT")]
        containing: Option<String>,
        /// Print one JSON document instead of a table
        #[arg(long)]
        json: bool,
    },
    /// Show the output of a run
    Show {
        /// The run
        #[arg(value_name = "RUN", default_value = "latest")]
        run: String,
    },
    /// Show the output of a run as JSON
    Json {
        /// The run
        #[arg(value_name = "RUN", default_value = "latest")]
        run: String,
    },
    /// Compare two runs, or two sets of repeats, figure by figure
    Compare(Box<compare::CompareArgs>),
    /// Add a note to a run
    Note {
        /// The run
        #[arg(value_name = "RUN")]
        run: String,
        /// Text of the note
        #[arg(value_name = "TEXT")]
        text: String,
    },
    /// Add tags to a run, or remove them
    Tag {
        /// The run
        #[arg(value_name = "RUN")]
        run: String,
        /// The tags
        #[arg(value_name = "TAG", required = true)]
        tags: Vec<String>,
        /// Remove the tags
        #[arg(long)]
        remove: bool,
    },
    /// Delete runs
    Delete {
        /// The runs
        #[arg(value_name = "RUN", required = true)]
        runs: Vec<String>,
    },
    /// Write runs to a file: a results database, JSON or CSV
    Export(transfer::ExportArgs),
    /// Import runs from another results database, or results from fio's JSON and logs
    Import {
        /// A results database; fio's JSON or JSON+ of any version, one run per file; fio's logs (PREFIX_bw.1.log, _iops, _lat,
        /// _clat, _clat_hist), which together become one run
        #[arg(value_name = "FILE", required = true)]
        files: Vec<PathBuf>,
    },
    /// Delete runs that have neither tag nor note, and reclaim the space of deleted runs
    Gc(transfer::GcArgs),
    /// Run a read-only SQL query (docs/results.md lists tables and views)
    Sql {
        /// One SELECT
        #[arg(value_name = "QUERY")]
        question: String,
        /// Print a JSON list instead of tab-separated columns
        #[arg(long)]
        json: bool,
    },
    /// Print the path of the results database
    Path,
}

/// Does what is asked for with the stored runs.
///
/// # Errors
/// The results can't be read, or there is no such run.
pub(crate) fn run(args: ResultsArgs) -> anyhow::Result<Exit> {
    let path = setup::stored_results(args.results)?;
    if let Action::Path = args.action {
        output::print_data(&format!("{}\n", path.display()))?;
        return Ok(Exit::Fit);
    }
    if let Action::Import { files } = &args.action {
        return import::import(&path, files).map(|()| Exit::Fit);
    }
    if !path.exists() {
        let message = format!(
            "there are no results yet: {} does not exist; specify another file with --results FILE",
            path.display()
        );
        return Err(UsageError::new(message).into());
    }
    if let Action::Sql { question, json } = &args.action {
        return transfer::sql(&path, question, *json).map(|()| Exit::Fit);
    }
    let mut store = Store::open(&path)?;
    match args.action {
        Action::List { tag, containing, json } => {
            print_list(&store, tag.as_deref(), containing.as_deref(), json)?;
        }
        Action::Show { run } => print_run(&store, &run, Format::Text)?,
        Action::Json { run } => print_run(&store, &run, Format::Json)?,
        Action::Note { run, text } => store.add_note(&find(&store, &run)?, &text)?,
        Action::Tag { run, tags, remove } => {
            let run = find(&store, &run)?;
            for tag in tags {
                if remove { store.remove_tag(&run, &tag)? } else { store.add_tag(&run, &tag)? }
            }
        }
        Action::Compare(args) => return compare::run(&store, &args),
        Action::Delete { runs } => delete(&mut store, &runs)?,
        Action::Export(args) => transfer::export(&store, &args)?,
        Action::Gc(args) => transfer::gc(&mut store, &args)?,
        Action::Path | Action::Import { .. } | Action::Sql { .. } => {}
    }
    Ok(Exit::Fit)
}

/// The run that a name means: an id, the beginning of one, `latest` or `latest~N`.
pub(crate) fn find(store: &Store, name: &str) -> anyhow::Result<iolite_model::RunId> {
    store.find(name).map_err(|error| match error {
        iolite_store::Error::NoMatch { .. } | iolite_store::Error::Ambiguous { .. } => {
            UsageError::new(error).into()
        }
        other => other.into(),
    })
}

fn print_list(store: &Store, tag: Option<&str>, containing: Option<&str>, json: bool) -> anyhow::Result<()> {
    let mut lines = Vec::new();
    for line in self::lines(store)? {
        let tagged = tag.is_none_or(|tag| line.tags.iter().any(|own| own == tag));
        let found = containing
            .is_none_or(|text| line.command.join(" ").contains(text) || line.directory.contains(text));
        if tagged && found {
            lines.push(line);
        }
    }
    let text = if json {
        format!("{:#}\n", list_json(&lines))
    } else if lines.is_empty() {
        let none = format!("There are no matching runs in {}.\n", store.path().display());
        return Ok(output::print(&none)?);
    } else {
        list(&lines, output::style())
    };
    Ok(output::print_rendered(&text)?)
}

/// All runs, the latest first.
pub(crate) fn lines(store: &Store) -> anyhow::Result<Vec<RunLine>> {
    let mut marks = store.marks()?;
    let line = |summary: RunSummary| {
        let own = marks.remove(&summary.id).unwrap_or_default();
        line(summary, own)
    };
    Ok(store.runs()?.into_iter().map(line).collect())
}

fn line(summary: RunSummary, marks: Marks) -> RunLine {
    RunLine {
        id: summary.id.0,
        started_unix: summary.started_unix,
        host: summary.host,
        directory: summary.directory.display().to_string(),
        command: summary.command,
        phases: summary.phases,
        ending: summary.ending,
        verdict: summary.verdict,
        tags: marks.tags,
        notes: marks.notes,
    }
}

/// Prints a run as it was printed when it ended; one that was cut short, or goes on, as far as it came.
fn print_run(store: &Store, name: &str, format: Format) -> anyhow::Result<()> {
    let run = read(store, &find(store, name)?)?;
    // Of fio's jobs in fio's form.
    let of_fio = iolite_fio::output::show(&run, format == Format::Json);
    match of_fio {
        Some(text) => Ok(output::print_data(&text)?),
        None => Ok(output::run(&run, format)?),
    }
}

/// A run as far as it came.
pub(crate) fn read(store: &Store, id: &iolite_model::RunId) -> anyhow::Result<Run> {
    let Some(mut run) = Run::of(&store.events(id)?) else {
        anyhow::bail!("run {id} has no start record: the results were changed by hand");
    };
    run.close();
    Ok(run)
}

fn delete(store: &mut Store, names: &[String]) -> anyhow::Result<()> {
    // All are found before one is deleted: `latest` means another run then.
    let runs = names.iter().map(|name| find(store, name)).collect::<anyhow::Result<Vec<_>>>()?;
    let gone = store.forget(&runs)?;
    match runs.iter().find(|run| !gone.contains(run)) {
        None => Ok(()),
        Some(run) => Err(UsageError::new(format!("run {run} is still running and was kept")).into()),
    }
}
