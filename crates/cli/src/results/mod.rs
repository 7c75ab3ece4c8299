//! `iolite results`: stored runs listed, shown again, compared, annotated, deleted.

mod compare;
mod import;
mod list;
mod ratio;
mod transfer;

use std::path::{Path, PathBuf};

use clap::{Parser, Subcommand};
use iolite_model::RunId;
use iolite_report::Format;
use iolite_results::{READINGS_KEPT, Run};
use iolite_store::Store;

use crate::exit::{Exit, UsageError, refuse};
use crate::{output, setup};

pub(crate) use compare::detect;
pub(crate) use import::{of_fio, read_log};
pub(crate) use list::lines;

const EXAMPLES: &str = "\
Examples:
  All runs, the latest first; the checks of a directory in the last week:
      iolite results list
      iolite results list --command check --target /srv/data --since 7d
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
  Mark a run that was killed on another host as interrupted, and import it:
      iolite results end 20261120T160301 --results runs.db
      iolite results import runs.db
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
    List(list::ListArgs),
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
    /// Print the ratios of the best and the worst result, across patterns and across targets
    Ratio(ratio::RatioArgs),
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
    /// Write runs to a file: a results database, JSON, CSV or Parquet
    Export(transfer::ExportArgs),
    /// Import runs from another results database, fio's JSON and logs, or exports of PerfTools
    Import {
        /// A results database; fio's JSON or JSON+ of any version, one run per file; fio's logs (PREFIX_bw.1.log, _iops, _lat,
        /// _clat, _clat_hist), which together become one run; exports of InterSystems PerfTools' RanRead, RanWrite and RanIO, one run
        /// per line
        #[arg(value_name = "FILE", required = true)]
        files: Vec<PathBuf>,
    },
    /// Mark a run as interrupted; needed if it was killed on another host or in a container, where this host cannot see it
    End {
        /// The run
        run: String,
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
    let store = setup::open_to_read(&path)?;
    match args.action {
        Action::List(args) => list::print(&store, &args)?,
        Action::Show { run } => print_run(&store, &run, Format::Text)?,
        Action::Json { run } => print_run(&store, &run, Format::Json)?,
        Action::End { run } => {
            let run = find(&store, &run)?;
            if !Store::open(&path)?.end(&run)? {
                refuse!("run {run} has ended already");
            }
        }
        Action::Note { run, text } => Store::open(&path)?.add_note(&find(&store, &run)?, &text)?,
        Action::Tag { run, tags, remove } => {
            let (run, store) = (find(&store, &run)?, Store::open(&path)?);
            for tag in tags {
                if remove { store.remove_tag(&run, &tag)? } else { store.add_tag(&run, &tag)? }
            }
        }
        Action::Ratio(args) => ratio::print(&store, &args)?,
        Action::Compare(args) => return compare::run(&store, &args),
        Action::Delete { runs } => delete(&mut to_delete_from(&path)?, &runs)?,
        Action::Export(args) => transfer::export(&store, &args)?,
        Action::Gc(args) => transfer::gc(&mut to_delete_from(&path)?, &args)?,
        Action::Sql { question, json } => transfer::sql(&store, &question, json)?,
        Action::Path | Action::Import { .. } => {}
    }
    Ok(Exit::Fit)
}

/// The results, to delete runs of: only such as have ended are, and one that was killed has.
fn to_delete_from(path: &Path) -> anyhow::Result<Store> {
    let store = Store::open(path)?;
    store.mark_interrupted()?;
    Ok(store)
}

/// The run that a name means: an id, the beginning of one, `latest` or `latest~N`.
pub(crate) fn find(store: &Store, name: &str) -> anyhow::Result<RunId> {
    store.find(name).map_err(|error| match error {
        iolite_store::Error::NoMatch { .. } | iolite_store::Error::Ambiguous { .. } => {
            UsageError::new(error).into()
        }
        other => other.into(),
    })
}

/// The runs that names or tags mean, each once; of several with a tag the earliest first, as they would be named.
fn ids<'a>(store: &Store, names: impl IntoIterator<Item = &'a String>) -> anyhow::Result<Vec<RunId>> {
    let mut ids: Vec<RunId> = Vec::new();
    for name in names {
        let tagged = store.tagged(name)?;
        let named = if tagged.is_empty() { vec![find(store, name)?] } else { tagged };
        for id in named.into_iter().rev() {
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
    }
    Ok(ids)
}

/// As [`ids`], the runs themselves as far as they came.
pub(crate) fn runs<'a>(
    store: &Store,
    names: impl IntoIterator<Item = &'a String>,
) -> anyhow::Result<Vec<Run>> {
    ids(store, names)?.iter().map(|id| read(store, id)).collect()
}

/// Prints a run as it was printed when it ended; one that was cut short, or goes on, as far as it came.
fn print_run(store: &Store, name: &str, format: Format) -> anyhow::Result<()> {
    let run = read(store, &find(store, name)?)?;
    // Of fio's jobs in fio's form.
    let of_fio = iolite_fio::output::show(&run, format == Format::Json, output::style());
    match of_fio {
        Some(text) => Ok(output::print_data(&text)?),
        None => Ok(output::run(&run, format)?),
    }
}

/// A run as far as it came.
pub(crate) fn read(store: &Store, id: &RunId) -> anyhow::Result<Run> {
    let Some(mut run) = Run::of(&store.events_thinned(id, READINGS_KEPT)?) else {
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
        Some(run) => Err(UsageError::new(format!(
            "run {run} is still running and was kept; if it was killed on another host or in a container: iolite results end {run}"
        )).into()),
    }
}
