//! From a database's URL to the adapter that is written for it.

use std::sync::Arc;

use iolite_db::{DatabaseUrl, Error, Result};

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
            remedy: "remove --through-buffers",
        });
    }
    match url {
        DatabaseUrl::Sqlite(directory) => Ok(Arc::new(RanSqlite::with(directory.clone(), settings)?)),
        DatabaseUrl::Gtm(directory) => Ok(Arc::new(RanGtm::new(directory.clone(), settings)?)),
        #[cfg(feature = "postgres")]
        DatabaseUrl::Postgres(url) => Ok(Arc::new(super::postgres::RanPostgres::new(url, settings)?)),
        #[cfg(not(feature = "postgres"))]
        DatabaseUrl::Postgres(_) => Err(Error::Build {
            what: "open PostgreSQL databases",
            remedy: "build it with the feature `postgres` (cargo build --features postgres)",
        }),
        #[cfg(feature = "mysql")]
        DatabaseUrl::Mysql(url) => Ok(Arc::new(super::mysql::RanMysql::new(url, settings)?)),
        #[cfg(not(feature = "mysql"))]
        DatabaseUrl::Mysql(_) => Err(Error::Build {
            what: "open MariaDB or MySQL",
            remedy: "build it with the feature `mysql` (cargo build --features mysql)",
        }),
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
            assert!(matches!(refused, Err(Error::Unsupported { .. })), "{url}");
        }
    }
}
