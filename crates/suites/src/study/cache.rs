//! What the page cache does to a measurement: the same reads cold, warm, direct and on the device beneath.

use iolite_model::{Bytes, CachePoint, CacheWay, Iops, Nanos, Order, StudyFinding, StudyWindow, Warning};
use iolite_stats::PhaseResult;

use super::figures::{rate, result, short};
use super::procedure::Study;
use super::subject::{BULK, Before, StudyStep, Subject};
use crate::shuffle::shuffle;

/// A page cache that is less than so many times as fast is not much faster.
const ALIKE: f64 = 1.5;

/// Share of the span that may be resident where nothing should be, and missing where all should be resident.
const RESIDUE: f64 = 0.05;

/// Requests of the device this many times as large as the reads are read-ahead.
const AHEAD: f64 = 2.0;

/// Bytes from the device for each byte asked for that call for a word.
const AMPLIFIED: f64 = 1.5;

/// Less than this share of direct reads on the device is a cache beneath.
const REACHED: f64 = 0.9;

/// The study.
#[derive(Debug, Clone, PartialEq)]
pub struct CacheStudy {
    /// What is read.
    pub subject: Subject,
    /// The device beneath, where that is to be read too.
    pub device: Option<Subject>,
    /// Size of each read.
    pub block: Bytes,
    /// Length of each window.
    pub window: Nanos,
}

impl Study for CacheStudy {
    type Circumstance = CachePoint;

    /// All steps: the windows in a random order, which follows from the seed; the cache is filled right before a window that is to
    /// find it full.
    fn steps(&self, seed: u64) -> Vec<StudyStep<CachePoint>> {
        let ways = [
            Some(CacheWay::Cold),
            Some(CacheWay::Warm),
            self.subject.direct.then_some(CacheWay::Direct),
            self.device.as_ref().map(|_| CacheWay::Raw),
        ];
        let of = |order| ways.into_iter().flatten().map(move |way| (way, order));
        let mut windows: Vec<_> = [Order::Random, Order::Sequential].into_iter().flat_map(of).collect();
        shuffle(&mut windows, seed);
        let mut steps: Vec<_> = self.subject.lay_out().into_iter().collect();
        for (way, order) in windows {
            steps.extend((way == CacheWay::Warm).then(|| self.fill()));
            steps.push(self.step(way, order));
        }
        steps
    }

    fn findings(&self, windows: &[StudyWindow<CachePoint>], history: &[PhaseResult]) -> Vec<StudyFinding> {
        let mut findings = Vec::new();
        for order in [Order::Random, Order::Sequential] {
            let of = |way| windows.iter().find(|window| window.circumstance == CachePoint { way, order });
            let rate_of = |way| of(way).and_then(|window| rate(window, history));
            let beneath = [
                (CacheWay::Direct, "direct reads"),
                (CacheWay::Raw, "direct reads of the device"),
                (CacheWay::Cold, "reads that the cache did not hold"),
            ];
            let beneath = beneath.into_iter().find_map(|(way, words)| Some((rate_of(way)?, words)));
            if let (Some(cached), Some((stored, words))) = (rate_of(CacheWay::Warm), beneath) {
                findings.push(compared(order, cached, stored, words));
            }
            for way in [CacheWay::Direct, CacheWay::Raw] {
                findings.extend(of(way).and_then(|window| cached_beneath(window, history)));
            }
            if let (Some(file), Some(raw)) = (rate_of(CacheWay::Direct), rate_of(CacheWay::Raw)) {
                findings.push(StudyFinding::FileSystem { order, file: Iops(file), raw: Iops(raw) });
            }
            findings.extend(of(CacheWay::Cold).and_then(|window| self.device_work(window, history)));
        }
        findings.extend(residues(windows));
        findings.extend(short(windows, history));
        findings
    }
}

impl CacheStudy {
    /// Leaves the direct reads out where direct I/O, in multiples of `unit`, does not take them: with a warning.
    pub fn keep_multiples(&mut self, unit: Bytes) -> Option<Warning> {
        if !self.subject.direct || self.block.0.is_multiple_of(unit.0.max(1)) {
            return None;
        }
        (self.subject.direct, self.device) = (false, None);
        let why = format!("direct I/O requires multiples of {unit}: specify --block");
        Some(Warning::LeftOut { what: format!("direct reads of {}", self.block), why })
    }

    fn step(&self, way: CacheWay, order: Order) -> StudyStep<CachePoint> {
        let raw = self.device.as_ref().filter(|_| way == CacheWay::Raw);
        let mut task = raw.unwrap_or(&self.subject).reads(order, self.block, self.window);
        task.name = format!("{} read {}, {}", order.name(), self.block, way.name());
        task.direct = matches!(way, CacheWay::Direct | CacheWay::Raw);
        let before = match way {
            CacheWay::Warm => Before::Keep,
            CacheWay::Cold => {
                // What has been read once is cached.
                task.stop.loops = Some(1);
                Before::Drop
            }
            // Direct reads take from the page cache what is there on some file systems.
            CacheWay::Direct | CacheWay::Raw => Before::Drop,
        };
        StudyStep { before, task, circumstance: Some(CachePoint { way, order }) }
    }

    /// Reads all of the span into the page cache.
    fn fill(&self) -> StudyStep<CachePoint> {
        let mut task = self.subject.reads(Order::Sequential, BULK.min(self.subject.span), self.window);
        task.name = "fill the page cache".into();
        task.stop.runtime = None;
        task.stop.loops = Some(1);
        StudyStep { before: Before::Keep, task, circumstance: None }
    }

    /// What the device made of the cold reads.
    fn device_work(&self, window: &StudyWindow<CachePoint>, history: &[PhaseResult]) -> Option<StudyFinding> {
        let (asked, device, requests) = window.reads(&result(window, history)?.end.cache)?;
        if requests == 0 {
            return None;
        }
        match window.circumstance.order {
            Order::Sequential => {
                let request = device.0 / requests;
                let ahead = request as f64 >= self.block.0 as f64 * AHEAD;
                let issued = asked.0 / self.block.0.max(1);
                let request = Bytes(request).round_down(512);
                ahead.then_some(StudyFinding::ReadAhead { issued, block: self.block, requests, request })
            }
            Order::Random => {
                let factor = device.0 as f64 / asked.0 as f64;
                (factor >= AMPLIFIED).then_some(StudyFinding::Amplified { read_ahead: None, factor })
            }
        }
    }
}

fn compared(order: Order, cached: f64, stored: f64, words: &str) -> StudyFinding {
    let (factor, beneath) = (cached / stored, words.to_owned());
    if factor < ALIKE {
        return StudyFinding::CacheIsAlike { order, beneath, factor };
    }
    StudyFinding::CacheIsFaster { order, cached: Iops(cached), beneath, stored: Iops(stored), factor }
}

fn cached_beneath(window: &StudyWindow<CachePoint>, history: &[PhaseResult]) -> Option<StudyFinding> {
    let (asked, device, _) = window.reads(&result(window, history)?.end.cache)?;
    let reached = device.0 as f64 / asked.0 as f64;
    let CachePoint { way, order } = window.circumstance;
    (reached < REACHED).then(|| StudyFinding::CachedBeneath { way: way.name().into(), order, asked, device })
}

/// Windows that were not as cold or as warm as they were meant to be.
fn residues(windows: &[StudyWindow<CachePoint>]) -> Vec<StudyFinding> {
    let of = |way| {
        let windows = windows.iter().filter(move |window| window.circumstance.way == way);
        windows.filter_map(|window| window.resident_before)
    };
    let max = of(CacheWay::Cold).fold(0.0, f64::max);
    let min = of(CacheWay::Warm).fold(1.0, f64::min);
    let mut findings = Vec::new();
    findings.extend((max > RESIDUE).then_some(StudyFinding::NotCold { resident: max }));
    findings.extend((min < 1.0 - RESIDUE).then_some(StudyFinding::NotWarm { resident: min }));
    findings
}
