//! The program measured: its clock, and the measured loop on the null back end.

use iolite_engine::{Control, EngineError, Scratch, run_file_task};
use iolite_model::{Bytes, Calibration, FileTask, Nanos, NullSink, OpKind, Stop};
use iolite_sys::clock::Clock;

/// Measures the clock, and the measured loop on the null back end.
///
/// # Errors
/// The program can't start a thread; [`EngineError::Interrupted`].
pub(crate) fn calibrate(
    scratch: &mut Scratch,
    clock: Clock,
    control: &Control,
) -> Result<Calibration, EngineError> {
    let cost = clock.cost();
    let outcome = run_file_task(&null_task(), 0, scratch, clock, control, &mut NullSink)?;
    if control.interrupted() {
        // What was measured until then is no figure.
        return Err(EngineError::Interrupted);
    }
    let operations = outcome.totals.operations(OpKind::Read).max(1);
    Ok(Calibration {
        clock: clock.name().into(),
        clock_cost_ns: cost.nanos,
        clock_resolution: Nanos(cost.resolution),
        loop_cost_ns: outcome.totals.measured as f64 / operations as f64,
    })
}

/// Reads that cost nothing but the loop itself: several hundred thousand, which take no longer than a user would not notice.
fn null_task() -> FileTask {
    FileTask {
        name: "the measured loop on nothing".into(),
        block: Bytes(8192),
        stop: Stop { runtime: Some(Nanos(50_000_000)), ..Stop::default() },
        ramp: Nanos(10_000_000).into(),
        interval: Nanos(50_000_000),
        ..FileTask::default()
    }
}
