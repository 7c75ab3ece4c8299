//! `iolite tproc-c`: transactions derived from TPC-C, inside real databases.

mod args;
mod bench;
mod build;
mod check;
mod run;
mod sweep;

use iolite_db::{DatabaseUrl, Error};
use iolite_model::Durability;
use iolite_oltp::tproc_c::{self, Database};
use std::sync::Arc;

pub(crate) use args::TprocCArgs;
use args::{DatabaseArgs, Verb};

use crate::exit::{Exit, UsageError};

/// Does what a verb asks for.
///
/// # Errors
/// The arguments make no sense, or it can't be done.
pub(crate) fn run(args: TprocCArgs) -> anyhow::Result<Exit> {
    match args.verb {
        Verb::Build(args) => build::build(&args),
        Verb::Run(args) => run::run(*args),
        Verb::Sweep(args) => sweep::sweep(*args),
        Verb::Check(args) => check::check(&args),
        Verb::Purge(args) => build::purge(&args),
    }
}

/// The database that the arguments name; nothing is opened yet.
fn open(args: &DatabaseArgs, durability: Durability) -> anyhow::Result<(DatabaseUrl, Arc<dyn Database>)> {
    let url = DatabaseUrl::parse(&args.db).map_err(refused)?;
    let database = tproc_c::open(&url, durability).map_err(refused)?;
    Ok((url, database))
}

/// A database's refusal as an error of this command.
fn refused(error: Error) -> anyhow::Error {
    match error {
        Error::Url(_) | Error::Unsupported { .. } | Error::Exists { .. } => UsageError(error.to_string()).into(),
        Error::Missing { place } => {
            UsageError(format!("no TPROC-C database in {place}: build it first (iolite tproc-c build)")).into()
        }
        Error::Incomplete { path } => UsageError(format!(
            "{} was never finished: its build was interrupted; remove it (iolite tproc-c purge) and build it again",
            path.display()
        ))
        .into(),
        other => other.into(),
    }
}
