//! Who may use a file that nobody has open under the name that it was given.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use iolite_sys::overlay::{OtherSide, Overlays};
use iolite_sys::servers::Servers;
use iolite_sys::{device, holders};

/// How long what was found is used at least: a job may name 10,000 files.
const CURRENT: Duration = Duration::from_secs(1);

/// How many times as long as it took to find out.
const COST: u32 = 10;

/// The servers of databases that run and the overlays that are mounted.
#[derive(Debug)]
pub(crate) struct Neighbours {
    pub(crate) servers: Servers,
    overlays: Overlays,
    found: Instant,
    cost: Duration,
}

impl Neighbours {
    /// Those of now.
    pub(crate) fn now() -> Neighbours {
        let began = Instant::now();
        let (servers, overlays) = (Servers::now(), Overlays::now());
        Neighbours { servers, overlays, found: Instant::now(), cost: began.elapsed() }
    }

    /// Whether there is no need to look again. Directories that did not respond are not waited for twice.
    pub(crate) fn are_current(&self) -> bool {
        self.servers.incomplete || self.found.elapsed() < CURRENT.max(self.cost * COST)
    }

    /// Who uses a file by the name that it has on the other side of an overlay, with its remedy.
    pub(crate) fn used_by_another_name(&self, path: &Path) -> io::Result<Option<String>> {
        for OtherSide { path, file } in self.overlays.other_sides(path) {
            // Also where it has another one there, like a file of an overlay whose lower directory has it.
            let named = path.display();
            let reasons = device::file_in_use(&file)?;
            let locked = holders::locked_by(&file).or_else(|| {
                matches!(file.try_lock(), Err(std::fs::TryLockError::WouldBlock))
                    .then(|| "another program".into())
            });
            let reason = if !reasons.is_empty() {
                format!("it is in use as {named} ({}); free it first", reasons.join("; "))
            } else if let Some(holder) = holders::opened_by(&file) {
                format!("{holder} has it open as {named}; end that first")
            } else if let Some(holder) = locked {
                format!("{holder} has locked it as {named}; end that first")
            } else if let Some(server) = self.servers.of(&path) {
                format!("it belongs to a database server that runs, {server}, as {named}; stop that first")
            } else {
                continue;
            };
            return Ok(Some(reason));
        }
        Ok(None)
    }
}
