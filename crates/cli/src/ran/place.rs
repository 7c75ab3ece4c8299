//! The storage under a database.

use std::path::{Path, PathBuf};

use iolite_db::{DatabaseUrl, Files, Instance};
use iolite_model::{Bytes, Filesystem, Storage, Warning};
use iolite_observe::LeafCounters;

use crate::storage;

/// Where a database's files are, as far as it is known.
pub(crate) struct Place {
    /// The storage under the data.
    pub(crate) storage: Storage,
    /// Counters of the devices under the data.
    pub(crate) data: Option<LeafCounters>,
    /// Counters of the devices under the log, where those are others.
    pub(crate) log: Option<LeafCounters>,
    /// Whether this host's memory may hold what is read.
    pub(crate) here: bool,
}

impl Place {
    /// Looks at what is beneath a database.
    ///
    /// # Errors
    /// The server can't be asked, or its directories can't be looked at.
    pub(crate) fn find(url: &DatabaseUrl, database: &dyn Instance) -> anyhow::Result<Place> {
        let Files { here, data, log } = database.files().map_err(super::refused)?;
        let beneath = |path: &Path| storage::beneath(std::iter::once(path));
        let Some(storage) = data.as_deref().map(beneath).transpose()?.flatten() else {
            return Ok(Place { storage: unseen(url, here), data: None, log: None, here });
        };
        let log = match log.as_deref().map(beneath).transpose()?.flatten() {
            Some(log) if log.devices != storage.devices => LeafCounters::new(&log),
            _ => None,
        };
        Ok(Place { data: LeafCounters::new(&storage), log, storage, here })
    }
}

/// What is reported of storage that can't be seen.
fn unseen(url: &DatabaseUrl, here: bool) -> Storage {
    let kind = match (here, url) {
        (true, DatabaseUrl::Postgres(_)) => {
            "file system that the server names to superusers and members of pg_read_all_settings only"
        }
        (true, _) => "file system that can't be seen from here",
        (false, _) => "file system of another host",
    };
    Storage {
        directory: PathBuf::from(url.to_string()),
        filesystem: Filesystem { kind: kind.into(), ..Filesystem::default() },
        ..Storage::default()
    }
}

/// Doubts about a database of this size: what is read from it may come from a cache.
pub(crate) fn too_small(size: Bytes, memory: Option<Bytes>, controller: Option<Bytes>) -> Vec<Warning> {
    let mut doubts = Vec::new();
    if let Some(memory) = memory.filter(|memory| size.0 < memory.0.saturating_mul(2)) {
        doubts.push(Warning::SmallDatabase { database: size, memory, wanted: Bytes(memory.0 * 2) });
    }
    if let Some(cache) = controller.filter(|cache| size.0 < cache.0.saturating_mul(4)) {
        let wanted = Bytes(cache.0.saturating_mul(4));
        doubts.push(Warning::SmallForController { database: size, cache, wanted });
    }
    doubts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_is_to_be_larger_than_what_may_cache_it() {
        let gib = |n: u64| Bytes(n << 30);
        assert_eq!(too_small(gib(48), Some(gib(24)), Some(gib(12))), []);
        let both = too_small(gib(40), Some(gib(24)), Some(gib(12)));
        assert!(matches!(both[0], Warning::SmallDatabase { wanted, .. } if wanted == gib(48)), "{both:?}");
        assert!(
            matches!(both[1], Warning::SmallForController { wanted, .. } if wanted == gib(48)),
            "{both:?}"
        );
        // Of another host nothing is known.
        assert_eq!(too_small(gib(1), None, None), []);
    }
}
