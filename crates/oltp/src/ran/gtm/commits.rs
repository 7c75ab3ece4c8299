//! Commits of single nodes, for tests of what survives a crash: `^IoliteCommit(run,worker,number)`, in the region with the journal.

use std::path::PathBuf;
use std::sync::Arc;

use iolite_db::gtm::{Process, engine};
use iolite_db::{Error, Instance, Result};
use iolite_model::ErrorCause;

use super::super::contract::Settings;
use super::{Gtm, journal};

/// Numbers that are read at a time.
const AT_ONCE: u64 = 10_000;

/// A process that commits, and that can say what was committed. It is started when it is first needed.
#[derive(Debug)]
pub struct GtmCommits {
    gtm: Arc<Gtm>,
    process: Option<Process>,
    run: String,
}

impl GtmCommits {
    /// Commits of a run in the database in `directory`, which `setup` has created. Opens nothing yet.
    ///
    /// # Errors
    /// GT.M is not installed, or there is no database.
    pub fn new(directory: PathBuf, run: String) -> Result<GtmCommits> {
        let gtm = Gtm::new(directory, Settings::default())?;
        gtm.catalogue()?;
        Ok(GtmCommits { gtm: Arc::new(gtm), process: None, run })
    }

    /// The same run for another worker, in a process of its own.
    pub fn another(&self) -> GtmCommits {
        GtmCommits { gtm: Arc::clone(&self.gtm), process: None, run: self.run.clone() }
    }

    /// Begins the run; commits are durable from here on.
    ///
    /// # Errors
    /// The journal can't be turned on; GT.M's.
    pub fn create(&mut self) -> Result<()> {
        self.gtm.settle()?;
        self.ask("begin commits in", "begin", "").map(drop)
    }

    /// Sets a node and commits: its journal records are on stable storage when this returns.
    ///
    /// # Errors
    /// GT.M's, or it has turned the journal off: the commit was not acknowledged.
    pub fn commit(&mut self, worker: u32, number: u64) -> Result<()> {
        let journaled = self.ask("commit to", "commit", &format!(" {worker} {number}"))?;
        if journaled == journal::ON { Ok(()) } else { Err(journal::lost(&self.gtm.directory)) }
    }

    /// What was committed: worker and number of each.
    ///
    /// # Errors
    /// GT.M's; [`Error::Missing`] where the run has not begun, or is gone.
    pub fn present(&mut self) -> Result<Vec<(u32, u64)>> {
        let workers: Vec<u32> = self.listed("- -")?;
        let mut found = Vec::new();
        for worker in workers {
            let mut after = "-".to_owned();
            loop {
                let numbers: Vec<u64> = self.listed(&format!("{worker} {after} {AT_ONCE}"))?;
                let Some(last) = numbers.last() else { break };
                after = last.to_string();
                found.extend(numbers.into_iter().map(|number| (worker, number)));
            }
        }
        Ok(found)
    }

    /// Removes the run's nodes.
    ///
    /// # Errors
    /// GT.M's.
    pub fn remove(&mut self) -> Result<()> {
        self.ask("remove the commits from", "drop", "").map(drop)
    }

    fn listed<T: std::str::FromStr>(&mut self, which: &str) -> Result<Vec<T>> {
        let reply = self.ask("read the commits of", "commits", &format!(" {which}"))?;
        let place = || self.gtm.directory.display().to_string();
        if reply == "none" {
            return Err(Error::Missing { place: format!("the commits of this run in {}", place()) });
        }
        let numbers: Option<Vec<T>> = reply.split_whitespace().map(|word| word.parse().ok()).collect();
        numbers.ok_or_else(|| {
            let cause = format!("its answer cannot be read: {reply}");
            engine("read the commits of", &self.gtm.directory, cause.into(), ErrorCause::GtmOther)
        })
    }

    fn ask(&mut self, doing: &'static str, verb: &str, rest: &str) -> Result<String> {
        let process = match self.process.take() {
            Some(process) => process,
            None => self.gtm.process()?,
        };
        // One that has failed is not asked again.
        let process = self.process.insert(process);
        let answer = process.ask(doing, &format!("{verb} {}{rest}", self.run));
        if answer.is_err() {
            self.process = None;
        }
        answer
    }
}
