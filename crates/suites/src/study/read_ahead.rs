//! What read-ahead does for sequential reads, and to random ones.

use iolite_model::{Bandwidth, Bytes, Iops, Nanos, Order, ReadAheadPoint, StudyFinding, StudyWindow};
use iolite_stats::PhaseResult;

use super::figures::{bandwidth, rate, result, short};
use super::procedure::Study;
use super::subject::{Before, StudyStep, Subject};
use crate::shuffle::shuffle;

/// The settings tried unless the user says otherwise, in KiB.
pub const DEFAULT_READ_AHEAD: [u64; 10] = [0, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096];

/// Rates within this share of the best are as good.
const AS_GOOD: f64 = 0.95;

/// Random reads that lose more than this share suffer: what is less may be chance.
const SUFFERS: f64 = 0.15;

/// Bytes from the device for each byte asked for that are more than chance.
const MORE: f64 = 1.1;

/// Bytes from the device for each byte asked for that call for a word.
const AMPLIFIED: f64 = 1.5;

/// The study.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadAheadStudy {
    /// What is read.
    pub subject: Subject,
    /// The settings to try, in the order given.
    pub settings: Vec<Bytes>,
    /// The setting found, which is there again afterwards.
    pub present: Bytes,
    /// Size of each read.
    pub block: Bytes,
    /// Length of each window.
    pub window: Nanos,
}

impl Study for ReadAheadStudy {
    type Circumstance = ReadAheadPoint;

    /// All steps: the windows in a random order, which follows from the seed. A step's circumstance is the setting that it needs;
    /// the present one is always tried.
    fn steps(&self, seed: u64) -> Vec<StudyStep<ReadAheadPoint>> {
        let mut settings = self.settings.clone();
        if !settings.contains(&self.present) {
            settings.push(self.present);
        }
        let orders = |read_ahead: Bytes| {
            [Order::Sequential, Order::Random].map(|order| ReadAheadPoint { read_ahead, order })
        };
        let mut points: Vec<ReadAheadPoint> = settings.into_iter().flat_map(orders).collect();
        shuffle(&mut points, seed);
        self.subject.lay_out().into_iter().chain(points.into_iter().map(|point| self.step(point))).collect()
    }

    fn findings(
        &self,
        windows: &[StudyWindow<ReadAheadPoint>],
        history: &[PhaseResult],
    ) -> Vec<StudyFinding> {
        let mut findings = Vec::new();
        findings.extend(self.sequential(windows, history));
        findings.extend(too_much(windows, history));
        findings.extend(random(windows, history));
        findings.extend(amplified(windows, history));
        findings.extend(short(windows, history));
        findings
    }
}

impl ReadAheadStudy {
    fn step(&self, point: ReadAheadPoint) -> StudyStep<ReadAheadPoint> {
        let ReadAheadPoint { read_ahead, order } = point;
        let mut task = self.subject.reads(order, self.block, self.window);
        task.name = format!("{} read {}, read-ahead {read_ahead}", order.name(), self.block);
        // What has been read once is cached.
        task.stop.loops = Some(1);
        StudyStep { before: Before::Drop, task, circumstance: Some(point) }
    }

    fn sequential(
        &self,
        windows: &[StudyWindow<ReadAheadPoint>],
        history: &[PhaseResult],
    ) -> Option<StudyFinding> {
        let rates = points(windows, Order::Sequential, |window| bandwidth(window, history));
        let (max, min) = extremes(&rates)?;
        if min >= max * AS_GOOD {
            return Some(StudyFinding::ReadAheadIdle { low: Bandwidth(min), high: Bandwidth(max) });
        }
        let &(best, best_rate) = rates.iter().find(|(_, rate)| *rate >= max * AS_GOOD)?;
        let &(_, present_rate) = rates.iter().find(|(setting, _)| *setting == self.present)?;
        Some(StudyFinding::BestReadAhead {
            best,
            best_rate: Bandwidth(best_rate),
            present: self.present,
            present_rate: Bandwidth(present_rate),
        })
    }
}

/// The setting beyond the best one with which sequential reads lose most, if that is more than chance.
fn too_much(windows: &[StudyWindow<ReadAheadPoint>], history: &[PhaseResult]) -> Option<StudyFinding> {
    let rates = points(windows, Order::Sequential, |window| bandwidth(window, history));
    let &(best, best_rate) = rates.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let larger = rates.iter().filter(|(setting, _)| *setting > best);
    let &(read_ahead, rate) = larger.min_by(|a, b| a.1.total_cmp(&b.1))?;
    (rate < best_rate * (1.0 - SUFFERS)).then_some(StudyFinding::TooMuchReadAhead {
        read_ahead,
        rate: Bandwidth(rate),
        best,
        best_rate: Bandwidth(best_rate),
    })
}

fn random(windows: &[StudyWindow<ReadAheadPoint>], history: &[PhaseResult]) -> Option<StudyFinding> {
    let rates = points(windows, Order::Random, |window| rate(window, history));
    let factors = factors(windows, history);
    let &(min, without) = rates.first().filter(|_| rates.len() > 1)?;
    // A rate that is lower while the device read no more than was asked for has other reasons.
    let more = |setting: Bytes| factors.iter().any(|(other, factor)| *other == setting && *factor >= MORE);
    let amplified = rates[1..].iter().filter(|(setting, _)| more(*setting));
    match amplified.min_by(|a, b| a.1.total_cmp(&b.1)) {
        Some(&(read_ahead, with)) if with < without * (1.0 - SUFFERS) => {
            let (with, without) = (Iops(with), Iops(without));
            Some(StudyFinding::ReadAheadHurts { read_ahead, with, min, without })
        }
        None if !factors.is_empty() => Some(StudyFinding::ReadAheadHarmless),
        _ => None,
    }
}

/// Bytes that the device read for each byte asked for at random, by setting.
fn factors(windows: &[StudyWindow<ReadAheadPoint>], history: &[PhaseResult]) -> Vec<(Bytes, f64)> {
    points(windows, Order::Random, |window| {
        let (asked, device, _) = window.reads(&result(window, history)?.end.cache)?;
        Some(device.0 as f64 / asked.0 as f64)
    })
}

/// The setting with which random reads made the device read most, if that is much.
fn amplified(windows: &[StudyWindow<ReadAheadPoint>], history: &[PhaseResult]) -> Option<StudyFinding> {
    let factors = factors(windows, history);
    let &(read_ahead, factor) = factors.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    (factor >= AMPLIFIED).then_some(StudyFinding::Amplified { read_ahead: Some(read_ahead), factor })
}

/// A figure of the windows of an order, from the smallest setting to the largest.
fn points(
    windows: &[StudyWindow<ReadAheadPoint>],
    order: Order,
    figure: impl Fn(&StudyWindow<ReadAheadPoint>) -> Option<f64>,
) -> Vec<(Bytes, f64)> {
    let of_order = windows.iter().filter(|window| window.circumstance.order == order);
    let mut points: Vec<_> =
        of_order.filter_map(|window| Some((window.circumstance.read_ahead, figure(window)?))).collect();
    points.sort_by_key(|point| point.0);
    points
}

/// The largest and the smallest; `None` of fewer than two.
fn extremes(points: &[(Bytes, f64)]) -> Option<(f64, f64)> {
    let values = || points.iter().map(|point| point.1);
    (points.len() > 1).then(|| (values().fold(0.0, f64::max), values().fold(f64::INFINITY, f64::min)))
}
