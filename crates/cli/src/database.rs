//! `iolite db`: private servers for those who have none running.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};

use crate::exit::{self, Exit};
use crate::output;

const EXAMPLES: &str = "\
Examples:
  A PostgreSQL of its own for a measurement, and away with it:
      iolite db start postgres /data/pg
      iolite ranread setup --db 'postgres://...' --size 48GiB        (the URL that start has printed)
      iolite db stop postgres /data/pg
      rm -r /data/pg

The server is set up to be durable (fsync, synchronous commits, full page writes or doublewrite), with small buffers so that reads
are reads. It goes on running when iolite ends, and is reached by a socket in DIR only, unless --port is given.";

/// `iolite db` as typed.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{}", exit::TABLE))]
pub(crate) struct DbArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Start a server of its own, with all its files in DIR; of one that runs there already, tell its URL
    Start {
        /// Which
        #[arg(value_enum)]
        server: Server,
        /// Where its files are to be: a directory that is empty, not there yet, or of a server that was started so before
        #[arg(value_name = "DIR")]
        directory: PathBuf,
        /// Reachable by TCP too, at a port of this host's loopback address that stays the same from start to start
        #[arg(long)]
        port: bool,
    },
    /// Stop the server that was started in DIR; its files stay
    Stop {
        /// Which
        #[arg(value_enum)]
        server: Server,
        /// Where its files are
        #[arg(value_name = "DIR")]
        directory: PathBuf,
    },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Server {
    /// PostgreSQL
    Postgres,
    /// MariaDB
    Mariadb,
}

/// Starts or stops a server.
///
/// # Errors
/// It can't be started or stopped.
pub(crate) fn run(args: &DbArgs) -> anyhow::Result<Exit> {
    match &args.verb {
        Verb::Start { server, directory, port } => {
            let (started, already) = match running(*server, directory)? {
                Some(running) if *port && running.port.is_none() => return Err(portless(*server, directory)),
                Some(running) => (running, " already"),
                None => (start(*server, directory, *port)?, ""),
            };
            let (url, pid) = (&started.url, started.pid);
            output::print(&format!(
                "{url}\n\nIt runs{already} as process {pid}; `iolite db stop {} {}` stops it.\n",
                server.command(),
                directory.display()
            ))?;
        }
        Verb::Stop { server, directory } => {
            stop(*server, directory)?;
            output::print("stopped\n")?;
        }
    }
    Ok(Exit::Fit)
}

impl Server {
    fn command(self) -> &'static str {
        match self {
            Server::Postgres => "postgres",
            Server::Mariadb => "mariadb",
        }
    }
}

/// A server of ours that runs.
struct Started {
    url: String,
    pid: u32,
    port: Option<u16>,
}

#[cfg(feature = "postgres")]
impl From<iolite_db::postgres::server::Started> for Started {
    fn from(started: iolite_db::postgres::server::Started) -> Started {
        Started { url: started.url, pid: started.pid, port: started.port }
    }
}

#[cfg(feature = "mysql")]
impl From<iolite_db::mysql::server::Started> for Started {
    fn from(started: iolite_db::mysql::server::Started) -> Started {
        Started { url: started.url, pid: started.pid, port: started.port }
    }
}

/// The server that runs in a directory.
fn running(server: Server, directory: &Path) -> anyhow::Result<Option<Started>> {
    match server {
        #[cfg(feature = "postgres")]
        Server::Postgres => Ok(iolite_db::postgres::server::running(directory)?.map(Started::from)),
        #[cfg(feature = "mysql")]
        Server::Mariadb => Ok(iolite_db::mysql::server::running(directory)?.map(Started::from)),
        #[cfg(not(all(feature = "postgres", feature = "mysql")))]
        _ => Err(not_built(server)),
    }
}

fn portless(server: Server, directory: &Path) -> anyhow::Error {
    let (server, directory) = (server.command(), directory.display());
    anyhow::anyhow!(
        "the server in {directory} runs without a port: stop it first (iolite db stop {server} {directory}), then start it \
         with --port"
    )
}

/// Starts a server.
fn start(server: Server, directory: &Path, port: bool) -> anyhow::Result<Started> {
    match server {
        #[cfg(feature = "postgres")]
        Server::Postgres => Ok(iolite_db::postgres::server::start(directory, port)?.into()),
        #[cfg(feature = "mysql")]
        Server::Mariadb => {
            let options = iolite_db::mysql::server::Options { tcp: port, ..Default::default() };
            Ok(iolite_db::mysql::server::start(directory, &options)?.into())
        }
        #[cfg(not(all(feature = "postgres", feature = "mysql")))]
        _ => Err(not_built(server)),
    }
}

fn stop(server: Server, directory: &Path) -> anyhow::Result<()> {
    match server {
        #[cfg(feature = "postgres")]
        Server::Postgres => Ok(iolite_db::postgres::server::stop(directory)?),
        #[cfg(feature = "mysql")]
        Server::Mariadb => Ok(iolite_db::mysql::server::stop(directory)?),
        #[cfg(not(all(feature = "postgres", feature = "mysql")))]
        _ => Err(not_built(server)),
    }
}

#[cfg(not(all(feature = "postgres", feature = "mysql")))]
fn not_built(server: Server) -> anyhow::Error {
    let feature = match server {
        Server::Postgres => "postgres",
        Server::Mariadb => "mysql",
    };
    anyhow::anyhow!(
        "this build knows nothing of {}: build it with its feature (cargo build --features {feature})",
        server.command()
    )
}
