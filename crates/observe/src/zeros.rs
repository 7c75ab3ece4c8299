//! How much of a target is zeros, by samples: a trimmed device, a thin volume and a deduplicating one return zeros without a medium.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use iolite_sys::buffer::AlignedBuffer;
use iolite_sys::file::{Access, reopen};
use iolite_sys::page_cache;

/// Blocks that are read, evenly spaced, and their size in bytes.
const SAMPLES: u64 = 64;
const BLOCK: u64 = 4096;
/// The step from one sample to the next: without a common divisor with their number, so that the first few are spread, too.
const STEP: u64 = 37;
/// Time for all of them before a phase. A slow or broken device does not hold a phase up: what has been read by then is the sample.
pub(crate) const PATIENCE: Duration = Duration::from_millis(250);
/// Samples that say enough.
const ENOUGH: u32 = 8;

/// The share (0 to 1) of sampled blocks of a file's or device's first `length` bytes that are zeros; `None` where too few could be
/// read. What is in the page cache is read there and all else past it, or is dropped from it again, so that the cache is as it was.
pub(crate) fn zero_share(file: &File, length: u64, patience: Duration) -> Option<f64> {
    let blocks = length / BLOCK;
    if blocks == 0 {
        return None;
    }
    let descriptor = file.as_raw_fd();
    let target = Target {
        cached: reopen(descriptor, Access::default()).ok()?,
        direct: reopen(descriptor, Access { direct: true, ..Access::default() }).ok(),
    };
    // Each read gets no further ahead than its block.
    let _ = page_cache::advise(&target.cached, true);
    let mut buffer = AlignedBuffer::new(BLOCK as usize).ok()?;
    let (found, samples) = mpsc::channel();
    let read = move || {
        for sample in 0..SAMPLES {
            let offset = blocks * (sample * STEP % SAMPLES) / SAMPLES * BLOCK;
            // The first failure ends it: it is the phase's to report. So does the end of the patience.
            let Ok(zeros) = target.is_zeros(offset, &mut buffer) else { break };
            if found.send(zeros).is_err() {
                break;
            }
        }
    };
    // Not waited for: a read from a device that does not respond ends when the kernel gives it up.
    thread::Builder::new().name("zeros".into()).spawn(read).ok()?;
    let until = Instant::now() + patience;
    let (mut all, mut zeros) = (0, 0);
    while let Ok(is_zeros) = samples.recv_timeout(until.saturating_duration_since(Instant::now())) {
        all += 1;
        zeros += u32::from(is_zeros);
    }
    (all >= ENOUGH).then(|| f64::from(zeros) / f64::from(all))
}

/// What is sampled, opened twice.
struct Target {
    cached: File,
    /// `None` where the file system refuses direct I/O.
    direct: Option<File>,
}

impl Target {
    fn is_zeros(&self, offset: u64, buffer: &mut AlignedBuffer) -> io::Result<bool> {
        let resident =
            page_cache::resident_bytes(&self.cached, offset, BLOCK).is_ok_and(|bytes| bytes >= BLOCK);
        match &self.direct {
            Some(direct) if !resident => direct.read_exact_at(buffer.as_mut_slice(), offset)?,
            _ => {
                self.cached.read_exact_at(buffer.as_mut_slice(), offset)?;
                if !resident {
                    page_cache::drop_clean(&self.cached, offset, BLOCK)?;
                }
            }
        }
        Ok(buffer.as_slice().iter().all(|byte| *byte == 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTH: u64 = 4 << 20;

    /// All samples are read, however slow the host is.
    fn zero_share(file: &File, length: u64) -> Option<f64> {
        super::zero_share(file, length, Duration::from_secs(3600))
    }

    /// A file whose first bytes, so many, are not zeros.
    fn file(filled: usize) -> File {
        let file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let mut bytes = vec![0; LENGTH as usize];
        bytes[..filled].fill(7);
        file.write_all_at(&bytes, 0).unwrap();
        file.sync_all().unwrap();
        file
    }

    #[test]
    fn the_share_of_zeros_is_that_of_the_blocks() {
        assert_eq!(zero_share(&file(0), LENGTH), Some(1.0));
        assert_eq!(zero_share(&file(LENGTH as usize), LENGTH), Some(0.0));
        assert_eq!(zero_share(&file(LENGTH as usize / 4), LENGTH), Some(0.75));
        assert_eq!((zero_share(&file(0), 100), zero_share(&file(0), 4096)), (None, Some(1.0)));
    }

    #[test]
    fn the_page_cache_is_as_it_was() {
        let file = file(0);
        page_cache::evict(&file, 0, LENGTH).unwrap();
        let resident = || page_cache::resident_bytes(&file, 0, LENGTH).unwrap();
        if resident() > 0 {
            return eprintln!("skipped: this file system keeps its files in memory");
        }
        assert_eq!((zero_share(&file, LENGTH), resident()), (Some(1.0), 0));
        let half = LENGTH / 2;
        file.read_exact_at(&mut vec![0; half as usize], half).unwrap();
        let before = resident();
        assert_eq!((zero_share(&file, LENGTH), resident()), (Some(1.0), before));
    }

    #[test]
    fn what_cannot_be_read_is_not_known() {
        let short = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        assert_eq!(zero_share(&short, LENGTH), None, "it ends before its length");
    }
}
