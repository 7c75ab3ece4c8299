//! What an answer leaves open.

use iolite_model::{OpKind, Task, Warning};
use iolite_stats::PhaseResult;

use crate::judge::from_memory;

/// The warning where reads need not have come from the device: what a verdict would be marginal for. A load generator at its limit
/// and other load on the device are warned of by the phases themselves.
pub(super) fn caveat(tries: &[PhaseResult]) -> Option<Warning> {
    let direct = |result: &PhaseResult| matches!(&result.info.task, Task::File(task) if task.direct);
    let reads = tries.iter().filter(|result| result.totals.operations(OpKind::Read) > 0);
    let mut found =
        reads.filter_map(|result| Some((result, from_memory(result, OpKind::Read, direct(result))?)));
    let (result, reason) = found.next()?;
    Some(Warning::NotOfDevice { phase: result.info.task.name().to_owned(), reason })
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolite_model::{Bytes, Cache, FileTask};
    use iolite_stats::{Collector, Completion, Timetable, recorder};

    fn read(direct: bool, cache: Cache) -> PhaseResult {
        let timetable = Timetable { ramp_end: 0, interval: 1_000, end: 1_000 };
        let (mut recorder, feed) = recorder(timetable, &[OpKind::Read]);
        let mut collector = Collector::new(0, vec![feed]);
        let kind = OpKind::Read;
        recorder.record(Completion { kind, intended: 1, issued: 1, completed: 9, bytes: 4096 });
        recorder.finish().iter().for_each(|left| collector.absorb(0, left));
        let task = FileTask { name: "search".into(), direct, ..FileTask::default() };
        let mut result = crate::check::tests::empty(Task::File(task));
        result.totals = collector.finish(0, 1_000).2;
        result.end.cache = Cache { requested_read: Bytes(4096), ..cache };
        result
    }

    #[test]
    fn an_answer_from_reads_that_memory_may_have_served_has_a_caveat() {
        let confirmed = Cache { direct_confirmed: true, ..Cache::default() };
        assert_eq!(caveat(&[read(true, confirmed)]), None);
        for (direct, cache) in [(true, Cache::default()), (false, confirmed)] {
            let warning = caveat(&[read(true, confirmed), read(direct, cache)]).unwrap().to_string();
            assert!(warning.contains("`search`") && warning.contains("from memory"), "{warning}");
        }
        let device = |read| Cache { device_read: Some(Bytes(read)), ..Cache::default() };
        assert_eq!(caveat(&[read(false, device(4096))]), None);
        assert!(caveat(&[read(false, device(0))]).unwrap().to_string().contains("cached"));
    }
}
