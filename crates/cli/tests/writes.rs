//! What is written: planned, shown, refused beforehand where it is too much, and held while it runs.

// Helpers of tests may give up as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod common;

use std::fs;
use std::process::{Command, Output, Stdio};

use common::{IOLITE, TestDirectory, json, stderr};
use serde_json::Value;

/// A job that fills a file of 8 MiB, then reads and writes it for a time.
fn job(place: &TestDirectory, processes: bool) -> String {
    let text = format!(
        "[[tasks]]\n[tasks.io]\nname = 'fill'\ntarget.file = {{ name = 'data', size = '8MiB', create = true }}\n\
         backend = 'sync'\nmix = 'write'\naccess = 'sequential'\nblock = '64KiB'\nstop.loops = 1\n\
         [[tasks]]\n[tasks.io]\nname = 'timed'\ntarget.file = {{ name = 'data', size = '8MiB', create = false }}\n\
         backend = 'sync'\nmix = {{ read-percent = 20 }}\nblock = '16KiB'\nworkers = 3\nconcurrency = 3\n\
         placement.processes = {processes}\nstop.runtime = '60s'\n"
    );
    let path = place.root.path().join("job.toml");
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

fn iolite(place: &TestDirectory, arguments: &[&str]) -> Output {
    let mut command = Command::new(IOLITE);
    command.args(arguments).arg("--results").arg(place.results()).current_dir(place.data());
    command.env("NO_COLOR", "1").stdin(Stdio::null()).output().unwrap()
}

/// Bytes written by the phases of a run.
fn written(run: &Value) -> u64 {
    let phases = run["phases"].as_array().unwrap().iter();
    let operations = phases.flat_map(|phase| phase["operations"].as_array().unwrap());
    let writes = operations.filter(|operation| operation["kind"] == "write");
    writes.map(|operation| operation["bytes"].as_u64().unwrap()).sum()
}

#[test]
fn a_plan_beyond_max_write_is_refused_before_anything_is_written() {
    let place = TestDirectory::new();
    let job = job(&place, false);
    let file = place.root.path().join("target");
    fs::write(&file, vec![7; 32 << 20]).unwrap();
    let target = file.to_str().unwrap();
    let before = fs::read(&file).unwrap();
    for command in [
        &["run", &job][..],
        &["ab", &job, &job],
        &["latency-target", &job, "--bound", "1s", "--depth", "4"],
        &["study", "cache", ".", "--make", "16MiB"],
        &["study", "blocksize", ".", "--make", "16MiB", "--write"],
        &["pts", target, "--allow-overwrite", target, "--scale", "0.00001"],
        &["iometer", "patterns", ".", "--size", "16MiB"],
        &["classic", "dd", ".", "--size", "16MiB"],
    ] {
        let output = iolite(&place, &[command, &["--max-write", "1MiB"]].concat());
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{command:?}: {text}");
        assert!(text.contains("more than --max-write 1 MiB"), "{command:?}: {text}");
        assert_eq!(fs::read_dir(place.data()).unwrap().count(), 0, "{command:?}");
    }
    assert!(before == fs::read(&file).unwrap());
}

#[test]
fn the_plan_is_shown_and_stored() {
    let place = TestDirectory::new();
    let output = iolite(&place, &["iometer", "spec", "database", ".", "--size", "8MiB", "--time", "200ms"]);
    let text = stderr(&output);
    assert!(text.contains("iolite: writes 8 MiB, then writes for 200 ms: up to 108 MiB"), "{text}");
    let sql = "SELECT json_extract(json, '$.bytes') FROM conclusion WHERE kind = 'write-plan'";
    let stored = iolite(&place, &["results", "sql", sql]);
    assert!(String::from_utf8_lossy(&stored.stdout).contains("8388608"), "{}", stderr(&stored));
}

#[test]
fn a_run_for_a_time_is_held_to_max_write() {
    for processes in [false, true] {
        let place = TestDirectory::new();
        let job = job(&place, processes);
        let output = iolite(&place, &["run", &job, "--max-write", "12MiB", "--json", "--quiet"]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let run = json(&output);
        let bytes = written(&run);
        // Each of the three workers leaves less than an operation unused.
        assert!(bytes <= 12 << 20 && bytes > (12 << 20) - 3 * (16 << 10), "{bytes}");
        let warnings = run["warnings"].to_string();
        assert!(
            warnings.contains("the rest of `timed`") && warnings.contains("--max-write 12 MiB"),
            "{warnings}"
        );
    }
}

#[test]
fn free_space_is_kept_back() {
    let place = TestDirectory::new();
    let job = job(&place, false);
    let refused = iolite(&place, &["run", &job, "--keep-free", "1000000GiB"]);
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("must remain free") && stderr(&refused).contains("--keep-free"));
    let check = ["check", ".", "--keep-free", "1000000GiB", "--budget-space", "64MiB"];
    let refused = iolite(&place, &check);
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("--keep-free"), "{}", stderr(&refused));
    assert_eq!(fs::read_dir(place.data()).unwrap().count(), 0);
}
