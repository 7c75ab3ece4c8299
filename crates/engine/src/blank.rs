//! Whether a target is blank: nothing but zeros, as far as that can be found out in reasonable time.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use iolite_model::Bytes;
use iolite_sys::file;

/// How much of a device's start and end is read: partition tables, file systems, LVM, RAID and databases all have something
/// there.
const EDGE: u64 = 1 << 20;

/// Blocks read between the edges of a device, evenly spaced, and their size.
const SAMPLES: u64 = 256;
const SAMPLE: u64 = 4096;

/// The first byte found that is not zero: in a file all data is read, holes are skipped; a device is read at its start, at its
/// end and at 256 places between.
pub(crate) fn first_data(file: &File, size: u64, is_device: bool) -> io::Result<Option<u64>> {
    if !is_device {
        return scan_file(file, size);
    }
    let tail = size.saturating_sub(EDGE);
    if let Some(offset) = scan(file, 0, size.min(EDGE))? {
        return Ok(Some(offset));
    }
    for index in 1..SAMPLES {
        let start = (tail / SAMPLES * index) / SAMPLE * SAMPLE;
        if let Some(offset) = scan(file, start, (start + SAMPLE).min(size))? {
            return Ok(Some(offset));
        }
    }
    scan(file, tail, size)
}

fn scan_file(file: &File, size: u64) -> io::Result<Option<u64>> {
    let mut next = 0;
    while let Some((from, to)) = file::next_data(file, next, size)? {
        if let Some(offset) = scan(file, from, to)? {
            return Ok(Some(offset));
        }
        next = to;
    }
    Ok(None)
}

/// The first byte between two offsets that is not zero.
fn scan(file: &File, from: u64, to: u64) -> io::Result<Option<u64>> {
    let mut buffer = vec![0; Bytes::MIB.0.min(to - from) as usize];
    let mut start = from;
    while start < to {
        let length = (to - start).min(buffer.len() as u64) as usize;
        file.read_exact_at(&mut buffer[..length], start)?;
        if let Some(index) = buffer[..length].iter().position(|byte| *byte != 0) {
            return Ok(Some(start + index as u64));
        }
        start += length as u64;
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_anywhere_in_a_file_is_found() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(64 << 20).unwrap();
        assert_eq!(first_data(&file, 64 << 20, false).unwrap(), None);
        // Written, but zeros.
        file.write_all_at(&[0; 8192], 5 << 20).unwrap();
        assert_eq!(first_data(&file, 64 << 20, false).unwrap(), None);
        file.write_all_at(b"x", (33 << 20) + 7).unwrap();
        assert_eq!(first_data(&file, 64 << 20, false).unwrap(), Some((33 << 20) + 7));
    }

    #[test]
    fn a_device_is_sampled() {
        let file = tempfile::tempfile().unwrap();
        for size in [0, 1, 4096, (1 << 20) + 1, 64 << 20] {
            file.set_len(size).unwrap();
            assert_eq!(first_data(&file, size, true).unwrap(), None);
        }
        file.write_all_at(&vec![1; 1 << 20], 30 << 20).unwrap();
        assert!(first_data(&file, 64 << 20, true).unwrap().is_some());
    }
}
