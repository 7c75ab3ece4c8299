//! Exit codes: one table for every command.

use std::error::Error;
use std::fmt;
use std::process::ExitCode;

use iolite_engine::EngineError;
use iolite_model::{Ending, Fitness};
use iolite_results::Run;

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done; for a check: the storage is fit.
    Fit = 0,
    /// Something failed; the message says what.
    Failure = 1,
    /// The command line is invalid.
    Usage = 2,
    /// A check: the storage is marginal. A run: a requested rate or steady state was not reached, or operations failed. A comparison: a condition
    /// of `--fail-if` holds.
    Marginal = 3,
    /// A check: the storage is unfit. A verification: data is not what was written.
    Unfit = 4,
    /// Stopped by the user or a signal; what was measured is kept.
    Interrupted = 130,
}

/// The table as printed by `--help`.
pub(crate) const TABLE: &str = "\
Exit codes:
    0  fit; success
    1  failure
    2  usage error: invalid command line
    3  marginal; rate or steady state not reached; operations failed; --fail-if holds
    4  unfit; data read differs from data written
  130  interrupted; results measured so far are stored";

/// Returns with a [`UsageError`] of a sentence, formatted as by `format!`, that says what is wrong and what to do.
macro_rules! refuse {
    ($($sentence:tt)*) => {
        return Err($crate::exit::UsageError::new(format!($($sentence)*)).into())
    };
}
pub(crate) use refuse;

/// An error of the user's: the command line or what it points to.
#[derive(Debug)]
pub(crate) struct UsageError(Box<dyn Error + Send + Sync>);

impl UsageError {
    /// Of what was refused, or of a sentence that says what is wrong and what to do.
    pub(crate) fn new(cause: impl Into<Box<dyn Error + Send + Sync>>) -> UsageError {
        UsageError(cause.into())
    }
}

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for UsageError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}

/// The error of this type that an error is, or passes on.
pub(crate) fn cause<E: Error + 'static>(error: &anyhow::Error) -> Option<&E> {
    error.chain().find_map(|cause| cause.downcast_ref())
}

/// The exit code of an error.
pub(crate) fn of(error: &anyhow::Error) -> Exit {
    if error.downcast_ref::<UsageError>().is_some() {
        Exit::Usage
    } else if matches!(cause(error), Some(EngineError::Interrupted)) {
        Exit::Interrupted
    } else {
        Exit::Failure
    }
}

/// The exit code of a run that reaches no verdict: by its ending, by the requested rates, and by [`of_operations`].
pub(crate) fn of_run(run: &Run) -> Exit {
    let missed = || run.phases.iter().any(|phase| phase.end.rate.is_some_and(|rate| !rate.kept));
    match (&run.ending, of_operations(run)) {
        (_, Exit::Unfit) => Exit::Unfit,
        (Some(Ending::Failed(_)), _) => Exit::Failure,
        (Some(Ending::Interrupted) | None, _) => Exit::Interrupted,
        (Some(Ending::Completed), Exit::Fit) if missed() => Exit::Marginal,
        (Some(Ending::Completed), operations) => operations,
    }
}

/// The exit code of a run that is to reach a verdict; one that completed without is marginal.
pub(crate) fn of_verdict(run: &Run) -> Exit {
    match (&run.ending, &run.verdict) {
        (Some(Ending::Failed(_)), _) => Exit::Failure,
        (Some(Ending::Interrupted) | None, _) => Exit::Interrupted,
        (Some(Ending::Completed), Some(verdict)) => verdict.fitness.into(),
        (Some(Ending::Completed), None) => Exit::Marginal,
    }
}

/// What the operations of a run say, whatever came of it otherwise: data read that is not what was written is unfit, an operation
/// that never completed is a failure, and one that failed in any stage (preparation, ramp, measured part, drain) is marginal.
pub(crate) fn of_operations(run: &Run) -> Exit {
    let verified = || run.phases.iter().filter_map(|phase| phase.end.verified.as_ref());
    match () {
        () if verified().any(|verified| verified.wrong + verified.unreadable > 0) => Exit::Unfit,
        () if verified().any(|verified| verified.incomplete) || run.lost() > 0 => Exit::Failure,
        () if run.errors() > 0 => Exit::Marginal,
        () => Exit::Fit,
    }
}

impl From<Fitness> for Exit {
    fn from(fitness: Fitness) -> Exit {
        match fitness {
            Fitness::Fit => Exit::Fit,
            Fitness::Marginal => Exit::Marginal,
            Fitness::Unfit => Exit::Unfit,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_lists_every_code() {
        for exit in [Exit::Fit, Exit::Failure, Exit::Usage, Exit::Marginal, Exit::Unfit, Exit::Interrupted] {
            let line = format!("{:>5}  {}", exit as u8, format!("{exit:?}").to_lowercase());
            assert!(TABLE.contains(&line), "{line}");
        }
    }
}
