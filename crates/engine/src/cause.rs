//! Causes of a system's error, and what to do about each: one table.

use std::io;
use std::path::Path;

use iolite_model::errno::{EINVAL, EIO, EMFILE, ENFILE};
use iolite_model::{BackendKind, ErrorClass};

/// What an error most likely comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The path does not exist.
    Missing,
    /// Something of that name exists.
    Exists,
    /// The directory or file may not be written to by this user.
    NotPermitted,
    /// A device may not be opened by this user.
    DeviceNotPermitted,
    /// The file system has no direct I/O.
    NoDirectIo,
    /// io_uring is disabled by a setting or a container's filter of system calls.
    RingDisabled,
    /// The file system is mounted read-only.
    ReadOnly,
    /// The file system is full, or the user's quota is used up.
    Full,
    /// Someone uses it: a running program, a claimed device.
    InUse,
    /// Too many open files.
    OpenFiles,
    /// Memory, or memory that may be locked, is used up.
    Memory,
    /// The device failed.
    Device,
}

/// Where an error came from, as far as its cause depends on it.
#[derive(Debug, Clone, Copy)]
pub enum Origin<'a> {
    /// Something at a path.
    Path(&'a Path),
    /// The opening of a file with O_DIRECT.
    Direct(&'a Path),
    /// The start of a back end.
    Backend(&'a BackendKind),
}

impl Cause {
    /// All of them.
    pub const ALL: [Cause; 12] = [
        Cause::Missing,
        Cause::Exists,
        Cause::NotPermitted,
        Cause::DeviceNotPermitted,
        Cause::NoDirectIo,
        Cause::RingDisabled,
        Cause::ReadOnly,
        Cause::Full,
        Cause::InUse,
        Cause::OpenFiles,
        Cause::Memory,
        Cause::Device,
    ];

    /// The cause of an error; `None` where its own text says all there is.
    pub fn of(error: &io::Error, origin: Origin<'_>) -> Option<Cause> {
        match error.raw_os_error() {
            Some(EMFILE | ENFILE) => return Some(Cause::OpenFiles),
            Some(EIO) => return Some(Cause::Device),
            // open(2): the file system does not support O_DIRECT.
            Some(EINVAL) if matches!(origin, Origin::Direct(_)) => return Some(Cause::NoDirectIo),
            _ => {}
        }
        match (error.kind(), origin) {
            (
                io::ErrorKind::PermissionDenied | io::ErrorKind::Unsupported,
                Origin::Backend(BackendKind::IoUring(_)),
            ) => Some(Cause::RingDisabled),
            (io::ErrorKind::PermissionDenied, Origin::Path(path) | Origin::Direct(path))
                if path.starts_with("/dev") =>
            {
                Some(Cause::DeviceNotPermitted)
            }
            (io::ErrorKind::PermissionDenied, Origin::Path(_) | Origin::Direct(_)) => {
                Some(Cause::NotPermitted)
            }
            (io::ErrorKind::NotFound, Origin::Path(_) | Origin::Direct(_)) => Some(Cause::Missing),
            (io::ErrorKind::AlreadyExists, _) => Some(Cause::Exists),
            (io::ErrorKind::ReadOnlyFilesystem, _) => Some(Cause::ReadOnly),
            (io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded, _) => Some(Cause::Full),
            (io::ErrorKind::ResourceBusy | io::ErrorKind::ExecutableFileBusy, _) => Some(Cause::InUse),
            (io::ErrorKind::OutOfMemory, _) => Some(Cause::Memory),
            _ => None,
        }
    }

    /// What to do about it.
    pub fn remedy(self) -> &'static str {
        match self {
            Cause::Missing => "check the path",
            Cause::Exists => "choose another name, or remove it yourself",
            Cause::NotPermitted => "choose a directory that you may write to",
            Cause::DeviceNotPermitted => {
                "only root and the device's group may open it; in a container the device must be passed through, too"
            }
            Cause::NoDirectIo => {
                "the file system does not support direct I/O (O_DIRECT): leave `direct` out, or measure on another one"
            }
            Cause::RingDisabled => {
                "io_uring is disabled (sysctl kernel.io_uring_disabled, or a container's seccomp profile): use another \
                 back end (libaio, threads), or enable it"
            }
            Cause::ReadOnly => {
                "it is mounted read-only: choose another or remount it (mount -o remount,rw); where errors made it \
                 read-only, the kernel log (dmesg) has them"
            }
            Cause::Full => ErrorClass::Space.remedy(),
            Cause::InUse => {
                "it is in use (a program that runs, a device that something has claimed): end that, or choose another"
            }
            Cause::OpenFiles => "use fewer files, or raise the limit on open ones (ulimit -n)",
            Cause::Memory => "use fewer or smaller buffers, or raise the limit on locked memory (ulimit -l)",
            Cause::Device => ErrorClass::Device.remedy(),
        }
    }
}

/// The remedy as it follows an error's text.
pub(crate) fn advice(error: &io::Error, origin: Origin<'_>) -> String {
    Cause::of(error, origin).map(|cause| format!(": {}", cause.remedy())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolite_model::RingOptions;

    #[test]
    fn errors_have_their_own_causes() {
        let (file, device) = (Path::new("/data/file"), Path::new("/dev/sda"));
        let ring = BackendKind::IoUring(RingOptions::PLAIN);
        let of = |number, origin| Cause::of(&io::Error::from_raw_os_error(number), origin);
        let mut found = Vec::new();
        for (number, origin, cause) in [
            (2, Origin::Path(file), Cause::Missing),
            (17, Origin::Path(file), Cause::Exists),
            (1, Origin::Path(file), Cause::NotPermitted),
            (13, Origin::Path(file), Cause::NotPermitted),
            (1, Origin::Path(device), Cause::DeviceNotPermitted),
            (1, Origin::Backend(&ring), Cause::RingDisabled),
            (38, Origin::Backend(&ring), Cause::RingDisabled),
            (22, Origin::Direct(file), Cause::NoDirectIo),
            (13, Origin::Direct(device), Cause::DeviceNotPermitted),
            (30, Origin::Path(file), Cause::ReadOnly),
            (28, Origin::Path(file), Cause::Full),
            (122, Origin::Path(file), Cause::Full),
            (16, Origin::Path(device), Cause::InUse),
            (26, Origin::Direct(file), Cause::InUse),
            (24, Origin::Path(file), Cause::OpenFiles),
            (12, Origin::Backend(&ring), Cause::Memory),
            (5, Origin::Path(file), Cause::Device),
        ] {
            assert_eq!(of(number, origin), Some(cause), "{number}");
            found.push(cause);
        }
        assert!(Cause::ALL.iter().all(|cause| found.contains(cause) && !cause.remedy().is_empty()));
        assert_eq!(of(22, Origin::Path(file)), None);
    }
}
