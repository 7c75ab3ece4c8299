//! `iolite ranread`, `ranwrite` and `ranio`: the whole life of a database, on the embedded one, with wrong input, interrupted,
//! on a full disk, and two at once.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]

mod common;

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use common::{IOLITE, Mount, TestDirectory, entries, is_root, json, stderr};
use iolite_model::ErrorCause;
use serde_json::Value;

/// The program on a database in this place.
fn ran(place: &TestDirectory, tool: &str, verb: &str, db: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(IOLITE);
    command.args([tool, verb, "--db", db]).args(arguments);
    if ["run", "sweep", "stop", "reset", "export", "history"].contains(&verb) {
        command.arg("--results").arg(place.results());
    }
    command.env("NO_COLOR", "1").stdin(Stdio::null());
    command
}

fn done(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", stderr(&output));
    String::from_utf8(output.stdout).unwrap()
}

fn refused(command: &mut Command, code: i32, part: &str) {
    let output = command.output().unwrap();
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(code), "{command:?}: {text}");
    assert!(text.contains(part), "{part}: {text}");
}

fn sqlite(place: &TestDirectory) -> String {
    format!("sqlite:{}", place.data().display())
}

/// What a file holds, by SQLite's own client.
fn by_client(file: &Path, sql: &str) -> Option<String> {
    let Ok(output) = Command::new("sqlite3").arg(file).arg(sql).output() else {
        println!("skipped in part: no sqlite3");
        return None;
    };
    assert!(output.status.success(), "{}", stderr(&output));
    Some(String::from_utf8(output.stdout).unwrap().trim().to_owned())
}

fn operations(document: &Value, kind: &str) -> u64 {
    let found = document["phase"]["operations"].as_array().unwrap().iter().find(|ops| ops["kind"] == kind);
    found.map_or(0, |ops| ops["operations"].as_u64().unwrap())
}

#[test]
fn the_whole_life_of_a_database() {
    let place = TestDirectory::new();
    let db = sqlite(&place);
    let setup = done(&mut ran(&place, "ranio", "setup", &db, &["--size", "30MiB"]));
    assert!(setup.contains("30.0 MiB") && setup.contains("create-globals"), "{setup}");
    let read = json(
        &ran(&place, "ranread", "run", &db, &["--jobs", "3", "--iterations", "200", "--json"])
            .output()
            .unwrap(),
    );
    assert_eq!(operations(&read, "read"), 600);

    done(&mut ran(&place, "ranwrite", "create-globals", &db, &["--globals", "2", "--subscripts", "3000"]));
    assert_eq!(done(&mut ran(&place, "ranwrite", "get-sizes", &db, &[])), "2,3000,3000\n");
    done(&mut ran(&place, "ranwrite", "add-globals", &db, &["--globals", "3"]));
    done(&mut ran(&place, "ranwrite", "add-globals", &db, &["--globals", "4", "--subscripts", "50"]));
    assert_eq!(done(&mut ran(&place, "ranread", "get-sizes", &db, &[])), "4,3000,3000,3000,50\n");
    let counted = done(&mut ran(&place, "ranwrite", "count-subscripts", &db, &[]));
    assert!(counted.contains("RanWriteGlobal4: 50\n") && counted.contains("in all: 9050\n"), "{counted}");
    let global = |n: u32| place.data().join(format!("RanWriteGlobal{n}.db"));
    for (number, subscripts) in [(1, "3000"), (3, "3000"), (4, "50")] {
        if let Some(count) = by_client(&global(number), "SELECT count(*) FROM global") {
            assert_eq!(count, subscripts);
        }
    }

    let arguments = ["--jobs", "2", "--iterations", "120", "--hang", "0s", "--seed", "5", "--json"];
    let before = by_client(&global(1), "SELECT group_concat(hex(value)) FROM global");
    let write = json(&ran(&place, "ranwrite", "run", &db, &arguments).output().unwrap());
    assert_eq!((operations(&write, "write"), operations(&write, "commit")), (240, 6), "{write:#}");
    for kind in write["phase"]["operations"].as_array().unwrap() {
        let (service, response) = (&kind["service_ns"]["p99_99"], &kind["response_ns"]["max"]);
        assert!(service.as_u64().unwrap() <= response.as_u64().unwrap(), "{kind:#}");
    }
    // What a device has written by then says nothing of commits that are not waited for.
    let relaxed = [&arguments[..], &["--durability", "relaxed"]].concat();
    let relaxed = json(&ran(&place, "ranwrite", "run", &db, &relaxed).output().unwrap());
    assert_eq!(relaxed["phase"]["cache"]["stamp"], "unknown", "{}", relaxed["phase"]["cache"]);
    let after = by_client(&global(1), "SELECT group_concat(hex(value)) FROM global");
    assert!(before.is_none() || before != after, "job 0 writes global 1");
    let mixed = [
        "--jobs",
        "4",
        "--iterations",
        "500",
        "--read-percent",
        "30",
        "--transaction-length",
        "10",
        "--json",
    ];
    let io = json(&ran(&place, "ranio", "run", &db, &mixed).output().unwrap());
    assert_eq!(operations(&io, "write") + operations(&io, "read"), 2000);
    assert_eq!(operations(&io, "commit") * 10, operations(&io, "write"));
    let share = operations(&io, "read") as f64 / 2000.0;
    assert!((0.1..0.5).contains(&share), "{share} of 0.3");

    assert_eq!(place.ask::<i64>("SELECT count(*) FROM RanRead"), 3);
    assert_eq!(place.ask::<i64>("SELECT sum(Writes) FROM RanWrite"), 480);
    assert_eq!(place.ask::<i64>("SELECT sum(Reads) + sum(Writes) FROM RanIO WHERE ReadPct = 30"), 2000);
    // What was sampled of the database's counters, from the begin of a phase to its end, is what the phase used.
    let sampled = "SELECT run, max(value) - min(value) AS syncs FROM reading_value \
                   WHERE probe = 'database' AND subject = 'SQLite' AND name = 'log_syncs' GROUP BY run";
    let same =
        format!("SELECT count(*) FROM ({sampled}) JOIN database_use USING (run) WHERE log_syncs = syncs");
    assert_eq!(place.ask::<i64>(&same), place.ask::<i64>("SELECT count(*) FROM database_use"));
    assert!(place.ask::<f64>(&format!("SELECT max(syncs) FROM ({sampled})")) >= 6.0);
    fs::write(place.data().join("mine.db"), "precious").unwrap();
    done(&mut ran(&place, "ranread", "purge", &db, &[]));
    assert_eq!(entries(&place.data()), ["mine.db"]);
    refused(&mut ran(&place, "ranread", "run", &db, &[]), 2, "setup");
}

#[test]
fn wrong_input_is_refused_with_what_helps() {
    let place = TestDirectory::new();
    let db = sqlite(&place);
    let run = |tool, verb, db: &str, arguments: &[&str]| ran(&place, tool, verb, db, arguments);
    refused(&mut run("ranread", "run", "oracle://x", &[]), 2, "sqlite:DIR");
    refused(&mut run("ranread", "setup", "sqlite:/no/such/directory", &[]), 1, "/no/such/directory");
    // A failed setup removes the directory that it has created.
    let new = place.data().join("new");
    let in_new = format!("sqlite:{}", new.display());
    refused(&mut run("ranread", "setup", &in_new, &["--size", "1000TiB"]), 1, "free");
    assert!(!new.exists());
    refused(&mut run("ranread", "setup", &in_new, &["--size", "100"]), 2, "specify 100GiB or 100B");
    assert!(!new.exists());
    done(&mut run("ranread", "setup", &in_new, &["--size", "2MiB"]));
    done(&mut run("ranread", "purge", &in_new, &[]));
    assert_eq!(entries(&new), [""; 0]);
    fs::remove_dir(&new).unwrap();
    refused(&mut run("ranread", "run", &db, &["--runtime", "300"]), 2, "specify 300s or 300ms");
    refused(&mut run("ranread", "run", &db, &[]), 2, "setup");
    refused(&mut run("ranread", "run", &db, &["--hang", "1ms"]), 2, "--hang");
    refused(&mut run("ranread", "setup", &db, &["--size", "1000TiB"]), 1, "free");
    done(&mut run("ranread", "setup", &db, &["--size", "2MiB"]));
    refused(&mut run("ranread", "setup", &db, &["--size", "2MiB"]), 1, "already exists");
    refused(&mut run("ranwrite", "run", &db, &[]), 2, "create-globals");
    refused(&mut run("ranwrite", "add-globals", &db, &["--globals", "2"]), 2, "--subscripts");
    done(&mut run("ranwrite", "create-globals", &db, &["--globals", "2", "--subscripts", "10"]));
    refused(&mut run("ranwrite", "create-globals", &db, &[]), 2, "--replace");
    refused(&mut run("ranwrite", "add-globals", &db, &["--globals", "2"]), 2, "more than 2");
    refused(&mut run("ranwrite", "run", &db, &["--jobs", "3"]), 2, "3 jobs need 3 globals");
    refused(&mut run("ranio", "run", &db, &["--read-percent", "101"]), 2, "100");
    refused(&mut run("ranwrite", "run", &db, &["--transaction-length", "0"]), 2, "0");
    refused(&mut run("ranread", "run", &db, &["--runtime", "0s"]), 2, "--runtime");
    refused(
        &mut run("ranread", "run", &db, &["--ramp", "1s", "--iterations", "5"]),
        2,
        "cannot be used with",
    );
    refused(&mut run("ranwrite", "run", &db, &["--hang", "2"]), 2, "2ms");
    // What can't be made does not cost what is there.
    let replace = |globals, subscripts| {
        let arguments = ["--replace", "--globals", globals, "--subscripts", subscripts];
        run("ranwrite", "create-globals", &db, &arguments)
    };
    refused(&mut replace("1", "18446744073709551614"), 2, "cannot have");
    refused(&mut replace("9999", "4294967296"), 1, "free");
    assert_eq!(done(&mut run("ranwrite", "get-sizes", &db, &[])), "2,10,10\n");
    refused(&mut run("ranread", "run", &db, &["--durability", "half"]), 2, "full");
    refused(&mut run("ranread", "run", &db, &["--through-buffers"]), 2, "--through-buffers");
    fs::remove_file(place.data().join("RanWriteGlobal1.db")).unwrap();
    refused(&mut run("ranwrite", "run", &db, &[]), 1, "RanWriteGlobal1 is missing");
    done(&mut run("ranwrite", "create-globals", &db, &["--replace", "--globals", "1", "--subscripts", "10"]));
    done(&mut run("ranwrite", "run", &db, &["--iterations", "10"]));
}

/// What a run came to, its errors included.
fn ended(child: Child) -> (Output, Value) {
    let output = child.wait_with_output().unwrap();
    let document = json(&output);
    (output, document)
}

fn start(command: &mut Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn interrupt(child: &Child) {
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
}

#[test]
fn an_interrupted_run_keeps_what_it_has_measured() {
    let place = TestDirectory::new();
    let db = sqlite(&place);
    done(&mut ran(&place, "ranwrite", "setup", &db, &["--size", "2MiB"]));
    done(&mut ran(&place, "ranwrite", "create-globals", &db, &["--globals", "2", "--subscripts", "1000"]));
    let arguments = ["--jobs", "2", "--runtime", "100s", "--json"];
    let mut child = start(&mut ran(&place, "ranwrite", "run", &db, &arguments));
    place.wait_for_intervals(&mut child, 2);
    // Each global is one job's; reading is for all.
    refused(&mut ran(&place, "ranio", "run", &db, &["--iterations", "1"]), 2, "used by one job only");
    done(&mut ran(&place, "ranread", "run", &db, &["--iterations", "5", "--quiet"]));
    // The run is in the results that belong to this user, for purge.
    let home = place.root.path().join("iolite");
    fs::create_dir(&home).unwrap();
    std::os::unix::fs::symlink(place.results(), home.join("results.db")).unwrap();
    let mut purge = ran(&place, "ranwrite", "purge", &db, &[]);
    refused(purge.env("XDG_DATA_HOME", place.root.path()), 2, "is measuring on");
    interrupt(&child);
    let (output, document) = ended(child);
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    let writes = operations(&document, "write");
    assert!(writes > 0 && writes.is_multiple_of(50), "{writes}: transactions are ended");
    assert_eq!(place.ask::<i64>("SELECT sum(Writes) FROM RanWrite"), writes as i64);
    assert_eq!(place.ask::<String>("SELECT ending FROM run ORDER BY started_unix_ns"), "interrupted");
}

#[test]
fn an_interrupted_setup_leaves_nothing() {
    let place = TestDirectory::new();
    let db = sqlite(&place);
    let mut child = start(&mut ran(&place, "ranread", "setup", &db, &["--size", "8GiB"]));
    let file = place.data().join("RanRead.db");
    while fs::metadata(&file).map_or(0, |metadata| metadata.len()) < 10 << 20 {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it could be interrupted");
        std::thread::yield_now();
    }
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert_eq!(entries(&place.data()), [""; 0]);
}

/// Checks that the remedy of a cause is named. docs/errors.md lists each call as the test of that cause.
fn produced(cause: ErrorCause, text: &str) {
    assert!(text.contains(cause.remedy()), "{cause:?}: {text}");
}

#[test]
fn a_full_disk_is_reported_and_leaves_nothing_half_made() {
    if !is_root() {
        return println!("skipped: only root can mount");
    }
    let place = TestDirectory::new();
    let directory = place.root.path().join("small");
    let Some(_mount) = Mount::new(&["-t", "tmpfs", "-o", "size=24M", "tmpfs"], &directory) else { return };
    let db = format!("sqlite:{}", directory.display());
    done(&mut ran(&place, "ranwrite", "setup", &db, &["--size", "4MiB"]));
    let many = ["--globals", "3", "--subscripts", "200000"];
    refused(&mut ran(&place, "ranwrite", "create-globals", &db, &many), 1, "free");
    done(&mut ran(&place, "ranwrite", "create-globals", &db, &["--globals", "1", "--subscripts", "100000"]));
    // The log of a run finds no room.
    fs::write(directory.join("other"), vec![1; 3 << 20]).unwrap();
    let run = ["--transaction-length", "1000", "--hang", "0s", "--runtime", "60s", "--json", "--quiet"];
    let output = ran(&place, "ranwrite", "run", &db, &run).output().unwrap();
    let document = json(&output);
    produced(ErrorCause::SqliteFull, &stderr(&output));
    assert_eq!(output.status.code(), Some(1), "{document:#}");
    assert!(document["ending"].to_string().contains("full"), "{document:#}");
    assert_eq!(place.ask::<i64>("SELECT sum(Writes) FROM RanWrite"), operations(&document, "write") as i64);
    fs::remove_file(directory.join("other")).unwrap();
    done(&mut ran(&place, "ranwrite", "run", &db, &["--iterations", "50"]));
    done(&mut ran(&place, "ranwrite", "purge", &db, &[]));
    assert_eq!(entries(&directory), [""; 0]);
}

#[test]
fn two_runs_at_once_do_not_disturb_each_other() {
    let place = TestDirectory::new();
    let databases: Vec<String> = ["a", "b"]
        .map(|name| {
            let directory = place.data().join(name);
            fs::create_dir(&directory).unwrap();
            format!("sqlite:{}", directory.display())
        })
        .into();
    for db in &databases {
        done(&mut ran(&place, "ranwrite", "setup", db, &["--size", "2MiB"]));
        done(&mut ran(&place, "ranwrite", "create-globals", db, &["--globals", "1", "--subscripts", "1000"]));
    }
    let run = |db: &str, tool, arguments: &[&str]| {
        let json = [arguments, &["--json", "--quiet"]].concat();
        start(&mut ran(&place, tool, "run", db, &json))
    };
    let writer = run(&databases[0], "ranwrite", &["--iterations", "5000", "--hang", "1ms"]);
    let reader = run(&databases[1], "ranread", &["--iterations", "3000"]);
    let (_, read) = ended(reader);
    let (_, wrote) = ended(writer);
    assert_eq!((operations(&read, "read"), operations(&read, "write")), (3000, 0));
    assert_eq!((operations(&wrote, "read"), operations(&wrote, "write")), (0, 5000));
    assert_eq!(place.ask::<i64>("SELECT sum(Reads) FROM RanRead"), 3000);
    assert_eq!(place.ask::<i64>("SELECT sum(Writes) FROM RanWrite"), 5000);
    assert_eq!(place.ask::<i64>("SELECT count(*) FROM RanRead AS r JOIN RanWrite AS w USING (Batch)"), 0);
}
