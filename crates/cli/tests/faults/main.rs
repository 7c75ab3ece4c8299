//! Faults, injected one by one: what the program reports, what it leaves, and that no stored result is lost.

// Helpers of tests may give up as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]

mod causes;
#[path = "../common/mod.rs"]
mod common;
mod databases;
mod file_system;
mod fio;
#[path = "../../../durability/tests/fuse/mod.rs"]
mod fuse;
mod host;
mod interrupted;
mod results;
mod servers;
mod suites;
mod verify;

use std::fs;
use std::process::{Command, Output, Stdio};

use common::{IOLITE, TestDirectory};

/// Writes to a file of the run's own, until what `stop` says.
fn writes(stop: &str) -> String {
    format!(
        "[[tasks]]\n[tasks.io]\nname = 'measured'\ntarget.file = {{ name = 'data', size = '4MiB', create = true }}\n\
         backend = 'sync'\nmix = 'write'\ninterval = '50ms'\n{stop}\n"
    )
}

/// The same at a rate that leaves the CPUs to other tests.
fn slow_writes(stop: &str) -> String {
    writes(&format!("arrival.constant = 1000\n{stop}"))
}

/// Counts what was injected, for the totals in docs/safety.md (`make faults`).
fn injected(fault: &str, times: u64) {
    println!("injected: {times} {fault}");
}

/// `iolite run` of a job in the directory of the test.
fn run(place: &TestDirectory, text: &str) -> Command {
    let job = place.root.path().join("job.toml");
    fs::write(&job, text).unwrap();
    let mut command = Command::new(IOLITE);
    command.arg("run").arg(job).arg("--directory").arg(place.data()).arg("--results").arg(place.results());
    command.args(["--json", "--quiet"]).env("NO_COLOR", "1").stdin(Stdio::null());
    command
}

/// Whether the program has come to its own end: with one of its exit codes, and without a panic.
fn ended_by_itself(output: &Output) {
    let text = common::stderr(output);
    assert!(matches!(output.status.code(), Some(0..=4 | 130)), "{:?}: {text}", output.status);
    assert!(!text.contains("panicked"), "{text}");
}

/// Whether the results are whole and hold at least so many intervals.
fn nothing_is_lost(place: &TestDirectory, intervals: i64) {
    assert_eq!(place.ask::<String>("PRAGMA integrity_check"), "ok");
    let stored = place.ask::<i64>("SELECT count(*) FROM interval");
    assert!(stored >= intervals, "{stored} of {intervals} intervals are stored");
    println!("results lost: 0");
}
