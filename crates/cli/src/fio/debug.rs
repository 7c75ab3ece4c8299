//! `--debug`: what is known about a run before it begins.

use iolite_fio::language::{Invocation, Thread};
use iolite_jobs::native;
use iolite_model::Job;

use crate::exit::UsageError;

/// What can be printed here: the areas that are about what is going to be done. The others trace fio's own workings.
const TOLD: [&str; 4] = ["job", "parse", "process", "file"];

/// What `--debug` and its like ask for that is not built.
///
/// # Errors
/// The first one, with what to use instead.
pub(super) fn refuse_unknown(invocation: &Invocation) -> Result<(), UsageError> {
    if invocation.idle_profile.is_some() {
        return Err(UsageError("--idle-prof is not built: use mpstat -P ALL beside the run".into()));
    }
    match invocation.debug.iter().find(|area| *area != "all" && !TOLD.contains(&area.as_str())) {
        Some(area) => Err(UsageError(format!(
            "--debug={area} is not built: use {}, or write_lat_log with log_offset for each operation, or strace",
            TOLD.join(", ")
        ))),
        None => Ok(()),
    }
}

/// The threads of a run as iolite's own jobs, where any of it is asked for.
///
/// # Errors
/// A number of theirs can't be written.
pub(super) fn printed(invocation: &Invocation, threads: &[Thread]) -> Result<Option<String>, UsageError> {
    if invocation.debug.is_empty() {
        return Ok(None);
    }
    let tasks = threads.iter().map(|thread| thread.task.clone()).collect();
    let job = Job { name: "as it is understood".into(), tasks };
    Ok(Some(native::print(&job).map_err(UsageError)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_built_is_refused_by_name() {
        let of = |areas: &[&str]| {
            let debug = areas.iter().map(|area| (*area).to_owned()).collect();
            refuse_unknown(&Invocation { debug, ..Invocation::default() }).map_err(|error| error.to_string())
        };
        assert_eq!(of(&["job", "all"]), Ok(()));
        assert!(of(&["job", "mutex"]).unwrap_err().contains("--debug=mutex"));
    }
}
