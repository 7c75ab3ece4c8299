//! `iolite verify`: compares what an earlier run has written.

use std::path::PathBuf;

use clap::Parser;
use iolite_engine::Control;
use iolite_model::{Concluded, Nanos};
use iolite_report::Format;
use iolite_results::{Run, RunRequest, StateVerified};
use iolite_session::{SavedVerification, ending};
use iolite_suites::SingleStep;

use crate::exit::{self, Exit};
use crate::shared_args::ViewArgs;
use crate::{output, setup, signals};

/// `iolite verify` as typed.
#[derive(Debug, Parser)]
#[command(after_long_help = exit::TABLE)]
pub(crate) struct VerifyArgs {
    /// Verification state saved by the run
    #[arg(value_name = "STATE")]
    state: PathBuf,

    /// Results database [default: iolite/results.db under XDG_DATA_HOME or ~/.local/share]
    #[arg(long, value_name = "FILE")]
    results: Option<PathBuf>,

    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Verifies a state.
///
/// # Errors
/// The state or the target can't be read.
pub(crate) fn run(args: &VerifyArgs) -> anyhow::Result<Exit> {
    let control = Control::new(signals::interrupt_flag()?);
    // Refused before all is read.
    let _ = setup::usable_results(args.results.clone())?;
    let mut saved = SavedVerification::load(&args.state)?;
    let (storage, results) = (saved.storage()?, args.results.clone());
    let mut session = setup::begin_elsewhere(storage, results, (&ViewArgs::QUIET, Nanos(0)), &control)?;
    session.conclude(Concluded::of(&RunRequest::new("verify", args.state.display().to_string())));
    let failure = session.drive(&mut SingleStep::new(()), &mut saved).err();
    let run = session.end(ending(failure, &control));
    output::run(&run, if args.json { Format::Json } else { Format::Text })?;
    output::failure(&run, true);
    Ok(exit_of(&run))
}

fn exit_of(run: &Run) -> Exit {
    let verified: Option<StateVerified> = run.concluded().last();
    match (verified, &run.ending) {
        (Some(StateVerified { found, .. }), _) if found.wrong + found.unreadable > 0 => Exit::Unfit,
        (Some(StateVerified { found, .. }), _) if found.incomplete => Exit::Interrupted,
        _ => exit::of_run(run),
    }
}
