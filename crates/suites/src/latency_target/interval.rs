//! Between which loads the answer lies.

use iolite_model::{Load, Nanos, Try, TryOutcome};

/// 97.5 % quantiles of Student's t with 1, 2, 3... degrees of freedom; beyond the table the last one.
const STUDENT: [f64; 15] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
];

/// The windows of one load.
struct Windows {
    load: Load,
    /// Logarithms of their quantiles.
    logs: Vec<f64>,
    kept: usize,
    broken: usize,
    /// Windows in which the rate was not reached: broken, whatever the quantile.
    behind: usize,
}

/// The largest load that surely keeps the bound, and the smallest that surely does not: both ends of a 95 % interval of the
/// answer, the upper one outside of it. `None` where no load that was tried is that sure.
///
/// How much the quantile varies from window to window is pooled over all loads that had several (their logarithms are taken as
/// normal, with one standard deviation for all); a load is sure where the mean of its windows is as far from the bound as
/// Student's t asks. That includes what differs between the windows of this run, not what differs between runs.
pub(super) fn interval(tries: &[Try], bound: Nanos) -> (Option<Load>, Option<Load>) {
    let loads = by_load(tries);
    let freedom: usize = loads.iter().map(|load| load.logs.len().saturating_sub(1)).sum();
    let squares: f64 = loads.iter().map(Windows::squares).sum();
    let Some(student) = freedom.checked_sub(1).map(|at| STUDENT[at.min(STUDENT.len() - 1)]) else {
        return (None, None);
    };
    let deviation = (squares / freedom as f64).sqrt();
    let bound = (bound.0.max(1) as f64).ln();
    let distance = |load: &Windows| {
        let count = load.logs.len() as f64;
        let margin = student * deviation / count.sqrt();
        (load.logs.iter().sum::<f64>() / count - bound, margin)
    };
    let is_kept = |load: &&Windows| {
        let (distance, margin) = distance(load);
        load.behind + load.broken == 0 && load.kept > 0 && distance + margin <= 0.0
    };
    let is_broken = |load: &&Windows| {
        let (distance, margin) = distance(load);
        load.kept == 0 && (load.behind > 0 || distance - margin > 0.0)
    };
    let first_broken = loads.iter().position(|load| is_broken(&load)).unwrap_or(loads.len());
    let low = loads[..first_broken].iter().rfind(is_kept).map(|load| load.load);
    (low, loads.get(first_broken).map(|load| load.load))
}

/// The loads that were tried, the lowest first.
fn by_load(tries: &[Try]) -> Vec<Windows> {
    let mut loads: Vec<Windows> = Vec::new();
    for each in tries {
        if matches!(each.outcome, TryOutcome::Sounded | TryOutcome::TooFew) {
            continue;
        }
        let index = loads.iter().position(|known| known.load == each.load).unwrap_or_else(|| {
            loads.push(Windows { load: each.load, logs: Vec::new(), kept: 0, broken: 0, behind: 0 });
            loads.len() - 1
        });
        let load = &mut loads[index];
        load.logs.extend(each.quantile.map(|Nanos(nanos)| (nanos.max(1) as f64).ln()));
        match each.outcome {
            TryOutcome::Kept => load.kept += 1,
            TryOutcome::Behind => load.behind += 1,
            _ => load.broken += 1,
        }
    }
    loads.sort_by(|a, b| value(a.load).total_cmp(&value(b.load)));
    loads
}

fn value(load: Load) -> f64 {
    match load {
        Load::Depth(depth) => f64::from(depth),
        Load::Rate(rate) => rate.0,
    }
}

impl Windows {
    /// Sum of the squared distances from their mean.
    fn squares(&self) -> f64 {
        let mean = self.logs.iter().sum::<f64>() / self.logs.len().max(1) as f64;
        self.logs.iter().map(|log| (log - mean).powi(2)).sum()
    }
}
