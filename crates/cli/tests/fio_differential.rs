//! fio and `iolite fio` on the same work: generated configurations, data that one writes and the other verifies, interim
//! results.
//!
//! `IOLITE_FIO_CONFIGS=300` runs 300 generated configurations; otherwise a sample runs. `IOLITE_FIO_SEED` chooses others.

// Helpers of tests may give up as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

#[path = "fio/amounts.rs"]
mod amounts;
mod common;
#[path = "fio/configurations.rs"]
mod configurations;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Read, Seek};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use common::fio::{Program, command_as_fio, empty_directory, fio_is_installed, run_as_fio};
use common::*;
use configurations::{Configuration, Dice, Known, Reason, configuration};
use serde_json::Value;

/// Configurations that run unless configured otherwise.
const SAMPLE: u64 = 25;

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// What a run left and said, as far as the configuration fixes it.
#[derive(Debug, Clone, PartialEq)]
struct Came {
    code: Option<i32>,
    /// By file: its length.
    files: BTreeMap<String, u64>,
    /// By file: its contents, where they follow from the configuration.
    contents: BTreeMap<String, Vec<u8>>,
    /// By job, or all of them together: operations and bytes of reads and writes.
    amounts: Vec<(u64, u64)>,
    /// Milliseconds that the longest direction of a job took.
    runtime: u64,
    /// Offsets and sizes of all operations, in their order where it is known.
    order: Vec<String>,
    keys: BTreeSet<String>,
}

impl Came {
    fn bytes(&self) -> u64 {
        self.amounts.iter().map(|(_, bytes)| bytes).sum()
    }

    /// Without numbers of operations that chance determines.
    fn fixed(&self, tried: &Configuration) -> Came {
        let mut fixed = Came { runtime: 0, ..self.clone() };
        if !tried.counts_operations() {
            fixed.amounts.iter_mut().for_each(|(operations, _)| *operations = 0);
        }
        fixed
    }
}

/// Prefix of the logs that hold the offsets.
const LOG: &str = "offsets";

/// Prefix of logs whose names alone are compared.
const OTHER_LOG: &str = "log_";

/// The same, killed where it does not end: there are jobs with which fio goes on for ever.
fn within_time(command: Command) -> Command {
    let mut limited = Command::new("timeout");
    limited.args(["--signal=KILL", "60"]).stdin(Stdio::null());
    limited.current_dir(command.get_current_dir().unwrap());
    let variables = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
    limited.envs(variables).arg(command.get_program());
    // The name that this program is called by gets lost on the way.
    limited
        .args(Path::new(command.get_program()).ends_with("iolite").then_some("fio"))
        .args(command.get_args());
    limited
}

/// Kills the processes that work in a directory: those that a killed program has left.
fn kill_those_in(directory: &Path) {
    for process in fs::read_dir("/proc").unwrap().flatten() {
        if fs::read_link(process.path().join("cwd")).is_ok_and(|place| place == directory) {
            let _ = Command::new("kill").arg("-9").arg(process.file_name()).status();
        }
    }
}

fn came(program: Program, directory: &Path, configuration: &Configuration) -> Came {
    let mut arguments = vec!["--output-format=json".to_owned()];
    if configuration.file {
        fs::write(directory.join("job.fio"), configuration.job_file()).unwrap();
        arguments.push("job.fio".into());
    } else {
        arguments.extend_from_slice(&configuration.options);
    }
    // Not a pipe: fio's jobs have sessions of their own, and hold what they inherit when it has been killed.
    let mut printed = tempfile::tempfile().unwrap();
    let mut command = within_time(command_as_fio(program, directory, &arguments));
    command.stdout(printed.try_clone().unwrap()).stderr(Stdio::null());
    let status = command.status().unwrap();
    if matches!(status.code(), None | Some(KILLED)) {
        kill_those_in(directory);
    }
    let mut text = Vec::new();
    printed.rewind().unwrap();
    printed.read_to_end(&mut text).unwrap();
    let text = String::from_utf8_lossy(&text);
    let document: Value = text
        .find("{\n")
        .map_or(Value::Null, |start| serde_json::from_str(&text[start..]).unwrap_or(Value::Null));
    let mut found = BTreeSet::new();
    keys(&document, "", &mut found);
    let mut order = Vec::new();
    let (mut files, mut contents) = (BTreeMap::new(), BTreeMap::new());
    for name in entries(directory) {
        let path = directory.join(&name);
        if name.starts_with(LOG) {
            if name.contains("_clat") {
                order.extend(fs::read_to_string(&path).unwrap().lines().map(place_of));
            }
            continue;
        }
        // Written by default by fio only.
        if name.ends_with("-verify.state") {
            continue;
        }
        if name.starts_with(OTHER_LOG) {
            // Their lines are measured times.
            files.insert(name, 0);
            continue;
        }
        if configuration.writes_known_data() {
            contents.insert(name.clone(), fs::read(&path).unwrap());
        }
        files.insert(name, fs::metadata(&path).unwrap().len());
    }
    let amounts = amounts(&document);
    let runtime = runtime(&document);
    Came { code: status.code(), files, contents, amounts, runtime, order, keys: found }
}

/// Direction, size and offset of a line of a log.
fn place_of(line: &str) -> String {
    let columns: Vec<&str> = line.split(", ").collect();
    columns[2..5].join(" ")
}

/// By job: operations and bytes of reads and writes together.
fn amounts(document: &Value) -> Vec<(u64, u64)> {
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
    amounts.collect()
}

/// Milliseconds that the longest direction of a job took.
fn runtime(document: &Value) -> u64 {
    let jobs = document["jobs"].as_array().cloned().unwrap_or_default();
    let parts = ["read", "write", "mixed"];
    let all = jobs.iter().flat_map(|job| parts.map(|part| job[part]["runtime"].as_u64().unwrap_or(0)));
    all.max().unwrap_or(0)
}

/// Whether two runs that are not the same differ exactly in what they are known to differ in.
fn differ_as_known(known: Known, tried: &Configuration, ours: &Came, theirs: &Came) -> bool {
    let names = ours.files.keys().eq(theirs.files.keys());
    let same_order = ours.order == theirs.order;
    match known {
        Known::Amounts(reason) => {
            (ours.code, &ours.keys) == (theirs.code, &theirs.keys)
                && names
                && (tried.grows() || ours.files == theirs.files)
                && ours.amounts.len() == theirs.amounts.len()
                && (&ours.amounts, &ours.files) != (&theirs.amounts, &theirs.files)
                && amounts_within_bounds(reason, tried, ours, theirs)
        }
        Known::Refused => {
            (ours.code, theirs.code, theirs.bytes()) == (Some(0), Some(1), 0) && ours.bytes() > 0
        }
        // fio counts reads of files without a byte.
        Known::NothingThere => {
            ours.code == Some(0)
                && (ours.files != theirs.files || ours.bytes() > theirs.bytes())
                && (ours.bytes() > 0 || theirs.bytes() == 0)
        }
        Known::VerifiedAgain => {
            (ours.code, &ours.files, &ours.keys) == (theirs.code, &theirs.files, &theirs.keys)
                && ours.bytes() > theirs.bytes()
        }
        Known::Lengths => {
            (ours.code, &ours.amounts, &ours.keys) == (theirs.code, &theirs.amounts, &theirs.keys)
                && names
                && same_order
                && ours.files != theirs.files
        }
        // Of both, all of each file is done, and its size is within the range.
        Known::Drawn => {
            let whole = |came: &Came| {
                let mut files = came.files.iter().filter(|(name, _)| name.starts_with("x."));
                came.code == Some(0) && files.all(|(_, length)| (16 << 10..=64 << 10).contains(length))
            };
            whole(ours) && whole(theirs) && names && ours.keys == theirs.keys
        }
        // Nothing has begun.
        Known::RefusedHere => ours.code == Some(1) && ours.bytes() == 0,
        Known::FioFails => ours.code == Some(0) && ours.bytes() > theirs.bytes(),
        Known::Rate => {
            let within = |came: &Came| came.code == Some(0) && keeps_rate(tried, came);
            within(ours) && within(theirs) && names && ours.keys == theirs.keys
        }
        Known::JoinedOnce => {
            (ours.code, &ours.files, &ours.contents) == (theirs.code, &theirs.files, &theirs.contents)
                && ours.bytes() > theirs.bytes()
        }
    }
}

/// Whether a job has done no more than its rate allows in the time that it took, and what was in flight besides; in each direction.
fn keeps_rate(tried: &Configuration, came: &Came) -> bool {
    let directions = if tried.mixed() { 2 } else { 1 };
    let allowed = tried.number("rate_iops").unwrap_or(0) * came.runtime / 1000
        + tried.number("iodepth").unwrap_or(1)
        + 1;
    came.amounts.iter().all(|(operations, bytes)| *bytes > 0 && *operations <= directions * allowed)
}

/// Whether the jobs have done as much as was asked for, and fio's within what it is known to do instead; in operations of the sizes that
/// were asked for.
fn amounts_within_bounds(reason: Reason, tried: &Configuration, ours: &Came, theirs: &Came) -> bool {
    let requested = tried.requested();
    // A job that follows is reported by itself; jobs that are reported together are added up.
    let reported = ours.amounts.len() - usize::from(tried.has("name=after"));
    let jobs = tried.jobs() / reported as u64;
    let within = |came: &Came, bounds: std::ops::RangeInclusive<u64>| {
        let bounds = bounds.start() * jobs..=bounds.end().saturating_mul(jobs);
        came.amounts[..reported]
            .iter()
            .all(|amount| bounds.contains(&amount.1) && requested.sizes_fit(*amount, jobs))
    };
    // Of what vsync joins, fio counts a part.
    let theirs_within = tried.joins() || within(theirs, requested.of_theirs(reason));
    within(ours, requested.of_ours()) && theirs_within
}

/// What timeout(1) ends with that has killed a program.
const KILLED: i32 = 137;

/// Share of the configurations that may differ as they are known to: most have to come to the same.
const MAX_KNOWN: f64 = 1.0 / 3.0;

/// The figures as docs/fio.md has them: they follow from the seed, whatever chance makes of those that may differ.
fn figures(configurations: u64, may_differ: &BTreeMap<Known, u64>) -> String {
    let known: u64 = may_differ.values().sum();
    let classes = may_differ.iter().map(|(known, count)| format!("{count} {}", known.words()));
    format!(
        "Of {configurations} configurations, {} have to come to the same results with fio 3.33, and do; {known} may differ as they are known to: {}.",
        configurations - known,
        classes.collect::<Vec<_>>().join(", ")
    )
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

/// What has come of the comparison so far.
#[derive(Default)]
struct Compared {
    /// Configurations that differ, and are not known to.
    differing: u64,
    may_differ: BTreeMap<Known, u64>,
    as_known: BTreeMap<Known, u64>,
    /// Those that may differ and do not.
    unneeded: u64,
    contents: u64,
    ordered: u64,
}

impl Compared {
    fn add(&mut self, tried: &Configuration, ours: &Came, theirs: &Came) {
        self.contents += u64::from(tried.writes_known_data());
        self.ordered += u64::from(!theirs.order.is_empty());
        if let Some(known) = tried.known() {
            *self.may_differ.entry(known).or_insert(0) += 1;
        }
        match tried.known() {
            _ if matches!(theirs.code, None | Some(KILLED)) => {
                eprintln!("skipped: fio does not end: {}", tried.options.join(" "));
            }
            known if ours.fixed(tried) == theirs.fixed(tried) => self.unneeded += u64::from(known.is_some()),
            Some(known) if differ_as_known(known, tried, ours, theirs) => {
                *self.as_known.entry(known).or_insert(0) += 1;
            }
            _ => {
                eprintln!("{}", described(tried, ours, theirs));
                self.differing += 1;
            }
        }
    }
}

/// Both programs' runs of each configuration; several at a time, since they mostly wait.
fn beside_each_other(
    place: &TestDirectory,
    mut tried: Vec<Configuration>,
) -> Vec<(Configuration, Came, Came)> {
    const AT_A_TIME: usize = 4;
    for configuration in tried.iter_mut().filter(|configuration| configuration.has_known_order()) {
        configuration.options.extend(words("--write_lat_log=offsets --log_offset=1"));
    }
    let next = AtomicUsize::new(0);
    let run = |worker: usize| {
        let mut came_of = Vec::new();
        while let Some(configuration) = tried.get(next.fetch_add(1, Ordering::Relaxed)) {
            let run = |program, name: &str| {
                came(program, &empty_directory(place, &format!("{worker}/{name}")), configuration)
            };
            came_of.push((configuration.clone(), run(Program::Ours, "ours"), run(Program::Theirs, "theirs")));
        }
        came_of
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_A_TIME)
            .map(|worker| {
                scope.spawn({
                    let run = &run;
                    move || run(worker)
                })
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    })
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
    let mut compared = Compared::default();
    let tried: Vec<Configuration> = (0..configurations).map(|_| configuration(&mut dice)).collect();
    for (tried, ours, theirs) in beside_each_other(&place, tried) {
        compared.add(&tried, &ours, &theirs);
    }
    let Compared { differing, may_differ, as_known, unneeded, contents, ordered } = compared;
    let figures = figures(configurations, &may_differ);
    eprintln!(
        "{figures}\nmay differ, but do not: {unneeded}; contents compared: {contents}; order of offsets compared: {ordered}"
    );
    assert_eq!(differing, 0, "of {configurations} configurations, so many differ: see above");
    let known: u64 = as_known.values().sum();
    assert!(known as f64 <= configurations as f64 * MAX_KNOWN, "{figures}");
    // The published figures are those of this comparison.
    let version = Command::new("fio").arg("--version").output().unwrap();
    if (configurations, seed, version.stdout.as_slice()) == (300, 1, b"fio-3.33\n") {
        let page =
            fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/fio.md")).unwrap();
        let on_one_line = page.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(on_one_line.contains(&figures), "docs/fio.md lacks: {figures}");
    }
}

/// How the runs of a configuration differ.
fn described(tried: &Configuration, ours: &Came, theirs: &Came) -> String {
    let keys: Vec<_> = ours.keys.symmetric_difference(&theirs.keys).collect();
    let (contents, order) = (ours.contents == theirs.contents, ours.order == theirs.order);
    format!(
        "{} (job file: {}, known: {:?})\n  ours   {:?} {:?} {:?}\n  theirs {:?} {:?} {:?}\n  keys {keys:?}, same contents: \
         {contents}, same order: {order}",
        tried.options.join(" "),
        tried.file,
        tried.known(),
        ours.code,
        ours.amounts,
        ours.files,
        theirs.code,
        theirs.amounts,
        theirs.files
    )
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
            let job = format!("--name=x --opendir=files --rw=read --bs=4k {more}");
            let job = Configuration { options: words(&job), file: false };
            let Came { code, amounts, .. } = came(program, &directory, &job);
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
