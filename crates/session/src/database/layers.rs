//! The databases among the layers that are compared: the user's, or one of the run's own.

use std::time::Duration;

use iolite_model::Task;
use iolite_suites::{DatabaseSize, Layers, LayersDatabase};

use super::own::OwnDatabase;
use super::ran::RanDatabase;
use crate::drive::Environment;
use crate::error::Result;
use crate::session::Session;

/// Time for what the run's own database has left to write before a window.
const SETTLING: Duration = Duration::from_secs(600);

/// Databases of the user's, in the order of the procedure's, or one of the run's own.
pub struct LayersDatabases {
    names: Vec<LayersDatabase>,
    databases: Vec<RanDatabase>,
    own: Option<OwnDatabase>,
}

impl LayersDatabases {
    /// The databases that the procedure knows by `names`; without any, the run's own is created when it is asked for.
    pub fn new(names: Vec<LayersDatabase>, databases: Vec<RanDatabase>) -> LayersDatabases {
        LayersDatabases { names, databases, own: None }
    }
}

impl Environment<Layers> for LayersDatabases {
    fn prepare(&mut self, session: &mut Session<'_>, _: &mut Layers, size: DatabaseSize) -> Result<()> {
        self.own = OwnDatabase::create(session, size)?;
        Ok(())
    }

    fn inside_database(&mut self, session: &mut Session<'_>, task: Task) -> Result<()> {
        let number = self.names.iter().position(|database| database.has(&task));
        match (number.and_then(|number| self.databases.get(number)), &self.own) {
            (Some(database), _) => database.run(session, task),
            (None, Some(own)) => own.run(session, task, SETTLING),
            // Its creation was interrupted, which the driver sees next.
            (None, None) => Ok(()),
        }
    }
}
