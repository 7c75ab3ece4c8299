//! `iolite verify`: compares what an earlier run has written.

use std::path::PathBuf;

use clap::Parser;
use iolite_engine::Control;
use iolite_model::{Concluded, Nanos};
use iolite_results::{Run, RunRequest, StateVerified};
use iolite_session::SavedVerification;
use iolite_suites::SingleStep;

use crate::conduct::conduct;
use crate::exit::{self, Exit};
use crate::shared_args::QuietOutputArgs;
use crate::{setup, signals};

/// `iolite verify` as typed.
#[derive(Debug, Parser)]
#[command(after_long_help = exit::TABLE)]
pub(crate) struct VerifyArgs {
    /// Verification state saved by the run
    #[arg(value_name = "STATE")]
    state: PathBuf,

    #[command(flatten)]
    output: QuietOutputArgs,
}

/// Verifies a state.
///
/// # Errors
/// The state or the target can't be read.
pub(crate) fn run(args: &VerifyArgs) -> anyhow::Result<Exit> {
    let control = Control::new(signals::interrupt_flag()?);
    let output = args.output.output();
    // Refused before all is read.
    let _ = setup::usable_results(output.results.clone())?;
    let mut saved = SavedVerification::load(&args.state)?;
    let mut session = setup::begin(saved.storage()?, None, &output, Nanos(0), &control)?;
    session.conclude(Concluded::of(&RunRequest::new("verify", args.state.display().to_string())));
    Ok(exit_of(&conduct(session, &mut SingleStep::new(()), &mut saved, &output)?))
}

fn exit_of(run: &Run) -> Exit {
    let verified: Option<StateVerified> = run.concluded().last();
    match (verified, &run.ending) {
        (Some(StateVerified { found, .. }), _) if found.wrong + found.unreadable > 0 => Exit::Unfit,
        (Some(StateVerified { found, .. }), _) if found.incomplete => Exit::Interrupted,
        _ => exit::of_run(run),
    }
}
