//! `iolite verify`: compares what an earlier run has written.

use std::path::{Path, PathBuf};

use clap::Parser;
use iolite_engine::{Control, verify_state};
use iolite_model::{Concluded, Ending, FileTask, Nanos, Storage, Target, Verified};
use iolite_observe::storage_beneath;
use iolite_report::{Format, LiveKind};
use iolite_results::{RunRequest, StateVerified};
use iolite_sys::clock::Clock;

use crate::exit::{self, Exit};
use crate::{output, setup, signals};

/// `iolite verify` as typed.
#[derive(Debug, Parser)]
#[command(after_long_help = exit::TABLE)]
pub(crate) struct VerifyArgs {
    /// The verification state that the run has kept
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
    iolite_sys::file::raise_open_files();
    let (task, found) = verify_state(&args.state, Clock::best(), &control)?;
    let (storage, results) = (storage(&task, &args.state)?, args.results.clone());
    let mut session = setup::begin_elsewhere(storage, results, LiveKind::Quiet, Nanos(0), &control)?;
    session.conclude(Concluded::of(&RunRequest::new("verify", args.state.display().to_string())));
    let verified = StateVerified { task, found };
    session.conclude(Concluded::of(&verified));
    let ending = if verified.found.incomplete { Ending::Interrupted } else { Ending::Completed };
    let run = session.end(ending);
    output::run(&run, if args.json { Format::Json } else { Format::Text })?;
    Ok(exit_of(&verified.found))
}

/// The storage that the data is on; where the task's files were its run's own, that of the state.
fn storage(task: &FileTask, state: &Path) -> anyhow::Result<Storage> {
    let paths: Vec<&Path> = match &task.target {
        Target::Existing(existing) => vec![&existing.path],
        Target::Files(files) => files.files.iter().map(|file| file.path.as_path()).collect(),
        Target::Null { .. } | Target::File(_) => vec![state],
    };
    match storage_beneath(paths.into_iter())? {
        Some(storage) => Ok(storage),
        None => Ok(iolite_observe::storage(Path::new("."))?),
    }
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
