//! `iolite check` as its users meet it: the real program on real storage.

// Helpers of tests may give up as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod common;
#[path = "check/measured.rs"]
mod measured;
#[path = "check/open_files.rs"]
mod open_files;

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use common::*;
use rustix::process::{Pid, Signal, kill_process};

/// Shortest budgets: the tests ask whether everything is there and right, not how fast this machine is.
const SHORT: [&str; 4] = ["--budget-time", "10s", "--budget-space", "256M"];

#[test]
fn a_check_measures_every_layer_stores_it_and_leaves_nothing_behind() {
    let place = TestDirectory::alone();
    // Time enough for all of it on a slow disk too.
    let arguments = ["--budget-time", "45s", "--budget-space", "256M", "--json"];
    let (output, opened) = open_files::output_and_flags(&mut place.check(&place.data(), &arguments));
    let code = output.status.code().unwrap();
    assert!([0, 3, 4].contains(&code), "{code}: {}", stderr(&output));
    let document = json(&output);
    open_files::commits_are_done_as_named(&document, &opened);
    let fitness = document["verdict"]["fitness"].as_str().unwrap();
    assert_eq!(
        ["fit", "marginal", "unfit"].iter().position(|known| *known == fitness),
        [0, 3, 4].iter().position(|c| *c == code)
    );
    for name in [
        "sequential write 1 MiB",
        "sequential read 1 MiB",
        "random read 8 KiB",
        "random read 64 KiB",
        "random write 8 KiB",
        "commit, buffered append",
        "commit, growing file",
        "commit, buffered overwrite",
        "commit, O_DSYNC overwrite",
        "RanRead",
        "RanWrite",
        "RanIO 50 %",
    ] {
        let found = phases(&document, name);
        assert!(!found.is_empty(), "{name} is missing");
        let operations = &found[0]["operations"][0];
        assert!(operations["operations"].as_u64().unwrap() > 0, "{name}: {operations}");
        assert_eq!(operations["errors"], 0, "{name}");
        assert!(operations["response_ns"]["p99_9"]["value"].as_f64().unwrap() > 0.0, "{name}");
    }
    assert!(document["calibration"]["loop_cost_ns"].as_f64().unwrap() > 0.0);
    assert_eq!(document["knees"].as_array().unwrap().len(), 3);
    assert_eq!(entries(&place.data()), [""; 0], "test files were left behind");

    let operations = place.ask::<i64>(
        "SELECT sum(operations) FROM worker JOIN worker_op ON worker_op.worker = worker.id WHERE phase = 2",
    );
    let intervals = place.ask::<i64>(
        "SELECT sum(operations) FROM interval JOIN interval_op ON interval_op.interval = interval.id
          WHERE phase = 2 AND stage = 'measured'",
    );
    assert_eq!(operations, intervals, "workers and intervals must agree");
    assert_eq!(phases(&document, "random read 8 KiB")[0]["operations"][0]["operations"], operations);
    assert_eq!(place.ask::<String>("SELECT ending FROM run"), "completed");
    assert!(place.ask::<i64>("SELECT count(*) FROM RanRead") > 0);
}

#[test]
fn a_thorough_check_writes_until_the_rate_is_steady_and_reads_on() {
    let place = TestDirectory::new();
    let arguments = ["--thorough", "--budget", "20s", "--max-write", "128M", "--json"];
    let output = place.check(&place.data(), &arguments).output().unwrap();
    let code = output.status.code().unwrap();
    assert!([0, 3, 4].contains(&code), "{code}: {}", stderr(&output));
    let document = json(&output);
    let found = &document["preconditioned"];
    let rounds = phases(&document, "precondition, random write 8 KiB").len();
    assert_eq!(found["rounds"].as_u64(), Some(rounds as u64), "{found}");
    assert!((1..=20).contains(&rounds), "{rounds}");
    let steady = found["steady"].as_bool().unwrap();
    let warned = document["warnings"].as_array().unwrap().iter().any(|w| w["kind"] == "not-steady");
    assert_ne!(steady, warned, "{found}");
    assert_eq!(phases(&document, "sustained random read 8 KiB").len(), 1);
    let written = |name: &str| {
        phases(&document, name)
            .iter()
            .map(|phase| phase["cache"]["requested_written_bytes"].as_u64().unwrap())
            .sum::<u64>()
    };
    assert!(written("sequential write 1 MiB") <= (128 << 20) * 45 / 100);
    assert!(written("precondition, random write 8 KiB") <= (128 << 20) * 36 / 100);
    assert_eq!(entries(&place.data()), [""; 0], "test files were left behind");
}

#[test]
fn the_results_are_readable_with_sqlite3() {
    let place = TestDirectory::new();
    assert!(place.check(&place.data(), &SHORT).stdout(Stdio::null()).status().unwrap().code().is_some());
    let query = "SELECT name, round(iops), stamp FROM summary ORDER BY phase LIMIT 1";
    match Command::new("sqlite3").arg(place.results()).arg(query).output() {
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(text.starts_with("sequential write 1 MiB|"), "{text}{}", stderr(&output));
        }
        Err(error) => eprintln!("skipped: no sqlite3 command: {error}"),
    }
}

#[test]
fn a_rate_that_can_be_held_is_measured_as_an_open_loop() {
    let place = TestDirectory::new();
    let arguments = [&SHORT[..], &["--json", "--target-iops", "200", "--stalls"]].concat();
    let document = json(&place.check(&place.data(), &arguments).output().unwrap());
    let at_target = phases(&document, "random read 8 KiB, at 200 IOPS")[0];
    assert_eq!(at_target["task"]["arrival"]["poisson"], 200.0);
    let reasons = document["verdict"]["reasons"].as_array().unwrap();
    let sustained = |reason: &serde_json::Value| reason["measured"].as_str().unwrap().contains("sustained");
    assert!(reasons.iter().any(sustained), "{reasons:?}");
    // The slowest operations are attributed in phases on files and inside a database alike.
    let stalls = document["stalls"].as_array().unwrap();
    let attributed = |name| {
        phases(&document, name).iter().all(|phase| {
            stalls
                .iter()
                .any(|stalls| stalls["phase"] == phase["index"] && stalls["operations"].as_u64() > Some(0))
        })
    };
    assert!(attributed("random read 8 KiB, at 200 IOPS") && attributed("RanWrite"), "{stalls:?}");
}

#[test]
fn ctrl_c_ends_the_check_keeps_the_results_and_removes_the_files() {
    // At the layout, among the reads, in the database. Its budget is not what ends it: that is as long as the test may take.
    for intervals in [0, 8, 90] {
        let place = TestDirectory::new();
        let mut command = place.check(&place.data(), &["--budget-time", "30m", "--budget-space", "512M"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        place.wait_for_intervals(&mut child, intervals);
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
        assert!(String::from_utf8_lossy(&output.stdout).contains("INTERRUPTED"), "{}", stderr(&output));
        assert_eq!(entries(&place.data()), [""; 0]);
        assert_eq!(place.ask::<String>("SELECT ending FROM run"), "interrupted");
        assert!(place.ask::<i64>("SELECT count(*) FROM interval") >= intervals);
    }
}

#[test]
fn after_kill_9_the_results_are_there_and_the_next_check_clears_up() {
    let place = TestDirectory::new();
    let mut command = place.check(&place.data(), &["--budget-time", "60s", "--budget-space", "512M"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    place.wait_for_intervals(&mut child, 20);
    child.kill().unwrap();
    child.wait().unwrap();
    let dead = entries(&place.data());
    assert_eq!(dead.len(), 1, "the dead run's directory: {dead:?}");
    assert!(entries(&place.data().join(&dead[0])).contains(&"data".to_owned()));
    assert_eq!(place.ask::<String>("PRAGMA integrity_check"), "ok");
    let stored = place.ask::<i64>("SELECT count(*) FROM interval");
    assert!(stored >= 20);

    fs::write(place.data().join("precious"), "mine").unwrap();
    fs::create_dir(place.data().join(".iolite-mine")).unwrap();
    fs::write(place.data().join(".iolite-mine/data"), "mine").unwrap();
    let output = place.check(&place.data(), &SHORT).output().unwrap();
    assert!(stderr(&output).contains("left behind"), "{}", stderr(&output));
    assert_eq!(entries(&place.data()), [".iolite-mine", "precious"]);
    assert_eq!(fs::read_to_string(place.data().join(".iolite-mine/data")).unwrap(), "mine");
    assert_eq!(place.ask::<String>("SELECT ending FROM run ORDER BY started_unix_ns LIMIT 1"), "interrupted");
    let first = "(SELECT id FROM run ORDER BY started_unix_ns LIMIT 1)";
    assert_eq!(place.ask::<i64>(&format!("SELECT count(*) FROM interval WHERE run = {first}")), stored);
}

#[test]
fn two_checks_at_once_leave_each_others_files_alone() {
    let place = TestDirectory::new();
    let spawn = || {
        place
            .check(&place.data(), &[&SHORT[..], &["--json"]].concat())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
    };
    let (one, other) = (spawn().unwrap(), spawn().unwrap());
    for child in [one, other] {
        let output = child.wait_with_output().unwrap();
        assert!([Some(0), Some(3), Some(4)].contains(&output.status.code()), "{}", stderr(&output));
    }
    assert_eq!(place.ask::<i64>("SELECT count(*) FROM run WHERE ending = 'completed'"), 2);
    assert_eq!(entries(&place.data()), [""; 0]);
}

#[test]
fn a_wrong_command_line_says_what_is_wrong_and_exits_with_2() {
    let place = TestDirectory::new();
    let file = place.root.path().join("file");
    fs::write(&file, "x").unwrap();
    let profile = place.root.path().join("bad.toml");
    fs::write(&profile, "name = 1").unwrap();
    let data = place.data();
    let cases: [(&Path, &[&str], &str); 9] = [
        (Path::new("/no/such/directory"), &[], "check the path"),
        (&file, &[], "is not a directory"),
        (&data, &["--budget-time", "1s"], "--budget-time 10.0 s or more"),
        (&data, &["--budget-time", "soon"], "specify a number and a unit, for example 5ms or 90s"),
        (&data, &["--budget-space", "9999T"], "free in"),
        (&data, &["--target-iops", "-5"], "for example 5000"),
        (&data, &["--profile", "nonsense"], "neither built in (oltp-flash, etcd, hdd) nor as a file"),
        (&data, &["--profile", profile.to_str().unwrap()], "bad.toml is invalid: TOML parse error at line 1"),
        (&data, &["--nonsense"], "unexpected argument '--nonsense'"),
    ];
    for (directory, arguments, expected) in cases {
        let output = place.check(directory, arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(expected), "{arguments:?}: {}", stderr(&output));
        assert!(output.stdout.is_empty());
    }
    assert_eq!(entries(&data), [""; 0]);
}

#[test]
fn too_little_space_is_said_before_anything_is_made() {
    let place = TestDirectory::new();
    let at = place.root.path().join("small");
    let Some(_mount) = Mount::new(&["-t", "tmpfs", "-o", "size=100m", "none"], &at) else { return };
    let output = place.check(&at, &[]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("--budget-space 64 MiB or more"), "{}", stderr(&output));
    assert_eq!(entries(&at), [""; 0]);
}

#[test]
fn a_disk_that_fills_up_meanwhile_ends_clearly() {
    let place = TestDirectory::new();
    let at = place.root.path().join("filling");
    let Some(_mount) = Mount::new(&["-t", "tmpfs", "-o", "size=160m", "none"], &at) else { return };
    let mut command = place.check(&at, &["--budget-time", "10s", "--budget-space", "150M", "--quiet"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    place.wait_for_intervals(&mut child, 2);
    // The data file is there; what is left is taken away.
    let filler = vec![0; 160 << 20];
    assert!(fs::write(at.join("filler"), filler).is_err());
    let output = child.wait_with_output().unwrap();
    let printed = stderr(&output) + &String::from_utf8_lossy(&output.stdout);
    assert!(output.status.code().is_some_and(|code| code != 0 && code != 130), "{printed}");
    assert!(printed.contains("space"), "{printed}");
    assert_eq!(entries(&at), ["filler"]);
}

#[test]
fn where_direct_io_is_refused_it_warns_and_never_calls_it_fit() {
    let place = TestDirectory::new();
    let at = place.root.path().join("ram");
    let Some(_mount) = Mount::new(&["-t", "ramfs", "none"], &at) else { return };
    let arguments = ["--budget-time", "10s", "--budget-space", "100M", "--json"];
    let output = place.check(&at, &arguments).output().unwrap();
    let document = json(&output);
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    let kinds: Vec<_> =
        document["warnings"].as_array().unwrap().iter().map(|w| w["kind"].as_str().unwrap()).collect();
    for kind in ["no-direct-io", "volatile", "no-device-counters"] {
        assert!(kinds.contains(&kind), "{kinds:?}");
    }
    assert_eq!(document["verdict"]["reasons"][0]["what"], "durability");
    assert_eq!(entries(&at), [""; 0]);
}

#[test]
fn no_root_is_needed_and_a_directory_of_someone_else_is_refused() {
    const NOBODY: u32 = 65534;
    let place = TestDirectory::new();
    if !is_root() {
        eprintln!("skipped: not root, so all the other tests show it");
        return;
    }
    // The checkout may be where nobody else can look: the program and the data go where everybody can.
    let open = tempfile::tempdir().unwrap();
    fs::set_permissions(open.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let program = open.path().join("iolite");
    fs::copy(IOLITE, &program).unwrap();
    let (mine, theirs) = (open.path().join("mine"), open.path().join("theirs"));
    fs::create_dir(&mine).unwrap();
    fs::create_dir(&theirs).unwrap();
    chown(&mine, Some(NOBODY), Some(NOBODY)).unwrap();
    let check = |directory: &Path| {
        let mut command = Command::new(&program);
        command.arg("check").arg(directory).args(SHORT).arg("--results").arg(mine.join("results.db"));
        command.arg("--quiet").env("HOME", &mine).uid(NOBODY).gid(NOBODY).output().unwrap()
    };
    let output = check(&theirs);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("check the permissions of it and of the directories above it"),
        "{}",
        stderr(&output)
    );
    let output = check(&mine);
    assert!([Some(0), Some(3), Some(4)].contains(&output.status.code()), "{}", stderr(&output));
    assert!(entries(&mine).iter().all(|name| name.starts_with("results.db")));
    assert!(entries(&theirs).is_empty());
    drop(place);
}

/// Results that the user has given a place: nothing is measured that would be lost. Without a home there is a warning.
#[test]
fn results_that_cannot_be_stored_are_an_error_before_anything_is_measured() {
    let place = TestDirectory::new();
    let text = place.root.path().join("text");
    fs::write(&text, "this is no database, and is to stay as it is\n".repeat(100)).unwrap();
    for results in [Path::new("/proc/nowhere/results.db"), &text, &place.data()] {
        let mut command = Command::new(IOLITE);
        command.arg("check").arg(place.data()).args(SHORT).arg("--json").arg("--results").arg(results);
        let output = command.stdin(Stdio::null()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains("--results"), "{}", stderr(&output));
        assert!(output.stdout.is_empty() && entries(&place.data()).is_empty());
    }
    assert!(fs::read_to_string(&text).unwrap().starts_with("this is no database"));

    let home = place.root.path().join("no-home");
    let mut command = Command::new(IOLITE);
    command.arg("check").arg(place.data()).args(SHORT).arg("--json");
    command.env_remove("XDG_DATA_HOME").env("HOME", &home).stdin(Stdio::null());
    let output = command.output().unwrap();
    assert!([Some(0), Some(3), Some(4)].contains(&output.status.code()), "{}", stderr(&output));
    let document = json(&output);
    let warnings = document["warnings"].as_array().unwrap();
    assert!(warnings.iter().any(|warning| warning["kind"] == "store-failed"), "{warnings:?}");
    assert!(!home.exists(), "a home that is not there is not created");
}

/// A pipe in the place of an owner file must not be waited for.
#[test]
fn a_pipe_as_an_owner_file_is_left_alone() {
    let place = TestDirectory::new();
    let scratch = place.data().join(".iolite-foreign");
    fs::create_dir(&scratch).unwrap();
    let made = Command::new("mkfifo").arg(scratch.join("owner")).status().unwrap();
    assert!(made.success());
    let mut child = place.check(&place.data(), &SHORT).stdout(Stdio::null()).spawn().unwrap();
    place.wait_for_intervals(&mut child, 1);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(scratch.join("owner").exists());
}

#[test]
fn a_reader_that_goes_away_is_no_error_and_plain_output_has_no_colour() {
    let place = TestDirectory::new();
    let mut shell = Command::new("sh");
    shell.args([
        "-c",
        "\"$0\" check \"$1\" --budget-time 10s --budget-space 128M --results \"$2\" | head -n 1",
        IOLITE,
    ]);
    let output = shell.arg(place.data()).arg(place.results()).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), stderr(&output));
    assert!(out.starts_with("iolite ") && !out.contains('\x1b'), "{out}");
    assert!(!err.contains('\x1b') && !err.contains("error") && !err.contains("panic"), "{err}");
    assert!(err.contains("random read 8 KiB, 1 outstanding: "), "{err}");
}

#[test]
fn profiles_are_listed_and_printed() {
    let run = |arguments: &[&str]| Command::new(IOLITE).arg("profiles").args(arguments).output().unwrap();
    assert!(
        String::from_utf8_lossy(&run(&[]).stdout).contains("oltp-flash   A transaction-processing database")
    );
    assert!(String::from_utf8_lossy(&run(&["etcd"]).stdout).contains("at_most = \"10ms\""));
    let unknown = run(&["nonsense"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(stderr(&unknown).contains("there is no profile `nonsense`"));
}
