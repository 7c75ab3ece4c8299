//! Several files: where each one's part of the span begins, and what is asked of each alone.

use iolite_model::{Access, Bytes, FileOrder, FileTask, NamedFile, Target};

use crate::error::WorkloadError;
use crate::offset;

/// Where each file of the task begins in its span, in bytes; empty where there are not several.
///
/// The files lie one after the other. Where they are verified, each begins at a multiple of the verified unit, with bytes
/// between them that no operation goes to.
pub fn file_starts(task: &FileTask) -> Vec<u64> {
    let Some(files) = several(task) else { return Vec::new() };
    let unit = task.verify.as_ref().map_or(1, |verify| verify.unit_for(task.block).0.max(1));
    let mut next: u64 = 0;
    let start = |file: &NamedFile| {
        let start = next.checked_next_multiple_of(unit).unwrap_or(u64::MAX);
        next = start.saturating_add(file.size.0);
        start
    };
    files.iter().map(start).collect()
}

/// The files of a task that has several.
fn several(task: &FileTask) -> Option<&[NamedFile]> {
    match &task.target {
        Target::Files(target) if target.files.len() > 1 => Some(&target.files),
        _ => None,
    }
}

/// Whether the task has several files.
pub(crate) fn has_several(task: &FileTask) -> bool {
    several(task).is_some()
}

/// Looks at the task as it is for each of its files alone; at the task itself where there are not several.
pub(crate) fn each<T>(task: &FileTask, mut look: impl FnMut(&FileTask) -> T) -> Vec<T> {
    let Some(files) = several(task) else { return vec![look(task)] };
    let mut alone = FileTask { target: Target::Null { size: files[0].size }, ..without_target(task) };
    let each = files.iter().map(|file| {
        alone.target = Target::Null { size: file.size };
        look(&alone)
    });
    each.collect()
}

/// A copy that leaves the names of the files behind: there may be thousands.
fn without_target(task: &FileTask) -> FileTask {
    let FileTask { name, access, sizes, contents, verify, .. } = task;
    FileTask {
        name: name.clone(),
        backend: task.backend,
        mix: task.mix,
        access: access.clone(),
        regions: task.regions,
        block: task.block,
        sizes: sizes.clone(),
        contents: contents.clone(),
        direct: task.direct,
        workers: task.workers,
        concurrency: task.concurrency,
        arrival: task.arrival,
        verify: verify.clone(),
        stop: task.stop,
        seed: task.seed,
        ..FileTask::default()
    }
}

/// Checks the order of the files.
///
/// # Errors
/// It makes no order.
pub(crate) fn check(task: &FileTask) -> Result<(), WorkloadError> {
    let Target::Files(target) = &task.target else { return Ok(()) };
    let law = |law: Access| offset::check(&law, Bytes(1), Bytes(1), false);
    match target.order {
        FileOrder::RoundRobin(run) | FileOrder::Random(run) => WorkloadError::unless(
            run > 0,
            || "0 operations are to go to a file before the next".to_owned(),
            "it needs at least one",
            "specify 1, or remove the number",
        ),
        FileOrder::Sequential => Ok(()),
        FileOrder::Zipf(theta) => law(Access::Zipf { theta, centre: None }),
        FileOrder::Pareto(h) => law(Access::Pareto { h, centre: None }),
        FileOrder::Normal(deviation_percent) => law(Access::Normal { deviation_percent, centre: None }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planned::PlannedOp;
    use crate::{OpStream, Share};
    use iolite_model::{Checksum, FilesTarget, Mix, Regions, SizeLaw, Sizes, Stop, Verify};
    use std::collections::{BTreeMap, BTreeSet};

    const BLOCK: u64 = 4096;

    fn task(sizes: &[u64], order: FileOrder, access: Access) -> FileTask {
        let file = |(index, &size): (usize, &u64)| NamedFile {
            path: format!("f{index}").into(),
            offset: Bytes(0),
            size: Bytes(size),
        };
        let files = sizes.iter().enumerate().map(file).collect();
        let target = Target::Files(FilesTarget { order, ..FilesTarget::of(files) });
        FileTask { target, access, seed: 3, ..FileTask::default() }
    }

    /// The file of an operation and the offset within it.
    fn locate(task: &FileTask, offset: u64) -> (usize, u64) {
        let starts = file_starts(task);
        let file = starts.partition_point(|start| *start <= offset) - 1;
        (file, offset - starts[file])
    }

    fn draw(task: &FileTask, worker: u32, count: usize) -> Vec<(usize, u64)> {
        crate::validate(task).unwrap();
        let mut stream = OpStream::new(task, worker).unwrap();
        let part = stream.part();
        let within = |op: PlannedOp| {
            assert!(part.contains(&op.offset) && op.offset + u64::from(op.length) <= part.end);
            locate(task, op.offset)
        };
        (0..count).map(|_| within(stream.next_op())).collect()
    }

    #[test]
    fn files_take_turns_and_each_has_its_own_order() {
        let drawn = draw(&task(&[8192, 12288, 8292], FileOrder::RoundRobin(1), Access::Sequential), 0, 9);
        let rounds = [(0, 0), (1, 0), (2, 0), (0, 4096), (1, 4096), (2, 4096), (1, 8192), (2, 0), (0, 0)];
        assert_eq!(drawn, rounds, "who is through waits for the others");
        let drawn = draw(&task(&[8192, 16384], FileOrder::RoundRobin(2), Access::Sequential), 0, 7);
        let rounds = [(0, 0), (0, 4096), (1, 0), (1, 4096), (1, 8192), (1, 12288), (0, 0)];
        assert_eq!(drawn, rounds);
        let drawn = draw(&task(&[8192, 4096], FileOrder::RoundRobin(1), Access::Random), 0, 100);
        assert!((0..100).all(|index| drawn[index].0 == index % 2), "chance is never through");
    }

    #[test]
    fn a_round_does_each_block_once_whatever_the_files() {
        for order in [FileOrder::RoundRobin(3), FileOrder::Random(2), FileOrder::Sequential] {
            for access in [Access::Sequential, Access::Covering, Access::Backwards] {
                let drawn = draw(&task(&[BLOCK * 7, BLOCK * 2, BLOCK * 30], order, access), 0, 78);
                for round in drawn.chunks(39) {
                    assert_eq!(round.iter().collect::<BTreeSet<_>>().len(), 39, "{order:?}");
                }
            }
        }
    }

    #[test]
    fn one_file_is_done_before_the_next() {
        let sequential = task(&[8192, 12288, 4096], FileOrder::Sequential, Access::Sequential);
        let expected = [(0, 0), (0, 4096), (1, 0), (1, 4096), (1, 8192), (2, 0), (0, 0)];
        assert_eq!(draw(&sequential, 0, 7), expected);
        let covering = FileTask { access: Access::Covering, ..sequential };
        let mut drawn = draw(&covering, 0, 6);
        drawn.sort_unstable();
        assert_eq!(drawn, expected[..6]);
    }

    /// As fio 3.33 has it: the next file is begun when one is done.
    #[test]
    fn no_more_files_than_may_be_open_are_in_use() {
        let limited = |sizes: &[u64], order, open| {
            let mut task = task(sizes, order, Access::Sequential);
            let Target::Files(target) = &mut task.target else { panic!("{task:?}") };
            target.open = open;
            task
        };
        let files =
            |task: &FileTask, count| draw(task, 0, count).into_iter().map(|op| op.0).collect::<Vec<_>>();
        let equal = [8192; 4];
        assert_eq!(files(&limited(&equal, FileOrder::RoundRobin(1), 2), 8), [0, 1, 0, 1, 2, 3, 2, 3]);
        assert_eq!(files(&limited(&equal, FileOrder::RoundRobin(1), 3), 8), [0, 1, 2, 0, 1, 2, 3, 3]);
        assert_eq!(files(&limited(&equal, FileOrder::RoundRobin(1), 1), 9), [0, 0, 1, 1, 2, 2, 3, 3, 0]);
        let unequal = [4096, 16384, 8192, 4096];
        assert_eq!(files(&limited(&unequal, FileOrder::RoundRobin(1), 2), 8), [0, 1, 1, 2, 1, 2, 1, 3]);
        assert_eq!(files(&limited(&unequal, FileOrder::RoundRobin(2), 2), 8), [0, 1, 1, 2, 2, 1, 1, 3]);
        let random = files(&limited(&[BLOCK * 20; 9], FileOrder::Random(1), 3), 180);
        let mut left = [20; 9];
        for (at, file) in random.iter().enumerate() {
            left[*file] -= 1;
            assert!(left.iter().filter(|left| (1..20).contains(*left)).count() <= 3, "{at}: {left:?}");
        }
        assert_eq!(left, [0; 9], "a round");
        assert!(random[..20].iter().collect::<BTreeSet<_>>().len() > 1);
    }

    #[test]
    fn a_file_is_done_when_its_last_hole_is_passed() {
        let hole = Access::SequentialSkip { hole: Bytes(4096) };
        let drawn = draw(&task(&[16384, 12288], FileOrder::Sequential, hole), 0, 5);
        assert_eq!(drawn, [(0, 0), (0, 8192), (1, 0), (1, 8192), (0, 0)]);
    }

    #[test]
    fn workers_have_slices_of_each_file() {
        let task = FileTask {
            workers: 2,
            concurrency: 2,
            ..task(&[8192, 16384], FileOrder::Sequential, Access::Sequential)
        };
        assert_eq!(draw(&task, 0, 3), [(0, 0), (1, 0), (1, 4096)]);
        assert_eq!(draw(&task, 1, 3), [(0, 4096), (1, 8192), (1, 12288)]);
    }

    fn shares(order: FileOrder) -> BTreeMap<usize, f64> {
        let mut counts = BTreeMap::new();
        for (file, _) in draw(&task(&[BLOCK * 8; 10], order, Access::Random), 0, 20_000) {
            *counts.entry(file).or_default() += 1.0 / 20_000.0;
        }
        counts
    }

    /// Standard deviations of a share are below 0.4 %; the bounds are four of them.
    #[test]
    fn files_are_chosen_by_their_law() {
        let near =
            |share: f64, expected: f64| assert!((share - expected).abs() < 0.016, "{share} {expected}");
        shares(FileOrder::Random(1)).values().for_each(|share| near(*share, 0.1));
        let harmonic: f64 = (1..=10).map(|k| 1.0 / f64::from(k)).sum();
        for (file, share) in shares(FileOrder::Zipf(1.0)) {
            near(share, 1.0 / (file as f64 + 1.0) / harmonic);
        }
        let pareto = shares(FileOrder::Pareto(0.2));
        near(pareto[&0] + pareto[&1], 0.8);
        let normal = shares(FileOrder::Normal(10.0));
        assert!(normal[&4] + normal[&5] > 0.6 && normal.get(&0).is_none_or(|share| *share < 0.01));
    }

    #[test]
    fn chance_stays_with_a_file_for_a_run() {
        let drawn = draw(&task(&[BLOCK * 8; 50], FileOrder::Random(4), Access::Random), 0, 400);
        assert!(drawn.chunks(4).all(|run| run.iter().all(|op| op.0 == run[0].0)));
        assert!(drawn.chunks(4).any(|run| run[0].0 != drawn[0].0));
    }

    #[test]
    fn files_have_orders_of_their_own() {
        let drawn = draw(&task(&[BLOCK * 1000; 2], FileOrder::RoundRobin(1), Access::Random), 0, 200);
        let (one, other): (Vec<_>, Vec<_>) = drawn.into_iter().partition(|op| op.0 == 0);
        let same = one.iter().zip(&other).filter(|(one, other)| one.1 == other.1).count();
        assert!(same < 10, "{same} of 100");
    }

    #[test]
    fn a_loop_is_what_the_files_hold() {
        let stop = Stop { loops: Some(2), ..Stop::default() };
        let fixed = FileTask { stop, ..task(&[8192, 10_000, 4096], FileOrder::default(), Access::Random) };
        // 2, 2 and 1 whole blocks, although together there would be 5.4.
        assert_eq!(Share::of(&fixed, 0).operations, 10);
        let sizes = Some(Sizes::alike(SizeLaw::Fixed(Bytes(2048)), Bytes(512)));
        let mixed = FileTask { sizes, ..fixed };
        // What is left of the second is too small for an operation.
        assert_eq!(Share::of(&mixed, 0).bytes, 2 * (8192 + 8192 + 4096));
        assert_eq!(draw(&mixed, 0, 100).len(), 100);
    }

    #[test]
    fn a_trim_and_its_write_go_to_the_same_place() {
        let task = FileTask {
            mix: Mix::TrimThenWrite,
            ..task(&[8192, 8192], FileOrder::default(), Access::Sequential)
        };
        assert_eq!(draw(&task, 0, 4), [(0, 0), (0, 0), (1, 0), (1, 0)]);
    }

    #[test]
    fn verified_files_begin_at_their_unit() {
        let plain = task(&[10_000, 5000, 1], FileOrder::default(), Access::Sequential);
        assert_eq!(file_starts(&plain), [0, 10_000, 15_000]);
        let verify = Verify {
            check: Checksum::Crc32c,
            unit: Bytes(0),
            reads: false,
            anyone: false,
            after: true,
            block: Bytes(0),
            ..Verify::default()
        };
        let verified = FileTask { verify: Some(verify), mix: Mix::Write, ..plain.clone() };
        assert_eq!(file_starts(&verified), [0, 12288, 20480]);
        assert!(file_starts(&task(&[4096], FileOrder::default(), Access::Random)).is_empty());
    }

    #[test]
    fn an_order_that_is_none_is_refused() {
        for (order, part) in [
            (FileOrder::RoundRobin(0), "at least one"),
            (FileOrder::Random(0), "at least one"),
            (FileOrder::Zipf(-1.0), "zipf"),
            (FileOrder::Pareto(2.0), "pareto"),
            (FileOrder::Normal(0.0), "normal"),
        ] {
            let task = task(&[8192, 8192], order, Access::Random);
            let error = crate::validate(&task).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
            assert!(OpStream::new(&task, 0).is_none());
        }
    }

    #[test]
    fn a_file_too_small_for_a_block_is_none() {
        assert!(OpStream::new(&task(&[8192, 4095], FileOrder::default(), Access::Random), 0).is_none());
        let regions = Regions::Increment(Bytes(8192));
        let task =
            FileTask { regions, workers: 2, ..task(&[16384, 8192], FileOrder::default(), Access::Random) };
        assert!(OpStream::new(&task, 0).is_some());
        assert!(OpStream::new(&task, 1).is_none(), "nothing is left of the second file");
    }
}
