//! The volatile write cache of an NVMe drive (NVM Express Base Specification 2.0, feature 06h). It could not be tried on a drive when
//! this was written.

use std::fs::File;
use std::io;

use super::{Command, TIMEOUT_MS, submit};

/// Opcodes and the feature.
const SET_FEATURES: u8 = 0x09;
const GET_FEATURES: u8 = 0x0A;
const VOLATILE_WRITE_CACHE: u32 = 0x06;

/// Whether the write cache of the drive that `file` is a device of is on.
///
/// # Errors
/// It is no NVMe drive, the user may not (CAP_SYS_ADMIN), or the drive has no volatile write cache.
pub fn is_on(file: &File) -> io::Result<bool> {
    let command = Command {
        opcode: GET_FEATURES,
        cdw10: VOLATILE_WRITE_CACHE,
        timeout_ms: TIMEOUT_MS,
        ..Command::default()
    };
    let result = submit(file, command, &mut [], "to report its write cache: it has none")?;
    Ok(result & 1 != 0)
}

/// Switches the write cache of the drive on or off, until the drive is reset.
///
/// # Errors
/// As [`is_on`].
pub fn set(file: &File, on: bool) -> io::Result<()> {
    let command = Command {
        opcode: SET_FEATURES,
        cdw10: VOLATILE_WRITE_CACHE,
        cdw11: u32::from(on),
        timeout_ms: TIMEOUT_MS,
        ..Command::default()
    };
    submit(file, command, &mut [], "to switch its write cache")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_nvme_drive_has_no_such_setting() {
        let file = tempfile::tempfile().unwrap();
        assert_eq!(is_on(&file).unwrap_err().raw_os_error(), Some(libc::ENOTTY));
        assert_eq!(set(&file, false).unwrap_err().raw_os_error(), Some(libc::ENOTTY));
    }
}
