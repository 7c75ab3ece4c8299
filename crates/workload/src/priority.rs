//! I/O priorities of single operations.

use iolite_model::{FileTask, IoPriority, Prioritized, PriorityShare};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;

use crate::error::WorkloadError;
use crate::planned::IoKind;
use crate::random::Purpose;
use crate::random::generator;

/// Percentages may be typed as decimals: their sum may exceed 100 by so much.
const ROUNDING: f64 = 1e-6;

/// The priorities of one worker's operations.
#[derive(Debug, Clone)]
pub struct Priorities {
    /// Of reads and of writes.
    bands: [Vec<Band>; 2],
    generator: Xoshiro256PlusPlus,
}

/// Shares of the operations of a size, or of all.
#[derive(Debug, Clone)]
struct Band {
    size: Option<u32>,
    /// Each with the draw, out of 2^64, below which it ends; what is above has no priority of its own.
    ends: Vec<(u64, u16)>,
}

/// Checks the shares of a task.
///
/// # Errors
/// More than all operations would have one, or a share or a level is none.
pub(crate) fn check(task: &FileTask) -> Result<(), WorkloadError> {
    for share in &task.priorities {
        let alike = task.priorities.iter().filter(|other| (other.of, other.size) == (share.of, share.size));
        let total: f64 = alike.map(|share| share.percent).sum();
        WorkloadError::unless(
            share.percent >= 0.0 && total <= 100.0 + ROUNDING,
            || format!("{total} % of the operations are to have priorities of their own"),
            "shares of the same operations are 0 or more each, and 100 at most in all",
            "correct the percentages",
        )?;
    }
    let levels = task.priorities.iter().map(|share| share.priority).chain(task.placement.io_priority);
    levels.filter(|priority| priority.level > 7).try_for_each(|IoPriority { level, .. }| {
        Err(WorkloadError::new(
            format!("an I/O priority has the level {level}"),
            "levels are from 0, the highest, to 7",
            "choose one within, or another class",
        ))
    })
}

impl Priorities {
    /// Those of worker `worker`; `None` where no operation has one of its own.
    pub fn of(task: &FileTask, worker: u32) -> Option<Priorities> {
        let bands = [Prioritized::Reads, Prioritized::Writes].map(|of| bands(task, of));
        let any = bands.iter().any(|bands| !bands.is_empty());
        any.then(|| Priorities { bands, generator: generator(task.seed, worker, Purpose::Priorities) })
    }

    /// The priority of the next operation, as the kernel takes it; 0 where it has none of its own.
    pub fn next(&mut self, kind: IoKind, length: u32) -> u16 {
        let bands = match kind {
            IoKind::Read => &self.bands[0],
            IoKind::Write => &self.bands[1],
            _ => return 0,
        };
        let Some(band) = bands.iter().find(|band| band.size.is_none_or(|size| size == length)) else {
            return 0;
        };
        let draw = self.generator.next_u64();
        band.ends.iter().find(|(end, _)| draw < *end).map_or(0, |(_, priority)| *priority)
    }
}

/// The bands of some operations; those of a size come first.
fn bands(task: &FileTask, of: Prioritized) -> Vec<Band> {
    let shares: Vec<&PriorityShare> =
        task.priorities.iter().filter(|share| share.of == of && share.percent > 0.0).collect();
    let mut sizes: Vec<_> = shares.iter().map(|share| share.size).collect();
    sizes.sort_by_key(|size| std::cmp::Reverse(*size));
    sizes.dedup();
    let band = |size| {
        let mut reached = 0.0;
        let ends = shares.iter().filter(|share| share.size == size).map(|share| {
            reached += share.percent / 100.0;
            // Beyond the range, the conversion gives the largest number.
            ((reached * 2f64.powi(64)) as u64, share.priority.packed())
        });
        Band { size: size.map(|size| u32::try_from(size.0).unwrap_or(u32::MAX)), ends: ends.collect() }
    };
    sizes.into_iter().map(band).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolite_model::{Bytes, IoClass};
    use std::collections::BTreeMap;

    const HIGH: IoPriority = IoPriority { class: IoClass::RealTime, level: 0, hint: 0 };
    const LOW: IoPriority = IoPriority { class: IoClass::Idle, level: 0, hint: 0 };

    fn share(of: Prioritized, size: Option<u64>, percent: f64, priority: IoPriority) -> PriorityShare {
        PriorityShare { of, size: size.map(Bytes), percent, priority }
    }

    fn count(task: &FileTask, kind: IoKind, length: u32) -> BTreeMap<u16, u32> {
        let mut priorities = Priorities::of(task, 0).unwrap();
        let mut counts = BTreeMap::new();
        (0..10_000).for_each(|_| *counts.entry(priorities.next(kind, length)).or_default() += 1);
        counts
    }

    #[test]
    fn shares_are_as_asked() {
        let priorities = vec![
            share(Prioritized::Reads, None, 100.0, LOW),
            share(Prioritized::Reads, Some(4096), 20.0, HIGH),
            share(Prioritized::Reads, Some(4096), 30.0, LOW),
        ];
        let task = FileTask { priorities, ..FileTask::default() };
        let small = count(&task, IoKind::Read, 4096);
        // 3.3 standard deviations of 40 to 50.
        for (priority, expected) in [(HIGH.packed(), 2000u32), (LOW.packed(), 3000), (0, 5000)] {
            assert!(small[&priority].abs_diff(expected) < 165, "{small:?}");
        }
        assert_eq!(count(&task, IoKind::Read, 8192), BTreeMap::from([(LOW.packed(), 10_000)]));
        assert_eq!(count(&task, IoKind::Write, 4096), BTreeMap::from([(0, 10_000)]));
        assert!(Priorities::of(&FileTask::default(), 0).is_none());
    }

    #[test]
    fn shares_without_sense_are_refused() {
        let with = |priorities: Vec<PriorityShare>| {
            crate::validate(&FileTask { priorities, ..FileTask::default() })
                .map_err(|error| error.to_string())
        };
        let reads = |percent| share(Prioritized::Reads, None, percent, HIGH);
        assert_eq!(
            with(vec![reads(60.0), share(Prioritized::Writes, None, 60.0, HIGH), reads(40.0)]),
            Ok(())
        );
        for shares in [vec![reads(60.0), reads(41.0)], vec![reads(-1.0)], vec![reads(f64::NAN)]] {
            assert!(with(shares).unwrap_err().contains("100 at most"));
        }
        let level = share(Prioritized::Reads, None, 1.0, IoPriority { level: 8, ..HIGH });
        assert!(with(vec![level]).unwrap_err().contains("to 7"));
    }
}
