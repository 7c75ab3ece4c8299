//! `iolite verify`: compares what an earlier run has written.

use std::path::PathBuf;

use clap::Parser;
use iolite_engine::{Control, verify_state};
use iolite_model::Verified;
use iolite_sys::clock::Clock;

use crate::exit::{self, Exit};
use crate::{output, signals};

/// `iolite verify` as typed.
#[derive(Debug, Parser)]
#[command(after_long_help = exit::TABLE)]
pub(crate) struct VerifyArgs {
    /// The verification state that the run has kept
    #[arg(value_name = "STATE")]
    pub(crate) state: PathBuf,

    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// Verifies a state.
///
/// # Errors
/// The state or the target can't be read.
pub(crate) fn run(args: &VerifyArgs) -> anyhow::Result<Exit> {
    let control = Control::new(signals::interrupt_flag()?);
    iolite_sys::file::raise_open_files();
    let (task, found) = verify_state(&args.state, Clock::best(), &control)?;
    let text = if args.json {
        format!("{:#}\n", iolite_report::run::verified_json(&task, &found))
    } else {
        iolite_report::run::verified_text(&task, &found)
    };
    output::print(&text)?;
    Ok(exit_of(&found))
}

fn exit_of(found: &Verified) -> Exit {
    if found.wrong + found.unreadable > 0 {
        Exit::Unfit
    } else if found.incomplete {
        Exit::Interrupted
    } else {
        Exit::Fit
    }
}
