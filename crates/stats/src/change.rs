//! Changes within a run: level shifts, stalls and periodicity, with a known rate of false alarms.
//!
//! Sources, calibration and figures: docs/statistics.md.

mod period;
mod phase;
mod shift;

use serde::{Deserialize, Serialize};

pub use phase::PhaseChanges;

use crate::estimate::{Direction, Estimate};

/// Points that a series is joined to: enough to place a change within 1 % of a run.
const POINTS: usize = 120;

/// An interval with less than this share of the median rate is part of a stall.
const STALL_SHARE: f64 = 0.1;

/// Operations in a median interval below which an interval without any may be chance. With 40 due, 4 or fewer complete
/// by chance (Poisson) less than once in 10^12 intervals.
const STALL_COUNT: f64 = 40.0;

/// Something that did not stay as it was within a run. Times in seconds since the start of the measured part.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "change")]
pub enum Change {
    /// The rate changed from one level to another and stayed there.
    LevelShift {
        /// When.
        at: f64,
        /// Operations per second from the previous shift (or the start) until then.
        before: Estimate,
        /// Operations per second from then until the next shift (or the end).
        after: Estimate,
    },
    /// Next to nothing completed for a while.
    Stall {
        /// When it began.
        at: f64,
        /// How long it lasted.
        seconds: f64,
    },
    /// The rate goes up and down regularly.
    Periodic {
        /// Length of a period.
        seconds: f64,
        /// Amplitude of the wave as a share of the mean rate.
        amplitude: f64,
    },
}

/// The changes within a series of intervals `(seconds, operations)` in the order they were measured: shifts by time, then
/// stalls by time, then periodicity.
///
/// Level shifts are found by a self-normalised CUSUM (Shao & Zhang 2010, Journal of the American Statistical Association
/// 105), which needs no estimate of the correlation; over nested windows (Zhao, Jiang & Shao 2022, Journal of the Royal
/// Statistical Society B 84), so that several shifts do not hide each other. In at most 1 % of series of stationary noise
/// with a correlation of up to 0.9 a shift is reported; one of less than 10 % never is. Periodicity is Fisher's test of
/// the largest peak of the periodogram (Fisher 1929, Proceedings of the Royal Society A 125) after an AR(1) filter, at a
/// level of 0.1 %.
///
/// Fewer than 12 intervals say nothing of shifts, fewer than 24 nothing of periods.
pub fn changes(series: &[(f64, f64)]) -> Vec<Change> {
    let points = joined(series);
    let rates: Vec<f64> = points.iter().map(|(seconds, count)| count / seconds).collect();
    let steady = without_stalls(&points, &rates);
    let borders = shift::borders(&steady);
    let starts: Vec<f64> = [0].iter().chain(&borders).map(|&border| begin_of(&points, border)).collect();
    let mut found = level_shifts(&points, &borders);
    for (index, &from) in starts.iter().enumerate() {
        let until = starts.get(index + 1).copied().unwrap_or(f64::INFINITY);
        found.extend(stalls(series, from, until));
    }
    found.extend(period::periodic(&points, &steady, &borders));
    found
}

/// The intervals with time in them, neighbours joined until there are [`POINTS`] at most.
fn joined(series: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let usable =
        |entry: &&(f64, f64)| entry.0 > 0.0 && entry.0.is_finite() && entry.1 >= 0.0 && entry.1.is_finite();
    let usable: Vec<_> = series.iter().filter(usable).copied().collect();
    let longest = usable.iter().fold(0.0, |longest: f64, entry| longest.max(entry.0));
    let seconds: f64 = usable.iter().map(|entry| entry.0).sum();
    // The last interval of a phase may be a small rest: its rate says little.
    let enough = (longest / 2.0).max(seconds / POINTS as f64 * (1.0 - 1e-9));
    let mut points: Vec<(f64, f64)> = Vec::new();
    let mut open = (0.0, 0.0);
    for (seconds, count) in usable {
        open = (open.0 + seconds, open.1 + count);
        if open.0 >= enough {
            points.push(std::mem::take(&mut open));
        }
    }
    if let Some(last) = points.last_mut() {
        *last = (last.0 + open.0, last.1 + open.1);
    }
    points
}

/// Rates in which an interval that stands out from both its neighbours' level, as a stall does, counts as its neighbours:
/// it is reported as a stall, and is no level.
fn without_stalls(points: &[(f64, f64)], rates: &[f64]) -> Vec<f64> {
    let middle = median(rates);
    let is_stalled = |index: usize| {
        points[index].1 < STALL_COUNT.max(middle * points[index].0 * STALL_SHARE)
            && rates[index] < middle * STALL_SHARE
    };
    let mut steady = rates.to_vec();
    for index in 1..rates.len().saturating_sub(1) {
        let lone = is_stalled(index) && !is_stalled(index - 1) && !is_stalled(index + 1);
        if lone {
            steady[index] = (rates[index - 1] + rates[index + 1]) / 2.0;
        }
    }
    steady
}

fn level_shifts(points: &[(f64, f64)], borders: &[usize]) -> Vec<Change> {
    if borders.is_empty() {
        return Vec::new();
    }
    let ends: Vec<usize> = borders.iter().copied().chain([points.len()]).collect();
    let starts = [0].into_iter().chain(borders.iter().copied());
    let segments: Vec<(usize, usize)> = starts.zip(ends).collect();
    let middle = |&(start, end): &(usize, usize)| {
        median(&points[start..end].iter().map(|(seconds, count)| count / seconds).collect::<Vec<_>>())
    };
    let middles: Vec<f64> = segments.iter().map(middle).collect();
    let level = |(index, &(start, end)): (usize, &(usize, usize))| {
        let own = middles[index];
        let beside = |other: Option<usize>, point: usize| {
            let other = other.and_then(|other| middles.get(other));
            usize::from(other.is_some_and(|other| is_between(points[point], own, *other)))
        };
        // The point within which the rate changed belongs to neither level.
        let first = start + beside(index.checked_sub(1), start);
        let last = end - beside(Some(index + 1), end - 1);
        let settled = points.get(first..last).filter(|settled| settled.len() > 1);
        Estimate::rate(settled.unwrap_or(&points[start..end]), Direction::HigherIsBetter)
    };
    let levels: Vec<Estimate> = segments.iter().enumerate().map(level).collect();
    let shifts = borders.iter().zip(levels.iter().zip(levels.iter().skip(1)));
    let shift = |(&border, (&before, &after)): (&usize, (&Estimate, &Estimate))| Change::LevelShift {
        at: begin_of(points, border),
        before,
        after,
    };
    shifts.map(shift).collect()
}

/// Whether a point's rate has left its own level for another by more than a tenth of the way.
fn is_between((seconds, count): (f64, f64), own: f64, other: f64) -> bool {
    let way = (count / seconds - own) / (other - own);
    way > 0.1 && way < 1.0
}

/// When a point begins, in seconds since the first one's start.
fn begin_of(points: &[(f64, f64)], index: usize) -> f64 {
    points[..index].iter().map(|entry| entry.0).sum()
}

/// Runs of intervals with next to nothing in them, compared with the level from one instant until another.
fn stalls(series: &[(f64, f64)], from: f64, until: f64) -> Vec<Change> {
    let mut reached = 0.0;
    let usable = series.iter().filter(|entry| entry.0 > 0.0 && entry.0.is_finite());
    let timed = usable.map(|&(seconds, count)| {
        reached += seconds;
        (reached - seconds, seconds, count)
    });
    let within = |&(begin, seconds, _): &(f64, f64, f64)| (from..until).contains(&(begin + seconds / 2.0));
    let level: Vec<_> = timed.filter(within).collect();
    let middle = median(&level.iter().map(|(_, seconds, count)| count / seconds).collect::<Vec<_>>());
    let mut found: Vec<Change> = Vec::new();
    let (mut end, mut open): (f64, Option<f64>) = (from, None);
    for (begin, seconds, count) in level {
        let due = middle * seconds;
        if due >= STALL_COUNT && count < due * STALL_SHARE {
            open.get_or_insert(begin);
        } else if let Some(at) = open.take() {
            found.push(Change::Stall { at, seconds: begin - at });
        }
        end = begin + seconds;
    }
    found.extend(open.map(|at| Change::Stall { at, seconds: end - at }));
    found
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests;
