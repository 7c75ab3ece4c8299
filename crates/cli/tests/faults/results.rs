//! A results database that can't be used, from the start or from some moment on.

use std::fs;
use std::process::{Output, Stdio};
use std::time::Duration;

use iolite_model::ErrorCause;

use crate::common::{Mount, TestDirectory, entries, is_root, json, skip, stderr};
use crate::file_system::Faulty;
use crate::fuse::{Call, Fault, Rule};
use crate::{ended_by_itself, injected, nothing_is_lost, run, slow_writes, writes};

#[test]
fn a_database_that_another_program_locks_for_a_while_loses_nothing() {
    let place = TestDirectory::new();
    let mut command = run(&place, &slow_writes("stop.runtime = '3s'"));
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    place.wait_for_intervals(&mut child, 5);
    let other = rusqlite::Connection::open(place.results()).unwrap();
    other.busy_timeout(Duration::from_secs(10)).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    // What is injected is a time: it is no wait for anything.
    std::thread::sleep(Duration::from_secs(1));
    other.execute_batch("ROLLBACK").unwrap();
    injected("locked results", 1);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let printed = json(&output)["phases"][0]["series"].as_array().unwrap().len() as i64;
    nothing_is_lost(&place, printed.min(50));
    assert_eq!(place.ask::<String>("SELECT ending FROM run"), "completed");
}

#[test]
fn results_that_are_damaged_or_read_only_are_an_error_before_anything_is_measured() {
    let place = TestDirectory::new();
    for damage in ["not a database", "one byte", "header", "middle", "read-only"] {
        let _ = fs::remove_file(place.results());
        match damage {
            "not a database" => fs::write(place.results(), vec![b'x'; 8192]).unwrap(),
            "one byte" => fs::write(place.results(), "x").unwrap(),
            "header" | "middle" => {
                assert!(run(&place, &writes("stop.operations = 10")).status().unwrap().success());
                let mut bytes = fs::read(place.results()).unwrap();
                // All pages but the first, which has the header and the schema.
                let damaged = if damage == "header" { 0..16 } else { 4096..bytes.len() };
                bytes[damaged].fill(0x55);
                fs::write(place.results(), bytes).unwrap();
            }
            _ if is_root() => {
                // Permissions do not bind root; a directory in the place does.
                fs::create_dir(place.results()).unwrap();
            }
            _ => {
                fs::write(place.results(), "").unwrap();
                let mut permissions = fs::metadata(place.results()).unwrap().permissions();
                permissions.set_readonly(true);
                fs::set_permissions(place.results(), permissions).unwrap();
            }
        }
        let before = fs::read(place.results()).ok();
        let output = run(&place, &writes("stop.operations = 10")).output().unwrap();
        injected("results that can't be used", 1);
        ended_by_itself(&output);
        assert_eq!(output.status.code(), Some(2), "{damage}: {}", stderr(&output));
        assert!(stderr(&output).contains("results.db"), "{damage}: {}", stderr(&output));
        assert_eq!(fs::read(place.results()).ok(), before, "{damage}: it is left as it was");
        assert_eq!(entries(&place.data()), [""; 0], "{damage}");
        let _ = fs::remove_dir(place.results());
    }
}

/// A run beside whose results `command` is executed on one of their files.
fn beside_results(command: &[&str], suffix: &str) -> (TestDirectory, Output) {
    let place = TestDirectory::new();
    let mut running = run(&place, &slow_writes("stop.runtime = '3s'"));
    let mut child = running.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    place.wait_for_intervals(&mut child, 5);
    let mut file = place.results().into_os_string();
    file.push(suffix);
    let mut other = std::process::Command::new(command[0]);
    assert!(other.args(&command[1..]).arg(file).status().unwrap().success());
    injected("results cut short", 1);
    let output = child.wait_with_output().unwrap();
    ended_by_itself(&output);
    assert_eq!(json(&output)["ending"]["kind"], "completed", "{}", stderr(&output));
    (place, output)
}

#[test]
fn an_index_of_the_results_that_is_cut_short_in_mid_run_loses_nothing() {
    let (place, output) = beside_results(&["truncate", "-s", "0"], "-shm");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let printed = json(&output)["phases"][0]["series"].as_array().unwrap().len() as i64;
    nothing_is_lost(&place, printed.min(50));
    assert_eq!(place.ask::<String>("SELECT ending FROM run"), "completed");
}

#[test]
fn a_log_of_the_results_that_is_cut_short_in_mid_run_is_a_warning_and_damages_nothing() {
    for command in [&["truncate", "-s", "0"][..], &["rm"]] {
        let (place, output) = beside_results(command, "-wal");
        let warnings = json(&output)["warnings"].to_string();
        assert!(warnings.contains("cut short, deleted or replaced while in use"), "{command:?}: {warnings}");
        assert_eq!(place.ask::<String>("PRAGMA integrity_check"), "ok");
    }
}

#[test]
fn results_on_a_full_or_read_only_file_system_do_not_end_a_run() {
    let place = TestDirectory::new();
    let small = place.root.path().join("small");
    let Some(mount) = Mount::new(&["-t", "tmpfs", "-o", "size=4m", "tmpfs"], &small) else { return };
    for fault in ["full", "read-only"] {
        let job = place.root.path().join("job.toml");
        fs::write(&job, slow_writes("stop.runtime = '3s'")).unwrap();
        let results = small.join(format!("{fault}.db"));
        let mut command = std::process::Command::new(crate::common::IOLITE);
        command.arg("run").arg(job).arg("--directory").arg(place.data()).arg("--results").arg(&results);
        command
            .args(["--json", "--quiet"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stored = || {
            let count = || {
                let database = rusqlite::Connection::open(&results)?;
                database.busy_timeout(Duration::from_secs(5))?;
                database.query_row("SELECT count(*) FROM interval", [], |row| row.get::<_, i64>(0))
            };
            if results.exists() { count().unwrap_or_default() } else { 0 }
        };
        let before = loop {
            assert!(child.try_wait().unwrap().is_none(), "{fault}: the run ended too early");
            match stored() {
                0..5 => std::thread::sleep(Duration::from_millis(10)),
                enough => break enough,
            }
        };
        if fault == "full" {
            // Until there is no byte left.
            let _ =
                std::io::copy(&mut std::io::repeat(1), &mut fs::File::create(small.join("filler")).unwrap());
        } else if !remounted(&small, "remount,ro") {
            let _ = child.kill();
            let _ = child.wait();
            return skip("a file system in use is not remounted read-only here").unwrap_or(());
        }
        injected("results on a file system that fails", 1);
        let output = child.wait_with_output().unwrap();
        ended_by_itself(&output);
        assert_eq!(json(&output)["ending"]["kind"], "completed", "{fault}: {}", stderr(&output));
        assert!(stored() >= before, "{fault}: {} of {before}", stored());
        println!("results lost: 0");
        let _ = fs::remove_file(small.join("filler"));
    }
    drop(mount);
}

#[test]
fn results_on_a_file_system_that_is_full_from_the_start_are_an_error_that_says_so() {
    let place = TestDirectory::new();
    let small = place.root.path().join("small");
    let Some(_mount) = Mount::new(&["-t", "tmpfs", "-o", "size=4m", "tmpfs"], &small) else { return };
    let results = small.join("results.db");
    let job = place.root.path().join("job.toml");
    fs::write(&job, writes("stop.operations = 10")).unwrap();
    let command = || {
        let mut command = std::process::Command::new(crate::common::IOLITE);
        command.arg("run").arg(&job).arg("--directory").arg(place.data()).arg("--results").arg(&results);
        command.args(["--json", "--quiet"]).stdin(Stdio::null());
        command
    };
    assert!(command().status().unwrap().success());
    let _ = std::io::copy(&mut std::io::repeat(1), &mut fs::File::create(small.join("filler")).unwrap());
    let output = command().output().unwrap();
    injected("results that can't be used", 1);
    ended_by_itself(&output);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    produced(ErrorCause::ResultsFull, &output);
}

/// Checks that the remedy of a cause is named. docs/errors.md lists each call as the test of that cause.
fn produced(cause: ErrorCause, output: &Output) {
    let text = stderr(output);
    assert!(text.contains(cause.remedy()), "{cause:?}: {text}");
}

#[test]
fn results_on_storage_that_fails_are_an_error_with_its_remedy() {
    let Some(faulty) = Faulty::new() else { return };
    let (place, at) = (&faulty.place, faulty.directory());
    faulty.disk.script().set(vec![Rule::new(Call::Write, Fault::Error(5))]);
    let job = place.root.path().join("job.toml");
    fs::write(&job, writes("stop.operations = 10")).unwrap();
    let mut command = std::process::Command::new(crate::common::IOLITE);
    command.arg("run").arg(job).arg("--directory").arg(place.data());
    let output = command.arg("--results").arg(at.join("results.db")).arg("--quiet").output().unwrap();
    injected("results that can't be used", 1);
    ended_by_itself(&output);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    produced(ErrorCause::ResultsStorage, &output);
}

#[test]
fn results_of_another_user_are_an_error_with_its_remedy() {
    if !is_root() {
        return skip("another user's files need root to be created").unwrap_or(());
    }
    let open = |mode| std::os::unix::fs::PermissionsExt::from_mode(mode);
    let directory = tempfile::Builder::new().permissions(open(0o755)).tempdir().unwrap();
    let (program, results) = (directory.path().join("iolite"), directory.path().join("results.db"));
    fs::copy(crate::common::IOLITE, &program).unwrap();
    let place = TestDirectory::new();
    assert!(run(&place, &writes("stop.operations = 10")).status().unwrap().success());
    fs::copy(place.results(), &results).unwrap();
    let job = directory.path().join("job.toml");
    fs::write(&job, writes("stop.operations = 10")).unwrap();
    let mut command = std::process::Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&program).arg("run").arg(job);
    command
        .args(["--directory", "/tmp", "--quiet"])
        .arg("--results")
        .arg(&results)
        .env("HOME", "/nonexistent");
    let output = command.current_dir("/tmp").output().unwrap();
    injected("results that can't be used", 1);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    produced(ErrorCause::ResultsNotWritable, &output);
}

/// Remounts a file system.
#[test]
fn a_directory_that_takes_no_files_is_refused_before_a_plan_is_shown() {
    let place = TestDirectory::new();
    let at = place.root.path().join("mounted");
    let Some(_mount) = Mount::new(&["-t", "tmpfs", "-o", "ro,size=64m", "tmpfs"], &at) else { return };
    let job = place.root.path().join("job.toml");
    fs::write(&job, writes("stop.operations = 10")).unwrap();
    let text = |path: &std::path::Path| path.display().to_string();
    let (at, job, notes) = (text(&at), text(&job), text(&place.root.path().join("notes")));
    for command in [
        &["check", &at, "--keep-free", "0B", "--budget-time", "10s", "--budget-space", "32M"][..],
        &["run", &job, "--directory", &at],
        &["classic", "dd", &at, "--size", "8MiB", "--keep-free", "0B"],
        &["layers", &at, "--size", "64MiB", "--keep-free", "0B"],
        &["study", "cache", &at, "--make", "8MiB"],
        &["durability", "run", &at, "--witness", &notes],
    ] {
        let mut iolite = std::process::Command::new(crate::common::IOLITE);
        iolite.args(command).arg("--results").arg(place.results()).stdin(Stdio::null());
        let output = iolite.output().unwrap();
        injected("file systems that are read-only", 1);
        ended_by_itself(&output);
        let text = stderr(&output) + &String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{command:?}: {text}");
        assert!(text.contains(ErrorCause::ReadOnly.remedy()), "{command:?}: {text}");
        assert!(!text.contains("writes") && text.trim().lines().count() == 1, "{command:?}: {text}");
    }
}

pub(crate) fn remounted(at: &std::path::Path, options: &str) -> bool {
    let mut command = std::process::Command::new("mount");
    command.args(["-o", options]).arg(at).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
