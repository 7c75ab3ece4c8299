//! Warnings about a database and the phases inside it.

use iolite_model::{Bytes, DatabaseFacts, DatabaseUse, DbTask, Durability, OpKind, Storage, Task, Warning};
use iolite_stats::PhaseResult;

/// Share of the jobs' time that operations have to account for, and by which they may exceed it.
const ACCOUNTED: std::ops::Range<f64> = 0.8..1.1;
/// Share of the commits that synchronisations have to account for.
const SYNCED: f64 = 0.9;
/// Commits below which nothing is said of synchronisations.
const FEW: u64 = 20;

/// A database this many times as large as the memory is not served from it.
const TIMES_MEMORY: u64 = 2;
/// A database this many times as large as a controller's cache is not served from it.
const TIMES_CONTROLLER: u64 = 4;

/// Warnings about a database of this size: what is read from it may come from a cache.
pub fn small_database(size: Bytes, memory: Option<Bytes>, controller: Option<Bytes>) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let times = |cache: Bytes, factor| Bytes(cache.0.saturating_mul(factor));
    if let Some(memory) = memory.filter(|memory| size < times(*memory, TIMES_MEMORY)) {
        let wanted = times(memory, TIMES_MEMORY);
        warnings.push(Warning::SmallDatabase { database: size, memory, wanted });
    }
    if let Some(cache) = controller.filter(|cache| size < times(*cache, TIMES_CONTROLLER)) {
        let wanted = times(cache, TIMES_CONTROLLER);
        warnings.push(Warning::SmallForController { database: size, cache, wanted });
    }
    warnings
}

/// What may be uncertain about a phase inside a database, with advice.
pub fn database_warnings(
    result: &PhaseResult,
    facts: &DatabaseFacts,
    used: Option<&DatabaseUse>,
    storage: &Storage,
) -> Vec<Warning> {
    let Task::Database(task) = &result.info.task else { return Vec::new() };
    let few = used.and_then(|used| few_syncs(task, result, facts, used, storage));
    unaccounted_time(task, result).into_iter().chain(few).collect()
}

/// Little's law: throughput x response time is the number of operations in flight, which in a closed loop is that of the jobs
/// but for their pauses.
fn unaccounted_time(task: &DbTask, result: &PhaseResult) -> Option<Warning> {
    let measured = result.totals.measured as f64;
    // Where jobs end by themselves, or an operation at the end took long, time is missing for that reason.
    if task.stop.operations.is_some() || result.totals.drain_max as f64 > measured / 10.0 || measured == 0.0 {
        return None;
    }
    let total = |kind| result.totals.response(kind).map_or(0.0, |all| all.mean() * operations(result, kind));
    let response: f64 = OpKind::all().map(total).sum();
    let busy = (response + pauses(task, result)) / measured;
    let held = ACCOUNTED.contains(&(busy / f64::from(task.workers.max(1))));
    (response > 0.0 && !held).then(|| Warning::UnaccountedTime {
        phase: task.name.clone(),
        jobs: task.workers,
        busy,
    })
}

fn operations(result: &PhaseResult, kind: OpKind) -> f64 {
    result.totals.operations(kind) as f64
}

/// Time that jobs have paused because they were to, in nanoseconds.
fn pauses(task: &DbTask, result: &PhaseResult) -> f64 {
    let count = |kind| operations(result, kind);
    let Some((length, hang)) = task.operation.cycle() else { return 0.0 };
    let cycles = count(OpKind::Commit) + count(OpKind::Read) / f64::from(length.max(1));
    cycles * hang.0 as f64
}

/// Each job has one commit at a time, so that a synchronisation serves as many commits as there are jobs at most.
fn few_syncs(
    task: &DbTask,
    result: &PhaseResult,
    facts: &DatabaseFacts,
    used: &DatabaseUse,
    storage: &Storage,
) -> Option<Warning> {
    // Those of the ramp and of the end have been synchronised too.
    let commits = result.totals.operations(OpKind::Commit);
    if facts.durability != Durability::Full || commits < FEW {
        return None;
    }
    let needed = commits as f64 / f64::from(task.workers.max(1)) * SYNCED;
    // By open_sync and open_datasync PostgreSQL counts none: each write is one.
    let by_writing =
        facts.settings.iter().any(|(name, how)| name == "wal_sync_method" && how.starts_with("open"));
    let logged = used
        .database
        .log_syncs
        .filter(|_| !by_writing)
        .map(|syncs| ("database", "synchronisations of its log", syncs));
    // A device without a volatile cache gets no flushes.
    let cached = storage.leaves().all(|leaf| leaf.write_cache.as_deref() == Some("write back"));
    let flushed = used
        .log_device
        .or(used.data_device)
        .filter(|_| cached && used.log_device.is_none() && !storage.devices.is_empty())
        .map(|device| ("device", "flushes", device.flushes));
    let (counter, what, syncs) =
        [logged, flushed].into_iter().flatten().find(|(_, _, syncs)| (*syncs as f64) < needed)?;
    Some(Warning::FewSyncs {
        phase: task.name.clone(),
        commits,
        jobs: task.workers,
        counter: counter.into(),
        what: what.into(),
        syncs,
    })
}

#[cfg(test)]
mod tests {
    use iolite_model::{
        Cache, DbOperation, Device, DeviceCounters, Ending, Nanos, Outstanding, PhaseEnd, PhaseInfo,
        Physical, Stop, TimedBy,
    };
    use iolite_stats::{Collector, Completion, Timetable, recorder};

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// Transactions of one set whose operations take so long, in nanoseconds, with as long a gap behind each, for a second by
    /// two jobs.
    fn phase(length: u64, gap: u64, hang: u64) -> PhaseResult {
        let timetable = Timetable { ramp_end: 0, interval: SECOND, end: SECOND };
        let (mut recorders, feeds): (Vec<_>, Vec<_>) =
            (0..2).map(|_| recorder(timetable, &[OpKind::Write, OpKind::Commit])).unzip();
        let mut collector = Collector::new(0, feeds);
        for recorder in &mut recorders {
            let mut at = 0;
            while at < SECOND {
                for kind in [OpKind::Write, OpKind::Commit] {
                    let completed = at + length;
                    recorder.record(Completion { kind, intended: at, issued: at, completed, bytes: 50 });
                    at = completed;
                }
                at += gap;
            }
        }
        for (worker, recorder) in recorders.into_iter().enumerate() {
            recorder.finish().iter().for_each(|left| collector.absorb(worker, left));
        }
        let (_, _, totals) = collector.finish(0, SECOND);
        let task = DbTask {
            name: "RanWrite".into(),
            operation: DbOperation::RanWrite { transaction_length: 1, hang: Nanos(hang) },
            workers: 2,
            stop: Stop { runtime: Some(Nanos(SECOND)), ..Stop::default() },
            ramp: Nanos(0),
            interval: Nanos(SECOND),
            seed: 1,
            timed_by: TimedBy::Client,
        };
        let end = PhaseEnd {
            phase: 0,
            ending: Ending::Completed,
            measured: Nanos(SECOND),
            outstanding: Outstanding::default(),
            cache: Cache::default(),
            errors: Vec::new(),
            stuck: Vec::new(),
            rate: None,
            verified: None,
        };
        PhaseResult {
            info: PhaseInfo { index: 0, task: Task::Database(task), started: Nanos(0) },
            end,
            totals,
        }
    }

    fn facts(settings: &[(&str, &str)]) -> DatabaseFacts {
        DatabaseFacts {
            phase: 0,
            url: String::new(),
            namespace: String::new(),
            engine: "PostgreSQL".into(),
            version: "15".into(),
            block: Bytes(8192),
            size: Bytes(1),
            blocks: 1,
            globals: vec![1],
            read_path: String::new(),
            write_path: String::new(),
            durability: Durability::Full,
            durable_by: String::new(),
            direct: false,
            timed_by: TimedBy::Client,
            settings: settings.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
        }
    }

    fn used(log_syncs: Option<u64>, flushes: u64) -> DatabaseUse {
        DatabaseUse {
            phase: 0,
            data_device: Some(DeviceCounters { flushes, ..DeviceCounters::default() }),
            log_device: None,
            database: Physical { log_syncs, ..Physical::default() },
            writer_active: None,
            observed: Nanos(SECOND),
            tool_cpu: Nanos(0),
            host_cpu: None,
        }
    }

    fn storage(write_cache: &str) -> Storage {
        let device = Device { write_cache: Some(write_cache.into()), ..Device::default() };
        Storage { devices: vec![device], ..Storage::default() }
    }

    #[test]
    fn a_database_is_to_be_larger_than_what_may_cache_it() {
        let gib = |n: u64| Bytes(n << 30);
        assert_eq!(small_database(gib(48), Some(gib(24)), Some(gib(12))), []);
        let both = small_database(gib(40), Some(gib(24)), Some(gib(12)));
        assert!(matches!(both[0], Warning::SmallDatabase { wanted, .. } if wanted == gib(48)), "{both:?}");
        assert!(
            matches!(both[1], Warning::SmallForController { wanted, .. } if wanted == gib(48)),
            "{both:?}"
        );
        // Of another host nothing is known.
        assert_eq!(small_database(gib(1), None, None), []);
    }

    #[test]
    fn time_between_operations_is_named_and_pauses_that_were_asked_for_are_not() {
        let warned = |length, gap, hang| {
            database_warnings(&phase(length, gap, hang), &facts(&[]), None, &Storage::default())
        };
        assert_eq!(warned(1_000_000, 0, 0), []);
        assert_eq!(warned(1_000_000, 2_000_000, 2_000_000), []);
        let warnings = warned(1_000_000, 2_000_000, 0);
        let [Warning::UnaccountedTime { jobs: 2, busy, .. }] = &warnings[..] else { panic!("{warnings:?}") };
        assert!((0.9..1.1).contains(busy), "{busy}");
        assert!(warnings[0].to_string().contains("1.0 of 2 jobs"), "{}", warnings[0]);
    }

    #[test]
    fn commits_without_synchronisations_are_named() {
        // 500 commits by each of two jobs.
        let result = phase(1_000_000, 0, 0);
        let warned = |settings: &[(&str, &str)], used: DatabaseUse, cache| {
            database_warnings(&result, &facts(settings), Some(&used), &storage(cache))
        };
        assert_eq!(warned(&[], used(Some(500), 500), "write back"), []);
        assert_eq!(warned(&[], used(None, 0), "write through"), []);
        assert_eq!(warned(&[("wal_sync_method", "open_datasync")], used(Some(0), 500), "write back"), []);
        let warnings = warned(&[], used(Some(3), 500), "write back");
        assert!(
            matches!(&warnings[..], [Warning::FewSyncs { syncs: 3, counter, .. }] if counter == "database")
        );
        let warnings = warned(&[], used(Some(500), 0), "write back");
        assert!(
            matches!(&warnings[..], [Warning::FewSyncs { syncs: 0, counter, .. }] if counter == "device")
        );
    }
}
