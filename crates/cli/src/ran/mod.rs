//! `iolite ranread`, `ranwrite` and `ranio`: InterSystems PerfTools' suite, inside real databases.

mod args;
mod bench;
mod export;
mod history;
mod making;
mod place;
mod reset;
mod run;
mod runs;
mod stop;
mod sweep;

use iolite_db::Error;

pub(crate) use args::{IoOptions, RanArgs, ReadOptions, WriteOptions};
pub(crate) use bench::{Watch, answered};
pub(crate) use place::Place;

use args::{Operation, Verb};

use crate::exit::{Exit, UsageError};

/// One of the three tools.
// They have been called so for long.
#[allow(clippy::enum_variant_names)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tool {
    /// Random reads of blocks.
    RanRead,
    /// Random sets of subscripts, in transactions.
    RanWrite,
    /// Both.
    RanIo,
}

impl Tool {
    /// All three.
    const ALL: [Tool; 3] = [Tool::RanRead, Tool::RanWrite, Tool::RanIo];

    /// As PerfTools write it: `RanRead`, `RanWrite`, `RanIO`.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Tool::RanRead => "RanRead",
            Tool::RanWrite => "RanWrite",
            Tool::RanIo => "RanIO",
        }
    }

    /// As a command: `ranread`, `ranwrite`, `ranio`.
    pub(crate) const fn command(self) -> &'static str {
        match self {
            Tool::RanRead => "ranread",
            Tool::RanWrite => "ranwrite",
            Tool::RanIo => "ranio",
        }
    }

    /// Its operation's name in the results.
    const fn operation(self) -> &'static str {
        match self {
            Tool::RanRead => "ran-read",
            Tool::RanWrite => "ran-write",
            Tool::RanIo => "ran-io",
        }
    }

    /// Whether its jobs write, each into a global of its own.
    pub(crate) const fn writes(self) -> bool {
        !matches!(self, Tool::RanRead)
    }
}

/// Does what a verb asks for.
///
/// # Errors
/// The arguments make no sense, or it can't be done.
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

/// A database's refusal as an error of this command: what the user has typed wrong is reported as such.
fn refused(error: Error) -> anyhow::Error {
    match error {
        Error::Url(_)
        | Error::Unsupported { .. }
        | Error::Layout { .. }
        | Error::FewGlobals { .. }
        | Error::Missing { .. } => UsageError(error.to_string()).into(),
        other => other.into(),
    }
}
