//! Memory aligned for direct I/O.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::io;
use std::ptr::NonNull;

/// Alignment that satisfies direct I/O on every device in use: a memory page, which is at least a logical block.
pub const ALIGNMENT: usize = 4096;

/// A zeroed, page-aligned piece of memory of fixed length.
#[derive(Debug)]
pub struct AlignedBuffer {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: the memory is owned by this value alone, like a Vec's; nothing else refers to it.
unsafe impl Send for AlignedBuffer {}
// SAFETY: shared references only read.
unsafe impl Sync for AlignedBuffer {}

impl AlignedBuffer {
    /// Zeroed memory of `length` bytes (at least one is reserved).
    ///
    /// # Errors
    /// `OutOfMemory` when the system has not that much.
    pub fn new(length: usize) -> io::Result<AlignedBuffer> {
        let layout = Layout::from_size_align(length.max(1), ALIGNMENT).map_err(|_| {
            io::Error::new(io::ErrorKind::InvalidInput, format!("a buffer of {length} bytes is too large"))
        })?;
        // SAFETY: the layout's size is not zero.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or_else(|| {
            io::Error::new(io::ErrorKind::OutOfMemory, format!("no memory for a buffer of {length} bytes"))
        })?;
        Ok(AlignedBuffer { start, layout })
    }

    /// The memory, to read.
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: start is valid for the layout's size, initialised (zeroed), and borrowed with self.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.layout.size()) }
    }

    /// The memory, to write.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as above, and self is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.layout.size()) }
    }

    /// Address of the first byte, for the kernel.
    pub(crate) fn as_ptr(&self) -> *mut u8 {
        self.start.as_ptr()
    }
}

impl Drop for AlignedBuffer {
    fn drop(&mut self) {
        // SAFETY: start came from alloc_zeroed with this very layout and is freed once.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_zeroed_and_writable() {
        for length in [1, 512, 8192, 1 << 20] {
            let mut buffer = AlignedBuffer::new(length).unwrap();
            assert_eq!(buffer.as_ptr() as usize % ALIGNMENT, 0);
            assert!(buffer.as_slice().iter().all(|&byte| byte == 0));
            buffer.as_mut_slice().fill(7);
            assert_eq!(buffer.as_slice(), vec![7; length]);
        }
        assert!(AlignedBuffer::new(usize::MAX).is_err());
    }
}
