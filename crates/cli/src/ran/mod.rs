//! `iolite ranread`, `ranwrite` and `ranio`: InterSystems PerfTools' suite, inside real databases.

mod args;
mod begin;
mod export;
mod history;
mod making;
mod options;
mod refused;
mod reset;
mod run;
mod runs;
mod stop;
mod sweep;
mod tool;

pub(crate) use args::RanArgs;
pub(crate) use options::{IoOptions, ReadOptions, WriteOptions};
pub(crate) use refused::refused;

use args::Verb;
use options::Operation;

use crate::exit::Exit;

/// Does what a verb asks for.
///
/// # Errors
/// The arguments are invalid, or it can't be done.
pub(crate) fn run<O: Operation>(args: RanArgs<O>) -> anyhow::Result<Exit> {
    match args.verb {
        Verb::Setup(args) => making::setup(O::TOOL, &args),
        Verb::CreateGlobals(args) => making::create_globals(&args),
        Verb::AddGlobals(args) => making::add_globals(&args),
        Verb::CountSubscripts(args) => making::count_subscripts(&args),
        Verb::GetSizes(args) => making::get_sizes(&args),
        Verb::Run(args) => run::run(*args),
        Verb::Sweep(args) => sweep::run(*args),
        Verb::Purge(args) => making::purge(&args),
        Verb::Stop(args) => stop::run(O::TOOL, args),
        Verb::History(args) => history::run(O::TOOL, args),
        Verb::Export(args) => export::run(O::TOOL, args),
        Verb::Reset(args) => reset::run(O::TOOL, args),
    }
}
