//! The runs of a tool, as they are stored.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use iolite_db::DatabaseUrl;
use iolite_model::{DatabaseFacts, RunId};
use iolite_report::ran::{Listed, ListedPhase, ListedTotals};
use iolite_store::{DatabasePhase, RunSummary, Store};

use super::refused::refused;
use super::tool::Tool;
use crate::exit::refuse;
use crate::setup;

/// Which stored runs: what all verbs on them have in common.
#[derive(Debug, Clone, Args)]
pub(crate) struct StoredArgs {
    /// Only runs on the database with this URL; passwords are ignored when matching
    #[arg(long, value_name = "URL")]
    db: Option<String>,

    /// Results database [default: iolite/results.db under XDG_DATA_HOME or ~/.local/share]
    #[arg(long, value_name = "FILE")]
    results: Option<PathBuf>,
}

/// The runs of a tool.
pub(super) struct Runs {
    pub(super) store: Store,
    tool: Tool,
    only: Option<DatabaseUrl>,
}

impl Runs {
    /// Opens the results. Runs that were killed are shown as such.
    ///
    /// # Errors
    /// There are no results where the arguments say, or these can't be opened; the URL is none.
    pub(super) fn open(tool: Tool, args: &StoredArgs) -> anyhow::Result<Runs> {
        let only = args.db.as_deref().map(DatabaseUrl::parse).transpose().map_err(refused)?;
        if let Some(file) = args.results.as_ref().filter(|file| !file.exists()) {
            refuse!("{}: no results database; specify the file in which runs are stored", file.display());
        }
        let path = setup::results(args.results.clone())?;
        let store = Store::open(&path)?;
        store.mark_interrupted()?;
        Ok(Runs { store, tool, only })
    }

    /// The results' file.
    pub(super) fn path(&self) -> &Path {
        self.store.path()
    }

    /// `RanRead on sqlite:/data`: whose runs are asked for, for messages.
    pub(super) fn what(&self) -> String {
        let on = self.only.as_ref().map_or_else(String::new, |url| format!(" on {url}"));
        format!("{}{on}", self.tool.name())
    }

    /// The runs, the earliest first.
    ///
    /// # Errors
    /// They can't be read.
    pub(super) fn summaries(&self) -> anyhow::Result<Vec<RunSummary>> {
        let mut asked = Vec::new();
        for run in self.of(self.tool)? {
            if self.only.is_none() || self.is_only_on_database(&run)? {
                asked.push(run);
            }
        }
        Ok(asked)
    }

    /// The runs of any of the tools, on whatever database.
    ///
    /// # Errors
    /// They can't be read.
    pub(super) fn of(&self, tool: Tool) -> anyhow::Result<Vec<RunSummary>> {
        Ok(self.store.runs_of(tool.operation(), tool.command())?)
    }

    fn is_only_on_database(&self, run: &RunSummary) -> anyhow::Result<bool> {
        let phases = self.store.database_phases(&run.id)?;
        if phases.is_empty() {
            return Ok(self.is_on_database(run, None));
        }
        Ok(phases.iter().all(|phase| self.is_on_database(run, phase.facts.as_ref())))
    }

    /// Whether that is the database asked for; where it has not been asked what it is (yet), by the run's command line.
    fn is_on_database(&self, run: &RunSummary, facts: Option<&DatabaseFacts>) -> bool {
        let Some(asked) = self.only.as_ref().map(place) else { return true };
        let same = |text: &str| DatabaseUrl::parse(text).is_ok_and(|url| place(&url) == asked);
        match facts {
            Some(facts) => same(&facts.url),
            None => run.command.iter().any(|word| same(word.strip_prefix("--db=").unwrap_or(word))),
        }
    }

    /// The phases of the runs with what was measured, the earliest first.
    ///
    /// # Errors
    /// They can't be read.
    pub(super) fn list(&self) -> anyhow::Result<Vec<Listed>> {
        let mut list = Vec::new();
        for run in self.of(self.tool)? {
            let phases = self.store.database_phases(&run.id)?;
            if phases.is_empty() && self.is_on_database(&run, None) {
                list.push(without_phase(&run));
            }
            let several = phases.len() > 1;
            for phase in phases {
                if self.is_on_database(&run, phase.facts.as_ref()) {
                    list.push(self.listed(&run, phase, several)?);
                }
            }
        }
        Ok(list)
    }

    fn listed(&self, run: &RunSummary, phase: DatabasePhase, several: bool) -> anyhow::Result<Listed> {
        let workers = self.store.workers(&run.id, phase.number)?;
        // They are many, and say the same.
        let intervals =
            if workers.is_empty() { self.store.intervals(&run.id, phase.number)? } else { Vec::new() };
        let totals =
            ListedTotals::of(&workers, &intervals).with_context(|| unreadable(&run.id, self.path()))?;
        let measured = ListedPhase {
            number: phase.number,
            one_of_several: several,
            task: phase.task,
            measured: phase.measured,
            facts: phase.facts,
            usage: phase.usage,
            whole: phase.whole,
            stamp: phase.stamp,
            bounds: ListedPhase::bounds_of(&phase.concluded),
            shifted: ListedPhase::is_shifted(&phase.concluded),
            totals,
            workers: ListedPhase::of_workers(&workers),
        };
        Ok(Listed {
            started_unix: phase.started_unix,
            ending: phase.ending,
            measured: Some(measured),
            ..without_phase(run)
        })
    }
}

/// A run on this machine that is measuring on a database just now (or, with `writing`, is writing there), as far as the
/// results are shown: the user's, or those of a file.
pub(super) fn measuring_on(url: &DatabaseUrl, results: Option<PathBuf>, writing: bool) -> Option<RunId> {
    let path = setup::results(results).ok().filter(|path| path.exists())?;
    // What can't be asked is no reason to refuse anything.
    let store = Store::open(&path).ok()?;
    store.mark_interrupted().ok()?;
    let on_it = |run: &RunId| {
        let phases = store.database_phases(run).unwrap_or_default();
        let at_it = phases.iter().filter(|phase| !writing || phase.task.operation.writes());
        at_it
            .filter_map(|phase| phase.facts.as_ref())
            .any(|facts| DatabaseUrl::parse(&facts.url).is_ok_and(|other| place(&other) == place(url)))
    };
    let measuring = store.unfinished().ok()?.into_iter().filter(iolite_store::Measuring::is_here);
    measuring.map(|measuring| measuring.run).find(on_it)
}

fn unreadable(run: &RunId, path: &Path) -> String {
    format!("cannot read run {} in {}", run.0, path.display())
}

fn without_phase(run: &RunSummary) -> Listed {
    Listed {
        run: run.id.clone(),
        started_unix: run.started_unix,
        ending: run.ending.clone(),
        host: run.host.clone(),
        directory: run.directory.clone(),
        measured: None,
    }
}

/// A URL by which databases are distinguished: without a password, and a directory by its path from the root.
fn place(url: &DatabaseUrl) -> String {
    url.clone().resolved().to_string()
}
