//! From a database's URL to the adapter that is written for it.

use std::sync::Arc;

use iolite_db::{DatabaseUrl, Error, Result};
use iolite_model::ErrorCause;

use super::contract::{Adapter, Settings};
use super::gtm::RanGtm;
use super::sqlite::RanSqlite;

/// The database that is there, for sessions as `settings` ask. Nothing is opened or asked yet.
///
/// # Errors
/// [`Error::Url`], [`Error::Unsupported`], [`Error::Build`].
pub fn open(url: &DatabaseUrl, settings: Settings) -> Result<Arc<dyn Adapter>> {
    if settings.through_buffers && matches!(url, DatabaseUrl::Gtm(_) | DatabaseUrl::Mysql(_)) {
        return Err(Error::Unsupported {
            database: "this database",
            what: "use --through-buffers: it always reads through its own buffers",
            remedy: ErrorCause::OwnBuffersOnly,
        });
    }
    match url {
        DatabaseUrl::Sqlite(directory) => Ok(Arc::new(RanSqlite::with(directory.clone(), settings)?)),
        DatabaseUrl::Gtm(directory) => Ok(Arc::new(RanGtm::new(directory.clone(), settings)?)),
        #[cfg(feature = "postgres")]
        DatabaseUrl::Postgres(url) => Ok(Arc::new(super::postgres::RanPostgres::new(url, settings)?)),
        #[cfg(not(feature = "postgres"))]
        DatabaseUrl::Postgres(_) => {
            Err(Error::Build { what: "open PostgreSQL databases", remedy: ErrorCause::ClientNotBuilt })
        }
        #[cfg(feature = "mysql")]
        DatabaseUrl::Mysql(url) => Ok(Arc::new(super::mysql::RanMysql::new(url, settings)?)),
        #[cfg(not(feature = "mysql"))]
        DatabaseUrl::Mysql(_) => {
            Err(Error::Build { what: "open MariaDB or MySQL", remedy: ErrorCause::ClientNotBuilt })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_no_choice_where_there_is_no_way_around_them() {
        let settings = Settings { through_buffers: true, ..Settings::default() };
        for url in ["gtm:/x", "mysql://me@host/db", "sqlite:/x"] {
            let refused = open(&DatabaseUrl::parse(url).unwrap(), settings);
            produced(ErrorCause::OwnBuffersOnly, refused.err());
        }
    }

    /// Checks that the remedy of a cause is named. docs/errors.md lists each call as the test of that cause.
    fn produced(cause: ErrorCause, error: Option<Error>) {
        let text = error.map(|error| error.to_string()).unwrap_or_default();
        assert!(text.contains(cause.remedy()), "{cause:?}: {text}");
    }

    /// Without the features alone: `cargo test -p iolite-oltp --no-default-features`.
    #[cfg(not(all(feature = "postgres", feature = "mysql")))]
    #[test]
    fn what_was_left_out_of_the_program_has_its_remedy() {
        let urls = [
            (cfg!(feature = "postgres"), "postgres://me@host/db"),
            (cfg!(feature = "mysql"), "mysql://me@host/db"),
        ];
        for (_, url) in urls.into_iter().filter(|(built, _)| !built) {
            let url = DatabaseUrl::parse(url).unwrap();
            produced(ErrorCause::ClientNotBuilt, open(&url, Settings::default()).err());
            let durability = iolite_model::Durability::Full;
            produced(ErrorCause::ClientNotBuilt, crate::tproc_c::open(&url, durability).err());
        }
    }
}
