//! Files that a run has created, removed while it goes on.

use iolite_engine::remove_created;
use iolite_suites::{CreatedFiles, Procedure};

use crate::drive::Environment;
use crate::error::Result;
use crate::session::Session;

/// The environment of procedures that repeat tasks on new files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Renewing;

impl<P: Procedure<Preparation = CreatedFiles>> Environment<P> for Renewing {
    fn prepare(&mut self, session: &mut Session<'_>, _: &mut P, created: CreatedFiles) -> Result<()> {
        Ok(created.0.iter().try_for_each(|task| remove_created(task, session.scratch()))?)
    }
}
