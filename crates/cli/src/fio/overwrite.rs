//! The question before a device that holds something is overwritten: asked on a terminal only, so that scripts go on as with fio.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::path::Path;

use iolite_fio::language::Thread;
use iolite_model::{JobTask, Target};

use crate::exit::UsageError;
use crate::output;

/// Asks about each device that the threads overwrite and that holds a file system, a partition table or the like.
///
/// # Errors
/// The answer is not the device's name.
pub(super) fn ask(threads: &[Thread]) -> anyhow::Result<()> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Ok(());
    }
    for (path, what) in held(threads) {
        let name = path.display().to_string();
        output::note(&format!("{name} contains {what}, which will be lost. Type {name} to overwrite it:"));
        let mut answer = String::new();
        io::stdin().read_line(&mut answer)?;
        if answer.trim() != name {
            let message = format!(
                "{name} was not overwritten: it contains {what}; --allow-overwrite skips this question"
            );
            return Err(UsageError::new(message).into());
        }
    }
    Ok(())
}

/// Devices that hold something and are written to, and what they hold.
fn held(threads: &[Thread]) -> BTreeMap<&Path, String> {
    let mut held = BTreeMap::new();
    for thread in threads {
        let JobTask::Io(task) = &thread.task else { continue };
        if !task.mix.writes() && !task.mix.trims() {
            continue;
        }
        let paths: Vec<&Path> = match &task.target {
            Target::Files(target) => target.files.iter().map(|file| file.path.as_path()).collect(),
            Target::Existing(target) => vec![&target.path],
            Target::Null { .. } | Target::File(_) => Vec::new(),
        };
        held.extend(paths.into_iter().filter_map(|path| Some((path, iolite_engine::contents(path)?))));
    }
    held
}
