//! `iolite tproc-c`: transactions derived from TPC-C, inside real databases.

mod ab;
mod args;
mod begin;
mod build;
mod check;
mod open;
mod run;
mod sweep;

pub(crate) use args::TprocCArgs;

use args::Verb;

use crate::exit::Exit;

/// Does what a verb asks for.
///
/// # Errors
/// The arguments are invalid, or it can't be done.
pub(crate) fn run(args: TprocCArgs) -> anyhow::Result<Exit> {
    match args.verb {
        Verb::Build(args) => build::build(&args),
        Verb::Run(args) => run::run(*args),
        Verb::Sweep(args) => sweep::sweep(*args),
        Verb::Ab(args) => ab::ab(*args),
        Verb::Check(args) => check::check(&args),
        Verb::Purge(args) => build::purge(&args),
    }
}
