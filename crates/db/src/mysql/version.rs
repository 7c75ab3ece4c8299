//! Which server it is.

use crate::mysql::rows::Rows;
use iolite_model::ErrorCause;
use mysql::Conn;

use crate::error::{Error, Result};

/// Which server, as `VERSION()` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// MariaDB rather than MySQL.
    pub mariadb: bool,
    /// As the server writes it.
    pub text: String,
    number: (u32, u32),
}

impl Version {
    /// Asks the server.
    ///
    /// # Errors
    /// The server's.
    pub fn of(conn: &mut Conn) -> mysql::Result<Version> {
        Ok(Version::parse(&conn.query_row::<String>("SELECT VERSION()")?.unwrap_or_default()))
    }

    pub(super) fn parse(text: &str) -> Version {
        let mariadb = text.to_ascii_lowercase().contains("mariadb");
        // MariaDB behind a proxy may put the version that old clients expect before its own.
        let own = text.strip_prefix("5.5.5-").filter(|_| mariadb).unwrap_or(text);
        let mut numbers = own.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse().unwrap_or(0));
        let number = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        Version { mariadb, text: text.to_owned(), number }
    }

    /// # Errors
    /// [`Error::TooOld`].
    pub fn check(&self, place: &str) -> Result<()> {
        let oldest = if self.mariadb { (10, 5) } else { (8, 0) };
        if self.number >= oldest {
            return Ok(());
        }
        Err(Error::TooOld {
            place: place.to_owned(),
            found: format!("{} {}", self.engine(), self.text),
            needed: if self.mariadb { "MariaDB 10.5" } else { "MySQL 8.0" },
            likely: ErrorCause::MyTooOld,
        })
    }

    /// The product's name.
    pub fn engine(&self) -> &'static str {
        if self.mariadb { "MariaDB" } else { "MySQL" }
    }
}
