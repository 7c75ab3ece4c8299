//! Figures of a study's windows.

use iolite_model::{Nanos, OpKind, StudyFinding, StudyWindow};
use iolite_stats::PhaseResult;

/// Measured time below which figures are rough.
const SHORT: Nanos = Nanos(500_000_000);

/// The result of a window's phase.
pub(super) fn result<'a, C>(window: &StudyWindow<C>, history: &'a [PhaseResult]) -> Option<&'a PhaseResult> {
    history.get(window.phase as usize)
}

/// Operations a second of all kinds in a window.
pub(super) fn rate<C>(window: &StudyWindow<C>, history: &[PhaseResult]) -> Option<f64> {
    let result = result(window, history)?;
    let seconds = result.totals.measured as f64 / 1e9;
    let operations: u64 =
        [OpKind::Read, OpKind::Write].iter().map(|&kind| result.totals.operations(kind)).sum();
    (operations > 0 && seconds > 0.0).then(|| operations as f64 / seconds)
}

/// Bytes a second of all kinds in a window.
pub(super) fn bandwidth<C>(window: &StudyWindow<C>, history: &[PhaseResult]) -> Option<f64> {
    let result = result(window, history)?;
    let seconds = result.totals.measured as f64 / 1e9;
    let bytes: u64 = [OpKind::Read, OpKind::Write].iter().map(|&kind| result.totals.bytes(kind)).sum();
    (bytes > 0 && seconds > 0.0).then(|| bytes as f64 / seconds)
}

/// The warning about windows that ended long before their time.
pub(super) fn short<C>(windows: &[StudyWindow<C>], history: &[PhaseResult]) -> Option<StudyFinding> {
    let measured = windows.iter().filter_map(|window| {
        let result = result(window, history)?;
        let whole = result.info.task.stop().runtime.unwrap_or_default();
        (result.end.measured.0 < whole.0 / 2).then_some(result.end.measured)
    });
    let shortest = measured.min().filter(|shortest| *shortest < SHORT)?;
    Some(StudyFinding::Short { shortest })
}
