//! On a simulated host whose layers cost known times.

use std::path::PathBuf;

use iolite_model::{
    Access, Bytes, Cache, Concluded, Ending, GeneratorUse, Nanos, OpKind, Outstanding, PhaseEnd, PhaseInfo,
    ResultTable, RunInfo, TableCell, Target, Task, TimedBy, Usage,
};
use iolite_results::Run;
use iolite_stats::{Collector, Completion, PhaseResult, Timetable, recorder};

use super::*;

/// Time of a read or a commit in nanoseconds by layer: the device's, and what each layer adds to it.
const DEVICE: u64 = 80_000;
const FILE: u64 = 5_000;
const CACHE: u64 = 10_000;
const DATABASE: u64 = 40_000;
/// Time of the set of a transaction, which its commit follows.
const SET: u64 = 30_000;
/// CPU time of an operation in nanoseconds.
const CPU: u64 = 2000;

/// The same of other programs.
const OTHER_CPU: u64 = 5000;
/// Reads that the device does at once.
const PARALLEL: u32 = 4;

fn options() -> LayersOptions {
    let database = LayersDatabase {
        name: "SQLite".into(),
        commits: DatabaseCommits::Measured,
        timed_by: TimedBy::Client,
        own: true,
    };
    LayersOptions {
        device: Some(PathBuf::from("/dev/simulated")),
        databases: vec![database],
        direct: true,
        io_uring: true,
        size: Bytes(1 << 30),
        window: Nanos::SECOND,
        rounds: 3,
        seed: 7,
    }
}

/// What an operation of a task takes with one outstanding.
fn time(task: &Task) -> u64 {
    match task {
        Task::Database(_) => DEVICE + FILE + DATABASE,
        Task::File(file) => match &file.target {
            Target::Existing(_) => DEVICE,
            _ if file.direct => DEVICE + FILE,
            _ => DEVICE + FILE + CACHE,
        },
        other => panic!("{other:?}"),
    }
}

/// A phase in which every operation takes its time, a little more in each window than in the one before.
fn phase(index: u32, task: &Task) -> PhaseResult {
    let end = task.stop().runtime.unwrap_or(Nanos::SECOND).0;
    let timetable = Timetable { ramp_end: 0, interval: 100_000_000, end };
    let (mut recorder, feed) = recorder(timetable, &OpKind::STANDARD);
    let mut collector = Collector::new(index, vec![feed]);
    let commits = match task {
        Task::File(file) => file.durability.sync.is_some(),
        Task::Database(task) => matches!(task.operation, iolite_model::DbOperation::RanWrite { .. }),
        _ => false,
    };
    let kinds: &[OpKind] = match (commits, task) {
        (true, Task::Database(_)) => &[OpKind::Write, OpKind::Commit],
        (true, _) => &[OpKind::Write, OpKind::Sync, OpKind::Commit],
        (false, _) => &[OpKind::Read],
    };
    let depth = u64::from(task.concurrency());
    let served = time(task) + u64::from(index % 3) * 100;
    let each = served / depth.min(PARALLEL.into());
    let response = each * depth;
    let mut at = response;
    while at < end {
        for &kind in kinds {
            let begun = at - response;
            let (issued, at) = match (task, kind) {
                (Task::Database(_), OpKind::Write) => (begun, begun + SET),
                (Task::Database(_), OpKind::Commit) => (begun + SET, at),
                _ => (begun, at),
            };
            recorder.record(Completion { kind, intended: issued, issued, completed: at, bytes: 8192 });
        }
        collector.collect(at);
        at += each;
    }
    recorder.finish().iter().for_each(|left| collector.absorb(0, left));
    let (_, _, totals) = collector.finish(0, end);
    let bytes = Bytes(end / each * 8192);
    let (read, written) = if commits { (Bytes(0), bytes) } else { (bytes, Bytes(0)) };
    PhaseResult {
        info: PhaseInfo { index, task: task.clone(), started: Nanos(0) },
        end: PhaseEnd {
            phase: index,
            ending: Ending::Completed,
            measured: Nanos(end),
            outstanding: Outstanding::default(),
            cache: Cache {
                requested_read: read,
                requested_written: written,
                device_read: Some(read),
                // Each commit writes its block, and one more to the log.
                device_written: Some(Bytes(written.0 * 2)),
                direct_confirmed: true,
                ..Cache::default()
            },
            errors: Vec::new(),
            stuck: Vec::new(),
            rate: None,
            verified: None,
        },
        totals,
    }
}

/// Runs it to its end; returns the run, its tables, and how often a database was asked for.
fn compared(options: LayersOptions) -> (Run, Vec<ResultTable>, usize) {
    let mut layers = Layers::new(options);
    let (mut run, mut prepared) = (Run::new(RunInfo::default()), 0);
    loop {
        match layers.next(&run, Nanos(0)) {
            Step::Run(tasks) => {
                let index = run.phases.len() as u32;
                let phase = phase(index, &tasks[0]);
                // CPU time for each read or commit, a little more in some windows.
                let operations =
                    phase.totals.operations(OpKind::Read) + phase.totals.operations(OpKind::Commit);
                let user = Nanos(operations * (CPU + u64::from(index % 3) * 10));
                let usage = Usage { user, ..Usage::default() };
                run.conclusions.push(Concluded { phase: Some(index), ..Concluded::of(&usage) });
                let others = Some(Nanos(operations * OTHER_CPU));
                let used = GeneratorUse { others, ..GeneratorUse::default() };
                run.conclusions.push(Concluded { phase: Some(index), ..Concluded::of(&used) });
                run.phases.push(phase);
            }
            Step::Prepare(_) => prepared += 1,
            Step::Failed(reason) => panic!("{reason}"),
            Step::Done(conclusions) => {
                let tables = conclusions.concluded.iter().filter_map(iolite_model::Concluded::read).collect();
                return (run, tables, prepared);
            }
        }
    }
}

fn mean(table: &ResultTable, layer: &str) -> f64 {
    let row = table.rows.iter().find(|row| row.label.contains(layer)).unwrap_or_else(|| panic!("{table:#?}"));
    match row.cells[0] {
        TableCell::Estimate { value, low, high } => {
            assert!(low <= value && value <= high && high - low < value / 10.0, "{row:?}");
            value / 1000.0
        }
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn each_layer_costs_what_it_adds_and_the_sentences_say_so() {
    let (run, tables, prepared) = compared(options());
    assert_eq!(prepared, 1);
    let titles: Vec<_> = tables.iter().map(|table| table.title.as_str()).collect();
    assert!(titles[0].contains("depth 1") && titles[1].contains("knee"), "{titles:?}");
    assert_eq!(titles.len(), 4, "{titles:?}");
    let one = &tables[0];
    for (layer, micros) in
        [("/dev/simulated", 80.0), ("direct", 85.0), ("page cache", 95.0), ("SQLite", 125.0)]
    {
        assert!((mean(one, layer) - micros).abs() < 1.0, "{layer}: {one:#?}");
    }
    assert_eq!(one.findings.len(), 3, "{:?}", one.findings);
    assert!(one.findings[2].contains("(68 %) is what file, direct I/O takes"), "{:?}", one.findings);
    // The device is never written.
    let layers = |table: usize| tables[table].rows.iter().map(|row| row.label.clone()).collect::<Vec<_>>();
    assert_eq!(layers(2), ["file, direct I/O", "file, page cache", "SQLite"]);
    assert_eq!(layers(3), ["/dev/simulated", "file, direct I/O", "file, page cache", "SQLite"]);
    let writes = |task: &Task| matches!(task, Task::File(file) if file.mix.writes() && matches!(file.target, Target::Existing(_)));
    assert!(!run.phases.iter().any(|phase| writes(&phase.info.task)));
    // Two blocks reach the device for each that is committed.
    let near = |cell: &TableCell, expected: f64| {
        let TableCell::Estimate { value, low, high } = cell else { panic!("{cell:?}") };
        assert!(
            low <= value && value <= high && (value / expected - 1.0).abs() < 0.02,
            "{cell:?}, not {expected}"
        );
        high - low
    };
    near(&tables[2].rows[0].cells[5], 16_384.0);
    // CPU time and bytes have intervals, too.
    one.rows.iter().for_each(|row| assert!(near(&row.cells[5], 8192.0) >= 0.0, "{row:?}"));
    let widths = one.rows.iter().map(|row| near(&row.cells[3], CPU as f64));
    assert!(widths.fold(0.0, f64::max) > 0.0, "{one:#?}");
    one.rows.iter().for_each(|row| assert!(near(&row.cells[4], OTHER_CPU as f64) >= 0.0, "{row:?}"));
}

#[test]
fn a_database_without_globals_is_named_where_its_commits_would_be() {
    let mut options = options();
    for (commits, why) in
        [(DatabaseCommits::NoGlobals, "it has no globals"), (DatabaseCommits::Standby, "measure the primary")]
    {
        options.databases[0].commits = commits;
        let (_, tables, _) = compared(options.clone());
        let [.., commits, scans] = &tables[..] else { panic!("{tables:#?}") };
        let is_named = |finding: &String| {
            finding.contains("Commits of SQLite were not measured") && finding.contains(why)
        };
        assert!(commits.findings.iter().any(is_named), "{commits:#?}");
        assert!(!scans.findings.iter().any(|finding| finding.contains("not measured")), "{scans:#?}");
    }
}

#[test]
fn the_windows_are_in_turns_and_each_layer_has_as_many() {
    let (run, _, _) = compared(options());
    let names: Vec<_> = run.phases.iter().map(|phase| phase.info.task.name().to_owned()).collect();
    let windows: Vec<_> =
        names.iter().filter(|name| name.contains(", ") && !name.contains("search")).collect();
    let of = |name: &str| windows.iter().filter(|other| other.as_str() == name).count();
    assert!(windows.iter().skip(1).all(|name| of(name) == 3), "{windows:#?}");
    let first: Vec<_> = windows[1..15].to_vec();
    assert!(first.windows(2).any(|pair| pair[0] > pair[1]), "not sorted: {first:?}");
}

#[test]
fn equal_layers_are_called_equal() {
    let same = LayersOptions { device: None, databases: Vec::new(), ..options() };
    let mut layers = Layers::new(same);
    let mut run = Run::new(RunInfo::default());
    let tables: Vec<ResultTable> = loop {
        match layers.next(&run, Nanos(0)) {
            Step::Run(tasks) => {
                let direct = |task: &Task| match task {
                    Task::File(file) => Task::File(iolite_model::FileTask { direct: true, ..file.clone() }),
                    other => other.clone(),
                };
                let index = run.phases.len() as u32;
                let measured = phase(index, &direct(&tasks[0]));
                run.phases.push(PhaseResult {
                    info: PhaseInfo { task: tasks[0].clone(), ..measured.info },
                    ..measured
                });
            }
            Step::Done(conclusions) => {
                break conclusions.concluded.iter().filter_map(iolite_model::Concluded::read).collect();
            }
            other => panic!("{other:?}"),
        }
    };
    assert!(tables.iter().all(|table| table.rows.len() == 2 && table.findings.len() == 1), "{tables:#?}");
    let equal = |table: &ResultTable| table.findings[0].contains("no difference shown");
    assert!(tables.iter().filter(|table| table.title.contains("depth 1")).all(equal), "{tables:#?}");
}

#[test]
fn a_phase_that_fails_ends_it_with_its_name() {
    let mut layers = Layers::new(options());
    let mut run = Run::new(RunInfo::default());
    let Step::Run(tasks) = layers.next(&run, Nanos(0)) else { panic!() };
    assert!(matches!(&tasks[0], Task::File(file) if file.access == Access::Sequential && file.mix.writes()));
    let mut failed = phase(0, &tasks[0]);
    failed.end.ending = Ending::Failed("No space left on device".into());
    run.phases.push(failed);
    let Step::Failed(reason) = layers.next(&run, Nanos(0)) else { panic!() };
    assert!(reason.contains("data file") && reason.contains("No space left"), "{reason}");
}
