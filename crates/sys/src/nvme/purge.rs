//! What erases an NVMe drive: Format NVM with erasure of the user data, and Sanitize (NVM Express Base Specification 2.0, 5.14 and
//! 5.24). Neither could be tried on a drive when this was written: the tests hold the encoding to the specification.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

use super::{Command, LENGTH, TIMEOUT_MS, log_page, submit};

/// `NVME_IOCTL_ID` of linux/nvme_ioctl.h: the number of the namespace.
const NAMESPACE_ID: u64 = 0x4E40;

/// Opcodes, and what Identify is asked for (CNS).
const IDENTIFY: u8 = 0x06;
const FORMAT: u8 = 0x80;
const SANITIZE: u8 = 0x84;
const OF_NAMESPACE: u32 = 0;
const OF_CONTROLLER: u32 = 1;
const ACTIVE_NAMESPACES: u32 = 2;
const ALLOCATED_NAMESPACES: u32 = 0x10;
const IDENTIFY_DATA: usize = 4096;

/// Secure Erase Settings of Format: the user data is erased.
const ERASE_USER_DATA: u32 = 1;

/// Sanitize Action: block erase, crypto erase; and the bits of SANICAP that say that a drive can.
const BLOCK_ERASE: u32 = 2;
const CRYPTO_ERASE: u32 = 4;
const CAN_CRYPTO_ERASE: u32 = 1 << 0;
const CAN_BLOCK_ERASE: u32 = 1 << 1;

/// The Sanitize Status log page.
const SANITIZE_STATUS: u32 = 0x81;

/// A format of a large drive takes minutes, of some drives hours.
const FORMAT_TIMEOUT_MS: u32 = 6 * 3_600_000;

/// The drive reports progress only when asked; a sanitize takes from seconds to hours.
const POLL: Duration = Duration::from_secs(1);

/// Formats the namespace that `file` is the device of, with its present format, and erases its user data.
///
/// # Errors
/// It is no NVMe drive, the user may not (CAP_SYS_ADMIN), the drive refuses, or it would erase other namespaces too.
pub fn format(file: &File) -> io::Result<()> {
    let namespace = namespace(file)?;
    let controller = identify(file, 0, OF_CONTROLLER)?;
    if formats_all(&controller) && others(file, namespace, &controller)? {
        return Err(io::Error::other(
            "a format would erase all namespaces of the drive, and it has others: erase them with nvme-cli if that is intended",
        ));
    }
    let present = identify(file, namespace, OF_NAMESPACE)?;
    let command = Command {
        opcode: FORMAT,
        namespace,
        cdw10: format_settings(&present),
        timeout_ms: FORMAT_TIMEOUT_MS,
        ..Command::default()
    };
    submit(file, command, &mut [], "the format")?;
    Ok(())
}

/// Sanitizes the drive that `file` is a device of: by block erase, or by crypto erase where it has no block erase. Waits until
/// the drive has done it, or `interrupted` returns true; the drive then goes on by itself.
///
/// # Errors
/// It is no NVMe drive, the user may not (CAP_SYS_ADMIN), the drive cannot or fails, or has other namespaces, which would be
/// erased too.
pub fn sanitize(file: &File, interrupted: &dyn Fn() -> bool) -> io::Result<()> {
    let namespace = namespace(file)?;
    let controller = identify(file, 0, OF_CONTROLLER)?;
    if others(file, namespace, &controller)? {
        return Err(io::Error::other(
            "a sanitize would erase all namespaces of the drive, and it has others: erase them with nvme-cli if that is intended",
        ));
    }
    let action = sanitize_action(&controller)
        .ok_or_else(|| io::Error::other("the drive supports neither block erase nor crypto erase"))?;
    let command = Command { opcode: SANITIZE, cdw10: action, timeout_ms: TIMEOUT_MS, ..Command::default() };
    submit(file, command, &mut [], "to sanitize")?;
    loop {
        match Sanitizing::of(&log_page(file, SANITIZE_STATUS, "its sanitize log")?) {
            Sanitizing::Done => return Ok(()),
            Sanitizing::Failed => return Err(io::Error::other("the drive reports that the sanitize failed")),
            Sanitizing::InProgress if interrupted() => return Err(io::ErrorKind::Interrupted.into()),
            Sanitizing::InProgress => std::thread::sleep(POLL),
        }
    }
}

/// Progress of a sanitize.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sanitizing {
    InProgress,
    Done,
    Failed,
}

impl Sanitizing {
    /// By the Sanitize Status (SSTAT), bytes 2 and 3 of the log page.
    fn of(log: &[u8; LENGTH]) -> Sanitizing {
        match log[2] & 0b111 {
            1 | 4 => Sanitizing::Done,
            2 => Sanitizing::InProgress,
            _ => Sanitizing::Failed,
        }
    }
}

/// The number of the namespace that `file` is the device of.
fn namespace(file: &File) -> io::Result<u32> {
    // SAFETY: NVME_IOCTL_ID takes no argument and returns a number.
    let number = unsafe { libc::ioctl(file.as_raw_fd(), NAMESPACE_ID as _) };
    u32::try_from(number).map_err(|_| io::Error::last_os_error())
}

fn identify(file: &File, namespace: u32, what: u32) -> io::Result<Vec<u8>> {
    let mut data = vec![0; IDENTIFY_DATA];
    let command =
        Command { opcode: IDENTIFY, namespace, cdw10: what, timeout_ms: TIMEOUT_MS, ..Command::default() };
    submit(file, command, &mut data, "to identify itself")?;
    Ok(data)
}

/// Whether the drive has other namespaces, be they attached to this controller or not.
///
/// # Errors
/// The drive refuses to list them, or cannot list those of its other controllers.
fn others(file: &File, namespace: u32, controller: &[u8]) -> io::Result<bool> {
    let list = list_of_all(controller).ok_or_else(|| {
        io::Error::other(
            "the drive has several controllers and no list of the namespaces of all of them, which would be erased too: erase it with \
             nvme-cli if that is intended",
        )
    })?;
    Ok(listed(&identify(file, 0, list)?).any(|other| other != namespace))
}

/// Which list has all namespaces of the drive: the allocated ones, where the controller manages namespaces (OACS, bytes 256 and 257,
/// bit 3); otherwise the active ones of the only controller. `None` where there may be other controllers (CMIC, byte 76, bit 1), whose
/// namespaces are in no list.
fn list_of_all(controller: &[u8]) -> Option<u32> {
    let has = |at: usize, bit: u8| controller.get(at).is_some_and(|byte| byte & bit != 0);
    if has(256, 1 << 3) {
        return Some(ALLOCATED_NAMESPACES);
    }
    (!has(76, 1 << 1)).then_some(ACTIVE_NAMESPACES)
}

/// The namespaces of a list, which ends with 0.
fn listed(list: &[u8]) -> impl Iterator<Item = u32> + '_ {
    let (numbers, _) = list.as_chunks::<4>();
    numbers.iter().map(|bytes| u32::from_le_bytes(*bytes)).take_while(|number| *number != 0)
}

/// Whether a format, or its erasure of data, applies to all namespaces (FNA, byte 524, bits 0 and 1).
fn formats_all(controller: &[u8]) -> bool {
    controller.get(524).is_none_or(|attributes| attributes & 0b11 != 0)
}

/// Dword 10 of Format that keeps the present format: its index (FLBAS, byte 26), metadata setting (its bit 4), and protection (DPS,
/// byte 29).
fn format_settings(namespace: &[u8]) -> u32 {
    let byte = |at: usize| u32::from(namespace.get(at).copied().unwrap_or(0));
    let (size, protection) = (byte(26), byte(29));
    let (index, index_high, metadata) = (size & 0xF, (size >> 5) & 0b11, (size >> 4) & 1);
    let (kind, at_start) = (protection & 0b111, (protection >> 3) & 1);
    index | metadata << 4 | kind << 5 | at_start << 8 | ERASE_USER_DATA << 9 | index_high << 12
}

/// The action that a controller supports (SANICAP, bytes 328 to 331).
fn sanitize_action(controller: &[u8]) -> Option<u32> {
    let capabilities = u32::from_le_bytes(*controller.get(328..)?.first_chunk()?);
    if capabilities & CAN_BLOCK_ERASE != 0 {
        Some(BLOCK_ERASE)
    } else {
        (capabilities & CAN_CRYPTO_ERASE != 0).then_some(CRYPTO_ERASE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_keeps_the_present_format_and_erases() {
        let mut namespace = [0_u8; IDENTIFY_DATA];
        assert_eq!(format_settings(&namespace), 1 << 9);
        // Format 0x21 with metadata at the end of blocks; protection of type 1 at their start.
        namespace[26] = 0b0101_0001;
        namespace[29] = 0b1001;
        assert_eq!(format_settings(&namespace), 1 | 1 << 4 | 1 << 5 | 1 << 8 | 1 << 9 | 2 << 12);
    }

    #[test]
    fn what_would_erase_other_namespaces_is_known() {
        let mut controller = [0_u8; IDENTIFY_DATA];
        assert!(!formats_all(&controller));
        controller[524] = 0b10;
        assert!(formats_all(&controller));
        let mut list = [0_u8; IDENTIFY_DATA];
        list[0] = 1;
        list[4] = 7;
        assert_eq!(listed(&list).collect::<Vec<_>>(), [1, 7]);
    }

    #[test]
    fn namespaces_that_are_not_attached_here_are_listed_too_or_the_drive_is_not_erased() {
        let mut controller = [0_u8; IDENTIFY_DATA];
        assert_eq!(list_of_all(&controller), Some(ACTIVE_NAMESPACES));
        // Several ports of one controller are no other controllers.
        controller[76] = 0b01;
        assert_eq!(list_of_all(&controller), Some(ACTIVE_NAMESPACES));
        controller[76] = 0b11;
        assert_eq!(list_of_all(&controller), None);
        controller[256] = 1 << 3;
        assert_eq!(list_of_all(&controller), Some(ALLOCATED_NAMESPACES));
    }

    #[test]
    fn a_sanitize_is_by_block_erase_where_there_is_one() {
        let mut controller = [0_u8; IDENTIFY_DATA];
        let mut of = |capabilities| {
            controller[328] = capabilities;
            sanitize_action(&controller)
        };
        // Overwriting is no purge of flash.
        assert_eq!((of(0), of(0b100)), (None, None));
        assert_eq!((of(0b111), of(0b001)), (Some(BLOCK_ERASE), Some(CRYPTO_ERASE)));
        let status = |status| {
            let mut log = [0; LENGTH];
            log[2] = status;
            Sanitizing::of(&log)
        };
        assert_eq!(
            (status(1), status(2), status(3)),
            (Sanitizing::Done, Sanitizing::InProgress, Sanitizing::Failed)
        );
        assert_eq!((status(0b1000 | 2), status(4)), (Sanitizing::InProgress, Sanitizing::Done));
    }

    #[test]
    fn what_is_no_nvme_drive_is_not_erased() {
        let file = tempfile::tempfile().unwrap();
        let not = |result: io::Result<()>| assert_eq!(result.unwrap_err().raw_os_error(), Some(libc::ENOTTY));
        not(format(&file));
        not(sanitize(&file, &|| false));
    }
}
