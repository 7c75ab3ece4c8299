//! What commands write inside databases: planned, shown, refused beforehand where it is too much, and held while they run.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]

mod common;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Output, Stdio};
use std::time::Instant;

use common::{IOLITE, TestDirectory, json, private, stderr};

/// The program on the SQLite database of this place.
fn iolite(place: &TestDirectory, arguments: &[&str], measures: bool) -> Output {
    let mut command = Command::new(IOLITE);
    command.args(arguments).env("IOLITE_DB", format!("sqlite:{}", place.data().display()));
    if measures {
        command.arg("--results").arg(place.results());
    }
    command.env("NO_COLOR", "1").stdin(Stdio::null()).output().unwrap()
}

fn done(place: &TestDirectory, arguments: &[&str]) -> String {
    let output = iolite(place, arguments, false);
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    stderr(&output)
}

#[test]
fn a_plan_beyond_the_limits_is_refused_before_anything_is_written() {
    let place = TestDirectory::new();
    let (too_much, too_full) = ("more than --max-write 1 MiB", "must remain free");
    for (limit, why) in [(["--max-write", "1MiB"], too_much), (["--keep-free", "1000000GiB"], too_full)] {
        for command in [
            &["ranread", "setup", "--size", "64MiB"][..],
            &["tproc-c", "build", "--warehouses", "1", "--reduction", "10"],
        ] {
            let output = iolite(&place, &[command, &limit].concat(), false);
            assert_eq!(output.status.code(), Some(2), "{command:?}: {}", stderr(&output));
            assert!(stderr(&output).contains(why), "{command:?}: {}", stderr(&output));
            assert_eq!(fs::read_dir(place.data()).unwrap().count(), 0, "{command:?}");
        }
    }
    let shown = done(&place, &["ranread", "setup", "--size", "16MiB", "--block-size", "64KiB"]);
    assert!(shown.contains("iolite: writes up to 16 MiB"), "{shown}");
    for verb in ["create-globals", "add-globals"] {
        let arguments = ["ranwrite", verb, "--globals", "2", "--subscripts", "50000", "--max-write", "1MiB"];
        let output = iolite(&place, &arguments, false);
        assert_eq!(output.status.code(), Some(2), "{verb}: {}", stderr(&output));
        assert!(stderr(&output).contains(too_much), "{}", stderr(&output));
    }
    done(&place, &["ranwrite", "create-globals", "--globals", "2", "--subscripts", "2000"]);
    let sets = ["ranwrite", "run", "--iterations", "1000", "--max-write", "1MiB"];
    let output = iolite(&place, &sets, true);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("would write 31.2 MiB, more than --max-write 1 MiB"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_run_in_a_database_is_held_to_max_write() {
    let place = TestDirectory::new();
    done(&place, &["ranread", "setup", "--size", "4MiB", "--quiet"]);
    done(&place, &["ranwrite", "create-globals", "--globals", "2", "--subscripts", "20000", "--quiet"]);
    let began = Instant::now();
    let run = ["ranwrite", "run", "--jobs", "2", "--hang", "0s", "--runtime", "600s", "--max-write", "30MiB"];
    let output = iolite(&place, &[&run[..], &["--json", "--quiet"]].concat(), true);
    let counted = place.ask::<i64>("SELECT count(*) FROM sqlite_master WHERE name = 'conclusion'");
    assert_eq!((output.status.code(), counted), (Some(0), 1), "{}", stderr(&output));
    let document = json(&output);
    let warnings = document["warnings"].to_string();
    if warnings.contains("counters of the block devices") {
        println!("skipped in part: {warnings}");
    }
    assert!(warnings.contains("the rest of `RanWrite`") && warnings.contains("--max-write"), "{warnings}");
    assert!(began.elapsed().as_secs() < 500, "it was ended by the limit");
    let plan = "SELECT json_extract(json, '$.max') FROM conclusion WHERE kind = 'write-plan'";
    assert_eq!(place.ask::<i64>(plan), 30 << 20);
    // What reads only is not watched.
    let read = ["ranread", "run", "--runtime", "1s", "--max-write", "1B", "--json", "--quiet"];
    let output = iolite(&place, &read, true);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(!json(&output)["warnings"].to_string().contains("the rest of"));
}

#[test]
fn a_run_in_a_database_is_refused_where_too_little_space_is_left() {
    let place = TestDirectory::new();
    done(&place, &["ranread", "setup", "--size", "4MiB", "--quiet"]);
    done(&place, &["ranwrite", "create-globals", "--subscripts", "2000", "--globals", "1", "--quiet"]);
    let run = ["ranwrite", "run", "--runtime", "600s", "--keep-free", "1000000GiB", "--json", "--quiet"];
    let output = iolite(&place, &run, true);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("where the database's logs grow"), "{}", stderr(&output));
}

#[test]
fn fio_jobs_are_held_to_max_write_and_print_nothing_about_it() {
    let place = TestDirectory::new();
    let fio = |arguments: &[&str]| {
        let mut command = Command::new(IOLITE);
        command.arg("fio").args(arguments).env("IOLITE_RESULTS", place.results()).current_dir(place.data());
        command.env("NO_COLOR", "1").stdin(Stdio::null()).output().unwrap()
    };
    let job = ["--name=w", "--rw=write", "--size=8M", "--bs=64k", "--filename=f"];
    let refused = fio(&[&job[..], &["--max-write=1M"]].concat());
    assert_eq!(refused.status.code(), Some(1), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("more than --max-write 1 MiB"), "{}", stderr(&refused));
    let refused = fio(&[&job[..], &["--keep-free=1000000G"]].concat());
    assert!(stderr(&refused).contains("must remain free"), "{}", stderr(&refused));
    assert_eq!(fs::read_dir(place.data()).unwrap().count(), 0);
    let timed =
        fio(&[&job[..], &["--time_based", "--runtime=600", "--max-write=12M", "--output-format=json"]]
            .concat());
    assert_eq!((timed.status.code(), stderr(&timed).as_str()), (Some(0), ""));
    let bytes = json(&timed)["jobs"][0]["write"]["io_bytes"].as_u64().unwrap();
    assert!(bytes <= 12 << 20 && bytes > 11 << 20, "{bytes}");
    let plain = fio(&job);
    assert_eq!((plain.status.code(), stderr(&plain).as_str()), (Some(0), ""));
    let plan = "SELECT count(*) FROM conclusion WHERE kind = 'write-plan' AND json_extract(json, '$.bytes') = 8388608";
    assert_eq!(place.ask::<i64>(plan), 1);
}

/// A session that has begun to create the schema of iolite: whoever wants to create it waits for its end.
struct Beginning(Child);

impl Beginning {
    fn of(url: &str) -> Beginning {
        let mut command = Command::new("psql");
        command.args([url, "-XAtq"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut session = command.spawn().unwrap();
        let statements = b"BEGIN;\nCREATE SCHEMA iolite;\nSELECT 'begun';\n";
        session.stdin.as_mut().unwrap().write_all(statements).unwrap();
        let mut line = String::new();
        BufReader::new(session.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "begun\n");
        Beginning(session)
    }
}

impl Drop for Beginning {
    fn drop(&mut self) {
        // Its end is the end of its input; nothing was committed.
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// A server that is stopped when the test ends.
struct Stopped<'a>(&'a std::path::Path);

impl Drop for Stopped<'_> {
    fn drop(&mut self) {
        let _ = Command::new(IOLITE).args(["db", "stop", "postgres"]).arg(self.0).output();
    }
}

/// The first line of a warning about the archive; `None` where the program ends without one.
fn archive_warning(child: &mut Child) -> Option<String> {
    let lines = BufReader::new(child.stderr.as_mut().unwrap()).lines();
    lines.map(Result::unwrap).find(|line| line.contains("warning:") && line.contains("archived by"))
}

/// Also where no progress is printed: what fills an archive is no progress.
#[test]
fn where_writes_go_is_said_before_anything_is_written() {
    let directory = tempfile::tempdir().unwrap();
    let Some(url) = private::start("postgres", directory.path()) else { return };
    let db = |verb: &str| {
        let output =
            Command::new(IOLITE).args(["db", verb, "postgres"]).arg(directory.path()).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
    };
    let _stopped = Stopped(directory.path());
    db("stop");
    let settings = directory.path().join("data/postgresql.conf");
    let mut settings = fs::File::options().append(true).open(settings).unwrap();
    settings
        .write_all(b"\narchive_mode = on\narchive_command = 'test -n %p'\nwal_level = replica\n")
        .unwrap();
    db("start");
    let place = TestDirectory::new();
    for arguments in [
        &["ranread", "setup", "--size", "4MiB"][..],
        &["ranread", "setup", "--size", "4MiB", "--quiet"],
        &["tproc-c", "build", "--reduction", "100", "--quiet"],
    ] {
        let beginning = arguments[0].starts_with("ran").then(|| Beginning::of(&url));
        let is_held = beginning.is_some();
        let mut command = Command::new(IOLITE);
        command.args(arguments).env("IOLITE_DB", &url).current_dir(place.data()).stdin(Stdio::null());
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let warning = archive_warning(&mut child);
        let goes_on = child.try_wait().unwrap().is_none();
        drop(beginning);
        // What else it prints is of no interest, and must not keep it.
        let rest =
            BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap).collect::<Vec<_>>();
        assert!(child.wait().unwrap().success(), "{arguments:?}: {rest:?}");
        assert!(warning.is_some(), "{arguments:?}: {rest:?}");
        // It waited for the schema when it had warned.
        assert!(goes_on || !is_held, "{arguments:?}");
        let tool = if arguments[0] == "tproc-c" { "tproc-c" } else { "ranread" };
        let purged = Command::new(IOLITE).args([tool, "purge", "--db", &url]).output().unwrap();
        assert!(purged.status.success(), "{}", stderr(&purged));
    }
}
