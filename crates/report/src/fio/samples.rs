//! Bandwidth and IOPS over time: from the exact intervals of what was measured.

use iolite_model::OpKind;
use iolite_stats::Point;

use super::result::JobResult;

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

/// What jobs did together in an interval, in bytes and operations.
#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    bytes: f64,
    operations: f64,
}

/// Bytes a second and operations a second of these kinds: what the jobs did together, from interval to interval. An
/// incomplete last one is left out unless it is the only one.
pub(crate) fn samples(jobs: &[&JobResult], kinds: &[OpKind]) -> (Samples, Samples) {
    // In long phases intervals are joined: the longest of all is the grid.
    let lengths = jobs.iter().flat_map(|job| &job.phase.totals.series).map(|point| point.seconds);
    let width = lengths.fold(0.0, f64::max);
    if width <= 0.0 {
        return (Samples::default(), Samples::default());
    }
    let first = jobs.iter().map(|job| start(job)).fold(f64::INFINITY, f64::min);
    let mut cells: Vec<Cell> = Vec::new();
    let mut end = 0.0f64;
    for job in jobs {
        // Whole intervals, so that none is cut.
        let mut at = ((start(job) - first) / width).round() * width;
        for point in &job.phase.totals.series {
            let index = ((at + point.seconds / 2.0) / width) as usize;
            cells.resize(cells.len().max(index + 1), Cell::default());
            for &kind in kinds {
                cells[index].bytes += bytes(job, point, kind);
                cells[index].operations += point.operations[kind.index()] as f64;
            }
            at += point.seconds;
        }
        end = end.max(at);
    }
    let complete = (end / width * (1.0 + 1e-9)) as usize;
    let seconds = if complete == 0 { end } else { width };
    cells.truncate(complete.max(1));
    let column = |value: fn(&Cell) -> f64| cells.iter().map(|cell| value(cell) / seconds).collect::<Vec<_>>();
    (Samples::of(&column(|cell| cell.bytes)), Samples::of(&column(|cell| cell.operations)))
}

/// When what is measured of a job starts, in seconds.
fn start(job: &JobResult) -> f64 {
    let info = &job.phase.info;
    let delay = match &info.task {
        iolite_model::Task::File(task) => task.delay.as_secs_f64(),
        _ => 0.0,
    };
    info.started.as_secs_f64() + delay + info.task.ramp().as_secs_f64()
}

fn bytes(job: &JobResult, point: &Point, kind: OpKind) -> f64 {
    let totals = &job.phase.totals;
    let mean = totals.bytes(kind) as f64 / totals.operations(kind).max(1) as f64;
    point.operations[kind.index()] as f64 * mean
}
