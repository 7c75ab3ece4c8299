//! File systems whose files are the kernel's own switches, not storage.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

/// Types of statfs(2) (linux/magic.h) and their names.
const PSEUDO: &[(u64, &str)] = &[
    (0x9fa0, "proc"),
    (0x6265_6572, "sysfs"),
    (0x0027_e0eb, "cgroup"),
    (0x6367_7270, "cgroup2"),
    (0x6462_6720, "debugfs"),
    (0x7472_6163, "tracefs"),
    (0x7363_6673, "securityfs"),
    (0x6265_6570, "configfs"),
    (0xcafe_4a11, "bpf"),
    (0x6165_676c, "pstore"),
    (0xde5e_81e4, "efivarfs"),
    (0xf97c_ff8c, "selinuxfs"),
    (0x4341_5d53, "smackfs"),
    (0x4249_4e4d, "binfmt_misc"),
    (0x1cd1, "devpts"),
    (0x1980_0202, "mqueue"),
    (0x6e73_6673, "nsfs"),
    (0x6759_6969, "rpc_pipefs"),
    (0x6573_5543, "fusectl"),
    (0x0765_5821, "resctrl"),
    (0x5a3c_69f0, "apparmorfs"),
    (0x6e66_7364, "nfsd"),
    (0xabba_1974, "xenfs"),
];

/// Why a regular file, or a directory that one is to be created in, is no storage; `None` where it may be.
///
/// # Errors
/// As fstatfs(2).
pub fn reason(file: &File) -> io::Result<Option<String>> {
    if let Some(name) = name_of(rustix::fs::fstatfs(file)?.f_type as u64 & 0xFFFF_FFFF) {
        return Ok(Some(format!("it is on {name}, whose files are settings of the kernel, not storage")));
    }
    let device = |path: &str| std::fs::metadata(path).ok().map(|metadata| metadata.dev());
    let own = file.metadata()?.dev();
    let path = std::fs::read_link(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(file)));
    let is_below = |directory| path.as_ref().is_ok_and(|path| path.starts_with(directory));
    // Directories between those of the kernel's may be of a file system in memory (/sys/fs/cgroup).
    if is_below("/sys") || is_below("/proc") {
        return Ok(Some(
            "it is below /sys or /proc, whose files are settings of the kernel, not storage".into(),
        ));
    }
    // Where /dev is no file system of its own, the path decides.
    let in_dev = if device("/dev") == device("/") { is_below("/dev") } else { device("/dev") == Some(own) };
    Ok(in_dev.then(|| "it is in /dev, which holds devices: check the name".to_owned()))
}

/// The name of a file system of this type, where it holds settings of the kernel.
fn name_of(kind: u64) -> Option<&'static str> {
    PSEUDO.iter().find(|(number, _)| *number == kind).map(|(_, name)| *name)
}

/// As [`reason`], for a directory by its path; a directory that can't be opened has none.
pub fn reason_of_directory(path: &Path) -> Option<String> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    File::open(path).ok().and_then(|directory| reason(&directory).ok().flatten())
}

/// Why output (a page, a picture, an export) should not be written to a path that a user has named: it is a block device, whose
/// contents would be lost, or a setting of the kernel. `None` for a regular file, what does not exist yet, pipes and terminals.
pub fn reason_against_output(path: &Path) -> Option<String> {
    match std::fs::metadata(path) {
        Ok(found) if found.file_type().is_block_device() => {
            Some("it is a block device, whose contents would be overwritten".to_owned())
        }
        // Not opened: a file of the kernel's may be one that can only be written to.
        Ok(found) if found.is_file() => {
            crate::device::look_at(path).and_then(|file| reason(&file)).ok().flatten()
        }
        Ok(_) => None,
        Err(_) => path.parent().and_then(reason_of_directory),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_goes_to_files_pipes_and_terminals_only() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, "before").unwrap();
        let (reader, _writer) = std::io::pipe().unwrap();
        let pipe = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&reader));
        for path in
            [file.as_path(), &dir.path().join("new"), dir.path(), Path::new("/dev/null"), Path::new(&pipe)]
        {
            assert_eq!(reason_against_output(path), None, "{}", path.display());
        }
        for (path, why) in [
            ("/proc/sys/kernel/hostname", "settings of the kernel"),
            ("/sys/kernel/nothing-of-that-name", "settings of the kernel"),
            ("/dev/nothing-of-that-name", "check the name"),
        ] {
            assert!(
                reason_against_output(Path::new(path)).is_some_and(|found| found.contains(why)),
                "{path}"
            );
        }
        let Some(device) = crate::testing::LoopDevice::new(1 << 20) else { return };
        assert!(reason_against_output(device.path()).is_some_and(|why| why.contains("block device")));
    }

    #[test]
    fn settings_of_the_kernel_are_known() {
        for (path, says) in [
            ("/proc/sys/kernel/hostname", "proc"),
            ("/sys/kernel/mm", "sysfs"),
            ("/sys/fs/cgroup", "settings"),
            ("/dev", "/dev"),
        ] {
            let why = reason(&File::open(path).unwrap()).unwrap();
            assert!(why.is_some_and(|why| why.contains(says)), "{path}");
        }
        for (kind, name) in [(0x5a3c_69f0, "apparmorfs"), (0x6e66_7364, "nfsd"), (0xabba_1974, "xenfs")] {
            assert_eq!(name_of(kind), Some(name));
        }
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(reason_of_directory(dir.path()), None);
        assert_eq!(reason_of_directory(Path::new("")), None);
        assert_eq!(reason_of_directory(Path::new("/nowhere")), None);
    }
}
