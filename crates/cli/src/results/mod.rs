//! `iolite results`: stored runs listed, shown again, compared, annotated, deleted.

mod compare;
mod import;
mod transfer;

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use iolite_report::runs::{RunLine, list, list_json};
use iolite_report::{Format, show};
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
  The latest run as it was printed, and the one before it as JSON:
      iolite results show latest
      iolite results json latest~1 | jq .phases
  What it was about:
      iolite results note latest 'before the new controller'
      iolite results tag latest before nvme0
  Is it faster now? (`iolite results compare --help` has more)
      iolite results compare latest~1 latest
  To another machine, and there:
      iolite results export before after -o runs.db
      iolite results import runs.db
  Results of fio, to be listed, shown, compared and drawn with others:
      iolite results import job.json
      iolite results import job_iops.*.log job_lat.*.log job_clat_hist.*.log
  For a spreadsheet:
      iolite results export latest latest~1 --format csv -o runs.csv
  Runs that nobody needs:
      iolite results delete 20261120T160301
      iolite results gc --keep 100 --dry-run
  Whatever else one may ask:
      iolite results sql 'SELECT run, name, kind, iops FROM summary'

RUN is a run's id, the beginning of one, `latest`, or `latest~N` for the Nth before the latest.";

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
        /// Only runs whose command line or directory contains this text
        #[arg(long, value_name = "TEXT")]
        containing: Option<String>,
        /// Print one JSON document instead of a table
        #[arg(long)]
        json: bool,
    },
    /// Show a run as its command printed it
    Show {
        /// The run
        #[arg(value_name = "RUN", default_value = "latest")]
        run: String,
    },
    /// Print a run as its command prints it with --json
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
        /// What to note
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
        /// Remove them
        #[arg(long)]
        remove: bool,
    },
    /// Delete runs with all that belongs to them
    Delete {
        /// The runs
        #[arg(value_name = "RUN", required = true)]
        runs: Vec<String>,
    },
    /// Write runs to a file: a results database, JSON or CSV
    Export(transfer::ExportArgs),
    /// Copy the runs of another results database into this one, or make runs of fio's JSON and logs
    Import {
        /// A database as `export` or another machine has written it; fio's JSON or JSON+ of any version, a run each; fio's logs
        /// (PREFIX_bw.1.log, _iops, _lat, _clat, _clat_hist), together one run
        #[arg(value_name = "FILE", required = true)]
        files: Vec<PathBuf>,
    },
    /// Delete runs without tag or note, and give the space of deleted runs back
    Gc(transfer::GcArgs),
    /// Answer a question in SQL; nothing can be changed (docs/results.md lists tables and views)
    Sql {
        /// One SELECT
        #[arg(value_name = "QUESTION")]
        question: String,
        /// Print a JSON list instead of columns apart by tabs
        #[arg(long)]
        json: bool,
    },
    /// Print where the results database is
    Path,
}

/// Does what is asked for with the stored runs.
///
/// # Errors
/// The results can't be read, or there is no such run.
pub(crate) fn run(args: ResultsArgs) -> anyhow::Result<Exit> {
    let path = setup::stored_results(args.results)?;
    if let Action::Path = args.action {
        output::print(&format!("{}\n", path.display()))?;
        return Ok(Exit::Fit);
    }
    if let Action::Import { files } = &args.action {
        return import::import(&path, files).map(|()| Exit::Fit);
    }
    if !path.exists() {
        let message = format!(
            "there are no results yet: {} does not exist; name another file with --results FILE",
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
    let mut marks = store.marks()?;
    for summary in store.runs()? {
        let own = marks.remove(&summary.id).unwrap_or_default();
        let line = line(summary, own);
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
        format!("There are no such runs in {}.\n", store.path().display())
    } else {
        list(&lines, output::style())
    };
    Ok(output::print(&text)?)
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
    Ok(output::print(&of_fio.unwrap_or_else(|| show(&run, format, output::style())))?)
}

/// A run as far as it came.
pub(crate) fn read(store: &Store, id: &iolite_model::RunId) -> anyhow::Result<Run> {
    let Some(mut run) = Run::of(&store.events(id)?) else {
        anyhow::bail!("run {id} has no beginning: the results were changed by hand");
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
        Some(run) => Err(UsageError::new(format!("run {run} has not ended: it is kept")).into()),
    }
}
