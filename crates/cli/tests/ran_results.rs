//! `history`, `export`, `reset` and `stop` of `iolite ranread`, `ranwrite` and `ranio`: on stored runs that were made up, and on
//! real ones.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use common::{IOLITE, TestDirectory, entries, stderr};
use iolite_model::{
    Bytes, Cache, DatabaseFacts, DatabaseUse, DbOperation, DbTask, DeviceCounters, Durability, Ending, Event,
    FileTarget, FileTask, Host, Interval, MODEL_VERSION, Nanos, OpKind, OpTotals, Outstanding, PhaseEnd,
    PhaseInfo, Physical, RunId, RunInfo, Sink, Stage, Stop, Storage, Target, Task, TimedBy, WorkerTotals,
};
use iolite_stats::Histogram;
use iolite_store::{Store, Writer};
use serde_json::Value;

const SECOND: u64 = 1_000_000_000;

/// 2026-11-20 16:03:01 UTC.
const STARTED: u64 = 1_795_190_581 * SECOND;

const WRITE: DbOperation = DbOperation::RanWrite { transaction_length: 50, hang: Nanos(2_000_000) };

/// A run that is made up: each job's operations of each kind, in two seconds.
struct MadeUp {
    id: &'static str,
    operation: DbOperation,
    url: &'static str,
    jobs: Vec<u64>,
    /// `None`: its process is this one, and it goes on.
    ending: Option<Ending>,
}

fn made_up(id: &'static str, operation: DbOperation, jobs: &[u64]) -> MadeUp {
    MadeUp { id, operation, url: "sqlite:/data/ran", jobs: jobs.to_vec(), ending: Some(Ending::Completed) }
}

/// Operations of 1 ms, 2 ms, 3 ms and so on, up to `operations`.
fn op(kind: OpKind, operations: u64) -> OpTotals {
    let mut response = Histogram::new();
    (1..=operations).for_each(|millis| response.record(millis * 1_000_000));
    OpTotals {
        kind,
        operations,
        bytes: operations * 8192,
        errors: 0,
        response_sum: Nanos(operations * (operations + 1) / 2 * 1_000_000),
        delay_sum: Nanos(0),
        response_max: Nanos(operations * 1_000_000),
        response: response.encode(),
        service: Histogram::new().encode(),
    }
}

fn run_info(id: &str, command: &[&str]) -> Event {
    Event::RunStarted(Box::new(RunInfo {
        id: RunId(id.into()),
        version: "0.1.0".into(),
        model_version: MODEL_VERSION,
        command: command.iter().map(|&word| word.to_owned()).collect(),
        started_unix: Nanos(STARTED),
        process: std::process::id(),
        host: Host { name: host_name(), ..Host::default() },
        storage: Storage { directory: "/data".into(), ..Storage::default() },
    }))
}

fn host_name() -> String {
    fs::read_to_string("/proc/sys/kernel/hostname").unwrap().trim().to_owned()
}

impl MadeUp {
    fn facts(&self) -> DatabaseFacts {
        DatabaseFacts {
            phase: 0,
            url: self.url.into(),
            namespace: String::new(),
            engine: "SQLite".into(),
            version: "3.51".into(),
            block: Bytes(8192),
            size: Bytes(1 << 30),
            blocks: 131_072,
            globals: vec![1000; self.jobs.len()],
            read_path: "pread".into(),
            write_path: "UPDATE".into(),
            durability: Durability::Full,
            durable_by: "synchronous = FULL, a name with \"quotes\"".into(),
            direct: true,
            timed_by: TimedBy::Client,
            settings: vec![("journal_mode".into(), "wal".into())],
        }
    }

    fn started(&self) -> Vec<Event> {
        let task = DbTask {
            name: "made up".into(),
            operation: self.operation,
            workers: self.jobs.len() as u32,
            stop: Stop::default(),
            ramp: Nanos(0),
            interval: Nanos::SECOND,
            seed: 1,
            timed_by: TimedBy::Client,
        };
        let all: Vec<OpTotals> = self
            .operation
            .kinds()
            .iter()
            .flat_map(|&kind| self.jobs.iter().map(move |&operations| op(kind, operations)))
            .collect();
        let interval = |number, ops| {
            let start = Nanos(number * SECOND);
            Event::Interval(Interval { phase: 0, start, length: Nanos::SECOND, stage: Stage::Measured, ops })
        };
        let mut events = vec![
            run_info(self.id, &["iolite", "made-up"]),
            Event::PhaseStarted(PhaseInfo { index: 0, task: Task::Database(task), started: Nanos(0) }),
            Event::Database(Box::new(self.facts())),
            interval(0, Vec::new()),
        ];
        // One share after the other: an interval has one entry per kind.
        events.extend(all.into_iter().map(|op| interval(1, vec![op])));
        events
    }

    fn finished(&self, ending: &Ending) -> Vec<Event> {
        let mut events: Vec<Event> = (0u32..)
            .zip(&self.jobs)
            .map(|(worker, &operations)| {
                let ops = self.operation.kinds().iter().map(|&kind| op(kind, operations)).collect();
                let length = Nanos(2 * SECOND);
                Event::Worker(WorkerTotals { phase: 0, worker, length, ops, percentiles: Vec::new() })
            })
            .collect();
        let counters = DeviceCounters {
            reads: 40,
            read: Bytes(40 * 8192),
            writes: 16,
            written: Bytes(16 * 8192),
            flushes: 3,
        };
        events.push(Event::DatabaseUse(Box::new(DatabaseUse {
            phase: 0,
            data_device: Some(counters),
            log_device: None,
            database: Physical { data_writes: Some(8), ..Physical::default() },
            writer_active: Some(Nanos(SECOND / 2)),
            observed: Nanos(2 * SECOND),
            tool_cpu: Nanos(SECOND / 10),
            host_cpu: Some(Nanos(SECOND)),
        })));
        events.push(Event::PhaseEnded(end(ending)));
        events.push(Event::RunEnded(ending.clone()));
        events
    }

    fn store(&self, results: &Path) {
        let mut events = self.started();
        if let Some(ending) = &self.ending {
            events.extend(self.finished(ending));
        }
        store(results, &events);
    }
}

fn end(ending: &Ending) -> PhaseEnd {
    PhaseEnd {
        phase: 0,
        ending: ending.clone(),
        measured: Nanos(2 * SECOND),
        outstanding: Outstanding::default(),
        cache: Cache::default(),
        errors: Vec::new(),
        stuck: Vec::new(),
        rate: None,
        verified: None,
    }
}

fn store(results: &Path, events: &[Event]) {
    let mut writer = Writer::start(results, |reason| panic!("{reason}"));
    events.iter().for_each(|event| writer.event(event));
    writer.finish().unwrap();
}

/// A run that measured a file and a database, as checks do.
fn check(id: &str) -> Vec<Event> {
    let mut events = made_up("", DbOperation::RanRead, &[7]).started();
    events[0] = run_info(id, &["iolite", "check", "."]);
    let target = Target::File(FileTarget {
        name: "span".into(),
        size: Bytes(1 << 20),
        create: true,
        preallocate: false,
        per_worker: false,
    });
    let task = Task::File(FileTask { name: "random read".into(), target, ..FileTask::default() });
    events.push(Event::PhaseStarted(PhaseInfo { index: 1, task, started: Nanos(3 * SECOND) }));
    events.push(Event::RunEnded(Ending::Completed));
    events
}

/// A directory with results that the runs are fed to.
struct Results(tempfile::TempDir);

impl Results {
    fn of(runs: &[MadeUp]) -> Results {
        let results = Results(tempfile::tempdir().unwrap());
        drop(Store::open(&results.file()).unwrap());
        runs.iter().for_each(|run| run.store(&results.file()));
        results
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("results.db")
    }

    fn iolite(&self, tool: &str, verb: &str, arguments: &[&str]) -> Output {
        let mut command = Command::new(IOLITE);
        command.args([tool, verb]).args(arguments).arg("--results").arg(self.file());
        command.current_dir(self.0.path()).env("NO_COLOR", "1").stdin(Stdio::null()).output().unwrap()
    }

    fn ids(&self) -> Vec<String> {
        let runs = Store::open(&self.file()).unwrap().runs().unwrap();
        let mut ids: Vec<String> = runs.into_iter().map(|run| run.id.0).collect();
        ids.sort_unstable();
        ids
    }
}

fn printed(output: Output) -> String {
    assert!(output.status.success(), "{}", stderr(&output));
    String::from_utf8(output.stdout).unwrap()
}

fn refused(output: &Output, code: i32, parts: &[&str]) {
    let text = stderr(output);
    assert_eq!(output.status.code(), Some(code), "{text}");
    parts.iter().for_each(|part| assert!(text.contains(part), "{part}: {text}"));
}

#[test]
fn a_history_without_runs_says_so() {
    let results = Results::of(&[made_up("write", WRITE, &[5])]);
    let text = printed(results.iolite("ranread", "history", &[]));
    assert!(text.starts_with("There are no runs of RanRead in "), "{text}");
    let text = printed(results.iolite("ranwrite", "history", &["--db", "sqlite:/elsewhere"]));
    assert!(text.starts_with("There are no runs of RanWrite on sqlite:/elsewhere in "), "{text}");
    fs::remove_file(results.file()).unwrap();
    refused(&results.iolite("ranread", "history", &[]), 2, &["no results database"]);
    assert!(!results.file().exists(), "made by looking");
    refused(&results.iolite("ranread", "history", &["--db", "nonsense"]), 2, &["sqlite:DIR"]);
}

#[test]
fn a_history_has_every_run_of_the_tool_and_how_it_ended() {
    let mut other = made_up("read-b", DbOperation::RanRead, &[5]);
    (other.url, other.ending) = ("postgres://me@host/ran", Some(Ending::Failed("the server is gone".into())));
    let running = MadeUp { ending: None, ..made_up("read-c", DbOperation::RanRead, &[50, 150]) };
    let results = Results::of(&[
        made_up("read-a", DbOperation::RanRead, &[100, 300]),
        other,
        running,
        made_up("w", WRITE, &[1]),
    ]);
    store(&results.file(), &check("check"));

    let text = printed(results.iolite("ranread", "history", &[]));
    let line =
        |id: &str| text.lines().find(|line| line.contains(id)).unwrap_or_else(|| panic!("{text}")).to_owned();
    let words: Vec<String> = line("read-a").split_whitespace().map(str::to_owned).collect();
    assert_eq!(words[..7], ["read-a", "2026-11-20", "16:03:01", "2", "2.0", "read", "200"]);
    assert!(line("read-a").contains("300 ms") && line("read-a").ends_with("completed"), "{text}");
    assert!(line("read-b").ends_with("failed"), "{text}");
    assert!(text.contains("read-b: the server is gone"), "{text}");
    assert!(line("read-c").ends_with("running"), "{text}");
    assert!(text.find("read-a") < text.find("read-b") && text.find("read-b") < text.find("read-c"));
    assert!(
        text.contains("postgres://me@host/ran (SQLite 3.51, durability full, timed by the client)"),
        "{text}"
    );
    assert!(!text.contains("check") && !text.contains("\n  w "), "{text}");

    let text = printed(results.iolite("ranread", "history", &["--json"]));
    let document: Value = serde_json::from_str(&text).unwrap();
    let runs = document["runs"].as_array().unwrap();
    let endings: Vec<&Value> = runs.iter().map(|run| &run["ending"]["kind"]).collect();
    assert_eq!(endings, ["completed", "failed", "running"]);
    let read = &runs[0]["operations"][0];
    assert_eq!((&read["operations"], &read["per_second"]), (&Value::from(400), &Value::from(200.0)));
    assert_eq!(read["max_ns"], 300_000_000);
    // One that goes on has what was measured up to now.
    assert_eq!(runs[2]["operations"][0]["operations"], 200);
    assert_eq!(runs[2]["measured_seconds"], 2.0);
    // The password is ignored.
    let text =
        printed(results.iolite("ranread", "history", &["--json", "--db", "postgres://me:secret@host/ran"]));
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["runs"].as_array().unwrap().len(), 1);
    assert_eq!(document["runs"][0]["id"], "read-b");
}

/// Reads the tables with Python's SQLite and the export with Python's csv, and compares.
const ORACLE: &str = r#"
import csv, sqlite3, statistics, sys
results, export, separator, operation = sys.argv[1:]
lines = list(csv.DictReader(open(export, newline=''), delimiter={'csv': ',', 'tsv': '\t'}[separator]))
database = sqlite3.connect(results)
runs = [row[0] for row in database.execute(
    "SELECT run FROM database_phase WHERE operation = ? AND ending IS NOT NULL ORDER BY run", [operation])]
assert [line['Run'] for line in lines] == runs, (lines, runs)
def close(text, value):
    assert abs(float(text) - value) <= 0.0006 + abs(value) * 1e-4, (text, value)
for line in lines:
    for kind, total, rate, deviation, rates, covar, mean, longest in [
        ('read', 'Reads', 'ReadsPS', 'StdDevR', 'StdDevRPS', 'CoVarR', 'ReadMeanMs', 'ReadMaxMs'),
        ('write', 'Writes', 'WritesPS', 'StdDevW', 'StdDevWPS', 'CoVarW', 'WriteMeanMs', 'WriteMaxMs'),
    ]:
        rows = list(database.execute(
            "SELECT o.operations, o.operations * 1e9 / w.length_ns, o.response_sum_ns, o.response_max_ns"
            "  FROM worker w JOIN worker_op o ON o.worker = w.id WHERE w.run = ? AND o.kind = ?", [line['Run'], kind]))
        if not rows:
            assert [line[name] for name in (total, rate, deviation, rates, covar, mean, longest)] == [''] * 7, line
            continue
        counts, persec = [row[0] for row in rows], [row[1] for row in rows]
        assert int(line[total]) == sum(counts)
        close(line[rate], sum(persec))
        close(line[mean], sum(row[2] for row in rows) / sum(counts) / 1e6)
        close(line[longest], max(row[3] for row in rows) / 1e6)
        if len(counts) > 1:
            close(line[deviation], statistics.stdev(counts))
            close(line[rates], statistics.stdev(persec))
            close(line[covar], statistics.stdev(counts) / statistics.mean(counts))
        else:
            assert line[deviation] == line[rates] == line[covar] == ''
    url, durable_by = database.execute("SELECT url, durable_by FROM database_facts WHERE run = ?", [line['Run']]).fetchone()
    assert (line['Database'], line['DurableBy']) == (url, durable_by)
    device = database.execute("SELECT device_reads, device_writes, reads_per_device_read, writes_per_device_write, "
        "writer_active_share FROM database_summary WHERE run = ?", [line['Run']]).fetchone()
    assert (int(line['DeviceReads']), int(line['DeviceWrites'])) == device[:2]
    for name, value in (('ReadsPerDeviceRead', device[2]), ('WritesPerDeviceWrite', device[3])):
        close(line[name], value) if line[name] else None
    close(line['WriterActivePct'], 100 * device[4])
print(len(lines))
"#;

/// Number of lines Python finds right; `None` without Python.
fn oracle(results: &Path, export: &Path, format: &str, operation: &str) -> Option<String> {
    let arguments = [results.to_str()?, export.to_str()?, format, operation];
    let Ok(output) = Command::new("python3").args(["-c", ORACLE]).args(arguments).output() else {
        println!("skipped: no python3");
        return None;
    };
    assert!(output.status.success(), "{}", stderr(&output));
    Some(String::from_utf8(output.stdout).unwrap().trim().to_owned())
}

#[test]
fn exports_say_what_the_tables_say() {
    let io = DbOperation::RanIo { transaction_length: 50, hang: Nanos(0), read_percent: 70 };
    let running = MadeUp { ending: None, ..made_up("c", DbOperation::RanRead, &[9]) };
    let cut = MadeUp { ending: Some(Ending::Interrupted), ..made_up("b", DbOperation::RanRead, &[40]) };
    let results = Results::of(&[
        made_up("a", DbOperation::RanRead, &[100, 300, 7]),
        cut,
        running,
        made_up("d", WRITE, &[10, 20]),
        MadeUp { url: "sqlite:/odd, \"name\"", ..made_up("e", io, &[30, 60]) },
    ]);
    store(&results.file(), &check("f"));
    for (tool, operation, lines) in
        [("ranread", "ran-read", "2"), ("ranwrite", "ran-write", "1"), ("ranio", "ran-io", "1")]
    {
        for format in ["csv", "tsv"] {
            let file = results.0.path().join(format!("{tool}.{format}"));
            printed(results.iolite(tool, "export", &[file.to_str().unwrap(), "--format", format]));
            // The check's phase on a database is no run of the tool.
            let database = rusqlite::Connection::open(results.file()).unwrap();
            database.execute("DELETE FROM run WHERE id = 'f'", []).unwrap();
            if let Some(found) = oracle(&results.file(), &file, format, operation) {
                assert_eq!(found, lines);
            }
        }
    }
    let document = printed(results.iolite("ranio", "export", &["-", "--format", "json"]));
    let document: Value = serde_json::from_str(&document).unwrap();
    assert_eq!((&document[0]["Reads"], &document[0]["ReadPct"]), (&Value::from(90), &Value::from(70)));
    assert_eq!(document[0]["Database"], "sqlite:/odd, \"name\"");
    let one = printed(results.iolite("ranread", "export", &["-", "--db", "sqlite:/data/ran"]));
    assert_eq!(one.lines().count(), 3);
}

#[test]
fn exports_overwrite_nothing() {
    let results = Results::of(&[made_up("a", DbOperation::RanRead, &[5])]);
    let text = printed(results.iolite("ranread", "export", &[]));
    let first = text.strip_prefix("Exporting summary of all random read statistics to ").unwrap();
    let first = PathBuf::from(first.strip_suffix("\nDone.\n").unwrap());
    let name = first.file_name().unwrap().to_str().unwrap().to_owned();
    let shape: String = name.chars().map(|c| if c.is_ascii_digit() { '9' } else { c }).collect();
    assert_eq!(shape, "PerfToolsRanRead_99999999-9999.txt");
    let first = results.0.path().join(first);
    fs::write(&first, "mine").unwrap();
    // Within the minute the name would be the same; at its end it is another anyway.
    printed(results.iolite("ranread", "export", &["."]));
    assert_eq!(fs::read_to_string(&first).unwrap(), "mine");
    let made = entries(results.0.path()).into_iter().filter(|name| name.starts_with("PerfTools")).count();
    assert_eq!(made, 2);
    let refusal = results.iolite("ranread", "export", &[&name]);
    refused(&refusal, 2, &[&name, "choose another name"]);
    assert_eq!(fs::read_to_string(&first).unwrap(), "mine");
    refused(&results.iolite("ranread", "export", &["no/such/place.csv"]), 2, &["check the path"]);
    refused(&results.iolite("ranwrite", "export", &["-"]), 1, &["nothing to export", "RanWrite"]);
}

#[test]
fn a_reset_forgets_the_tools_runs_and_nothing_else() {
    let running = MadeUp { ending: None, ..made_up("going-on", DbOperation::RanRead, &[9]) };
    let results = Results::of(&[
        made_up("a", DbOperation::RanRead, &[5]),
        MadeUp { url: "gtm:/elsewhere", ..made_up("b", DbOperation::RanRead, &[5]) },
        made_up("c", WRITE, &[5]),
        running,
    ]);
    store(&results.file(), &check("check"));
    let text = printed(results.iolite("ranread", "reset", &["--db", "gtm:/elsewhere"]));
    assert!(text.starts_with("Deleted 1 run of RanRead on gtm:/elsewhere from "), "{text}");
    assert_eq!(results.ids(), ["a", "c", "check", "going-on"]);
    let text = printed(results.iolite("ranread", "reset", &[]));
    assert!(text.contains("Deleted 1 ") && text.contains("iolite ranread stop going-on"), "{text}");
    assert_eq!(results.ids(), ["c", "check", "going-on"]);
    let text = printed(results.iolite("ranread", "reset", &[]));
    assert!(text.contains("Nothing to delete"), "{text}");
    assert_eq!(results.ids(), ["c", "check", "going-on"]);
}

/// A real run, which is ended whatever happens.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn begin(place: &TestDirectory, tool: &str, db: &str) -> Running {
    let mut command = Command::new(IOLITE);
    command.args([tool, "run", "--db", db, "--runtime", "300s", "--quiet", "--results"]).arg(place.results());
    Running(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
}

fn iolite(place: &TestDirectory, arguments: &[&str]) -> Output {
    let mut command = Command::new(IOLITE);
    command.args(arguments).arg("--results").arg(place.results());
    command.env("NO_COLOR", "1").stdin(Stdio::null()).output().unwrap()
}

/// Waits until the run of that process has stored an interval, and returns its id.
fn id_of(place: &TestDirectory, process: u32) -> String {
    let deadline = Instant::now() + Duration::from_secs(60);
    let ask = || {
        let database = rusqlite::Connection::open(place.results())?;
        database.busy_timeout(Duration::from_secs(5))?;
        let sql = "SELECT r.id FROM run AS r JOIN interval AS i ON i.run = r.id WHERE r.process = ?1 LIMIT 1";
        database.query_row(sql, [process], |row| row.get::<_, String>(0))
    };
    loop {
        // Until the program has created its tables there is nothing to ask.
        if let Ok(id) = ask() {
            return id;
        }
        assert!(Instant::now() < deadline, "no interval was stored");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A place with a database in two directories.
fn two_databases() -> (TestDirectory, [String; 2]) {
    let place = TestDirectory::new();
    let databases = ["one", "two"].map(|name| {
        let directory = place.data().join(name);
        fs::create_dir(&directory).unwrap();
        let db = format!("sqlite:{}", directory.display());
        let setup = Command::new(IOLITE)
            .args(["ranread", "setup", "--quiet", "--size", "16MiB", "--db", &db])
            .output()
            .unwrap();
        assert!(setup.status.success(), "{}", stderr(&setup));
        db
    });
    (place, databases)
}

#[test]
fn a_stop_ends_one_run_and_keeps_its_results() {
    let (place, databases) = two_databases();
    let mut first = begin(&place, "ranread", &databases[0]);
    let mut second = begin(&place, "ranread", &databases[1]);
    let (one, other) = (id_of(&place, first.0.id()), id_of(&place, second.0.id()));

    refused(
        &iolite(&place, &["ranread", "stop", "nonsense"]),
        2,
        &["no running measurement `nonsense`", &one, &other],
    );
    refused(&iolite(&place, &["ranwrite", "stop", &one]), 2, &["RanRead's", "iolite ranread stop"]);
    let common: String = one.chars().zip(other.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a).collect();
    refused(&iolite(&place, &["ranread", "stop", &common]), 2, &["2 runs", &one, &other]);
    refused(&iolite(&place, &["ranread", "stop"]), 2, &["--all"]);
    assert_eq!((first.0.try_wait().unwrap(), second.0.try_wait().unwrap()), (None, None));

    let beginning = &one[..common.len() + 1];
    let text = printed(iolite(&place, &["ranread", "stop", beginning]));
    assert_eq!(text, format!("Stopped {one}; the results measured so far are stored.\n"));
    assert_eq!(first.0.wait().unwrap().code(), Some(130));
    assert_eq!(second.0.try_wait().unwrap(), None);
    let kept = |id: &str| {
        place.ask::<i64>(&format!("SELECT sum(Reads) FROM RanRead WHERE Batch = '{id}' AND Reads > 0"))
    };
    assert!(kept(&one) > 0);
    assert_eq!(place.ask::<String>(&format!("SELECT ending FROM run WHERE id = '{one}'")), "interrupted");
    refused(&iolite(&place, &["ranread", "stop", &one]), 2, &["has ended already", &other]);

    let nothing = printed(iolite(&place, &["ranread", "stop", "--all", "--db", &databases[0]]));
    assert!(nothing.starts_with("There are no running measurements of RanRead on "), "{nothing}");
    let text = printed(iolite(&place, &["ranread", "stop", "--all", "--db", &databases[1]]));
    assert_eq!(text, format!("Stopped {other}; the results measured so far are stored.\n"));
    assert_eq!(second.0.wait().unwrap().code(), Some(130));
    assert!(kept(&other) > 0);
    let text = printed(iolite(&place, &["ranread", "history"]));
    assert_eq!(text.matches("interrupted").count(), 2, "{text}");
    let csv = printed(iolite(&place, &["ranread", "export", "-"]));
    assert_eq!(csv.lines().count(), 3, "{csv}");
}

#[test]
fn a_stop_leaves_processes_alone_that_only_have_the_number() {
    let results = Results::of(&[MadeUp { ending: None, ..made_up("later", DbOperation::RanRead, &[9]) }]);
    let mut bystander = Running(Command::new("sleep").arg("1000").spawn().unwrap());
    let number = bystander.0.id();
    let database = rusqlite::Connection::open(results.file()).unwrap();
    // A process of that number, which started at another time; then one of which that is not known; then another host's.
    let claim =
        |sql: &str| database.execute(&format!("UPDATE run SET process = {number}, {sql}"), []).unwrap();
    claim("process_start_ticks = NULL");
    refused(&results.iolite("ranread", "stop", &["later"]), 1, &["stop it on that host"]);
    let text = printed(results.iolite("ranread", "stop", &["--all"]));
    assert!(text.starts_with("There are no running measurements of RanRead"), "{text}");
    claim("process_start_ticks = 1, host_name = 'another', boot_id = 'another'");
    refused(&results.iolite("ranread", "stop", &["later"]), 1, &["is running on another"]);
    claim(&format!(
        "process_start_ticks = 1, host_name = '{}', boot_id = '{}'",
        host_name(),
        fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap().trim()
    ));
    refused(&results.iolite("ranread", "stop", &["later"]), 2, &["has ended already"]);
    assert_eq!(bystander.0.try_wait().unwrap(), None);
}
