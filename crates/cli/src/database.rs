//! `iolite db`: private servers for those who have none running.

use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use iolite_db::Server;

use crate::exit::{self, Exit};
use crate::output;

const EXAMPLES: &str = "\
Examples:
  A private PostgreSQL for a measurement, removed afterwards:
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
    /// Start a server of its own, with all its files in DIR; of one that runs there already, print its URL
    Start {
        /// Which
        #[arg(value_parser = servers())]
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
        #[arg(value_parser = servers())]
        server: Server,
        /// Where its files are
        #[arg(value_name = "DIR")]
        directory: PathBuf,
    },
}

/// Starts or stops a server.
///
/// # Errors
/// It can't be started or stopped.
pub(crate) fn run(args: &DbArgs) -> anyhow::Result<Exit> {
    match &args.verb {
        Verb::Start { server, directory, port } => {
            let (started, already) = match server.running(directory)? {
                Some(running) if *port && running.port.is_none() => return Err(portless(*server, directory)),
                Some(running) => (running, " already"),
                None => (server.start(directory, *port)?, ""),
            };
            let (url, pid) = (&started.url, started.pid);
            output::print(&format!(
                "{url}\n\nIt runs{already} as process {pid}; `iolite db stop {} {}` stops it.\n",
                server.name(),
                directory.display()
            ))?;
        }
        Verb::Stop { server, directory } => {
            server.stop(directory)?;
            output::print("stopped\n")?;
        }
    }
    Ok(Exit::Fit)
}

fn portless(server: Server, directory: &Path) -> anyhow::Error {
    let (server, directory) = (server.name(), directory.display());
    anyhow::anyhow!(
        "the server in {directory} runs without a port: stop it first (iolite db stop {server} {directory}), then start it \
         with --port"
    )
}

/// The servers by their names.
fn servers() -> impl TypedValueParser<Value = Server> {
    let names = Server::ALL.map(|server| PossibleValue::new(server.name()).help(server.engine()));
    PossibleValuesParser::new(names).try_map(|name| {
        Server::ALL.into_iter().find(|server| server.name() == name).ok_or("it is none of ours")
    })
}
