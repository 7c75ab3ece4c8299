//! The classic suites: `iolite classic`, `iolite pts`, `iolite iometer`.

// Helpers of tests may give up as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod common;

use std::io::Write;
use std::process::{Command, Output, Stdio};

use common::*;

fn suite(place: &TestDirectory, arguments: &[&str]) -> Output {
    let mut command = Command::new(IOLITE);
    command.args(arguments).arg("--results").arg(place.results()).arg("--quiet");
    command.env("NO_COLOR", "1").env("COLUMNS", "120").stdin(Stdio::null());
    command.output().unwrap()
}

#[test]
fn the_three_tests_run_to_their_end_and_are_shown_again_as_they_were_printed() {
    let place = TestDirectory::new();
    let data = place.data();
    let small = ["--size", "8MiB", "--files", "200", "--processes", "2", "--concurrency", "2"];
    let output = suite(&place, &[&["classic", "all", data.to_str().unwrap()], &small[..]].concat());
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(matches!(output.status.code(), Some(0 | 3 | 4)), "{text}{}", stderr(&output));
    for part in
        ["dd, blocks of 8 KiB", "rewrite", "random delete", "Parent sees throughput for  2 stride readers"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(text.contains("\"  Initial write \"") && text.contains("VERDICT: "), "{text}");
    // Everything that was made is gone.
    assert_eq!(entries(&data), Vec::<String>::new());
    let run: String = place.ask("SELECT id FROM run");
    let again = suite_results(&place, &["show", &run]);
    assert_eq!(String::from_utf8(again.stdout).unwrap(), text);
    csv_is_accepted(&text);
}

fn suite_results(place: &TestDirectory, arguments: &[&str]) -> Output {
    let mut command = Command::new(IOLITE);
    command.arg("results").args(arguments).arg("--results").arg(place.results());
    command.env("NO_COLOR", "1").env("COLUMNS", "120").stdin(Stdio::null());
    command.output().unwrap()
}

/// Bonnie++'s own converter reads the line, and finds each figure where it belongs.
fn csv_is_accepted(text: &str) {
    let line = text.lines().find(|line| line.starts_with("1.98,")).unwrap();
    assert_eq!(line.split(',').count(), 50, "{line}");
    let converter = Command::new("bon_csv2html").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let Ok(mut converter) = converter else {
        let _: Option<()> = skip("no bon_csv2html: install bonnie++");
        return;
    };
    let mut input = converter.stdin.take().unwrap();
    writeln!(input, "{line}").unwrap();
    drop(input);
    let output = converter.wait_with_output().unwrap();
    let html = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", stderr(&output));
    let fields: Vec<&str> = line.split(',').collect();
    // Rates too short to mean anything are shown as such; latencies always are what they are.
    for field in [fields[2], fields[5], fields[39], fields[49]] {
        assert!(html.contains(field), "{field}: {html}");
    }
}

#[test]
fn sizes_beyond_the_space_are_refused_before_anything_is_written() {
    let place = TestDirectory::new();
    let data = place.data();
    let output = suite(&place, &["classic", "dd", data.to_str().unwrap(), "--size", "900TiB"]);
    assert_eq!(output.status.code(), Some(2));
    let error = stderr(&output);
    assert!(error.contains("free: specify a smaller --size"), "{error}");
    assert_eq!(entries(&data), Vec::<String>::new());
    let output = suite(&place, &["classic", "iozone", data.to_str().unwrap(), "--size", "8KiB"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("specify at least"), "{}", stderr(&output));
}

/// A loop device over memory, small enough to be written in no time.
fn small_device(memory: &tempfile::TempDir) -> Option<Loop> {
    let image = memory.path().join("image");
    std::fs::File::create(&image).unwrap().set_len(32 << 20).unwrap();
    Loop::over(&image, false)
}

#[test]
fn a_rehearsal_of_the_specification_that_is_killed_goes_on_where_it_was() {
    if !is_root() {
        let _: Option<()> = skip("a loop device needs root");
        return;
    }
    let place = TestDirectory::new();
    let Ok(memory) = tempfile::tempdir_in("/dev/shm") else {
        let _: Option<()> = skip("no /dev/shm");
        return;
    };
    let Some(device) = small_device(&memory) else { return };
    let name = device.0.as_str();
    let asked = ["pts", name, "--allow-overwrite", name, "--tests", "latency,write-saturation"];
    let rehearsal = ["--scale", "0.0001", "--max-rounds", "5", "--threads", "1", "--depth", "2", "--json"];
    let asked = [&asked[..], &rehearsal[..]].concat();
    let mut command = Command::new(IOLITE);
    command.args(&asked).arg("--results").arg(place.results()).arg("--quiet");
    let mut child = Killed(command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap());
    // Ten cells of a tenth of a second each, and the preconditioning.
    place.wait_for_intervals(&mut child.0, 100);
    child.0.kill().unwrap();
    child.0.wait().unwrap();
    let before: i64 = place.ask("SELECT count(*) FROM phase WHERE ending IS NOT NULL");
    let output = suite(&place, &[&asked[..], &["--resume", "latest"]].concat());
    let document = json(&output);
    assert_eq!((output.status.code(), document["rehearsal"].as_bool()), (Some(0), Some(true)));
    let names: Vec<&str> =
        document["phases"].as_array().unwrap().iter().map(|phase| phase["name"].as_str().unwrap()).collect();
    // What was done before the kill is there once, and nothing of it was done again.
    let unique: std::collections::BTreeSet<_> = names.iter().collect();
    assert_eq!(unique.len(), names.len(), "{names:?}");
    assert!(before > 1 && names.len() as i64 > before, "{before} of {names:?}");
    assert_eq!(names[..2], ["latency: purge", "latency: precondition"]);
    let sections = document["sections"].as_array().unwrap();
    assert_eq!(sections[0]["rounds"].as_array().unwrap().len(), 5);
    assert!(!sections[1]["rounds"].as_array().unwrap().is_empty(), "{:?}", sections[1]);
    let text = String::from_utf8(suite_results(&place, &["show", "latest"]).stdout).unwrap();
    assert!(text.contains("REHEARSAL") && text.contains("latency (rehearsal)"), "{text}");
}

/// A child that does not outlive its test.
struct Killed(std::process::Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn nothing_is_overwritten_that_was_not_named_twice_or_is_too_small() {
    let place = TestDirectory::new();
    let file = place.data().join("data");
    std::fs::write(&file, vec![7u8; 20 << 20]).unwrap();
    let path = file.to_str().unwrap();
    let output = suite(&place, &["pts", path]);
    assert_eq!(output.status.code(), Some(2));
    let error = stderr(&output);
    assert!(error.contains("is overwritten") && error.contains("--allow-overwrite"), "{error}");
    let output = suite(&place, &["pts", path, "--allow-overwrite", "/dev/null"]);
    assert!(stderr(&output).contains("differs from the target"), "{}", stderr(&output));
    let output = suite(&place, &["pts", path, "--size", "1MiB", "--allow-overwrite", path]);
    assert!(stderr(&output).contains("too small"), "{}", stderr(&output));
    assert!(std::fs::read(&file).unwrap().iter().all(|&byte| byte == 7));
}

#[test]
fn seven_patterns_are_run_and_their_best_compared_with_their_worst() {
    let place = TestDirectory::new();
    let data = place.data();
    let asked =
        ["iometer", "patterns", data.to_str().unwrap(), "--size", "8MiB", "--time", "100ms", "--json"];
    let output = suite(&place, &asked);
    let document = json(&output);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(document["points"].as_array().unwrap().len(), 7);
    assert!(document["ratios"]["operations"].as_f64().unwrap() >= 1.0);
    assert_eq!(document["csv"].as_str().unwrap().lines().count(), 4 + 7);
    let text = String::from_utf8(suite_results(&place, &["show", "latest"]).stdout).unwrap();
    assert!(text.contains("IO/s: best / worst = "), "{text}");
    assert_eq!(entries(&data), Vec::<String>::new());
}

#[test]
fn configuration_files_are_run_and_network_workers_refused_by_name() {
    let place = TestDirectory::new();
    let data = place.data();
    let printed = suite_plain(&["iometer", "print"]);
    let manager = "'Manager ID, manager name\n\t1,HOST\n'Worker\n\tWorker 1\n'Worker type\n\tDISK\n\
                   'Assigned access specs\n\tFile Server\n'End assigned access specs\n'End worker\n'End manager\n";
    let file = place.root.path().join("test.icf");
    std::fs::write(&file, format!("{printed}{manager}")).unwrap();
    let asked = ["iometer", "run", file.to_str().unwrap(), data.to_str().unwrap()];
    let asked = [&asked[..], &["--size", "8MiB", "--time", "100ms", "--json"]].concat();
    let document = json(&suite(&place, &asked));
    assert_eq!(document["points"][0]["name"], "File Server");
    std::fs::write(&file, format!("{printed}{manager}").replace("\tDISK", "\tNETWORK,TCP")).unwrap();
    let output = suite(&place, &asked);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("`Worker 1` is of type NETWORK,TCP"), "{}", stderr(&output));
}

fn suite_plain(arguments: &[&str]) -> String {
    String::from_utf8(Command::new(IOLITE).args(arguments).output().unwrap().stdout).unwrap()
}
