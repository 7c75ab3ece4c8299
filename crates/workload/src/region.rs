//! Which part of the target's span a worker's operations lie in.

use iolite_model::{Access, FileTask, Mix, Regions, Target};

use crate::offset::Slice;
use crate::{files, size};

/// Assumed size of a target whose size is known only when it is opened: a power of two up to which blocks are counted in
/// floating point without rounding.
const UNKNOWN_SPAN: u64 = 1 << 52;

/// A worker's part of the span, and whom it shares it with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Region {
    /// First byte, counted from the span's start.
    pub(crate) start: u64,
    /// Bytes.
    pub(crate) length: u64,
    /// This worker's turn among those that share the part's blocks.
    pub(crate) turn: u32,
    /// Number of workers that share them: 1 where the worker goes about it as if it were alone.
    pub(crate) turns: u32,
}

impl Region {
    /// The part of worker `worker` of the task's one file; `None` where there is none for it.
    pub(crate) fn of(task: &FileTask, worker: u32) -> Option<Region> {
        Region::within(task, task.target.size().0, worker)
    }

    /// The part of a worker of a target of `span` bytes.
    fn within(task: &FileTask, span: u64, worker: u32) -> Option<Region> {
        let workers = task.workers.max(1);
        let alone = |start: u64, length: u64| Region { start, length, turn: 0, turns: 1 };
        if worker >= workers {
            return None;
        }
        if own_files(task) || task.access == Access::Append {
            return Some(alone(0, span));
        }
        let slice = || {
            let grain = grain(task);
            let slice = Slice::of(span.checked_div(grain)?, worker, workers)?;
            Some(alone(slice.first * grain, slice.blocks * grain))
        };
        let taking_turns = Region { start: 0, length: span, turn: worker, turns: workers };
        match task.regions {
            Regions::Natural if has_slices(task) => slice(),
            Regions::Natural => Some(taking_turns),
            // A walk that covers the span is shared whatever the regions, because that is what it is about.
            Regions::Shared if task.access == Access::Covering && task.sizes.is_some() => slice(),
            Regions::Shared if task.access == Access::Covering => Some(taking_turns),
            Regions::Shared => Some(alone(0, span)),
            Regions::Slices => slice(),
            Regions::Increment(distance) => {
                let start = distance.0.checked_mul(u64::from(worker))?;
                span.checked_sub(start).filter(|length| *length > 0).map(|length| alone(start, length))
            }
            Regions::Part { start, length } => {
                let end = start.0.checked_add(length.0)?;
                (length.0 > 0 && end <= span).then(|| alone(start.0, length.0))
            }
        }
    }

    /// The length of the smallest part of any worker, for checking parameters before the target is open.
    pub(crate) fn smallest(task: &FileTask) -> u64 {
        let unknown = is_unknown(task);
        let smallest = |task: &FileTask| {
            let span = if unknown { UNKNOWN_SPAN } else { task.target.size().0 };
            // Slices shrink with the worker's number, and so does what increments leave.
            Region::within(task, span, task.workers.max(1) - 1).map_or(span, |region| region.length)
        };
        files::each(task, smallest).into_iter().min().unwrap_or(0)
    }
}

/// What the offsets of a task are multiples of, within a worker's part.
pub(crate) fn grain(task: &FileTask) -> u64 {
    match &task.sizes {
        None => task.block.0,
        Some(sizes) if task.access == Access::Covering => size::divisor(sizes, task.mix),
        Some(sizes) => sizes.alignment.0,
    }
}

/// Whether the target's size is known only when it is opened.
pub(crate) fn is_unknown(task: &FileTask) -> bool {
    match &task.target {
        Target::Existing(existing) => existing.size.0 == 0,
        Target::Files(target) => target.files.iter().any(|file| file.size.0 == 0),
        Target::Null { .. } | Target::File(_) => false,
    }
}

/// Whether each worker has a file of its own.
pub(crate) fn own_files(task: &FileTask) -> bool {
    matches!(&task.target, Target::File(file) if file.per_worker)
}

/// Whether the order by itself gives each worker a slice: where it goes through the span from end to end, and where it
/// has to remember where it has been.
pub(crate) fn has_slices(task: &FileTask) -> bool {
    match task.access {
        Access::Sequential
        | Access::SequentialSkip { .. }
        | Access::SequentialBack { .. }
        | Access::Backwards
        | Access::Strided { .. }
        | Access::Precondition(_)
        | Access::ZoneCycle(_) => true,
        Access::Covering => task.sizes.is_some(),
        _ => false,
    }
}

/// Whether reads or trims and the writes among them each go through the span by themselves.
pub(crate) fn kinds_apart(task: &FileTask) -> bool {
    let two = matches!(task.mix, Mix::ReadPercent(_) | Mix::TrimPercent(_) | Mix::ReadTrimPercent { .. });
    let cycle = matches!(task.access, Access::ZoneCycle(_));
    two && task.access.is_sequential() && !cycle
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolite_model::{Bytes, FileTarget};

    fn task(access: Access, regions: Regions) -> FileTask {
        let target = Target::Null { size: Bytes(4096 * 10 + 77) };
        FileTask { access, regions, target, workers: 3, ..FileTask::default() }
    }

    fn parts(task: &FileTask) -> Vec<Option<(u64, u64)>> {
        let part = |worker| Region::of(task, worker).map(|region| (region.start, region.length));
        (0..task.workers).map(part).collect()
    }

    #[test]
    fn slices_share_the_blocks_and_the_rest_share_the_span() {
        let sliced = [Some((0, 16384)), Some((16384, 12288)), Some((28672, 12288))];
        let whole = [Some((0, 41037)); 3];
        assert_eq!(parts(&task(Access::Sequential, Regions::Natural)), sliced);
        assert_eq!(parts(&task(Access::Random, Regions::Natural)), whole);
        assert_eq!(parts(&task(Access::Random, Regions::Slices)), sliced);
        assert_eq!(parts(&task(Access::Sequential, Regions::Shared)), whole);
        let increment = task(Access::Random, Regions::Increment(Bytes(40_000)));
        assert_eq!(parts(&increment), [Some((0, 41037)), Some((40_000, 1037)), None]);
        let overflow = task(Access::Random, Regions::Increment(Bytes(u64::MAX)));
        assert_eq!(parts(&overflow)[2], None);
        let part = |start, length| Regions::Part { start: Bytes(start), length: Bytes(length) };
        assert_eq!(parts(&task(Access::Sequential, part(4096, 8192))), [Some((4096, 8192)); 3]);
        for beyond in [part(40_960, 78), part(0, 0), part(1, u64::MAX)] {
            assert_eq!(parts(&task(Access::Random, beyond)), [None; 3]);
        }
    }

    #[test]
    fn files_of_their_own_are_whole() {
        let file = FileTarget {
            name: "f".into(),
            size: Bytes(9999),
            create: true,
            preallocate: false,
            per_worker: true,
        };
        let task = FileTask { target: Target::File(file), ..task(Access::Sequential, Regions::Slices) };
        assert_eq!(parts(&task), [Some((0, 9999)); 3]);
        assert_eq!(Region::of(&task, 3), None, "there are three workers only");
    }
}
