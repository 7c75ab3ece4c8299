//! How rates and response times depend on the size of the operations and on the mix of reads and writes.

use iolite_model::{
    Access, BackendKind, Bandwidth, BlockPoint, Bytes, Iops, Mix, Nanos, Order, StudyFinding, StudyWindow,
    Warning,
};
use iolite_stats::PhaseResult;

use super::figures::{bandwidth, rate};
use super::procedure::Study;
use super::subject::{Before, StudyStep, Subject};
use crate::shuffle::shuffle;

/// The sizes tried unless the user says otherwise.
pub const DEFAULT_BLOCKS: [Bytes; 12] = [
    Bytes(512),
    Bytes(1 << 10),
    Bytes(2 << 10),
    Bytes(4 << 10),
    Bytes(8 << 10),
    Bytes(16 << 10),
    Bytes(32 << 10),
    Bytes(64 << 10),
    Bytes(128 << 10),
    Bytes(256 << 10),
    Bytes(512 << 10),
    Bytes(1 << 20),
];

/// Rates within this share of the most are as good.
const AS_GOOD: f64 = 0.9;

/// The smallest blocks suffer where they have less than this share of the highest rate.
const SUFFERS: f64 = 0.75;

/// The study.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockSizeStudy {
    /// What is read and written.
    pub subject: Subject,
    /// The sizes.
    pub blocks: Vec<Bytes>,
    /// Shares of reads, in percent.
    pub read_percents: Vec<u8>,
    /// Order of the offsets.
    pub order: Order,
    /// How the operations reach the kernel.
    pub backend: BackendKind,
    /// Operations outstanding at once.
    pub depth: u32,
    /// Length of each window.
    pub window: Nanos,
}

impl Study for BlockSizeStudy {
    type Circumstance = BlockPoint;

    /// All steps: the windows in a random order, which follows from the seed.
    fn steps(&self, seed: u64) -> Vec<StudyStep<BlockPoint>> {
        let sizes =
            |&read_percent: &u8| self.blocks.iter().map(move |&block| BlockPoint { block, read_percent });
        let mut points: Vec<BlockPoint> = self.read_percents.iter().flat_map(sizes).collect();
        shuffle(&mut points, seed);
        self.subject.lay_out().into_iter().chain(points.into_iter().map(|point| self.step(point))).collect()
    }

    fn findings(&self, windows: &[StudyWindow<BlockPoint>], history: &[PhaseResult]) -> Vec<StudyFinding> {
        let mut findings = Vec::new();
        for &read_percent in &self.read_percents {
            let of = |figure: &dyn Fn(&StudyWindow<BlockPoint>) -> Option<f64>| {
                let of_mix = windows.iter().filter(|window| window.circumstance.read_percent == read_percent);
                let mut points: Vec<_> =
                    of_mix.filter_map(|window| Some((window.circumstance.block, figure(window)?))).collect();
                points.sort_by_key(|point| point.0);
                points
            };
            findings.extend(operations(read_percent, &of(&|window| rate(window, history))));
            findings.extend(widest(read_percent, &of(&|window| bandwidth(window, history))));
        }
        findings
    }
}

impl BlockSizeStudy {
    /// Leaves out the sizes that direct I/O does not take, in multiples of `unit`; a warning for each.
    pub fn keep_multiples(&mut self, unit: Bytes) -> Vec<Warning> {
        let fits = |block: &Bytes| block.0.is_multiple_of(unit.0.max(1));
        let (kept, left_out) = self.blocks.iter().partition(|block| fits(block));
        self.blocks = kept;
        let left_out: Vec<Bytes> = left_out;
        let warning = |block| Warning::LeftOut {
            what: format!("blocks of {block}"),
            why: format!("direct I/O here is in multiples of {unit}"),
        };
        left_out.into_iter().map(warning).collect()
    }

    fn step(&self, point: BlockPoint) -> StudyStep<BlockPoint> {
        let mut task = self.subject.reads(self.order, point.block, self.window);
        task.name = format!("{} {} % read {}", self.order.name(), point.read_percent, point.block);
        task.mix = match point.read_percent {
            100.. => Mix::Read,
            0 => Mix::Write,
            percent => Mix::ReadPercent(percent),
        };
        if self.order == Order::Random {
            task.access = Access::Random;
        }
        task.backend = self.backend;
        task.concurrency = self.depth;
        task.workers = if self.backend.is_synchronous() { self.depth } else { 1 };
        task.direct = self.subject.direct;
        let before = if task.direct { Before::Keep } else { Before::Drop };
        StudyStep { before, task, circumstance: Some(point) }
    }
}

fn operations(read_percent: u8, rates: &[(Bytes, f64)]) -> Vec<StudyFinding> {
    let Some(&(fastest, max)) = rates.iter().max_by(|a, b| a.1.total_cmp(&b.1)).filter(|_| rates.len() > 1)
    else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    let last = rates.iter().rfind(|(_, rate)| *rate >= max * AS_GOOD);
    if let Some((&(min, _), &(block, _))) = rates.first().zip(last) {
        findings.push(StudyFinding::Operations { read_percent, min, max: Iops(max), block });
    }
    if let Some(&(small, slow)) = rates.first().filter(|(_, rate)| *rate < max * SUFFERS) {
        let (slow, fast) = (Iops(slow), Iops(max));
        findings.push(StudyFinding::SmallBlocksSuffer { read_percent, small, slow, block: fastest, fast });
    }
    findings
}

fn widest(read_percent: u8, rates: &[(Bytes, f64)]) -> Option<StudyFinding> {
    let max = rates.iter().map(|point| point.1).fold(0.0, f64::max);
    let &(block, _) = rates.iter().find(|(_, rate)| *rate >= max * AS_GOOD).filter(|_| rates.len() > 1)?;
    Some(StudyFinding::Bandwidth { read_percent, max: Bandwidth(max), block })
}
