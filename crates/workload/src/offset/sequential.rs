//! Orders without chance through a worker's slice of the span: forwards with or without holes, backwards, strided.

/// A worker's own part of the span.
///
/// What the division leaves goes to the first workers, as with their shares of the operations: so many operations as
/// there are blocks then do each block once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slice {
    /// First block.
    pub(crate) first: u64,
    /// Blocks.
    pub(crate) blocks: u64,
}

/// Equal steps up or down, over and over.
#[derive(Debug, Clone)]
pub(super) struct Steps {
    /// Offset of a round's first operation, in bytes.
    first: u64,
    /// From one operation to the next, in bytes; modulo 2^64, so that it may be negative.
    step: u64,
    /// Operations in a round.
    count: u64,
    /// Operations left of this round.
    left: u64,
    /// Offset of the next operation.
    next: u64,
}

/// Steps back from each operation's end.
#[derive(Debug, Clone)]
pub(super) struct Back {
    /// First byte of the slice.
    first: u64,
    /// Bytes of it.
    length: u64,
    block: u64,
    /// Bytes from an operation's end back to the next.
    step: u64,
    /// Where in the slice the next operation goes.
    next: u64,
}

/// Columns of a table of `stride` columns that holds the slice's blocks row by row.
#[derive(Debug, Clone)]
pub(super) struct Columns {
    slice: Slice,
    /// Blocks from one operation to the next.
    stride: u64,
    /// Column of this pass.
    column: u64,
    /// Next block of the slice.
    next: u64,
}

impl Slice {
    /// The slice of worker `worker` of `workers`; `None` where there is not a block for each worker.
    pub(crate) fn of(blocks: u64, worker: u32, workers: u32) -> Option<Slice> {
        let (worker, workers) = (u64::from(worker), u64::from(workers.max(1)));
        let (share, rest) = (blocks / workers, blocks % workers);
        let first = worker * share + worker.min(rest);
        (share > 0).then_some(Slice { first, blocks: share + u64::from(worker < rest) })
    }
}

impl Steps {
    /// Upwards through the slice, with `hole` bytes left out after each block. `None` where hole and block together
    /// are beyond all numbers.
    pub(super) fn forwards(slice: Slice, block: u64, hole: u64) -> Option<Steps> {
        let step = block.checked_add(hole)?;
        // The last block has to fit; its hole does not.
        let count = (slice.blocks - 1) * block / step + 1;
        Some(Steps::new(slice.first * block, step, count))
    }

    /// From the slice's last block down to its first.
    pub(super) fn backwards(slice: Slice, block: u64) -> Steps {
        let last = slice.first + slice.blocks - 1;
        Steps::new(last * block, block.wrapping_neg(), slice.blocks)
    }

    /// Upwards from 0 without end.
    pub(super) fn endless(block: u64) -> Steps {
        Steps::new(0, block, u64::MAX)
    }

    fn new(first: u64, step: u64, count: u64) -> Steps {
        Steps { first, step, count, left: count, next: first }
    }

    /// The next offset in bytes.
    #[inline]
    pub(super) fn next_offset(&mut self) -> u64 {
        let offset = self.next;
        self.left -= 1;
        if self.left == 0 {
            self.left = self.count;
            self.next = self.first;
        } else {
            self.next = offset.wrapping_add(self.step);
        }
        offset
    }
}

impl Back {
    /// Through a slice of `length` bytes from `first` on; `None` where a step is shorter than a block or longer than the slice.
    pub(super) fn new(first: u64, length: u64, block: u64, step: u64) -> Option<Back> {
        (block..=length).contains(&step).then_some(Back { first, length, block, step, next: 0 })
    }

    #[inline]
    pub(super) fn next_offset(&mut self) -> u64 {
        let here = self.next;
        let end = here + self.block;
        self.next = end.checked_sub(self.step).unwrap_or(self.length - self.step);
        self.first + here
    }
}

impl Columns {
    /// Every `stride`-th block of the slice (at least 1), then again one block further.
    pub(super) fn new(slice: Slice, stride: u64) -> Columns {
        Columns { slice, stride: stride.max(1), column: 0, next: 0 }
    }

    /// The next block of the span.
    #[inline]
    pub(super) fn next_block(&mut self) -> u64 {
        let block = self.slice.first + self.next;
        self.next = self.next.saturating_add(self.stride);
        if self.next >= self.slice.blocks {
            self.column += 1;
            if self.column == self.stride.min(self.slice.blocks) {
                self.column = 0;
            }
            self.next = self.column;
        }
        block
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn take(mut steps: Steps, count: usize) -> Vec<u64> {
        (0..count).map(|_| steps.next_offset()).collect()
    }

    #[test]
    fn a_hole_follows_each_block() {
        let slice = Slice { first: 10, blocks: 6 };
        // 6 blocks of 4: 40..64. Blocks of 4 with holes of 2 begin at 40, 46, 52, 58; the next would end at 68.
        assert_eq!(take(Steps::forwards(slice, 4, 2).unwrap(), 6), [40, 46, 52, 58, 40, 46]);
        assert_eq!(take(Steps::forwards(slice, 4, 0).unwrap(), 7), [40, 44, 48, 52, 56, 60, 40]);
        // The last block that fits ends with the slice.
        assert_eq!(take(Steps::forwards(slice, 4, 6).unwrap(), 3), [40, 50, 60]);
        assert_eq!(take(Steps::forwards(slice, 4, 1000).unwrap(), 2), [40, 40]);
        assert!(Steps::forwards(slice, 4, u64::MAX).is_none());
    }

    #[test]
    fn backwards_ends_at_the_first_block() {
        assert_eq!(take(Steps::backwards(Slice { first: 0, blocks: 3 }, 4), 4), [8, 4, 0, 8]);
    }

    /// As fio 3.33 goes for `bs=4k` with `rw=read:-8k`, `-16k`, `-10k` and `-4k`, in KiB.
    #[test]
    fn a_step_goes_back_from_the_end() {
        for (length, step, expected) in [
            (64, 8, [0, 56, 52, 48, 44, 40]),
            (63, 8, [0, 55, 51, 47, 43, 39]),
            (64, 16, [0, 48, 36, 24, 12, 0]),
            (20, 10, [0, 10, 4, 10, 4, 10]),
            (64, 4, [0; 6]),
        ] {
            let mut back = Back::new(100, length, 4, step).unwrap();
            let seen: Vec<_> = (0..6).map(|_| back.next_offset() - 100).collect();
            assert_eq!(seen, expected, "{step} of {length}");
        }
        assert!(Back::new(0, 64, 4, 3).is_none() && Back::new(0, 64, 4, 65).is_none());
    }

    #[test]
    fn columns_are_read_one_after_the_other() {
        let mut columns = Columns::new(Slice { first: 100, blocks: 7 }, 3);
        let seen: Vec<_> = (0..9).map(|_| columns.next_block()).collect();
        assert_eq!(seen, [100, 103, 106, 101, 104, 102, 105, 100, 103]);
    }

    proptest! {
        #[test]
        fn columns_do_each_block_once_a_round(blocks in 1u64..300, stride in 1u64..400) {
            let mut columns = Columns::new(Slice { first: 5, blocks }, stride);
            for _ in 0..2 {
                let round: BTreeSet<_> = (0..blocks).map(|_| columns.next_block()).collect();
                prop_assert_eq!(round, (5..5 + blocks).collect::<BTreeSet<_>>());
            }
        }

        #[test]
        fn steps_with_holes_stay_within_the_slice(blocks in 1u64..300, block in 1u64..100, hole in 0u64..500) {
            let slice = Slice { first: 3, blocks };
            let mut steps = Steps::forwards(slice, block, hole).unwrap();
            for _ in 0..600 {
                let offset = steps.next_offset();
                prop_assert!(offset >= 3 * block && offset + block <= (3 + blocks) * block);
            }
        }
    }
}
