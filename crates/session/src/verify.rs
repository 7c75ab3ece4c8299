//! Verification of what an earlier run has written.

use std::path::{Path, PathBuf};

use iolite_engine::{EngineError, SavedState};
use iolite_model::{Concluded, Storage, Target};
use iolite_observe::storage_beneath;
use iolite_results::StateVerified;
use iolite_suites::SingleStep;

use crate::drive::Environment;
use crate::error::Error;
use crate::session::Session;

/// What an earlier run has written, as its verification state says.
pub struct SavedVerification {
    path: PathBuf,
    state: SavedState,
}

impl SavedVerification {
    /// Reads a verification state.
    ///
    /// # Errors
    /// It can't be read, or is damaged.
    pub fn load(path: &Path) -> Result<SavedVerification, EngineError> {
        Ok(SavedVerification { path: path.to_owned(), state: SavedState::load(path)? })
    }

    /// The storage that the data is on; where the task's files were its run's own, that of the state.
    ///
    /// # Errors
    /// It can't be examined.
    pub fn storage(&self) -> Result<Storage, Error> {
        let paths: Vec<&Path> = match &self.state.task().target {
            Target::Existing(existing) => vec![&existing.path],
            Target::Files(files) => files.files.iter().map(|file| file.path.as_path()).collect(),
            Target::Null { .. } | Target::File(_) => vec![&self.path],
        };
        match storage_beneath(paths.into_iter())? {
            Some(storage) => Ok(storage),
            None => Ok(iolite_observe::storage(Path::new("."))?),
        }
    }
}

impl Environment<SingleStep<()>> for SavedVerification {
    fn prepare(&mut self, session: &mut Session<'_>, _: &mut SingleStep<()>, (): ()) -> Result<(), Error> {
        let found = self.state.verify(session.clock, session.control)?;
        session.conclude(Concluded::of(&StateVerified { task: self.state.task().clone(), found }));
        Ok(())
    }
}
