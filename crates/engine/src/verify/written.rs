//! What a worker has written: for each unit of its part of the target, the number of the last write.

use std::collections::VecDeque;
use std::ops::Range;

/// Nobody has written the unit.
const NEVER: u32 = 0;
/// The largest number that a write has.
const LAST: u32 = u32::MAX - 3;
/// A trim was the last to change the unit.
const TRIMMED: u32 = u32::MAX - 2;
/// One of several writes that were on their way at once.
const SOME: u32 = u32::MAX - 1;
/// A write has failed: the unit may hold anything.
const ANYTHING: u32 = u32::MAX;

/// What is known of a unit's contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    /// Nobody has written it.
    Never,
    /// It holds the write of this number.
    Write(u32),
    /// It holds the write of this number or a later one: what is known is older than the data may be.
    AtLeast(u32),
    /// It holds the write of this number, or a later one that was in flight when the program ended, or parts of both.
    InFlight(u32),
    /// It holds some write of this run.
    Some,
    /// It was trimmed.
    Trimmed,
    /// It may hold anything: a write of it has failed.
    Anything,
}

/// The units that one worker writes, four bytes each.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Written {
    /// Worker, from 0.
    pub(crate) worker: u32,
    /// Where the first unit is, in bytes from the target's start.
    pub(crate) first: u64,
    /// Bytes in a unit.
    pub(crate) unit: u32,
    /// Writes issued.
    pub(crate) writes: u64,
    /// Writes up to this number were read back and verified: they are not read again.
    pub(crate) verified: u32,
    pub(crate) units: Vec<u32>,
    /// A bit for each unit whose present contents were found to be wrong or unreadable, so that they are not read back again; empty
    /// while there is none.
    pub(crate) reported: Vec<u64>,
    /// Units, in order, to which writes were in flight when the program ended that wrote them.
    pub(crate) in_flight: Vec<usize>,
    /// The data may be later than what is known of it: that program has not ended its phase.
    pub(crate) open: bool,
    /// Offsets of the last writes that have come back, at most as many as may be in flight.
    pub(crate) last: VecDeque<u64>,
}

impl Written {
    /// Of a worker whose operations lie in `part`, in bytes from the target's start. `None` where there is no memory for
    /// so many units.
    pub(crate) fn new(worker: u32, part: Range<u64>, unit: u32) -> Option<Written> {
        let count = usize::try_from((part.end - part.start).div_ceil(u64::from(unit.max(1)))).ok()?;
        let mut units = Vec::new();
        units.try_reserve_exact(count).ok()?;
        units.resize(count, NEVER);
        Some(Written { worker, first: part.start, unit, units, ..Written::default() })
    }

    /// The number of the next write. After some four thousand million writes numbers come again: only a write lost so
    /// long ago could be taken for the last one.
    pub(crate) fn next_number(&mut self) -> u32 {
        let number = (self.writes % u64::from(LAST)) as u32 + 1;
        self.writes += 1;
        if number == 1 {
            // Numbers come again: those from here on are later than any that was verified.
            self.verified = 0;
        }
        number
    }

    /// Writes up to this number, or all until now, were read back and verified. A number that the last write has not reached is
    /// one of before numbers came again: nothing since was verified.
    pub(crate) fn verified_to(&mut self, number: Option<u32>) {
        let last = if self.writes == 0 { 0 } else { ((self.writes - 1) % u64::from(LAST)) as u32 + 1 };
        let number = number.unwrap_or(last);
        if number <= last {
            self.verified = number;
        }
    }

    /// Whether the unit of this number, which holds `unit`, is to be read back: somebody has written it, and it was neither verified
    /// nor found wrong since.
    fn is_left(&self, index: usize, unit: u32) -> bool {
        unit != NEVER && (unit > LAST || unit > self.verified) && !self.is_reported(index)
    }

    /// The unit at this offset was found to be wrong or unreadable.
    pub(crate) fn report(&mut self, offset: u64) {
        let words = self.units.len().div_ceil(64);
        let Some(index) = self.of(offset, self.unit).next() else { return };
        // Without memory for it, it is counted again when it is read again.
        if self.reported.is_empty() && self.reported.try_reserve_exact(words).is_ok() {
            self.reported.resize(words, 0);
        }
        if let Some(word) = self.reported.get_mut(index / 64) {
            *word |= 1 << (index % 64);
        }
    }

    fn is_reported(&self, index: usize) -> bool {
        self.reported.get(index / 64).is_some_and(|word| word >> (index % 64) & 1 == 1)
    }

    /// A write has come back whose units now hold it.
    pub(crate) fn wrote(&mut self, offset: u64, length: u32, number: u32) {
        self.set(offset, length, number);
    }

    /// A write has come back while others were on their way to the same units.
    pub(crate) fn wrote_contested(&mut self, offset: u64, length: u32) {
        self.set(offset, length, SOME);
    }

    /// A trim has come back.
    pub(crate) fn trimmed(&mut self, offset: u64, length: u32) {
        self.set(offset, length, TRIMMED);
    }

    /// Notes a write as one of the last that have come back, of which no more than `depth` are kept.
    pub(crate) fn came_back(&mut self, offset: u64, depth: usize) {
        self.last.truncate(depth.saturating_sub(1));
        self.last.push_front(offset);
    }

    /// A write has failed.
    pub(crate) fn failed(&mut self, offset: u64, length: u32) {
        self.set(offset, length, ANYTHING);
    }

    /// What is known of the unit at this offset.
    pub(crate) fn known(&self, offset: u64) -> Known {
        let distance = offset.checked_sub(self.first).map(|distance| distance / u64::from(self.unit));
        let Some(index) = distance.and_then(|index| usize::try_from(index).ok()) else { return Known::Never };
        let in_flight = !self.in_flight.is_empty() && self.in_flight.binary_search(&index).is_ok();
        match self.units.get(index).copied().unwrap_or(NEVER) {
            NEVER => Known::Never,
            ANYTHING => Known::Anything,
            SOME if in_flight => Known::InFlight(NEVER),
            SOME => Known::Some,
            TRIMMED => Known::Trimmed,
            number if in_flight => Known::InFlight(number),
            number if self.open => Known::AtLeast(number),
            number => Known::Write(number),
        }
    }

    /// The next run of units at or after unit number `from` that are to be read back, not longer than `max` units; of one write
    /// where `by_write` is set.
    pub(crate) fn next_run(&self, from: usize, max: usize, by_write: bool) -> Option<Range<usize>> {
        let mut units = (from..).zip(self.units.get(from..)?);
        let start = units.find(|(index, unit)| self.is_left(*index, **unit))?.0;
        let rest = &self.units[start..(start + max.max(1)).min(self.units.len())];
        let goes_on =
            |(index, unit): (usize, &u32)| self.is_left(index, *unit) && (!by_write || *unit == rest[0]);
        let length = (start..).zip(rest).position(|unit| !goes_on(unit)).unwrap_or(rest.len());
        Some(start..start + length)
    }

    /// Whether the units of a write still hold it, as far as is known: none of them was written again since.
    pub(crate) fn holds(&self, offset: u64, length: u32, number: u32) -> bool {
        let units = self.of(offset, length);
        !units.is_empty() && self.units[units].iter().all(|unit| *unit == number)
    }

    /// Units of an operation, by number.
    pub(crate) fn of(&self, offset: u64, length: u32) -> Range<usize> {
        let Some(distance) = offset.checked_sub(self.first) else { return 0..0 };
        let first = (distance / u64::from(self.unit)) as usize;
        let end = first.saturating_add(length.div_ceil(self.unit) as usize);
        if end <= self.units.len() { first..end } else { 0..0 }
    }

    fn set(&mut self, offset: u64, length: u32, value: u32) {
        let units = self.of(offset, length);
        if !self.reported.is_empty() {
            units.clone().for_each(|index| self.reported[index / 64] &= !(1 << (index % 64)));
        }
        self.units[units].fill(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_write_is_what_is_known() {
        let mut written = Written::new(0, 8192..8192 + 4096 * 4, 4096).unwrap();
        let (first, second) = (written.next_number(), written.next_number());
        written.wrote(8192, 8192, first);
        written.wrote(12288, 4096, second);
        written.failed(16384, 4096);
        let known: Vec<_> = (0..5).map(|unit| written.known(8192 + unit * 4096)).collect();
        assert_eq!(known, [Known::Write(1), Known::Write(2), Known::Anything, Known::Never, Known::Never]);
        assert_eq!(written.known(0), Known::Never);
        written.wrote_contested(8192, 4096);
        assert_eq!(written.known(8192), Known::Some);
        written.wrote(1 << 40, 4096, 3);
    }

    #[test]
    fn runs_are_what_somebody_has_written() {
        let mut written = Written::new(0, 0..10 * 512, 512).unwrap();
        written.wrote(512, 1024, 1);
        written.wrote(4 * 512, 6 * 512, 2);
        assert_eq!(written.next_run(0, 100, false), Some(1..3));
        assert_eq!(written.next_run(3, 4, false), Some(4..8));
        assert_eq!(written.next_run(8, 4, false), Some(8..10));
        assert_eq!(written.next_run(10, 4, false), None);
    }

    #[test]
    fn runs_end_with_their_write_and_are_read_once() {
        let mut written = Written::new(0, 0..8 * 512, 512).unwrap();
        let [first, second] = [written.next_number(), written.next_number()];
        written.wrote(0, 1024, first);
        written.wrote(1024, 1536, second);
        assert_eq!(written.next_run(0, 8, false), Some(0..5));
        assert_eq!(written.next_run(0, 8, true), Some(0..2));
        assert_eq!(written.next_run(2, 8, true), Some(2..5));
        assert!(written.holds(1024, 1536, second) && !written.holds(1024, 2048, second));
        assert!(!written.holds(0, 1024, second));
        written.verified_to(None);
        assert_eq!(written.next_run(0, 8, false), None);
        let third = written.next_number();
        written.wrote(512, 512, third);
        assert_eq!(written.next_run(0, 8, false), Some(1..2));
        // What was trimmed has no number.
        written.trimmed(3072, 512);
        assert_eq!(written.next_run(2, 8, false), Some(6..7));
    }

    #[test]
    fn what_was_found_wrong_is_read_back_once() {
        let mut written = Written::new(0, 0..100 * 512, 512).unwrap();
        let number = written.next_number();
        written.wrote(0, 100 * 512, number);
        written.report(70 * 512);
        written.report(1 << 40);
        assert_eq!(written.next_run(0, 100, false), Some(0..70));
        assert_eq!(written.next_run(70, 100, true), Some(71..100));
        // What it is for a read of the phase does not change.
        assert_eq!(written.known(70 * 512), Known::Write(number));
        let number = written.next_number();
        written.wrote(70 * 512, 512, number);
        assert_eq!(written.next_run(0, 100, false), Some(0..100));
    }

    #[test]
    fn numbers_that_come_again_are_read_back_again() {
        let mut written = Written::new(0, 0..512, 512).unwrap();
        written.writes = u64::from(LAST) - 1;
        let last = written.next_number();
        written.wrote(0, 512, last);
        written.verified_to(None);
        assert_eq!((last, written.next_run(0, 1, false)), (LAST, None));
        let again = written.next_number();
        written.wrote(0, 512, again);
        assert_eq!((again, written.next_run(0, 1, false)), (1, Some(0..1)));
        // A backlog of before.
        written.verified_to(Some(last));
        assert_eq!(written.next_run(0, 1, false), Some(0..1));
        written.verified_to(Some(again));
        assert_eq!(written.next_run(0, 1, false), None);
    }

    #[test]
    fn numbers_never_mean_anything_else() {
        let mut written = Written::new(0, 0..512, 512).unwrap();
        for writes in [0, u64::from(LAST) - 1, u64::from(LAST), u64::from(u32::MAX) * 3] {
            written.writes = writes;
            let number = written.next_number();
            written.wrote(0, 512, number);
            assert_eq!(written.known(0), Known::Write(number));
        }
    }
}
