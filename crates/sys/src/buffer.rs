//! Memory aligned for direct I/O.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::cell::Cell;
use std::io;
use std::ptr::{self, NonNull};

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

/// Alignment that satisfies direct I/O on every device in use: a memory page, which is at least a logical block.
pub const ALIGNMENT: usize = 4096;

/// Where the size of a huge page is among the flags of mmap(2): its logarithm (MAP_HUGE_SHIFT).
const HUGE_SHIFT: u32 = 26;

/// The smallest size of a huge page on any machine.
const MIN_HUGE_PAGE: usize = 64 << 10;

/// Whether huge pages may have this size on any machine: a power of two of at least 64 KiB.
pub fn is_huge_page(size: u64) -> bool {
    size.is_power_of_two() && size >= MIN_HUGE_PAGE as u64
}

thread_local! {
    /// Size of the huge pages that new buffers of this thread are made of; 0 for pages of the usual size.
    static HUGE_PAGE: Cell<usize> = const { Cell::new(0) };
}

/// Makes the buffers that the calling thread allocates from here on of huge pages of this size, for which
/// [`is_huge_page`] holds; 0 for pages of the usual size.
pub fn use_huge_pages(size: usize) {
    HUGE_PAGE.set(size);
}

/// A zeroed, page-aligned piece of memory of fixed length.
#[derive(Debug)]
pub struct AlignedBuffer {
    start: NonNull<u8>,
    layout: Layout,
    /// Length of the mapping that it lies in; `None` in memory of the allocator's.
    mapped: Option<usize>,
}

// SAFETY: the memory is owned by this value alone, like a Vec's; nothing else refers to it.
unsafe impl Send for AlignedBuffer {}
// SAFETY: shared references only read.
unsafe impl Sync for AlignedBuffer {}

impl AlignedBuffer {
    /// Zeroed memory of `length` bytes (at least one is reserved).
    ///
    /// # Errors
    /// `OutOfMemory` when the system has not that much, or not as many huge pages, where the thread uses them.
    pub fn new(length: usize) -> io::Result<AlignedBuffer> {
        let layout = Layout::from_size_align(length.max(1), ALIGNMENT).map_err(|_| {
            io::Error::new(io::ErrorKind::InvalidInput, format!("a buffer of {length} bytes is too large"))
        })?;
        let page = HUGE_PAGE.get();
        if page > 0 {
            return AlignedBuffer::of_huge_pages(layout, page);
        }
        // SAFETY: the layout's size is not zero.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or_else(|| {
            io::Error::new(io::ErrorKind::OutOfMemory, format!("no memory for a buffer of {length} bytes"))
        })?;
        Ok(AlignedBuffer { start, layout, mapped: None })
    }

    fn of_huge_pages(layout: Layout, page: usize) -> io::Result<AlignedBuffer> {
        // Of another size munmap(2) would refuse the length, and the memory would be lost.
        if !is_huge_page(page as u64) {
            let reason = format!("{page} bytes are not the size of a huge page");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
        }
        let length = layout.size().checked_next_multiple_of(page).ok_or(io::ErrorKind::OutOfMemory)?;
        let size = MapFlags::from_bits_retain(page.trailing_zeros() << HUGE_SHIFT);
        let flags = MapFlags::PRIVATE | MapFlags::HUGETLB | MapFlags::POPULATE | size;
        // SAFETY: a new mapping at a place of the kernel's choice touches no memory that Rust knows of.
        let start =
            unsafe { mmap_anonymous(ptr::null_mut(), length, ProtFlags::READ | ProtFlags::WRITE, flags) };
        let start = start.map_err(|error| {
            let error = io::Error::from(error);
            let kib = page / 1024;
            io::Error::new(
                error.kind(),
                format!(
                    "a buffer of {length} bytes of huge pages cannot be allocated ({error}): reserve pages, as in `echo N > \
                     /sys/kernel/mm/hugepages/hugepages-{kib}kB/nr_hugepages`, or use pages of the usual size"
                ),
            )
        })?;
        let start = NonNull::new(start.cast::<u8>()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(AlignedBuffer { start, layout, mapped: Some(length) })
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
        match self.mapped {
            // SAFETY: start came from mmap with this very length and is unmapped once. A failure leaves the memory mapped.
            Some(length) => drop(unsafe { munmap(self.start.as_ptr().cast(), length) }),
            // SAFETY: start came from alloc_zeroed with this very layout and is freed once.
            None => unsafe { dealloc(self.start.as_ptr(), self.layout) },
        }
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

    /// Size of the pages of the mapping that an address lies in, in KiB.
    fn page_size_at(address: usize) -> Option<u64> {
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let mut within = false;
        for line in maps.lines() {
            let range = line.split(' ').next().and_then(|range| range.split_once('-'));
            let bounds = range.and_then(|(start, end)| {
                let number = |text| usize::from_str_radix(text, 16).ok();
                Some(number(start)?..number(end)?)
            });
            if let Some(bounds) = bounds {
                within = bounds.contains(&address);
            } else if let Some(size) = line.strip_prefix("KernelPageSize:").filter(|_| within) {
                return size.trim().trim_end_matches(" kB").parse().ok();
            }
        }
        None
    }

    #[test]
    fn sizes_that_no_huge_page_has_are_refused() {
        for size in [1, 4096, 32 << 10, 96 << 10, 3 << 20, 6 << 20] {
            std::thread::spawn(move || {
                use_huge_pages(size);
                let error = AlignedBuffer::new(4096).unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{size}: {error}");
            })
            .join()
            .unwrap();
        }
        assert!([64 << 10, 2 << 20, 1 << 30].into_iter().all(is_huge_page));
    }

    /// With huge pages reserved the buffer is made of them; without, the error says how to reserve them.
    #[test]
    fn buffers_are_of_huge_pages_where_the_thread_uses_them() {
        std::thread::spawn(|| {
            assert_eq!(page_size_at(AlignedBuffer::new(4096).unwrap().as_ptr() as usize), Some(4));
            use_huge_pages(2 << 20);
            match AlignedBuffer::new(8192) {
                Ok(mut buffer) => {
                    assert_eq!(page_size_at(buffer.as_ptr() as usize), Some(2048));
                    buffer.as_mut_slice().fill(7);
                    assert_eq!(buffer.as_slice(), [7; 8192]);
                }
                Err(error) => assert!(error.to_string().contains("hugepages-2048kB/nr_hugepages"), "{error}"),
            }
        })
        .join()
        .unwrap();
        assert!(AlignedBuffer::new(4096).is_ok(), "other threads are as they were");
    }
}
