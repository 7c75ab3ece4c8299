//! fio and `iolite fio` on the same work: generated configurations, data that one writes and the other verifies, interim
//! results.
//!
//! `IOLITE_FIO_CONFIGS=300` runs all generated configurations; otherwise a sample runs. `IOLITE_FIO_SEED` chooses others.

// Helpers of tests may give up as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use common::fio::{Program, empty_directory, fio_is_installed, run_as_fio};
use common::*;
use serde_json::Value;

/// Configurations that run unless configured otherwise.
const SAMPLE: u64 = 25;

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// Numbers that follow from a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len() as u64) as usize]
    }

    /// One of these in so many of a hundred cases.
    fn sometimes<'a>(&mut self, percent: u64, of: &[&'a str]) -> Option<&'a str> {
        (self.below(100) < percent).then(|| self.one(of))
    }
}

/// A configuration on files whose amounts follow from it.
fn configuration(dice: &mut Dice) -> Vec<String> {
    let rw = dice.one(&["read", "write", "randread", "randwrite", "rw", "randrw"]);
    let mut options = vec!["--name=x".to_owned(), format!("--rw={rw}")];
    options
        .push(dice.one(&["--size=64k", "--size=256k", "--size=1m", "--size=100k", "--size=1000000"]).into());
    let engine =
        dice.one(&["psync", "sync", "vsync", "pvsync", "pvsync2", "libaio", "io_uring", "posixaio", "mmap"]);
    options.push(format!("--ioengine={engine}"));
    let mut maybe = |percent, of: &[&str]| options.extend(dice.sometimes(percent, of).map(str::to_owned));
    maybe(70, &["--bs=4k", "--bs=8k", "--bs=16k", "--bs=512", "--bs=64k", "--bs=4k,8k"]);
    maybe(40, &["--iodepth=2", "--iodepth=8", "--iodepth=32"]);
    maybe(30, &["--numjobs=2", "--numjobs=3"]);
    maybe(30, &["--group_reporting"]);
    maybe(20, &["--nrfiles=2", "--nrfiles=4"]);
    maybe(20, &["--loops=2", "--loops=3"]);
    maybe(20, &["--io_size=128k", "--io_size=2m"]);
    maybe(15, &["--number_ios=7", "--number_ios=40"]);
    maybe(15, &["--norandommap"]);
    maybe(15, &["--fsync=4", "--fdatasync=8", "--end_fsync=1"]);
    maybe(15, &["--rwmixread=30", "--rwmixwrite=80"]);
    maybe(15, &["--fallocate=none", "--fallocate=keep", "--create_on_open=1", "--overwrite=1"]);
    maybe(15, &["--unlink=1"]);
    maybe(
        15,
        &["--lat_percentiles=1", "--clat_percentiles=0", "--slat_percentiles=1", "--percentile_list=50:99"],
    );
    maybe(10, &["--gtod_reduce=1", "--disable_lat=1", "--disable_clat=1", "--disable_slat=1"]);
    maybe(10, &["--invalidate=0", "--fadvise_hint=0"]);
    maybe(10, &["--unified_rw_reporting=1", "--unified_rw_reporting=both"]);
    maybe(10, &["--file_service_type=sequential", "--file_service_type=random:2"]);
    maybe(10, &["--zero_buffers=1", "--refill_buffers=1", "--buffer_pattern=0xdeadbeef"]);
    maybe(10, &["--description=words"]);
    options
}

/// What a run left and said, as far as the configuration fixes it.
#[derive(Debug, PartialEq)]
struct Came {
    code: Option<i32>,
    /// By file: its length.
    files: BTreeMap<String, u64>,
    /// By job: operations and bytes of reads and writes together.
    amounts: Vec<(u64, u64)>,
    keys: BTreeSet<String>,
}

fn came(program: Program, directory: &Path, arguments: &[String]) -> Came {
    let output = run_as_fio(program, directory, arguments);
    let text = String::from_utf8_lossy(&output.stdout);
    let document: Value = text
        .find("{\n")
        .map_or(Value::Null, |start| serde_json::from_str(&text[start..]).unwrap_or(Value::Null));
    let mut found = BTreeSet::new();
    keys(&document, "", &mut found);
    let jobs = document["jobs"].as_array().cloned().unwrap_or_default();
    let amounts = jobs.iter().map(|job| {
        let parts = ["read", "write", "mixed"].map(|part| &job[part]);
        let both = !job["read"].is_null() && !job["mixed"].is_null();
        let sum = |key: &str| {
            let counted = parts.iter().take(if both { 2 } else { 3 });
            counted.map(|part| part[key].as_u64().unwrap_or(0)).sum()
        };
        (sum("total_ios"), sum("io_bytes"))
    });
    let files = entries(directory).into_iter().map(|name| {
        let length = fs::metadata(directory.join(&name)).unwrap().len();
        (name, length)
    });
    Came { code: output.status.code(), files: files.collect(), amounts: amounts.collect(), keys: found }
}

/// The paths of all keys but those on purpose: docs/fio.md lists them under "Where iolite differs on purpose".
fn keys(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    let newer =
        ["/jobs/job_start", "/jobs/latency_target_ns", "/disk_util/read_sectors", "/disk_util/write_sectors"];
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let path = format!("{path}/{key}");
                // Options that stand alone are reported as 3.42 reports them; whether there are disks is for the files to say.
                let alone = path.contains(" options/") && value == "";
                // Chance decides whether a small mix has any reads, and so percentiles of them.
                if path.ends_with("/percentile") {
                    continue;
                }
                if key == "iolite"
                    || newer.contains(&path.as_str())
                    || alone
                    || path.starts_with("/disk_util")
                {
                    continue;
                }
                found.insert(path.clone());
                keys(value, &path, found);
            }
        }
        Value::Array(list) => list.iter().for_each(|value| keys(value, path, found)),
        _ => {}
    }
}

/// Why a configuration is expected to differ: docs/fio.md lists the reasons under "Where iolite differs on purpose".
fn known(options: &[String]) -> Option<&'static str> {
    let has = |name: &str| options.iter().any(|option| option.starts_with(&format!("--{name}")));
    let is = |option: &str| options.iter().any(|given| given == option);
    let mixed = is("--rw=rw") || is("--rw=randrw");
    let random = is("--rw=randread") || is("--rw=randwrite") || is("--rw=randrw");
    let partial = has("number_ios") || has("io_size");
    let grows = has("create_on_open") || is("--fallocate=none") || is("--fallocate=keep");
    let writes = !(is("--rw=read") || is("--rw=randread"));
    let size = match () {
        () if is("--size=64k") => 64 << 10,
        () if is("--size=100k") => 100 << 10,
        () if is("--size=256k") => 256 << 10,
        () => 1_000_000,
    };
    let block = if is("--bs=64k") { 64 << 10 } else { 16 << 10 };
    let files = if is("--nrfiles=4") { 4 } else { 2 };
    if has("bs=4k,8k") && (mixed || random) {
        return Some("random offsets of several sizes");
    }
    if has("create_on_open") && (mixed || !writes || is("--ioengine=mmap")) {
        return Some("fio leaves empty files and reads nothing, or crashes; here files are laid out");
    }
    if mixed && (partial || has("loops")) {
        return Some("fio ends a mix before its amount is done");
    }
    if random && partial && grows {
        return Some("how far a file grew follows from random offsets");
    }
    if is("--ioengine=vsync") && (has("number_ios") || has("iodepth")) {
        return Some("fio counts what vsync joins once");
    }
    if has("nrfiles") && size / files < block {
        return Some("files smaller than a block are refused");
    }
    None
}

#[test]
fn generated_configurations_do_what_fio_does() {
    if !fio_is_installed() {
        return;
    }
    let number = |name: &str, default| std::env::var(name).map_or(default, |text| text.parse().unwrap());
    let (configurations, seed) = (number("IOLITE_FIO_CONFIGS", SAMPLE), number("IOLITE_FIO_SEED", 1));
    let place = TestDirectory::new();
    let mut dice = Dice(seed);
    let (mut differing, mut ran) = (Vec::new(), 0);
    for _ in 0..configurations {
        let mut arguments = configuration(&mut dice);
        if known(&arguments).is_some() {
            continue;
        }
        arguments.push("--output-format=json".into());
        ran += 1;
        let ours = came(Program::Ours, &empty_directory(&place, "ours"), &arguments);
        let theirs = came(Program::Theirs, &empty_directory(&place, "theirs"), &arguments);
        if ours != theirs {
            let keys: Vec<_> = ours.keys.symmetric_difference(&theirs.keys).collect();
            differing.push(format!(
                "{}\n  ours   {:?} {:?} {:?}\n  theirs {:?} {:?} {:?}\n  keys {keys:?}",
                arguments.join(" "),
                ours.code,
                ours.amounts,
                ours.files,
                theirs.code,
                theirs.amounts,
                theirs.files
            ));
        }
    }
    eprintln!("{ran} of {configurations} configurations ran; the others are known to differ");
    assert!(ran * 2 > configurations, "only {ran} of {configurations} configurations ran");
    assert!(
        differing.is_empty(),
        "{} of {configurations} differ:\n{}",
        differing.len(),
        differing.join("\n")
    );
}

#[test]
fn files_below_a_directory_are_read_as_fio_reads_them() {
    if !fio_is_installed() {
        return;
    }
    let place = TestDirectory::new();
    for more in ["", "--size=12k", "--filename=extra"] {
        let came = [Program::Ours, Program::Theirs].map(|program| {
            let directory = empty_directory(&place, "below");
            fs::create_dir_all(directory.join("files/deeper")).unwrap();
            for (name, size) in [("b", 8192), ("a", 4096), ("deeper/c", 16384)] {
                fs::write(directory.join("files").join(name), vec![1; size]).unwrap();
            }
            fs::write(directory.join("extra"), [1; 4096]).unwrap();
            let job = format!("--name=x --opendir=files --rw=read --bs=4k --output-format=json {more}");
            let Came { code, amounts, .. } = came(program, &directory, &words(&job));
            (code, amounts)
        });
        assert_eq!(came[0], came[1], "{more}");
    }
}

/// A child that does not outlive its test.
struct Child(std::process::Child);

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_signal_prints_results_so_far_and_the_run_goes_on() {
    let place = TestDirectory::new();
    let out = place.root.path().join("out");
    // It ends by the test's own signal: however slow the machine, the runtime is not what is waited for.
    let job = "--name=x --ioengine=null --size=1m --time_based --runtime=120 --output-format=json";
    let mut command = Command::new(IOLITE);
    command.arg0("fio").args(words(job)).current_dir(place.data()).stdin(Stdio::null());
    command.env("XDG_DATA_HOME", place.root.path()).stdout(fs::File::create(&out).unwrap());
    let mut child = Child(command.spawn().unwrap());
    let signal = |name: &str, id: u32| {
        let sent = Command::new("kill").args([name, &id.to_string()]).status().unwrap();
        assert!(sent.success(), "kill {name}");
    };
    let documents = || {
        let text = fs::read_to_string(&out).unwrap();
        let read = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
        read.filter_map(Result::ok).collect::<Vec<_>>()
    };
    // Until its handlers are there, the signal would end it.
    let handles = |id: u32| {
        let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:\t"));
        caught.is_some_and(|mask| u64::from_str_radix(mask, 16).unwrap() & (1 << 9) != 0)
    };
    wait_until("the handler of SIGUSR1", || handles(child.0.id()));
    signal("-USR1", child.0.id());
    wait_until("interim results", || !documents().is_empty());
    let first = documents().remove(0);
    assert_eq!(first["jobs"][0]["jobname"], "x");
    assert!(child.0.try_wait().unwrap().is_none(), "the run goes on");
    signal("-INT", child.0.id());
    child.0.wait().unwrap();
    assert_eq!(documents().len(), 2, "interim and final results");
}

/// Waits for something that happens within a minute.
fn wait_until(what: &str, mut happened: impl FnMut() -> bool) {
    let started = std::time::Instant::now();
    while !happened() {
        assert!(started.elapsed().as_secs() < 60, "no sign of {what}");
        std::thread::yield_now();
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[test]
fn samples_of_bandwidth_stay_without_clock_readings() {
    let place = TestDirectory::new();
    let job =
        "--name=x --ioengine=null --size=1m --time_based --runtime=1 --gtod_reduce=1 --output-format=json";
    let output = run_as_fio(Program::Ours, &place.data(), &words(job));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let read = &document["jobs"][0]["read"];
    for key in ["bw_mean", "iops_mean", "bw_samples", "iops_samples", "iops_min", "bw_max"] {
        assert!(read[key].as_f64().unwrap() > 0.0, "{key}: {read}");
    }
    assert_eq!(read["lat_ns"]["N"], 0);
}
