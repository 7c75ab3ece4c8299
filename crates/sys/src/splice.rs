//! splice(2) and vmsplice(2): data between a file and memory by way of a pipe.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

use rustix::pipe::{
    IoSliceRaw, PipeFlags, SpliceFlags, fcntl_getpipe_size, fcntl_setpipe_size, pipe_with, splice, vmsplice,
};

/// The largest pipe that any user may have (/proc/sys/fs/pipe-max-size by default), in bytes.
const LARGEST: usize = 1 << 20;

/// A pipe through which one transfer goes at a time.
#[derive(Debug)]
pub struct Pipe {
    output: OwnedFd,
    input: OwnedFd,
    /// What fits at once, in bytes: a multiple of a memory page.
    capacity: usize,
}

impl Pipe {
    /// A pipe for transfers of so many bytes; longer ones go through it in pieces.
    ///
    /// # Errors
    /// The kernel's: the limit on open files is reached.
    pub fn new(size: usize) -> io::Result<Pipe> {
        let (output, input) = pipe_with(PipeFlags::CLOEXEC)?;
        // Users have a limit on all their pipes together; a smaller one does, too.
        let _ = fcntl_setpipe_size(&input, size.clamp(1, LARGEST));
        let capacity = fcntl_getpipe_size(&input)?;
        Ok(Pipe { output, input, capacity })
    }

    /// Reads at `offset`: the file's pages go to the pipe, and are copied from there. Returns the bytes read, fewer where the
    /// file ends before.
    ///
    /// # Errors
    /// The kernel's: `EINVAL` where the file system has no splice.
    pub fn read(&mut self, file: &File, buffer: &mut [u8], mut offset: u64) -> io::Result<usize> {
        let mut done = 0;
        while done < buffer.len() {
            let max = (buffer.len() - done).min(self.capacity);
            let moved = match splice(file, Some(&mut offset), &self.input, None, max, SpliceFlags::empty()) {
                Ok(0) => break,
                Ok(moved) => moved,
                Err(_) if done > 0 => break,
                Err(error) => return Err(error.into()),
            };
            let piece = &mut buffer[done..done + moved];
            let mut taken = 0;
            while taken < piece.len() {
                match rustix::io::read(&self.output, &mut piece[taken..]) {
                    Ok(0) => return self.renewed(Ok(done + taken)),
                    Ok(bytes) => taken += bytes,
                    Err(error) => return self.renewed(Err(error.into())),
                }
            }
            done += moved;
        }
        Ok(done)
    }

    /// Writes at `offset`: the buffer's own pages go to the pipe, and from there to the file. Returns the bytes written.
    ///
    /// # Errors
    /// The kernel's: `EINVAL` where the file system has no splice, or the file was opened to append.
    pub fn write(&mut self, file: &File, buffer: &[u8], mut offset: u64) -> io::Result<usize> {
        let mut done = 0;
        while done < buffer.len() {
            let max = (buffer.len() - done).min(self.capacity);
            let piece = [IoSliceRaw::from_slice(&buffer[done..done + max])];
            // SAFETY: without SPLICE_F_GIFT the kernel only reads the pages, of which it holds references of its own; what is
            // not spliced to the file below, while `buffer` is borrowed, is dropped with the pipe and never read.
            let put = unsafe { vmsplice(&self.input, &piece, SpliceFlags::NONBLOCK) };
            let put = match put {
                Ok(put) => put,
                Err(_) if done > 0 => break,
                Err(error) => return Err(error.into()),
            };
            let mut left = put;
            while left > 0 {
                match splice(&self.output, None, file, Some(&mut offset), left, SpliceFlags::empty()) {
                    Ok(moved) if moved > 0 => {
                        left -= moved;
                        done += moved;
                    }
                    Err(error) if done == 0 => return self.renewed(Err(error.into())),
                    _ => return self.renewed(Ok(done)),
                }
            }
        }
        Ok(done)
    }

    /// Leaves a result with an empty pipe in the place of one that may hold something.
    #[cold]
    fn renewed(&mut self, result: io::Result<usize>) -> io::Result<usize> {
        *self = Pipe::new(self.capacity)?;
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::AlignedBuffer;
    use std::os::unix::fs::FileExt;

    fn content(length: usize) -> Vec<u8> {
        (0..length).map(|index| (index * 31 / 7) as u8).collect()
    }

    #[test]
    fn what_goes_through_comes_out() {
        for length in [1, 100, 4096, 65536, 65537, 3 << 20] {
            let file = tempfile::tempfile().unwrap();
            let mut buffer = AlignedBuffer::new(length).unwrap();
            buffer.as_mut_slice().copy_from_slice(&content(length));
            let mut pipe = Pipe::new(length).unwrap();
            assert_eq!(pipe.write(&file, buffer.as_slice(), 5000).unwrap(), length);
            // What the pipe was given may be reused at once.
            buffer.as_mut_slice().fill(0);
            let mut read = vec![0; length];
            file.read_exact_at(&mut read, 5000).unwrap();
            assert!(read == content(length), "{length}");
            assert_eq!(pipe.read(&file, buffer.as_mut_slice(), 5000).unwrap(), length);
            assert!(buffer.as_slice() == content(length), "{length}");
        }
    }

    #[test]
    fn the_end_of_the_file_and_errors_leave_the_pipe_empty() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, content(10_000)).unwrap();
        let (read_only, writable) =
            (File::open(&path).unwrap(), File::options().write(true).open(&path).unwrap());
        let mut pipe = Pipe::new(8192).unwrap();
        let mut buffer = vec![0; 8192];
        assert_eq!(pipe.read(&read_only, &mut buffer, 8192).unwrap(), 1808);
        assert_eq!(pipe.read(&read_only, &mut buffer, 1 << 40).unwrap(), 0);
        let number = |result: io::Result<usize>| result.unwrap_err().raw_os_error();
        assert_eq!(number(pipe.write(&read_only, &buffer, 0)), Some(libc::EBADF));
        assert_eq!(number(pipe.read(&writable, &mut buffer, 0)), Some(libc::EBADF));
        buffer.fill(7);
        assert_eq!(pipe.write(&writable, &buffer[..3], 0).unwrap(), 3);
        assert_eq!(pipe.read(&read_only, &mut buffer[..4], 0).unwrap(), 4);
        assert_eq!(buffer[..4], [7, 7, 7, content(4)[3]]);
    }
}
