//! `iolite results list`.

use std::fs;

use clap::Args;
use clap::builder::PossibleValuesParser;
use iolite_report::run_filter::{RunFilter, TIMES, time};
use iolite_report::runs::{RunLine, list, list_json};
use iolite_session::unix_now;
use iolite_store::{Marks, RunSummary, Store};

use crate::exit::UsageError;
use crate::output;

/// `iolite results list` as typed.
#[derive(Debug, Args)]
pub(super) struct ListArgs {
    /// Only runs of this command, for example `check` or 'ranread run'
    #[arg(long, value_name = "COMMAND")]
    command: Option<String>,

    /// Only runs on this directory (or below it), file or device
    #[arg(long, value_name = "PATH")]
    target: Option<String>,

    /// Only runs in databases whose URL contains TEXT
    #[arg(long, value_name = "TEXT")]
    database: Option<String>,

    /// Only runs with this tag
    #[arg(long)]
    tag: Option<String>,

    /// Only runs with this result
    #[arg(long, value_parser = PossibleValuesParser::new(RunFilter::RESULTS))]
    result: Option<String>,

    /// Only runs that started at this time or later: 2026-11-23, '2026-11-23 14:00' (UTC), 12h or 7d (ago)
    #[arg(long, value_name = "TIME", value_parser = instant)]
    since: Option<String>,

    /// Only runs that started at this time or earlier; a date includes the whole day
    #[arg(long, value_name = "TIME", value_parser = instant)]
    until: Option<String>,

    /// Only runs whose command line, directory, host, id or notes contain TEXT
    #[arg(long, value_name = "TEXT")]
    containing: Option<String>,

    /// Only the latest N of these runs
    #[arg(long, value_name = "N")]
    limit: Option<usize>,

    /// Print one JSON document instead of a table
    #[arg(long)]
    json: bool,
}

fn instant(text: &str) -> Result<String, UsageError> {
    time(text, unix_now()).ok_or_else(|| UsageError::new(TIMES))
}

impl ListArgs {
    /// A target is looked for as it was typed, as in the command of a run, and as runs record it: from the root, without symbolic links.
    fn filters(&self) -> Vec<RunFilter> {
        let Some(typed) = &self.target else { return vec![self.filter("")] };
        let from_root = fs::canonicalize(typed).ok().map(|path| path.display().to_string());
        // In the command of a run, `.` was the current directory of that run.
        let is_dots = typed.chars().all(|c| matches!(c, '.' | '/'));
        let targets = from_root.iter().chain(Some(typed).filter(|_| !is_dots || from_root.is_none()));
        targets.map(|target| self.filter(target)).collect()
    }

    fn filter(&self, target: &str) -> RunFilter {
        let text = |field: &Option<String>| field.clone().unwrap_or_default();
        RunFilter {
            text: text(&self.containing),
            command: text(&self.command),
            target: target.to_owned(),
            database: text(&self.database),
            tag: text(&self.tag),
            result: text(&self.result),
            since: text(&self.since),
            until: text(&self.until),
        }
    }
}

/// Prints the runs that are asked for.
///
/// # Errors
/// The results can't be read.
pub(super) fn print(store: &Store, args: &ListArgs) -> anyhow::Result<()> {
    let filters = args.filters();
    let found = lines(store)?.into_iter().filter(|line| filters.iter().any(|filter| filter.has(line)));
    let lines: Vec<RunLine> = found.take(args.limit.unwrap_or(usize::MAX)).collect();
    let text = if args.json {
        format!("{:#}\n", list_json(&lines))
    } else if lines.is_empty() {
        format!("There are no matching runs in {}.\n", store.path().display())
    } else {
        list(&lines, output::style())
    };
    Ok(output::print_rendered(&text)?)
}

/// All runs, the latest first.
///
/// # Errors
/// The results can't be read.
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
        databases: marks.databases,
        phases: summary.phases,
        ending: summary.ending,
        verdict: summary.verdict,
        tags: marks.tags,
        notes: marks.notes,
        is_rehearsal: marks.is_rehearsal,
    }
}
