//! After a crash: what a witness knows to have been acknowledged, compared with what is there.

use std::path::PathBuf;

use iolite_db::DatabaseUrl;
use iolite_durability::check::{check, check_database, remove};
use iolite_durability::{Acknowledged, Commits, open_database};
use iolite_model::{Concluded, Filesystem, Storage};
use iolite_suites::{DurabilityCheck, DurabilityStep};

use crate::drive::Environment;
use crate::session::Session;

/// What a witness knows of a run, and the database where it was of commits.
pub struct WitnessedRun {
    known: Acknowledged,
    commits: Option<Box<dyn Commits>>,
}

impl WitnessedRun {
    /// What the witness knows, of commits to the database at `url` where there is one.
    ///
    /// # Errors
    /// The database can't be asked.
    pub fn open(known: Acknowledged, url: Option<&DatabaseUrl>) -> iolite_durability::Result<WitnessedRun> {
        let commits = url.map(|url| open_database(url, known.plan.run)).transpose()?;
        Ok(WitnessedRun { known, commits })
    }

    /// The storage under test, as far as it can be seen from here.
    ///
    /// # Errors
    /// It can't be examined.
    pub fn storage(&self) -> anyhow::Result<Storage> {
        let place = PathBuf::from(&self.known.plan.place);
        let seen = if place.is_dir() {
            iolite_observe::storage_beneath(std::iter::once(place.as_path()))?
        } else {
            None
        };
        let filesystem = || Filesystem { kind: "database".into(), ..Filesystem::default() };
        Ok(seen.unwrap_or_else(|| Storage {
            directory: place,
            filesystem: filesystem(),
            ..Storage::default()
        }))
    }
}

impl Environment<DurabilityCheck> for WitnessedRun {
    fn prepare(
        &mut self,
        session: &mut Session<'_>,
        _: &mut DurabilityCheck,
        step: DurabilityStep,
    ) -> anyhow::Result<()> {
        match (step, &mut self.commits) {
            (DurabilityStep::Compare, commits) => {
                let found = match commits {
                    Some(commits) => check_database(&self.known, commits.as_mut())?,
                    None => check(&self.known)?,
                };
                session.conclude(Concluded::of(&found));
            }
            (DurabilityStep::Remove, Some(commits)) => commits.remove()?,
            (DurabilityStep::Remove, None) => remove(&self.known.plan)?,
        }
        Ok(())
    }
}
