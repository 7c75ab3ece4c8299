//! Reads and writes of several sizes and orders, with one place that those in a row go on from.

use iolite_model::{Bytes, Mixture, MixtureLine};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::error::WorkloadError;
use crate::offset::check_aligned;
use crate::planned::{IoKind, PlannedOp};
use crate::random::below;

/// The operations of a worker.
#[derive(Debug, Clone)]
pub(crate) struct MixtureStream {
    lines: Vec<Line>,
    /// Sum of the shares.
    shares: u64,
    /// First byte of the worker's part, and its bytes.
    start: u64,
    length: u64,
    /// Where the last operation has ended, from the start of the part.
    next: u64,
    chance: Xoshiro256PlusPlus,
}

/// A line, with the sum of the shares up to it.
#[derive(Debug, Clone, Copy)]
struct Line {
    until: u64,
    size: u32,
    alignment: u64,
    reads: u64,
    random: u64,
}

impl MixtureStream {
    /// `None` where the part is too small for an operation, or [`check`] refuses the mixture.
    pub(crate) fn new(
        mixture: &Mixture,
        start: u64,
        length: u64,
        chance: Xoshiro256PlusPlus,
    ) -> Option<MixtureStream> {
        let mut shares = 0;
        let line = |line: &MixtureLine| {
            shares += u64::from(line.share);
            let size = u32::try_from(line.size.0).ok().filter(|size| *size > 0)?;
            let fits = line.size.0 <= length && line.alignment.0 > 0;
            fits.then(|| Line {
                until: shares,
                size,
                alignment: line.alignment.0,
                reads: line.reads.into(),
                random: line.random.into(),
            })
        };
        let lines: Vec<Line> = mixture.lines.iter().map(line).collect::<Option<_>>()?;
        let next = mixture.first.0;
        (shares > 0).then_some(MixtureStream { lines, shares, start, length, next, chance })
    }

    /// The next operation. Apart, so that the fast path stays small.
    #[inline(never)]
    pub(crate) fn next(&mut self) -> PlannedOp {
        let drawn = below(&mut self.chance, self.shares);
        let line = self.lines[self.lines.partition_point(|line| line.until <= drawn)];
        let Line { size, alignment, reads, random, .. } = line;
        let kind = if below(&mut self.chance, 100) < reads { IoKind::Read } else { IoKind::Write };
        let last = self.length - u64::from(size);
        let place = if below(&mut self.chance, 100) < random {
            below(&mut self.chance, last / alignment + 1) * alignment
        } else {
            // At the end it starts over.
            self.next.checked_next_multiple_of(alignment).filter(|next| *next <= last).unwrap_or(0)
        };
        self.next = place + u64::from(size);
        PlannedOp { kind, offset: self.start + place, length: size }
    }
}

/// Checks the lines of a mixture whose largest size is `block`.
///
/// # Errors
/// One of them makes no operations, or such as direct I/O can't do.
pub(crate) fn check(mixture: &Mixture, block: Bytes, direct: bool) -> Result<(), WorkloadError> {
    let largest = mixture.lines.iter().map(|line| line.size).max();
    WorkloadError::unless(
        largest == Some(block),
        || {
            format!(
                "the block is {block}, and the largest size of the mixture {}",
                largest.unwrap_or(Bytes(0))
            )
        },
        "buffers are of the size of the block",
        "specify at least one line, and the largest size as the block",
    )?;
    mixture.lines.iter().try_for_each(|line| {
        let MixtureLine { share, size, alignment, reads, random } = *line;
        WorkloadError::unless(
            share > 0 && size.0 > 0 && alignment.0 > 0 && reads <= 100 && random <= 100,
            || format!("a line has a share of {share}, {size} at multiples of {alignment}, {reads} % reads, {random} % random"),
            "a share, a size and an alignment are at least 1, and percentages at most 100",
            "correct the line",
        )?;
        check_aligned(direct, size, || format!("operations have {} bytes", size.0))?;
        check_aligned(direct, alignment, || format!("operations begin at multiples of {} bytes", alignment.0))
    })?;
    check_aligned(direct, mixture.first, || format!("the first operation begins at byte {}", mixture.first.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, generator};

    const LENGTH: u64 = 1 << 20;

    fn line(share: u32, size: u64, reads: u8, random: u8) -> MixtureLine {
        MixtureLine { share, size: Bytes(size), alignment: Bytes(512), reads, random }
    }

    fn drawn(lines: Vec<MixtureLine>, count: usize) -> Vec<PlannedOp> {
        let mixture = Mixture { lines, first: Bytes(0) };
        let mut stream = MixtureStream::new(&mixture, LENGTH, LENGTH, generator(3, 0, Purpose::Mix)).unwrap();
        (0..count).map(|_| stream.next()).collect()
    }

    /// 20,000 operations: five standard deviations of a share are below 0.018.
    #[test]
    fn lines_have_their_shares_kinds_and_orders() {
        let ops = drawn(vec![line(75, 8192, 90, 100), line(25, 4096, 0, 0)], 20_000);
        let share = |of: &dyn Fn(&&PlannedOp) -> bool, among: usize| {
            ops.iter().filter(of).count() as f64 / among as f64
        };
        let large = ops.iter().filter(|op| op.length == 8192).count();
        assert!((large as f64 / 20_000.0 - 0.75).abs() < 0.018, "{large}");
        let reads = share(&|op| op.length == 8192 && op.kind == IoKind::Read, large);
        assert!((reads - 0.9).abs() < 0.018, "{reads}");
        assert_eq!(share(&|op| op.length == 4096 && op.kind == IoKind::Read, 1), 0.0);
        // A write in a row begins where the operation before it ended, whichever that was; one at random somewhere.
        for pair in ops.windows(2).filter(|pair| pair[1].length == 4096) {
            let end = pair[0].offset + u64::from(pair[0].length);
            let wrapped = end + 4096 > 2 * LENGTH && pair[1].offset == LENGTH;
            assert!(pair[1].offset == end || wrapped, "{pair:?}");
        }
        let places: std::collections::BTreeSet<u64> =
            ops.iter().filter(|op| op.length == 8192).map(|op| op.offset).collect();
        // Of 2033 places, each drawn 7 times in the mean, nearly all come up.
        assert!(places.len() > 2000 && places.iter().all(|place| place % 512 == 0), "{}", places.len());
        assert!(ops.iter().all(|op| (LENGTH..=2 * LENGTH - u64::from(op.length)).contains(&op.offset)));
    }

    #[test]
    fn a_sequential_mix_of_reads_and_writes_has_one_place_and_starts_over() {
        let ops = drawn(vec![line(100, 4096, 50, 0)], 600);
        let expected: Vec<u64> = (0..600).map(|index| LENGTH + index * 4096 % LENGTH).collect();
        assert_eq!(ops.iter().map(|op| op.offset).collect::<Vec<_>>(), expected);
        let reads = ops.iter().filter(|op| op.kind == IoKind::Read).count();
        assert!((200..400).contains(&reads), "{reads}");
    }

    #[test]
    fn the_first_place_and_the_alignment_of_a_line_are_kept() {
        let lines = vec![MixtureLine { alignment: Bytes(4096), ..line(1, 512, 100, 0) }];
        let mixture = Mixture { lines, first: Bytes(8192) };
        let mut stream = MixtureStream::new(&mixture, 0, LENGTH, generator(3, 0, Purpose::Mix)).unwrap();
        assert_eq!([0; 3].map(|_| stream.next().offset), [8192, 12_288, 16_384]);
        // No operation fits.
        assert!(MixtureStream::new(&mixture, 0, 511, generator(3, 0, Purpose::Mix)).is_none());
    }

    #[test]
    fn lines_without_sense_are_refused() {
        let checked = |lines, block, direct| {
            check(&Mixture { lines, first: Bytes(0) }, Bytes(block), direct)
                .map_err(|error| error.to_string())
        };
        assert_eq!(checked(vec![line(1, 4096, 50, 0), line(2, 512, 50, 0)], 4096, true), Ok(()));
        for (lines, block) in [
            (Vec::new(), 4096),
            (vec![line(1, 4096, 50, 0)], 8192),
            (vec![line(0, 4096, 50, 0)], 4096),
            (vec![line(1, 4096, 101, 0)], 4096),
            (vec![line(1, 4096, 50, 101)], 4096),
            (vec![MixtureLine { alignment: Bytes(0), ..line(1, 4096, 50, 0) }], 4096),
            (vec![line(1, 4000, 50, 0)], 4000),
        ] {
            assert!(checked(lines.clone(), block, true).is_err(), "{lines:?}");
        }
        assert_eq!(checked(vec![line(1, 4000, 50, 0)], 4000, false), Ok(()));
    }
}
