//! Error handling.

use iolite_model::errno::EILSEQ;
use iolite_model::{ErrorClass, JobTask, Mix};

use crate::language::error::{OptionError, Result};
use crate::language::options::Spec;
use crate::language::options::entry::{choice, ignored, put, special};
use crate::language::options::option::{Form, Opt};
use crate::language::thread::{Thread, ThreadIndex};
use crate::language::value::OptionValue;

/// Error handling.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Errors {
    /// `continue_on_error`: the job goes on after errors of these operations.
    pub go_on: GoOn,
    /// `ignore_error`: numbers of the errors of reads, of writes and of verification after which the job goes on, instead of
    /// what `continue_on_error` says of them.
    pub ignore: [Vec<i32>; 3],
}

/// After errors of which operations a job goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GoOn {
    /// Of reads.
    pub reads: bool,
    /// Of writes.
    pub writes: bool,
    /// Of verification.
    pub verify: bool,
}

impl Errors {
    /// Changes `thread` to what these settings say.
    pub(crate) fn lower(&self, _spec: &Spec, _place: ThreadIndex, thread: &mut Thread) -> Result {
        let JobTask::Io(task) = &mut thread.task else { return self.refuse_for_names() };
        let io = self.io(task.mix)?;
        let verify = self.ignore[2].is_empty() && self.go_on.verify;
        // What verification finds wrong is an error of EILSEQ in fio.
        let verify = verify || self.ignore[2].contains(&EILSEQ);
        let goes_on = |class| match class {
            ErrorClass::Verify => verify,
            // fio repeats what was left over; here it is counted.
            ErrorClass::Short => !io.is_empty(),
            other => io.contains(&other),
        };
        let stop = ErrorClass::ALL.iter().copied().filter(|class| !goes_on(*class)).collect();
        task.errors.stop = stop;
        Ok(())
    }

    /// Engines that work on names count their errors and go on.
    fn refuse_for_names(&self) -> Result {
        if *self == Errors::default() {
            return Ok(());
        }
        Err(OptionError::refused(
            "continue_on_error and ignore_error are not for metadata engines, which \
             count their errors and go on",
            "remove them",
        ))
    }

    /// Classes of errors of reads and writes after which the job goes on.
    fn io(&self, mix: Mix) -> Result<Vec<ErrorClass>> {
        let of = |list: &[i32], go_on: bool| match list {
            [] if go_on => vec![ErrorClass::Device],
            list => list.iter().map(|number| ErrorClass::of(*number)).collect(),
        };
        let reads = of(&self.ignore[0], self.go_on.reads);
        let writes = of(&self.ignore[1], self.go_on.writes);
        match (mix.reads(), mix.writes() || mix.trims()) {
            (true, false) => Ok(reads),
            (false, _) => Ok(writes),
            (true, true) => {
                // Running out of space happens to writes only: whether it is among the errors of reads changes nothing.
                let (alone, both): (Vec<_>, Vec<_>) = reads
                    .iter()
                    .chain(&writes)
                    .copied()
                    .filter(|class| *class != ErrorClass::Space)
                    .partition(|class| !(reads.contains(class) && writes.contains(class)));
                if !alone.is_empty() {
                    let refused = OptionError::refused(
                        "in a job that reads and writes, an error stops both or neither",
                        "name it for both (continue_on_error=io, ignore_error=EIO,EIO), or make two jobs of it",
                    );
                    return Err(refused.at("continue_on_error and ignore_error"));
                }
                let space = writes.contains(&ErrorClass::Space).then_some(ErrorClass::Space);
                Ok(both.into_iter().chain(space).collect())
            }
        }
    }
}

/// Errors that may be given by name: those of reading, writing and opening, with Linux's generic numbers.
const NAMES: [(&str, i32); 30] = [
    ("EPERM", 1),
    ("ENOENT", 2),
    ("ESRCH", 3),
    ("EINTR", 4),
    ("EIO", 5),
    ("ENXIO", 6),
    ("E2BIG", 7),
    ("ENOEXEC", 8),
    ("EBADF", 9),
    ("ECHILD", 10),
    ("EAGAIN", 11),
    ("ENOMEM", 12),
    ("EACCES", 13),
    ("EFAULT", 14),
    ("ENOTBLK", 15),
    ("EBUSY", 16),
    ("EEXIST", 17),
    ("EXDEV", 18),
    ("ENODEV", 19),
    ("EINVAL", 22),
    ("EFBIG", 27),
    ("ENOSPC", 28),
    ("EROFS", 30),
    ("ENODATA", 61),
    ("EILSEQ", 84),
    ("EOPNOTSUPP", 95),
    ("ETIMEDOUT", 110),
    ("EREMOTEIO", 121),
    ("EDQUOT", 122),
    ("EBADMSG", 74),
];

/// The lists for reads, writes and verification, each of names and numbers with colons between them.
fn lists(given: &OptionValue<'_>) -> Result<[Vec<i32>; 3]> {
    let mut lists = <[Vec<i32>; 3]>::default();
    let parts: Vec<&str> = given.text()?.split(',').collect();
    if parts.len() > lists.len() {
        return Err(OptionError::refused("it has more than three lists", "reads, writes, verification"));
    }
    for (list, part) in lists.iter_mut().zip(parts) {
        for error in part.split(':').map(str::trim).filter(|error| !error.is_empty()) {
            list.push(number(error)?);
        }
    }
    Ok(lists)
}

fn number(error: &str) -> Result<i32> {
    let named = NAMES.iter().find(|(name, _)| *name == error).map(|(_, number)| *number);
    let number = named.or_else(|| error.parse().ok().filter(|number| (1..4096).contains(number)));
    number.ok_or_else(|| {
        OptionError::refused(
            format!("`{error}` is no error that is known here"),
            "specify its number, see errno(3)",
        )
    })
}

const GO_ON: [(&str, GoOn); 8] = {
    const NONE: GoOn = GoOn { reads: false, writes: false, verify: false };
    const ALL: GoOn = GoOn { reads: true, writes: true, verify: true };
    [
        ("none", NONE),
        ("read", GoOn { reads: true, ..NONE }),
        ("write", GoOn { writes: true, ..NONE }),
        ("io", GoOn { verify: false, ..ALL }),
        ("verify", GoOn { verify: true, ..NONE }),
        ("all", ALL),
        ("0", NONE),
        ("1", ALL),
    ]
};

/// The options.
pub const OPTIONS: &[Opt] = &[
    choice!("continue_on_error", &GO_ON, |s, v| s.errors.go_on = v)
        .default("none")
        .help(
            "Kinds of errors, of I/O or verification, after which the job continues. Otherwise the first \
             error ends the job.",
        )
        .bounded(
            "errors are distinguished by class: with EIO the job also continues after EREMOTEIO, ENODATA, \
             EBADMSG, ETIMEDOUT, ENXIO and ENODEV; in a job that reads and writes, both or neither. A read \
             is one error of verification (total_err), however much of it is wrong; fio 3.33 loses it if its \
             last verify_interval is right. After a read that fails when what was written is read back, the \
             rest is read, too, where errors of reads are named; as in fio, the job then ends with the \
             error, unless verify_backlog is set",
        ),
    special(
        "ignore_error",
        Form::Special("errors of reads, of writes, of verification, such as EAGAIN,ENOSPC:122"),
        |s, g| put(&mut s.errors.ignore, lists(g)),
    )
    .help(
        "Errors, by name or number, after which the job continues: up to three lists separated by commas, in \
         place of what continue_on_error says of these operations.",
    )
    .bounded(
        "a list stands for the classes of its errors: ENOSPC also for EDQUOT and EFBIG, EINVAL also for \
         EOPNOTSUPP and ENOSYS, EIO for all errors of a device",
    ),
    ignored("error_dump", Form::Flag)
        .help("Whether each error after which the job continues is reported.")
        .bounded(
            "errors are counted by kind and class and reported with the results, with the first offsets: \
             never one by one",
        ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::options::option::samples::{io, lowered, task};
    use iolite_model::OnError;

    use ErrorClass::{Again, Device, Other, Short, Space, Unsupported, Verify};

    fn goes_on(settings: &[(&str, &str)], mix: Mix) -> Result<Vec<ErrorClass>, OptionError> {
        let (_, task) = io(settings, task(mix))?;
        assert_eq!(task.errors.max, None);
        Ok(ErrorClass::ALL.iter().copied().filter(|class| !task.errors.stop.contains(class)).collect())
    }

    const MIXED: Mix = Mix::ReadPercent(50);

    #[test]
    fn the_first_error_ends_a_job() {
        let (_, task) = io(&[], task(MIXED)).unwrap();
        assert_eq!(task.errors, OnError::stop_always());
    }

    #[test]
    fn a_job_goes_on_after_errors_of_the_device_or_of_verification() {
        for (text, mix, classes) in [
            ("none", MIXED, &[][..]),
            ("0", MIXED, &[]),
            ("io", MIXED, &[Short, Device]),
            ("verify", MIXED, &[Verify]),
            ("all", MIXED, &[Short, Device, Verify]),
            ("1", MIXED, &[Short, Device, Verify]),
            ("read", Mix::Read, &[Short, Device]),
            ("write", Mix::Read, &[]),
            ("write", Mix::Write, &[Short, Device]),
            ("write", Mix::Trim, &[Short, Device]),
        ] {
            assert_eq!(goes_on(&[("continue_on_error", text)], mix).unwrap(), classes, "{text} {mix:?}");
        }
        for text in ["read", "write"] {
            assert!(
                goes_on(&[("continue_on_error", text)], MIXED).unwrap_err().to_string().contains("two jobs")
            );
        }
    }

    #[test]
    fn listed_errors_take_the_place_of_the_usual_ones() {
        for (text, mix, classes) in [
            ("EAGAIN,ENOSPC:122", Mix::Read, &[Short, Again][..]),
            ("EAGAIN,ENOSPC:122", Mix::Write, &[Short, Space]),
            (",ENOSPC", MIXED, &[Short, Space]),
            ("EIO,EIO", MIXED, &[Short, Device]),
            ("ENOSPC:EIO,EIO", MIXED, &[Short, Device]),
            (",,84", Mix::Write, &[Verify]),
            ("1", Mix::Read, &[Short, Other]),
            ("EINVAL", Mix::Read, &[Short, Unsupported]),
        ] {
            assert_eq!(goes_on(&[("ignore_error", text)], mix).unwrap(), classes, "{text} {mix:?}");
        }
        let both = [("continue_on_error", "all"), ("ignore_error", ",ENOSPC")];
        assert_eq!(goes_on(&both, Mix::Write).unwrap(), [Short, Space, Verify]);
        assert!(goes_on(&[("ignore_error", ",EIO")], MIXED).is_err());
    }

    #[test]
    fn work_on_names_goes_on_anyway() {
        let names = || JobTask::Metadata(iolite_model::MetadataTask::default());
        assert!(lowered(&[], names()).is_ok());
        assert!(
            lowered(&[("continue_on_error", "all")], names()).unwrap_err().to_string().contains("metadata")
        );
    }

    #[test]
    fn unknown_errors_are_refused() {
        for text in ["EFOO", "0", "-5", "5000", "EIO,EIO,EIO,EIO"] {
            assert!(goes_on(&[("ignore_error", text)], Mix::Read).is_err(), "{text}");
        }
    }
}
