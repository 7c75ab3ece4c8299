//! The end of every command that measures: its procedure is driven to its end, and the run is printed.

use iolite_results::Run;
use iolite_session::{Environment, Session, ending};
use iolite_suites::Procedure;

use crate::output;
use crate::shared_args::OutputArgs;

/// Drives a procedure to its end, ends the run, and prints it.
///
/// # Errors
/// Standard output can't be written to.
pub(crate) fn conduct<P: Procedure>(
    mut session: Session<'_>,
    procedure: &mut P,
    environment: &mut impl Environment<P>,
    output: &OutputArgs,
) -> anyhow::Result<Run> {
    let failure = session.drive(procedure, environment).err();
    let ending = ending(failure, session.control());
    printed(session.end(ending), output)
}

/// Prints a run that has ended.
///
/// # Errors
/// Standard output can't be written to.
pub(crate) fn printed(run: Run, output: &OutputArgs) -> anyhow::Result<Run> {
    output::run(&run, output.format())?;
    output::failure(&run, output.view.quiet);
    Ok(run)
}
