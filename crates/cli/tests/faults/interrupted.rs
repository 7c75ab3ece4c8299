//! A program that is stopped in the middle: signals, a closed terminal, kill -9 again and again.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::common::{IOLITE, TestDirectory, entries, json, skip, stderr};
use crate::{ended_by_itself, injected, nothing_is_lost, run, slow_writes, writes};

fn spawn(place: &TestDirectory, stop: &str) -> Child {
    run(place, &writes(stop)).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Whether SIGHUP is ignored here, as under nohup(1): the programs that tests start then go on, as they should.
fn hangup_is_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    u64::from_str_radix(ignored.trim(), 16).unwrap() & 1 == 1
}

#[test]
fn signals_end_a_run_that_keeps_its_results_and_removes_its_files() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        if signal == Signal::HUP && hangup_is_ignored() {
            return skip("SIGHUP is ignored here (nohup)").unwrap_or(());
        }
        let place = TestDirectory::new();
        let mut child = spawn(&place, "stop.runtime = '1h'");
        place.wait_for_intervals(&mut child, 5);
        kill_process(Pid::from_child(&child), signal).unwrap();
        let output = child.wait_with_output().unwrap();
        injected("signals", 1);
        assert_eq!(output.status.code(), Some(130), "{signal:?}: {}", stderr(&output));
        assert_eq!(json(&output)["ending"]["kind"], "interrupted");
        assert_eq!(entries(&place.data()), [""; 0]);
        assert_eq!(place.ask::<String>("SELECT ending FROM run"), "interrupted");
        nothing_is_lost(&place, 5);
    }
}

/// Waits until a program listens for signals: its thread for them is there after all handlers are.
fn wait_until_it_listens(child: &mut Child) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !has_thread(child, "signals") {
        assert!(child.try_wait().unwrap().is_none(), "it has ended");
        assert!(Instant::now() < deadline, "it does not listen for signals");
        std::thread::yield_now();
    }
}

fn has_thread(child: &Child, name: &str) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{}/task", child.id())).into_iter().flatten().flatten();
    let mut names = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("comm")).ok());
    names.any(|found| found.trim() == name)
}

/// However early it comes: while the program starts, before anything is measured, and in the first interval.
#[test]
fn a_program_says_that_it_was_interrupted_whenever_it_is() {
    for delay in [0, 5, 20, 100, 500] {
        for fio in [false, true] {
            let place = TestDirectory::new();
            let mut child = if fio { fio_job(&place) } else { spawn_as_text(&place) };
            wait_until_it_listens(&mut child);
            // What is injected is a time: it is no wait for anything.
            std::thread::sleep(Duration::from_millis(delay));
            kill_process(Pid::from_child(&child), Signal::INT).unwrap();
            let output = child.wait_with_output().unwrap();
            injected("early signals", 1);
            let printed = format!("{}{}", String::from_utf8_lossy(&output.stdout), stderr(&output));
            assert_eq!(
                output.status.code(),
                Some(if fio { 128 } else { 130 }),
                "after {delay} ms: {printed}"
            );
            let says = if fio {
                !printed.is_empty()
            } else {
                printed.to_lowercase().contains("interrupted") && !printed.contains("loop 0 ns")
            };
            assert!(says, "after {delay} ms: {printed:?}");
            assert_eq!(entries(&place.data()), [""; 0], "after {delay} ms");
        }
    }
}

fn spawn_as_text(place: &TestDirectory) -> Child {
    let as_json = run(place, &writes("stop.runtime = '1h'"));
    let mut command = Command::new(IOLITE);
    command.args(as_json.get_args().filter(|argument| *argument != "--json"));
    command.env("NO_COLOR", "1").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn fio_job(place: &TestDirectory) -> Child {
    let mut command = Command::new(IOLITE);
    command.args([
        "fio",
        "--name=early",
        "--ioengine=null",
        "--size=1G",
        "--time_based",
        "--runtime=3600",
        "--rate_iops=100",
    ]);
    command.env("XDG_DATA_HOME", place.root.path()).current_dir(place.data()).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// While a job is typed nothing checks for signals.
#[test]
fn a_program_that_waits_for_its_job_can_be_interrupted() {
    let place = TestDirectory::new();
    let mut child = Command::new(IOLITE)
        .args(["run", "-", "--directory"])
        .arg(place.data())
        .arg("--results")
        .arg(place.results())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_until_it_listens(&mut child);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let stdin = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    drop(stdin);
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(stderr(&output).contains("interrupted before anything was measured"), "{}", stderr(&output));
}

/// A second signal ends it where the first could not be reported, because nobody reads what it prints; commands that measure nothing
/// end as other programs do, so that a shell ends its loop.
#[test]
fn a_program_that_cannot_report_a_signal_and_one_that_measures_nothing_end_by_it() {
    let place = TestDirectory::new();
    for (arguments, signals) in [(["run", "-"], 2), (["explain", "-"], 1)] {
        let (reader, mut writer) = std::io::pipe().unwrap();
        rustix::fs::fcntl_setfl(&writer, rustix::fs::OFlags::NONBLOCK).unwrap();
        while std::io::Write::write(&mut writer, &[b'.'; 4096]).is_ok() {}
        rustix::fs::fcntl_setfl(&writer, rustix::fs::OFlags::empty()).unwrap();
        let mut command = Command::new(IOLITE);
        command.args(arguments).env("XDG_DATA_HOME", place.root.path()).stdin(Stdio::piped());
        let mut child = command.stdout(Stdio::null()).stderr(writer).spawn().unwrap();
        wait_until_it_listens(&mut child);
        // Its arguments have been read when it waits in read(2) of standard input.
        let waits = |child: &Child| {
            let call = std::fs::read_to_string(format!("/proc/{}/syscall", child.id())).unwrap_or_default();
            call.starts_with(if cfg!(target_arch = "x86_64") { "0 0x0 " } else { "63 0x0 " })
        };
        while !waits(&child) {
            assert!(child.try_wait().unwrap().is_none(), "it has ended");
            std::thread::yield_now();
        }
        for _ in 0..signals {
            let _ = kill_process(Pid::from_child(&child), Signal::INT);
        }
        let status = child.wait().unwrap();
        injected("signals", signals);
        match arguments[0] {
            "run" => assert_eq!(status.code(), Some(130)),
            _ => {
                assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(Signal::INT.as_raw()))
            }
        }
        drop(reader);
    }
}

/// `nohup` starts a program with SIGHUP ignored.
#[test]
fn a_run_under_nohup_outlives_its_terminal() {
    let place = TestDirectory::new();
    let job = place.root.path().join("job.toml");
    std::fs::write(&job, slow_writes("stop.runtime = '8s'")).unwrap();
    let mut command = Command::new("nohup");
    command.arg(IOLITE).arg("run").arg(job).arg("--directory").arg(place.data());
    command.arg("--results").arg(place.results()).args(["--json", "--quiet"]).stdin(Stdio::null());
    let mut child = match command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn() {
        Ok(child) => child,
        Err(error) => return skip(&format!("nohup: {error}")).unwrap_or(()),
    };
    place.wait_for_intervals(&mut child, 5);
    kill_process(Pid::from_child(&child), Signal::HUP).unwrap();
    place.wait_for_intervals(&mut child, 10);
    let output = child.wait_with_output().unwrap();
    injected("signals", 1);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(json(&output)["ending"]["kind"], "completed");
}

/// The results database is read as another program would, just before each kill: all that was there then is there at the end.
#[test]
fn a_hundred_kills_lose_no_result() {
    let place = TestDirectory::new();
    let (mut runs, mut intervals) = (0, 0);
    for kill in 0..100 {
        let mut child = spawn(&place, "stop.runtime = '1h'");
        // At another moment each time: while tables are created, between intervals, within one.
        place.wait_for_intervals(&mut child, intervals + kill % 3);
        let (before_runs, before) = stored(&place);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(place.ask::<String>("PRAGMA integrity_check"), "ok", "kill {kill}");
        let (now_runs, now) = stored(&place);
        assert!(now_runs >= before_runs && now >= before, "kill {kill}: {before} intervals, then {now}");
        assert!(before_runs >= runs && before >= intervals, "kill {kill}");
        (runs, intervals) = (now_runs, now);
    }
    injected("kills", 100);
    let output = run(&place, &writes("stop.operations = 100")).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(entries(&place.data()), [""; 0], "leftovers of 100 dead runs");
    nothing_is_lost(&place, intervals);
}

fn stored(place: &TestDirectory) -> (i64, i64) {
    if !place.results().exists() {
        return (0, 0);
    }
    let database = rusqlite::Connection::open(place.results()).unwrap();
    database.busy_timeout(Duration::from_secs(10)).unwrap();
    let count = |table: &str| {
        // Tables that are not there yet hold nothing.
        database.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap_or(0)
    };
    (count("run"), count("interval"))
}

#[test]
fn a_time_in_which_the_program_was_stopped_is_not_the_devices() {
    let place = TestDirectory::new();
    let mut child = spawn(&place, "stop.runtime = '6s'");
    place.wait_for_intervals(&mut child, 20);
    let process = Pid::from_child(&child);
    kill_process(process, Signal::STOP).unwrap();
    // What is injected is a time: it is no wait for anything.
    std::thread::sleep(Duration::from_millis(2500));
    kill_process(process, Signal::CONT).unwrap();
    injected("stops of the process", 1);
    let output = child.wait_with_output().unwrap();
    ended_by_itself(&output);
    let document = json(&output);
    let kinds: Vec<&str> = document["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|warning| warning["kind"].as_str())
        .collect();
    assert!(kinds.contains(&"suspended"), "{}", document["warnings"]);
    assert!(!kinds.contains(&"stalls"), "{}", document["warnings"]);
    nothing_is_lost(&place, 20);
}

/// `script` gives the program a terminal, which is gone when `script` is.
#[test]
fn a_closed_terminal_ends_a_run_that_keeps_its_results() {
    if hangup_is_ignored() {
        return skip("SIGHUP is ignored here (nohup)").unwrap_or(());
    }
    if Command::new("script").arg("--version").output().is_err() {
        return skip("no script(1) to give the program a terminal").unwrap_or(());
    }
    let place = TestDirectory::new();
    let job = place.root.path().join("job.toml");
    std::fs::write(&job, writes("stop.runtime = '1h'")).unwrap();
    let line = format!(
        "exec {IOLITE} run {} --directory {} --results {}",
        job.display(),
        place.data().display(),
        place.results().display()
    );
    let mut command = Command::new("script");
    command.args(["-q", "-c", &line, "/dev/null"]).stdin(Stdio::null());
    let mut terminal = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    place.wait_for_intervals(&mut terminal, 5);
    terminal.kill().unwrap();
    terminal.wait().unwrap();
    injected("closed terminals", 1);
    let deadline = Instant::now() + Duration::from_secs(60);
    while place.ask::<Option<String>>("SELECT ending FROM run").as_deref() != Some("interrupted")
        || !entries(&place.data()).is_empty()
    {
        assert!(
            Instant::now() < deadline,
            "the run goes on without its terminal: {:?}",
            entries(&place.data())
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    nothing_is_lost(&place, 5);
}
