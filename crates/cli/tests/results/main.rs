//! `iolite results`: what a command printed when it ended is what is shown of the stored run, for every command; and what is
//! said of runs.

// Helpers of tests may give up as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod commands;
#[path = "../common/mod.rs"]
mod common;
mod drawn;
mod explained;
mod exported;
mod of_others;
mod stored;

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use common::private::PrivateServer;
use common::{IOLITE, Loop, TestDirectory, is_root, skip, stderr};
use serde_json::Value;

fn iolite(place: &TestDirectory, arguments: &[&str]) -> Output {
    let mut command = Command::new(IOLITE);
    command.args(arguments);
    // fio's command line has no option for it, and works in the current directory.
    match arguments.first() {
        Some(&"fio") => command.env("IOLITE_RESULTS", place.results()).current_dir(place.data()),
        _ => command.arg("--results").arg(place.results()),
    };
    // No command needs a directory for temporary files.
    command.env("TMPDIR", place.root.path().join("no-temporary-directory"));
    command.env("NO_COLOR", "1").env("COLUMNS", "110").stdin(Stdio::null()).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Runs a command, and holds what is shown of its run against what it printed, as text and as JSON.
fn shown_as_printed(place: &TestDirectory, arguments: &[&str]) {
    let text_run = iolite(place, arguments);
    let printed = text(&text_run);
    assert!(!printed.is_empty(), "{arguments:?}: {}", stderr(&text_run));
    assert!(!stderr(&text_run).contains("error:"), "{arguments:?}: {}", stderr(&text_run));
    let shown = text(&iolite(place, &["results", "show", "latest"]));
    assert!(is_as_printed(arguments[0], &shown, &printed), "{arguments:?}: {shown}");
    // The document of the same run is a document of the command's own kind.
    let from_store = parsed(&text(&iolite(place, &["results", "json", "latest"])));

    // Every command's run makes a page.
    let page = text(&iolite(place, &["report", "latest", "-o", "-"]));
    let id: String = place.ask("SELECT id FROM run ORDER BY started_unix_ns DESC, id DESC LIMIT 1");
    assert!(
        page.starts_with("<!DOCTYPE html>") && page.contains(&id) && page.ends_with("</html>"),
        "{arguments:?}"
    );

    let as_json = if arguments[0] == "fio" { "--output-format=json" } else { "--json" };
    let json_run = iolite(place, &[arguments, &[as_json]].concat());
    let printed = parsed(&text(&json_run));
    let stored = parsed(&text(&iolite(place, &["results", "json", "latest"])));
    assert_eq!(stored, printed, "{arguments:?}");
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&from_store), keys(&stored), "{arguments:?}");
    explained(place, &json_run.stdout);
}

/// What fio prints does not end with what was sampled during the run, which is shown nevertheless.
fn is_as_printed(command: &str, shown: &str, printed: &str) -> bool {
    // Lines that are printed as they come have no head; what is shown later begins with that of the run.
    if command == "observe" && shown.ends_with(printed) {
        return true;
    }
    let rest = shown.strip_prefix(printed);
    rest.is_some_and(|rest| {
        rest.is_empty() || command == "fio" && rest.trim_start().starts_with("during the run\n")
    })
}

/// A document that was printed is one that `explain` knows.
fn explained(place: &TestDirectory, document: &[u8]) {
    let file = place.root.path().join("document.json");
    fs::write(&file, document).unwrap();
    for all in [&[][..], &["--all"]] {
        let mut command = Command::new(IOLITE);
        let output = command.arg("explain").arg(&file).args(all).stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success() && output.stdout.len() > 100, "{all:?}: {}", stderr(&output));
    }
}

fn job(place: &TestDirectory, name: &str, text: &str) -> String {
    let path = place.root.path().join(name);
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

const READS: &str = "
name = 'some reads'
[[tasks]]
[tasks.io]
name = 'lay out'
target.file = { name = 'data', size = '8MiB', create = true }
backend = 'sync'
mix = 'write'
access = 'sequential'
block = '64KiB'
verify = { check = 'crc32c', after = true }
stop.loops = 1

[[tasks]]
[tasks.io]
name = 'reads'
target.file = { name = 'data', size = '8MiB', create = false }
backend = 'sync'
block = '8KiB'
stop.runtime = '300ms'
interval = '30ms'

[[tasks]]
[tasks.io]
name = 'more reads'
group = 'both'
start.together = true
target.file = { name = 'data', size = '8MiB', create = false }
backend = 'sync'
placement.processes = true
workers = 2
concurrency = 2
block = '4KiB'
stop.runtime = '300ms'
interval = '30ms'

[[tasks]]
[tasks.metadata]
name = 'names'
stop.operations = 100
";

fn data(place: &TestDirectory) -> String {
    place.data().display().to_string()
}

fn path(place: &TestDirectory, name: &str) -> String {
    place.root.path().join(name).display().to_string()
}

/// Runs what has to be done before.
fn done(place: &TestDirectory, arguments: &[&str]) {
    let output = iolite(place, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
}

/// A database with blocks and two globals.
fn blocks(place: &TestDirectory) -> String {
    let db = format!("sqlite:{}", data(place));
    for arguments in [
        &["ranread", "setup", "--db", &db, "--size", "8MiB"][..],
        &["ranwrite", "create-globals", "--db", &db, "--globals", "2", "--subscripts", "1000"],
    ] {
        let output = Command::new(IOLITE).args(arguments).stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    }
    db
}
