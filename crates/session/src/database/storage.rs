//! The storage under a database.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use iolite_db::{DatabaseUrl, Files, Instance};
use iolite_model::{Filesystem, Storage};
use iolite_observe::{LeafCounters, storage_beneath};

/// Where a database's files are, as far as it is known.
pub struct DatabaseStorage {
    /// The storage under the data.
    pub storage: Storage,
    /// Whether this host's memory may hold what is read.
    pub here: bool,
    /// Counters of the devices under the data.
    pub(crate) data: Option<Arc<LeafCounters>>,
    /// Counters of the devices under the log, where those are others.
    pub(crate) log: Option<Arc<LeafCounters>>,
    /// Directories of data and log, as far as they can be seen.
    pub(crate) directories: Vec<PathBuf>,
}

impl DatabaseStorage {
    /// Examines what is beneath a database.
    ///
    /// # Errors
    /// The server can't be asked ([`iolite_db::Error`]), or its directories can't be examined ([`iolite_observe::Error`]).
    pub fn find(url: &DatabaseUrl, database: &dyn Instance) -> anyhow::Result<DatabaseStorage> {
        let Files { here, data, log } = database.files()?;
        let beneath = |path: &Path| storage_beneath(std::iter::once(path));
        let Some(storage) = data.as_deref().map(beneath).transpose()?.flatten() else {
            return Ok(DatabaseStorage {
                storage: unseen(url, here),
                here,
                data: None,
                log: None,
                directories: Vec::new(),
            });
        };
        let directories = data.iter().chain(&log).filter(|path| path.is_dir()).cloned().collect();
        let log = match log.as_deref().map(beneath).transpose()?.flatten() {
            Some(log) if log.devices != storage.devices => LeafCounters::new(&log),
            _ => None,
        };
        let data = LeafCounters::new(&storage).map(Arc::new);
        Ok(DatabaseStorage { data, log: log.map(Arc::new), storage, here, directories })
    }
}

/// What is reported of storage that can't be seen.
fn unseen(url: &DatabaseUrl, here: bool) -> Storage {
    let kind = match (here, url) {
        (true, DatabaseUrl::Postgres(_)) => {
            "file system that the server names to superusers and members of pg_read_all_settings only"
        }
        (true, _) => "file system that cannot be seen from here",
        (false, _) => "file system of another host",
    };
    Storage {
        directory: PathBuf::from(url.to_string()),
        filesystem: Filesystem { kind: kind.into(), ..Filesystem::default() },
        ..Storage::default()
    }
}
