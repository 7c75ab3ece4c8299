//! Why a step could not be done.

use std::error::Error;
use std::io;

use iolite_model::errno::{EINVAL, EIO, ENOENT};

/// Why a step between or around the phases could not be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The error number that results hold.
    pub number: i32,
    /// What went wrong, with its cause.
    pub reason: String,
}

/// What ended a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// The user.
    Interrupted,
    /// The engine refused a task.
    Refused,
    /// Something that goes wrong while jobs run: a rate that is missed, a queue that breaks.
    Running,
}

impl Failure {
    /// The failure with this chain of causes. Its number (errno(3)) is the kernel's where a cause has one; else 0 of an
    /// interruption, `EINVAL` of what was refused, `EIO` of what went wrong.
    pub fn of<'e>(
        causes: impl IntoIterator<Item = &'e (dyn Error + 'static)>,
        kind: FailureKind,
        reason: String,
    ) -> Failure {
        let system = |cause: &'e (dyn Error + 'static)| {
            let error = cause.downcast_ref::<io::Error>()?;
            error.raw_os_error().or((error.kind() == io::ErrorKind::NotFound).then_some(ENOENT))
        };
        let number = causes.into_iter().find_map(system).unwrap_or(match kind {
            FailureKind::Interrupted => 0,
            FailureKind::Refused => EINVAL,
            FailureKind::Running => EIO,
        });
        Failure { number, reason }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_has_the_kernel_s_number_or_that_of_its_kind() {
        let number = |cause: io::Error, kind| {
            let cause: &(dyn Error + 'static) = &cause;
            Failure::of([cause], kind, String::new()).number
        };
        let full = || io::Error::from_raw_os_error(28);
        assert_eq!(number(full(), FailureKind::Refused), 28);
        assert_eq!(number(io::ErrorKind::NotFound.into(), FailureKind::Refused), ENOENT);
        let kinds = [FailureKind::Interrupted, FailureKind::Refused, FailureKind::Running];
        assert_eq!(kinds.map(|kind| number(io::Error::other("no number"), kind)), [0, EINVAL, EIO]);
    }
}
