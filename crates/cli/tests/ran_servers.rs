//! The whole life of a database in real servers and in GT.M, counted by each one's own client.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]

mod common;

use std::fs;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use common::subject::mariadb;
use common::{IOLITE, TestDirectory, json, private, stderr};
use serde_json::Value;

/// A database that is measured, and its own client.
struct Subject {
    place: TestDirectory,
    db: String,
    /// What ends its server, if it has one.
    stop: Option<[String; 2]>,
    /// Subscripts in a global, counted by the database's own client.
    count: Box<dyn Fn(u32) -> u64>,
}

impl Drop for Subject {
    fn drop(&mut self) {
        if let Some([server, directory]) = &self.stop {
            let stopped = Command::new(IOLITE).args(["db", "stop", server, directory]).output().unwrap();
            if !stopped.status.success() && !std::thread::panicking() {
                panic!("{}", stderr(&stopped));
            }
        }
    }
}

impl Subject {
    /// A private server in a place of its own; `None`, with the reason printed, where its programs are missing.
    fn server(server: &str, count: impl Fn(&str, u32) -> u64 + 'static) -> Option<Subject> {
        let place = TestDirectory::new();
        // Not beneath a home directory, which the server's user may not pass; and a socket's path is short.
        let directory = tempfile::tempdir().unwrap().keep();
        let db = private::start(server, &directory)?;
        let url = db.clone();
        Some(Subject {
            place,
            db,
            stop: Some([server.to_owned(), directory.display().to_string()]),
            count: Box::new(move |global| count(&url, global)),
        })
    }

    fn ran(&self, tool: &str, verb: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(IOLITE);
        command.args([tool, verb]).args(arguments).env("IOLITE_DB", &self.db);
        if ["run", "sweep", "stop", "reset", "export", "history"].contains(&verb) {
            command.arg("--results").arg(self.place.results());
        }
        command.env("NO_COLOR", "1").stdin(Stdio::null());
        command
    }

    fn done(&self, tool: &str, verb: &str, arguments: &[&str]) -> String {
        let output = self.ran(tool, verb, arguments).output().unwrap();
        assert!(output.status.success(), "{tool} {verb} {arguments:?}: {}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    fn run(&self, tool: &str, arguments: &[&str]) -> Value {
        let output = self.ran(tool, "run", &[arguments, &["--json", "--quiet"]].concat()).output().unwrap();
        assert!(output.status.success(), "{tool} {arguments:?}: {}", stderr(&output));
        json(&output)
    }
}

fn operations(document: &Value, kind: &str) -> u64 {
    let found = document["phase"]["operations"].as_array().unwrap().iter().find(|ops| ops["kind"] == kind);
    found.map_or(0, |ops| ops["operations"].as_u64().unwrap())
}

fn live_through(subject: &Subject) {
    subject.done("ranread", "setup", &["--size", "40MiB"]);
    subject.done("ranwrite", "create-globals", &["--globals", "2", "--subscripts", "4000"]);
    subject.done("ranwrite", "add-globals", &["--globals", "3"]);
    assert_eq!(subject.done("ranio", "get-sizes", &[]), "3,4000,4000,4000\n");
    let counted = subject.done("ranio", "count-subscripts", &[]);
    assert!(counted.contains("in all: 12000\n"), "{counted}");
    for global in 1..=3 {
        assert_eq!((subject.count)(global), 4000, "global {global}");
    }
    let read = subject.run("ranread", &["--jobs", "2", "--iterations", "300"]);
    assert_eq!((operations(&read, "read"), operations(&read, "write")), (600, 0));
    let write = subject.run("ranwrite", &["--jobs", "3", "--iterations", "200", "--hang", "0s"]);
    assert_eq!((operations(&write, "write"), operations(&write, "commit")), (600, 12));
    let used = &write["used"]["database"];
    assert!(used.is_object(), "{write:#}");
    let logged = &used["log_written_bytes"];
    assert!(logged.as_u64().is_none_or(|bytes| bytes > 600 * 50), "{write:#}");
    let io = subject.run("ranio", &["--jobs", "2", "--iterations", "500", "--transaction-length", "20"]);
    assert_eq!(operations(&io, "read") + operations(&io, "write"), 1000);
    let timed = subject.run("ranwrite", &["--runtime", "1s", "--jobs", "2"]);
    let (writes, commits) = (operations(&timed, "write"), operations(&timed, "commit"));
    // What a job commits when the time is over does not count, but the sets before may.
    let begun = writes - (50 * commits).min(writes);
    assert!(commits > 10 && begun <= 2 * 50, "{writes} in {commits} transactions");
    for global in 1..=3 {
        assert_eq!((subject.count)(global), 4000, "a set adds nothing: global {global}");
    }
    let exported = subject.done("ranwrite", "export", &["-", "--format", "csv"]);
    assert_eq!(exported.lines().count(), 3, "{exported}");
    assert!(exported.starts_with("RunDate,RunTime,Database,Namespace,Reads,Writes,"), "{exported}");
    let history = subject.done("ranio", "history", &[]);
    assert!(history.contains("1,000") || history.contains("completed"), "{history}");
    subject.done("ranwrite", "reset", &[]);
    assert_eq!(subject.place.ask::<i64>("SELECT count(*) FROM RanWrite"), 0);
    assert_eq!(subject.place.ask::<i64>("SELECT sum(Reads) FROM RanRead"), 600);
    let swept = subject.ran("ranread", "sweep", &["--jobs", "1,2", "--step", "500ms", "--json"]);
    let swept = { swept }.output().unwrap();
    assert!(matches!(swept.status.code(), Some(0 | 3 | 4)), "{}", stderr(&swept));
    assert!(!json(&swept)["verdict"].is_null());
    subject.done("ranread", "purge", &[]);
    let gone = subject.ran("ranread", "run", &[]).output().unwrap();
    assert_eq!(gone.status.code(), Some(2), "{}", stderr(&gone));
}

/// How the tests disturb a server, by its own client.
struct Disturbance {
    /// What one session is asked, statement by statement.
    client: fn(url: &str, statements: &[&str]) -> Command,
    /// Whether a worker is writing just now: 1 or more.
    is_writing: &'static str,
    /// Locks one row of the first global for four seconds: of several, a deadlock might come.
    lock: &'static [&'static str],
    /// Changes a setting, and what the warning says of it.
    change: (&'static [&'static str], &'static str),
    restore: &'static [&'static str],
    /// What the warning says of who held the lock.
    holder: &'static str,
}

/// A lock held by another session, and a setting that another changes, are named by the run that suffers from them.
fn what_others_do_is_named(subject: &Subject, disturbance: &Disturbance) {
    let ask = |statements: &[&str]| {
        let output = (disturbance.client)(&subject.db, statements).output().unwrap();
        assert!(output.status.success(), "{statements:?}: {}", stderr(&output));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    subject.done("ranread", "setup", &["--size", "4MiB"]);
    subject.done("ranwrite", "create-globals", &["--globals", "1", "--subscripts", "100"]);
    let arguments = ["--jobs", "1", "--runtime", "8s", "--hang", "0s", "--json", "--quiet"];
    let run = subject.ran("ranwrite", "run", &arguments).stdout(Stdio::piped()).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    while ask(&[disturbance.is_writing]) == "0" {
        assert!(Instant::now() < until, "nobody writes");
        std::thread::sleep(Duration::from_millis(20));
    }
    ask(disturbance.lock);
    ask(disturbance.change.0);
    let output = run.wait_with_output().unwrap();
    ask(disturbance.restore);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let warnings = document["warnings"].to_string();
    for named in ["for a lock held by", disturbance.holder, disturbance.change.1] {
        assert!(warnings.contains(named), "{named}: {warnings}");
    }
    subject.done("ranread", "purge", &[]);
}

fn psql(url: &str, statements: &[&str]) -> Command {
    let mut command = Command::new("psql");
    command.args([url, "-XAtq"]).args(statements.iter().flat_map(|statement| ["-c", statement]));
    command
}

#[test]
fn in_postgresql() {
    let count = |url: &str, global: u32| {
        let sql = format!("SELECT count(*) FROM iolite.\"RanWriteGlobal{global}\"");
        let output = psql(url, &[&sql]).output().unwrap();
        String::from_utf8_lossy(&output.stdout)
            .trim()
            .parse()
            .unwrap_or_else(|_| panic!("{}", stderr(&output)))
    };
    let Some(subject) = Subject::server("postgres", count) else { return };
    live_through(&subject);
    what_others_do_is_named(
        &subject,
        &Disturbance {
            client: psql,
            is_writing: "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'iolite' AND query LIKE 'CALL%'",
            lock: &[
                "BEGIN",
                "UPDATE iolite.\"RanWriteGlobal1\" SET value = value WHERE subscript = 7",
                "SELECT pg_sleep(4)",
                "COMMIT",
            ],
            change: (
                &["ALTER SYSTEM SET full_page_writes = off", "SELECT pg_reload_conf()"],
                "full_page_writes was on, and is off",
            ),
            restore: &["ALTER SYSTEM RESET full_page_writes", "SELECT pg_reload_conf()"],
            holder: "application psql",
        },
    );
}

/// Jobs in flight according to Little's law: the rate times the mean response time.
fn in_flight(document: &Value) -> f64 {
    let all = document["phase"]["operations"].as_array().unwrap();
    let reads = all.iter().find(|operations| operations["kind"] == "read").unwrap();
    reads["iops"]["value"].as_f64().unwrap() * reads["response_ns"]["mean"]["value"].as_f64().unwrap() / 1e9
}

/// With many jobs each is in an operation nearly all the time: what the adapter does between them, as dropping what was read from the
/// page cache, takes no time that is neither an operation's nor warned of.
fn many_jobs_are_accounted_for(subject: &Subject, ways: &[&[&str]]) -> Vec<Value> {
    const JOBS: f64 = 40.0;
    subject.done("ranread", "setup", &["--size", "64MiB", "--quiet"]);
    let read = |way: &&[&str]| {
        let document = subject.run("ranread", &[&["--jobs", "40", "--runtime", "3s"], *way].concat());
        let busy = in_flight(&document) / JOBS;
        let warnings = document["warnings"].as_array().unwrap();
        let warned = warnings.iter().any(|warning| warning["kind"] == "unaccounted-time");
        // Timed within the database, what lies between two reads is in neither: where that is much, it is warned of.
        let excused = warned && !way.contains(&"--client-timed");
        assert!(excused || (0.7..1.2).contains(&busy), "{way:?}: {busy} of the jobs: {warnings:?}");
        document
    };
    let documents = ways.iter().map(read).collect();
    subject.done("ranread", "purge", &[]);
    documents
}

#[test]
fn many_jobs_in_postgresql_are_accounted_for() {
    let Some(subject) = Subject::server("postgres", |_, _| 0) else { return };
    let documents = many_jobs_are_accounted_for(&subject, &[&[], &["--client-timed"]]);
    // Blocks that pg_prewarm reads past the buffers are in none of the server's counters: no count of its own is shown for them.
    let used = &documents[0]["used"]["database"];
    assert!(
        used.is_object() && used["data_reads"].is_null() && used["data_read_bytes"].is_null(),
        "{used:#}"
    );
}

#[test]
fn many_jobs_in_mariadb_are_accounted_for() {
    let Some(subject) = Subject::server("mariadb", |_, _| 0) else { return };
    many_jobs_are_accounted_for(&subject, &[&[], &["--client-timed"]]);
}

/// Reads a file past the page cache until `end` is set.
fn read_beside(directory: &std::path::Path, end: &AtomicBool) {
    let path = directory.join("neighbour");
    fs::write(&path, vec![7; 8 << 20]).unwrap();
    let direct = rustix::fs::OFlags::DIRECT.bits() as i32;
    let file = fs::File::options().read(true).custom_flags(direct).open(&path).unwrap();
    file.sync_all().unwrap();
    let mut memory = vec![0_u8; (1 << 20) + 4096];
    let start = memory.as_ptr().align_offset(4096);
    while !end.load(Ordering::Relaxed) {
        (0..8).for_each(|mib| file.read_exact_at(&mut memory[start..start + (1 << 20)], mib << 20).unwrap());
    }
}

/// However much others read from the device meanwhile, a server that has it all in memory is stamped so.
#[test]
fn a_cached_server_beside_a_neighbour_is_stamped_cached() {
    let Some(subject) = Subject::server("postgres", |_, _| 0) else { return };
    let beside = tempfile::tempdir().unwrap();
    let storage = iolite_observe::storage(beside.path()).unwrap();
    let accounted = matches!(storage.filesystem.kind.as_str(), "ext4" | "xfs");
    if !accounted || storage.leaves().next().is_none() || fs::read_to_string("/proc/self/io").is_err() {
        return println!("skipped: I/O of tasks is not accounted here");
    }
    subject.done("ranread", "setup", &["--size", "4MiB"]);
    let read = |iterations: &str| {
        subject.run("ranread", &["--through-buffers", "--jobs", "2", "--iterations", iterations])["phase"]["cache"]
            .clone()
    };
    // Now all blocks are in the server's buffers.
    read("10000");
    let end = AtomicBool::new(false);
    let cache = std::thread::scope(|scope| {
        scope.spawn(|| read_beside(beside.path(), &end));
        let cache = read("60000");
        end.store(true, Ordering::Relaxed);
        cache
    });
    assert_eq!(cache["stamp"], "cached", "{cache}");
    let (own, requested) = (bytes(&cache, "own_read"), bytes(&cache, "requested_read"));
    assert!(own < requested / 50 && bytes(&cache, "device_read") > own, "{cache}");
    // What comes from the device is the server's own, as far as the page cache has not kept it.
    let cache = subject.run("ranread", &["--jobs", "2", "--iterations", "2000"])["phase"]["cache"].clone();
    assert!(bytes(&cache, "own_read") > 0, "{cache}");
    subject.done("ranread", "purge", &[]);
}

fn bytes(cache: &Value, name: &str) -> u64 {
    cache[format!("{name}_bytes")].as_u64().unwrap()
}

#[test]
fn in_mariadb() {
    let count = |url: &str, global: u32| {
        let output =
            mariadb(url, &[&format!("SELECT count(*) FROM RanWriteGlobal{global}")]).output().unwrap();
        String::from_utf8_lossy(&output.stdout)
            .trim()
            .parse()
            .unwrap_or_else(|_| panic!("{}", stderr(&output)))
    };
    let Some(subject) = Subject::server("mariadb", count) else { return };
    live_through(&subject);
    what_others_do_is_named(
        &subject,
        &Disturbance {
            client: mariadb,
            is_writing: "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'CALL iolite_sets%'",
            lock: &[
                "BEGIN",
                "UPDATE RanWriteGlobal1 SET value = value WHERE subscript = 7",
                "SELECT SLEEP(4)",
                "COMMIT",
            ],
            change: (
                &["SET GLOBAL innodb_flush_log_at_trx_commit = 2"],
                "innodb_flush_log_at_trx_commit was 1, and is 2",
            ),
            restore: &["SET GLOBAL innodb_flush_log_at_trx_commit = 1"],
            holder: "user root",
        },
    );
}

/// A server that takes twelve sessions: a sweep runs as many jobs as it may, and none fails.
fn keeps_to_few_sessions(subject: &Subject) {
    subject.done("ranread", "setup", &["--size", "8MiB", "--quiet"]);
    let steps = [
        "--step",
        "200ms",
        "--ramp",
        "50ms",
        "--json",
        "--quiet",
        "--stop-response",
        "10s",
        "--min-growth",
        "0.001",
    ];
    let output = subject.ran("ranread", "sweep", &steps).output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 3 | 4)), "{}", stderr(&output));
    let document = json(&output);
    let warnings = document["warnings"].to_string();
    assert!(warnings.contains("max_connections"), "{warnings}");
    let jobs = document["steps"].as_array().unwrap().iter().map(|step| step["jobs"].as_u64().unwrap());
    let max = jobs.max().unwrap();
    assert!((2..12).contains(&max), "{max} jobs of twelve sessions");
    let refused =
        subject.ran("ranread", "sweep", &[&steps[..], &["--jobs", "1,40"]].concat()).output().unwrap();
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("40 jobs need as many sessions"), "{}", stderr(&refused));
    subject.done("tproc-c", "build", &["--warehouses", "1", "--reduction", "100", "--quiet"]);
    let short = ["--step", "200ms", "--ramp", "50ms", "--all", "--json", "--quiet"];
    let output = subject.ran("tproc-c", "sweep", &short).output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 3 | 4)), "{}", stderr(&output));
    assert!(
        json(&output)["warnings"].to_string().contains("max_connections"),
        "{}",
        json(&output)["warnings"]
    );
    let refused =
        subject.ran("tproc-c", "sweep", &[&short[..], &["--users", "1,40"]].concat()).output().unwrap();
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("40 virtual users need as many sessions"), "{}", stderr(&refused));
}

#[test]
fn a_sweep_keeps_to_the_sessions_of_a_small_server() {
    if let Some(subject) = Subject::server("mariadb", |_, _| 0) {
        let set = mariadb(&subject.db, &["SET GLOBAL max_connections = 12"]).output().unwrap();
        assert!(set.status.success(), "{}", stderr(&set));
        keeps_to_few_sessions(&subject);
    }
    let Some(subject) = Subject::server("postgres", |_, _| 0) else { return };
    let set = psql(&subject.db, &["ALTER SYSTEM SET max_connections = 12"]).output().unwrap();
    assert!(set.status.success(), "{}", stderr(&set));
    let [server, directory] = subject.stop.clone().unwrap();
    for verb in ["stop", "start"] {
        let output = Command::new(IOLITE).args(["db", verb, &server, &directory]).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
    }
    keeps_to_few_sessions(&subject);
}

/// The installation of GT.M, where Debian has it.
fn gtm() -> Option<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for library in fs::read_dir("/usr/lib").unwrap().flatten() {
        let versions = fs::read_dir(library.path().join("fis-gtm"));
        found.extend(versions.into_iter().flatten().flatten().map(|version| version.path()));
    }
    found.into_iter().find(|path| path.join("mumps").exists())
}

/// Reads and writes at once, as the articles have them: each opens and closes the database on its own.
fn both_start_together(subject: &Subject) {
    for _ in 0..8 {
        let arguments = ["--runtime", "300ms", "--jobs", "3", "--json", "--quiet"];
        let started = ["ranread", "ranwrite"].map(|tool| {
            let mut run = subject.ran(tool, "run", &arguments);
            run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        });
        for (run, kind) in started.into_iter().zip(["read", "commit"]) {
            let output = run.wait_with_output().unwrap();
            assert!(output.status.success(), "{}", stderr(&output));
            assert!(operations(&json(&output), kind) > 0, "{}", stderr(&output));
        }
    }
}

#[test]
fn in_gtm() {
    let Some(installed) = gtm() else { return println!("skipped: no fis-gtm is installed") };
    let place = TestDirectory::new();
    let directory = place.data();
    let db = format!("gtm:{}", directory.display());
    let count = move |global: u32| {
        let walk = format!("for  set s=$order(^RanWriteGlobal{global}(s)) quit:s=\"\"\"\"  set n=n+1");
        let program = format!("set n=0,s=\"\" xecute \"{walk}\" write n,!");
        let output = Command::new(installed.join("mumps"))
            .args(["-run", "%XCMD", &program])
            .env("gtm_dist", &installed)
            .env("gtmgbldir", directory.join("iolite.gld"))
            .env("gtmroutines", &installed)
            .env("gtm_chset", "M")
            .current_dir(&directory)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        text.parse().unwrap_or_else(|_| panic!("{text}: {}", stderr(&output)))
    };
    let subject = Subject { place, db, stop: None, count: Box::new(count) };
    live_through(&subject);
}

#[test]
fn reads_and_writes_in_gtm_start_together() {
    if gtm().is_none() {
        return println!("skipped: no fis-gtm is installed");
    }
    let place = TestDirectory::new();
    let db = format!("gtm:{}", place.data().display());
    let subject = Subject { place, db, stop: None, count: Box::new(|_| 0) };
    subject.done("ranread", "setup", &["--size", "4MiB", "--block-size", "32KiB"]);
    subject.done("ranwrite", "create-globals", &["--globals", "3", "--subscripts", "1000"]);
    both_start_together(&subject);
    subject.done("ranread", "purge", &[]);
}

/// A hot standby of a private PostgreSQL, in a directory as `iolite db start` lays it out.
struct Standby {
    directory: tempfile::TempDir,
    db: String,
}

impl Drop for Standby {
    fn drop(&mut self) {
        let _ = Command::new(IOLITE).args(["db", "stop", "postgres"]).arg(self.directory.path()).output();
    }
}

impl Standby {
    fn of(primary: &Subject) -> Standby {
        let directory = tempfile::tempdir().unwrap();
        let (from, to) = (PathBuf::from(&primary.stop.as_ref().unwrap()[1]), directory.path().to_owned());
        let server = |verb| {
            let output = Command::new(IOLITE).args(["db", verb, "postgres"]).arg(&to).output().unwrap();
            assert!(output.status.success(), "{}", stderr(&output));
            String::from_utf8(output.stdout).unwrap().lines().next().unwrap().to_owned()
        };
        server("start");
        server("stop");
        let owner = std::os::unix::fs::MetadataExt::uid(&fs::metadata(to.join("data")).unwrap());
        fs::remove_dir_all(to.join("data")).unwrap();
        let conf = fs::read_to_string(from.join("iolite.conf")).unwrap();
        let port = conf.lines().find_map(|line| line.strip_prefix("port = ")).unwrap();
        // Beside the server itself, wherever Debian has it.
        let versions = fs::read_dir("/usr/lib/postgresql").unwrap().flatten();
        let program =
            versions.map(|version| version.path().join("bin/pg_basebackup")).find(|path| path.exists());
        let mut backup = Command::new(program.unwrap());
        backup
            .args(["-R", "-X", "stream", "-U", "iolite", "-p", port, "-D"])
            .arg(to.join("data"))
            .arg("-h")
            .arg(&from);
        if common::is_root() {
            std::os::unix::process::CommandExt::uid(&mut backup, owner);
        }
        let copied = backup.current_dir(&to).output().unwrap();
        assert!(copied.status.success(), "{}", stderr(&copied));
        let db = server("start");
        Standby { directory, db }
    }
}

#[test]
fn a_hot_standby_is_read_timed_by_the_client_and_never_written() {
    let Some(primary) = Subject::server("postgres", |_, _| 0) else { return };
    primary.done("ranread", "setup", &["--size", "8MiB", "--block-size", "64KiB"]);
    primary.done("ranwrite", "create-globals", &["--globals", "1", "--subscripts", "500"]);
    primary.done("tproc-c", "build", &["--warehouses", "2", "--reduction", "100", "--quiet"]);
    let standby = Standby::of(&primary);
    let run = |tool: &str, verb: &str, arguments: &[&str]| {
        primary.ran(tool, verb, arguments).env("IOLITE_DB", &standby.db).output().unwrap()
    };
    let measured = |verb: &str, arguments: &[&str]| {
        let output = run("ranread", verb, &[arguments, &["--json", "--quiet"]].concat());
        (json(&output), json(&output)["warnings"].to_string())
    };
    let (read, warned) = measured("run", &["--jobs", "2", "--iterations", "100"]);
    assert_eq!(operations(&read, "read"), 200);
    assert!(read.to_string().contains("ranges of 8 blocks of 8 KiB"), "{read}");
    assert!(warned.contains("hot standby") && warned.contains("timed by the client"), "{warned}");
    let (_, warned) = measured("run", &["--jobs", "1", "--iterations", "100", "--client-timed"]);
    assert!(!warned.contains("hot standby"), "it was asked for: {warned}");
    let (_, warned) = measured("sweep", &["--jobs", "1,2", "--step", "200ms", "--ramp", "0s"]);
    assert!(warned.contains("hot standby"), "{warned}");
    let refused = run("ranwrite", "run", &["--jobs", "1", "--iterations", "10"]);
    let text = String::from_utf8_lossy(&refused.stdout).into_owned() + &stderr(&refused);
    assert!(!refused.status.success() && text.contains("measure the primary"), "{text}");
    for restore in [&[][..], &["--restore"]] {
        let load = [&["--users", "2", "--duration", "1s", "--ramp", "0s", "--quiet"], restore].concat();
        let refused = run("tproc-c", "run", &load);
        let text = String::from_utf8_lossy(&refused.stdout).into_owned() + &stderr(&refused);
        assert!(!refused.status.success() && text.contains("measure the primary"), "{text}");
    }
    let reads = |arguments: &[&str]| {
        let mut command = Command::new(IOLITE);
        command.args(arguments).arg("--db").arg(&standby.db).arg("--results").arg(primary.place.results());
        let output = command.args(["--json", "--quiet"]).stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
        json(&output)
    };
    let waits = reads(&["waits", "watch", "--duration", "500ms"]);
    assert!(waits.to_string().contains("PostgreSQL"), "{waits}");
    let data = primary.place.data().display().to_string();
    let layers = reads(&["layers", &data, "--size", "64MiB", "--window", "200ms", "--rounds", "2"]);
    let text = layers.to_string();
    assert!(text.contains("random read, depth 1, PostgreSQL") && text.contains("scan, PostgreSQL"), "{text}");
    assert!(text.contains("Commits of PostgreSQL were not measured: it is a hot standby"), "{text}");
}
