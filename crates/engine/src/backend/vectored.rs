//! preadv2 and pwritev2 with flags: one operation at a time per thread.

use std::io;
use std::sync::{Mutex, PoisonError};

use iolite_model::IoFlags;
use iolite_model::errno::{EAGAIN, EINVAL};
use iolite_sys::buffer::AlignedBuffer;
use iolite_sys::vectored;

use super::BlockingBackend;
use super::IoOp;
use super::Medium;
use super::Op;
use super::moved;
use crate::backend::files::FileSpan;
use crate::backend::files::Files;

/// One flag: the operations it is about, and what helps where it is refused.
struct Flag {
    name: &'static str,
    bits: i32,
    asked: fn(&IoFlags) -> bool,
    reads: bool,
    writes: bool,
    remedy: &'static str,
}

/// Which flag goes with which operation, as in the kernel's kiocb_set_rw_flags (include/linux/fs.h): it refuses ATOMIC
/// on reads, and DSYNC means nothing on them.
const FLAGS: [Flag; 5] = [
    Flag {
        name: "dsync",
        bits: vectored::DSYNC,
        asked: |flags| flags.dsync,
        reads: false,
        writes: true,
        remedy: "it needs Linux 4.7; without it, sync after every write instead",
    },
    Flag {
        name: "hipri",
        bits: vectored::HIPRI,
        asked: |flags| flags.hipri,
        reads: true,
        writes: true,
        remedy: "it needs Linux 4.6, direct I/O and a driver with polling queues; remove it",
    },
    Flag {
        name: "nowait",
        bits: vectored::NOWAIT,
        asked: |flags| flags.nowait,
        reads: true,
        writes: true,
        remedy: "it needs Linux 4.14 and a file system that has it (buffered writes: XFS or btrfs); use direct I/O or remove it",
    },
    Flag {
        name: "atomic",
        bits: vectored::ATOMIC,
        asked: |flags| flags.atomic,
        reads: false,
        writes: true,
        remedy: "it needs Linux 6.11, a device with atomic writes (see queue/atomic_write_unit_max_bytes), a file system \
                 that passes them on (ext4 or XFS since 6.13) and a block size that is a power of two within the device's \
                 limits; remove it",
    },
    Flag {
        name: "dontcache",
        bits: vectored::DONTCACHE,
        asked: |flags| flags.dontcache,
        reads: true,
        writes: true,
        remedy: "it needs Linux 6.14 and ext4, XFS or btrfs; use direct I/O instead",
    },
];

/// Does each operation within its submission, with its flags.
#[derive(Debug)]
pub struct Vectored {
    medium: Medium,
    buffer: AlignedBuffer,
    read_flags: i32,
    write_flags: i32,
    polling: Polling,
}

/// Which operations poll, where not all do.
#[derive(Debug, Clone, Copy)]
struct Polling {
    /// Percentage of the operations.
    percent: u8,
    /// Sum of the percentages since the last one.
    sum: u8,
}

impl Polling {
    /// Flags that the next operation is without.
    #[inline]
    fn without(&mut self) -> i32 {
        if self.percent == 100 {
            return 0;
        }
        self.sum += self.percent;
        if self.sum < 100 {
            return vectored::HIPRI;
        }
        self.sum -= 100;
        0
    }
}

impl Vectored {
    /// A back end over the files, with one slot of this size. Each flag is first tried on each file with an operation of its
    /// own where the span begins: a read of a block, and where `writes` is set a write of what that read has returned. A
    /// file that ends within that block gets its length back.
    ///
    /// # Errors
    /// A flag that the kernel or the file system has not, named with a remedy; a file on which flags are to be tried can't be
    /// read even without them; there is no memory for the buffer.
    pub fn new(files: impl Into<Files>, block: usize, flags: IoFlags, writes: bool) -> io::Result<Vectored> {
        let files = files.into();
        let mut vectored = Vectored {
            medium: Medium::of(files.clone()),
            buffer: AlignedBuffer::new(block)?,
            read_flags: 0,
            write_flags: 0,
            polling: Polling {
                percent: if flags.hipri_percent == 0 { 100 } else { flags.hipri_percent },
                sum: 0,
            },
        };
        if flags != IoFlags::default() {
            files.spans().iter().try_for_each(|span| vectored.probe(flags, writes, span))?;
        }
        let bits = |about: fn(&Flag) -> bool| {
            FLAGS
                .iter()
                .filter(|flag| (flag.asked)(&flags) && about(flag))
                .fold(0, |bits, flag| bits | flag.bits)
        };
        vectored.read_flags = bits(|flag| flag.reads);
        vectored.write_flags = bits(|flag| flag.writes);
        Ok(vectored)
    }

    fn probe(&mut self, flags: IoFlags, writes: bool, span: &FileSpan) -> io::Result<()> {
        let FileSpan { file, offset: at, .. } = span;
        // Workers of one file probe at the same time: none may see the length that another's probe has created.
        static PROBING: Mutex<()> = Mutex::new(());
        let _turn = PROBING.lock().unwrap_or_else(PoisonError::into_inner);
        let length = vectored::read(file, self.buffer.as_mut_slice(), *at, 0)?;
        for flag in FLAGS.iter().filter(|flag| (flag.asked)(&flags)) {
            if flag.reads {
                judge(flag, "reads", vectored::read(file, self.buffer.as_mut_slice(), *at, flag.bits))?;
            }
            if flag.writes && writes {
                let written = vectored::write(file, self.buffer.as_slice(), *at, flag.bits);
                if length < self.buffer.as_slice().len() && file.metadata()?.is_file() {
                    file.set_len(at + length as u64)?;
                }
                judge(flag, "writes", written)?;
            }
        }
        Ok(())
    }
}

/// What a probe's result says about its flag.
fn judge(flag: &Flag, what: &str, result: io::Result<usize>) -> io::Result<()> {
    match result {
        Ok(_) => Ok(()),
        // It would have had to wait: the flag does what it is for.
        Err(error) if error.raw_os_error() == Some(EAGAIN) => Ok(()),
        Err(error) => Err(io::Error::new(
            error.kind(),
            format!("{what} with the flag {} are refused ({error}): {}", flag.name, flag.remedy),
        )),
    }
}

impl BlockingBackend for Vectored {
    #[inline]
    fn perform(&mut self, op: &Op) -> Result<u32, i32> {
        if !op.io.moves() {
            return self.medium.without_data(op);
        }
        let (_, file, offset) = self.medium.files.at(op.offset);
        let with = !self.polling.without();
        let result = match (op.io, self.buffer.as_mut_slice().get_mut(..op.length as usize)) {
            (_, None) => return Err(EINVAL),
            (IoOp::Read, Some(into)) => vectored::read(file, into, offset, self.read_flags & with),
            (_, Some(from)) => vectored::write(file, from, offset, self.write_flags & with),
        };
        moved(result)
    }

    fn slot(&mut self) -> &mut [u8] {
        self.buffer.as_mut_slice()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::sync::Arc;

    const NONE: IoFlags = IoFlags {
        dsync: false,
        hipri: false,
        hipri_percent: 0,
        nowait: false,
        atomic: false,
        dontcache: false,
    };

    #[test]
    fn a_percentage_of_the_operations_polls() {
        for (percent, expected) in [(100, 100), (37, 37), (1, 1)] {
            let mut polling = Polling { percent, sum: 0 };
            assert_eq!((0..100).filter(|_| polling.without() == 0).count(), expected);
        }
    }

    #[test]
    fn probing_changes_neither_content_nor_length() {
        for length in [0, 100, 4096, 10_000] {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("file");
            let content: Vec<u8> = (0..length).map(|byte| byte as u8).collect();
            std::fs::write(&path, &content).unwrap();
            let file = Arc::new(File::options().read(true).write(true).open(&path).unwrap());
            let back_end = Vectored::new(file, 4096, IoFlags { dsync: true, ..NONE }, true).unwrap();
            assert_eq!((back_end.read_flags, back_end.write_flags), (0, vectored::DSYNC));
            assert_eq!(std::fs::read(&path).unwrap(), content);
        }
    }

    #[test]
    fn a_flag_that_is_refused_is_named_with_a_remedy() {
        // Atomic writes need direct I/O: refused on this file everywhere, with EINVAL by kernels before 6.11.
        let file = Arc::new(tempfile::tempfile().unwrap());
        let atomic = IoFlags { atomic: true, ..NONE };
        let error = Vectored::new(file.clone(), 4096, atomic, true).unwrap_err().to_string();
        assert!(error.starts_with("writes with the flag atomic are refused"), "{error}");
        assert!(error.contains("Linux 6.11"), "{error}");
        assert_eq!(file.metadata().unwrap().len(), 0);
        let without = Vectored::new(file, 4096, NONE, true).unwrap();
        assert_eq!((without.read_flags, without.write_flags), (0, 0));
    }

    #[test]
    fn having_to_wait_is_not_a_refusal() {
        let again = || Err(io::Error::from_raw_os_error(EAGAIN));
        assert!(judge(&FLAGS[2], "reads", again()).is_ok());
        assert!(judge(&FLAGS[2], "reads", Err(io::Error::from_raw_os_error(95))).is_err());
    }
}
