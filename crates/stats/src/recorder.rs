//! What a worker writes into while it measures.

use iolite_model::{Nanos, OpKind, OpTotals, Stage};
use rtrb::{Consumer, Producer, RingBuffer};

use crate::histogram::Histogram;
use crate::tally::{Ledger, Tally};

/// Snapshots that circulate between a worker and the collector. The worker needs a free one only at an interval's
/// end; with none free (the collector is late) the interval is prolonged, nothing is lost and nobody waits.
const SNAPSHOTS: usize = 3;

/// The division of a phase's time, in nanoseconds since the phase's start (its barrier).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timetable {
    /// End of the ramp and start of the measured part.
    pub ramp_end: u64,
    /// Length of an interval of the measured part; at least 1.
    pub interval: u64,
    /// End of the measured part; `u64::MAX` where bytes or operations end it.
    pub end: u64,
}

/// One interval of a timetable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot {
    /// Part of the phase.
    pub stage: Stage,
    /// First nanosecond since the phase's start.
    pub start: u64,
    /// First nanosecond no longer in it.
    pub end: u64,
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
    pub(crate) operations: u64,
    pub(crate) bytes: u64,
    pub(crate) errors: u64,
    response_sum: u64,
    response_max: u64,
    /// Durations of operations that were issued when intended: their response time is their service time.
    prompt: Tally,
    /// Response times of the others.
    response: Tally,
    /// Service times of the others.
    service: Tally,
    /// How many the others are.
    others: u64,
}

/// Counts of one kind of operation over a phase, of one of many workers.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct OpLedger {
    operations: u64,
    bytes: u64,
    errors: u64,
    response_sum: u64,
    response_max: u64,
    response: Ledger,
    service: Ledger,
}

/// Counts of one kind of operation.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct OpRecord {
    pub(crate) operations: u64,
    pub(crate) bytes: u64,
    pub(crate) errors: u64,
    pub(crate) response_sum: u64,
    pub(crate) response_max: u64,
    pub(crate) response: Histogram,
    pub(crate) service: Histogram,
}

/// Counts of one worker over one interval.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// The interval.
    pub slot: Slot,
    ops: [Option<Box<OpTally>>; OpKind::ALL.len()],
}

/// The worker's end: owned by one thread, touched by no other.
#[derive(Debug)]
pub struct Recorder {
    timetable: Timetable,
    active: Snapshot,
    kinds: Vec<OpKind>,
    full: Producer<Snapshot>,
    free: Consumer<Snapshot>,
    undelivered: Vec<Snapshot>,
}

/// The collector's end of a recorder.
#[derive(Debug)]
pub struct Feed {
    full: Consumer<Snapshot>,
    free: Producer<Snapshot>,
}

/// A recorder for the given kinds of operation, and the end to collect from.
pub fn recorder(timetable: Timetable, kinds: &[OpKind]) -> (Recorder, Feed) {
    let (full_in, full_out) = RingBuffer::new(SNAPSHOTS + 2);
    let (mut free_in, free_out) = RingBuffer::new(SNAPSHOTS + 2);
    for _ in 1..SNAPSHOTS {
        // The ring is new and longer than this.
        let _ = free_in.push(Snapshot::new(timetable.slot_at(0), kinds));
    }
    let active = Snapshot::new(timetable.slot_at(0), kinds);
    let kinds = kinds.to_vec();
    let recorder =
        Recorder { timetable, active, kinds, full: full_in, free: free_out, undelivered: Vec::new() };
    (recorder, Feed { full: full_out, free: free_in })
}

impl Timetable {
    /// The interval that an instant falls into.
    pub fn slot_at(&self, at: u64) -> Slot {
        if at >= self.end {
            Slot { stage: Stage::Drain, start: self.end, end: u64::MAX }
        } else if at < self.ramp_end {
            Slot { stage: Stage::Ramp, start: 0, end: self.ramp_end.min(self.end) }
        } else {
            let start = self.ramp_end + (at - self.ramp_end) / self.interval * self.interval;
            Slot { stage: Stage::Measured, start, end: start.saturating_add(self.interval).min(self.end) }
        }
    }
}

impl Recorder {
    /// Counts an operation that succeeded, in the interval in which it came back.
    // Part of the measured loop's body: called, it would cost a fifth of the loop on nothing.
    #[inline(always)]
    pub fn record(&mut self, op: Completion) {
        self.advance(op.completed);
        let Some(record) = &mut self.active.ops[op.kind.index()] else { return self.unannounced(op) };
        let response = op.completed.saturating_sub(op.intended);
        record.operations += 1;
        record.bytes += op.bytes;
        record.response_sum += response;
        record.response_max = record.response_max.max(response);
        if op.issued == op.intended {
            record.prompt.count(response);
        } else {
            record.others += 1;
            record.response.count(response);
            record.service.count(op.completed.saturating_sub(op.issued));
        }
    }

    /// Counts an operation that failed.
    #[cold]
    pub fn record_error(&mut self, kind: OpKind, completed: u64) {
        self.advance(completed);
        self.active.ops[kind.index()].get_or_insert_default().errors += 1;
    }

    /// Notes that time has passed, so that finished intervals are handed over though nothing completes.
    #[inline]
    pub fn advance(&mut self, now: u64) {
        if now >= self.active.slot.end {
            self.rotate(now);
        }
    }

    /// Ends the measured part now; what is recorded from here on belongs to the drain.
    pub fn close(&mut self, now: u64) {
        self.advance(now);
        if now < self.timetable.end {
            self.timetable.end = now;
            self.active.slot.end = self.active.slot.end.min(now);
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
        let next = self.timetable.slot_at(now);
        let replacement = match self.free.pop() {
            Ok(snapshot) => snapshot,
            Err(_) if next.stage == self.active.slot.stage => {
                self.active.slot.end = next.end;
                return;
            }
            // Stages must not mix: the one place where a late collector costs an allocation.
            Err(_) => Snapshot::new(next, &self.kinds),
        };
        let full = std::mem::replace(&mut self.active, replacement);
        self.active.slot = next;
        self.deliver(full);
    }

    fn deliver(&mut self, snapshot: Snapshot) {
        if let Err(rtrb::PushError::Full(snapshot)) = self.full.push(snapshot) {
            self.undelivered.push(snapshot);
        }
    }

    /// A kind that was not announced costs an allocation, once per snapshot.
    #[cold]
    fn unannounced(&mut self, op: Completion) {
        self.active.ops[op.kind.index()] = Some(Box::default());
        self.record(op);
    }
}

impl Feed {
    /// The next snapshot that the worker has finished.
    pub fn take(&mut self) -> Option<Snapshot> {
        self.full.pop().ok()
    }

    /// Gives a snapshot back for reuse, emptied here so that the worker does not have to.
    pub fn give_back(&mut self, mut snapshot: Snapshot) {
        snapshot.ops.iter_mut().flatten().for_each(|record| record.reset());
        // With the ring full the snapshot is one more than needed, and is dropped.
        let _ = self.free.push(snapshot);
    }
}

impl Snapshot {
    fn new(slot: Slot, kinds: &[OpKind]) -> Snapshot {
        let ops = OpKind::ALL.map(|kind| kinds.contains(&kind).then(Box::default));
        Snapshot { slot, ops }
    }

    pub(crate) fn tally_of(&self, kind: OpKind) -> Option<&OpTally> {
        self.ops[kind.index()].as_deref()
    }
}

impl OpTally {
    pub(crate) fn is_empty(&self) -> bool {
        self.operations == 0 && self.errors == 0
    }

    /// Longest response time.
    pub(crate) fn response_max(&self) -> u64 {
        self.response_max
    }

    /// Sum of the response times.
    pub(crate) fn response_sum(&self) -> u64 {
        self.response_sum
    }

    fn reset(&mut self) {
        let OpTally {
            operations,
            bytes,
            errors,
            response_sum,
            response_max,
            prompt,
            response,
            service,
            others,
        } = self;
        if *operations > *others {
            prompt.reset();
        }
        if *others > 0 {
            response.reset();
            service.reset();
        }
        (*operations, *bytes, *errors, *response_sum, *response_max, *others) = (0, 0, 0, 0, 0, 0);
    }
}

impl OpLedger {
    /// Adds what the worker has counted in an interval.
    pub(crate) fn add(&mut self, tally: &OpTally) {
        self.operations += tally.operations;
        self.bytes += tally.bytes;
        self.errors += tally.errors;
        self.response_sum += tally.response_sum;
        self.response_max = self.response_max.max(tally.response_max);
        if tally.operations > tally.others {
            self.response.add(&tally.prompt);
            self.service.add(&tally.prompt);
        }
        if tally.others > 0 {
            self.response.add(&tally.response);
            self.service.add(&tally.service);
        }
    }

    /// The same with histograms.
    pub(crate) fn record(&self) -> OpRecord {
        let OpLedger { operations, bytes, errors, response_sum, response_max, .. } = *self;
        let (mut response, mut service) = (Histogram::new(), Histogram::new());
        self.response.add_to(&mut response);
        self.service.add_to(&mut service);
        OpRecord { operations, bytes, errors, response_sum, response_max, response, service }
    }
}

impl OpRecord {
    /// Adds what a worker has counted.
    pub(crate) fn add(&mut self, tally: &OpTally) {
        self.operations += tally.operations;
        self.bytes += tally.bytes;
        self.errors += tally.errors;
        self.response_sum += tally.response_sum;
        self.response_max = self.response_max.max(tally.response_max);
        if tally.operations > tally.others {
            tally.prompt.add_to(&mut self.response);
            tally.prompt.add_to(&mut self.service);
        }
        if tally.others > 0 {
            tally.response.add_to(&mut self.response);
            tally.service.add_to(&mut self.service);
        }
    }

    pub(crate) fn merge(&mut self, other: &OpRecord) {
        self.operations += other.operations;
        self.bytes += other.bytes;
        self.errors += other.errors;
        self.response_sum += other.response_sum;
        self.response_max = self.response_max.max(other.response_max);
        self.response.merge(&other.response);
        self.service.merge(&other.service);
    }

    pub(crate) fn totals(&self, kind: OpKind) -> OpTotals {
        OpTotals {
            kind,
            operations: self.operations,
            bytes: self.bytes,
            errors: self.errors,
            response_sum: Nanos(self.response_sum),
            response_max: Nanos(self.response_max),
            response: self.response.encode(),
            service: self.service.encode(),
        }
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
        snapshot.tally_of(OpKind::Read).map_or(0, |tally| tally.operations)
    }

    #[test]
    fn a_timetable_has_ramp_intervals_and_drain() {
        let slot = |at| {
            let slot = TIMETABLE.slot_at(at);
            (slot.stage, slot.start, slot.end)
        };
        assert_eq!(slot(0), (Stage::Ramp, 0, 100));
        assert_eq!(slot(100), (Stage::Measured, 100, 110));
        assert_eq!(slot(119), (Stage::Measured, 110, 120));
        assert_eq!(slot(124), (Stage::Measured, 120, 125));
        assert_eq!(slot(125), (Stage::Drain, 125, u64::MAX));
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
}
