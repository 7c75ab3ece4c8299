//! The question before a device that holds something is overwritten: asked on a terminal only, so that scripts go on as with fio.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::path::PathBuf;

use iolite_fio::language::Thread;
use iolite_model::JobTask;

use crate::exit::refuse;
use crate::output;

/// Devices that are written to and hold something, and what that is.
pub(super) type Held = BTreeMap<PathBuf, String>;

/// Asks about each device that is overwritten and that holds a file system, a partition table or the like.
///
/// # Errors
/// The answer is not the device's name.
pub(super) fn ask(held: &Held) -> anyhow::Result<()> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Ok(());
    }
    for (path, what) in held {
        let name = path.display().to_string();
        output::note(&format!("{name} contains {what}, which will be lost. Type {name} to overwrite it:"));
        let mut answer = String::new();
        io::stdin().read_line(&mut answer)?;
        if answer.trim() != name {
            refuse!("{name} was not overwritten: it contains {what}; --allow-overwrite skips this question");
        }
    }
    Ok(())
}

/// What is overwritten, as lines for fio's normal output.
pub(super) fn lines(held: &Held) -> String {
    held.iter().map(|(path, what)| format!("overwriting {}: {what}\n", path.display())).collect()
}

/// Devices that hold something and are written to by the threads, and what they hold.
pub(super) fn held(threads: &[Thread]) -> Held {
    let mut held = Held::new();
    for thread in threads {
        let JobTask::Io(task) = &thread.task else { continue };
        if !task.mix.writes() && !task.mix.trims() {
            continue;
        }
        let paths = task.target.named().into_iter();
        held.extend(paths.filter_map(|path| Some((path.to_owned(), iolite_engine::contents(path)?))));
    }
    held
}
