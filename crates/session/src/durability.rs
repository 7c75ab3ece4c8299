//! Acknowledged writes: a run that makes them until the crash, and what a witness knows of them compared with what is there after
//! it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use iolite_db::DatabaseUrl;
use iolite_durability::check::{check, check_database, remove};
use iolite_durability::{
    Acknowledged, Commits, Error as DurabilityError, Identity, Limits, Progress, Witness, open_database,
};
use iolite_model::acknowledged::{Plan, RunKey};
use iolite_model::{Bytes, Concluded, Filesystem, Storage};
use iolite_oltp::ran::GtmCommits;
use iolite_suites::{DurabilityCheck, DurabilityStep, SingleStep};

use crate::database::DatabaseWrites;
use crate::drive::Environment;
use crate::error::Error;
use crate::session::Session;

/// What opens connections for the commits of a run.
type Opener = Box<dyn Fn() -> iolite_durability::Result<Box<dyn Commits>> + Sync>;

fn opener(url: &DatabaseUrl, run: RunKey) -> iolite_durability::Result<Opener> {
    if let DatabaseUrl::Gtm(directory) = url {
        // Part of it distinguishes runs, and leaves enough of the length of a key.
        let key = String::from(run).chars().take(8).collect();
        let database = GtmCommits::new(directory.clone(), key)?;
        return Ok(Box::new(move || Ok(Box::new(Nodes(database.another())))));
    }
    let url = url.clone();
    Ok(Box::new(move || open_database(&url, run)))
}

/// Commits of GT.M, each a node.
struct Nodes(GtmCommits);

impl Commits for Nodes {
    fn create(&mut self) -> iolite_durability::Result<()> {
        Ok(self.0.create()?)
    }

    fn commit(&mut self, identity: Identity) -> iolite_durability::Result<()> {
        Ok(self.0.commit(identity.worker, identity.number)?)
    }

    fn present(&mut self) -> iolite_durability::Result<Vec<Identity>> {
        let present = self.0.present()?.into_iter();
        Ok(present.map(|(worker, number)| Identity { worker, number }).collect())
    }

    fn remove(&mut self) -> iolite_durability::Result<()> {
        Ok(self.0.remove()?)
    }
}

/// A run of acknowledged writes, in a directory or a database.
pub struct AcknowledgedRun {
    /// What is written.
    pub plan: Plan,
    /// The database, where it is of commits.
    pub url: Option<DatabaseUrl>,
    /// Who takes notes.
    pub witness: Witness,
    /// Time; `None` for until it is interrupted.
    pub duration: Option<Duration>,
    /// Bytes that are written at most.
    pub bytes: Bytes,
    /// What the database has written, and may write.
    pub held: Option<DatabaseWrites>,
    /// Ends it: that is no failure.
    pub interrupted: Arc<AtomicBool>,
    /// What came of it, once it has begun.
    pub outcome: Option<Witnessed>,
}

/// A new witness file. It must outlive the loss of power, and of the storage that is `tested` here, where any is.
///
/// # Errors
/// It is in memory, or on a device that the storage under test is on too, or that is not known; it can't be created; a storage can't be examined. No file
/// is left.
pub fn witness_file(path: &Path, tested: Option<&Path>) -> Result<Witness, Error> {
    let witness = Witness::file(path, tested)?;
    let Some(tested) = tested else { return Ok(witness) };
    let parent = path.parent().filter(|parent| *parent != Path::new(""));
    let place = iolite_observe::storage(parent.unwrap_or(Path::new(".")))?;
    if let Some(medium) = iolite_observe::volatile(&place) {
        return Err(DurabilityError::InMemory { witness: path.to_owned(), medium }.into());
    }
    // Subvolumes and overlays have numbers of their own, although they are on the same devices.
    let own = iolite_observe::storage(tested)?;
    let hidden = |storage: &&Storage| storage.filesystem.kind == "overlay" && storage.devices.is_empty();
    if let Some(storage) = [&place, &own].into_iter().find(hidden) {
        return Err(DurabilityError::PlaceUnknown {
            witness: path.to_owned(),
            directory: tested.to_owned(),
            overlay: storage.filesystem.mount_point.clone(),
        }
        .into());
    }
    if own.tops().any(|device| place.tops().any(|other| other.name == device.name)) {
        return Err(
            DurabilityError::SamePlace { witness: path.to_owned(), directory: tested.to_owned() }.into()
        );
    }
    Ok(witness)
}

/// What is to be checked of a run of acknowledged writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Witnessed {
    /// The notes have acknowledged writes.
    Notes,
    /// Nothing was acknowledged; what could not be removed of what the run has created.
    Nothing {
        /// `None` where all is removed.
        left: Option<String>,
    },
}

impl Environment<SingleStep<()>> for AcknowledgedRun {
    fn prepare(&mut self, session: &mut Session<'_>, _: &mut SingleStep<()>, (): ()) -> Result<(), Error> {
        session.conclude(Concluded::of(&self.plan));
        let watch = || self.held.as_ref().and_then(DatabaseWrites::reached);
        let Self { duration, bytes, ref interrupted, .. } = *self;
        let limits = Limits { duration, bytes, interrupted, watch: &watch };
        let events = session.events();
        let mut progress = |now: Progress| {
            let waits =
                if now.overdue { "; a write does not return: Ctrl-C again ends the program" } else { "" };
            events.message(&format!("{} acknowledged{waits}", now.acknowledged));
        };
        let open = self.url.as_ref().map(|url| opener(url, self.plan.run)).transpose()?;
        let outcome =
            iolite_durability::run(&self.plan, open.as_deref(), &self.witness, &limits, &mut progress)?;
        let acknowledged = outcome.totals.acknowledged;
        session.conclude(Concluded::of(&outcome.totals));
        self.outcome = Some(match acknowledged {
            0 => Witnessed::Nothing { left: outcome.left },
            _ => Witnessed::Notes,
        });
        match outcome.failure {
            Some(error) => Err(error.into()),
            None if acknowledged == 0 && !interrupted.load(Ordering::Relaxed) => {
                let limit = outcome.totals.limit.unwrap_or_else(|| "the time is over".to_owned());
                let reason = format!("no write was acknowledged before the run ended ({limit}): run longer");
                Err(Error::Procedure { reason })
            }
            None => Ok(()),
        }
    }
}

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
        let commits = url.map(|url| opener(url, known.plan.run)?()).transpose()?;
        Ok(WitnessedRun { known, commits })
    }

    /// The storage under test, as far as it can be seen from here.
    ///
    /// # Errors
    /// It can't be examined.
    pub fn storage(&self) -> Result<Storage, Error> {
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
    ) -> Result<(), Error> {
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
