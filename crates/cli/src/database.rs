//! `iolite db`: private servers for those who have none running.

use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use iolite_db::{Server, ServerOptions};
use iolite_model::Bytes;

use crate::exit::{self, Exit};
use crate::output;

const EXAMPLES: &str = "\
Examples:
  A private PostgreSQL server for a measurement:
      iolite db start postgres /data/pg
      iolite ranread setup --db 'postgres://...' --size 48GiB        (the URL printed by start)
      iolite db stop postgres /data/pg
      rm -r /data/pg

The server is configured for durability (fsync, synchronous commits, full page writes or doublewrite), with small buffers so \
that reads reach the storage. It keeps running when iolite exits, and is reachable only by a socket in DIR unless --port \
is given.";

/// `iolite db` as typed.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{}", exit::TABLE))]
pub(crate) struct DbArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Start a private server with all its files in DIR, or print the URL of the server that already runs there
    Start {
        /// Database system
        #[arg(value_parser = servers())]
        server: Server,
        /// Directory for its files: a new or empty one, or that of a server started earlier
        #[arg(value_name = "DIR")]
        directory: PathBuf,
        /// Also listen on a TCP port of the loopback interface; the port stays the same across restarts
        #[arg(long)]
        port: bool,
        /// Block size of the database (MariaDB: innodb_page_size, 4KiB to 64KiB), when its data is created
        #[arg(long, value_name = "SIZE")]
        block_size: Option<Bytes>,
        /// Have MariaDB report waits for InnoDB's mutexes, latches and files (performance_schema), for `waits watch` and `tproc-c`; costs
        /// throughput, and holds until the server is stopped
        #[arg(long)]
        performance_schema: bool,
    },
    /// Stop the server in DIR; its files are kept
    Stop {
        /// Database system
        #[arg(value_parser = servers())]
        server: Server,
        /// Directory of its files
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
        Verb::Start { server, directory, port, block_size, performance_schema } => {
            let (port, block, performance_schema) = (*port, *block_size, *performance_schema);
            let (started, already) = match server.running(directory)? {
                Some(running) if port && running.port.is_none() => {
                    return Err(running_without(*server, directory, "a port", "--port"));
                }
                Some(running) if performance_schema && !server.is_instrumented(&running) => {
                    let what = "the instrumentation of waits";
                    return Err(running_without(*server, directory, what, "--performance-schema"));
                }
                Some(running) => (running, " already"),
                None => (server.start(directory, ServerOptions { port, block, performance_schema })?, ""),
            };
            let (url, pid) = (&started.url, started.pid);
            output::print(&format!(
                "{url}\n\nThe server is{already} running as process {pid}; `iolite db stop {} {}` stops it.\n",
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

fn running_without(server: Server, directory: &Path, what: &str, option: &str) -> anyhow::Error {
    let (server, directory) = (server.name(), directory.display());
    anyhow::anyhow!(
        "the server in {directory} is running without {what}: stop it (iolite db stop {server} {directory}), then start it with \
         {option}"
    )
}

/// The servers by their names.
fn servers() -> impl TypedValueParser<Value = Server> {
    let names = Server::ALL.map(|server| PossibleValue::new(server.name()).help(server.engine()));
    PossibleValuesParser::new(names).try_map(|name| {
        Server::ALL.into_iter().find(|server| server.name() == name).ok_or("unknown database system")
    })
}
