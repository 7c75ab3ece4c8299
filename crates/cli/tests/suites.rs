//! The classic suites: `iolite classic`, `iolite pts`, `iolite iometer`.

// Helpers of tests may give up as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod common;
#[path = "suites/iometer.rs"]
mod iometer;
#[path = "suites/pts_ended.rs"]
mod pts_ended;
#[path = "suites/rehearsal.rs"]
mod rehearsal;
#[path = "suites/widths.rs"]
mod widths;

use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::process::{Command, Output, Stdio};

use common::*;
use rustix::process::{Pid, Signal, kill_process};

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
    assert_eq!(html.contains("+++++"), fields.contains(&"+++++"), "{line}: {html}");
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
    assert!(stderr(&output).contains("IOzone, which needs two blocks"), "{}", stderr(&output));
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
    let name = device.0.clone();
    let name = name.as_str();
    let asked = ["pts", name, "--allow-overwrite", name];
    let rehearsal = ["--scale", "0.0001", "--max-rounds", "5", "--threads", "1", "--depth", "2", "--json"];
    // Of the demand tests two by two combinations instead of seven by seven.
    let asked = [&asked[..], &rehearsal[..], &["--demand", "1,4"]].concat();
    // In the rounds of two tests, and among the bursts of host idle recovery.
    let first = killed_during(&place, &asked, "iops, round 1: 35 %%");
    let resumed = [&asked[..], &["--resume", "latest"]].concat();
    let second = killed_during(&place, &resumed, "throughput of 8 KiB: purge%");
    let before = killed_during(&place, &resumed, "host-idle-recovery, bursts after waits of 10 s%");
    assert!(first > 1 && second > first && before > second, "{first}, {second}, then {before}");
    let output = suite(&place, &resumed);
    let document = json(&output);
    assert_eq!(document["rehearsal"].as_bool(), Some(true));
    // Whether so short rounds are steady is chance; that the drive could recover in the middle is not, and the exit code says it.
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let warnings = document["warnings"].to_string();
    assert!(warnings.contains("host-idle-recovery without a pause"), "{warnings}");
    // Of the memory beneath the device each of the three runs has warned: it is said once.
    assert_eq!(warnings.matches("keeps its data in memory").count(), 1, "{warnings}");
    let names: Vec<&str> =
        document["phases"].as_array().unwrap().iter().map(|phase| phase["name"].as_str().unwrap()).collect();
    // What was done before the kill is there once, and nothing of it was done again.
    let unique: std::collections::BTreeSet<_> = names.iter().collect();
    assert_eq!(unique.len(), names.len(), "{names:?}");
    assert!(before > 1 && names.len() as i64 > before, "{before} of {names:?}");
    assert_eq!(names[..2], ["iops: purge", "iops: precondition"]);
    all_sections_are_complete(&document);
    timeline_does_not_overlap(&document);
    assert_eq!(document["resumed_from"]["phases"].as_i64(), Some(before));
    let text = String::from_utf8(suite_results(&place, &["show", "latest"]).stdout).unwrap();
    for part in [
        "REHEARSAL",
        "latency (rehearsal)",
        "phases are from that run",
        "bursts after waits of 50 s",
        "sequential writes after",
        "max IOPS",
        "RESULT: ",
        "±",
        "cache: ",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let again = suite(&place, &resumed);
    let said = stderr(&again);
    assert!(said.contains("there is nothing to resume") && again.status.code() == Some(2), "{said}");
    another_device_is_not_resumed(&place, &memory, device, &asked);
}

/// Runs the tests until this phase has been begun, and kills them. Returns the number of phases of the latest run that had ended.
fn killed_during(place: &TestDirectory, asked: &[&str], phase: &str) -> i64 {
    let mut command = Command::new(IOLITE);
    command.args(asked).arg("--results").arg(place.results()).arg("--quiet");
    let mut child = Killed(command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap());
    place.wait_for_phase(&mut child.0, phase);
    // Stopped: otherwise it would go on measuring while it is asked for.
    kill_process(Pid::from_child(&child.0), Signal::STOP).unwrap();
    if !asked.contains(&"--resume") {
        a_run_that_is_measuring_is_not_resumed(place, asked);
    }
    child.0.kill().unwrap();
    child.0.wait().unwrap();
    let of_latest = "(SELECT run FROM phase ORDER BY rowid DESC LIMIT 1)";
    place.ask(&format!("SELECT count(*) FROM phase WHERE ending IS NOT NULL AND run = {of_latest}"))
}

fn a_run_that_is_measuring_is_not_resumed(place: &TestDirectory, asked: &[&str]) {
    let output = suite(place, &[asked, &["--resume", "latest"]].concat());
    let said = stderr(&output);
    assert!(said.contains("is still measuring") && output.status.code() == Some(2), "{said}");
    assert!(said.contains("on another host, say so by `iolite results end"), "{said}");
}

/// Every test of a drive that is not a hard disk, with what it consists of.
fn all_sections_are_complete(document: &serde_json::Value) {
    let sections = document["sections"].as_array().unwrap();
    let named = |name: &str| sections.iter().find(|section| section["name"] == name).unwrap();
    let count = |section: &serde_json::Value, list: &str| section[list].as_array().unwrap().len();
    // IOPS, latency, five block sizes of the throughput test, write saturation, two of recovery, composite, two of demand.
    assert_eq!(sections.len(), 13);
    for section in sections {
        assert!(section["purged"].as_bool().unwrap(), "{section}");
        match section["name"].as_str().unwrap() {
            "write-saturation" => assert!(count(section, "rounds") > 0, "{section}"),
            "cross-stimulus-recovery" => assert_eq!(count(section, "rounds"), 0, "{section}"),
            _ => assert!(count(section, "rounds") == 5 && section["window"].is_object(), "{section}"),
        }
    }
    let recovery = named("host-idle-recovery");
    assert_eq!(count(recovery, "stages"), 10);
    assert!(recovery["paused"].as_bool().unwrap() && !named("iops")["paused"].as_bool().unwrap());
    // The timeline is without the time between two runs.
    let longest = longest_gap(document);
    let first_again = document["resumed_from"]["phases"].as_u64().unwrap() as usize;
    let first_again = document["phases"][first_again]["name"].as_str().unwrap();
    for stage in recovery["stages"].as_array().unwrap().iter().step_by(2) {
        // What the drive was given to recover is as long as asked for, and a little longer.
        let wait = stage["wait_ns"].as_u64().unwrap();
        // The time between two runs is none of it.
        let idle = stage["idle_ns"].as_u64();
        let is_bounded = |idle| wait <= idle && idle <= longest;
        // Of two steps in two runs there is none.
        let is_split = first_again == format!("host-idle-recovery, {}, 2", stage["name"].as_str().unwrap());
        assert!(idle.map_or(is_split, is_bounded), "{stage}, continued with {first_again}");
        // On a busy host a stage of this scale may end without an operation.
        let has_no_figure = document["warnings"].to_string().contains("no operation completed");
        assert!(stage["value"].as_f64().map_or(has_no_figure, |value| value > 0.0), "{stage}");
    }
    assert_eq!(count(named("cross-stimulus-recovery"), "stages"), 3);
    for name in ["demand-variation", "demand-intensity"] {
        assert_eq!((count(named(name), "cells"), count(named(name), "operating_points")), (4, 3));
        assert_eq!(count(&named(name)["preconditioning"], "rounds"), 5);
        let max = &named(name)["operating_points"][0];
        assert!(max["p50_ns"].as_u64() <= max["max_ns"].as_u64(), "{max}");
    }
}

/// The longest time from the end of a phase to the end of the next, in nanoseconds.
fn longest_gap(document: &serde_json::Value) -> u64 {
    let phases = document["phases"].as_array().unwrap();
    let ends = phases.iter().map(|phase| {
        phase["started_ns"].as_u64().unwrap() + (phase["measured_seconds"].as_f64().unwrap() * 1e9) as u64
    });
    let ends: Vec<u64> = ends.collect();
    ends.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap()
}

/// Each phase begins when the one before has ended.
fn timeline_does_not_overlap(document: &serde_json::Value) {
    let mut end = 0.0;
    for phase in document["phases"].as_array().unwrap() {
        let start = phase["started_ns"].as_f64().unwrap() / 1e9;
        assert!(start >= end - 1e-9, "{} begins at {start}, the one before ends at {end}", phase["name"]);
        end = start + phase["measured_seconds"].as_f64().unwrap();
    }
}

/// The same path with another device behind it.
fn another_device_is_not_resumed(
    place: &TestDirectory,
    memory: &tempfile::TempDir,
    device: Loop,
    asked: &[&str],
) {
    let image = memory.path().join("other");
    std::fs::File::create(&image).unwrap().set_len(48 << 20).unwrap();
    let name = device.0.clone();
    drop(device);
    let taken = Command::new("losetup").arg(&name).arg(&image).status();
    if !taken.is_ok_and(|status| status.success()) {
        let _: Option<()> = skip("the loop device was taken by another program");
        return;
    }
    let _device = Loop(name);
    let output = suite(place, &[asked, &["--active-range", "32MiB", "--resume", "latest"]].concat());
    assert_eq!(output.status.code(), Some(2));
    let error = stderr(&output);
    assert!(
        error.contains("measured another device") && error.contains("(32 MiB), this one is 48 MiB"),
        "{error}"
    );
}

/// fio computes the same line through the rounds of a window, by itself.
#[test]
fn the_line_through_a_window_is_the_one_that_fio_finds() {
    let mut command = Command::new("fio");
    command
        .args("--name=x --ioengine=null --rw=randread --bs=4k --size=1T --time_based --runtime=7".split(' '));
    command.args("--rate_iops=400 --rate_process=poisson --ss=iops_slope:0.00001% --ss_dur=5s".split(' '));
    let Ok(output) = command.args(["--output-format=json", "--eta=never"]).output() else {
        let _: Option<()> = skip("no fio: install fio");
        return;
    };
    let found = json(&output)["jobs"][0]["steadystate"].clone();
    let Some(values) = found["data"]["iops"].as_array() else {
        let _: Option<()> = skip("this fio reports no steady state");
        return;
    };
    let values: Vec<f64> = values.iter().map(|value| value.as_f64().unwrap()).collect();
    assert_eq!(values.len(), 5, "{found}");
    let figures: Vec<Option<f64>> = values.iter().copied().map(Some).collect();
    let window = iolite_results::PtsWindow::of(&figures, 5).unwrap().criteria.unwrap();
    let (slope, mean) = (found["slope"].as_f64().unwrap(), found["data"]["iops_mean"].as_f64().unwrap());
    assert!(
        values.iter().any(|value| *value != values[0]) && slope != 0.0,
        "rates at random differ: {found}"
    );
    // fio's mean is a whole number.
    assert!(window.mean - mean >= 0.0 && window.mean - mean < 1.0, "{window:?}, {found}");
    assert!(((window.line.1 - window.line.0) / 4.0 - slope).abs() < 1e-6, "{window:?}, {found}");
    // The rise over the window is four times fio's criterion, the slope in percent of the mean.
    let criterion = found["criterion"].as_str().unwrap().trim_end_matches('%').parse::<f64>().unwrap().abs();
    assert!((window.rise - 4.0 * criterion).abs() < 0.01 * window.rise, "{window:?}, {found}");
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
    let output = suite(&place, &["pts", path, "--active-range", "1MiB", "--allow-overwrite", path]);
    assert!(stderr(&output).contains("too small"), "{}", stderr(&output));
    assert!(std::fs::read(&file).unwrap().iter().all(|&byte| byte == 7));
    // A file of holes that has no space to be filled.
    let sparse = place.data().join("sparse");
    std::fs::File::create(&sparse).unwrap().set_len(8 << 40).unwrap();
    let path = sparse.to_str().unwrap();
    // Even if no space is to be left.
    let output = suite(&place, &["pts", path, "--allow-overwrite", path, "--keep-free", "0"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("is sparse: writing it takes 8 TiB"), "{}", stderr(&output));
    assert!(std::fs::metadata(&sparse).unwrap().blocks() * 512 < 1 << 20);
}

#[test]
fn a_class_is_a_range_and_what_cannot_be_switched_is_named() {
    let place = TestDirectory::new();
    let Some(device) = Loop::new(&place, 64 << 20) else { return };
    let name = device.0.as_str();
    let asked = [
        "pts",
        name,
        "--allow-overwrite",
        name,
        "--scale",
        "0.0001",
        "--tests",
        "composite",
        "--max-rounds",
        "5",
    ];
    let run = |more: &[&str]| suite(&place, &[&asked[..], more].concat());
    let output = run(&["--class", "client", "--json"]);
    let document = json(&output);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", stderr(&output));
    let terms = &document["terms"];
    assert_eq!((terms["class"].as_str(), terms["span"].as_u64()), (Some("client"), Some(48 << 20)));
    assert_eq!(
        (terms["capacity"].as_u64(), &document["write_cache"]),
        (Some(64 << 20), &serde_json::Value::Null)
    );
    // All of the device is purged, not only the active range.
    let purge = document["phases"][0]["task"].to_string();
    assert!(purge.contains("composite: purge") && purge.contains(&(64 << 20).to_string()), "{purge}");
    let warnings = document["warnings"].to_string();
    assert!(
        warnings.contains("write cache of the class") && warnings.contains("only the kernel's view"),
        "{warnings}"
    );
    // What was asked for by itself is refused, before anything is written.
    for (more, part) in [
        (["--write-cache", "off"], "only the kernel's view of it"),
        (["--active-range", "0%"], "specify a whole percentage"),
        (["--active-range", "101%"], "specify a whole percentage"),
        (["--active-range", "1GiB"], "--active-range 1 GiB is larger than the target (64 MiB)"),
        (["--demand", "0"], "0 is not in 1..=256"),
        (["--demand", "1,2"], "--demand: none of the selected tests uses it"),
        (["--zones", "5"], "--zones: none of the selected tests uses it"),
    ] {
        let output = run(&more);
        assert_eq!(output.status.code(), Some(2), "{more:?}");
        assert!(stderr(&output).contains(part), "{more:?}: {}", stderr(&output));
    }
    assert_eq!(place.ask::<i64>("SELECT count(*) FROM run"), 1);
    // On a drive with 4 KiB sectors only the larger sizes are left.
    let large = Command::new("losetup").args(["--sector-size", "4096", name]).status();
    if !large.is_ok_and(|status| status.success()) {
        let _: Option<()> = skip("no loop device with blocks of 4 KiB");
        return;
    }
    let document = json(&run(&["--json"]));
    let sizes = document["phases"][2]["task"]["sizes"].to_string();
    assert!(sizes.contains("4096") && !sizes.contains(":512"), "{sizes}");
    assert!(document["sections"][0]["rounds"][4].as_f64().unwrap() > 0.0, "{document}");
}

#[test]
fn a_purge_that_the_device_lacks_ends_the_run_with_the_remedy() {
    let place = TestDirectory::new();
    let Some(device) = Loop::new(&place, 64 << 20) else { return };
    let name = device.0.as_str();
    let asked = ["pts", name, "--allow-overwrite", name, "--scale", "0.0001", "--tests", "composite"];
    let output = suite(&place, &[&asked[..], &["--purge", "secure-discard"]].concat());
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let error = stderr(&output);
    assert!(error.contains("by secure-discard; specify another --purge"), "{error}");
    // What would erase the drive beneath is refused before anything starts.
    let runs = place.ask::<i64>("SELECT count(*) FROM run");
    for purge in ["format", "sanitize"] {
        let output = suite(&place, &[&asked[..], &["--purge", purge]].concat());
        assert_eq!(output.status.code(), Some(2), "{purge}: {}", stderr(&output));
        let error = stderr(&output);
        assert!(error.contains("specify the drive itself instead of a partition or volume"), "{error}");
    }
    assert_eq!(place.ask::<i64>("SELECT count(*) FROM run"), runs);
    let output = suite(&place, &[&asked[..], &["--purge", "none", "--max-rounds", "5", "--json"]].concat());
    let document = json(&output);
    assert_eq!(document["sections"][0]["purged"].as_bool(), Some(false));
    assert!(document["warnings"].to_string().contains("erase it with its own command"), "{document}");
    let file = place.data().join("data");
    std::fs::write(&file, vec![7u8; 20 << 20]).unwrap();
    let path = file.to_str().unwrap();
    let output = suite(&place, &["pts", path, "--allow-overwrite", path, "--purge", "format"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("is a command of a device"), "{}", stderr(&output));
}

#[test]
fn a_hard_disk_is_measured_by_zones() {
    let place = TestDirectory::new();
    let file = place.data().join("data");
    std::fs::write(&file, vec![7u8; 52 << 20]).unwrap();
    let path = file.to_str().unwrap();
    let asked = ["pts", path, "--allow-overwrite", path, "--class", "hard-disk", "--scale", "0.0001"];
    let output = suite(&place, &[&asked[..], &["--json"]].concat());
    let document = json(&output);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let sections = document["sections"].as_array().unwrap();
    assert_eq!((sections.len(), document["phases"].as_array().unwrap().len()), (2, 3 * 9 + 3 * 4));
    let zones = &sections[1]["zones"];
    assert_eq!(
        (zones[2]["name"].as_str(), zones[2]["offset_bytes"].as_u64()),
        (Some("inner"), Some(34 << 20))
    );
    let text = String::from_utf8(suite_results(&place, &["show", "latest"]).stdout).unwrap();
    assert!(text.contains("middle") && !text.contains("erase it with its own command"), "{text}");
    assert!(text.contains("; not purged") && !text.contains("purged by"), "{text}");
    let output = suite(&place, &[&asked[..], &["--zones", "9"]].concat());
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("specify fewer --zones"), "{}", stderr(&output));
}

#[test]
fn the_budget_has_preconditioning_purge_and_endurance() {
    let place = TestDirectory::new();
    let file = place.data().join("data");
    std::fs::write(&file, vec![7u8; 20 << 20]).unwrap();
    let path = file.to_str().unwrap();
    let whole = stderr(&suite(&place, &["pts", path, "--tests", "write-saturation"]));
    assert!(whole.contains("writes up to 80 MiB") && whole.contains("including purging"), "{whole}");
    assert!(whole.contains("endurance"), "{whole}");
    let rehearsal = stderr(&suite(&place, &["pts", path, "--tests", "write-saturation", "--scale", "0.1"]));
    assert!(rehearsal.contains("writes up to 8 MiB"), "{rehearsal}");
}

#[test]
fn a_mounted_device_is_not_tested() {
    let place = TestDirectory::new();
    let Some(device) = Loop::new(&place, 64 << 20) else { return };
    let made = Command::new("mkfs.ext4").args(["-q", "-F", &device.0]).status();
    if !made.is_ok_and(|status| status.success()) {
        let _: Option<()> = skip("no mkfs.ext4");
        return;
    }
    let at = place.root.path().join("mounted");
    let Some(_mount) = Mount::new(&[&device.0], &at) else { return };
    std::fs::write(at.join("precious"), "data").unwrap();
    let output = suite(&place, &["pts", &device.0, "--allow-overwrite", &device.0]);
    assert_eq!(output.status.code(), Some(2));
    let error = stderr(&output);
    assert!(
        error.contains("is in use (loop")
            && error.contains("is mounted at")
            && error.contains("another device"),
        "{error}"
    );
    assert_eq!(std::fs::read_to_string(at.join("precious")).unwrap(), "data");
}
