//! What a worker writes into while it measures.

use std::sync::Arc;

use iolite_model::{OpKind, PerKind, Stage};
use rtrb::{Consumer, Producer, RingBuffer};

use crate::histogram::Histogram;
use crate::ramp::AmountRamp;
use crate::sums::Sums;
use crate::tally::Tally;
use crate::timetable::{Slot, Timetable};

/// How late the collector may be, in nanoseconds, before intervals are prolonged: some ticks of 10 ms, or the time that a
/// thread among busy ones waits for a CPU.
const LATE: u64 = 60_000_000;

/// Snapshots that circulate between a worker and the collector at most. The worker needs a free one only at an interval's
/// end; with none free (the collector is late) the interval is prolonged, nothing is lost and nobody waits.
///
/// One is being written, one is with the collector, and the others bridge the time that the collector may be late. A
/// snapshot is some 12 KiB of touched memory per worker, and several times that where durations vary much: three from 60 ms
/// up, eight for the smallest interval of 10 ms.
fn snapshots(interval: u64) -> usize {
    LATE.div_ceil(interval.max(1)).clamp(1, 6) as usize + 2
}

/// Those of [`snapshots`] that are there from the start: an interval of 60 ms is longer than the collector is late but on a busy
/// host, where the last one is made when it is needed.
fn prepared(interval: u64) -> usize {
    if interval >= LATE { 2 } else { snapshots(interval) }
}

/// One operation that has come back.
#[derive(Debug, Clone, Copy)]
pub struct Completion {
    /// What it was.
    pub kind: OpKind,
    /// When it was meant to start, in nanoseconds since the phase's start.
    pub intended: u64,
    /// When it was handed to the system.
    pub issued: u64,
    /// When it came back.
    pub completed: u64,
    /// Bytes moved.
    pub bytes: u64,
}

/// Counts of one kind of operation as the worker takes them.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct OpTally {
    pub(crate) sums: Sums,
    /// [`PROMPT`], [`RESPONSE`] and [`SERVICE`].
    times: Tally<3>,
    /// Number of the others.
    others: u64,
}

/// Durations of operations that were issued when intended: their response time is their service time.
const PROMPT: usize = 0;
/// Response times of the others.
const RESPONSE: usize = 1;
/// Service times of the others.
const SERVICE: usize = 2;

/// Counts of one worker over one interval.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// The interval.
    pub slot: Slot,
    /// By the index of the kind: those of the phase, and what occurred besides.
    ops: PerKind<Option<Box<OpTally>>>,
}

/// The worker's end: owned by one thread, touched by no other.
#[derive(Debug)]
pub struct Recorder {
    timetable: Timetable,
    /// What completes after the end is counted in the last interval, until [`close`](Recorder::close).
    open: bool,
    /// What ends the ramp, where that is not a time.
    ramp: Option<Arc<AmountRamp>>,
    active: Snapshot,
    kinds: Vec<OpKind>,
    /// Snapshots that may still be made.
    more: usize,
    full: Producer<Snapshot>,
    free: Consumer<Snapshot>,
    undelivered: Vec<Snapshot>,
}

/// The collector's end of a recorder.
#[derive(Debug)]
pub struct Feed {
    timetable: Timetable,
    full: Consumer<Snapshot>,
    free: Producer<Snapshot>,
}

/// A recorder for the given kinds of operation, and the end to collect from.
pub fn recorder(timetable: Timetable, kinds: &[OpKind]) -> (Recorder, Feed) {
    let snapshots = snapshots(timetable.interval);
    let (full_in, full_out) = RingBuffer::new(snapshots + 2);
    let (mut free_in, free_out) = RingBuffer::new(snapshots + 2);
    let prepared = prepared(timetable.interval);
    for _ in 1..prepared {
        // The ring is new and longer than this.
        let _ = free_in.push(Snapshot::new(timetable.slot_at(0), kinds));
    }
    let active = Snapshot::new(timetable.slot_at(0), kinds);
    let kinds = kinds.to_vec();
    let recorder = Recorder {
        timetable,
        open: false,
        ramp: None,
        active,
        kinds,
        more: snapshots - prepared,
        full: full_in,
        free: free_out,
        undelivered: Vec::new(),
    };
    (recorder, Feed { timetable, full: full_out, free: free_in })
}

impl Recorder {
    /// Counts what completes after the end of the measured part in its last interval, until [`close`](Recorder::close).
    pub fn stay_open(&mut self) {
        self.open = true;
    }

    /// Counts what completes as the ramp's until an amount of I/O is done. The timetable's own ramp must be 0, and its end open:
    /// it is set when the ramp ends.
    pub fn ramp_until(&mut self, ramp: Arc<AmountRamp>) {
        self.active.slot = AmountRamp::cut(ramp.ended(), self.timetable.slot_at(0), 0);
        self.ramp = Some(ramp);
    }

    /// Counts an operation that succeeded, in the interval in which it came back.
    // Part of the measured loop's body: called, it would cost a fifth of the loop on nothing.
    ///
    /// True where it is the first of an interval.
    #[inline(always)]
    pub fn record(&mut self, op: Completion) -> bool {
        let first = self.advance(op.completed);
        let Some(record) = self.active.ops.get_mut(op.kind).and_then(Option::as_mut) else {
            self.unannounced(op);
            return first;
        };
        let response = op.completed.saturating_sub(op.intended);
        record.sums.count(op.bytes, response);
        if op.issued == op.intended {
            record.times.count(PROMPT, response);
        } else {
            record.others += 1;
            let delay = op.issued.saturating_sub(op.intended);
            record.sums.delay_sum = record.sums.delay_sum.saturating_add(delay);
            record.times.count(RESPONSE, response);
            record.times.count(SERVICE, op.completed.saturating_sub(op.issued));
        }
        if first {
            self.count_in_ramp(op);
        }
        first
    }

    /// In a ramp that an amount ends, every operation is the first of an interval.
    #[cold]
    fn count_in_ramp(&mut self, op: Completion) {
        // A commit has the bytes of its write, which are counted with that.
        let counts = self.active.slot.stage == Stage::Ramp && op.kind != OpKind::Commit;
        if let Some(ramp) = self.ramp.as_ref().filter(|_| counts) {
            ramp.count(op.bytes, op.completed);
        }
    }

    /// Counts an operation that failed.
    #[cold]
    pub fn record_error(&mut self, kind: OpKind, completed: u64) {
        self.advance(completed);
        self.active.ops.entry(kind).get_or_insert_default().sums.errors += 1;
    }

    /// Notes that time has passed, so that finished intervals are handed over though nothing completes. True where an
    /// interval was finished.
    #[inline]
    pub fn advance(&mut self, now: u64) -> bool {
        let over = now >= self.active.slot.end;
        if over {
            self.rotate(now);
        }
        over
    }

    /// Whether what comes back at this instant counts as measured: neither the ramp's nor the drain's.
    #[inline]
    pub fn measures(&self, at: u64) -> bool {
        at >= self.ramp_end() && (self.open || at < self.timetable.end)
    }

    /// Start of the measured part, in nanoseconds; `u64::MAX` in a ramp that an amount ends.
    #[inline]
    pub fn ramp_end(&self) -> u64 {
        match &self.ramp {
            None => self.timetable.ramp_end,
            Some(ramp) => ramp.ended().unwrap_or(u64::MAX),
        }
    }

    /// End of the measured part, in nanoseconds; `u64::MAX` where no time ends it, or its start is not known yet.
    pub fn end(&self) -> u64 {
        self.timetable.end
    }

    /// Where the grid of intervals begins, and their length, in nanoseconds.
    pub fn grid(&self) -> (u64, u64) {
        (self.timetable.ramp_end, self.timetable.interval)
    }

    /// Ends the measured part now; what is recorded from here on belongs to the drain.
    pub fn close(&mut self, now: u64) {
        self.advance(now);
        if self.open || now < self.timetable.end {
            self.open = false;
            self.timetable.end = now;
            let slot = &mut self.active.slot;
            // A ramp that an amount was to end has no end of its own.
            let endless = slot.stage == Stage::Ramp && self.ramp.is_some();
            slot.end = if endless { now } else { slot.end.min(now) }.max(slot.start);
        }
    }

    /// Hands over what is left. What did not fit the ring (the collector has stalled) is returned.
    pub fn finish(mut self) -> Vec<Snapshot> {
        let active = std::mem::replace(&mut self.active, Snapshot::new(self.timetable.slot_at(0), &[]));
        self.deliver(active);
        self.undelivered
    }

    #[cold]
    fn rotate(&mut self, now: u64) {
        let next = self.slot_at(now);
        if (next.stage, next.start) == (self.active.slot.stage, self.active.slot.start) {
            self.active.slot.end = next.end;
            return;
        }
        let replacement = match self.free.pop() {
            Ok(snapshot) => snapshot,
            // A late collector costs an allocation, once.
            Err(_) if self.more > 0 => {
                self.more -= 1;
                Snapshot::new(next, &self.kinds)
            }
            Err(_) if next.stage == self.active.slot.stage => {
                self.active.slot.end = next.end;
                return;
            }
            // And whenever stages would mix.
            Err(_) => Snapshot::new(next, &self.kinds),
        };
        let mut full = std::mem::replace(&mut self.active, replacement);
        if let Some(ramp) = self.ramp.as_ref().filter(|_| full.slot.stage == Stage::Ramp) {
            // One that has no end yet was ended with the phase.
            full.slot.end = ramp.ended().unwrap_or(self.timetable.end.min(now));
        }
        self.active.slot = next;
        self.deliver(full);
    }

    /// The interval that an instant falls into, now that the ramp has ended or not.
    fn slot_at(&mut self, at: u64) -> Slot {
        let Some(ramp) = &self.ramp else {
            return if self.open { self.timetable.open_slot_at(at) } else { self.timetable.slot_at(at) };
        };
        // Read once: another worker may complete the amount meanwhile.
        let ended = ramp.ended();
        if self.active.slot.stage == Stage::Ramp {
            // Unless the phase was ended before.
            self.timetable.end = self.timetable.end.min(ramp.end_of(ended));
        }
        let slot = if self.open { self.timetable.open_slot_at(at) } else { self.timetable.slot_at(at) };
        AmountRamp::cut(ended, slot, at)
    }

    fn deliver(&mut self, snapshot: Snapshot) {
        if let Err(rtrb::PushError::Full(snapshot)) = self.full.push(snapshot) {
            self.undelivered.push(snapshot);
        }
    }

    /// A kind that was not announced costs an allocation, once per snapshot.
    #[cold]
    fn unannounced(&mut self, op: Completion) {
        *self.active.ops.entry(op.kind) = Some(Box::default());
        let _ = self.record(op);
    }
}

impl Feed {
    /// Start of the measured part, and the length of its intervals.
    pub(crate) fn grid(&self) -> (u64, u64) {
        (self.timetable.ramp_end, self.timetable.interval)
    }

    /// The next snapshot that the worker has finished.
    pub fn take(&mut self) -> Option<Snapshot> {
        self.full.pop().ok()
    }

    /// Gives a snapshot back for reuse, emptied here so that the worker does not have to.
    pub fn give_back(&mut self, mut snapshot: Snapshot) {
        snapshot.ops.values_mut().flatten().for_each(|record| record.reset());
        // With the ring full the snapshot is one more than needed, and is dropped.
        let _ = self.free.push(snapshot);
    }
}

impl Snapshot {
    fn new(slot: Slot, kinds: &[OpKind]) -> Snapshot {
        let mut ops = PerKind::default();
        for kind in kinds {
            *ops.entry(*kind) = Some(Box::default());
        }
        Snapshot { slot, ops }
    }

    /// What was counted, of the kinds that occurred.
    pub(crate) fn tallies(&self) -> impl Iterator<Item = (OpKind, &OpTally)> {
        let present = self.ops.iter().filter_map(|(kind, tally)| tally.as_deref().map(|tally| (kind, tally)));
        present.filter(|(_, tally)| !tally.sums.is_empty())
    }
}

impl OpTally {
    /// Adds the response times to a histogram.
    pub(crate) fn add_responses(&self, to: &mut Histogram) {
        [PROMPT, RESPONSE].into_iter().for_each(|which| self.times.add_to(which, to));
    }

    /// Adds the service times to a histogram.
    pub(crate) fn add_services(&self, to: &mut Histogram) {
        [PROMPT, SERVICE].into_iter().for_each(|which| self.times.add_to(which, to));
    }

    fn reset(&mut self) {
        self.times.reset();
        (self.sums, self.others) = (Sums::default(), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMETABLE: Timetable = Timetable { ramp_end: 100, interval: 10, end: 125 };

    fn read(completed: u64) -> Completion {
        Completion { kind: OpKind::Read, intended: completed - 3, issued: completed - 2, completed, bytes: 8 }
    }

    fn operations(snapshot: &Snapshot) -> u64 {
        snapshot
            .tallies()
            .find(|(kind, _)| *kind == OpKind::Read)
            .map_or(0, |(_, tally)| tally.sums.operations)
    }

    #[test]
    fn operations_count_where_they_complete() {
        let (mut recorder, mut feed) = recorder(TIMETABLE, &[OpKind::Read]);
        for completed in [99, 100, 109, 110, 125] {
            recorder.record(read(completed));
            while let Some(snapshot) = feed.take() {
                let expected = match snapshot.slot.start {
                    100 => 2,
                    _ => 1,
                };
                assert_eq!(operations(&snapshot), expected, "{:?}", snapshot.slot);
                feed.give_back(snapshot);
            }
        }
        assert!(recorder.finish().is_empty());
        let drain = feed.take().unwrap();
        assert_eq!((drain.slot.stage, operations(&drain)), (Stage::Drain, 1));
    }

    #[test]
    fn a_late_collector_loses_nothing_and_mixes_no_stages() {
        let (mut recorder, mut feed) =
            recorder(Timetable { ramp_end: 100, interval: 10, end: 1000 }, &[OpKind::Read]);
        for completed in (95..1010).step_by(5) {
            recorder.record(read(completed));
        }
        let mut all = recorder.finish();
        while let Some(snapshot) = feed.take() {
            all.push(snapshot);
        }
        let of = |stage| all.iter().filter(|s| s.slot.stage == stage).map(operations).sum::<u64>();
        assert_eq!((of(Stage::Ramp), of(Stage::Measured), of(Stage::Drain)), (1, 180, 2));
    }

    #[test]
    fn closing_early_ends_the_measured_part_there() {
        let (mut recorder, mut feed) = recorder(TIMETABLE, &[OpKind::Read]);
        recorder.record(read(101));
        recorder.close(105);
        recorder.record(read(107));
        recorder.record_error(OpKind::Write, 108);
        recorder.finish();
        let slots: Vec<_> =
            std::iter::from_fn(|| feed.take()).map(|s| (s.slot.stage, s.slot.end, operations(&s))).collect();
        assert_eq!(slots, [(Stage::Ramp, 100, 0), (Stage::Measured, 105, 1), (Stage::Drain, u64::MAX, 1)]);
    }

    #[test]
    fn what_completes_late_counts_in_the_last_interval_until_it_is_closed() {
        let (mut recorder, mut feed) = recorder(TIMETABLE, &[OpKind::Read]);
        recorder.stay_open();
        for completed in [101, 121, 130, 140] {
            recorder.record(read(completed));
        }
        assert!(recorder.measures(140) && !recorder.measures(99));
        recorder.close(141);
        recorder.record(read(150));
        recorder.finish();
        let slots: Vec<_> = std::iter::from_fn(|| feed.take())
            .map(|s| (s.slot.stage, s.slot.start, s.slot.end, operations(&s)))
            .filter(|slot| slot.3 > 0)
            .collect();
        let measured = |start, end, operations| (Stage::Measured, start, end, operations);
        assert_eq!(slots[..2], [measured(100, 110, 1), measured(120, 141, 3)]);
        assert_eq!(slots[2], (Stage::Drain, 141, u64::MAX, 1));
    }

    /// Intervals of 10 ms with a collector that comes every 10 ms, and once is late by six ticks.
    #[test]
    fn a_collector_late_by_some_ticks_prolongs_no_interval() {
        const MS: u64 = 1_000_000;
        let timetable = Timetable { ramp_end: 0, interval: 10 * MS, end: u64::MAX };
        let (mut recorder, mut feed) = recorder(timetable, &[OpKind::Read]);
        let mut lengths = Vec::new();
        for at in 1..500 {
            recorder.record(read(at * MS));
            if at % 10 == 5 && !(200..260).contains(&at) {
                while let Some(snapshot) = feed.take() {
                    lengths.push(snapshot.slot.end - snapshot.slot.start);
                    feed.give_back(snapshot);
                }
            }
        }
        assert_eq!(lengths, [10 * MS; 49]);
        assert_eq!([10, 20, 30, 60, 1000].map(|ms| snapshots(ms * MS)), [8, 5, 4, 3, 3]);
        assert_eq!([10, 20, 30, 60, 1000].map(|ms| prepared(ms * MS)), [8, 5, 4, 2, 2]);
    }

    #[test]
    fn an_amount_ends_the_ramp_of_all_workers() {
        let timetable = Timetable { ramp_end: 0, interval: 10, end: u64::MAX };
        let ramp = Arc::new(AmountRamp::new(24, Some(40)));
        let [(mut one, mut first), (mut other, mut second)] = [(); 2].map(|()| {
            let (mut recorder, feed) = recorder(timetable, &[OpKind::Read]);
            recorder.ramp_until(ramp.clone());
            (recorder, feed)
        });
        // Eight bytes each: the third of all completes the amount, the next of either worker counts.
        one.record(read(5));
        other.record(read(12));
        assert!(ramp.ended().is_none() && !one.measures(12) && one.ramp_end() == u64::MAX);
        one.record(read(17));
        assert_eq!((ramp.ended(), ramp.phase_end(), one.ramp_end()), (Some(18), 58, 18));
        assert!(!one.measures(17) && one.measures(18));
        for completed in [18, 25, 57, 60] {
            one.record(read(completed));
        }
        for completed in [17, 41] {
            other.record(read(completed));
        }
        assert_eq!((one.end(), other.end()), (58, 58));
        one.finish();
        other.finish();
        let slots = |feed: &mut Feed| -> Vec<_> {
            let slot = |s: Snapshot| (s.slot.stage, s.slot.start, s.slot.end, operations(&s));
            std::iter::from_fn(|| feed.take()).map(slot).collect()
        };
        use Stage::{Drain, Measured, Ramp};
        let measured =
            [(Ramp, 0, 18, 2), (Measured, 18, 20, 1), (Measured, 20, 30, 1), (Measured, 50, 58, 1)];
        assert_eq!(slots(&mut first), [&measured[..], &[(Drain, 58, u64::MAX, 1)]].concat());
        // What came back before the ramp ended belongs to it, whenever it is recorded.
        assert_eq!(slots(&mut second), [(Ramp, 0, 18, 2), (Measured, 40, 50, 1)]);
    }

    #[test]
    fn a_phase_may_end_before_the_amount_is_done() {
        let timetable = Timetable { ramp_end: 0, interval: 10, end: u64::MAX };
        let (mut recorder, mut feed) = recorder(timetable, &[OpKind::Read]);
        recorder.ramp_until(Arc::new(AmountRamp::new(1000, None)));
        recorder.record(read(5));
        recorder.close(30);
        recorder.record(read(31));
        recorder.finish();
        let slots: Vec<_> =
            std::iter::from_fn(|| feed.take()).map(|s| (s.slot.stage, s.slot.end, operations(&s))).collect();
        assert_eq!(slots, [(Stage::Ramp, 30, 1), (Stage::Drain, u64::MAX, 1)]);
    }
}
