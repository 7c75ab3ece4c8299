//! Admin commands of NVMe drives (NVM Express Base Specification): the health log ("SMART / Health Information"), and in modules
//! of their own what erases a drive and its write cache.

pub mod purge;
pub mod write_cache;

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// `NVME_IOCTL_ADMIN_CMD` of linux/nvme_ioctl.h: `_IOWR('N', 0x41, struct nvme_passthru_cmd)`.
const ADMIN_COMMAND: u64 = 0xC048_4E41;

/// Opcode of Get Log Page, the log's identifier, and its length.
const GET_LOG_PAGE: u8 = 0x02;
const HEALTH: u32 = 0x02;
const LENGTH: usize = 512;

/// Bytes of a data unit: a thousand blocks of 512 bytes.
const DATA_UNIT: u128 = 512_000;

/// How long the drive may take.
const TIMEOUT_MS: u32 = 5000;

/// `struct nvme_passthru_cmd` of linux/nvme_ioctl.h.
#[repr(C)]
#[derive(Default)]
struct Command {
    opcode: u8,
    flags: u8,
    reserved: u16,
    namespace: u32,
    cdw2: u32,
    cdw3: u32,
    metadata: u64,
    address: u64,
    metadata_length: u32,
    data_length: u32,
    cdw10: u32,
    cdw11: u32,
    rest: [u32; 4],
    timeout_ms: u32,
    result: u32,
}

/// What the log says of wear.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Health {
    /// The vendor's estimate of the endurance that is used up, in percent; above 100 once it is exceeded, 255 at most.
    pub used_percent: u8,
    /// Spare blocks that are left, in percent.
    pub spare_percent: u8,
    /// Bytes that hosts have written, to the next 512,000.
    pub written: u64,
    /// Bytes that hosts have read.
    pub read: u64,
}

/// Reads the health log of the drive that `file` is a device of.
///
/// # Errors
/// `ENOTTY` where it is no NVMe drive, `EACCES` without the right to (CAP_SYS_ADMIN), the drive's.
pub fn health(file: &File) -> io::Result<Health> {
    log_page(file, HEALTH, "its health log").map(|log| parse(&log))
}

/// Reads a log page.
fn log_page(file: &File, page: u32, what: &str) -> io::Result<[u8; LENGTH]> {
    let mut log = [0_u8; LENGTH];
    let command = Command {
        opcode: GET_LOG_PAGE,
        namespace: u32::MAX,
        // The number of dwords less one stands in the upper half.
        cdw10: ((LENGTH as u32 / 4 - 1) << 16) | page,
        timeout_ms: TIMEOUT_MS,
        ..Command::default()
    };
    submit(file, command, &mut log, what)?;
    Ok(log)
}

/// Submits an admin command to the drive that `file` is a device of, waits for it, and returns its result. What the drive sends
/// is in `data`, which is empty for commands without.
///
/// # Errors
/// `ENOTTY` where it is no NVMe drive, `EACCES` without the right to (CAP_SYS_ADMIN); `what` is refused by the drive.
fn submit(file: &File, command: Command, data: &mut [u8], what: &str) -> io::Result<u32> {
    let mut command = Command {
        address: if data.is_empty() { 0 } else { data.as_mut_ptr() as u64 },
        data_length: data.len() as u32,
        ..command
    };
    // SAFETY: NVME_IOCTL_ADMIN_CMD reads and writes one nvme_passthru_cmd (72 bytes, as `Command`) at the pointer, and lets
    // the drive write `data_length` bytes to `address`, which is `data`; both outlive the call, which keeps neither.
    let done = unsafe { libc::ioctl(file.as_raw_fd(), ADMIN_COMMAND as _, &raw mut command) };
    match done {
        0 => Ok(command.result),
        -1 => Err(io::Error::last_os_error()),
        // Other than 0 it is the status of the drive itself.
        status => Err(io::Error::other(format!("the drive refuses {what} (status {status:#x})"))),
    }
}

/// The log's fields, all little-endian.
pub fn parse(log: &[u8; LENGTH]) -> Health {
    let units = |at: usize| {
        let bytes = log[at..].first_chunk().copied().unwrap_or_default();
        u64::try_from(u128::from_le_bytes(bytes).saturating_mul(DATA_UNIT)).unwrap_or(u64::MAX)
    };
    Health { used_percent: log[5], spare_percent: log[3], written: units(48), read: units(32) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The start of a log, as `nvme smart-log -b` prints it: 41 degrees, 100 % spare, threshold 10 %, 3 % used, 12,345,678 data
    /// units read, 23,456,789 written.
    const RECORDED: &str = "00 3a 01 64 0a 03 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 \
                            4e 61 bc 00 00 00 00 00 00 00 00 00 00 00 00 00 15 ec 65 01 00 00 00 00 00 00 00 00 00 00 00 00";

    fn log() -> [u8; LENGTH] {
        let mut log = [0; LENGTH];
        for (byte, text) in log.iter_mut().zip(RECORDED.split_whitespace()) {
            *byte = u8::from_str_radix(text, 16).unwrap();
        }
        log
    }

    #[test]
    fn a_log_is_read() {
        let health = parse(&log());
        assert_eq!((health.used_percent, health.spare_percent), (3, 100));
        assert_eq!((health.read, health.written), (12_345_678 * 512_000, 23_456_789 * 512_000));
    }

    #[test]
    fn counters_beyond_all_numbers_are_the_largest() {
        let mut log = log();
        log[48..64].fill(0xFF);
        assert_eq!(parse(&log).written, u64::MAX);
    }

    #[test]
    fn a_command_has_the_kernels_size() {
        assert_eq!(size_of::<Command>(), 72);
    }

    #[test]
    fn what_is_no_nvme_drive_has_no_log() {
        let file = tempfile::tempfile().unwrap();
        assert_eq!(health(&file).unwrap_err().raw_os_error(), Some(libc::ENOTTY));
    }
}
