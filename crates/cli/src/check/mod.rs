//! `iolite check`: arguments -> options -> plan -> run -> outputs.

mod args;
mod options;

use iolite_engine::Control;
use iolite_model::{Concluded, Ending, WritePlan};
use iolite_report::Format;
use iolite_results::{Run, RunRequest};
use iolite_session::{CheckDatabase, Session, Setup, WriteLimits, describe};
use iolite_suites::Check;

use crate::exit::Exit;
use crate::{output, setup, signals, writes};
pub(crate) use args::CheckArgs;
use options::Options;

/// Checks a directory's storage.
///
/// # Errors
/// The arguments are invalid, or the check cannot be begun. A failure later is part of what is printed.
pub(crate) fn run(args: CheckArgs) -> anyhow::Result<Exit> {
    let control = Control::new(signals::interrupt_flag()?);
    let options = Options::from_args(args)?;
    let results = setup::usable_results(options.output.results.clone())?;
    setup::clear_leftovers(&options.directory, options.output.view.quiet);
    // The procedure itself keeps its budget.
    let plan = WritePlan { bytes: options.space, duration: options.time, ..WritePlan::default() };
    let plan = WriteLimits::default().on(plan, &options.run.storage);
    writes::show(&plan, options.output.view.quiet || options.output.json);
    let view = setup::asked_view(&options.output.view, options.time)?;
    let setup = Setup { directory: Some(&options.directory), results, view };
    let mut session = Session::begin(options.run.clone(), setup, &control)?;
    session.conclude(Concluded::of(&RunRequest::new("check", "")));
    session.conclude(Concluded::of(&plan));
    options.stalls.watch(&mut session);
    let mut check = match begin(&options, &mut session) {
        Ok(check) => check,
        Err(error) => {
            session.end(Ending::Failed(describe(&*error)));
            return Err(error);
        }
    };
    let failure = session.drive(&mut check, &mut CheckDatabase::new(options.time, options.thorough)).err();
    session.warn_of_narrow_file();
    let ending = match (failure, &session.run().verdict) {
        (Some(failure), _) => iolite_session::ending(Some(failure), &control),
        (None, Some(_)) => Ending::Completed,
        (None, None) => Ending::Interrupted,
    };
    let run = session.end(ending);
    let format = match (options.output.json, options.output.view.quiet) {
        (true, _) => Format::Json,
        (false, true) => Format::Short,
        (false, false) => Format::Text,
    };
    output::run(&run, format)?;
    output::failure(&run, options.output.view.quiet);
    Ok(exit_of(&run))
}

/// Finds out what the storage takes, and warns of what that means for the figures.
fn begin(options: &Options, session: &mut Session<'_>) -> anyhow::Result<Check> {
    let direct = session.uses_direct_io(!options.buffered)?;
    let io_uring = session.takes_io_uring();
    Ok(Check::new(options.for_procedure(direct, io_uring))?)
}

fn exit_of(run: &Run) -> Exit {
    match (&run.ending, &run.verdict) {
        (Some(Ending::Failed(_)), _) => Exit::Failure,
        (_, Some(verdict)) => verdict.fitness.into(),
        (_, None) => Exit::Interrupted,
    }
}
