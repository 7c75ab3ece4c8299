//! Makes one phase of what several processes measured.

use iolite_model::{Interval, Stage};

use crate::counts::{Counts, ReportedCounts};
use crate::histogram::HistogramError;
use crate::sections::Sections;
use crate::series::Series;
use crate::sums::Sums;
use crate::timetable::Timetable;
use crate::totals::{PhaseTotals, UnmeasuredCounts};

/// Adds up the intervals of several [`Collector`](crate::Collector)s of one phase: the totals are exactly those that one
/// collector over all their workers would have given.
///
/// Intervals are all it needs, and they are also what is left of a process that died. Like a collector it holds no more the
/// longer the phase is.
#[derive(Debug, Clone)]
pub struct Merger {
    counts: Counts,
    series: Series,
    sections: Sections,
    drain_max: u64,
    beside: UnmeasuredCounts,
    /// The earliest start of a measured interval, or else the end of the ramp.
    began: Option<(Stage, u64)>,
}

impl Merger {
    /// A merger for collectors of this timetable; its end is ignored.
    pub fn new(timetable: Timetable) -> Merger {
        let series = Series::new(timetable.ramp_end, timetable.interval);
        let sections = Sections::new(timetable.ramp_end, timetable.interval);
        Merger {
            counts: Counts::default(),
            series,
            sections,
            drain_max: 0,
            beside: UnmeasuredCounts::default(),
            began: None,
        }
    }

    /// When the measured part began, as far as the intervals show, in nanoseconds since the phase's start: for a phase whose ramp
    /// an amount of I/O ended.
    pub fn began(&self) -> u64 {
        self.began.map_or(0, |(_, at)| at)
    }

    /// Notes where an interval was.
    fn note(&mut self, interval: &Interval) {
        let (start, end) = (interval.start.0, interval.start.0.saturating_add(interval.length.0));
        self.began = match (self.began, interval.stage) {
            (Some((Stage::Measured, at)), Stage::Measured) => Some((Stage::Measured, at.min(start))),
            (_, Stage::Measured) => Some((Stage::Measured, start)),
            (None, Stage::Ramp) => Some((Stage::Ramp, end)),
            (Some((Stage::Ramp, at)), Stage::Ramp) => Some((Stage::Ramp, at.max(end))),
            (began, _) => began,
        };
    }

    /// Adds an interval. The ramp's and the drain's are not in the totals but counted beside them, and the longest response of
    /// the drain is kept.
    ///
    /// # Errors
    /// A histogram of it is damaged: then nothing of the interval is added.
    pub fn absorb(&mut self, interval: &Interval) -> Result<(), HistogramError> {
        self.note(interval);
        let occurred = || interval.ops.iter().filter(|op| op.operations > 0 || op.errors > 0);
        if interval.stage != Stage::Measured {
            for op in &interval.ops {
                self.beside.add(op.kind, op.operations, op.bytes);
                self.beside.add_errors(op.errors);
            }
        }
        match interval.stage {
            Stage::Measured => {
                let reported = occurred().map(ReportedCounts::try_from).collect::<Result<Vec<_>, _>>()?;
                let start = interval.start.0;
                let end = start.saturating_add(interval.length.0);
                self.series
                    .add((start, end), reported.iter().map(|reported| (reported.kind, &reported.sums)));
                for reported in &reported {
                    if reported.sums.operations > 0 {
                        reported.add_responses(self.sections.at(start, end).response_mut(reported.kind));
                    }
                    self.counts.add_reported(reported);
                }
            }
            Stage::Drain => {
                let longest = occurred().map(|op| Sums::from(op).response_max).max();
                self.drain_max = self.drain_max.max(longest.unwrap_or(0));
            }
            Stage::Ramp => {}
        }
        Ok(())
    }

    /// The phase's totals, once all processes have finished. `measured` is the measured time in nanoseconds; `ramp_end`
    /// its start.
    pub fn finish(mut self, ramp_end: u64, measured: u64) -> PhaseTotals {
        self.counts.shrink();
        let series = self.series.points(ramp_end, ramp_end.saturating_add(measured));
        PhaseTotals {
            counts: self.counts,
            ramp_end,
            measured,
            series,
            cut: self.sections.finish(ramp_end),
            drain_max: self.drain_max,
            beside: self.beside,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collector::Collector;
    use crate::recorder::{Completion, Recorder, recorder};
    use crate::series::Point;
    use iolite_model::{HistogramBytes, Nanos, OpKind};
    use proptest::prelude::*;

    /// When it completed, its kind, how long it took, how much of that it was late, and whether it failed.
    type Op = (u64, usize, u64, u64, bool);

    fn record(recorder: &mut Recorder, (completed, kind, latency, late, failed): Op) {
        let kind = OpKind::STANDARD[kind];
        if failed {
            return recorder.record_error(kind, completed);
        }
        let intended = completed.saturating_sub(latency);
        let issued = (intended + late).min(completed);
        recorder.record(Completion { kind, intended, issued, completed, bytes: latency });
    }

    /// What the collectors of some workers each report. One that is late finds snapshots missing, so that intervals are prolonged.
    fn collect(
        timetable: Timetable,
        workers: &[Vec<Op>],
        every: usize,
        measured: u64,
    ) -> (Vec<Interval>, PhaseTotals) {
        let (mut recorders, feeds): (Vec<_>, Vec<_>) =
            workers.iter().map(|_| recorder(timetable, &[OpKind::Read])).unzip();
        let mut collector = Collector::new(3, feeds);
        let mut intervals = Vec::new();
        let longest = workers.iter().map(Vec::len).max().unwrap_or(0);
        for number in 0..longest {
            for (recorder, ops) in recorders.iter_mut().zip(workers) {
                ops.get(number).into_iter().for_each(|&op| record(recorder, op));
            }
            if number % every == 0 {
                intervals.extend(collector.collect(timetable.end / 2));
            }
        }
        for (worker, recorder) in recorders.into_iter().enumerate() {
            recorder.finish().iter().for_each(|snapshot| collector.absorb(worker, snapshot));
        }
        let (rest, _, totals) = collector.finish(timetable.ramp_end, measured);
        intervals.extend(rest);
        (intervals, totals)
    }

    /// A process for each worker, whose intervals one collector adds up.
    fn collected(timetable: Timetable, workers: &[Vec<Op>], measured: u64) -> (Vec<Interval>, PhaseTotals) {
        let mut collector = Collector::without_feeds(3, workers.len() as u32, timetable);
        for (worker, ops) in workers.iter().enumerate() {
            let (intervals, _) = collect(timetable, std::slice::from_ref(ops), 1, measured);
            intervals.iter().for_each(|interval| collector.absorb_interval(worker, interval).unwrap());
        }
        let (intervals, by_worker, totals) = collector.finish(timetable.ramp_end, measured);
        let of = |ops: &[iolite_model::OpTotals]| ops.iter().map(|op| op.operations).sum::<u64>();
        let sum: u64 = by_worker.iter().map(|worker| of(&worker.ops)).sum();
        assert_eq!(sum, OpKind::STANDARD.iter().map(|kind| totals.operations(*kind)).sum::<u64>());
        (intervals, totals)
    }

    /// Splits the workers over processes and merges what they report.
    fn merged(timetable: Timetable, workers: &[Vec<Op>], processes: usize, measured: u64) -> PhaseTotals {
        let mut merger = Merger::new(timetable);
        for process in 0..processes {
            let of_process: Vec<_> = workers.iter().skip(process).step_by(processes).cloned().collect();
            let (intervals, _) = collect(timetable, &of_process, 1, measured);
            intervals.iter().for_each(|interval| merger.absorb(interval).unwrap());
        }
        merger.finish(timetable.ramp_end, measured)
    }

    fn workers(ops: usize, until: u64) -> impl Strategy<Value = Vec<Vec<Op>>> {
        let op = (0..until, 0..OpKind::STANDARD.len(), 1u64..5_000_000, 0u64..3, prop::bool::weighted(0.1));
        let ops = prop::collection::vec(op, 0..ops).prop_map(|mut ops| {
            ops.sort_unstable();
            ops
        });
        prop::collection::vec(ops, 1..6)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

        #[test]
        fn processes_add_up_to_what_one_collector_counts(workers in workers(40, 400), processes in 1usize..4) {
            let timetable = Timetable { ramp_end: 50, interval: 30, end: 300 };
            let (_, whole) = collect(timetable, &workers, 1, 250);
            let merged = merged(timetable, &workers, processes, 250);
            let (intervals, collected) = collected(timetable, &workers, 250);
            prop_assert_eq!(&collected, &whole);
            let length: u64 = intervals.iter().filter(|of| of.stage == Stage::Measured).map(|of| of.length.0).sum();
            prop_assert_eq!(length, 250, "all time, also idle time, is covered once");
            for kind in OpKind::STANDARD {
                let of = |totals: &PhaseTotals| totals.record_of(kind).map(|record| record.sums);
                prop_assert_eq!(of(&merged), of(&whole));
                let bytes = |totals: &PhaseTotals| totals.response(kind).map(|histogram| histogram.encode().0);
                prop_assert_eq!(bytes(&merged), bytes(&whole));
            }
            prop_assert_eq!(&merged.series, &whole.series);
            prop_assert_eq!(merged, whole);
        }

        #[test]
        fn a_late_collector_prolongs_intervals_and_counts_the_same(workers in workers(80, 2000), every in 1usize..40) {
            let timetable = Timetable { ramp_end: 0, interval: 30, end: 2000 };
            let (intervals, whole) = collect(timetable, &workers, every, 2000);
            let mut merger = Merger::new(timetable);
            intervals.iter().for_each(|interval| merger.absorb(interval).unwrap());
            prop_assert_eq!(merger.finish(0, 2000), whole);
        }
    }

    /// More intervals than a series has points, from two processes.
    #[test]
    fn long_phases_are_joined_alike() {
        let timetable = Timetable { ramp_end: 7, interval: 10, end: 60_000 };
        let op = |number: u64| {
            (number * 13, (number % 3) as usize, 1 + number % 900, number % 2, number.is_multiple_of(50))
        };
        let workers: Vec<Vec<Op>> =
            (0..3).map(|worker| (0..4_000).filter(|number| number % 3 == worker).map(op).collect()).collect();
        let measured = timetable.end - timetable.ramp_end;
        let (_, whole) = collect(timetable, &workers, 1, measured);
        assert!(whole.series.len() > 2000 && whole.series.len() <= 4096, "{}", whole.series.len());
        assert_eq!(merged(timetable, &workers, 2, measured), whole);
    }

    #[test]
    fn a_broken_histogram_is_an_error_and_adds_nothing() {
        let timetable = Timetable { ramp_end: 0, interval: 10, end: 20 };
        let op = |at| (at, 0, 1, 0, false);
        let (mut intervals, _) = collect(timetable, &[vec![op(5), op(15)]], 1, 20);
        let mut merger = Merger::new(timetable);
        assert_eq!(intervals.len(), 2);
        intervals[0].ops[0].service = HistogramBytes(vec![1, 2, 3]);
        assert!(merger.absorb(&intervals[0]).unwrap_err().to_string().contains("cut off"));
        intervals[1].ops[0].response_sum = Nanos(u64::MAX);
        merger.absorb(&intervals[1]).unwrap();
        merger.absorb(&intervals[1]).unwrap();
        let totals = merger.finish(0, 20);
        assert_eq!(totals.operations(OpKind::Read), 2);
        assert_eq!(
            totals.series.iter().map(|point| point.operations[OpKind::Read]).collect::<Vec<_>>(),
            [0, 2]
        );
    }

    #[test]
    fn phases_side_by_side_add_up() {
        let timetable = Timetable { ramp_end: 0, interval: 10, end: 40 };
        let op = |at| (at, 0, 1, 0, false);
        let of = |ops: &[u64], measured| {
            collect(timetable, &[ops.iter().map(|&at| op(at)).collect()], 1, measured).1
        };
        let (steady, stalled) = (of(&[5, 15, 25, 35], 40), of(&[3, 33], 40));
        let sum = steady.merge(&stalled);
        assert_eq!((sum.operations(OpKind::Read), sum.bytes(OpKind::Read), sum.measured), (6, 6, 40));
        assert_eq!(sum.response(OpKind::Read).unwrap().count(), 6);
        let reported: Vec<_> =
            sum.series.iter().map(|p| ((p.seconds * 1e9).round(), p.operations[OpKind::Read])).collect();
        assert_eq!(reported, [(10.0, 2), (10.0, 1), (10.0, 1), (10.0, 2)]);
        assert_eq!(sum, stalled.merge(&steady));
        // Of another length: nothing to join by.
        assert_eq!(steady.merge(&of(&[3], 35)).series, []);
        // Joined where the intervals of both end.
        let joined = PhaseTotals {
            series: vec![steady.series[0].clone(), Point { seconds: 30e-9, ..Point::default() }],
            ..PhaseTotals::default()
        };
        let reported: Vec<_> =
            steady.merge(&joined).series.iter().map(|point| point.operations[OpKind::Read]).collect();
        assert_eq!(reported, [2, 3]);
    }
}
