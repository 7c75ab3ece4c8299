//! Which cause an error of the operating system has.

use std::io;
use std::path::Path;

use super::table::ErrorCause;
use crate::backend::BackendKind;
use crate::errno::{EFBIG, EINVAL, EIO, EMFILE, ENFILE};

/// Where an error came from, as far as its cause depends on it.
#[derive(Debug, Clone, Copy)]
pub enum ErrorOrigin<'a> {
    /// Something at a path.
    Path(&'a Path),
    /// The opening of a file with O_DIRECT.
    Direct(&'a Path),
    /// The start of a back end.
    Backend(&'a BackendKind),
    /// A report, reset or finish of a device's zones.
    Zones,
    /// A setting of a device in /sys.
    Setting,
    /// A file of tracefs.
    Trace,
    /// The start of a thread or process.
    Thread,
    /// Locking memory.
    Lock,
    /// A call on something that is open.
    Call,
}

impl ErrorCause {
    /// The cause of an error of the operating system; `None` where its own text says all there is.
    pub fn of(error: &io::Error, origin: ErrorOrigin<'_>) -> Option<ErrorCause> {
        match error.raw_os_error() {
            Some(EMFILE | ENFILE) => return Some(ErrorCause::OpenFiles),
            Some(EIO) => return Some(ErrorCause::Device),
            Some(EFBIG) => return Some(ErrorCause::FileTooLarge),
            // open(2): the file system does not support O_DIRECT.
            Some(EINVAL) if matches!(origin, ErrorOrigin::Direct(_)) => return Some(ErrorCause::NoDirectIo),
            _ => {}
        }
        match (error.kind(), origin) {
            (
                io::ErrorKind::PermissionDenied | io::ErrorKind::Unsupported,
                ErrorOrigin::Backend(BackendKind::IoUring(_)),
            ) => Some(ErrorCause::RingDisabled),
            (io::ErrorKind::PermissionDenied, ErrorOrigin::Path(path) | ErrorOrigin::Direct(path))
                if path.starts_with("/dev") =>
            {
                Some(ErrorCause::DeviceNotPermitted)
            }
            (io::ErrorKind::PermissionDenied, ErrorOrigin::Path(_) | ErrorOrigin::Direct(_)) => {
                Some(ErrorCause::NotPermitted)
            }
            (io::ErrorKind::WouldBlock, ErrorOrigin::Thread | ErrorOrigin::Backend(BackendKind::Threads)) => {
                Some(ErrorCause::Threads)
            }
            (io::ErrorKind::WouldBlock, ErrorOrigin::Backend(BackendKind::Libaio)) => {
                Some(ErrorCause::AioRequests)
            }
            (
                io::ErrorKind::PermissionDenied | io::ErrorKind::Unsupported,
                ErrorOrigin::Backend(BackendKind::Libaio),
            ) => Some(ErrorCause::NoAio),
            (io::ErrorKind::OutOfMemory | io::ErrorKind::PermissionDenied, ErrorOrigin::Lock) => {
                Some(ErrorCause::LockedMemory)
            }
            (io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem, ErrorOrigin::Setting) => {
                Some(ErrorCause::SettingNotPermitted)
            }
            (io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem, ErrorOrigin::Trace) => {
                Some(ErrorCause::TracingNotPermitted)
            }
            (io::ErrorKind::PermissionDenied, ErrorOrigin::Zones) => Some(ErrorCause::ZonesNotPermitted),
            (io::ErrorKind::NotFound, ErrorOrigin::Path(_) | ErrorOrigin::Direct(_)) => {
                Some(ErrorCause::Missing)
            }
            (io::ErrorKind::NotADirectory, ErrorOrigin::Path(_) | ErrorOrigin::Direct(_)) => {
                Some(ErrorCause::NotADirectory)
            }
            (io::ErrorKind::AlreadyExists, _) => Some(ErrorCause::Exists),
            (io::ErrorKind::ReadOnlyFilesystem, _) => Some(ErrorCause::ReadOnly),
            (io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded, _) => Some(ErrorCause::Full),
            (io::ErrorKind::ResourceBusy | io::ErrorKind::ExecutableFileBusy, _) => Some(ErrorCause::InUse),
            (io::ErrorKind::OutOfMemory, _) => Some(ErrorCause::Memory),
            (_, ErrorOrigin::Zones) => Some(ErrorCause::ZonesUnsupported),
            _ => None,
        }
    }

    /// The remedy as it follows the text of an error: nothing, where that says all there is.
    pub fn advice(error: &io::Error, origin: ErrorOrigin<'_>) -> String {
        ErrorCause::of(error, origin).map(|cause| format!(": {}", cause.remedy())).unwrap_or_default()
    }

    /// The same of a cause that may be known.
    pub fn appended(cause: &Option<ErrorCause>) -> String {
        cause.map(|cause| format!("; {}", cause.remedy())).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::ErrorArea;
    use super::*;
    use crate::backend::RingOptions;

    #[test]
    fn errors_have_their_own_causes() {
        let (file, device) = (Path::new("/data/file"), Path::new("/dev/sda"));
        let ring = BackendKind::IoUring(RingOptions::PLAIN);
        let of = |number, origin| ErrorCause::of(&io::Error::from_raw_os_error(number), origin);
        let mut found = Vec::new();
        for (number, origin, cause) in [
            (2, ErrorOrigin::Path(file), ErrorCause::Missing),
            (20, ErrorOrigin::Path(file), ErrorCause::NotADirectory),
            (17, ErrorOrigin::Path(file), ErrorCause::Exists),
            (1, ErrorOrigin::Path(file), ErrorCause::NotPermitted),
            (13, ErrorOrigin::Path(file), ErrorCause::NotPermitted),
            (1, ErrorOrigin::Path(device), ErrorCause::DeviceNotPermitted),
            (1, ErrorOrigin::Backend(&ring), ErrorCause::RingDisabled),
            (38, ErrorOrigin::Backend(&ring), ErrorCause::RingDisabled),
            (22, ErrorOrigin::Direct(file), ErrorCause::NoDirectIo),
            (13, ErrorOrigin::Direct(device), ErrorCause::DeviceNotPermitted),
            (30, ErrorOrigin::Path(file), ErrorCause::ReadOnly),
            (28, ErrorOrigin::Path(file), ErrorCause::Full),
            (27, ErrorOrigin::Path(file), ErrorCause::FileTooLarge),
            (122, ErrorOrigin::Path(file), ErrorCause::Full),
            (16, ErrorOrigin::Path(device), ErrorCause::InUse),
            (26, ErrorOrigin::Direct(file), ErrorCause::InUse),
            (24, ErrorOrigin::Path(file), ErrorCause::OpenFiles),
            (12, ErrorOrigin::Backend(&ring), ErrorCause::Memory),
            (5, ErrorOrigin::Path(file), ErrorCause::Device),
            (13, ErrorOrigin::Setting, ErrorCause::SettingNotPermitted),
            (30, ErrorOrigin::Setting, ErrorCause::SettingNotPermitted),
            (11, ErrorOrigin::Thread, ErrorCause::Threads),
            (11, ErrorOrigin::Backend(&BackendKind::Threads), ErrorCause::Threads),
            (11, ErrorOrigin::Backend(&BackendKind::Libaio), ErrorCause::AioRequests),
            (38, ErrorOrigin::Backend(&BackendKind::Libaio), ErrorCause::NoAio),
            (12, ErrorOrigin::Lock, ErrorCause::LockedMemory),
            (1, ErrorOrigin::Lock, ErrorCause::LockedMemory),
            (13, ErrorOrigin::Zones, ErrorCause::ZonesNotPermitted),
            (25, ErrorOrigin::Zones, ErrorCause::ZonesUnsupported),
            (5, ErrorOrigin::Zones, ErrorCause::Device),
            (5, ErrorOrigin::Call, ErrorCause::Device),
            (28, ErrorOrigin::Call, ErrorCause::Full),
        ] {
            assert_eq!(of(number, origin), Some(cause), "{number}");
            found.push(cause);
        }
        let mut files = ErrorCause::ALL.iter().filter(|cause| cause.area() == ErrorArea::Files);
        assert!(files.all(|cause| found.contains(cause)));
        for number in [13, 30] {
            assert_eq!(of(number, ErrorOrigin::Trace), Some(ErrorCause::TracingNotPermitted));
        }
        assert_eq!(of(22, ErrorOrigin::Path(file)), None);
    }
}
