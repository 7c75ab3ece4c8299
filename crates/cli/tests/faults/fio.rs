//! Verification that fails or is interrupted, by `iolite fio` and by the installed fio.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::common::fio::{Program, command_as_fio, empty_directory, fio_is_installed, run_as_fio};
use crate::common::{TestDirectory, stderr};
use crate::fuse::{Cached, Call, Fault, Rule};
use crate::injected;

use super::file_system::Faulty;

/// Of sixteen blocks, the third and the tenth read fail.
fn faults() -> Vec<Rule> {
    vec![Rule::new(Call::Read, Fault::Error(5)).after(2).every(7)]
}

/// Exit code; number of the job's error; errors that it went on after, and the number of the first.
type Report = (Option<i32>, u64, Option<(u64, u64)>);

fn arguments(more: &str) -> Vec<String> {
    let common = "--name=x --filename=data --size=64k --bs=4k --verify=crc32c --output-format=json";
    common.split(' ').chain(more.split_whitespace()).map(str::to_owned).collect()
}

fn run(program: Program, directory: &Path, job: &str) -> Report {
    let output = run_as_fio(program, directory, &arguments(job));
    let text = String::from_utf8_lossy(&output.stdout);
    let document = text.find("{\n").map(|start| serde_json::from_str::<Value>(&text[start..]).unwrap());
    let Some(document) = document else { panic!("{job}: {text}{}", stderr(&output)) };
    let of = |key: &str| document["jobs"][0][key].as_u64();
    (output.status.code(), of("error").unwrap(), of("total_err").zip(of("first_error")))
}

#[test]
fn reads_that_fail_are_errors_of_io_also_where_data_is_verified() {
    let Some(faulty) = Faulty::new() else { return };
    let programs = if fio_is_installed() { &[Program::Ours, Program::Theirs][..] } else { &[Program::Ours] };
    const NOT_COUNTED: Report = (Some(1), 5, None);
    const NOT_GONE_ON: Report = (Some(1), 5, Some((0, 0)));
    const GONE_ON: Report = (Some(0), 5, Some((2, 5)));
    for program in programs {
        // What is read back after the job fails it, whatever it goes on after; fio ends there with the first.
        let at_end =
            |reads| if *program == Program::Ours { (Some(1), 5, Some((reads, 5))) } else { NOT_GONE_ON };
        for (job, reports) in [
            ("--rw=read", [NOT_COUNTED, NOT_GONE_ON, GONE_ON]),
            ("--rw=write", [NOT_COUNTED, NOT_GONE_ON, at_end(2)]),
            ("--rw=write --verify_only=1", [NOT_COUNTED, NOT_GONE_ON, at_end(2)]),
            ("--rw=write --loops=2", [NOT_COUNTED, NOT_GONE_ON, at_end(5)]),
            ("--rw=write --verify_backlog=4 --direct=1", [NOT_COUNTED, NOT_GONE_ON, GONE_ON]),
        ] {
            for (more, expected) in
                ["", "--continue_on_error=verify", "--continue_on_error=io"].iter().zip(reports)
            {
                faulty.disk.script().set(Vec::new());
                run(*program, &faulty.directory(), "--rw=write --do_verify=0");
                faulty.disk.script().set(faults());
                let report = run(*program, &faulty.directory(), &format!("{job} {more}"));
                assert!(faulty.struck(0) > 0);
                assert_eq!(report, expected, "{program:?} {job} {more}");
            }
        }
    }
    injected("reads that fail while data is verified", faulty.struck(0));
}

/// A backlog that is verified while the job writes is one thing; what is left of it at the end fails the job as all that is read there
/// does.
#[test]
fn reads_that_fail_at_the_end_of_a_backlog_fail_the_job() {
    let Some(faulty) = Faulty::new() else { return };
    let programs = if fio_is_installed() { &[Program::Ours, Program::Theirs][..] } else { &[Program::Ours] };
    let job = "--rw=write --verify_backlog=4 --direct=1 --continue_on_error=io";
    for program in programs {
        // Of fourteen blocks, the last two are no full backlog.
        for (size, failing, code) in [("56k", 11, 0), ("56k", 12, 1), ("56k", 13, 1), ("64k", 11, 0)] {
            faulty.disk.script().set(Vec::new());
            run(*program, &faulty.directory(), "--rw=write --do_verify=0");
            let fault = Rule::new(Call::Read, Fault::Error(5)).after(failing).every(1000);
            faulty.disk.script().set(vec![fault]);
            let (found, error, _) = run(*program, &faulty.directory(), &format!("{job} --size={size}"));
            assert_eq!(faulty.struck(0), 1);
            assert_eq!((found, error), (Some(code), 5), "{program:?} {size} {failing}");
        }
    }
    injected("reads that fail while data is verified", faulty.struck(0));
}

/// Ctrl-C amid a backlog: results and state are there, nothing is called wrong, and what the state counts is verified later.
#[test]
fn a_backlog_that_is_interrupted_leaves_a_state_of_what_was_written() {
    let place = TestDirectory::new();
    let directory = empty_directory(&place, "interrupted");
    let job = "--rw=write --size=64m --rate_iops=2000 --verify_state_save=1 --verify_backlog=8 --verify_backlog_batch=3";
    let mut command = command_as_fio(Program::Ours, &directory, &arguments(job));
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let far = |file: File| {
        let mut byte = [0; 2];
        file.read_exact_at(&mut byte, 1 << 20).is_ok() && byte != [0; 2]
    };
    while child.try_wait().unwrap().is_none() && !File::open(directory.join("data")).is_ok_and(far) {
        std::thread::yield_now();
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    injected("signals", 1);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(128), "{}", stderr(&output));
    let [reads, writes] =
        ["read", "write"].map(|kind| document["jobs"][0][kind]["total_ios"].as_u64().unwrap());
    assert_eq!(document["jobs"][0]["error"], 0);
    assert!(writes > 256 && reads < writes && reads + 8 + 3 >= writes, "{reads} of {writes}");
    let load = "--rw=write --size=64m --verify_only=1 --verify_state_load=1";
    let loaded = run_as_fio(Program::Ours, &directory, &arguments(load));
    let document: Value = serde_json::from_slice(&loaded.stdout).unwrap();
    assert_eq!((loaded.status.code(), &document["jobs"][0]["read"]["total_ios"]), (Some(0), &writes.into()));
    // The last block that it counts, and the one after it.
    let file = File::options().write(true).open(directory.join("data")).unwrap();
    for (block, code) in [(writes, Some(0)), (writes - 1, Some(1))] {
        file.write_all_at(b"damaged", block * 4096 + 99).unwrap();
        assert_eq!(
            run_as_fio(Program::Ours, &directory, &arguments(load)).status.code(),
            code,
            "{block} of {writes}"
        );
    }
}

/// A child that does not outlive its test.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn wait_until(what: &str, mut happened: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !happened() {
        assert!(Instant::now() < deadline, "no sign of {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Two jobs with one file: an operation of the first never ends, and the second goes on only where its lock allows that.
#[test]
fn jobs_wait_for_the_lock_of_their_file() {
    for (lock, kind, call, goes_on) in [
        ("exclusive", "write", Call::Write, false),
        ("exclusive", "read", Call::Read, false),
        ("readwrite", "write", Call::Write, false),
        ("readwrite", "read", Call::Read, true),
        ("none", "write", Call::Write, true),
    ] {
        let Some(faulty) = Faulty::new() else { return };
        let once = Rule::new(call, Fault::Hang).every(u64::MAX);
        let counted = || Rule::new(Call::Read, Fault::Delay(Duration::ZERO));
        faulty.disk.script().set(vec![once, counted()]);
        let jobs = format!(
            "--filename=mine --size=64k --bs=4k --invalidate=0 --time_based --runtime=300 --lockfile={lock} --output-format=json \
             --name=first --rw={kind} --name=second --rw=read"
        );
        let jobs: Vec<String> = jobs.split_whitespace().map(str::to_owned).collect();
        let mut command = command_as_fio(Program::Ours, &faulty.directory(), &jobs);
        let mut child = Killed(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        wait_until("the operation that hangs", || faulty.struck(0) == 1);
        let reads = || faulty.struck(1);
        let before = reads();
        if goes_on {
            wait_until("reads beside it", || reads() > before + 100);
        } else {
            wait_until("an end of the reads beside it", || {
                let before = reads();
                std::thread::sleep(Duration::from_millis(200));
                reads() == before
            });
        }
        faulty.disk.script().set(vec![counted()]);
        faulty.disk.script().let_go();
        wait_until("reads after it", || faulty.struck(0) > 100);
        kill_process(Pid::from_child(&child.0), Signal::INT).unwrap();
        assert_eq!(child.0.wait().unwrap().code(), Some(128), "{lock} {kind}");
        injected("calls that hang", 1);
    }
}

/// As with fio: before each pass that has a random map or an order, and otherwise once. What the cache holds does not reach the file
/// system.
#[test]
fn the_page_cache_is_dropped_as_often_as_by_fio() {
    let Some(faulty) = Faulty::new() else { return };
    faulty.disk.script().cache(Cached::Always);
    let programs = if fio_is_installed() { &[Program::Ours, Program::Theirs][..] } else { &[Program::Ours] };
    for program in programs {
        for (job, expected) in [
            ("--rw=randread --norandommap --io_size=13m", 256),
            ("--rw=randread --random_distribution=zoned:50/50:50/50 --io_size=13m", 256),
            ("--rw=randread --loops=3", 768),
            ("--rw=randread --norandommap --time_based --runtime=1", 256),
            // All of it is in the cache since then.
            ("--rw=randread --loops=3 --invalidate=0", 0),
        ] {
            faulty.disk.script().set(vec![Rule::new(Call::Read, Fault::Delay(Duration::ZERO))]);
            let job = format!("--name=x --filename=mine --size=1m --bs=4k --output-format=json {job}");
            let arguments: Vec<String> = job.split_whitespace().map(str::to_owned).collect();
            let output = run_as_fio(*program, &faulty.directory(), &arguments);
            assert_eq!(output.status.code(), Some(0), "{job}: {}", stderr(&output));
            assert_eq!(faulty.struck(0), expected, "{program:?} {job}");
        }
    }
}
