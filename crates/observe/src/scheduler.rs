//! The I/O scheduler of a block device (/sys/block/DEVICE/queue/scheduler).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use iolite_model::{Device, ErrorCause, ErrorOrigin};

use crate::sysfs::Sysfs;

/// The I/O scheduler of a device. What it was is restored when this is dropped.
#[derive(Debug)]
pub struct IoScheduler {
    device: String,
    path: PathBuf,
    original: String,
    changed: bool,
}

/// Why a scheduler can't be read or switched.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot switch the I/O scheduler of {device} ({} lists those that there are): {source}{}",
    .path.display(), ErrorCause::advice(.source, ErrorOrigin::Setting)
)]
pub struct IoSchedulerError {
    /// The device.
    pub device: String,
    /// Where it is set.
    pub path: PathBuf,
    /// The kernel's answer.
    #[source]
    pub source: io::Error,
}

impl IoScheduler {
    /// The scheduler of a device; `None` of one that has none of its own, such as a partition or a device in memory.
    ///
    /// # Errors
    /// It can't be read.
    pub fn of(device: &Device) -> Option<Result<IoScheduler, IoSchedulerError>> {
        IoScheduler::within(&Sysfs::system(), device)
    }

    fn within(sysfs: &Sysfs, device: &Device) -> Option<Result<IoScheduler, IoSchedulerError>> {
        let path = sysfs.link(device.number).join("queue/scheduler");
        if !path.exists() {
            return None;
        }
        let name = device.name.clone();
        Some(match current(&path) {
            Ok(original) => Ok(IoScheduler { device: name, path, original, changed: false }),
            Err(source) => Err(IoSchedulerError { device: name, path, source }),
        })
    }

    /// Switches to another one; to the one that is in effect there is nothing to do.
    ///
    /// # Errors
    /// There is none of this name, or the user may not.
    pub fn switch(&mut self, name: &str) -> Result<(), IoSchedulerError> {
        if !self.changed && name == self.original {
            return Ok(());
        }
        // Before it is tried: whatever comes of it is to be undone.
        self.changed = true;
        fs::write(&self.path, name).map_err(|source| IoSchedulerError {
            device: self.device.clone(),
            path: self.path.clone(),
            source,
        })
    }
}

impl Drop for IoScheduler {
    fn drop(&mut self) {
        if self.changed {
            // What it was before, the kernel takes.
            let _ = fs::write(&self.path, &self.original);
        }
    }
}

/// The name in brackets, or the only one.
fn current(path: &Path) -> io::Result<String> {
    let text = fs::read_to_string(path)?;
    let in_brackets = text.split_once('[').and_then(|(_, rest)| Some(rest.split_once(']')?.0));
    Ok(in_brackets.unwrap_or(text.trim()).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::chain;
    use crate::sysfs::fake::Fake;

    #[test]
    fn what_was_in_effect_is_restored() {
        let fake = Fake::new();
        fake.add("sda", (8, 0), &[]);
        let queue = fake.directory("sda").join("queue");
        fs::create_dir_all(&queue).unwrap();
        let file = queue.join("scheduler");
        fs::write(&file, "none [mq-deadline] bfq\n").unwrap();
        let devices = chain(&fake.sysfs(), &[(8, 0)], &|_: &Path| Vec::new());
        let mut scheduler = IoScheduler::within(&fake.sysfs(), &devices[0]).unwrap().unwrap();
        scheduler.switch("mq-deadline").unwrap();
        assert!(fs::read_to_string(&file).unwrap().contains('['));
        scheduler.switch("bfq").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "bfq");
        drop(scheduler);
        assert_eq!(fs::read_to_string(&file).unwrap(), "mq-deadline");
        fake.add("sdb", (8, 16), &[]);
        let without = chain(&fake.sysfs(), &[(8, 16)], &|_: &Path| Vec::new());
        assert!(IoScheduler::within(&fake.sysfs(), &without[0]).is_none());
    }
}
