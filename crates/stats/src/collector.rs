//! Adds the workers' snapshots up: into intervals for the consumers, and into the totals.

use std::collections::BTreeMap;

use iolite_model::{Interval, Nanos, Stage, WorkerTotals};

use crate::counts::{Counts, ReportedCounts};
use crate::coverage::Coverage;
use crate::histogram::HistogramError;
use crate::recorder::{Feed, Snapshot};
use crate::sections::Sections;
use crate::series::Series;
use crate::timetable::{Slot, Timetable};
use crate::totals::{PhaseTotals, UnmeasuredCounts};

/// Collects from every worker of a phase, on a thread that does not measure.
///
/// What it holds does not grow with the length of the phase: the intervals that are not settled yet, a series of 4,096
/// points at most, and for each worker the durations that have occurred.
#[derive(Debug)]
pub struct Collector {
    phase: u32,
    feeds: Vec<Feed>,
    open: BTreeMap<(Stage, u64), (u64, Counts)>,
    coverage: Coverage,
    series: Series,
    sections: Sections,
    workers: Vec<Counts>,
    drain_max: u64,
    beside: UnmeasuredCounts,
}

impl Collector {
    /// A collector for the workers' feeds, in the order of the workers; all of one timetable.
    pub fn new(phase: u32, feeds: Vec<Feed>) -> Collector {
        let (workers, grid) = (feeds.len(), feeds.first().map_or((0, 1), Feed::grid));
        Collector { feeds, ..Collector::over(phase, workers, grid) }
    }

    /// A collector for workers of other processes, whose intervals are [absorbed](Collector::absorb_interval).
    pub fn without_feeds(phase: u32, workers: u32, timetable: Timetable) -> Collector {
        Collector::over(phase, workers as usize, (timetable.ramp_end, timetable.interval))
    }

    fn over(phase: u32, workers: usize, (origin, interval): (u64, u64)) -> Collector {
        Collector {
            phase,
            feeds: Vec::new(),
            open: BTreeMap::new(),
            coverage: Coverage::default(),
            series: Series::new(origin, interval),
            sections: Sections::new(origin, interval),
            workers: vec![Counts::default(); workers],
            drain_max: 0,
            beside: UnmeasuredCounts::default(),
        }
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
                ready.push(self.interval(key, end, &counts));
            }
        }
        while let Some(idle) = self.coverage.oldest_idle() {
            ready.push(self.idle(idle));
        }
        ready
    }

    /// Adds a snapshot that did not come through a feed, of one of the workers there are.
    pub fn absorb(&mut self, worker: usize, snapshot: &Snapshot) {
        debug_assert!(worker < self.workers.len(), "a snapshot of a worker of another group");
        let Slot { stage, start, end } = snapshot.slot;
        debug_assert!(start <= end, "an interval ends before it begins");
        let (open_end, counts) = self.open.entry((stage, start)).or_insert((end, Counts::default()));
        *open_end = (*open_end).max(end);
        counts.add(snapshot);
        if stage != Stage::Measured {
            for (kind, tally) in snapshot.tallies() {
                self.beside.add(kind, tally.sums.operations, tally.sums.bytes);
                self.beside.add_errors(tally.sums.errors);
            }
        }
        match stage {
            Stage::Measured => {
                if let Some(worker) = self.workers.get_mut(worker) {
                    worker.add(snapshot);
                }
                self.coverage.add(start, end);
                self.series.add((start, end), snapshot.tallies().map(|(kind, tally)| (kind, &tally.sums)));
                for (kind, tally) in snapshot.tallies().filter(|(_, tally)| tally.sums.operations > 0) {
                    let histogram = self.sections.at(start, end).response_mut(kind);
                    tally.add_responses(histogram);
                }
            }
            Stage::Drain => {
                let longest = snapshot.tallies().map(|(_, tally)| tally.sums.response_max).max();
                self.drain_max = self.drain_max.max(longest.unwrap_or(0));
            }
            Stage::Ramp => {}
        }
    }

    /// Adds what a worker of another process has measured in an interval. One in which nothing occurred covers no time: it
    /// says nothing of the other workers.
    ///
    /// # Errors
    /// A histogram of it is damaged: then nothing of the interval is added.
    pub fn absorb_interval(&mut self, worker: usize, interval: &Interval) -> Result<(), HistogramError> {
        debug_assert!(worker < self.workers.len(), "an interval of a worker of another group");
        let occurred = interval.ops.iter().filter(|op| op.operations > 0 || op.errors > 0);
        let reported = occurred.map(ReportedCounts::try_from).collect::<Result<Vec<_>, _>>()?;
        if reported.is_empty() {
            return Ok(());
        }
        let (stage, start) = (interval.stage, interval.start.0);
        let end = if stage == Stage::Drain { u64::MAX } else { start.saturating_add(interval.length.0) };
        let (open_end, counts) = self.open.entry((stage, start)).or_insert((end, Counts::default()));
        *open_end = (*open_end).max(end);
        reported.iter().for_each(|of_kind| counts.add_reported(of_kind));
        if stage == Stage::Measured {
            self.coverage.add(start, end);
            self.series.add((start, end), reported.iter().map(|of_kind| (of_kind.kind, &of_kind.sums)));
        }
        for of_kind in &reported {
            let sums = &of_kind.sums;
            if stage == Stage::Measured {
                self.workers[worker].add_reported(of_kind);
            } else {
                self.beside.add(of_kind.kind, sums.operations, sums.bytes);
                self.beside.add_errors(sums.errors);
            }
            if stage == Stage::Measured && sums.operations > 0 {
                of_kind.add_responses(self.sections.at(start, end).response_mut(of_kind.kind));
            }
            if stage == Stage::Drain {
                self.drain_max = self.drain_max.max(sums.response_max);
            }
        }
        Ok(())
    }

    /// The last intervals (empty ones for time in which no worker completed anything), each worker's totals and the
    /// phase's totals, once all workers have finished.
    /// `measured` is the measured time in nanoseconds; `ramp_end` its start.
    pub fn finish(mut self, ramp_end: u64, measured: u64) -> (Vec<Interval>, Vec<WorkerTotals>, PhaseTotals) {
        let mut intervals = self.collect(u64::MAX);
        let end = ramp_end.saturating_add(measured);
        intervals.extend(self.coverage.idle(ramp_end, end).into_iter().map(|idle| self.idle(idle)));
        let mut counts = Counts::default();
        let mut workers = Vec::with_capacity(self.workers.len());
        for (worker, worker_counts) in self.workers.iter_mut().enumerate() {
            worker_counts.shrink();
            counts.merge(worker_counts);
            workers.push(WorkerTotals {
                phase: self.phase,
                worker: worker as u32,
                length: Nanos(measured),
                ops: worker_counts.totals(),
                percentiles: worker_counts.percentiles(),
            });
        }
        let series = self.series.points(ramp_end, end);
        let cut = self.sections.finish(ramp_end);
        let (drain_max, beside) = (self.drain_max, self.beside);
        (intervals, workers, PhaseTotals { counts, ramp_end, measured, series, cut, drain_max, beside })
    }

    fn interval(&self, (stage, start): (Stage, u64), end: u64, counts: &Counts) -> Interval {
        // The drain has no end of its own: its length is reported as zero.
        let length = if end == u64::MAX { 0 } else { end.saturating_sub(start) };
        Interval {
            phase: self.phase,
            start: Nanos(start),
            length: Nanos(length),
            stage,
            ops: counts.totals(),
        }
    }

    fn idle(&self, (start, end): (u64, u64)) -> Interval {
        self.interval((Stage::Measured, start), end, &Counts::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::{Completion, recorder};
    use crate::timetable::Timetable;
    use iolite_model::OpKind;
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
                    recorder.record(Completion { kind: OpKind::STANDARD[kind], intended, issued: intended, completed, bytes: 8 });
                }
                intervals.extend(collector.collect(settle));
            }
            for (worker, recorder) in recorders.into_iter().enumerate() {
                recorder.finish().iter().for_each(|snapshot| collector.absorb(worker, snapshot));
            }
            let (rest, by_worker, totals) = collector.finish(50, 250);
            intervals.extend(rest);

            let measured = |kind: OpKind| workers.iter().flatten().filter(|(at, k, _)| *k == kind.index() && (50..300).contains(at)).count() as u64;
            for kind in OpKind::STANDARD {
                let of = |ops: &[iolite_model::OpTotals]| ops.iter().filter(|op| op.kind == kind).map(|op| op.operations).sum::<u64>();
                let from_intervals: u64 = intervals.iter().filter(|i| i.stage == Stage::Measured).map(|i| of(&i.ops)).sum();
                let from_workers: u64 = by_worker.iter().map(|w| of(&w.ops)).sum();
                let from_series: u64 = totals.series.iter().map(|point| point.operations[kind]).sum();
                prop_assert_eq!(totals.operations(kind), measured(kind));
                let all = workers.iter().flatten().filter(|(_, k, _)| *k == kind.index()).count() as u64;
                prop_assert_eq!(totals.whole(kind), (all, 8 * all));
                prop_assert_eq!(from_intervals, measured(kind));
                prop_assert_eq!(from_workers, measured(kind));
                prop_assert_eq!(from_series, measured(kind));
                let bytes: u64 = totals.series.iter().map(|point| point.bytes[kind]).sum();
                prop_assert_eq!(bytes, totals.bytes(kind));
            }
            for worker in &by_worker {
                let reported: Vec<_> = worker.percentiles.iter().map(|of| of.kind).collect();
                prop_assert_eq!(reported, worker.ops.iter().map(|op| op.kind).collect::<Vec<_>>());
                for of in &worker.percentiles {
                    let mut times: Vec<u64> = workers[worker.worker as usize]
                        .iter()
                        .filter(|(at, kind, _)| *kind == of.kind.index() && (50..300).contains(at))
                        .map(|(at, _, latency)| *(latency.min(at)))
                        .collect();
                    times.sort_unstable();
                    let at = |share: f64| Nanos(times[(share * times.len() as f64).ceil() as usize - 1]);
                    prop_assert_eq!((of.p50, of.p95, of.p99, of.p999), (at(0.5), at(0.95), at(0.99), at(0.999)));
                }
            }
            let length: f64 = totals.series.iter().map(|point| point.seconds).sum();
            prop_assert!((length - 250e-9).abs() < 1e-12);
        }
    }

    /// Feeds a day of intervals through two workers, collected every other of them: intervals reported, and the totals.
    fn day(interval: u64, intervals: u64) -> (u64, PhaseTotals) {
        let timetable = Timetable { ramp_end: 0, interval, end: interval * intervals };
        let (mut recorders, feeds): (Vec<_>, Vec<_>) =
            (0..2).map(|_| recorder(timetable, &[OpKind::Read])).unzip();
        let mut collector = Collector::new(0, feeds);
        let mut reported = 0;
        for number in 0..intervals {
            let issued = number * interval;
            let op = Completion {
                kind: OpKind::Read,
                intended: issued,
                issued,
                completed: issued + 1000,
                bytes: 1,
            };
            for recorder in &mut recorders {
                recorder.record(op);
            }
            if number % 2 == 0 {
                reported += collector.collect(issued).len() as u64;
                assert!(collector.open.len() < 5);
            }
        }
        for (worker, recorder) in recorders.into_iter().enumerate() {
            recorder.finish().iter().for_each(|snapshot| collector.absorb(worker, snapshot));
        }
        let (rest, _, totals) = collector.finish(0, interval * intervals);
        (reported + rest.len() as u64, totals)
    }

    #[test]
    fn a_day_of_intervals_is_reported_in_full_and_held_in_a_bounded_series() {
        // A day of 1 s, and some of one of 10 ms: the series' own test has all of it.
        let short = if cfg!(debug_assertions) { 10_000 } else { 1_000_000 };
        for (interval, intervals) in [(1_000_000_000, 86_400), (10_000_000, short)] {
            let (reported, totals) = day(interval, intervals);
            assert_eq!(reported, intervals);
            assert_eq!(totals.operations(OpKind::Read), 2 * intervals);
            assert_eq!(
                totals.series.iter().map(|point| point.operations[OpKind::Read]).sum::<u64>(),
                2 * intervals
            );
            assert!(totals.series.len() <= 4096, "{}", totals.series.len());
            println!("{intervals} intervals: {} points", totals.series.len());
        }
    }
}
