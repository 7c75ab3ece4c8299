//! `iolite run`, `iolite latency-target` and `iolite verify` as their users meet them: the real program on real storage.

// Helpers of tests may give up as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod common;
#[path = "run/measured.rs"]
mod measured;

use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::*;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// A task that lays out a file named `data`.
fn lay_out(size: &str) -> String {
    format!(
        "[[tasks]]\n[tasks.io]\nname = 'lay out'\ntarget.file = {{ name = 'data', size = '{size}', create = true }}\n\
         backend = 'sync'\nmix = 'write'\naccess = 'sequential'\nblock = '1MiB'\ndirect = true\nstop.loops = 1\n"
    )
}

/// A task on the file that was laid out.
fn on_data(size: &str, rest: &str) -> String {
    format!(
        "[[tasks]]\n[tasks.io]\nname = 'measured'\ntarget.file = {{ name = 'data', size = '{size}', create = false }}\n\
         {rest}\n"
    )
}

fn job(place: &TestDirectory, text: &str) -> PathBuf {
    let path = place.root.path().join("job.toml");
    fs::write(&path, text).unwrap();
    path
}

fn command(place: &TestDirectory, verb: &str, job: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(IOLITE);
    command.arg(verb).arg(job).arg("--directory").arg(place.data()).arg("--results").arg(place.results());
    command.args(arguments).env("NO_COLOR", "1").stdin(Stdio::null());
    command
}

/// Runs a job to its end and returns the document.
fn run(place: &TestDirectory, text: &str) -> Value {
    let output = command(place, "run", &job(place, text), &["--json", "--quiet"]).output().unwrap();
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}{}",
        stderr(&output),
        String::from_utf8_lossy(&output.stdout)
    );
    json(&output)
}

fn measured_phase(document: &Value) -> &Value {
    phases(document, "measured")[0]
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn operation<'a>(phase: &'a Value, kind: &str) -> &'a Value {
    let operations = phase["operations"].as_array().unwrap();
    operations
        .iter()
        .find(|operation| operation["kind"] == kind)
        .unwrap_or_else(|| panic!("no {kind}: {phase}"))
}

#[test]
fn a_worker_process_that_dies_is_reported_and_what_the_others_did_is_kept() {
    let place = TestDirectory::new();
    let rest = "backend = 'sync'\nplacement.processes = true\nworkers = 3\nconcurrency = 3\nstop.runtime = '1h'\ninterval = \
     '50ms'";
    let text = lay_out("16MiB") + &on_data("16MiB", rest);
    let mut run = command(&place, "run", &job(&place, &text), &["--json", "--quiet"]);
    let child = run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    let count = "SELECT count(*) FROM interval WHERE phase = 1";
    while !place.results().exists() || try_ask(&place, count) < 5 {
        assert!(Instant::now() < deadline, "no intervals were stored");
        std::thread::sleep(Duration::from_millis(20));
    }
    let victim = children_of(child.id())[1];
    kill_process(Pid::from_raw(victim).unwrap(), Signal::KILL).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let document = json(&output);
    assert!(document["ending"].to_string().contains("has died"), "{}", document["ending"]);
    assert!(number(&operation(measured_phase(&document), "read")["operations"]) > 0.0);
    assert_eq!(entries(&place.data()), [""; 0], "test files were left behind");
}

fn try_ask(place: &TestDirectory, sql: &str) -> i64 {
    let ask = || rusqlite::Connection::open(place.results())?.query_row(sql, [], |row| row.get(0));
    ask().unwrap_or(0)
}

fn children_of(process: u32) -> Vec<i32> {
    let text = fs::read_to_string(format!("/proc/{process}/task/{process}/children")).unwrap();
    text.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

#[test]
fn ctrl_c_ends_the_making_of_directories_too() {
    let place = TestDirectory::new();
    let text = "[[tasks]]\n[tasks.metadata]\nname = 'many'\nfiles = 100000000\nfiles_per_directory = 1\n";
    let mut run = command(&place, "run", &job(&place, text), &["--json", "--quiet"]);
    let child = run.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    let made =
        || entries(&place.data()).first().is_some_and(|name| place.data().join(name).join("tree").exists());
    while !made() {
        assert!(Instant::now() < deadline, "no directory was made");
        std::thread::sleep(Duration::from_millis(10));
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert_eq!(json(&output)["ending"]["kind"], "interrupted");
    assert_eq!(entries(&place.data()), [""; 0], "test files were left behind");
}

#[test]
fn a_rate_that_is_not_kept_and_data_that_is_wrong_have_exit_codes_of_their_own() {
    let place = TestDirectory::new();
    let rest = "backend = 'sync'\narrival.constant = 50000000\nstop.runtime = '500ms'\ninterval = '100ms'";
    let text = lay_out("16MiB") + &on_data("16MiB", rest);
    let output = command(&place, "run", &job(&place, &text), &["--quiet"]).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(3), "{printed}");
    assert!(printed.contains("NOT REACHED"), "{printed}");
}

#[test]
fn what_was_written_is_verified_later_and_damage_is_found() {
    let place = TestDirectory::new();
    let (file, state) = (place.data().join("mine"), place.root.path().join("state"));
    fs::File::create(&file).unwrap().set_len(16 << 20).unwrap();
    let text = format!(
        "[[tasks]]\n[tasks.io]\nname = 'measured'\ntarget.existing = {{ path = '{}', overwrite = 'blank' }}\n\
         backend.io-uring = {{}}\nmix = 'write'\naccess = 'covering'\nregions = 'slices'\nworkers = 2\nconcurrency = 16\n\
         stop.loops = 1\nverify = {{ check = 'sha256', state = '{}' }}",
        file.display(),
        state.display()
    );
    run(&place, &text);
    let verify = || {
        let mut command = Command::new(IOLITE);
        command.arg("verify").arg(&state).args(["--json", "--results"]).arg(place.results());
        command.output().unwrap()
    };
    let output = verify();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(json(&output)["verified"]["units"], 4096);
    let mut damaged = fs::OpenOptions::new().write(true).open(&file).unwrap();
    std::io::Seek::seek(&mut damaged, std::io::SeekFrom::Start(123 * 4096 + 1000)).unwrap();
    damaged.write_all(b"oops").unwrap();
    drop(damaged);
    let output = verify();
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    let document = json(&output);
    assert_eq!(document["verified"]["wrong"], 1, "{document}");
    assert_eq!(document["verified"]["first"][0]["offset"], 123 * 4096);
    // A second run on it is refused: it is no longer blank.
    let output =
        command(&place, "run", &job(&place, &text.replace("state'", "state2'")), &[]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("not blank"));
}

#[test]
fn devices_are_measured_raw_but_never_while_in_use() {
    let place = TestDirectory::new();
    let Some(device) = Loop::new(&place, 64 << 20) else { return };
    let task = |mix: &str, overwrite: &str| {
        format!(
            "[[tasks]]\n[tasks.io]\nname = 'measured'\ntarget.existing = {{ path = '{}', overwrite = '{overwrite}' }}\n\
             backend.io-uring = {{}}\ndirect = true\nmix = {mix}\nconcurrency = 8\nstop.operations = 2000\n",
            device.0
        )
    };
    // Written and trimmed while blank, both in one job: the second task's target is no longer blank, but ours.
    let document = run(&place, &(task("'write'", "blank") + &task("'trim'", "blank")));
    assert_eq!(document["run"]["storage"]["filesystem"]["kind"], "block device");
    let trims = phases(&document, "measured")[1];
    assert_eq!(operation(trims, "trim")["errors"], 0);
    let mount_point = place.root.path().join("mounted");
    let made = Command::new("mkfs.ext4").args(["-q", "-F", &device.0]).status();
    if !made.is_ok_and(|status| status.success()) {
        return skip("mkfs.ext4 is not to be had").unwrap_or(());
    }
    let refused = |overwrite: &str| {
        let path = job(&place, &task("'write'", overwrite));
        let output = command(&place, "run", &path, &[]).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(refused("blank").contains("not blank"));
    let Some(mount) = Mount::new(&[&device.0], &mount_point) else { return };
    let said = refused("anything");
    assert!(said.contains("mounted") && said.contains("free it"), "{said}");
    // The file that the device rests on is in use, too.
    let behind =
        task("'write'", "anything").replace(&device.0, place.root.path().join("loop").to_str().unwrap());
    let output = command(&place, "run", &job(&place, &behind), &[]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    // Where its lines are wrapped depends on how long the path is.
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(output.status.code() == Some(1) && words.contains("rests on it"), "{said}");
    run(&place, &task("'read'", "never"));
    drop(mount);
}

/// A device that takes what it is given and then has no room for it: only the page cache has the data.
#[test]
fn what_never_reached_the_device_is_not_verified_from_memory() {
    let place = TestDirectory::new();
    let small = place.root.path().join("small");
    let Some(_mount) = Mount::new(&["-t", "tmpfs", "-o", "size=8m", "tmpfs"], &small) else { return };
    let file = small.join("image");
    fs::File::create(&file).unwrap().set_len(32 << 20).unwrap();
    let Some(device) = Loop::over(&file, false) else { return };
    let text = format!(
        "[[tasks]]\n[tasks.io]\nname = 'measured'\ntarget.existing = {{ path = '{}', overwrite = 'anything' }}\n\
         backend = 'sync'\nmix = 'write'\naccess = 'sequential'\nblock = '64KiB'\nstop.loops = 1\n\
         verify = {{ check = 'xxh3', after = true }}\n",
        device.0
    );
    let output = command(&place, "run", &job(&place, &text), &["--json", "--quiet"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let document = json(&output);
    assert!(
        document["ending"].to_string().contains("could not be written to the device"),
        "{}",
        document["ending"]
    );
    assert_eq!(operation(measured_phase(&document), "write")["operations"], 512, "what was measured is kept");
}

#[test]
fn two_runs_on_one_file_do_not_take_each_others_data_for_damage() {
    let place = TestDirectory::new();
    let file = place.data().join("mine");
    let held = fs::File::create(&file).unwrap();
    held.set_len(1 << 20).unwrap();
    let text = format!(
        "[[tasks]]\n[tasks.io]\nname = 'measured'\ntarget.existing = {{ path = '{}', overwrite = 'anything' }}\n\
         backend = 'sync'\nmix = 'write'\nstop.operations = 10\n",
        file.display()
    );
    held.lock().unwrap();
    let output = command(&place, "run", &job(&place, &text), &[]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("end that first"));
    drop(held);
    run(&place, &text);
    // Two of one job that would do so are refused before anything is done.
    let both = text.replace("mix =", "verify = { check = 'crc32c', after = true }\nmix =")
        + &text.replace("name =", "start.together = true\nname =");
    let output = command(&place, "run", &job(&place, &both), &[]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("report as damage"));
}

#[test]
fn metadata_operations_run_beside_io() {
    let place = TestDirectory::new();
    let metadata = |operation: &str, rest: &str| {
        format!(
            "[[tasks]]\n[tasks.metadata]\nname = '{operation}'\noperation = '{operation}'\nfiles = 500\nworkers = 2\n{rest}\n"
        )
    };
    let text = metadata("create", "size = '4KiB'")
        + &metadata("stat", "random = true\nstop.loops = 2")
        + &metadata("unlink", "")
        + "[[tasks]]\n[tasks.io]\nname = 'beside'\nstart.together = true\nstop.runtime = '300ms'\n";
    let document = run(&place, &text);
    for (name, kind, count) in
        [("create", "create", 1000), ("stat", "stat", 2000), ("unlink", "unlink", 1000)]
    {
        let phase = phases(&document, name)[0];
        assert_eq!(operation(phase, kind)["operations"], count, "{name}");
    }
    assert!(number(&operation(phases(&document, "beside")[0], "read")["operations"]) > 1000.0);
    assert_eq!(entries(&place.data()), [""; 0], "test files were left behind");
}

#[test]
fn jobs_without_sense_are_usage_errors_with_their_place() {
    let place = TestDirectory::new();
    for (text, says) in [
        ("", "no task"),
        ("[[tasks]]\n[tasks.io]\nblok = 1\n", "blok"),
        ("[[tasks]]\n[tasks.io]\nblock = 'eight'\n", "eight"),
        ("nonsense", "line 1"),
    ] {
        let output = command(&place, "run", &job(&place, text), &[]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{text:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(says), "{text:?}: {}", stderr(&output));
    }
    let missing = command(&place, "run", Path::new("/nowhere/job.toml"), &[]).output().unwrap();
    assert_eq!(missing.status.code(), Some(2));
    // Every task is looked at before the first one does anything.
    let late = lay_out("16MiB") + "[[tasks]]\n[tasks.io]\nworkers = 0\n";
    let output = command(&place, "run", &job(&place, &late), &[]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("at least one worker"));
    assert_eq!(entries(&place.data()), [""; 0]);
}

#[test]
fn a_full_disk_is_an_error_of_its_class_and_ends_the_job_where_asked() {
    let place = TestDirectory::new();
    let small = place.root.path().join("small");
    let Some(_mount) = Mount::new(&["-t", "tmpfs", "-o", "size=8m", "tmpfs"], &small) else { return };
    let text = "[[tasks]]\n[tasks.io]\nname = 'measured'\ntarget.file = { name = 'data', size = '64MiB', create = true }\n\
                backend = 'sync'\nmix = 'write'\naccess = 'sequential'\nstop.loops = 1\nerrors.stop = []\n";
    for (stop, code) in [("[]", 3), ("['space']", 1)] {
        let text = text.replace("errors.stop = []", &format!("errors.stop = {stop}"));
        let path = job(&place, &text);
        let mut run = Command::new(IOLITE);
        run.arg("run").arg(&path).arg("--directory").arg(&small).arg("--results").arg(place.results());
        let output = run.args(["--json", "--quiet"]).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        let document = json(&output);
        let errors = &measured_phase(&document)["errors"];
        assert_eq!(errors[0]["class"], "space", "{errors}");
        assert!(number(&errors[0]["first_offsets"][0]) > 6e6, "{errors}");
    }
}

/// fio makes the files that its jobs name, and reports about the storage that they are on.
#[test]
fn a_job_file_of_fios_makes_its_files_where_it_says() {
    let place = TestDirectory::new();
    let there = place.root.path().join("there");
    fs::create_dir(&there).unwrap();
    for (jobs, files) in [(1, 1), (2, 3)] {
        let text = format!(
            "[x]\ndirectory={}\nsize=64k\nrw=randread\nioengine=psync\nnumjobs={jobs}\nnrfiles={files}\n",
            there.display()
        );
        let document = run(&place, &text);
        assert_eq!(document["phases"].as_array().unwrap().len(), jobs);
        let recorded = document.pointer("/run/storage/directory").expect("the storage is recorded");
        assert_eq!(recorded, there.canonicalize().unwrap().to_str().unwrap());
        assert_eq!(fs::read_dir(&there).unwrap().count(), jobs * files, "files of fio's jobs stay");
        fs::remove_dir_all(&there).unwrap();
        fs::create_dir(&there).unwrap();
    }
}

/// The names of the limits of the host that a run on a file in the page cache has met.
fn limits_met(load: &str) -> Vec<String> {
    let place = TestDirectory::new();
    let load = format!("backend = 'sync'\ndirect = false\nblock = '4KiB'\nstop.runtime = '2s'\n{load}");
    let document = run(&place, &format!("{}{}", lay_out("1MiB"), on_data("1MiB", &load)));
    let warnings = document["warnings"].as_array().unwrap();
    let limited = warnings.iter().filter(|warning| warning["kind"] == "generator-limited");
    limited.map(ToString::to_string).collect()
}

/// Reads from the page cache are work of the CPU; on a loaded host the thread waits for it.
#[test]
fn a_worker_that_saturates_its_cpu_is_warned_about() {
    let met = limits_met("");
    assert!(!met.is_empty(), "a thread that never waits for storage has met no limit");
}

#[test]
fn a_worker_that_sleeps_is_not_said_to_use_its_cpu() {
    let met = limits_met("arrival.constant = 100");
    assert!(!met.iter().any(|warning| warning.contains("of a CPU")), "{met:?}");
}
