//! The storage under a database.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use iolite_db::{DatabaseUrl, Files, Instance, Unseen};
use iolite_model::{Filesystem, Storage};
use iolite_observe::{CacheProbe, LeafCounters, storage_beneath};

use crate::error::Result;

/// Where a database's files are, as far as it is known.
#[derive(Clone)]
pub struct DatabaseStorage {
    /// The storage under the data.
    pub storage: Storage,
    /// Whether this host's memory may hold what is read.
    pub here: bool,
    /// Counters of the devices under the data.
    pub(crate) data: Option<Arc<LeafCounters>>,
    /// Counters of the devices under the log, where those are others.
    pub(crate) log: Option<Arc<LeafCounters>>,
    /// The process that, with its descendants, does the database's I/O, where it can be seen.
    pub(crate) process: Option<u32>,
    /// Directories of data and log, as far as they can be seen.
    pub(crate) directories: Vec<PathBuf>,
}

impl DatabaseStorage {
    /// Examines what is beneath a database.
    ///
    /// # Errors
    /// The server can't be asked ([`iolite_db::Error`]), or its directories can't be examined ([`iolite_observe::Error`]).
    pub fn find(url: &DatabaseUrl, database: &dyn Instance) -> Result<DatabaseStorage> {
        let Files { here, data, log, unseen, process } = database.files()?;
        let beneath = |path: &Path| storage_beneath(std::iter::once(path));
        let Some(storage) = data.as_deref().map(beneath).transpose()?.flatten() else {
            return Ok(DatabaseStorage {
                storage: unknown(url, here, unseen.as_ref()),
                here,
                data: None,
                log: None,
                process,
                directories: Vec::new(),
            });
        };
        let directories = data.iter().chain(&log).filter(|path| path.is_dir()).cloned().collect();
        let log = match log.as_deref().map(beneath).transpose()?.flatten() {
            Some(log) if log.devices != storage.devices => LeafCounters::new(&log),
            _ => None,
        };
        let data = LeafCounters::new(&storage).map(Arc::new);
        Ok(DatabaseStorage { data, log: log.map(Arc::new), storage, here, process, directories })
    }

    /// What is read before and after a phase to tell the device's I/O from a cache's and from a neighbour's.
    pub(crate) fn probe(&self) -> CacheProbe<'_> {
        CacheProbe::start(self.data.as_deref(), None).on(&self.storage).of(self.process)
    }
}

/// What is reported of storage that can't be seen.
fn unknown(url: &DatabaseUrl, here: bool, unseen: Option<&Unseen>) -> Storage {
    let kind = match unseen {
        Some(Unseen::Role) => {
            "file system that the server names to superusers and members of pg_read_all_settings only".into()
        }
        Some(Unseen::Forbidden(directory)) => format!(
            "file system that this user may not see ({}: permission denied): connect through the server's unix socket, or \
             run iolite as root or as the server's user",
            directory.display()
        ),
        Some(Unseen::Elsewhere(directory)) => format!(
            "file system that is not this host's: {} is not there, or is not this server's (a container, or a tunnel)",
            directory.display()
        ),
        None if here => "file system that cannot be seen from here".into(),
        None => "file system of another host".into(),
    };
    Storage {
        directory: PathBuf::from(url.to_string()),
        filesystem: Filesystem { kind, ..Filesystem::default() },
        ..Storage::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_seen_is_blamed_on_its_cause() {
        let url = DatabaseUrl::parse("postgres://me@localhost/shop").unwrap();
        let data = PathBuf::from("/var/lib/data");
        let kind = |here, unseen: Option<Unseen>| unknown(&url, here, unseen.as_ref()).filesystem.kind;
        let [role, forbidden, elsewhere] =
            [Unseen::Role, Unseen::Forbidden(data.clone()), Unseen::Elsewhere(data)]
                .map(|why| kind(true, Some(why)));
        assert!(role.contains("pg_read_all_settings"), "{role}");
        assert!(forbidden.contains("/var/lib/data") && forbidden.contains("unix socket"), "{forbidden}");
        assert!(elsewhere.contains("/var/lib/data") && elsewhere.contains("container"), "{elsewhere}");
        let others = [forbidden, elsewhere, kind(true, None), kind(false, None)];
        assert!(others.iter().all(|kind| !kind.contains("pg_read_all_settings")), "{others:?}");
    }
}
