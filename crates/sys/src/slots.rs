//! Slots: buffers of equal size in one piece of memory, each lent to the kernel for the time of an operation.

use std::io;
use std::mem::ManuallyDrop;

use crate::buffer::{ALIGNMENT, AlignedBuffer};
use crate::memory;

/// The slots of a ring or context. While the kernel has anything of a slot, its buffer belongs to the kernel.
pub(crate) struct Slots {
    // Dropped by hand: with anything at the kernel the memory must outlive this value.
    memory: ManuallyDrop<AlignedBuffer>,
    /// Bytes of a buffer, a multiple of `ALIGNMENT`.
    size: usize,
    /// By slot: entries given to the kernel that have not come back.
    busy: Vec<u8>,
    /// Sum of `busy`.
    outstanding: usize,
}

impl Slots {
    /// `count` buffers of at least `size` bytes, zeroed.
    ///
    /// # Errors
    /// `InvalidInput` for more than the address space, `OutOfMemory` for more than the memory.
    pub(crate) fn new(count: usize, size: usize) -> io::Result<Slots> {
        let size = size.checked_next_multiple_of(ALIGNMENT);
        let (size, whole) = size
            .and_then(|size| Some((size, size.checked_mul(count)?)))
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the slots' buffers are too large"))?;
        let busy = memory::filled(0, count)?;
        let memory = ManuallyDrop::new(AlignedBuffer::new(whole)?);
        Ok(Slots { memory, size, busy, outstanding: 0 })
    }

    /// Number of slots.
    pub(crate) fn count(&self) -> usize {
        self.busy.len()
    }

    /// Entries that the kernel has, over all slots.
    pub(crate) fn outstanding(&self) -> usize {
        self.outstanding
    }

    /// Whether the slot exists and the kernel has nothing of it.
    #[inline]
    pub(crate) fn is_free(&self, slot: usize) -> bool {
        self.busy.get(slot) == Some(&0)
    }

    /// Whether a transfer of `length` bytes fits a buffer.
    #[inline]
    pub(crate) fn fits(&self, length: u32) -> bool {
        length as usize <= self.size
    }

    /// The slot's buffer; `None` while the kernel has it or where there is no such slot.
    pub(crate) fn buffer_mut(&mut self, slot: usize) -> Option<&mut [u8]> {
        if !self.is_free(slot) {
            return None;
        }
        let start = slot * self.size;
        // SAFETY: the range lies within `memory`; the kernel owns only buffers of busy slots, which this is not; the
        // slice borrows self exclusively, so that the slot can't be given to the kernel meanwhile.
        Some(unsafe { std::slice::from_raw_parts_mut(self.memory.as_ptr().add(start), self.size) })
    }

    /// Where the slot's buffer is, for the kernel.
    #[inline]
    pub(crate) fn address(&self, slot: usize) -> *mut u8 {
        self.memory.as_ptr().wrapping_add(slot * self.size)
    }

    /// All buffers, to be registered with the kernel.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(crate) fn vectors(&self) -> io::Result<Vec<libc::iovec>> {
        let vector = |slot| libc::iovec { iov_base: self.address(slot).cast(), iov_len: self.size };
        let mut vectors = memory::with_capacity(self.count())?;
        vectors.extend((0..self.count()).map(vector));
        Ok(vectors)
    }

    /// Marks a free slot as given to the kernel with so many entries.
    #[inline]
    pub(crate) fn lend(&mut self, slot: usize, entries: u8) {
        if let Some(busy) = self.busy.get_mut(slot) {
            *busy += entries;
            self.outstanding += usize::from(entries);
        }
    }

    /// Takes an entry of the slot back; `false` where the kernel had none.
    #[inline]
    pub(crate) fn give_back(&mut self, slot: usize) -> bool {
        match self.busy.get_mut(slot) {
            Some(busy) if *busy > 0 => {
                *busy -= 1;
                self.outstanding -= 1;
                true
            }
            _ => false,
        }
    }
}

impl Drop for Slots {
    /// With anything at the kernel it may still write into the memory, which is then left to the end of the process.
    fn drop(&mut self) {
        if self.outstanding == 0 {
            // SAFETY: the memory is not used again and dropped once; the kernel has given back every buffer.
            unsafe { ManuallyDrop::drop(&mut self.memory) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_free_again_when_all_of_it_has_come_back() {
        let mut slots = Slots::new(2, 100).unwrap();
        assert_eq!((slots.count(), slots.buffer_mut(1).unwrap().len()), (2, ALIGNMENT));
        assert!(slots.fits(4096) && !slots.fits(4097));
        slots.lend(1, 2);
        assert!(!slots.is_free(1) && slots.is_free(0) && !slots.is_free(2));
        assert!(slots.buffer_mut(1).is_none() && slots.buffer_mut(2).is_none());
        assert!(slots.give_back(1));
        assert!(slots.buffer_mut(1).is_none());
        assert_eq!(slots.outstanding(), 1);
        assert!(slots.give_back(1));
        assert!(slots.buffer_mut(1).is_some());
        assert!(!slots.give_back(1) && !slots.give_back(2));
        assert_eq!(slots.outstanding(), 0);
    }

    #[test]
    fn more_than_the_address_space_is_refused() {
        for (count, size) in [(2, usize::MAX), (usize::MAX, 4096), (1 << 52, 8192)] {
            assert!(Slots::new(count, size).is_err());
        }
    }
}
