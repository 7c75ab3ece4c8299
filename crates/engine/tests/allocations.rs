//! The measured loop allocates nothing: ten times the operations make no more allocations.

// Helpers of tests may give up as tests do.
#![allow(clippy::unwrap_used)]

use std::alloc::System;

use iolite_engine::{Control, Scratch, run_file_task};
use iolite_model::{
    Access, Arrival, BackendKind, Bytes, FileTask, Iops, Mix, Nanos, NullSink, OnError, OpKind, RunId, Stop,
    Target, Watch,
};
use iolite_sys::clock::Clock;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Allocations of the whole process, and operations, in half a second of the task.
fn measure(task: &FileTask) -> (usize, u64) {
    let dir = tempfile::tempdir().unwrap();
    let mut scratch = Scratch::create(dir.path(), &RunId("test".into())).unwrap();
    let region = Region::new(ALLOCATOR);
    let outcome =
        run_file_task(task, 0, &mut scratch, Clock::best(), &Control::default(), &mut NullSink).unwrap();
    (region.change().allocations, outcome.totals.operations(OpKind::Read))
}

#[test]
fn the_measured_loop_allocates_nothing() {
    let mut task = FileTask {
        name: "test".into(),
        target: Target::Null { size: Bytes::GIB },
        backend: BackendKind::Null,
        mix: Mix::Read,
        access: Access::Random,
        block: Bytes(4096),
        direct: false,
        workers: 1,
        concurrency: 1,
        arrival: Arrival::Constant(Iops(1000.0)),

        stop: Stop { runtime: Some(Nanos(500_000_000)), ..Stop::default() },
        ramp: Nanos(0).into(),
        interval: Nanos(10_000_000),
        seed: 1,
        ..FileTask::default()
    };
    let (few_allocations, few) = measure(&task);
    task.arrival = Arrival::Closed;
    let watched = FileTask {
        watch: Watch { detail: true, operations: false },
        errors: OnError { max_service: Some(Nanos::SECOND), ..OnError::default() },
        ..task.clone()
    };
    for task in [task, watched] {
        let (allocations, many) = measure(&task);
        assert!(many > few * 100, "{many} operations against {few}");
        // What there is comes from threads, and from the intervals, which are as many in both.
        let more = allocations.saturating_sub(few_allocations);
        assert!(more < 1000, "{few_allocations} allocations for {few} operations, {allocations} for {many}");
    }
}
