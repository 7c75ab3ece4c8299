//! A file system that does on each call what a script says.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fuser::BackgroundSession;
use iolite_model::ErrorCause;
use serde_json::Value;

use crate::common::{Loop, Mount, TestDirectory, entries, json, skip, stderr};
use crate::fuse::{Cached, Call, Fault, Rule, Volatile};
use crate::{ended_by_itself, injected, nothing_is_lost, run};

const OPERATIONS: u64 = 200;

pub(crate) struct Faulty {
    pub(crate) place: TestDirectory,
    pub(crate) disk: Volatile,
    session: Option<BackgroundSession>,
}

impl Faulty {
    /// With a file of 256 blocks. `None`, with the reason printed, where no FUSE file system can be mounted.
    pub(crate) fn new() -> Option<Faulty> {
        let (place, disk) = (TestDirectory::new(), Volatile::new(None));
        let at = place.root.path().join("mounted");
        fs::create_dir(&at).unwrap();
        let session = match disk.mount(&at) {
            Ok(session) => session,
            Err(error) => return skip(&format!("no FUSE file system can be mounted: {error}")),
        };
        fs::write(at.join("mine"), vec![1; 1 << 20]).unwrap();
        Some(Faulty { place, disk, session: Some(session) })
    }

    /// Where it is mounted.
    pub(crate) fn directory(&self) -> PathBuf {
        self.place.root.path().join("mounted")
    }

    /// Runs a task on the file with these faults; returns the measured phase.
    fn run(&self, rules: Vec<Rule>, rest: &str, code: i32) -> Value {
        self.document("sync", rules, rest, code)["phases"][0].clone()
    }

    /// The same, with this back end; returns all that is printed.
    fn document(&self, backend: &str, rules: Vec<Rule>, rest: &str, code: i32) -> Value {
        let text = format!(
            "[[tasks]]\n[tasks.io]\nname = 'measured'\n\
             target.existing = {{ path = '{}', overwrite = 'anything' }}\nbackend = '{backend}'\ninterval = '50ms'\n\
             errors.stop = []\n{rest}\n",
            self.place.root.path().join("mounted/mine").display()
        );
        self.disk.script().set(rules);
        let command = run(&self.place, &text).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = command.unwrap();
        self.release_at_the_end(&mut child);
        let output = child.wait_with_output().unwrap();
        ended_by_itself(&output);
        assert_eq!(
            output.status.code(),
            Some(code),
            "{}\n{}",
            stderr(&output),
            String::from_utf8_lossy(&output.stdout)
        );
        nothing_is_lost(&self.place, 1);
        json(&output)
    }

    /// The kernel does not let a process go that waits for a file system's answer: what hangs is answered once the run has stored
    /// its end.
    fn release_at_the_end(&self, child: &mut Child) {
        let ended = || {
            self.place.results().exists() && {
                let database = rusqlite::Connection::open(self.place.results()).unwrap();
                database.busy_timeout(Duration::from_secs(10)).unwrap();
                let sql = "SELECT count(*) FROM run WHERE ending IS NOT NULL";
                database.query_row(sql, [], |row| row.get::<_, i64>(0)).is_ok_and(|runs| runs > 0)
            }
        };
        let deadline = Instant::now() + Duration::from_secs(120);
        while child.try_wait().unwrap().is_none() && !ended() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(20));
        }
        self.disk.script().let_go();
    }

    pub(crate) fn struck(&self, rule: usize) -> u64 {
        self.disk.script().struck(rule)
    }
}

impl Drop for Faulty {
    fn drop(&mut self) {
        self.disk.script().set(Vec::new());
        self.disk.script().let_go();
        if let Some(session) = self.session.take() {
            let _ = session.umount_and_join();
        }
    }
}

fn writes() -> String {
    format!("mix = 'write'\nstop.operations = {OPERATIONS}")
}

/// Checks that the remedy of a cause is named. docs/errors.md lists each call as the test of that cause.
fn produced(cause: ErrorCause, text: &str) {
    // Lines are as wide as a terminal.
    let [all, remedy] =
        [text, cause.remedy()].map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
    assert!(all.contains(&remedy), "{cause:?}: {text}");
}

/// What is warned of where every tenth write fails so.
fn warned(fault: Fault) -> Option<String> {
    let faulty = Faulty::new()?;
    let document = faulty.document("sync", vec![Rule::new(Call::Write, fault).every(10)], &writes(), 3);
    injected("causes of errors", 1);
    Some(document["warnings"].to_string())
}

#[test]
fn operations_that_fail_are_warned_of_with_the_remedy_of_their_cause() {
    let Some(warnings) = warned(Fault::Error(22)) else { return };
    produced(ErrorCause::NotSupported, &warnings);
    produced(ErrorCause::OtherFailure, &warned(Fault::Error(1)).unwrap());
    produced(ErrorCause::WouldBlock, &warned(Fault::Error(11)).unwrap());
    produced(ErrorCause::ShortTransfer, &warned(Fault::Short).unwrap());
    let Some(faulty) = Faulty::new() else { return };
    let verified = "access = 'sequential'\nstop.loops = 1\nverify = { check = 'crc32c', block = '4KiB', ";
    let (written, rest) = (
        format!("mix = 'write'\n{verified}after = true }}"),
        format!("mix = 'read'\n{verified}reads = true, anyone = true }}"),
    );
    faulty.run(Vec::new(), &written, 0);
    let rules = vec![Rule::new(Call::Read, Fault::Corrupt).every(16)];
    produced(ErrorCause::DamagedData, &faulty.document("sync", rules, &rest, 4)["warnings"].to_string());
}

/// The errors of a class that were counted.
fn counted(phase: &Value, class: &str) -> u64 {
    let tallies = phase["errors"].as_array().unwrap();
    tallies.iter().filter(|tally| tally["class"] == class).map(|tally| tally["count"].as_u64().unwrap()).sum()
}

#[test]
fn a_delay_of_each_call_is_in_each_response_time() {
    let Some(faulty) = Faulty::new() else { return };
    let delay = Rule::new(Call::Write, Fault::Delay(Duration::from_millis(5)));
    let phase = faulty.run(vec![delay], &writes(), 0);
    injected("delays", faulty.struck(0));
    assert_eq!(faulty.struck(0), OPERATIONS);
    let operations = phase["operations"].as_array().unwrap();
    let of_writes = operations.iter().find(|operation| operation["kind"] == "write").unwrap();
    assert!(of_writes["response_ns"]["p50"]["high"].as_f64().unwrap() >= 5e6, "{of_writes}");
}

#[test]
fn errors_are_counted_to_the_last_one_by_class() {
    for (number, class) in [(5, "device"), (28, "space"), (122, "space"), (30, "other"), (121, "device")] {
        for call in [Call::Write, Call::Read] {
            let Some(faulty) = Faulty::new() else { return };
            let mix = if call == Call::Write { "write" } else { "read" };
            let rest = format!("mix = '{mix}'\nstop.operations = {OPERATIONS}");
            let rules = vec![Rule::new(call, Fault::Error(number)).after(20).every(9)];
            let phase = faulty.run(rules, &rest, 3);
            injected("errors of calls", faulty.struck(0));
            assert_eq!(counted(&phase, class), faulty.struck(0), "{number} {mix}: {}", phase["errors"]);
        }
    }
}

/// An error of the ramp is no part of what was measured, and still one of the run.
#[test]
fn an_error_in_the_ramp_alone_is_warned_of_and_no_success() {
    let Some(faulty) = Faulty::new() else { return };
    let first = Rule::new(Call::Read, Fault::Error(5)).every(u64::MAX);
    let document =
        faulty.document("sync", vec![first], "mix = 'read'\nramp = '300ms'\nstop.runtime = '300ms'", 3);
    injected("errors in a ramp", faulty.struck(0));
    assert_eq!(faulty.struck(0), 1);
    let operations = document["phases"][0]["operations"].as_array().unwrap();
    assert!(operations.iter().all(|operation| operation["errors"] == 0), "{operations:?}");
    let warnings = document["warnings"].to_string();
    assert!(warnings.contains("1 operations failed"), "{warnings}");
}

#[test]
fn a_failed_synchronisation_is_counted() {
    let Some(faulty) = Faulty::new() else { return };
    let rules = vec![Rule::new(Call::Sync, Fault::Error(5)).every(4)];
    let rest = writes() + "\ndurability.sync = { every = 1, method = 'fsync' }";
    let phase = faulty.run(rules, &rest, 3);
    injected("errors of synchronisations", faulty.struck(0));
    assert!(counted(&phase, "device") >= OPERATIONS / 4, "{}", phase["errors"]);
}

#[test]
fn short_transfers_are_counted() {
    for (call, mix) in [(Call::Write, "write"), (Call::Read, "read")] {
        let Some(faulty) = Faulty::new() else { return };
        let rest = format!("mix = '{mix}'\nstop.operations = {OPERATIONS}");
        let phase = faulty.run(vec![Rule::new(call, Fault::Short).every(10)], &rest, 3);
        injected("short transfers", faulty.struck(0));
        assert_eq!(counted(&phase, "short"), faulty.struck(0), "{mix}: {}", phase["errors"]);
    }
}

/// Reading a mapped page that the device can't read is SIGBUS.
#[test]
fn a_mapped_page_that_cannot_be_read_is_an_error_of_its_operation() {
    let Some(faulty) = Faulty::new() else { return };
    faulty.disk.script().cache(Cached::UntilOpened);
    // The kernel asks for a page again before it gives up: no later call may succeed.
    let rules = vec![Rule::new(Call::Read, Fault::Error(5)).after(20)];
    let rest = format!("mix = 'read'\naccess = 'random'\nstop.operations = {OPERATIONS}");
    let phase = faulty.document("mmap", rules, &rest, 3)["phases"][0].clone();
    injected("errors of calls", faulty.struck(0));
    assert!(faulty.struck(0) > 0);
    let failed = counted(&phase, "device");
    let done: u64 =
        phase["operations"].as_array().unwrap().iter().map(|of| of["operations"].as_u64().unwrap()).sum();
    assert!(failed > 0 && done > 0, "{phase}");
}

#[test]
fn a_mapped_file_that_is_truncated_in_mid_run_is_an_error_of_its_operations() {
    let place = TestDirectory::new();
    let mine = place.data().join("mine");
    fs::write(&mine, vec![1; 4 << 20]).unwrap();
    let text = format!(
        "[[tasks]]\n[tasks.io]\nname = 'measured'\ntarget.existing = {{ path = '{}' }}\nbackend = 'mmap'\nmix = 'read'\n\
         access = 'random'\ninterval = '50ms'\nerrors.stop = []\nstop.runtime = '2s'\n",
        mine.display()
    );
    let mut child = run(&place, &text).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    place.wait_for_intervals(&mut child, 5);
    fs::OpenOptions::new().write(true).open(&mine).unwrap().set_len(1 << 20).unwrap();
    injected("truncated files", 1);
    let output = child.wait_with_output().unwrap();
    ended_by_itself(&output);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(counted(&json(&output)["phases"][0], "device") > 0);
    nothing_is_lost(&place, 5);
}

#[test]
fn corruption_is_found_by_verification_unit_by_unit() {
    for (call, loops) in [(Call::Write, 1), (Call::Read, 1)] {
        let Some(faulty) = Faulty::new() else { return };
        let rest = format!(
            "mix = 'write'\naccess = 'sequential'\nstop.loops = {loops}\n\
             verify = {{ check = 'crc32c', after = true, block = '4KiB' }}"
        );
        let document = faulty.document("sync", vec![Rule::new(call, Fault::Corrupt).every(16)], &rest, 4);
        let phase = &document["phases"][0];
        injected("flipped bits", faulty.struck(0));
        let verified = &phase["verified"];
        assert_eq!(verified["damage"]["corrupt"], faulty.struck(0), "{call:?}: {verified}");
        assert_eq!(verified["damage"].as_object().unwrap().len(), 1, "{verified}");
    }
}

#[test]
fn calls_that_hang_are_reported_with_their_place() {
    for (call, mix) in [(Call::Write, "write"), (Call::Read, "read")] {
        let Some(faulty) = Faulty::new() else { return };
        let rules = vec![Rule::new(call, Fault::Hang).after(50)];
        let rest = format!("mix = '{mix}'\nstop.runtime = '1s'");
        let phase = faulty.run(rules, &rest, 1);
        injected("calls that hang", 1);
        assert_eq!(phase["outstanding"]["lost"], 1, "{phase}");
        assert_eq!(phase["stuck"][0]["kind"], mix, "{phase}");
    }
}

/// As a network file system whose server is gone: who has something open there can still be looked at, and others be named.
#[test]
fn a_file_system_that_does_not_respond_hangs_no_run_elsewhere() {
    let Some(faulty) = Faulty::new() else { return };
    let holding = |path: &std::path::Path| {
        let file = fs::File::options().read(true).write(true).open(path).unwrap();
        Command::new("sleep").arg("600").stdin(file).spawn().map(Waiting).unwrap()
    };
    let there = holding(&faulty.directory().join("mine"));
    let used = faulty.place.root.path().join("used");
    fs::write(&used, vec![7; 1 << 20]).unwrap();
    // Later, and so looked at after the first.
    let here = holding(&used);
    faulty.disk.script().set(vec![Rule::new(Call::Attributes, Fault::Hang)]);
    injected("file systems that do not respond", 1);
    for (path, code, said) in [
        (&used, 1, format!("process {}", here.0.id())),
        // What is free can be used.
        (&faulty.place.root.path().join("free"), 0, String::new()),
    ] {
        if code == 0 {
            fs::write(path, vec![7; 1 << 20]).unwrap();
        }
        let text = format!(
            "[[tasks]]\n[tasks.io]\nname = 'measured'\ntarget.existing = {{ path = '{}', overwrite = 'anything' }}\nbackend = 'sync'\n\
             mix = 'write'\nstop.operations = 10\n",
            path.display()
        );
        let mut child =
            run(&faulty.place, &text).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        while child.try_wait().unwrap().is_none() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(20));
        }
        let in_time = child.try_wait().unwrap().is_some();
        faulty.disk.script().let_go();
        let output = child.wait_with_output().unwrap();
        assert!(in_time, "it waits for the file system of {}: {}", there.0.id(), stderr(&output));
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        assert!(stderr(&output).contains(&said), "{}", stderr(&output));
    }
    assert_eq!(fs::read(&used).unwrap(), vec![7; 1 << 20]);
}

/// A process that ends with the test.
struct Waiting(Child);

impl Drop for Waiting {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_file_system_without_direct_io_is_an_error_with_its_remedy() {
    let Some(faulty) = Faulty::new() else { return };
    faulty.disk.script().set(vec![Rule::new(Call::DirectOpen, Fault::Error(22))]);
    let text = format!(
        "[[tasks]]\n[tasks.io]\nname = 'measured'\ntarget.existing = {{ path = '{}', overwrite = 'anything' }}\n\
         backend = 'sync'\ndirect = true\nmix = 'read'\nstop.operations = 10\n",
        faulty.place.root.path().join("mounted/mine").display()
    );
    let output = run(&faulty.place, &text).output().unwrap();
    injected("file systems without O_DIRECT", 1);
    ended_by_itself(&output);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    produced(ErrorCause::NoDirectIo, &stderr(&output));
}

/// The file system has space, and the limit of what may be taken of it is reached (EDQUOT).
#[test]
fn a_quota_that_is_used_up_is_named_with_its_remedy_and_leaves_nothing() {
    let place = TestDirectory::new();
    let Some(device) = Loop::new(&place, 256 << 20) else { return };
    let at = place.root.path().join("limited");
    let own = at.join("own");
    let done = |command: &[&str], path: &std::path::Path| {
        let output = Command::new(command[0]).args(&command[1..]).arg(path).output();
        output.is_ok_and(|output| output.status.success())
    };
    if !done(&["mkfs.btrfs", "-q"], std::path::Path::new(&device.0)) {
        return skip("mkfs.btrfs is not there").unwrap_or(());
    }
    let Some(_mount) = Mount::new(&[&device.0], &at) else { return };
    let limited = done(&["btrfs", "quota", "enable"], &at)
        // Until what is there has been counted, no limit is kept.
        && done(&["btrfs", "quota", "rescan", "-W"], &at)
        && done(&["btrfs", "subvolume", "create"], &own)
        && done(&["btrfs", "qgroup", "limit", "1M"], &own);
    if !limited {
        return skip("btrfs has no quotas here").unwrap_or(());
    }
    for (backend, preallocate) in [("sync", true), ("sync", false), ("mmap", false)] {
        let text = crate::writes("stop.loops = 1").replace("'sync'", &format!("'{backend}'"));
        let text = text.replace("create = true", &format!("create = true, preallocate = {preallocate}"));
        let job = place.root.path().join("limited.toml");
        fs::write(&job, text).unwrap();
        let mut command = Command::new(crate::common::IOLITE);
        command.arg("run").arg(&job).arg("--directory").arg(&own).arg("--results").arg(place.results());
        let output = command.arg("--quiet").stdin(Stdio::null()).output().unwrap();
        injected("quotas that are used up", 1);
        ended_by_itself(&output);
        let text = stderr(&output) + &String::from_utf8_lossy(&output.stdout);
        assert_ne!(output.status.code(), Some(0), "{backend}, {preallocate}: {text}");
        assert_eq!(entries(&own), [""; 0], "{backend}, {preallocate}");
        // A page that can't be reserved is SIGBUS, of which the kernel does not say why.
        if backend != "mmap" {
            produced(ErrorCause::Full, &text);
        }
    }
}
