//! `iolite durability`, as a user runs it: killed in the middle, and with a witness elsewhere.

// Helpers of tests may give up as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]

mod common;
#[path = "durability/witnesses.rs"]
mod witnesses;

use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use common::{IOLITE, stderr};

/// A child that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn durability(results: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(IOLITE);
    command.arg("durability").args(arguments).env("XDG_DATA_HOME", results).stdin(Stdio::null());
    command
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Waits until the notes hold acknowledgments.
fn until_acknowledged(notes: &Path, child: &mut Running) {
    let deadline = Instant::now() + Duration::from_secs(60);
    let acknowledged = || std::fs::read_to_string(notes).unwrap_or_default().matches("\nack ").count();
    while acknowledged() < 50 {
        assert!(
            Instant::now() < deadline && child.0.try_wait().unwrap().is_none(),
            "nothing is acknowledged"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_run_that_is_killed_has_kept_its_promises_until_somebody_breaks_them() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    std::fs::create_dir(path("data")).unwrap();
    for method in ["append", "overwrite", "dsync", "rename"] {
        let notes = path(method);
        let data = path("data");
        let run = ["run", &data, "--witness", &notes, "--same-file-system", "--method", method, "--quiet"];
        let mut child = Running(durability(directory.path(), &run).spawn().unwrap());
        until_acknowledged(Path::new(&notes), &mut child);
        drop(child);
        let checked = durability(directory.path(), &["check", &notes]).output().unwrap();
        assert_eq!(checked.status.code(), Some(0), "{method}: {}{}", stdout(&checked), stderr(&checked));
        assert!(stdout(&checked).starts_with("OK: none of "), "{}", stdout(&checked));
        let shown =
            Command::new(IOLITE).args(["results", "show"]).env("XDG_DATA_HOME", directory.path()).output();
        assert_eq!(stdout(&shown.unwrap()), stdout(&checked));
    }
    // Somebody breaks the first promise of each writer: on a busy machine one of them may not have been given any yet.
    let own = std::fs::read_dir(path("data")).unwrap().map(|entry| entry.unwrap().path());
    let files = own.filter(|path| path.is_dir()).flat_map(|own| std::fs::read_dir(own).unwrap());
    for file in files.map(|entry| entry.unwrap().path()) {
        if file.is_file() && file.file_name().unwrap().to_string_lossy().starts_with("worker-") {
            std::fs::File::options().write(true).open(file).unwrap().write_all_at(&[0; 4096], 0).unwrap();
        }
    }
    let checked = durability(directory.path(), &["check", &path("append"), "--json"]).output().unwrap();
    assert_eq!(checked.status.code(), Some(4), "{}", stderr(&checked));
    let document: serde_json::Value = serde_json::from_str(&stdout(&checked)).unwrap();
    assert_eq!(document["durability"]["losses"][0]["kind"], "zeros");
}

#[test]
fn a_witness_elsewhere_takes_notes_of_who_has_its_token() {
    let directory = tempfile::tempdir().unwrap();
    let notes = directory.path().join("notes");
    let data = directory.path().display().to_string();
    let arguments = ["witness", "--listen", "127.0.0.1:0", "--output", notes.to_str().unwrap()];
    let mut command = durability(directory.path(), &arguments);
    let mut child = Running(command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap());
    let mut lines = BufReader::new(child.0.stdout.take().unwrap()).lines();
    let line = lines.find_map(|line| line.ok().filter(|line| line.contains("tcp://"))).unwrap();
    let words: Vec<&str> = line.split_whitespace().collect();
    let after = |word: &str| words[words.iter().position(|other| *other == word).unwrap() + 1];
    let address = after("--witness");
    let stranger = durability(directory.path(), &["run", &data, "--witness", address, "--token", "guessed"]);
    let stranger = { stranger }.output().unwrap();
    assert_eq!(stranger.status.code(), Some(1));
    assert!(stderr(&stranger).contains("does not accept the token"), "{}", stderr(&stranger));
    let run = [
        "run",
        &data,
        "--witness",
        address,
        "--token",
        after("--token"),
        "--max-write",
        "1MiB",
        "--workers",
        "2",
    ];
    let run = durability(directory.path(), &run).output().unwrap();
    assert_eq!(run.status.code(), Some(0), "{}", stderr(&run));
    assert!(child.0.wait().unwrap().success());
    let checked =
        durability(directory.path(), &["check", notes.to_str().unwrap(), "--remove"]).output().unwrap();
    assert_eq!(checked.status.code(), Some(0), "{}", stderr(&checked));
    let text = stdout(&checked);
    assert!(text.contains("none of 256 acknowledged writes") && text.contains("not meaningful"), "{text}");
    let left = std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(!left.into_iter().any(|name| name.to_string_lossy().starts_with("iolite-durability")));
}

#[test]
fn what_can_not_be_done_is_said_before_anything_is_written() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let data = directory.path().display().to_string();
    for (arguments, word) in [
        (vec!["run", &data, "--witness", &path("notes")], "same file system"),
        (vec!["run", &path("nowhere"), "--witness", &path("notes")], "check the path"),
        (vec!["run", &data, "--witness", "tcp://127.0.0.1:1"], "start `iolite durability witness`"),
        (
            vec!["run", &data, "--witness", &path("notes"), "--same-file-system", "--block", "10B"],
            "multiple of 8",
        ),
        (vec!["check", &path("nothing")], "specify the witness's file"),
        (vec!["check", "/etc/passwd"], "not a witness file"),
    ] {
        let output = durability(directory.path(), &arguments).output().unwrap();
        assert!(matches!(output.status.code(), Some(1 | 2)), "{arguments:?}");
        let said = stderr(&output).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(word), "{arguments:?}: {said}");
    }
}

#[test]
fn commits_of_sqlite_survive_kill_9_and_a_lost_one_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let (data, notes) = (directory.path().join("data"), directory.path().join("notes"));
    std::fs::create_dir(&data).unwrap();
    let (db, notes) = (format!("sqlite:{}", data.display()), notes.display().to_string());
    let run = ["run", "--db", &db, "--witness", &notes, "--same-file-system", "--keep-free", "0B", "--quiet"];
    let mut child = Running(durability(directory.path(), &run).spawn().unwrap());
    until_acknowledged(Path::new(&notes), &mut child);
    // SIGKILL, in the middle of commits.
    drop(child);
    let checked = durability(directory.path(), &["check", &notes, "--db", &db]).output().unwrap();
    assert_eq!(checked.status.code(), Some(0), "{}{}", stdout(&checked), stderr(&checked));
    assert!(stdout(&checked).starts_with("OK: none of "), "{}", stdout(&checked));
    let files = std::fs::read_dir(&data).unwrap().map(|entry| entry.unwrap().path());
    let file = files.into_iter().find(|path| path.extension().is_some_and(|end| end == "db")).unwrap();
    let database = rusqlite::Connection::open(&file).unwrap();
    let sql = format!("DELETE FROM {} WHERE number = 2", file.file_stem().unwrap().to_string_lossy());
    let deleted = database.execute(&sql, ()).unwrap();
    drop(database);
    assert!(deleted > 0);
    let checked = durability(directory.path(), &["check", &notes, "--db", &db, "--json"]).output().unwrap();
    assert_eq!(checked.status.code(), Some(4), "{}", stderr(&checked));
    let document: serde_json::Value = serde_json::from_str(&stdout(&checked)).unwrap();
    assert_eq!(document["durability"]["lost"], deleted, "{document}");
}

#[test]
fn what_is_written_is_planned_and_limited() {
    // On the disk of the checkout, whose devices count what is written.
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let data = directory.path().join("data");
    std::fs::create_dir(&data).unwrap();
    let (db, at) = (format!("sqlite:{}", data.display()), data.display().to_string());
    let notes = ["refused", "files", "commits"].map(|name| directory.path().join(name).display().to_string());
    let [refused, files, commits] = &notes;
    for place in [&["--db", &db][..], &[&at]] {
        let limits = ["--keep-free", "1000000GiB", "--duration", "1s", "--same-file-system"];
        let arguments = [&["run"], place, &limits, &["--witness", refused]].concat();
        let output = durability(directory.path(), &arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains("must remain free"), "{}", stderr(&output));
        assert_eq!(std::fs::read_dir(&data).unwrap().count(), 0);
    }
    let shared = ["--same-file-system", "--keep-free", "0B", "--witness"];
    let arguments = [&["run", &at, "--max-write", "64KiB"], &shared[..], &[files]].concat();
    let output = durability(directory.path(), &arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("writes up to 64 KiB"), "{}", stderr(&output));
    assert!(
        stdout(&output).contains("acknowledged") && stdout(&output).contains("fdatasync"),
        "{}",
        stdout(&output)
    );
    let results = |action: &str| {
        let mut command = Command::new(IOLITE);
        stdout(&command.args(["results", action]).env("XDG_DATA_HOME", directory.path()).output().unwrap())
    };
    assert_eq!(results("show"), stdout(&output));
    let stored: serde_json::Value = serde_json::from_str(&results("json")).unwrap();
    assert_eq!(
        (&stored["totals"]["acknowledged"], &stored["plan"]["method"]),
        (&16.into(), &"append".into())
    );
    if iolite_observe::storage(&data).unwrap().leaves().next().is_none() {
        return println!("skipped in part: no device here counts what is written");
    }
    let limits = ["--db", &db, "--max-write", "1MiB", "--duration", "120s"];
    let arguments = [&["run"], &limits[..], &shared, &[commits]].concat();
    let output = durability(directory.path(), &arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(said.contains("writes for 120 s") && said.contains("--max-write 1 MiB"), "{said}");
    let printed = stdout(&output);
    assert!(
        printed.contains("before its time") && printed.contains("--max-write allows no more"),
        "{printed}"
    );
}
