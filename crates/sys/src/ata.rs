//! What an ATA drive reports of its wear: its Device Statistics log (ACS-3, 9.5), read by ATA PASS-THROUGH (SAT-3, 12.2.2), which
//! libata translates for SATA drives and many adapters for drives behind them. Unlike SMART attributes it means the same with
//! every vendor.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// `SG_IO` of scsi/sg.h.
const SG_IO: u64 = 0x2285;
/// Its only interface, and a transfer from the device.
const INTERFACE: i32 = 'S' as i32;
const FROM_DEVICE: i32 = -3;

/// ATA PASS-THROUGH (16); PIO Data-In with registers of 48 bits; a transfer from the device, counted in blocks by the count
/// register.
const PASS_THROUGH: u8 = 0x85;
const PIO_IN_EXTENDED: u8 = (4 << 1) | 1;
const FROM_DEVICE_IN_BLOCKS: u8 = 0x0E;
/// READ LOG EXT, the log of statistics, and its pages for all drives and for solid-state drives.
const READ_LOG: u8 = 0x2F;
const STATISTICS: u8 = 0x04;
const GENERAL: u8 = 0x01;
const SOLID_STATE: u8 = 0x07;
const PAGE: usize = 512;

/// How long the drive may take.
const TIMEOUT_MS: u32 = 5000;

/// `struct sg_io_hdr` of scsi/sg.h.
#[repr(C)]
struct Request {
    interface: i32,
    direction: i32,
    command_length: u8,
    max_sense: u8,
    vectors: u16,
    length: u32,
    data: *mut u8,
    command: *const u8,
    sense: *mut u8,
    timeout_ms: u32,
    flags: u32,
    id: i32,
    user: *mut u8,
    status: u8,
    masked_status: u8,
    message_status: u8,
    sense_written: u8,
    host_status: u16,
    driver_status: u16,
    residual: i32,
    duration: u32,
    info: u32,
}

/// What the log says of wear.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wear {
    /// The vendor's estimate of the endurance that is used up, in percent; may be above 100.
    pub used_percent: u8,
    /// Logical sectors that hosts have written.
    pub sectors_written: u64,
}

/// Reads the wear of the drive that `file` is a device of.
///
/// # Errors
/// `ENOTTY` or `EINVAL` where it takes no SCSI commands, `EPERM` without the right to (CAP_SYS_RAWIO), the drive's; where it
/// does not keep these statistics, an error of its own.
pub fn wear(file: &File) -> io::Result<Wear> {
    let general = statistics(file, GENERAL)?;
    let solid_state = statistics(file, SOLID_STATE)?;
    parse(&general, &solid_state)
        .ok_or_else(|| io::Error::new(io::ErrorKind::Unsupported, "the drive does not report its wear"))
}

/// A page of the statistics.
fn statistics(file: &File, page: u8) -> io::Result<[u8; PAGE]> {
    let (mut data, mut sense) = ([0_u8; PAGE], [0_u8; 32]);
    let command = command(page);
    let mut request = Request {
        interface: INTERFACE,
        direction: FROM_DEVICE,
        command_length: command.len() as u8,
        max_sense: sense.len() as u8,
        vectors: 0,
        length: PAGE as u32,
        data: data.as_mut_ptr(),
        command: command.as_ptr(),
        sense: sense.as_mut_ptr(),
        timeout_ms: TIMEOUT_MS,
        flags: 0,
        id: 0,
        user: std::ptr::null_mut(),
        status: 0,
        masked_status: 0,
        message_status: 0,
        sense_written: 0,
        host_status: 0,
        driver_status: 0,
        residual: 0,
        duration: 0,
        info: 0,
    };
    // SAFETY: SG_IO reads and writes one sg_io_hdr (88 bytes, as `Request`) at the pointer, reads `command_length` bytes at
    // `command`, and writes at most `length` bytes to `data` and `max_sense` to `sense`; all of them outlive the call, which
    // keeps none.
    let done = unsafe { libc::ioctl(file.as_raw_fd(), SG_IO as _, &raw mut request) };
    if done != 0 {
        return Err(io::Error::last_os_error());
    }
    if request.status != 0 || request.host_status != 0 || request.driver_status != 0 {
        let status = request.status;
        return Err(io::Error::other(format!("the drive refuses its statistics (status {status:#x})")));
    }
    Ok(data)
}

/// The command that reads a page.
fn command(page: u8) -> [u8; 16] {
    let mut command = [0; 16];
    command[..3].copy_from_slice(&[PASS_THROUGH, PIO_IN_EXTENDED, FROM_DEVICE_IN_BLOCKS]);
    // One block; bits 7 to 0 of the address are the log, 15 to 8 the page.
    command[6] = 1;
    command[8] = STATISTICS;
    command[10] = page;
    command[14] = READ_LOG;
    command
}

/// The fields of both pages; `None` where the drive does not keep them, or one is another page.
pub fn parse(general: &[u8; PAGE], solid_state: &[u8; PAGE]) -> Option<Wear> {
    let sectors_written = statistic(general, GENERAL, 24, 48)?;
    let used = statistic(solid_state, SOLID_STATE, 8, 8)?;
    Some(Wear { used_percent: u8::try_from(used).ok()?, sectors_written })
}

/// A statistic of so many bits: eight bytes, the last of which says whether the drive keeps it (bit 63) and it is valid (bit 62).
fn statistic(data: &[u8; PAGE], page: u8, at: usize, bits: u32) -> Option<u64> {
    const KEPT_AND_VALID: u64 = 0b11 << 62;
    let quad = u64::from_le_bytes(*data[at..].first_chunk()?);
    (data[2] == page && quad & KEPT_AND_VALID == KEPT_AND_VALID).then_some(quad & ((1 << bits) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page with these statistics, each with its flags.
    fn page(number: u8, statistics: &[(usize, u64)]) -> [u8; PAGE] {
        let mut data = [0; PAGE];
        (data[0], data[2]) = (1, number);
        for (at, value) in statistics {
            data[*at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        data
    }

    const VALID: u64 = 0b11 << 62;

    #[test]
    fn wear_is_read_from_both_pages() {
        let general = page(1, &[(8, VALID | 12), (24, VALID | 0x0000_1234_5678_9ABC), (40, VALID | 7)]);
        // The field's other bits are reserved: only eight of them count.
        let solid_state = page(7, &[(8, VALID | 0xFF00 | 3)]);
        let wear = parse(&general, &solid_state).unwrap();
        assert_eq!(wear, Wear { used_percent: 3, sectors_written: 0x1234_5678_9ABC });
    }

    #[test]
    fn what_is_not_kept_or_not_valid_is_not_reported() {
        let general = page(1, &[(24, VALID | 5)]);
        let solid_state = page(7, &[(8, VALID | 3)]);
        assert!(parse(&general, &solid_state).is_some());
        for flags in [0, 1 << 63, 1 << 62] {
            assert_eq!(parse(&page(1, &[(24, flags | 5)]), &solid_state), None);
            assert_eq!(
                parse(&general, &page(7, &[(8, flags | 3)])),
                None,
                "a rotational drive has no such page"
            );
        }
        assert_eq!(parse(&solid_state, &general), None, "pages of another number");
        assert_eq!(parse(&[0; PAGE], &[0xFF; PAGE]), None);
    }

    #[test]
    fn the_command_reads_one_block_of_the_log() {
        let expected = [0x85, 0x09, 0x0E, 0, 0, 0, 1, 0, 0x04, 0, 0x07, 0, 0, 0, 0x2F, 0];
        assert_eq!(command(SOLID_STATE), expected);
    }

    #[test]
    fn a_request_has_the_kernels_size() {
        assert_eq!(size_of::<Request>(), 88);
    }

    #[test]
    fn what_takes_no_commands_is_an_error() {
        let file = tempfile::tempfile().unwrap();
        assert_eq!(wear(&file).unwrap_err().raw_os_error(), Some(libc::ENOTTY));
    }
}
