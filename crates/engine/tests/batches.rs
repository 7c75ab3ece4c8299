//! Number of operations that are submitted and reaped at a time.

// Helpers of tests may give up as tests do.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

mod sim;

use std::time::Duration;

use iolite_engine::{Control, EngineError, Outcome, Scratch, run_file_task, run_file_task_on};
use iolite_model::{
    Access, BackendKind, Batch, Bytes, Ending, Event, FileTarget, FileTask, LoggedOperation, Mix, OpKind,
    RingOptions, RunId, Sink, Stop, SyncRule, Target, Verify, Watch, WriteDurability,
};
use iolite_stats::Detail;
use iolite_sys::clock::Clock;
use sim::{Sim, SimFaults, SimImage, SimLatency, SimParameters};

const OPERATIONS: u64 = 512;

struct LoggedOperations(Vec<LoggedOperation>);

impl Sink for LoggedOperations {
    fn event(&mut self, event: &Event) {
        if let Event::Operations(log) = event {
            self.0.extend(&log.operations);
        }
    }
}

fn task(batch: Batch) -> FileTask {
    FileTask {
        name: "batches".into(),
        target: Target::Null { size: Bytes::MIB },
        concurrency: 16,
        batch,
        stop: Stop { operations: Some(OPERATIONS), ..Stop::default() },
        watch: Watch { detail: true, operations: true },
        ..FileTask::default()
    }
}

/// On a device that serves four at a time.
fn simulated(task: &FileTask) -> (Outcome, Vec<LoggedOperation>) {
    let image = SimImage::new(1 << 20);
    let make = move |_, depth| {
        let latency = SimLatency::Exponential { mean: Duration::from_micros(50) };
        let (faults, stall, channels) = (SimFaults::default(), None, Some(4));
        let parameters = SimParameters { seed: 1, depth, block: 4096, latency, channels, faults, stall };
        Ok(Sim::new(parameters, image.clone()))
    };
    let mut reported = LoggedOperations(Vec::new());
    let outcome = run_file_task_on(task, 0, Clock::best(), &Control::default(), &mut reported, make).unwrap();
    assert_eq!((&outcome.ending, outcome.outstanding.lost), (&Ending::Completed, 0));
    (outcome, reported.0)
}

fn detail(batch: Batch) -> Detail {
    let (outcome, reported) = simulated(&task(batch));
    assert_eq!((outcome.totals.operations(OpKind::Read), reported.len() as u64), (OPERATIONS, OPERATIONS));
    outcome.detail.unwrap()
}

#[test]
fn operations_are_handed_over_in_batches() {
    for (submit, class) in [(1, 1), (4, 1), (8, 2), (16, 3)] {
        // All that is waited for is replaced together.
        let batch = Batch { submit, complete_min: submit, complete_max: submit, ..Batch::default() };
        let detail = detail(batch);
        let expected = OPERATIONS / u64::from(submit);
        assert_eq!(
            (detail.submits[class], detail.submits.iter().sum::<u64>()),
            (expected, expected),
            "{submit}"
        );
        assert_eq!(detail.completes[class], expected, "{submit}");
    }
}

#[test]
fn no_more_are_taken_than_asked_for() {
    let max = detail(Batch { complete_min: 8, complete_max: 8, ..Batch::default() });
    assert_eq!((max.completes[2], max.completes.iter().sum::<u64>()), (OPERATIONS / 8, OPERATIONS / 8));
    let polled = detail(Batch { complete_min: 0, complete_max: 1, ..Batch::default() });
    assert_eq!((polled.completes[1], polled.completes[2..].iter().sum::<u64>()), (OPERATIONS, 0));
    assert!(polled.completes[0] > 0, "nothing was waited for: {:?}", polled.completes);
}

/// Once the queue has been full, nothing is begun until it has drained: each filling begins at 4 in flight.
#[test]
fn the_queue_drains_before_it_is_filled() {
    let (_, mut reported) = simulated(&task(Batch { low: 4, complete_max: 1, ..Batch::default() }));
    reported.sort_by_key(|op| op.issued);
    let in_flight = |at: u64| reported.iter().filter(|op| op.issued <= at && op.completed > at).count();
    let begins: Vec<usize> = reported
        .windows(2)
        .filter(|pair| reported.iter().any(|op| (pair[0].issued..pair[1].issued).contains(&op.completed)))
        .map(|pair| in_flight(pair[1].issued))
        .collect();
    assert!(begins.len() as u64 >= OPERATIONS / 12 - 1, "{}", begins.len());
    assert!(begins.iter().all(|count| (5..=6).contains(count)), "{begins:?}");
    let free = detail(Batch::default());
    let drained = detail(Batch { low: 4, ..Batch::default() });
    assert!(drained.depths[4] < free.depths[4], "{:?} against {:?}", drained.depths, free.depths);
}

#[test]
fn what_makes_no_batch_is_refused() {
    let batch = Batch { complete_min: 8, complete_max: 4, ..Batch::default() };
    let dir = tempfile::tempdir().unwrap();
    let mut scratch = Scratch::create(dir.path(), &RunId("test".into())).unwrap();
    let mut nobody = LoggedOperations(Vec::new());
    let refused =
        run_file_task(&task(batch), 0, &mut scratch, Clock::best(), &Control::default(), &mut nobody);
    let Err(EngineError::Task { reason, .. }) = refused else { panic!("{refused:?}") };
    assert!(reason.contains("complete_max"), "{reason}");
}

/// On a file that is written, verified and synced; `None` where the kernel has not this back end.
fn on_a_file(backend: BackendKind, batch: Batch) -> Option<Detail> {
    let dir = tempfile::tempdir_in(".").unwrap();
    let mut scratch = Scratch::create(dir.path(), &RunId("test".into())).unwrap();
    let (name, size) = ("file".into(), Bytes::MIB);
    let task = FileTask {
        target: Target::File(FileTarget { name, size, create: true, preallocate: true, per_worker: false }),
        backend,
        mix: Mix::Write,
        access: Access::Covering,
        verify: Some(Verify {
            check: iolite_model::Checksum::Crc32c,
            unit: Bytes(0),
            reads: false,
            anyone: false,
            after: true,
            block: Bytes(0),
            ..Verify::default()
        }),
        durability: WriteDurability::synced(SyncRule::fdatasync(64)),
        ..task(batch)
    };
    let mut reported = LoggedOperations(Vec::new());
    match run_file_task(&task, 0, &mut scratch, Clock::best(), &Control::default(), &mut reported) {
        Ok(outcome) => {
            assert_eq!(outcome.ending, Ending::Completed);
            assert_eq!(outcome.totals.operations(OpKind::Write), OPERATIONS);
            let verified = outcome.verified.unwrap();
            assert_eq!((verified.wrong, verified.unreadable), (0, 0), "{verified:?}");
            outcome.detail
        }
        Err(EngineError::Backend { source, .. }) => {
            eprintln!("skipped: no {} here: {source}", backend.name());
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn rings_gather_batches() {
    let batch = Batch { submit: 4, complete_min: 4, complete_max: 4, ..Batch::default() };
    let polling = Batch { submit: 4, complete_min: 0, low: 8, ..Batch::default() };
    for backend in [BackendKind::IoUring(RingOptions::PLAIN), BackendKind::Libaio, BackendKind::Threads] {
        let Some(detail) = on_a_file(backend, batch) else { continue };
        // A sync goes with what is queued besides it, so that some batches are larger by one.
        let all: u64 = detail.submits.iter().sum();
        assert!(detail.submits[1] + detail.submits[2] == all, "{backend:?}: {:?}", detail.submits);
        assert!((128..=128 + 16).contains(&all), "{backend:?}: {all}");
        assert!(detail.completes[2..].iter().all(|count| *count == 0), "{backend:?}: {:?}", detail.completes);
        let polled = on_a_file(backend, polling).unwrap();
        assert_eq!(polled.submits[3..], [0; 4], "{backend:?}: {:?}", polled.submits);
    }
}
