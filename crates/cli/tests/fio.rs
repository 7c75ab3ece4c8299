//! `iolite fio`, and the program under the name `fio`, as scripts and the installed fio know it.

// Helpers of tests may give up as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

#[path = "fio/behaviour.rs"]
mod behaviour;
mod common;
#[path = "fio/details.rs"]
mod details;
#[path = "fio/machine.rs"]
mod machine;
#[path = "fio/options.rs"]
mod options;
#[path = "fio/orders.rs"]
mod orders;
#[path = "fio/scripts.rs"]
mod scripts;
#[path = "fio/sets_of_files.rs"]
mod sets_of_files;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use common::fio::fio_is_installed;
use common::*;
use serde_json::Value;

/// fio's examples, where Debian puts them.
const EXAMPLES: &str = "/usr/share/doc/fio/examples";

/// The program under the name `fio`, in a directory to put in PATH.
fn named_fio(place: &TestDirectory) -> PathBuf {
    let bin = place.root.path().join("bin");
    if !bin.exists() {
        fs::create_dir(&bin).unwrap();
        symlink(IOLITE, bin.join("fio")).unwrap();
    }
    bin.join("fio")
}

/// Our fio in the place's directory.
fn ours(place: &TestDirectory, arguments: &[&str]) -> Command {
    let mut command = Command::new(named_fio(place));
    command.args(arguments).current_dir(place.data()).stdin(Stdio::null());
    command.env("XDG_DATA_HOME", place.root.path()).env("NO_COLOR", "1");
    command
}

/// The installed fio in another directory.
fn theirs(place: &TestDirectory, arguments: &[&str]) -> Command {
    let directory = place.root.path().join("theirs");
    fs::create_dir_all(&directory).unwrap();
    let mut command = Command::new("fio");
    command.args(arguments).current_dir(directory).stdin(Stdio::null());
    command
}

fn done(mut command: Command) -> Output {
    let output = command.output().unwrap();
    let shown = || format!("{command:?}\n{}{}", stderr(&output), String::from_utf8_lossy(&output.stdout));
    assert_eq!(output.status.code(), Some(0), "{}", shown());
    assert_eq!(stderr(&output), "", "{}", shown());
    output
}

/// The document that a fio printed, which begins with a line `{`.
fn document(output: &Output) -> Value {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let start = text.find("{\n").unwrap_or_else(|| panic!("no document: {text}"));
    serde_json::from_str(&text[start..]).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The paths of all keys; entries of lists count as one, and what is measured (percentiles' and bins' durations) not at all.
fn keys(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let path = format!("{path}/{key}");
                if path.contains(" options/") && value == "" {
                    // fio 3.33 leaves out options that stand alone.
                    continue;
                }
                found.insert(path.clone());
                if !path.ends_with("/bins") && !path.ends_with("/iolite") {
                    keys(value, &path, found);
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|value| keys(value, path, found)),
        _ => {}
    }
}

fn key_set(value: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    keys(value, "", &mut found);
    found
}

/// Keys that only one of the two has on purpose: what fio 3.42 reports and the installed 3.33 does not, and our own.
fn on_purpose(key: &str) -> bool {
    let newer =
        ["/jobs/job_start", "/jobs/latency_target_ns", "/disk_util/read_sectors", "/disk_util/write_sectors"];
    key.ends_with("/iolite") || newer.contains(&key)
}

fn differing_keys(ours: &Value, theirs: &Value) -> Vec<String> {
    let (ours, theirs) = (key_set(ours), key_set(theirs));
    ours.symmetric_difference(&theirs).filter(|key| !on_purpose(key)).cloned().collect()
}

/// What jobs moved: by job and direction, operations and bytes.
fn amounts(document: &Value) -> Vec<(String, [(u64, u64); 3])> {
    let jobs = document["jobs"].as_array().unwrap();
    let each = jobs.iter().map(|job| {
        let of = |direction: &str| {
            // With unified_rw_reporting there is one direction, and no other.
            let part = if job["mixed"].is_null() { &job[direction] } else { &job["mixed"] };
            (part["total_ios"].as_u64().unwrap(), part["io_bytes"].as_u64().unwrap())
        };
        (job["jobname"].as_str().unwrap().to_owned(), [of("read"), of("write"), of("trim")])
    });
    each.collect()
}

#[test]
fn it_answers_as_programs_that_look_for_fio_expect() {
    let place = TestDirectory::new();
    for argument in ["--version", "-v", "-version"] {
        let output = done(ours(&place, &[argument]));
        assert_eq!(String::from_utf8_lossy(&output.stdout), "fio-3.42-iolite\n");
    }
    let help = String::from_utf8(done(ours(&place, &["--help"])).stdout).unwrap();
    assert!(help.contains("json+"), "{help}");
    let engines = String::from_utf8(done(ours(&place, &["--enghelp"])).stdout).unwrap();
    assert!(engines.contains("\tlibaio\n") && engines.contains("\tio_uring\n"), "{engines}");
    let option = String::from_utf8(done(ours(&place, &["--cmdhelp=bs"])).stdout).unwrap();
    assert!(option.contains("blocksize"), "{option}");
}

#[test]
fn states_of_verification_go_where_they_are_asked_for() {
    let place = TestDirectory::new();
    fs::create_dir(place.data().join("states")).unwrap();
    let job = [
        "--name=x",
        "--rw=write",
        "--size=64k",
        "--verify=crc32c",
        "--verify_state_save=1",
        "--aux-path=states",
    ];
    done(ours(&place, &job));
    let states = entries(&place.data().join("states"));
    assert_eq!(states.len(), 1, "{states:?}");
    assert_eq!(entries(&place.data()), ["states", "x.0.0"]);
}

/// Amounts that a job fixes are what the installed fio moves, and the document has its keys.
#[test]
fn jobs_move_what_fio_moves_and_report_it_by_the_same_keys() {
    if !fio_is_installed() {
        return;
    }
    let place = TestDirectory::new();
    let jobs: &[&[&str]] = &[
        &["--name=r", "--rw=read", "--size=1m", "--bs=4k"],
        &[
            "--name=w",
            "--rw=write",
            "--size=1m",
            "--bs=64k",
            "--ioengine=libaio",
            "--iodepth=8",
            "--direct=1",
        ],
        &["--name=rr", "--rw=randread", "--size=1m", "--bs=4k", "--ioengine=io_uring", "--iodepth=16"],
        &["--name=rw", "--rw=randwrite", "--size=1m", "--bs=8k", "--numjobs=3", "--group_reporting"],
        &["--name=files", "--rw=read", "--size=1m", "--nrfiles=4", "--bs=4k"],
        &["--name=offset", "--rw=read", "--size=1m", "--offset=256k", "--filesize=1m", "--bs=4k"],
        &["--name=part", "--rw=write", "--size=1m", "--io_size=300k", "--bs=4k"],
        &["--name=wrap", "--rw=write", "--size=256k", "--io_size=1m", "--bs=4k"],
        &["--name=loops", "--rw=randread", "--size=256k", "--loops=3", "--bs=4k"],
        &["--name=ios", "--rw=randread", "--size=1m", "--number_ios=77", "--bs=4k"],
        &["--name=odd", "--rw=read", "--size=1000000", "--bs=4k"],
        &["--name=hole", "--rw=read:4k", "--size=1m", "--bs=4k"],
        &["--name=sync", "--rw=write", "--size=256k", "--bs=4k", "--fsync=8", "--end_fsync=1"],
        &["--name=v", "--rw=randwrite", "--size=256k", "--bs=4k", "--verify=crc32c"],
        &["--name=null", "--ioengine=null", "--rw=randread", "--size=16m", "--bs=4k"],
        &[
            "--name=plain",
            "--rw=write",
            "--size=256k",
            "--bs=4k",
            "--description=a b",
            "--clat_percentiles=0",
            "--lat_percentiles=1",
        ],
        &["--name=one", "--rw=write", "--size=256k", "--name=two", "--stonewall", "--rw=read", "--size=512k"],
        &["--name=unified", "--rw=read", "--size=256k", "--unified_rw_reporting=1"],
        &["--name=split", "--rw=read", "--size=1m", "--bssplit=4k/100"],
        &["--name=trim", "--ioengine=null", "--rw=trim", "--size=1m"],
        &["--name=mm", "--ioengine=mmap", "--rw=read", "--size=1m"],
        &["--name=px", "--ioengine=posixaio", "--iodepth=4", "--rw=randwrite", "--size=1m"],
        &["--name=sp", "--ioengine=splice", "--rw=read", "--size=1m"],
        &["--name=ft", "--ioengine=ftruncate", "--rw=write", "--size=1m"],
        &["--name=fa", "--ioengine=falloc", "--rw=write", "--size=1m"],
    ];
    for job in jobs {
        let arguments: Vec<&str> = job.iter().chain(&["--output-format=json"]).copied().collect();
        let ours = document(&done(ours(&place, &arguments)));
        let theirs = document(&theirs(&place, &arguments).output().unwrap());
        assert_eq!(differing_keys(&ours, &theirs), Vec::<String>::new(), "{job:?}");
        assert_eq!(amounts(&ours), amounts(&theirs), "{job:?}");
        for fs_entry in [place.data(), place.root.path().join("theirs")] {
            for name in entries(&fs_entry) {
                fs::remove_file(fs_entry.join(name)).unwrap();
            }
        }
    }
}

/// Depths, batches and the parts of a latency are measured, not made up.
#[test]
fn depths_and_submissions_are_reported_of_asynchronous_engines() {
    let place = TestDirectory::new();
    for engine in ["libaio", "io_uring", "posixaio"] {
        let engine = format!("--ioengine={engine}");
        let arguments = [
            "--name=x",
            "--rw=randread",
            "--size=4m",
            "--iodepth=8",
            "--direct=1",
            &engine,
            "--output-format=json",
        ];
        let document = document(&done(ours(&place, &arguments)));
        let job = &document["jobs"][0];
        let read = &job["read"];
        assert_eq!(read["slat_ns"]["N"], 1024, "{engine}");
        assert_eq!(read["clat_ns"]["N"], 1024, "{engine}");
        let at_one = job["iodepth_level"]["1"].as_f64().unwrap();
        assert!(at_one < 50.0, "{engine}: {at_one} % at a depth of 1");
        let mean = |part: &str| read[part]["mean"].as_f64().unwrap();
        let sum = mean("slat_ns") + mean("clat_ns");
        assert!((sum / mean("lat_ns") - 1.0).abs() < 0.01, "{engine}: {sum} and {}", mean("lat_ns"));
    }
}

/// The offsets that a log reports, in order.
fn logged_offsets(path: &Path) -> Vec<u64> {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let column = |line: &str| line.split(',').nth(4).unwrap().trim().parse().unwrap();
    text.lines().map(column).collect()
}

#[test]
fn logged_offsets_cover_what_fio_s_cover() {
    if !fio_is_installed() {
        return;
    }
    let place = TestDirectory::new();
    for (rw, exactly) in [("read", true), ("randwrite", false), ("randread", false), ("write", true)] {
        let job = format!("--rw={rw}");
        let arguments = ["--name=x", &job, "--size=256k", "--bs=4k", "--write_lat_log=x", "--log_offset=1"];
        done(ours(&place, &arguments));
        assert!(theirs(&place, &arguments).output().unwrap().status.success());
        let ours = logged_offsets(&place.data().join("x_lat.1.log"));
        let theirs = logged_offsets(&place.root.path().join("theirs/x_lat.1.log"));
        if exactly {
            assert_eq!(ours, theirs, "{rw}");
        }
        let sorted = |offsets: &[u64]| {
            let mut offsets = offsets.to_vec();
            offsets.sort_unstable();
            offsets
        };
        assert_eq!(sorted(&ours), sorted(&theirs), "{rw}");
        assert_eq!(ours.len(), 64);
        assert!(rw.starts_with("rand") != (sorted(&ours) == ours), "{rw}: {ours:?}");
    }
}

/// Names of engines that fio's examples use and that are not supported here, because they want hardware, a library or a
/// network.
fn absent(error: &str) -> bool {
    error.contains("ioengine")
}

#[test]
fn examples_parse_or_fail_by_the_name_of_their_engine() {
    let Ok(examples) = fs::read_dir(EXAMPLES) else {
        skip::<()>("fio-examples is not installed");
        return;
    };
    let place = TestDirectory::new();
    let (mut parsed, mut refused) = (0, Vec::new());
    for entry in examples {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "fio") {
            continue;
        }
        let mut command = ours(&place, &["--parse-only", path.to_str().unwrap()]);
        // One of them wants these.
        command.envs([("FIO_RW", "read"), ("FIO_IODEPTH", "1"), ("FIO_BS", "4k")]);
        let output = command.output().unwrap();
        if output.status.success() {
            assert_eq!(stderr(&output), "", "{}", path.display());
            parsed += 1;
        } else {
            assert!(absent(&stderr(&output)), "{}: {}", path.display(), stderr(&output));
            refused.push(format!("{}: {}", path.file_name().unwrap().display(), stderr(&output).trim()));
        }
    }
    eprintln!("{parsed} examples parsed, {} want what is not here:\n{}", refused.len(), refused.join("\n"));
    assert!(parsed >= 40, "only {parsed} parsed");
}

/// What of a job's amounts it fixes by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fixed {
    /// Operations and bytes.
    All,
    /// Operations: those on names move no bytes here.
    Operations,
    /// Neither: time or chance decide.
    Nothing,
}

/// The examples that run here once they are small. Not among them are those for devices, engines or NUMA nodes that are
/// absent, and those whose clones lie terabytes apart (cross-stripe-verify).
const RUNNABLE: &[(&str, Fixed)] = &[
    ("1mbs_clients", Fixed::All),
    ("aio-read", Fixed::All),
    ("backwards-read", Fixed::All),
    ("basic-verify", Fixed::All),
    ("butterfly", Fixed::All),
    ("cmdprio-bssplit", Fixed::Nothing),
    ("cmdprio-percentage", Fixed::All),
    ("cpuio", Fixed::Nothing),
    ("dedupe-global", Fixed::All),
    ("disk-zone-profile", Fixed::All),
    ("exitwhat", Fixed::Nothing),
    ("falloc", Fixed::Nothing),
    ("filecreate-ioengine", Fixed::Operations),
    ("filedelete-ioengine", Fixed::Operations),
    ("filestat-ioengine", Fixed::Operations),
    ("fio-rand-RW", Fixed::Nothing),
    ("fio-rand-read", Fixed::Nothing),
    ("fio-rand-write", Fixed::Nothing),
    ("fio-seq-RW", Fixed::Nothing),
    ("fio-seq-read", Fixed::Nothing),
    ("fio-seq-write", Fixed::Nothing),
    ("flow", Fixed::Nothing),
    ("fsx", Fixed::Nothing),
    ("ftruncate", Fixed::Nothing),
    ("iometer-file-access-server", Fixed::Nothing),
    ("jesd219", Fixed::Nothing),
    ("latency-profile", Fixed::Nothing),
    ("null", Fixed::All),
    ("rand-zones", Fixed::All),
    ("ssd-steadystate", Fixed::All),
    ("ssd-test", Fixed::Nothing),
    ("steadystate", Fixed::Nothing),
    ("surface-scan", Fixed::All),
    ("tiobench-example", Fixed::Nothing),
    ("waitfor", Fixed::Nothing),
    ("zipf", Fixed::All),
];

/// Examples that run here and not in the installed fio, with operations and bytes of their jobs where they are fixed: fio 3.33
/// hangs where io_submit_mode=offload meets a rate, and cannot trim files.
const OURS_ALONE: &[(&str, Option<(u64, u64)>)] = &[
    ("fixed-rate-submission", Some((1024, 4 << 20))),
    ("poisson-rate-submission", Some((1024, 4 << 20))),
    ("enospc-pressure", None),
];

/// What small sizes are limited to.
const SMALL: u64 = 4 << 20;

/// A size in bytes as job files have it.
fn bytes(value: &str) -> u64 {
    let digits = value.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = match value[digits.len()..].to_ascii_lowercase().chars().next() {
        None => 0,
        Some(letter) => "kmgtp".find(letter).unwrap() as u32 + 1,
    };
    digits.parse::<u64>().unwrap() << (10 * unit)
}

/// An example made small: sizes of some MiB, runtimes of a second, files instead of devices and directories of others.
fn small(text: &str) -> String {
    let mut lines = Vec::new();
    for line in text.lines() {
        let code = line.split([';', '#']).next().unwrap().trim();
        let (name, value) =
            code.split_once('=').map_or((code, ""), |(name, value)| (name.trim(), value.trim()));
        let large = || bytes(value) > SMALL;
        let line = match name {
            "size" | "filesize" | "io_size" if !value.ends_with('%') && large() => format!("{name}=4m"),
            "runtime" | "timeout" => format!("{name}=400ms"),
            "ramp_time" | "startdelay" => format!("{name}=0"),
            "rate" if !value.contains(',') && bytes(value) < SMALL => "rate=10m".to_owned(),
            "rate_iops" => "rate_iops=1000".to_owned(),
            "zonesize" => "zonesize=256k".to_owned(),
            "zoneskip" => "zoneskip=1m".to_owned(),
            // The file system must not really be filled.
            "fill_device" => "fill_device=1\nsize=4m".to_owned(),
            "latency_window" => "latency_window=1000000".to_owned(),
            "filename" if value.starts_with("/dev/null") || value.starts_with("/dev/zero") => code.to_owned(),
            "filename" if value.starts_with('/') => "filename=device\nfilesize=4m".to_owned(),
            "directory" => "directory=.".to_owned(),
            "nrfiles" => "nrfiles=3".to_owned(),
            "loops" => "loops=1".to_owned(),
            "iodepth" if value.len() > 2 => "iodepth=16".to_owned(),
            _ => code.to_owned(),
        };
        lines.push(line);
    }
    lines.join("\n") + "\n"
}

/// The small example as a file of the place.
fn small_example(place: &TestDirectory, name: &str) -> PathBuf {
    let text = fs::read_to_string(format!("{EXAMPLES}/{name}.fio")).unwrap();
    let job = place.root.path().join(format!("{name}.fio"));
    fs::write(&job, small(&text)).unwrap();
    job
}

#[test]
fn examples_run_small_and_report_what_fio_reports() {
    if !fio_is_installed() || !Path::new(EXAMPLES).exists() {
        skip::<()>("fio and its examples are not installed");
        return;
    }
    // Real-time I/O is for root.
    let root = fs::metadata("/proc/self").unwrap().uid() == 0;
    for (name, fixed) in RUNNABLE {
        if name.starts_with("cmdprio") && !root {
            skip::<()>(&format!("{name} wants to be root"));
            continue;
        }
        let place = TestDirectory::new();
        let job = small_example(&place, name);
        let arguments = ["--output-format=json", job.to_str().unwrap()];
        eprintln!("{name}");
        // Side by side: neither's speed matters here.
        let (ours, theirs) = std::thread::scope(|scope| {
            let theirs = scope.spawn(|| theirs(&place, &arguments).output().unwrap());
            (document(&done(ours(&place, &arguments))), document(&theirs.join().unwrap()))
        });
        assert_eq!(differing_keys(&ours, &theirs), Vec::<String>::new(), "{name}");
        let compared = |document: &Value| {
            let compared = |amount: (u64, u64)| match fixed {
                Fixed::All => amount,
                Fixed::Operations => (amount.0, 0),
                Fixed::Nothing => (0, 0),
            };
            let jobs = amounts(document).into_iter().map(|(name, amounts)| (name, amounts.map(compared)));
            jobs.collect::<Vec<_>>()
        };
        assert_eq!(compared(&ours), compared(&theirs), "{name}");
    }
}

#[test]
fn examples_run_that_the_installed_fio_can_not_run() {
    if !Path::new(EXAMPLES).exists() {
        skip::<()>("fio's examples are not installed");
        return;
    }
    for (name, expected) in OURS_ALONE {
        let place = TestDirectory::new();
        let job = small_example(&place, name);
        let output = document(&done(ours(&place, &["--output-format=json", job.to_str().unwrap()])));
        for (_, directions) in amounts(&output).iter().filter(|_| expected.is_some()) {
            assert_eq!(Some(directions[0]), *expected, "{name}");
        }
    }
}

/// A Python environment with fio-plot, made once; `None`, with the reason printed, where that is not possible.
fn fio_plot() -> Option<PathBuf> {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fio-plot");
    let bin = home.join("bin");
    if bin.join("fio-plot").exists() {
        return Some(bin);
    }
    let made = Command::new("python3").args(["-m", "venv"]).arg(&home).output();
    if !made.is_ok_and(|output| output.status.success()) {
        return skip("python3 cannot make an environment (python3-venv)");
    }
    let installed = Command::new(bin.join("pip")).args(["install", "--quiet", "fio-plot"]).output().unwrap();
    if installed.status.success() { Some(bin) } else { skip(&format!("fio-plot: {}", stderr(&installed))) }
}

#[test]
fn bench_fio_runs_a_matrix_and_fio_plot_draws_it() {
    let Some(bin) = fio_plot() else { return };
    let place = TestDirectory::new();
    let ours = named_fio(&place);
    let path =
        format!("{}:{}:{}", ours.parent().unwrap().display(), bin.display(), std::env::var("PATH").unwrap());
    let run = |program: &str, arguments: &[&str]| {
        let mut command = Command::new(bin.join(program));
        command.args(arguments).current_dir(place.data()).env("PATH", &path).stdin(Stdio::null());
        command.env("XDG_DATA_HOME", place.root.path()).env("MPLCONFIGDIR", place.root.path());
        let output = command.output().unwrap();
        let compared = format!("{}{}", String::from_utf8_lossy(&output.stdout), stderr(&output));
        assert!(output.status.success(), "{program} {arguments:?}: {compared}");
        compared
    };
    let target = place.data().join("target");
    fs::File::create(&target).unwrap().set_len(16 << 20).unwrap();
    run(
        "bench-fio",
        &[
            "--target",
            target.to_str().unwrap(),
            "--type",
            "file",
            "--size",
            "16M",
            "--output",
            "out",
            "--mode",
            "randread",
            "--iodepth",
            "1",
            "4",
            "--numjobs",
            "1",
            "2",
            "--runtime",
            "2",
            "--loginterval",
            "500",
            "--destructive",
            "--quiet",
            "--time-based",
        ],
    );
    let mut folder = place.data().join("out");
    while !entries(&folder).iter().any(|name| name.ends_with(".json")) {
        folder = folder.join(&entries(&folder)[0]);
    }
    let names = entries(&folder);
    assert_eq!(names.iter().filter(|name| name.ends_with(".json")).count(), 4, "{names:?}");
    assert!(names.iter().filter(|name| name.ends_with(".log")).count() >= 12, "{names:?}");
    let folder = folder.to_str().unwrap();
    for (kind, more) in [
        ("-L", vec!["-t", "iops"]),
        ("-l", vec!["-n", "1"]),
        ("-H", vec!["-d", "4", "-n", "1"]),
        ("-g", vec!["-t", "iops", "-d", "1", "4", "-n", "1"]),
    ] {
        let picture = format!("chart{kind}.png");
        let mut arguments = vec!["-i", folder, "-T", "test", "-r", "randread", kind, "-o", &picture];
        arguments.extend(more);
        let compared = run("fio-plot", &arguments);
        let size = fs::metadata(place.data().join(&picture)).map_or(0, |metadata| metadata.len());
        assert!(size > 10_000, "{kind}: {size} bytes: {compared}");
    }
}
