//! What the tests of adapters share.

// Each test program takes what it needs.
#![allow(dead_code)]

#[path = "../../../db/tests/common/created.rs"]
pub(crate) mod created;
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

/// Checks that an error names the remedy of its cause. docs/errors.md lists each call as the test of that cause.
pub(crate) fn produced(cause: iolite_model::ErrorCause, error: impl std::fmt::Display) {
    let text = error.to_string();
    assert!(text.contains(cause.remedy()), "{cause:?}: {text}");
}

/// A port whose host does not respond: the queue of its listener is full, and what else arrives is dropped.
pub(crate) struct Silent {
    pub(crate) port: u16,
    listener: std::process::Child,
    _queued: Vec<std::net::TcpStream>,
}

/// `None`, with the reason printed, without Python, whose listeners can have a queue of any length.
pub(crate) fn silent() -> Option<Silent> {
    const LISTEN: &str = "import socket, sys\nlistener = socket.socket()\nlistener.bind(('127.0.0.1', 0))\nlistener.listen(0)\n\
                          print(listener.getsockname()[1], flush=True)\nsys.stdin.read()";
    let mut python = Command::new("python3");
    python.args(["-c", LISTEN]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let Ok(mut listener) = python.spawn() else {
        println!("skipped: a host that does not respond: no python3");
        return None;
    };
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(listener.stdout.take().unwrap()), &mut line)
        .unwrap();
    let port = line.trim().parse().unwrap();
    let address = std::net::SocketAddr::from(([127, 0, 0, 1], port));
    let fill = |_| std::net::TcpStream::connect_timeout(&address, Duration::from_millis(500)).ok();
    let queued = (0..16).map_while(fill).collect();
    Some(Silent { port, listener, _queued: queued })
}

impl Drop for Silent {
    fn drop(&mut self) {
        let _ = self.listener.kill();
        let _ = self.listener.wait();
    }
}
