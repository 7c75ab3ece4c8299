//! What a task will write, as far as that is known before it runs.

use iolite_model::{
    Access, Bytes, DbTask, FileTask, FilesTarget, LayOut, MetadataOperation, MetadataTask, Mix, Nanos, Ramp,
    Target, Task, TracedKind, WritePlan,
};
use iolite_workload::Share;

use crate::layout::reads_data;

/// What a task will write at most: bytes where an amount or a rate ends it, else the time for which it writes as fast as the
/// storage takes it. Files that exist are looked at, nothing is opened.
pub fn planned_writes(task: &Task) -> WritePlan {
    match task {
        Task::File(task) => of_file_task(task),
        Task::Metadata(task) => of_names(task),
        Task::Database(task) => of_database_task(task),
        // Of another workload it is not known beforehand how much it writes.
        workload => timed(workload.ramp(), workload.stop().runtime, true),
    }
}

/// What a set in a database writes at most: its page in the data file, and in the log, of 16 KiB each.
const BYTES_PER_SET: u64 = 32 << 10;

/// A number of operations bounds what is written, else the time.
fn of_database_task(task: &DbTask) -> WritePlan {
    let share = 1.0 - f64::from(task.operation.read_percent().min(100)) / 100.0;
    let plan = timed(task.ramp, task.stop.runtime, share > 0.0);
    match task.stop.operations {
        Some(operations) => {
            let sets = (operations as f64 * share).ceil() as u64;
            WritePlan { bytes: Bytes(sets.saturating_mul(BYTES_PER_SET)), timed: Nanos(0), ..plan }
        }
        None => plan,
    }
}

/// Bytes that are written to lay out what a task reads, before it begins.
pub fn planned_layout(task: &FileTask) -> Bytes {
    match &task.target {
        Target::Files(target) => laid_out(task, target).bytes,
        _ => Bytes(0),
    }
}

/// The plan of a phase that ends by time alone.
fn timed(ramp: impl Into<Ramp>, runtime: Option<Nanos>, writes: bool) -> WritePlan {
    let ramp = ramp.into().known_time();
    let duration = Nanos(ramp.0.saturating_add(runtime.unwrap_or_default().0));
    WritePlan { timed: if writes { duration } else { Nanos(0) }, duration, ..WritePlan::default() }
}

fn of_file_task(task: &FileTask) -> WritePlan {
    let by_time = timed(task.ramp, task.stop.runtime, writes(task));
    let by_time =
        WritePlan { duration: Nanos(by_time.duration.0.saturating_add(task.start.delay.0)), ..by_time };
    let own = match known(task) {
        Some(bytes) => WritePlan { bytes, timed: Nanos(0), ..by_time },
        None => by_time,
    };
    let laid_out = match &task.target {
        Target::Files(target) => laid_out(task, target),
        Target::File(file) if file.create => {
            let files = if file.per_worker { u64::from(task.workers) } else { 1 };
            WritePlan { space: Bytes(file.size.0.saturating_mul(files)), ..WritePlan::default() }
        }
        Target::File(_) | Target::Existing(_) | Target::Null { .. } => WritePlan::default(),
    };
    own.then(laid_out)
}

fn writes(task: &FileTask) -> bool {
    task.mix.writes() && !matches!(task.target, Target::Null { .. })
}

/// Bytes that are written, where a number of operations or a rate bounds them.
fn known(task: &FileTask) -> Option<Bytes> {
    if !writes(task) {
        return Some(Bytes(0));
    }
    if let Access::Trace(trace) = &task.access {
        let writes = trace.operations().iter().filter(|operation| operation.kind == TracedKind::Write);
        let once: u64 = writes.map(|operation| u64::from(operation.length)).sum();
        return Some(Bytes(once.saturating_mul(u64::from(task.workers))));
    }
    let share = written_share(task.mix);
    let of_shares = (0..task.workers).map(|worker| bounded(task, Share::of(task, worker), share));
    let by_amount = of_shares.sum::<Option<f64>>();
    let ramped = if let Ramp::Amount(bytes) = task.ramp { bytes.0 as f64 * share } else { 0.0 };
    let by_rate = task.asked_rate().zip(task.stop.runtime).map(|(rate, runtime)| {
        let time = task.ramp.known_time().as_secs_f64() + runtime.as_secs_f64();
        rate.0 * time * share * task.mean_sizes()[1] + ramped
    });
    let limit = task.stop.written.map(|bytes| bytes.0 as f64);
    let bounds = [by_amount, by_rate, limit].into_iter().flatten();
    bounds.reduce(f64::min).map(|bytes| Bytes(bytes.ceil() as u64))
}

/// Bytes that a worker writes within its share; `None` where nothing but time ends it.
fn bounded(task: &FileTask, mine: Share, written: f64) -> Option<f64> {
    let largest = task.largest().0;
    let by_operations =
        (mine.operations != u64::MAX).then_some(mine.operations as f64 * written * largest as f64);
    let by_bytes = (mine.bytes != u64::MAX).then(|| mine.bytes.saturating_add(largest) as f64 * written);
    [by_operations, by_bytes].into_iter().flatten().reduce(f64::min)
}

/// The share of the operations that are writes.
fn written_share(mix: Mix) -> f64 {
    match mix {
        Mix::Read | Mix::Trim => 0.0,
        Mix::Write | Mix::Traced(_) => 1.0,
        Mix::ReadPercent(percent) | Mix::TrimPercent(percent) => 1.0 - f64::from(percent.min(100)) / 100.0,
        Mix::ReadTrimPercent { reads, trims } => {
            (1.0 - (f64::from(reads) + f64::from(trims)) / 100.0).max(0.0)
        }
        Mix::TrimThenWrite => 0.5,
        Mix::ReadThenWrite(percent) => f64::from(percent) / (100.0 + f64::from(percent)),
    }
}

/// What files are laid out or extended with.
fn laid_out(task: &FileTask, target: &FilesTarget) -> WritePlan {
    let mut plan = WritePlan::default();
    for file in &target.files {
        let found = std::fs::metadata(&file.path).ok();
        if found.as_ref().is_some_and(|found| !found.is_file()) {
            continue;
        }
        let length = found.map_or(0, |found| found.len());
        let end = if file.size.0 > 0 { file.offset.0.saturating_add(file.size.0) } else { length };
        let missing = end.saturating_sub(length);
        let filled = match target.lay_out {
            LayOut::Always => end.saturating_sub(file.offset.0.min(length)),
            LayOut::Needed if reads_data(task) => missing,
            LayOut::Needed | LayOut::Never | LayOut::Grow => 0,
        };
        let space = if target.lay_out == LayOut::Never { 0 } else { missing };
        plan = plan.then(WritePlan { bytes: Bytes(filled), space: Bytes(space), ..WritePlan::default() });
    }
    plan
}

fn of_names(task: &MetadataTask) -> WritePlan {
    let plan = timed(task.ramp, task.stop.runtime, false);
    if task.operation != MetadataOperation::Create {
        return plan;
    }
    let each = task.files.min(task.stop.worker_operations.unwrap_or(u64::MAX));
    let files = each.saturating_mul(u64::from(task.workers)).min(task.stop.operations.unwrap_or(u64::MAX));
    let bytes = Bytes(files.saturating_mul(task.size.0));
    WritePlan { bytes, space: bytes, ..plan }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolite_model::{
        Arrival, DbOperation, ExistingTarget, FileTarget, Iops, NamedFile, SizeLaw, Sizes, Stop,
    };

    const SECOND: Nanos = Nanos::SECOND;

    fn task(mix: Mix, stop: Stop) -> FileTask {
        let file = FileTarget {
            name: "data".into(),
            size: Bytes(1 << 20),
            create: true,
            preallocate: false,
            per_worker: false,
        };
        FileTask { target: Target::File(file), mix, stop, ..FileTask::default() }
    }

    fn plan(task: FileTask) -> (u64, u64, u64) {
        let plan = planned_writes(&Task::File(task));
        (plan.bytes.0, plan.timed.0 / SECOND.0, plan.duration.0 / SECOND.0)
    }

    #[test]
    fn amounts_are_known_and_closed_loops_are_known_by_their_time() {
        let loops = Stop { loops: Some(2), ..Stop::default() };
        let seconds = Stop { runtime: Some(Nanos(9 * SECOND.0)), ..Stop::default() };
        assert_eq!(plan(task(Mix::Write, loops)), (2 << 20, 0, 0));
        assert_eq!(plan(task(Mix::ReadPercent(75), loops)), (1 << 19, 0, 0));
        assert_eq!(plan(task(Mix::Read, loops)), (0, 0, 0));
        assert_eq!(plan(FileTask { ramp: SECOND.into(), ..task(Mix::Write, seconds) }), (0, 10, 10));
        assert_eq!(plan(FileTask { ramp: SECOND.into(), ..task(Mix::Read, seconds) }), (0, 0, 10));
        let arrival = Arrival::Poisson(Iops(100.0));
        assert_eq!(plan(FileTask { arrival, ..task(Mix::Write, seconds) }), (100 * 9 * 4096, 0, 9));
        let limited = Stop { written: Some(Bytes(12_288)), ..seconds };
        assert_eq!(plan(task(Mix::Write, limited)), (12_288, 0, 9));
        assert_eq!(
            plan(FileTask { target: Target::Null { size: Bytes::GIB }, ..task(Mix::Write, loops) }).0,
            0
        );
    }

    #[test]
    fn sets_in_a_database_are_bounded_by_their_number_or_the_time() {
        let plan = |operation, runtime: Option<u64>, operations| {
            let stop = Stop { runtime: runtime.map(|s| Nanos(s * SECOND.0)), operations, ..Stop::default() };
            let plan = planned_writes(&Task::Database(DbTask {
                name: "x".into(),
                operation,
                workers: 1,
                stop,
                ramp: Nanos(0),
                interval: SECOND,
                seed: 1,
                timed_by: Default::default(),
            }));
            (plan.bytes.0, plan.timed.0 / SECOND.0, plan.duration.0 / SECOND.0)
        };
        let sets = DbOperation::RanWrite { transaction_length: 5, hang: Nanos(0) };
        let both = DbOperation::RanIo { transaction_length: 5, hang: Nanos(0), read_percent: 75 };
        assert_eq!(plan(DbOperation::RanRead, Some(9), None), (0, 0, 9));
        assert_eq!(plan(sets, Some(9), None), (0, 9, 9));
        assert_eq!(plan(sets, None, Some(1000)), (1000 * (32 << 10), 0, 0));
        assert_eq!(plan(sets, Some(9), Some(1000)), (1000 * (32 << 10), 0, 9));
        assert_eq!(plan(both, None, Some(1000)), (250 * (32 << 10), 0, 0));
    }

    #[test]
    fn of_different_sizes_the_largest_counts() {
        let law = SizeLaw::Range { min: Bytes(4096), max: Bytes(65_536), multiple: Bytes(4096) };
        let sizes = Sizes { reads: law.clone(), writes: law.clone(), trims: law, alignment: Bytes(4096) };
        let stop = Stop { operations: Some(10), ..Stop::default() };
        assert_eq!(plan(FileTask { sizes: Some(sizes), ..task(Mix::Write, stop) }).0, 10 * 65_536);
    }

    #[test]
    fn what_lays_files_out_counts_as_far_as_it_is_missing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, [0; 1000]).unwrap();
        let files =
            FilesTarget::of(vec![NamedFile { path: path.clone(), offset: Bytes(0), size: Bytes(4096) }]);
        let read = FileTask { target: Target::Files(files.clone()), ..task(Mix::Read, Stop::default()) };
        assert_eq!(planned_layout(&read), Bytes(3096));
        let write = FileTask { mix: Mix::Write, ..read.clone() };
        assert_eq!(planned_layout(&write), Bytes(0), "it gets its size, and no data");
        assert_eq!(planned_writes(&Task::File(write)).space, Bytes(3096));
        let anew = FilesTarget { lay_out: LayOut::Always, ..files };
        assert_eq!(planned_layout(&FileTask { target: Target::Files(anew), ..read }), Bytes(4096));
        let there = ExistingTarget { path, offset: Bytes(0), size: Bytes(0), overwrite: Default::default() };
        let read = FileTask { target: Target::Existing(there), ..task(Mix::Read, Stop::default()) };
        assert_eq!(planned_writes(&Task::File(read)).space, Bytes(0));
    }

    #[test]
    fn created_files_count_with_their_contents() {
        let names = MetadataTask { files: 10, workers: 3, size: Bytes(100), ..MetadataTask::default() };
        assert_eq!(planned_writes(&Task::Metadata(names)).bytes, Bytes(3000));
    }
}
