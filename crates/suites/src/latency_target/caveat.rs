//! What an answer leaves open.

use iolite_model::{CacheStamp, FileTask, OpKind, Task, Warning, WriteDurability};
use iolite_stats::PhaseResult;

use crate::judge::from_memory;

/// The warning where reads need not have come from the device, or writes need not have reached it: what a verdict would be marginal for. A load generator at its limit
/// and other load on the device are warned of by the phases themselves.
pub(super) fn caveat(tries: &[PhaseResult]) -> Option<Warning> {
    let (result, reason) = tries.iter().find_map(|result| Some((result, not_of_device(result)?)))?;
    Some(Warning::NotOfDevice { phase: result.info.task.name().to_owned(), reason })
}

fn not_of_device(result: &PhaseResult) -> Option<String> {
    let Task::File(task) = &result.info.task else { return None };
    let done = |kind| result.totals.operations(kind) > 0;
    let read = || from_memory(result, OpKind::Read, task.direct);
    let written = || into_memory(result, task);
    done(OpKind::Read).then(read).flatten().or_else(|| done(OpKind::Write).then(written).flatten())
}

/// Why the writes show nothing of the storage, where the page cache takes them and nothing waits until they are durable.
fn into_memory(result: &PhaseResult, task: &FileTask) -> Option<String> {
    let WriteDurability { sync, also: _, end_sync: _, open, range: _ } = &task.durability;
    if task.direct || sync.is_some() || open.is_some() {
        return None;
    }
    match result.end.cache.stamp_of_writes() {
        CacheStamp::Device => None,
        stamp => Some(format!(
            "the writes are neither direct nor synced, and the page cache takes them (cache stamp: {stamp}): set `direct`, or \
             `durability.sync`"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolite_model::{Bytes, Cache, Mix, OpenSync, SyncRule};
    use iolite_stats::{Collector, Completion, Timetable, recorder};

    fn read(direct: bool, cache: Cache) -> PhaseResult {
        let task = FileTask { name: "search".into(), direct, ..FileTask::default() };
        done(OpKind::Read, task, Cache { requested_read: Bytes(4096), ..cache })
    }

    fn done(kind: OpKind, task: FileTask, cache: Cache) -> PhaseResult {
        let timetable = Timetable { ramp_end: 0, interval: 1_000, end: 1_000 };
        let (mut recorder, feed) = recorder(timetable, &[kind]);
        let mut collector = Collector::new(0, vec![feed]);
        recorder.record(Completion { kind, intended: 1, issued: 1, completed: 9, bytes: 4096 });
        recorder.finish().iter().for_each(|left| collector.absorb(0, left));
        let mut result = crate::check::tests::empty(Task::File(task));
        result.totals = collector.finish(0, 1_000).2;
        result.end.cache = cache;
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

    #[test]
    fn an_answer_from_writes_that_the_page_cache_took_has_a_caveat() {
        let written = |direct, durability, reached| {
            let task = FileTask {
                name: "search".into(),
                mix: Mix::Write,
                direct,
                durability,
                ..FileTask::default()
            };
            let cache = Cache {
                requested_written: Bytes(4096),
                device_written: Some(Bytes(reached)),
                own_written: Some(Bytes(reached)),
                ..Cache::default()
            };
            caveat(&[done(OpKind::Write, task, cache)]).map(|warning| warning.to_string())
        };
        let synced = WriteDurability::synced(SyncRule::fdatasync(1));
        let durable = WriteDurability { open: Some(OpenSync::Data), ..WriteDurability::default() };
        let warning = written(false, WriteDurability::default(), 0).unwrap();
        assert!(warning.contains("`search`") && warning.contains("page cache"), "{warning}");
        let sound = [
            written(true, WriteDurability::default(), 0),
            written(false, synced, 0),
            written(false, durable, 0),
            written(false, WriteDurability::default(), 4096),
        ];
        assert_eq!(sound, [None, None, None, None]);
    }
}
