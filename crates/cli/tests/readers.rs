//! Commands that only read results: whatever the file is, they say what is wrong and leave it as it was.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use common::{IOLITE, Mount, TestDirectory, entries, stderr};

/// All commands that read a results database.
const READERS: &[&[&str]] = &[
    &["results", "list"],
    &["results", "show"],
    &["results", "json"],
    &["results", "compare", "latest~1", "latest"],
    &["results", "ratio", "latest"],
    &["results", "export", "latest", "--format", "csv"],
    &["results", "sql", "SELECT count(*) FROM run"],
    &["report", "latest", "-o", "-"],
    &["plot", "latest", "-o", "-"],
    &["serve", "--listen", "0"],
];

/// What would write, and must not into a file that is no results database.
const WRITERS: &[&[&str]] = &[
    &["results", "note", "latest", "text"],
    &["results", "tag", "latest", "tag"],
    &["results", "delete", "latest"],
    &["results", "gc"],
];

fn command(arguments: &[&str], file: &Path) -> Command {
    let mut command = Command::new(IOLITE);
    command.args(arguments).arg("--results").arg(file).stdin(Stdio::null()).env("NO_COLOR", "1");
    command
}

fn content(file: &Path) -> Vec<u8> {
    fs::read(file).unwrap()
}

/// Two short runs, in one file: nothing of them is left in a log beside it.
fn measured(place: &TestDirectory) {
    let job = place.root.path().join("job.toml");
    let text = "[[tasks]]\n[tasks.io]\nmix = 'write'\nbackend = 'sync'\nstop.runtime = '500ms'\ninterval = '50ms'\n\
                target.file = { name = 'data', size = '1MiB', create = true }\n";
    fs::write(&job, text).unwrap();
    let (job, data) = (job.display().to_string(), place.data().display().to_string());
    for _ in 0..2 {
        let output =
            command(&["run", &job, "--quiet", "--directory", &data], &place.results()).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
    }
    let database = rusqlite::Connection::open(place.results()).unwrap();
    database.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
}

/// A copy of the results, changed.
fn copy(place: &TestDirectory, name: &str, change: impl FnOnce(&Path)) -> PathBuf {
    let file = place.root.path().join(name);
    fs::copy(place.results(), &file).unwrap();
    change(&file);
    file
}

fn pragma(file: &Path, name: &str, value: i64) {
    rusqlite::Connection::open(file).unwrap().pragma_update(None, name, value).unwrap();
}

fn refused(output: &Output, says: &str, what: &str) {
    let error = stderr(output);
    assert!(matches!(output.status.code(), Some(1 | 2)), "{what}: {:?} {error}", output.status);
    assert!(error.contains(says) && !error.contains("panicked"), "{what}: {error}");
}

#[test]
fn files_that_are_no_results_are_refused_and_left_alone() {
    let place = TestDirectory::new();
    measured(&place);
    let version: i64 = place.ask("PRAGMA user_version");
    let files = [
        (copy(&place, "empty.db", |file| fs::write(file, "").unwrap()), "is empty"),
        (
            copy(&place, "text.db", |file| fs::write(file, "no database ".repeat(400)).unwrap()),
            "is not a database",
        ),
        (copy(&place, "newer.db", |file| pragma(file, "user_version", version + 1)), "a newer version"),
        (copy(&place, "older.db", |file| pragma(file, "user_version", version - 1)), "an earlier version"),
        (copy(&place, "foreign.db", |file| pragma(file, "application_id", 7)), "another program"),
        (
            copy(&place, "cut.db", |file| {
                let whole = fs::read(file).unwrap();
                fs::write(file, &whole[..whole.len() / 3]).unwrap();
            }),
            "damaged",
        ),
    ];
    for (file, says) in &files {
        let before = content(file);
        for arguments in READERS.iter().chain(WRITERS) {
            let output = command(arguments, file).output().unwrap();
            refused(&output, says, &format!("{arguments:?} {}", file.display()));
            assert!(content(file) == before, "{arguments:?} changed {}", file.display());
        }
    }
    let missing = place.root.path().join("missing.db");
    for arguments in READERS.iter().chain(WRITERS) {
        refused(&command(arguments, &missing).output().unwrap(), "does not exist", &format!("{arguments:?}"));
    }
    assert!(!missing.exists());
}

#[test]
fn results_that_may_only_be_read_are_read() {
    let place = TestDirectory::new();
    measured(&place);
    let at = place.root.path().join("read only, 100%?");
    let Some(_mount) = Mount::new(&["-t", "tmpfs", "tmpfs"], &at) else { return };
    let file = at.join("results.db");
    fs::copy(place.results(), &file).unwrap();
    let remounted = Command::new("mount").args(["-o", "remount,ro"]).arg(&at).status().unwrap();
    assert!(remounted.success());
    let before = content(&file);
    for arguments in READERS.iter().filter(|arguments| arguments[0] != "serve") {
        let output = command(arguments, &file).output().unwrap();
        assert!(output.status.success() && !output.stdout.is_empty(), "{arguments:?}: {}", stderr(&output));
    }
    for arguments in WRITERS {
        refused(&command(arguments, &file).output().unwrap(), "read-only", &format!("{arguments:?}"));
    }
    assert!(content(&file) == before);
    assert_eq!(entries(&at), ["results.db"]);
}

#[test]
fn results_that_another_program_has_locked_are_named_as_such() {
    let place = TestDirectory::new();
    measured(&place);
    let before = content(&place.results());
    let other = rusqlite::Connection::open(place.results()).unwrap();
    other.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE").unwrap();
    // Together: each of them waits for the lock.
    let file = place.results();
    let waiting: Vec<_> = READERS
        .iter()
        .map(|arguments| {
            let child = command(arguments, &file).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
            (arguments, child.unwrap())
        })
        .collect();
    for (arguments, child) in waiting {
        refused(
            &child.wait_with_output().unwrap(),
            "another program has locked it",
            &format!("{arguments:?}"),
        );
    }
    drop(other);
    assert!(content(&file) == before);
}
