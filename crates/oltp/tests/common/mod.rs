//! What the tests of adapters share.

// Each test program takes what it needs.
#![allow(dead_code)]

pub(crate) mod tproc_c;

use std::ops::ControlFlow;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Progress that goes on.
pub(crate) fn go(_: u64, _: u64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Waits for something, for a while.
pub(crate) fn until(what: &str, mut is: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !is() {
        assert!(Instant::now() < end, "{what} did not come about");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A file system in memory that is soon full, unmounted in the end.
pub(crate) struct Small(tempfile::TempDir);

impl Small {
    /// Of so many MiB; `None`, with the reason printed, where none can be mounted.
    pub(crate) fn new(mib: u32) -> Option<Small> {
        let directory = tempfile::Builder::new().prefix("iolite-small-").tempdir().unwrap();
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={mib}m"), "tmpfs"])
            .arg(directory.path())
            .output();
        if !mount.is_ok_and(|output| output.status.success()) {
            println!("skipped: no file system of a limited size can be mounted");
            return None;
        }
        // Servers are other users.
        std::fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o755)).unwrap();
        Some(Small(directory))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Takes all that is free but so many bytes, once; where it is.
    pub(crate) fn fill(&self, but: u64) -> PathBuf {
        let rest = self.path().join("rest");
        if !rest.exists() {
            let free = rustix::fs::statvfs(self.path()).unwrap();
            let room = (free.f_bavail * free.f_frsize).saturating_sub(but);
            // Others may take some of it meanwhile.
            let _ = std::fs::write(&rest, vec![0; room as usize]);
        }
        rest
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let umount =
            |how: &[&str]| Command::new("umount").args(how).arg(self.path()).stderr(Stdio::null()).status();
        // Detached at least: what still uses it for a moment does not keep it in the tree.
        if !umount(&[]).is_ok_and(|status| status.success()) {
            let _ = umount(&["--lazy"]);
        }
    }
}
