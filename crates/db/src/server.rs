//! Private servers: databases for those who have none running.

use std::path::Path;

use iolite_model::{Bytes, ErrorCause};

use crate::error::{Error, Result};
#[cfg(feature = "mysql")]
use crate::mysql::server as mariadb;
#[cfg(feature = "postgres")]
use crate::postgres::server as postgres;
use crate::started::Started;

/// Servers that can be had so: set up to be durable, with all their files in one directory, going on when this program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Server {
    /// PostgreSQL.
    Postgres,
    /// MariaDB.
    Mariadb,
}

/// How a private server is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ServerOptions {
    /// Also on a port of the loopback address, the same from start to start where that is free.
    pub port: bool,
    /// Blocks of this size, where its data is created.
    pub block: Option<Bytes>,
    /// It shows waits for its mutexes, latches and files, which costs throughput (MariaDB; PostgreSQL always does).
    pub performance_schema: bool,
}

impl Server {
    /// All there are.
    pub const ALL: [Server; 2] = [Server::Postgres, Server::Mariadb];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Server::Postgres => "postgres",
            Server::Mariadb => "mariadb",
        }
    }

    /// Its name as its makers write it.
    pub fn engine(self) -> &'static str {
        match self {
            Server::Postgres => "PostgreSQL",
            Server::Mariadb => "MariaDB",
        }
    }

    /// Starts one in `directory`, which is made, or is empty, or was made by an earlier start, whose contents are kept.
    ///
    /// # Errors
    /// [`Build`](crate::Error::Build) without the server's programs, or where this program is built without its feature;
    /// [`Unsupported`](crate::Error::Unsupported) for what can't be chosen;
    /// [`Foreign`](crate::Error::Foreign) for a directory with other things in it; [`Engine`](crate::Error::Engine) when one
    /// runs there already, when there is no room, or when it does not start; [`Io`](crate::Error::Io).
    pub fn start(self, directory: &Path, options: ServerOptions) -> Result<Started> {
        match self {
            #[cfg(feature = "postgres")]
            Server::Postgres if options.block.is_some() => Err(Error::Unsupported {
                database: "PostgreSQL",
                what: "choose the size of its blocks when it is started",
                remedy: ErrorCause::PrivateBlockSizeFixed,
            }),
            #[cfg(feature = "postgres")]
            Server::Postgres if options.performance_schema => Err(Error::Unsupported {
                database: "PostgreSQL",
                what: "switch its instrumentation of waits on",
                remedy: ErrorCause::PrivateAlwaysInstrumented,
            }),
            #[cfg(feature = "postgres")]
            Server::Postgres => postgres::start(directory, options.port),
            #[cfg(feature = "mysql")]
            Server::Mariadb => {
                let more = mariadb::instrumented(options.performance_schema);
                let (tcp, page) = (options.port, options.block);
                mariadb::start(directory, &mariadb::Options { tcp, page, more, ..Default::default() })
            }
            #[cfg(not(all(feature = "postgres", feature = "mysql")))]
            _ => self.not_built((directory, options)),
        }
    }

    /// The one that runs in `directory`, if one does.
    ///
    /// # Errors
    /// [`Build`](crate::Error::Build); [`Engine`](crate::Error::Engine) or [`Io`](crate::Error::Io) when its password can't
    /// be read.
    pub fn running(self, directory: &Path) -> Result<Option<Started>> {
        match self {
            #[cfg(feature = "postgres")]
            Server::Postgres => postgres::running(directory),
            #[cfg(feature = "mysql")]
            Server::Mariadb => mariadb::running(directory),
            #[cfg(not(all(feature = "postgres", feature = "mysql")))]
            _ => self.not_built(directory),
        }
    }

    /// Whether a server that runs shows waits for its mutexes, latches and files.
    pub fn is_instrumented(self, started: &Started) -> bool {
        match self {
            Server::Postgres => true,
            #[cfg(feature = "mysql")]
            Server::Mariadb => mariadb::is_instrumented(started.pid),
            #[cfg(not(feature = "mysql"))]
            Server::Mariadb => {
                let _ = started;
                false
            }
        }
    }

    /// Stops the one in `directory`, which writes everything to its files first. The directory stays.
    ///
    /// # Errors
    /// [`Build`](crate::Error::Build); [`Missing`](crate::Error::Missing) or [`Engine`](crate::Error::Engine) when none runs
    /// there, or when it does not end.
    pub fn stop(self, directory: &Path) -> Result<()> {
        match self {
            #[cfg(feature = "postgres")]
            Server::Postgres => postgres::stop(directory),
            #[cfg(feature = "mysql")]
            Server::Mariadb => mariadb::stop(directory),
            #[cfg(not(all(feature = "postgres", feature = "mysql")))]
            _ => self.not_built(directory),
        }
    }

    /// What this build lacks; takes what was to be done with, and does nothing with it.
    #[cfg(not(all(feature = "postgres", feature = "mysql")))]
    fn not_built<T>(self, _: impl Sized) -> Result<T> {
        let what = match self {
            Server::Postgres => "start or stop PostgreSQL",
            Server::Mariadb => "start or stop MariaDB",
        };
        Err(Error::Build { what, remedy: ErrorCause::ClientNotBuilt })
    }
}
