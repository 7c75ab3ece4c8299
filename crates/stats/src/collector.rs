//! Adds the workers' snapshots up: into intervals for the consumers, and into the totals.

use std::collections::BTreeMap;

use iolite_model::{Interval, Nanos, OpKind, Stage, WorkerTotals};

use crate::histogram::Histogram;
use crate::recorder::{Feed, OpLedger, OpRecord, Slot, Snapshot};

/// Counts of each kind of operation; a kind that did not occur has none.
#[derive(Debug, Clone, Default, PartialEq)]
struct Counts([Option<Box<OpRecord>>; OpKind::ALL.len()]);

/// The same of one worker: of ten thousand workers each costs only what has occurred.
#[derive(Debug, Clone, Default, PartialEq)]
struct WorkerCounts([Option<Box<OpLedger>>; OpKind::ALL.len()]);

/// One interval of a phase's measured part, for estimates over time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Point {
    /// Length.
    pub seconds: f64,
    /// Operations of each kind, by its index.
    pub operations: [u64; OpKind::ALL.len()],
    /// Sum of the response times of each kind in nanoseconds, by its index.
    pub response_sum: [u64; OpKind::ALL.len()],
}

/// Totals over the measured part of a phase: the sum of its intervals.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PhaseTotals {
    counts: Counts,
    /// Measured time, in nanoseconds.
    pub measured: u64,
    /// The intervals of the measured part, in order and without gaps.
    pub series: Vec<Point>,
    /// Longest response among the operations that came back after the end.
    pub drain_max: u64,
}

/// Collects from every worker of a phase, on a thread that does not measure.
#[derive(Debug)]
pub struct Collector {
    phase: u32,
    feeds: Vec<Feed>,
    open: BTreeMap<(Stage, u64), (u64, Counts)>,
    slots: BTreeMap<u64, (u64, Point)>,
    workers: Vec<WorkerCounts>,
    drain_max: u64,
}

impl Collector {
    /// A collector for the workers' feeds, in the order of the workers.
    pub fn new(phase: u32, feeds: Vec<Feed>) -> Collector {
        let workers = vec![WorkerCounts::default(); feeds.len()];
        Collector { phase, feeds, open: BTreeMap::new(), slots: BTreeMap::new(), workers, drain_max: 0 }
    }

    /// Takes what the workers have handed over, and returns the intervals that ended at or before `settled`
    /// (nanoseconds since the phase's start), oldest first. A worker's share that arrives later comes as a further
    /// interval with the same start.
    pub fn collect(&mut self, settled: u64) -> Vec<Interval> {
        for worker in 0..self.feeds.len() {
            while let Some(snapshot) = self.feeds[worker].take() {
                self.absorb(worker, &snapshot);
                self.feeds[worker].give_back(snapshot);
            }
        }
        let mut ready = Vec::new();
        let keys: Vec<_> =
            self.open.iter().filter(|(_, (end, _))| *end <= settled).map(|(&key, _)| key).collect();
        for key in keys {
            if let Some((end, counts)) = self.open.remove(&key) {
                ready.push(counts.interval(self.phase, key, end));
            }
        }
        ready
    }

    /// Adds a snapshot that did not come through a feed.
    pub fn absorb(&mut self, worker: usize, snapshot: &Snapshot) {
        let Slot { stage, start, end } = snapshot.slot;
        let (open_end, counts) = self.open.entry((stage, start)).or_insert((end, Counts::default()));
        *open_end = (*open_end).max(end);
        counts.add(snapshot);
        match stage {
            Stage::Measured => {
                self.workers[worker].add(snapshot);
                let (slot_end, point) = self.slots.entry(start).or_insert((end, Point::default()));
                *slot_end = (*slot_end).max(end);
                for kind in OpKind::ALL {
                    let Some(tally) = snapshot.tally_of(kind) else { continue };
                    point.operations[kind.index()] += tally.operations;
                    point.response_sum[kind.index()] += tally.response_sum();
                }
            }
            Stage::Drain => {
                let longest = OpKind::ALL
                    .iter()
                    .filter_map(|&kind| snapshot.tally_of(kind))
                    .map(|tally| tally.response_max())
                    .max();
                self.drain_max = self.drain_max.max(longest.unwrap_or(0));
            }
            Stage::Ramp => {}
        }
    }

    /// The last intervals (empty ones for time in which no worker completed anything), each worker's totals and the
    /// phase's totals, once all workers have finished.
    /// `measured` is the measured time in nanoseconds; `ramp_end` its start.
    pub fn finish(mut self, ramp_end: u64, measured: u64) -> (Vec<Interval>, Vec<WorkerTotals>, PhaseTotals) {
        let mut intervals = self.collect(u64::MAX);
        intervals.extend(
            gaps(&self.slots, ramp_end, ramp_end + measured)
                .map(|(start, end)| Counts::default().interval(self.phase, (Stage::Measured, start), end)),
        );
        let mut totals = PhaseTotals { measured, drain_max: self.drain_max, ..PhaseTotals::default() };
        let mut workers = Vec::with_capacity(self.workers.len());
        for (worker, counts) in self.workers.iter().map(WorkerCounts::counts).enumerate() {
            totals.counts.merge(&counts);
            let ops = counts.totals();
            workers.push(WorkerTotals {
                phase: self.phase,
                worker: worker as u32,
                length: Nanos(measured),
                ops,
            });
        }
        totals.series = series(&self.slots, ramp_end, measured);
        (intervals, workers, totals)
    }
}

/// The time between the ramp's end and the end that no interval covers.
fn gaps(slots: &BTreeMap<u64, (u64, Point)>, ramp_end: u64, end: u64) -> impl Iterator<Item = (u64, u64)> {
    let mut reached = ramp_end;
    let starts = slots.iter().map(|(&start, &(slot_end, _))| (start, slot_end)).chain([(end, end)]);
    let gaps: Vec<_> = starts
        .filter_map(|(start, slot_end)| {
            let gap = (reached, start);
            reached = reached.max(slot_end);
            (gap.0 < gap.1).then_some(gap)
        })
        .collect();
    gaps.into_iter()
}

/// The intervals in order, with empty ones where no worker completed anything.
fn series(slots: &BTreeMap<u64, (u64, Point)>, ramp_end: u64, measured: u64) -> Vec<Point> {
    let end = ramp_end + measured;
    let seconds = |from: u64, to: u64| to.saturating_sub(from) as f64 / 1e9;
    let gap =
        |from: u64, to: u64| (to > from).then(|| Point { seconds: seconds(from, to), ..Point::default() });
    let mut series = Vec::with_capacity(slots.len());
    let mut reached = ramp_end;
    for (&start, &(slot_end, point)) in slots {
        series.extend(gap(reached, start));
        let slot_end = slot_end.min(end.max(start));
        series.push(Point { seconds: seconds(start.max(reached), slot_end), ..point });
        reached = slot_end.max(reached);
    }
    series.extend(gap(reached, end));
    series
}

impl WorkerCounts {
    fn add(&mut self, snapshot: &Snapshot) {
        for kind in OpKind::ALL {
            if let Some(tally) = snapshot.tally_of(kind).filter(|tally| !tally.is_empty()) {
                self.0[kind.index()].get_or_insert_default().add(tally);
            }
        }
    }

    fn counts(&self) -> Counts {
        Counts(self.0.each_ref().map(|ledger| ledger.as_deref().map(|ledger| Box::new(ledger.record()))))
    }
}

impl Counts {
    fn add(&mut self, snapshot: &Snapshot) {
        for kind in OpKind::ALL {
            if let Some(tally) = snapshot.tally_of(kind).filter(|tally| !tally.is_empty()) {
                self.0[kind.index()].get_or_insert_default().add(tally);
            }
        }
    }

    fn merge(&mut self, other: &Counts) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            if let Some(theirs) = theirs {
                mine.get_or_insert_default().merge(theirs);
            }
        }
    }

    fn totals(&self) -> Vec<iolite_model::OpTotals> {
        let records = OpKind::ALL.iter().zip(&self.0);
        records.filter_map(|(&kind, record)| record.as_ref().map(|record| record.totals(kind))).collect()
    }

    fn interval(&self, phase: u32, (stage, start): (Stage, u64), end: u64) -> Interval {
        // The drain has no end of its own: its length is told as zero.
        let length = if end == u64::MAX { 0 } else { end - start };
        Interval { phase, start: Nanos(start), length: Nanos(length), stage, ops: self.totals() }
    }
}

impl PhaseTotals {
    /// Operations of a kind that succeeded.
    pub fn operations(&self, kind: OpKind) -> u64 {
        self.record_of(kind).map_or(0, |record| record.operations)
    }

    /// Operations of a kind that failed.
    pub fn errors(&self, kind: OpKind) -> u64 {
        self.record_of(kind).map_or(0, |record| record.errors)
    }

    /// Bytes moved by a kind.
    pub fn bytes(&self, kind: OpKind) -> u64 {
        self.record_of(kind).map_or(0, |record| record.bytes)
    }

    /// Response times of a kind, where it occurred.
    pub fn response(&self, kind: OpKind) -> Option<&Histogram> {
        self.record_of(kind).map(|record| &record.response)
    }

    /// Service times of a kind, where it occurred.
    pub fn service(&self, kind: OpKind) -> Option<&Histogram> {
        self.record_of(kind).map(|record| &record.service)
    }

    pub(crate) fn record_of(&self, kind: OpKind) -> Option<&OpRecord> {
        self.counts.0[kind.index()].as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::{Completion, Timetable, recorder};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn intervals_and_workers_each_add_up_to_the_totals(
            workers in prop::collection::vec(prop::collection::vec((0u64..400, 0usize..4, 1u64..50), 0..80), 1..5),
            settle in 1u64..300,
        ) {
            let timetable = Timetable { ramp_end: 50, interval: 30, end: 300 };
            let (mut recorders, feeds): (Vec<_>, Vec<_>) = workers.iter().map(|_| recorder(timetable, &[OpKind::Read])).unzip();
            let mut collector = Collector::new(7, feeds);
            let mut intervals = Vec::new();
            for (recorder, ops) in recorders.iter_mut().zip(&workers) {
                let mut ops = ops.clone();
                ops.sort_unstable();
                for (completed, kind, latency) in ops {
                    let intended = completed.saturating_sub(latency);
                    recorder.record(Completion { kind: OpKind::ALL[kind], intended, issued: intended, completed, bytes: 8 });
                }
                intervals.extend(collector.collect(settle));
            }
            for (worker, recorder) in recorders.into_iter().enumerate() {
                recorder.finish().iter().for_each(|snapshot| collector.absorb(worker, snapshot));
            }
            let (rest, by_worker, totals) = collector.finish(50, 250);
            intervals.extend(rest);

            let measured = |kind: OpKind| workers.iter().flatten().filter(|(at, k, _)| *k == kind.index() && (50..300).contains(at)).count() as u64;
            for kind in OpKind::ALL {
                let of = |ops: &[iolite_model::OpTotals]| ops.iter().filter(|op| op.kind == kind).map(|op| op.operations).sum::<u64>();
                let from_intervals: u64 = intervals.iter().filter(|i| i.stage == Stage::Measured).map(|i| of(&i.ops)).sum();
                let from_workers: u64 = by_worker.iter().map(|w| of(&w.ops)).sum();
                let from_series: u64 = totals.series.iter().map(|point| point.operations[kind.index()]).sum();
                prop_assert_eq!(totals.operations(kind), measured(kind));
                prop_assert_eq!(from_intervals, measured(kind));
                prop_assert_eq!(from_workers, measured(kind));
                prop_assert_eq!(from_series, measured(kind));
            }
            let length: f64 = totals.series.iter().map(|point| point.seconds).sum();
            prop_assert!((length - 250e-9).abs() < 1e-12);
        }
    }
}
