//! Warnings about a database and the phases inside it.

use iolite_model::{Bytes, DatabaseUse, Durability, Nanos, OpKind, Storage, Task, Warning};
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

/// What is known of a database whose phases are looked at.
#[derive(Debug, Clone, Copy)]
pub struct DatabaseState<'a> {
    /// What a commit has done when it returns.
    pub durability: Durability,
    /// Its settings, as (name, value).
    pub settings: &'a [(String, String)],
}

/// What may be uncertain about a phase inside a database, whatever the workload, with advice. `used` is what the database counted.
pub fn database_warnings(
    result: &PhaseResult,
    database: DatabaseState<'_>,
    used: Option<&DatabaseUse>,
    storage: &Storage,
) -> Vec<Warning> {
    let Some(jobs) = Jobs::of(result) else { return Vec::new() };
    let few = few_syncs(&jobs, result, database, used, storage);
    unaccounted_time(&jobs, result).into_iter().chain(few).collect()
}

/// Transactions of TPROC-C that write, each with a commit of its own.
const WRITING: [&str; 3] = ["new-order", "payment", "delivery"];

/// The jobs of a phase, or its virtual users.
struct Jobs<'a> {
    name: &'a str,
    count: u32,
    /// Operations after which they end, all together.
    limit: Option<u64>,
    /// Operations that a transaction has, and how long jobs pause after it.
    cycle: Option<(u32, Nanos)>,
    /// Whether they have no time between operations but those pauses.
    busy: bool,
    /// Commits that had to be made durable.
    commits: u64,
}

impl Jobs<'_> {
    fn of(result: &PhaseResult) -> Option<Jobs<'_>> {
        match &result.info.task {
            Task::Database(task) => Some(Jobs {
                name: &task.name,
                count: task.workers.max(1),
                limit: task.stop.operations,
                cycle: task.operation.cycle(),
                busy: true,
                commits: result.totals.operations(OpKind::Commit),
            }),
            Task::TprocC(task) => Some(Jobs {
                name: &task.name,
                count: task.users.max(1),
                limit: task.stop.operations,
                cycle: None,
                // Of an open loop, and of users who type and think, the time between transactions is not known here.
                busy: task.rate.is_none() && !task.keying_thinking,
                commits: WRITING
                    .iter()
                    .filter_map(|name| OpKind::named(name))
                    .map(|kind| result.totals.operations(kind))
                    .sum(),
            }),
            _ => None,
        }
    }

    /// Operations before which no job can have ended.
    fn all_at_work(&self) -> u64 {
        self.limit.map_or(u64::MAX, |limit| limit / u64::from(self.count))
    }
}

/// The part of a phase in which all jobs were at work.
#[derive(Default)]
struct AtWork {
    seconds: f64,
    /// Operations, commits, and of the operations the reads.
    operations: u64,
    commits: u64,
    reads: u64,
    /// Sum of the response times, in nanoseconds.
    response: f64,
}

impl AtWork {
    fn of(jobs: &Jobs<'_>, result: &PhaseResult) -> AtWork {
        let is_operation = |kind: &OpKind| *kind != OpKind::Commit;
        let measured = |kind: OpKind| result.totals.operations(kind);
        let unmeasured = |kind: OpKind| result.totals.whole(kind).0 - measured(kind);
        // What came before the measured part, or perhaps after it.
        let mut done: u64 = OpKind::all().filter(is_operation).map(unmeasured).sum();
        let mut part = AtWork::default();
        for point in &result.totals.series {
            let count = |kind: OpKind| point.operations.get(kind).copied().unwrap_or(0);
            let operations: u64 = OpKind::all().filter(is_operation).map(count).sum();
            done = done.saturating_add(operations);
            if done > jobs.all_at_work() {
                break;
            }
            part.seconds += point.seconds;
            part.operations += operations;
            part.commits += count(OpKind::Commit);
            part.reads += count(OpKind::Read);
            let response = |kind: OpKind| point.response_sum.get(kind).copied().unwrap_or(0) as f64;
            part.response += OpKind::all().map(response).sum::<f64>();
        }
        part
    }

    /// Time that jobs have paused because they were to, in nanoseconds.
    fn pauses(&self, jobs: &Jobs<'_>) -> f64 {
        let Some((length, hang)) = jobs.cycle else { return 0.0 };
        let cycles = self.commits as f64 + self.reads as f64 / f64::from(length.max(1));
        cycles * hang.0 as f64
    }

    /// Whether what is cut off at its ends weighs little: at the end each job is in an operation that is not counted.
    fn is_long_enough(&self, longest_after: u64) -> bool {
        let mean = self.response / self.operations.max(1) as f64 / 1e9;
        let longest = (longest_after as f64 / 1e9).max(mean);
        self.seconds > 0.0 && longest <= self.seconds / 10.0
    }
}

/// Little's law: throughput x response time is the number of operations in flight, which in a closed loop is that of the jobs
/// but for their pauses.
fn unaccounted_time(jobs: &Jobs<'_>, result: &PhaseResult) -> Option<Warning> {
    let part = AtWork::of(jobs, result);
    if !jobs.busy || part.response <= 0.0 || !part.is_long_enough(result.totals.drain_max) {
        return None;
    }
    let busy = (part.response + part.pauses(jobs)) / (part.seconds * 1e9);
    let held = ACCOUNTED.contains(&(busy / f64::from(jobs.count)));
    (!held).then(|| Warning::UnaccountedTime { phase: jobs.name.to_owned(), jobs: jobs.count, busy })
}

/// Each job has one commit at a time, so that a synchronisation serves as many commits as there are jobs at most.
fn few_syncs(
    jobs: &Jobs<'_>,
    result: &PhaseResult,
    database: DatabaseState<'_>,
    used: Option<&DatabaseUse>,
    storage: &Storage,
) -> Option<Warning> {
    // Those of the ramp and of the end have been synchronised too.
    let commits = jobs.commits;
    if database.durability != Durability::Full || commits < FEW {
        return None;
    }
    let needed = commits as f64 / f64::from(jobs.count) * SYNCED;
    // By open_sync and open_datasync PostgreSQL counts none: each write is one.
    let by_writing =
        database.settings.iter().any(|(name, how)| name == "wal_sync_method" && how.starts_with("open"));
    let logged = used
        .and_then(|used| used.database.log_syncs)
        .filter(|_| !by_writing)
        .map(|syncs| ("database", "synchronisations of its log", syncs));
    let log_elsewhere = used.is_some_and(|used| used.log_device.is_some());
    let flushed = result
        .end
        .cache
        .device_flushes
        .filter(|_| storage.flushes_are_needed() && !log_elsewhere)
        .map(|flushes| ("device", "flushes", flushes));
    let (counter, what, syncs) =
        [logged, flushed].into_iter().flatten().find(|(_, _, syncs)| (*syncs as f64) < needed)?;
    Some(Warning::FewSyncs {
        phase: jobs.name.to_owned(),
        commits,
        jobs: jobs.count,
        counter: counter.into(),
        what: what.into(),
        syncs,
    })
}

#[cfg(test)]
mod tests {
    use iolite_model::{
        Cache, DbOperation, DbTask, Device, Ending, Iops, OpClass, Outstanding, PhaseEnd, PhaseInfo,
        Physical, Stop, TimedBy, TprocCTask,
    };
    use iolite_stats::{Collector, Completion, Timetable, recorder};

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// Transactions of one set whose operations take so long, in nanoseconds, with as long a gap behind each, for a second by
    /// two jobs.
    fn phase(length: u64, gap: u64, hang: u64) -> PhaseResult {
        with_hang(phase_of(&[OpKind::Write, OpKind::Commit], length, gap, None), hang)
    }

    fn with_hang(mut phase: PhaseResult, hang: u64) -> PhaseResult {
        if let Task::Database(task) = &mut phase.info.task {
            task.operation = DbOperation::RanWrite { transaction_length: 1, hang: Nanos(hang) };
        }
        phase
    }

    /// Operations of these kinds one after the other, in each of two jobs, of which the first ends after `limit` rounds.
    fn phase_of(kinds: &[OpKind], length: u64, gap: u64, limit: Option<u64>) -> PhaseResult {
        let timetable = Timetable { ramp_end: 0, interval: SECOND / 20, end: SECOND };
        let (mut recorders, feeds): (Vec<_>, Vec<_>) = (0..2).map(|_| recorder(timetable, kinds)).unzip();
        let mut collector = Collector::new(0, feeds);
        for (job, recorder) in recorders.iter_mut().enumerate() {
            let (mut at, mut rounds) = (0, 0);
            while at < SECOND && !(job == 0 && limit == Some(rounds)) {
                for &kind in kinds {
                    let completed = at + length;
                    recorder.record(Completion { kind, intended: at, issued: at, completed, bytes: 50 });
                    at = completed;
                }
                at += gap;
                rounds += 1;
                collector.collect(0);
            }
        }
        for (worker, recorder) in recorders.into_iter().enumerate() {
            recorder.finish().iter().for_each(|left| collector.absorb(worker, left));
        }
        let (_, _, totals) = collector.finish(0, SECOND);
        let task = DbTask {
            name: "RanWrite".into(),
            operation: DbOperation::RanRead,
            workers: 2,
            stop: Stop { runtime: Some(Nanos(SECOND)), ..Stop::default() },
            ramp: Nanos(0),
            interval: Nanos(SECOND / 20),
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

    const FULL: DatabaseState<'static> = DatabaseState { durability: Durability::Full, settings: &[] };

    fn used(log_syncs: Option<u64>) -> DatabaseUse {
        DatabaseUse {
            phase: 0,
            data_device: None,
            log_device: None,
            database: Physical { log_syncs, ..Physical::default() },
            writer_active: None,
            observed: Nanos(SECOND),
            tool_cpu: Nanos(0),
            host_cpu: None,
        }
    }

    /// The same as two users of TPROC-C, whose transactions are all of this kind.
    fn tproc_c(length: u64, gap: u64, change: impl Fn(&mut TprocCTask)) -> PhaseResult {
        let kind = OpKind::of("payment", OpClass::Other, false).unwrap();
        let mut task = TprocCTask {
            name: "TPROC-C".into(),
            users: 2,
            warehouses: 1,
            reduction: 1,
            all_warehouses: false,
            keying_thinking: false,
            procedures: true,
            spread_warehouse: false,
            whole_cycles: None,
            rate: None,
            stop: Stop { runtime: Some(Nanos(SECOND)), ..Stop::default() },
            ramp: Nanos(0),
            interval: Nanos(SECOND / 20),
            seed: 1,
            kinds: vec![kind],
        };
        change(&mut task);
        let phase = phase_of(&[kind], length, gap, task.stop.operations.map(|all| all / 2));
        PhaseResult { info: PhaseInfo { task: Task::TprocC(task), ..phase.info }, ..phase }
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
        let warned =
            |length, gap, hang| database_warnings(&phase(length, gap, hang), FULL, None, &Storage::default());
        assert_eq!(warned(1_000_000, 0, 0), []);
        assert_eq!(warned(1_000_000, 2_000_000, 2_000_000), []);
        let warnings = warned(1_000_000, 2_000_000, 0);
        let [Warning::UnaccountedTime { jobs: 2, busy, .. }] = &warnings[..] else { panic!("{warnings:?}") };
        assert!((0.9..1.1).contains(busy), "{busy}");
        assert!(warnings[0].to_string().contains("1.0 of 2 jobs"), "{}", warnings[0]);
    }

    #[test]
    fn the_users_of_tproc_c_are_held_to_the_same_law() {
        let warned = |gap, change: fn(&mut TprocCTask)| {
            database_warnings(&tproc_c(1_000_000, gap, change), FULL, None, &Storage::default())
        };
        assert_eq!(warned(0, |_| {}), []);
        let warnings = warned(1_000_000, |_| {});
        let [Warning::UnaccountedTime { jobs: 2, busy, .. }] = &warnings[..] else { panic!("{warnings:?}") };
        assert!((0.9..1.1).contains(busy), "{busy}");
        // Time that is not the transactions' is meant to be there.
        assert_eq!(warned(1_000_000, |task| task.rate = Some(Iops(7.0))), []);
        assert_eq!(warned(1_000_000, |task| task.keying_thinking = true), []);
    }

    /// One of two jobs ends after 300 of 500 transactions: what is missing then is not time between operations.
    #[test]
    fn a_number_of_operations_is_no_reason_to_look_at_nothing() {
        let limited = |task: &mut TprocCTask| task.stop.operations = Some(600);
        let warned =
            |gap| database_warnings(&tproc_c(1_000_000, gap, limited), FULL, None, &Storage::default());
        assert_eq!(warned(0), []);
        assert!(matches!(&warned(500_000)[..], [Warning::UnaccountedTime { .. }]), "{:?}", warned(500_000));
    }

    #[test]
    fn commits_without_synchronisations_are_named() {
        // 500 commits by each of two jobs.
        let ran = phase(1_000_000, 0, 0);
        let open = [("wal_sync_method".to_owned(), "open_datasync".to_owned())];
        let warned = |result: &PhaseResult, settings, syncs, flushes, write_cache| {
            let cache = Cache { device_flushes: flushes, ..result.end.cache };
            let result = PhaseResult { end: PhaseEnd { cache, ..result.end.clone() }, ..result.clone() };
            let state = DatabaseState { settings, ..FULL };
            let warnings = database_warnings(&result, state, Some(&used(syncs)), &storage(write_cache));
            let counters = warnings.into_iter().map(|warning| match warning {
                Warning::FewSyncs { counter, syncs, .. } => (counter, syncs),
                other => panic!("{other}"),
            });
            counters.collect::<Vec<_>>()
        };
        let tproc_c = tproc_c(2_000_000, 0, |_| {});
        for result in [&ran, &tproc_c] {
            assert_eq!(warned(result, &[], Some(500), Some(500), "write back"), []);
            assert_eq!(warned(result, &[], None, Some(0), "write through"), []);
            assert_eq!(warned(result, &[], None, None, "write back"), []);
            assert_eq!(warned(result, &open, Some(0), Some(500), "write back"), []);
            assert_eq!(warned(result, &[], Some(3), Some(500), "write back"), [("database".to_owned(), 3)]);
            assert_eq!(warned(result, &[], Some(500), Some(0), "write back"), [("device".to_owned(), 0)]);
        }
    }
}
