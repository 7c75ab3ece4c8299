//! `iolite check`: arguments -> options -> plan -> run -> outputs.

mod database;
mod options;

use iolite_engine::Control;
use iolite_model::{Concluded, Ending, Warning};
use iolite_report::Format;
use iolite_results::{Asked, Run};
use iolite_session::{Session, Setup, describe};
use iolite_suites::Check;

use crate::args::CheckArgs;
use crate::exit::Exit;
use crate::{output, setup, signals};
use database::OwnDatabase;
use options::Options;

/// Checks a directory's storage.
///
/// # Errors
/// The arguments make no sense, or the check cannot be begun. A failure later is part of what is printed.
pub(crate) fn run(args: CheckArgs) -> anyhow::Result<Exit> {
    let control = Control::new(signals::interrupt_flag()?);
    let options = Options::from_args(args)?;
    setup::clear_leftovers(&options.directory, options.quiet);
    let setup = Setup {
        directory: &options.directory,
        results: options.results.clone(),
        view: setup::view(options.live(), options.time),
    };
    let mut session = Session::begin(options.run.clone(), setup, &control)?;
    session.conclude(Concluded::of(&Asked::new("check", "")));
    let mut check = match begin(&options, &mut session) {
        Ok(check) => check,
        Err(error) => {
            session.end(Ending::Failed(describe(&error)));
            return Err(error);
        }
    };
    let failure = session.drive(&mut check, &mut OwnDatabase::new(options.time, options.thorough)).err();
    let ending = match (failure, &session.run().verdict) {
        (Some(failure), _) => iolite_session::ending(Some(failure), &control),
        (None, Some(_)) => Ending::Completed,
        (None, None) => Ending::Interrupted,
    };
    let run = session.end(ending);
    let format = match (options.json, options.quiet) {
        (true, _) => Format::Json,
        (false, true) => Format::Short,
        (false, false) => Format::Text,
    };
    output::run(&run, format)?;
    output::failure(&run, options.quiet);
    Ok(exit_of(&run))
}

/// Finds out what the storage takes, and warns of what that means for the figures.
fn begin(options: &Options, session: &mut Session<'_>) -> anyhow::Result<Check> {
    let direct = !options.buffered && takes_direct_io(options, session)?;
    let io_uring = match iolite_sys::ring::available() {
        Ok(()) => true,
        Err(error) => {
            session.warn(Warning::NoIoUring { reason: error.to_string() });
            false
        }
    };
    if options.buffered {
        session.warn(Warning::ThroughCache);
    }
    Ok(Check::new(options.for_procedure(direct, io_uring))?)
}

/// Whether direct I/O works here; warns where it does not.
fn takes_direct_io(options: &Options, session: &mut Session<'_>) -> anyhow::Result<bool> {
    let scratch = session.scratch();
    scratch.claim(iolite_sys::file::PROBE.as_ref())?;
    let works = iolite_sys::file::direct_io_works(scratch.path()).map_err(|source| {
        iolite_engine::EngineError::Scratch { directory: options.directory.clone(), source }
    })?;
    if !works {
        session.warn(Warning::NoDirectIo { filesystem: options.run.storage.filesystem.kind.clone() });
    }
    Ok(works)
}

fn exit_of(run: &Run) -> Exit {
    match (&run.ending, &run.verdict) {
        (Some(Ending::Failed(_)), _) => Exit::Failure,
        (_, Some(verdict)) => verdict.fitness.into(),
        (_, None) => Exit::Interrupted,
    }
}
