//! Whether the use of zones goes with the rest of a task.

use iolite_model::{Access, Arrival, FileTask, Mix, Zoned};

/// What is wrong with the use of zones, with its remedy.
pub(crate) fn refusal(task: &FileTask, zoned: &Zoned) -> Option<&'static str> {
    let capacity = if zoned.capacity.0 > 0 { zoned.capacity.0.min(zoned.size.0) } else { zoned.size.0 };
    let share = |share: f64| (0.0..=1.0).contains(&share);
    let pairs = matches!(task.mix, Mix::TrimThenWrite | Mix::ReadThenWrite(_));
    match () {
        () if task.verify.is_some() => Some(
            "data on zoned devices cannot be verified, because resets of zones remove it: remove `verify` or `zoned`",
        ),
        () if task.placement.processes => {
            Some("`zoned` requires threads: remove `placement.processes` or `zoned`")
        }
        () if task.flow.is_some() => Some("`flow` and `zoned` cannot be used together: remove one of them"),
        () if matches!(task.arrival, Arrival::ByKind(_)) => Some(
            "a rate for each kind of operation and `zoned` cannot be used together, because a kind may have no zone: use one rate",
        ),
        () if matches!(task.access, Access::Trace(_) | Access::Append) => {
            Some("traces and appends have places of their own: remove `zoned`, or use another order")
        }
        () if pairs => {
            Some("operations in pairs cannot be placed in zones: use another mix, or remove `zoned`")
        }
        () if capacity > 0 && capacity < task.largest().0 && !zoned.write_remainder => {
            Some("no operation fits into a zone: use larger zones, or smaller operations")
        }
        () if zoned.resets.is_some_and(|resets| !share(resets.threshold) || !share(resets.frequency)) => {
            Some("`resets` has a threshold and a frequency between 0 and 1: correct them")
        }
        () => None,
    }
}
