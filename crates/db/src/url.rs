//! Where a database is: a URL, as the command line takes it.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// The URL of a database under test. [`Display`](fmt::Display) leaves its password out.
#[derive(Clone, PartialEq, Eq)]
pub enum DatabaseUrl {
    /// `sqlite:DIR`: SQLite databases in a directory.
    Sqlite(PathBuf),
    /// `gtm:DIR`: a GT.M database in a directory.
    Gtm(PathBuf),
    /// `postgres://USER:PASSWORD@HOST:PORT/DATABASE`, as libpq takes it.
    Postgres(String),
    /// `mysql://USER:PASSWORD@HOST:PORT/DATABASE`, also `mariadb://`.
    Mysql(String),
}

/// What a URL may be, for messages and help.
const URLS: &str = "sqlite:DIR, gtm:DIR, postgres://USER@HOST/DATABASE or mysql://USER@HOST/DATABASE";

impl DatabaseUrl {
    /// Reads a URL.
    ///
    /// # Errors
    /// [`Error::Url`] when it is none of ours.
    pub fn parse(text: &str) -> Result<DatabaseUrl> {
        let directory = |rest: &str| {
            let rest = rest.strip_prefix("//").unwrap_or(rest);
            if rest.is_empty() {
                return Err(Error::Url(format!("`{text}` names no directory: write {URLS}")));
            }
            // The same database has the same name wherever it is named from.
            std::path::absolute(rest).map_err(|e| Error::io("find", Path::new(rest), e))
        };
        match text.split_once(':') {
            Some(("sqlite", rest)) => Ok(DatabaseUrl::Sqlite(directory(rest)?)),
            Some(("gtm", rest)) => Ok(DatabaseUrl::Gtm(directory(rest)?)),
            Some(("postgres" | "postgresql", rest)) if rest.starts_with("//") => {
                refuse_reserved(rest)?;
                Ok(DatabaseUrl::Postgres(text.to_owned()))
            }
            Some(("mysql" | "mariadb", rest)) if rest.starts_with("//") => {
                refuse_reserved(rest)?;
                Ok(DatabaseUrl::Mysql(format!("mysql:{rest}")))
            }
            // What is no URL of ours may still hold a password, anywhere.
            _ => Err(Error::Url(format!("that is not a database's URL: write {URLS}"))),
        }
    }
}

/// Refuses a URL (from its `//` on) in which a password with reserved characters would be taken for something else: the end
/// of `me:12/3@host` for the name of a database on the host `me`, which would then be looked up.
fn refuse_reserved(url: &str) -> Result<()> {
    let rest = url.strip_prefix("//").unwrap_or(url);
    let (authority, after) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    if authority.matches('@').count() <= 1 && !after.contains('@') {
        return refuse_ports(authority.rsplit('@').next().unwrap_or_default());
    }
    Err(Error::Url(
        "unexpected @ in the URL, most likely because the password has reserved characters: encode them as %XX (@ as %40, / as \
         %2F, : as %3A, ? as %3F, # as %23, % as %25)"
            .into(),
    ))
}

/// Refuses a port that is no number: most likely a password, of a URL without a host.
fn refuse_ports(hosts: &str) -> Result<()> {
    let port = |host: &str| {
        let name = host.rfind(']').map_or(host, |end| &host[end..]);
        name.split_once(':').map(|(_, port)| port.to_owned())
    };
    if hosts.split(',').filter_map(port).all(|port| port.bytes().all(|digit| digit.is_ascii_digit())) {
        return Ok(());
    }
    Err(Error::Url(
        "the port in the URL is not a number: the format is USER:PASSWORD@HOST:PORT, where the host must not be left out after a \
         password"
            .into(),
    ))
}

/// Schemes of addresses that have no password, unless there is an @.
const WITHOUT_PASSWORD: [&str; 3] = ["tcp", "http", "https"];

/// A text without the password of the URL that it is or holds: what stands between the user's name and the host, or after
/// `password=`. Of a URL that is no database's, nothing is left: a password may be anywhere in it. A text without a URL stays as
/// it is, unless it has the form `USER:PASSWORD@HOST`.
pub fn without_password(text: &str) -> String {
    let Some(slashes) = text.find("://") else {
        let value = text.strip_prefix("--db=").unwrap_or(text);
        let name = |user: &str| {
            let plain = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
            !user.is_empty() && !user.starts_with('-') && user.chars().all(plain)
        };
        let secret = value.split_once(':').is_some_and(|(user, rest)| name(user) && rest.contains('@'));
        return if secret { text.replace(value, "***") } else { text.to_owned() };
    };
    let of_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    let before = text[..slashes].char_indices().rev().find(|(_, c)| !of_scheme(*c));
    let start = before.map_or(0, |(at, c)| at + c.len_utf8());
    let (before, url) = text.split_at(start);
    let plain = WITHOUT_PASSWORD.contains(&&text[start..slashes]) && !url.contains('@');
    match DatabaseUrl::parse(url) {
        _ if plain => text.to_owned(),
        Ok(DatabaseUrl::Sqlite(_) | DatabaseUrl::Gtm(_)) => text.to_owned(),
        Ok(_) => format!("{before}{}", masked(url)),
        Err(_) => format!("{before}***"),
    }
}

/// A URL that can be read, without its password.
fn masked(url: &str) -> String {
    let mut text = url.to_owned();
    let Some(authority) = url.find("://").map(|at| at + 3) else { return text };
    if let Some(at) = url[authority..].rfind('@').map(|at| authority + at)
        && let Some(colon) = url[authority..at].find(':').map(|colon| authority + colon)
    {
        text.replace_range(colon..at, "");
    }
    for key in ["password=", "PASSWORD="] {
        if let Some(start) = text.find(key) {
            let end = text[start..].find('&').map_or(text.len(), |end| start + end);
            text.replace_range(start..end, &format!("{key}***"));
        }
    }
    text
}

impl DatabaseUrl {
    /// Name of the database system.
    pub fn system(&self) -> &'static str {
        match self {
            DatabaseUrl::Sqlite(_) => "SQLite",
            DatabaseUrl::Gtm(_) => "GT.M",
            DatabaseUrl::Postgres(_) => "PostgreSQL",
            DatabaseUrl::Mysql(_) => "MariaDB or MySQL",
        }
    }

    /// The directory of a database that is in one.
    pub fn directory(&self) -> Option<&Path> {
        match self {
            DatabaseUrl::Sqlite(directory) | DatabaseUrl::Gtm(directory) => Some(directory),
            DatabaseUrl::Postgres(_) | DatabaseUrl::Mysql(_) => None,
        }
    }

    /// The same database by its directory's path without symbolic links, so that one that is there is named in one way.
    #[must_use]
    pub fn resolved(mut self) -> DatabaseUrl {
        if let DatabaseUrl::Sqlite(directory) | DatabaseUrl::Gtm(directory) = &mut self
            && let Ok(found) = directory.canonicalize()
        {
            *directory = found;
        }
        self
    }

    /// What of the user's client configuration is not used, and why.
    pub fn caveats(&self) -> Vec<String> {
        match self {
            // What is wrong with the URL is an error of whoever connects.
            #[cfg(feature = "postgres")]
            DatabaseUrl::Postgres(url) => {
                crate::postgres::Target::new(url).map_or_else(|_| Vec::new(), |target| target.caveats())
            }
            #[cfg(feature = "mysql")]
            DatabaseUrl::Mysql(_) => crate::mysql::ignored_option_files(),
            _ => Vec::new(),
        }
    }
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DatabaseUrl::Sqlite(directory) => f.pad(&format!("sqlite:{}", directory.display())),
            DatabaseUrl::Gtm(directory) => f.pad(&format!("gtm:{}", directory.display())),
            DatabaseUrl::Postgres(url) | DatabaseUrl::Mysql(url) => f.pad(&masked(url)),
        }
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DatabaseUrl({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_distinguished() {
        let parse = |text| DatabaseUrl::parse(text).unwrap();
        assert_eq!(parse("sqlite:/var/lib/x"), DatabaseUrl::Sqlite("/var/lib/x".into()));
        assert_eq!(parse("sqlite:///var/lib/x"), DatabaseUrl::Sqlite("/var/lib/x".into()));
        let here = std::env::current_dir().unwrap();
        assert_eq!(parse("gtm:x y"), DatabaseUrl::Gtm(here.join("x y")));
        assert!(matches!(parse("postgresql:///x"), DatabaseUrl::Postgres(_)));
        assert_eq!(parse("mariadb://h/d"), DatabaseUrl::Mysql("mysql://h/d".into()));
        for wrong in ["", "x", "sqlite:", "gtm://", "oracle://x/y", "postgres:x", "/var/lib"] {
            let error = DatabaseUrl::parse(wrong).unwrap_err().to_string();
            assert!(error.contains("sqlite:DIR"), "{error}");
        }
    }

    #[test]
    fn what_has_no_password_stays_as_it_is() {
        for text in [
            "--json",
            "a/b.fio",
            "tcp://host:7480",
            "sqlite:/data",
            "--filename=/dev/sda:/dev/sdb",
            "me@host",
        ] {
            assert_eq!(without_password(text), text);
        }
        assert_eq!(without_password("--db=postgres://me:secret@host/db"), "--db=postgres://me@host/db");
        assert_eq!(without_password("ü://secret"), "ü***");
        assert!(DatabaseUrl::parse("postgres://me@[::1]:5432,[::2]/db").is_ok());
        assert!(DatabaseUrl::parse("postgres://me@%2Ftmp%2Fa:5432/db").is_ok());
    }

    #[test]
    fn passwords_are_never_shown() {
        for (url, shown) in [
            ("postgres://me:secret@host:5432/db", "postgres://me@host:5432/db"),
            (
                "postgres://me@host/db?password=secret&sslmode=disable",
                "postgres://me@host/db?password=***&sslmode=disable",
            ),
            ("mysql://root:secret@[::1]:3306/db", "mysql://root@[::1]:3306/db"),
            ("postgres:///db?host=/tmp", "postgres:///db?host=/tmp"),
        ] {
            let parsed = DatabaseUrl::parse(url).unwrap();
            assert_eq!(parsed.to_string(), shown);
            assert!(!format!("{parsed:?}").contains("secret"));
        }
        for wrong in [
            "oracle://me:secret@host/db",
            "oracle://me:12/secret@host/db",
            "host=h password=secret",
            "me:secret@host",
            "me:p@secret/w:secret@host",
            "postgres://me:se:cr@secret@host/db",
            "mysql://me:p@secret/w:secret@host/db",
            "mysql://me:12/secret@host/db",
            "postgres://me:12?secret@host/db",
            "mysql://me:12#secret@host/db",
            "postgress://app:secret/db",
            "postgres://app:secret/db",
            "mysql://secret:secret",
            "postgres://me@[::1]:secret/db",
            "postgres://me@one:5432,two:secret/db",
            "http://me:secret@host/",
        ] {
            let shown = without_password(wrong);
            assert!(wrong.contains(' ') || !shown.contains("secret"), "{wrong}: {shown}");
            let option = without_password(&format!("--db={wrong}"));
            assert!(wrong.contains(' ') || !option.contains("secret"), "{wrong}: {option}");
            assert!(!DatabaseUrl::parse(wrong).unwrap_err().to_string().contains("secret"), "{wrong}");
        }
    }
}
