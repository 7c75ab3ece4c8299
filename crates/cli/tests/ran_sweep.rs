//! `iolite ranread|ranwrite|ranio sweep` on the embedded database: steps, repetitions, limits, wrong input, interrupted.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr, clippy::print_stdout)]

mod common;

use std::fs;
use std::process::{Command, Output, Stdio};

use common::private::PrivateServer;
use common::{IOLITE, TestDirectory, json, stderr};
use serde_json::Value;

/// The program on a database in this place.
fn ran(place: &TestDirectory, tool: &str, verb: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(IOLITE);
    let db = format!("sqlite:{}", place.data().display());
    command.args([tool, verb, "--db", &db]).args(arguments);
    command.env("NO_COLOR", "1").stdin(Stdio::null());
    command
}

/// A sweep of short steps.
fn sweep(place: &TestDirectory, tool: &str, arguments: &[&str]) -> Command {
    let mut command = ran(place, tool, "sweep", &["--step", "300ms", "--ramp", "50ms"]);
    command.arg("--results").arg(place.results()).args(arguments);
    command
}

/// A small database with so many globals.
fn database(globals: &str) -> TestDirectory {
    let place = TestDirectory::new();
    let done = |command: &mut Command| {
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
    };
    done(&mut ran(&place, "ranread", "setup", &["--size", "16MiB"]));
    if globals != "0" {
        let globals = ["--globals", globals, "--subscripts", "2000"];
        done(&mut ran(&place, "ranwrite", "create-globals", &globals));
    }
    place
}

/// Whichever it is: how fast this machine is decides.
fn judged(output: &Output, document: &Value) {
    let fitness = document["verdict"]["fitness"].as_str().unwrap();
    let code = match fitness {
        "fit" => 0,
        "marginal" => 3,
        "unfit" => 4,
        other => panic!("{other}"),
    };
    assert_eq!(output.status.code(), Some(code), "{}", stderr(output));
}

fn jobs(document: &Value, list: &str) -> Vec<u64> {
    let jobs = |each: &Value| each["jobs"].as_u64().or(each["concurrency"].as_u64()).unwrap();
    document[list].as_array().unwrap().iter().map(jobs).collect()
}

#[test]
fn steps_are_repeated_in_another_order_and_reported_as_one() {
    let place = database("0");
    // No rule ends so short a list earlier.
    let arguments = ["--jobs", "1,2,3", "--repeat", "2", "--stop-response", "1h", "--json", "--quiet"];
    let output = sweep(&place, "ranread", &arguments).output().unwrap();
    let document = json(&output);
    judged(&output, &document);
    assert_eq!(document["format"], "iolite-sweep/1");
    let run = jobs(&document, "phases");
    assert_eq!(run, [1, 2, 3, 3, 2, 1], "{}", document["end"]);
    assert_eq!(jobs(&document, "steps"), [1, 2, 3]);
    let steps = document["steps"].as_array().unwrap();
    assert_eq!(steps[0]["phases"], serde_json::json!([0, 5]));
    for step in steps {
        let of_phase = |index: &Value| {
            let phase = &document["phases"][index.as_u64().unwrap() as usize];
            phase["operations"][0]["operations"].as_u64().unwrap()
        };
        let sum: u64 = step["phases"].as_array().unwrap().iter().map(of_phase).sum();
        assert_eq!(step["operations"][0]["operations"], sum);
        assert!(step["iops"]["low"].as_f64() <= step["iops"]["value"].as_f64());
    }
    let knee = document["knee"]["concurrency"]["value"].as_u64().unwrap();
    assert!((1..=3).contains(&knee));
    assert!([1, 2, 3].contains(&document["judged"]["jobs"].as_u64().unwrap()));
    // All of it is stored: a phase for each, and a row for each job of each.
    assert_eq!(place.ask::<i64>("SELECT count(*) FROM phase"), 6);
    assert_eq!(place.ask::<i64>("SELECT count(*) FROM RanRead"), 12);
}

#[test]
fn jobs_that_write_are_no_more_than_globals() {
    let place = database("3");
    let arguments = ["--hang", "0s", "--closer", "0", "--json", "--stop-response", "1h"];
    let output = sweep(&place, "ranwrite", &arguments).output().unwrap();
    let document = json(&output);
    judged(&output, &document);
    assert_eq!(jobs(&document, "phases"), [1, 3]);
    assert_eq!((&document["end"]["end"], &document["end"]["globals"]), (&"globals".into(), &3.into()));
    let kinds: Vec<_> =
        document["steps"][0]["operations"].as_array().unwrap().iter().map(|of| &of["kind"]).collect();
    assert_eq!(kinds, ["write", "commit"]);
    let whats: Vec<_> = document["verdict"]["reasons"]
        .as_array()
        .unwrap()
        .iter()
        .map(|of| of["what"].as_str().unwrap())
        .collect();
    assert!(
        whats.iter().any(|what| what.starts_with("sets"))
            && whats.iter().any(|what| what.starts_with("commits"))
    );
    let output = sweep(&place, "ranwrite", &["--jobs", "1,4"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("add-globals --globals 4"), "{}", stderr(&output));
}

#[test]
fn an_unreachable_target_and_a_strict_ceiling_are_unfit() {
    let place = database("2");
    let arguments = ["--jobs", "2", "--ceiling", "1us", "--average", "1us", "--read-percent", "50"];
    let output = sweep(&place, "ranio", &arguments).output().unwrap();
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    assert_eq!(output.status.code(), Some(4), "{text}{}", stderr(&output));
    assert!(text.contains("VERDICT: unfit for RanIO, mean 1.00 µs, max 1.00 µs"), "{text}");
    assert!(
        text.contains("knee  none") && text.contains("end   all numbers of jobs in the list were run"),
        "{text}"
    );
    for label in ["all ", "reads ", "sets ", "commits "] {
        assert!(text.lines().any(|line| line.starts_with(label)), "{label}: {text}");
    }
    // What a target that nobody reaches says: at a step alone there is no plateau, so it stays open.
    let arguments = ["--jobs", "1", "--target-iops", "900000000", "--json"];
    let document = json(&sweep(&place, "ranread", &arguments).output().unwrap());
    assert_eq!(document["verdict"]["reasons"][0]["what"], "rate");
    assert_eq!(document["verdict"]["reasons"][0]["fitness"], "marginal");
}

#[test]
fn wrong_input_is_refused_before_anything_is_run() {
    let place = database("0");
    for (arguments, part) in [
        (&["--jobs", "4,1"][..], "specify ascending numbers"),
        (&["--jobs", "0"], "0 is not in 1"),
        (&["--jobs", "1,8", "--max-jobs", "4"], "--max-jobs"),
        (&["--step", "0s"], "--step"),
        (&["--ceiling", "1ms"], "ceiling"),
        (&["--min-growth", "100"], "between 0 and 100"),
        (&["--repeat", "0"], "--repeat"),
        (&["--hang", "1ms"], "--hang"),
    ] {
        let output = ran(&place, "ranread", "sweep", arguments)
            .arg("--results")
            .arg(place.results())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(part), "{arguments:?}: {}", stderr(&output));
    }
    let output = sweep(&place, "ranwrite", &[]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("globals"), "{}", stderr(&output));
    assert!(!place.results().exists());
}

#[test]
fn an_interrupted_sweep_keeps_its_steps() {
    let place = database("0");
    let arguments = ["--jobs", "1,2", "--step", "100s", "--json"];
    let mut command = ran(&place, "ranread", "sweep", &arguments);
    command.arg("--results").arg(place.results()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    place.wait_for_intervals(&mut child, 2);
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    let document = json(&output);
    assert_eq!((&document["end"]["end"], &document["verdict"]), (&"interrupted".into(), &Value::Null));
    assert!(document["phases"][0]["operations"][0]["operations"].as_u64().unwrap() > 0);
    assert_eq!(place.ask::<String>("SELECT ending FROM run"), "interrupted");
}

#[test]
fn help_has_examples() {
    let place = TestDirectory::new();
    let mut command = Command::new(IOLITE);
    let output = command.args(["ranread", "sweep", "--help"]).current_dir(place.data()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && text.contains("ranread sweep --db sqlite:/data/ran"), "{text}");
    for default in ["[default: 30s]", "[default: 2ms]", "[default: 5ms]", "[default: 10]"] {
        assert!(text.contains(default), "{default}: {text}");
    }
}

/// Most bytes of memory that a run of RanRead has used, by the kernel's count (VmHWM), which is there as long as the process is.
fn peak(place: &TestDirectory, db: &str, jobs: u32) -> f64 {
    let mut command = Command::new(IOLITE);
    command.args(["ranread", "run", "--db", db, "--runtime", "2s", "--quiet", "--jobs", &jobs.to_string()]);
    command.arg("--results").arg(place.results()).stdin(Stdio::null());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let (status, mut peak) = (format!("/proc/{}/status", child.id()), 0.0_f64);
    while child.try_wait().unwrap().is_none() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok());
        peak = peak.max(line.unwrap_or(0.0) * 1024.0);
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    peak
}

/// The memory of a reading job in MiB that docs/databases.md states for this database: least and most.
fn documented(database: &str) -> (f64, f64) {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/databases.md")).unwrap();
    let table = page.split("**Memory of iolite**").nth(1).unwrap();
    let row = table.lines().find(|line| line.trim().starts_with(&format!("| {database} |"))).unwrap();
    let reading = row.split('|').nth(2).unwrap();
    let figures: Vec<f64> = reading.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    (figures[0], figures[figures.len() - 1])
}

#[test]
fn a_job_takes_the_memory_that_is_documented() {
    let place = TestDirectory::new();
    let sqlite = format!("sqlite:{}", place.data().display());
    let servers: Vec<_> = ["postgres", "mariadb"].into_iter().filter_map(PrivateServer::start).collect();
    let name = |kind: &str| if kind == "postgres" { "PostgreSQL" } else { "MariaDB" };
    let urls = servers.iter().map(|server| (name(server.kind), server.url.clone()));
    for (name, db) in [("SQLite", sqlite)].into_iter().chain(urls) {
        let setup =
            Command::new(IOLITE).args(["ranread", "setup", "--size", "4MiB", "--db", &db]).output().unwrap();
        assert!(setup.status.success(), "{name}: {}", stderr(&setup));
        let (few, many) = (20, 120);
        let each =
            (peak(&place, &db, many) - peak(&place, &db, few)) / f64::from(many - few) / f64::from(1 << 20);
        println!("{name}: {each:.2} MiB per job");
        let (min, max) = documented(name);
        assert!(each < 2.0 * max && each > min / 4.0, "{name}: {each} MiB, {min} to {max} documented");
    }
}
