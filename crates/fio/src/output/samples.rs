//! Bandwidth and IOPS over time: from the exact intervals of what was measured.

use std::collections::BTreeMap;

use iolite_model::{BackendKind, FileTask, OpKind, Task};
use iolite_stats::Point;

use super::result::JobResult;

/// Whether its operations are about data at all: what keeps CPUs busy is counted in operations alone, as in fio.
pub(super) fn moves_data(job: &JobResult) -> bool {
    !matches!(&job.phase.info.task, Task::File(FileTask { backend: BackendKind::Busy(_), .. }))
}

/// Values of intervals.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Samples {
    pub(crate) count: u64,
    pub(crate) min: f64,
    pub(crate) max: f64,
    pub(crate) mean: f64,
    pub(crate) deviation: f64,
}

impl Samples {
    fn of(values: &[f64]) -> Samples {
        if values.is_empty() {
            return Samples::default();
        }
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        Samples {
            count: values.len() as u64,
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            max: values.iter().copied().fold(0.0, f64::max),
            mean,
            // As fio's: of a sample.
            deviation: if values.len() > 1 { (squares / (count - 1.0)).sqrt() } else { 0.0 },
        }
    }

    /// In another unit.
    pub(crate) fn scaled(self, factor: f64) -> Samples {
        Samples {
            count: self.count,
            min: self.min * factor,
            max: self.max * factor,
            mean: self.mean * factor,
            deviation: self.deviation * factor,
        }
    }
}

/// What jobs did together in an interval.
#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    /// In nanoseconds.
    length: u64,
    bytes: u64,
    operations: u64,
}

/// Bytes a second and operations a second of these kinds: what the jobs did together, from interval to interval. An
/// incomplete last one is left out unless it is the only one.
pub(crate) fn samples(jobs: &[&JobResult], kinds: &[OpKind]) -> (Samples, Samples) {
    let mut cells = cells(jobs, kinds);
    if let Some((last, before)) = cells.split_last()
        && before.iter().any(|cell| last.length < cell.length / 1000 * 999)
    {
        cells.pop();
    }
    let column = |value: fn(&Cell) -> u64| {
        let rate = |cell: &Cell| value(cell) as f64 * 1e9 / cell.length as f64;
        Samples::of(&cells.iter().map(rate).collect::<Vec<_>>())
    };
    (column(|cell| cell.bytes), column(|cell| cell.operations))
}

/// The intervals from each instant at which all jobs that run have an interval's end to the next.
fn cells(jobs: &[&JobResult], kinds: &[OpKind]) -> Vec<Cell> {
    let first = jobs.iter().map(|job| start(job)).min().unwrap_or(0);
    let courses: Vec<JobSeries> = jobs.iter().map(|job| JobSeries::of(job, first, kinds)).collect();
    let mut ends: Vec<u64> = courses.iter().flat_map(|course| course.points.keys().copied()).collect();
    ends.sort_unstable();
    ends.dedup();
    let (mut cells, mut from) = (Vec::new(), courses.iter().map(|course| course.start).min().unwrap_or(0));
    let mut open = Cell::default();
    for end in ends {
        for point in courses.iter().filter_map(|course| course.points.get(&end)) {
            open.bytes += point.bytes;
            open.operations += point.operations;
        }
        if courses.iter().all(|course| course.allows(end)) && end > from {
            cells.push(Cell { length: end - from, ..std::mem::take(&mut open) });
            from = end;
        }
    }
    cells
}

/// What a job did, by the ends of its intervals in nanoseconds.
struct JobSeries {
    start: u64,
    end: u64,
    points: BTreeMap<u64, Cell>,
}

impl JobSeries {
    fn of(job: &JobResult, first: u64, kinds: &[OpKind]) -> JobSeries {
        let series = &job.phase.totals.series;
        let width = series.first().map_or(1, |point| nanos(point).max(1));
        // Jobs that started together did so to some microseconds: their intervals are taken as side by side.
        let start = (start(job) - first + width / 2) / width * width;
        let moves = moves_data(job);
        let (mut end, mut points) = (start, BTreeMap::<u64, Cell>::new());
        for point in series {
            end = end.saturating_add(nanos(point));
            let cell = points.entry(end).or_default();
            for kind in kinds {
                cell.bytes += if moves { point.bytes[*kind] } else { 0 };
                cell.operations += point.operations[*kind];
            }
        }
        JobSeries { start, end, points }
    }

    /// Whether an instant cuts none of its intervals.
    fn allows(&self, instant: u64) -> bool {
        instant <= self.start || instant >= self.end || self.points.contains_key(&instant)
    }
}

fn nanos(point: &Point) -> u64 {
    (point.seconds * 1e9).round() as u64
}

/// When what is measured of a job starts, in nanoseconds since the run's start.
fn start(job: &JobResult) -> u64 {
    job.started_unix.0.saturating_add(job.phase.totals.ramp_end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::synthetic::job;

    fn iops(jobs: &[JobResult]) -> Samples {
        samples(&jobs.iter().collect::<Vec<_>>(), &[OpKind::Read]).1
    }

    fn reads(started: u64) -> JobResult {
        let mut job = job("r", 0, &[(OpKind::Read, 20_000.0)]);
        job.started_unix.0 += started;
        job
    }

    fn near(value: f64, expected: f64) {
        assert!((value / expected - 1.0).abs() < 0.04, "{value} is not {expected}");
    }

    #[test]
    fn jobs_that_start_together_add_up_even_some_microseconds_apart() {
        let one = iops(&[reads(0)]);
        assert_eq!(one.count, 10);
        let both = iops(&[reads(0), reads(90_000)]);
        assert_eq!((both.count, both.min, both.max), (10, 2.0 * one.min, 2.0 * one.max));
        near(both.mean, 40_000.0);
    }

    #[test]
    fn jobs_one_after_the_other_do_not() {
        // The second starts when the first has 100 ms to go.
        let both = iops(&[reads(0), reads(150_000_000)]);
        assert_eq!(both.count, 16);
        near(both.min, 20_000.0);
        near(both.max, 40_000.0);
        near(both.mean, 10_000.0 / 0.4);
    }

    #[test]
    fn intervals_of_different_lengths_meet_at_their_common_ends() {
        let mut coarse = reads(0);
        let joined = coarse.phase.totals.series.chunks(2).map(|pair| {
            let mut point = pair[0].clone();
            point.seconds += pair[1].seconds;
            point.operations[OpKind::Read] += pair[1].operations[OpKind::Read];
            point
        });
        coarse.phase.totals.series = joined.collect();
        let both = iops(&[reads(0), coarse]);
        assert_eq!(both.count, 5);
        near(both.mean, 40_000.0);
    }

    #[test]
    fn an_incomplete_last_interval_is_left_out_unless_it_is_the_only_one() {
        let mut cut = reads(0);
        if let Some(last) = cut.phase.totals.series.last_mut() {
            last.seconds /= 2.0;
        }
        assert_eq!(iops(&[cut.clone()]).count, 9);
        cut.phase.totals.series.truncate(1);
        cut.phase.totals.series[0].seconds /= 2.0;
        let only = iops(&[cut.clone()]);
        assert_eq!((only.count, only.deviation), (1, 0.0));
        near(only.mean, 40_000.0);
        cut.phase.totals.series.clear();
        assert_eq!(iops(&[cut]), Samples::default());
    }
}
