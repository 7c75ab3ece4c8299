//! What commands that fill a database have in common: the directory, the progress, and what becomes of a load that is cut short.

use std::ops::ControlFlow;

use iolite_db::DatabaseUrl;
use iolite_engine::Control;
use iolite_report::{Progress, ProgressUnit};

use crate::exit::Exit;
use crate::{output, setup};

/// Loads into a database whose directory is created where it does not exist, and removed again where nothing came of it.
///
/// # Errors
/// The directory can't be created, or the load fails.
pub(crate) fn in_directory_of(
    url: &DatabaseUrl,
    load: impl FnOnce() -> anyhow::Result<Exit>,
) -> anyhow::Result<Exit> {
    let created = setup::database_directory(url)?;
    let exit = load();
    if let (Some(directory), Err(_) | Ok(Exit::Interrupted)) = (created, &exit) {
        // What another process has put there meanwhile keeps the directory.
        let _ = std::fs::remove_dir(directory);
    }
    exit
}

/// Does what may take long, with its progress shown, and ends it when the user does.
pub(crate) fn long<T>(
    control: &Control,
    quiet: bool,
    what: &str,
    unit: ProgressUnit,
    work: impl FnOnce(&mut dyn FnMut(u64, u64) -> ControlFlow<()>) -> iolite_db::Result<T>,
) -> iolite_db::Result<T> {
    let mut progress = Progress::new(setup::live(quiet), what, unit);
    let done = work(&mut |done, total| {
        progress.update(done, total);
        if control.interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    match done {
        Ok(_) => progress.finish(),
        Err(_) => progress.abandon(),
    }
    done
}

/// The end of a load that was interrupted or failed with `error`, whose remains were `purged`; `purge` is the command that does
/// so later.
///
/// # Errors
/// It was not interrupted, or the remains are still there.
pub(crate) fn given_up(
    interrupted: bool,
    error: anyhow::Error,
    purged: iolite_db::Result<()>,
    purge: &str,
) -> anyhow::Result<Exit> {
    match purged {
        Ok(()) if interrupted => {
            output::note("interrupted: the incomplete database was removed");
            Ok(Exit::Interrupted)
        }
        Ok(()) => Err(error.context("the incomplete database was removed")),
        // The first error is the one that matters.
        Err(_) => Err(error.context(format!(
            "the incomplete database could not be removed: correct the cause, then run `{purge}`"
        ))),
    }
}
