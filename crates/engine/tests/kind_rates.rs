//! Reads and writes each at a rate of their own.

// Helpers of tests may give up as tests do.
#![allow(clippy::unwrap_used)]

use iolite_engine::{Control, Outcome, Scratch, run_file_task};
use iolite_model::{
    Arrival, Bandwidth, Ending, FileTask, Iops, KindRates, Mix, NullSink, OpKind, Pace, RunId, Stop,
};
use iolite_sys::clock::Clock;

fn run(rates: KindRates, stop: Stop) -> Outcome {
    let task = FileTask {
        name: "rates".into(),
        mix: Mix::ReadPercent(1),
        arrival: Arrival::ByKind(rates),
        stop,
        ..FileTask::default()
    };
    let dir = tempfile::tempdir().unwrap();
    let mut scratch = Scratch::create(dir.path(), &RunId("test".into())).unwrap();
    let outcome =
        run_file_task(&task, 0, &mut scratch, Clock::best(), &Control::default(), &mut NullSink).unwrap();
    assert_eq!(outcome.ending, Ending::Completed);
    outcome
}

fn operations(count: u64) -> Stop {
    Stop { operations: Some(count), ..Stop::default() }
}

#[test]
fn the_mix_follows_from_the_rates() {
    let reads = Some(Pace::Operations(Iops(3000.0)));
    let writes = Some(Pace::Bytes(Bandwidth(4096.0 * 1000.0)));
    let outcome = run(KindRates { reads, writes, ..KindRates::default() }, operations(400));
    let count = |kind| outcome.totals.operations(kind);
    assert_eq!((count(OpKind::Read), count(OpKind::Write)), (300, 100));
    assert_eq!(outcome.rate.unwrap().asked, Iops(4000.0));
}

#[test]
fn what_has_no_rate_fills_the_rest() {
    let reads = Some(Pace::Operations(Iops(0.001)));
    let outcome = run(KindRates { reads, ..KindRates::default() }, operations(10_000));
    // The first read is due at the start, the next in a quarter of an hour.
    let count = |kind| outcome.totals.operations(kind);
    assert_eq!((count(OpKind::Read), count(OpKind::Write)), (1, 9999));
    assert_eq!(outcome.rate, None);
}
