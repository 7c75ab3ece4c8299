use std::fs;

use iolite_model::{
    DbOperation, DbTask, HistogramBytes, Interval, Nanos, NullSink, OpKind, OpTotals, RunId, Stage, Stop,
    TimedBy,
};
use iolite_results::Run;
use iolite_store::Store;

use super::*;
use crate::start::{Setup, run_info};

/// An interval of a tenth of a second with so many operations.
fn interval(phase: u32, index: u64, operations: u64, histogram: &HistogramBytes) -> Event {
    let totals = OpTotals {
        kind: OpKind::Read,
        operations,
        bytes: 0,
        errors: 0,
        response_sum: Nanos(operations),
        delay_sum: Nanos(0),
        response_max: Nanos(1),
        response: histogram.clone(),
        service: histogram.clone(),
    };
    let length = Nanos(100_000_000);
    let start = Nanos(index * length.0);
    Event::Interval(Interval { phase, start, length, stage: Stage::Measured, ops: vec![totals] })
}

#[test]
fn credits_that_run_out_are_concluded_and_kept() {
    let place = tempfile::tempdir().unwrap();
    let (data, results) = (place.path().join("data"), place.path().join("results.db"));
    fs::create_dir(&data).unwrap();
    let control = Control::new(Default::default());
    let info = run_info(iolite_observe::storage(&data).unwrap(), vec!["iolite".into()]);
    let id: RunId = info.id.clone();
    let setup = Setup { directory: Some(&data), results: Ok(results.clone()), view: Box::new(NullSink) };
    let mut session = Session::begin(info, setup, &control).unwrap();
    let task = Task::Database(DbTask {
        name: "reads".into(),
        operation: DbOperation::RanRead,
        workers: 1,
        stop: Stop::default(),
        ramp: Nanos(0),
        interval: Nanos(100_000_000),
        seed: 7,
        timed_by: TimedBy::Client,
    });
    let histogram = iolite_stats::Histogram::new().encode();
    let phase = session.phase_by(task, |phase, _, _, events| {
        for index in 0..40 {
            events.event(&interval(phase, index, if index < 20 { 2200 } else { 100 }, &histogram));
        }
        // Interrupted: what was measured is that of the intervals alone.
        let mut outcome = Outcome::nothing(Ending::Interrupted);
        outcome.totals.measured = 4_000_000_000;
        Ok((outcome, None))
    });
    let run = session.end(Ending::Completed);
    let found: PhaseChanges = run.of_phase(phase).expect("the shift is concluded");
    let shifts = found.shifts();
    assert!(shifts.len() == 1 && (shifts[0] - 2.0).abs() < 1e-9, "{found:?}");
    assert_eq!(PhaseChanges::of(&run.phases[0]), Some(found.clone()), "what is shown is what was recorded");
    let kept = Store::open(&results).unwrap().events(&id).unwrap();
    assert_eq!(Run::of(&kept).unwrap().of_phase(phase), Some(found), "and what SQL holds");
}
