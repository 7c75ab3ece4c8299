//! What tests need of the system: loop devices, and programs that make something of them.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Runs a program; `false`, with the reason printed, where it is missing or fails.
pub(crate) fn run(program: &str, arguments: &[&str]) -> bool {
    match Command::new(program).args(arguments).stdin(Stdio::null()).output() {
        Ok(output) if output.status.success() => true,
        Ok(output) => {
            eprintln!("skipped: {program}: {}", String::from_utf8_lossy(&output.stderr).trim());
            false
        }
        Err(error) => {
            eprintln!("skipped: {program}: {error}");
            false
        }
    }
}

/// A block device over a file of its own; both are gone when it is dropped.
pub(crate) struct LoopDevice {
    path: PathBuf,
    _dir: tempfile::TempDir,
}

impl LoopDevice {
    /// A device of so many bytes; `None`, with the reason printed, where this user or system can't.
    pub(crate) fn new(bytes: u64) -> Option<LoopDevice> {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: loop devices are for root");
            return None;
        }
        let dir = tempfile::tempdir().unwrap();
        let image = dir.path().join("image");
        File::create_new(&image).unwrap().set_len(bytes).unwrap();
        // With tests in parallel the free device that was found may be gone when it is taken.
        for _ in 0..20 {
            let made = Command::new("losetup").args(["--find", "--show", "--partscan"]).arg(&image).output();
            match made {
                Ok(output) if output.status.success() => {
                    let path = PathBuf::from(String::from_utf8(output.stdout).unwrap().trim());
                    return Some(LoopDevice { path, _dir: dir });
                }
                Ok(output) => eprintln!("losetup: {}", String::from_utf8_lossy(&output.stderr).trim()),
                Err(error) => {
                    eprintln!("skipped: losetup: {error}");
                    return None;
                }
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        eprintln!("skipped: no loop device to be had");
        None
    }

    /// As `new`, with two partitions of 4 MiB, which are announced to the kernel, because it may not know the format of a partition table.
    pub(crate) fn with_partitions(bytes: u64) -> Option<LoopDevice> {
        let device = LoopDevice::new(bytes)?;
        let path = device.path.to_str().unwrap();
        let parts = [["1", "2048"], ["2", "10240"]];
        let made = parts.iter().all(|[index, first]| run("addpart", &[path, index, first, "8192"]));
        made.then_some(device)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// As the kernel calls it.
    pub(crate) fn name(&self) -> &str {
        self.path.file_name().unwrap().to_str().unwrap()
    }

    pub(crate) fn number(&self) -> crate::device::Number {
        crate::device::device_number(&self.open()).unwrap().unwrap()
    }

    pub(crate) fn open(&self) -> File {
        File::options().read(true).write(true).open(&self.path).unwrap()
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        run("losetup", &["--detach", self.path.to_str().unwrap()]);
    }
}
