//! Whether an open loop's rate was kept: a device that can't is a finding, not a footnote.

use iolite_model::{FileTask, Iops, OpKind, RateKept};
use iolite_workers::Outcome;

/// Share of the operations that may be behind at the end: below it, the rate is the requested one to two
/// digits.
const TOLERANCE: f64 = 0.01;

/// Compares the rate asked for with what came of it; `None` in a closed loop, and where nothing was measured.
///
/// A rate above what the device can do leaves a backlog that grows with time; one that it can just do leaves what chance and
/// the last moment leave. The line is drawn at 1 % of what was due, and never below what may be outstanding at once.
pub(crate) fn kept(task: &FileTask, outcome: &Outcome) -> Option<RateKept> {
    let asked = task.asked_rate()?;
    let seconds = outcome.totals.measured as f64 / 1e9;
    if seconds <= 0.0 {
        return None;
    }
    let totals = &outcome.totals;
    let of = |kind| totals.operations(kind) + totals.errors(kind);
    let completed = of(OpKind::Read) + of(OpKind::Write) + of(OpKind::Trim);
    let backlog = outcome.outstanding.backlog;
    let allowed = (TOLERANCE * asked.0 * seconds).max(f64::from(task.concurrency));
    let achieved = Iops(completed as f64 / seconds);
    Some(RateKept { asked, achieved, backlog, kept: backlog as f64 <= allowed })
}
