//! Warnings about a phase that has been measured.

use iolite_model::{CacheStamp, Ending, ErrorClass, Iops, Mix, Nanos, OpKind, Task, Warning};
use iolite_stats::{Change, PhaseChanges, PhaseResult};

/// Measured time below which a figure is said to rest on little.
const SHORT: Nanos = Nanos(250_000_000);

/// What may be uncertain about a phase, with advice. `first_error` is the first error of an operation, where the phase's
/// end does not list it.
pub fn phase_warnings(result: &PhaseResult, first_error: Option<&str>) -> Vec<Warning> {
    let name = || {
        let task = &result.info.task;
        format!("{}, {} outstanding", task.name(), task.concurrency())
    };
    let mut warnings = Vec::new();
    let errors = result.errors();
    if errors > 0 {
        let listed = result.end.errors.first().map(|tally| tally.first.as_str());
        let first = listed.or(first_error).unwrap_or("an unknown error").to_owned();
        let class = result.end.errors.first().map_or(ErrorClass::Other, |tally| tally.class);
        warnings.push(Warning::Errors { phase: name(), errors, first, class });
    }
    let outstanding = result.end.outstanding;
    if outstanding.lost > 0 {
        warnings.push(Warning::Hung { phase: name(), lost: outstanding.lost, age: outstanding.oldest });
    }
    warnings.extend(foreign_load(result, name));
    warnings.extend(inconstant(result, &name()));
    warnings
}

/// Whether so little time was measured that a figure rests on little.
pub(crate) fn is_short(result: &PhaseResult) -> bool {
    result.end.measured < SHORT
}

/// The phases that ended before their time so early that their figures rest on little.
pub(crate) fn short_phases(history: &[PhaseResult]) -> Option<Warning> {
    let is_short = |result: &&PhaseResult| {
        let limited = result.info.task.stop().runtime.is_some_and(|runtime| result.end.measured < runtime);
        limited && is_short(result) && result.end.ending == Ending::Completed
    };
    let name = |result: &PhaseResult| format!("{} ({})", result.info.task.name(), result.end.measured);
    let phases: Vec<_> = history.iter().filter(is_short).map(name).collect();
    (!phases.is_empty()).then_some(Warning::ShortPhases { phases })
}

/// Reads that the devices did beyond this program's own, where those are known; else beyond those requested, in a phase that only
/// reads files directly: anything else (a database, writes with their journal, read-ahead) adds I/O of its own.
pub(crate) fn foreign_load(result: &PhaseResult, name: impl Fn() -> String) -> Option<Warning> {
    let cache = &result.end.cache;
    let reads_only = matches!(&result.info.task, Task::File(task) if task.direct && task.mix == Mix::Read);
    cache.foreign_read().filter(|_| cache.own_read.is_some() || reads_only)?;
    let (requested, device) = (cache.requested_read, cache.device_read?);
    Some(Warning::ForeignLoad { phase: name(), kind: OpKind::Read, requested, device })
}

/// Whether others used the device during a phase.
pub(crate) fn beside_others(result: &PhaseResult, direct: bool) -> bool {
    let cache = &result.end.cache;
    // Inside databases the stamp alone shows it, unless this program's own I/O is known: reads of theirs are amplified.
    cache.stamp() == CacheStamp::OtherIo
        || foreign_load(result, String::new).is_some()
        || direct && cache.foreign_writes()
}

/// What did not stay as it was within a phase that is meant to go on alike: level shifts, the longest stall, a period.
fn inconstant(result: &PhaseResult, phase: &str) -> Vec<Warning> {
    let nanos = |seconds: f64| Nanos((seconds * 1e9).round() as u64);
    let mut warnings = Vec::new();
    let (mut stalls, mut longest) = (0u32, (0.0, 0.0));
    for change in PhaseChanges::of(result).into_iter().flat_map(|found| found.changes) {
        match change {
            Change::LevelShift { at, before, after } => warnings.push(Warning::LevelShift {
                phase: phase.into(),
                at: nanos(at),
                before: Iops(before.value),
                after: Iops(after.value),
            }),
            Change::Stall { at, seconds } => {
                stalls += 1;
                longest = if seconds > longest.1 { (at, seconds) } else { longest };
            }
            Change::Periodic { seconds, amplitude } => warnings.push(Warning::Periodic {
                phase: phase.into(),
                period: nanos(seconds),
                percent: amplitude * 100.0,
            }),
        }
    }
    if stalls > 0 {
        let (at, longest) = (nanos(longest.0), nanos(longest.1));
        warnings.push(Warning::Stalls { phase: phase.into(), at, longest, stalls });
    }
    warnings
}

#[cfg(test)]
mod tests {
    use iolite_model::{Arrival, FileTask, SyncMethod, WriteDurability};
    use iolite_stats::{Collector, Completion, Point, Timetable, recorder};

    use super::*;

    fn warned(rates: &[u64], arrival: Arrival) -> Vec<Warning> {
        let series = rates.iter().map(|&count| {
            let mut point = Point { seconds: 0.1, ..Point::default() };
            point.operations[OpKind::Read] = count;
            point
        });
        let mut result = crate::check::tests::empty(Task::File(FileTask { arrival, ..FileTask::default() }));
        result.totals.series = series.collect();
        inconstant(&result, "p")
    }

    #[test]
    fn credits_that_run_out_are_reported_with_both_levels() {
        let mut rates = vec![2200; 20];
        rates.extend([100; 20]);
        let warnings = warned(&rates, Arrival::Closed);
        let text = warnings[0].to_string();
        assert!(text.contains("from 22,000 to 1,000 IOPS") && text.contains("2.00 s after"), "{text}");
        assert_eq!(warnings.len(), 1);
        let burst = Arrival::Bursts { rate: Iops(100.0), operations: 5 };
        assert!(warned(&rates, burst).is_empty());
    }

    #[test]
    fn errors_outside_the_measured_time_are_warned_of() {
        let timetable = Timetable { ramp_end: 1_000, interval: 1_000, end: 2_000 };
        // In the ramp, and of what comes back when time is up.
        for at in [500, 2_500] {
            let (mut recorder, feed) = recorder(timetable, &OpKind::STANDARD);
            let mut collector = Collector::new(0, vec![feed]);
            recorder.record_error(OpKind::Read, at);
            recorder.finish().iter().for_each(|left| collector.absorb(0, left));
            let mut result = crate::check::tests::empty(Task::File(FileTask::default()));
            result.totals = collector.finish(1_000, 1_000).2;
            let warnings = phase_warnings(&result, Some("EIO"));
            assert!(matches!(&warnings[..], [Warning::Errors { errors: 1, .. }]), "{at}: {warnings:?}");
        }
    }

    const MILLISECOND: u64 = 1_000_000;

    /// A phase of this length that ends with a sync, and did this: kind, start and end of each operation, the earliest end first.
    fn synced_at_end(done: &[(OpKind, u64, u64)], end: u64) -> PhaseResult {
        let timetable = Timetable { ramp_end: 0, interval: 100 * MILLISECOND, end };
        let (mut recorder, feed) = recorder(timetable, &OpKind::STANDARD);
        let mut collector = Collector::new(0, vec![feed]);
        for &(kind, issued, completed) in done {
            recorder.record(Completion { kind, intended: issued, issued, completed, bytes: 4096 });
            collector.collect(completed);
        }
        recorder.finish().iter().for_each(|left| collector.absorb(0, left));
        let durability = WriteDurability { end_sync: Some(SyncMethod::Fsync), ..WriteDurability::default() };
        let task = FileTask { mix: Mix::Write, durability, ..FileTask::default() };
        let mut result = crate::check::tests::empty(Task::File(task));
        (_, _, result.totals) = collector.finish(0, end);
        result
    }

    /// Writes of a millisecond each between two instants.
    fn writes(from: u64, to: u64) -> Vec<(OpKind, u64, u64)> {
        let write = |issued| (OpKind::Write, issued, issued + MILLISECOND - 1);
        (from..to).step_by(MILLISECOND as usize).map(write).collect()
    }

    /// Writes for a second, a millisecond each, and the sync at the end in so many more.
    fn synced(sync: u64) -> PhaseResult {
        let (written, end) = (1000 * MILLISECOND, (1000 + sync) * MILLISECOND);
        let mut done = writes(0, written);
        done.push((OpKind::Sync, written, end - 1));
        synced_at_end(&done, end)
    }

    #[test]
    fn the_sync_at_the_end_is_no_stall_and_no_variation_of_the_rate() {
        let result = synced(800);
        assert_eq!(inconstant(&result, "p"), []);
        let rate = result.summary(OpKind::Write).unwrap().rate;
        // 1000 writes in 1.8 s, all at the same rate.
        assert!((rate.value - 1000.0 / 1.8).abs() < 1.0, "{rate:?}");
        // The sync, 44 % of the time, was seen once.
        assert!((0.3..0.5).contains(&rate.relative_half_width()), "{rate:?}");
        // Without knowing of the sync, it is both.
        let mut unknown = result.clone();
        unknown.info.task = Task::File(FileTask::default());
        assert!(!inconstant(&unknown, "p").is_empty());
        assert!(unknown.summary(OpKind::Write).unwrap().rate.relative_half_width() > 0.5);
    }

    /// Its sync goes on when the time is over: it is not counted, and yet no time in which the device stood still.
    #[test]
    fn a_sync_that_the_end_of_the_time_cuts_off_is_no_stall() {
        let end = 1800 * MILLISECOND;
        let mut result = synced_at_end(&writes(0, 1000 * MILLISECOND), end);
        assert_eq!(inconstant(&result, "p"), []);
        // An operation that did not come back is one.
        result.end.outstanding.at_end = 1;
        assert!(!inconstant(&result, "p").is_empty());
    }

    /// A worker whose share is done syncs while another one goes on, which then stalls: that is no sync.
    #[test]
    fn a_sync_amid_the_work_of_others_hides_no_change() {
        let mut done = writes(0, 1000 * MILLISECOND);
        done.push((OpKind::Sync, 100 * MILLISECOND, 1000 * MILLISECOND));
        done.extend(writes(1000 * MILLISECOND, 1200 * MILLISECOND));
        done.extend(writes(1700 * MILLISECOND, 2000 * MILLISECOND));
        let result = synced_at_end(&done, 2000 * MILLISECOND);
        let found = inconstant(&result, "p");
        assert!(matches!(found[..], [Warning::Stalls { .. } | Warning::LevelShift { .. }, ..]), "{found:?}");
        let rate = result.summary(OpKind::Write).unwrap().rate;
        assert!((rate.value - 750.0).abs() < 1.0, "{rate:?}");
    }

    #[test]
    fn of_several_stalls_the_longest_is_reported() {
        let mut rates = vec![1000; 40];
        rates[10] = 0;
        rates[20..23].fill(1);
        let warnings = warned(&rates, Arrival::Closed);
        assert!(
            warnings.iter().any(|warning| matches!(warning, Warning::Stalls { stalls: 2, .. })),
            "{warnings:?}"
        );
    }
}
