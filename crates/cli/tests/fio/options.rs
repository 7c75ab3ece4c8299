//! Options by what they do: compared with the installed fio where it has them.

use super::*;

/// Operations of a direction of each job.
fn operations(document: &Value, direction: &str) -> Vec<u64> {
    let jobs = document["jobs"].as_array().unwrap().iter();
    jobs.map(|job| job[direction]["total_ios"].as_u64().unwrap()).collect()
}

const JSON: &str = "--output-format=json";

/// Four jobs in one file, one or many operations of each in flight.
#[test]
fn jobs_that_lock_a_file_get_through() {
    let place = TestDirectory::new();
    for lock in ["exclusive", "readwrite"] {
        let lock = format!("--lockfile={lock}");
        for engine in ["--ioengine=psync", "--ioengine=io_uring", "--ioengine=libaio"] {
            let job = [
                "--name=x",
                "--filename=f",
                "--size=256k",
                "--rw=randrw",
                "--bs=4k",
                "--numjobs=4",
                engine,
                &lock,
            ];
            let asynchronous = ["--iodepth=8", "--direct=1", "--fsync=16"];
            let arguments = [&job[..], &asynchronous[..], &[JSON]].concat();
            let output = ours(&place, &arguments).output().unwrap();
            if stderr(&output).contains("direct") {
                return skip("no direct I/O here").unwrap_or(());
            }
            assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
            let document = document(&output);
            let sum: Vec<u64> = operations(&document, "read")
                .iter()
                .zip(operations(&document, "write"))
                .map(|(reads, writes)| reads + writes)
                .collect();
            assert_eq!(sum, [64; 4], "{engine} {lock}");
        }
    }
}

/// When each operation of a job was queued and had come back, and its offset: from its logs.
fn in_flight(place: &TestDirectory) -> Vec<(u64, u64, u64)> {
    let log = |kind: &str| {
        let text = read(place, &format!("l_{kind}.1.log"));
        let columns =
            |line: &str| line.split(", ").map(|column| column.parse::<u64>().unwrap()).collect::<Vec<_>>();
        text.lines().map(columns).collect::<Vec<_>>()
    };
    let both = |(submission, whole): (Vec<u64>, Vec<u64>)| {
        let [(_, queued, offset, issued), (_, back, same, at)] =
            [submission, whole].map(|columns| (columns[0], columns[1], columns[4], columns[6]));
        assert_eq!((offset, issued), (same, at), "both logs have the same order");
        (issued + queued, issued + back, offset)
    };
    log("slat").into_iter().zip(log("lat")).map(both).collect()
}

#[test]
fn overlapping_operations_wait_for_each_other() {
    let place = TestDirectory::new();
    let job = ["--name=x", "--filename=f", "--size=32k", "--io_size=4m", "--rw=randwrite", "--norandommap"];
    let more =
        ["--ioengine=io_uring", "--iodepth=16", "--write_lat_log=l", "--log_offset=1", "--log_issue_time=1"];
    for (serialized, overlaps) in [("--serialize_overlap=1", false), ("--serialize_overlap=0", true)] {
        let output = done(ours(&place, &[&job[..], &more, &[serialized, JSON]].concat()));
        assert_eq!(operations(&document(&output), "write"), [1024]);
        let found = in_flight(&place);
        assert_eq!(found.len(), 1024);
        let together = |same: bool| {
            let meets = |one: &(u64, u64, u64), other: &(u64, u64, u64)| {
                one.0 < other.1 && other.0 < one.1 && (one.2 == other.2) == same
            };
            found.iter().enumerate().any(|(at, one)| found[at + 1..].iter().any(|other| meets(one, other)))
        };
        assert!(together(false), "operations on different blocks are in flight together");
        assert_eq!(together(true), overlaps, "{serialized}");
    }
}

/// Each block once, and a quarter of them again.
#[test]
fn a_drive_is_preconditioned_in_one_pass() {
    let place = TestDirectory::new();
    let job = ["--name=x", "--filename=f", "--size=4m", "--rw=randwrite", "--bs=4k", "--write_iolog=t.log"];
    let spr = ["--sprandom=1", "--spr_op=0.25", "--spr_num_regions=10", JSON];
    let output = done(ours(&place, &[&job[..], &spr].concat()));
    assert_eq!(operations(&document(&output), "write"), [1024 + 256]);
    let trace = fs::read_to_string(place.data().join("t.log")).unwrap();
    let mut times = std::collections::BTreeMap::new();
    for line in trace.lines().filter(|line| line.contains(" write ")) {
        let offset: u64 = line.split(' ').nth_back(1).unwrap().parse().unwrap();
        *times.entry(offset).or_insert(0u32) += 1;
    }
    assert_eq!(times.len(), 1024, "each block");
    let refused = |more: &[&str]| {
        let output = ours(&place, &[&job[..], &spr, more].concat()).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        stderr(&output)
    };
    assert!(refused(&["--rw=write"]).contains("rw=randwrite"));
    assert!(refused(&["--norandommap"]).contains("its own order"));
    assert!(refused(&["--spr_cs=1m"]).contains("spr_num_regions=5"));
}

/// The jobs of `--profile=tiobench`, by the settings that fio reads for them.
#[test]
fn tiobench_has_the_jobs_of_fio() {
    let place = TestDirectory::new();
    let profile = ["--profile=tiobench", "--size=1", "--block=16384", "--threads=2", "--numruns=3", JSON];
    let output = ours(&place, &profile).output().unwrap();
    if stderr(&output).contains("direct") {
        return skip("no direct I/O here").unwrap_or(());
    }
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let document = document(&output);
    let jobs = document["jobs"].as_array().unwrap();
    let names: Vec<&str> = jobs.iter().map(|job| job["jobname"].as_str().unwrap()).collect();
    assert_eq!(names, ["seqwrite", "randwrite", "seqread", "randread"]);
    // A MiB of each of two threads, in four files, three times.
    assert_eq!(operations(&document, "write"), [384, 384, 0, 0]);
    assert_eq!(operations(&document, "read"), [0, 0, 384, 384]);
    let names = |settings: &Value| settings.as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>();
    let mut settings = names(&document["global options"]);
    jobs.iter().for_each(|job| settings.extend(names(&job["job options"])));
    if !fio_is_installed() {
        return skip("fio is not installed").unwrap_or(());
    }
    let output = theirs(&place, &["--parse-only", "--debug=parse", "--profile=tiobench"]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &stderr(&output);
    let read = text.lines().filter_map(|line| line.split_once(" handle_option=")?.1.split(',').next());
    let theirs: BTreeSet<String> = read.map(str::to_owned).collect();
    settings.insert("name".into());
    assert_eq!(settings, theirs);
}

#[test]
fn profiles_are_explained_or_refused() {
    let place = TestDirectory::new();
    let help = done(ours(&place, &["--profile=tiobench", "--cmdhelp"]));
    let help = String::from_utf8(help.stdout).unwrap();
    assert!(["size", "block", "numruns", "dir", "threads"].iter().all(|name| help.contains(name)), "{help}");
    for (arguments, part) in [
        (&["--profile=act"][..], "act_storage"),
        (&["--profile=bonnie"], "tiobench"),
        (&["--profile=tiobench", "--block=0"], "--block=0"),
        (&["--profile=tiobench", "--size"], "--size"),
    ] {
        let output = ours(&place, arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(stderr(&output).contains(part), "{}", stderr(&output));
    }
    fs::write(place.data().join("p.fio"), "[global]\nprofile=tiobench\n[a]\nsize=4k\n").unwrap();
    let output = ours(&place, &["p.fio"]).output().unwrap();
    assert!(stderr(&output).contains("fio --profile=tiobench"), "{}", stderr(&output));
}

/// A script of its own, to run with `ioengine=exec`.
fn script(place: &TestDirectory, text: &str) -> String {
    use std::os::unix::fs::PermissionsExt;
    let path = place.data().join("script");
    fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

fn read(place: &TestDirectory, name: &str) -> String {
    fs::read_to_string(place.data().join(name)).unwrap()
}

#[test]
fn a_program_runs_as_long_as_its_job() {
    let place = TestDirectory::new();
    let job = ["--name=e", "--ioengine=exec"];
    let echo = [&job[..], &["--program=echo", "--arguments=a  %n %r \"b c\" %% x%n"]].concat();
    done(ours(&place, &echo));
    assert_eq!(read(&place, "e.stdout"), "a e 0 \"b c\" %% xe\n");
    assert_eq!(read(&place, "e.stderr"), "");
    if let Some(mut theirs) =
        fio_is_installed().then(|| theirs(&place, &[&echo[..], &["--runtime=1"]].concat()))
    {
        assert!(theirs.output().unwrap().status.success());
        let text = fs::read_to_string(place.root.path().join("theirs/e.stdout")).unwrap();
        assert_eq!(text, "a e 1 \"b c\" %% xe\n");
    }
    // What clones print is added to the same files, and to nothing from before.
    done(ours(&place, &[&echo[..], &["--numjobs=3"]].concat()));
    assert_eq!(read(&place, "e.stdout"), "a e 0 \"b c\" %% xe\n".repeat(3));
    // It is asked to end, and if it does not, killed.
    let asked = script(&place, "trap 'echo asked; exit' TERM\nwhile :; do sleep 0.05; done");
    // Time enough for a shell to say what it does with the signal, on a loaded host too.
    let timed = ["--runtime=3s", "--grace_time=1"];
    done(ours(&place, &[&job[..], &[&format!("--program={asked}")], &timed].concat()));
    assert_eq!(read(&place, "e.stdout"), "asked\n");
    let deaf = script(&place, "trap '' TERM\necho $$\nwhile :; do sleep 0.05; done");
    done(ours(&place, &[&job[..], &[&format!("--program={deaf}")], &timed].concat()));
    let process = read(&place, "e.stdout");
    assert!(!process.trim().is_empty(), "it has begun");
    assert!(!Path::new(&format!("/proc/{}", process.trim())).exists(), "{process}");
    // It begins with its job, and what it prints goes to no file that a link leads to.
    let when = script(&place, "date +%s%N");
    let begun = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos();
    done(ours(&place, &[&job[..], &[&format!("--program={when}"), "--startdelay=1"]].concat()));
    let at: u128 = read(&place, "e.stdout").trim().parse().unwrap();
    assert!(at - begun >= 1_000_000_000, "{at} {begun}");
    fs::remove_file(place.data().join("e.stdout")).unwrap();
    std::os::unix::fs::symlink("elsewhere", place.data().join("e.stdout")).unwrap();
    let linked = ours(&place, &echo).output().unwrap();
    assert!(stderr(&linked).contains("no regular file"), "{}", stderr(&linked));
    assert!(!place.data().join("elsewhere").exists());
    fs::remove_file(place.data().join("e.stdout")).unwrap();
    // As with fio: how it ends says nothing about the job.
    let fails = script(&place, "exit 3");
    done(ours(&place, &[&job[..], &[&format!("--program={fails}")]].concat()));
    let missing = ours(&place, &[&job[..], &["--program=/no/such/program", "--runtime=5"]].concat());
    let output = { missing }.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("/no/such/program"), "{}", stderr(&output));
    let none = ours(&place, &job).output().unwrap();
    assert!(stderr(&none).contains("program"), "{}", stderr(&none));
}

/// Files below a directory, of which `nrfiles` takes the first.
#[test]
fn nrfiles_limits_opendir() {
    let place = TestDirectory::new();
    let directories = [place.data().join("d"), place.root.path().join("theirs/d")];
    for directory in &directories {
        fs::create_dir_all(directory).unwrap();
        ["f1", "f2", "f3", "f4"].iter().for_each(|name| fs::write(directory.join(name), [7; 8192]).unwrap());
    }
    for (arguments, expected) in [
        (&["--opendir=d", "--nrfiles=3"][..], 6),
        (&["--nrfiles=1", "--opendir=d"], 8),
        (&["--opendir=d"], 8),
        (&["--opendir=d", "--nrfiles=9"], 8),
    ] {
        let arguments = [&["--name=o", "--rw=read", "--bs=4k"][..], arguments, &[JSON]].concat();
        assert_eq!(operations(&document(&done(ours(&place, &arguments))), "read"), [expected]);
        if fio_is_installed() {
            let output = theirs(&place, &arguments).output().unwrap();
            assert_eq!(operations(&document(&output), "read"), [expected], "{arguments:?}");
        }
    }
}

/// Figures in text, with as many digits as are asked for.
#[test]
fn figures_have_as_many_digits_as_asked_for() {
    let place = TestDirectory::new();
    let job = ["--name=x", "--ioengine=null", "--rw=write", "--bs=4k", "--number_ios=12345", "--size=1g"];
    let amount = |program: Command| {
        let output = { program }.output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let line = text.lines().find(|line| line.trim_start().starts_with("WRITE:")).unwrap().to_owned();
        line.split(", ").find(|part| part.starts_with("io=")).unwrap().to_owned()
    };
    for (digits, expected) in [
        ("1", "io=0GiB (0GB)"),
        ("3", "io=48MiB (51MB)"),
        ("4", "io=48.2MiB (50.6MB)"),
        ("7", "io=49380KiB (50.565MB)"),
    ] {
        let digits = format!("--significant_figures={digits}");
        let arguments = [&job[..], &[&digits]].concat();
        let ours = amount(ours(&place, &arguments));
        if fio_is_installed() {
            assert_eq!(ours, amount(theirs(&place, &arguments)), "{digits}");
        } else {
            assert_eq!(ours, expected, "{digits}");
        }
    }
}

/// fio 3.33 does so for a single block only: with more of them it ends with a failed assertion.
#[test]
fn lifetimes_of_blocks_are_reported() {
    let place = TestDirectory::new();
    let job =
        ["--name=b", "--ioengine=null", "--rw=trimwrite", "--bs=4k", "--block_error_percentiles=1", JSON];
    let single = [&job[..], &["--size=4k", "--loops=3", "--percentile_list=50:90"]].concat();
    let found = document(&done(ours(&place, &single)))["jobs"][0]["block"].clone();
    assert_eq!(found["percentiles"], serde_json::json!({"50.000000": 3, "90.000000": 3}));
    if fio_is_installed() {
        let output = theirs(&place, &single).output().unwrap();
        let theirs = document(&output)["jobs"][0]["block"].clone();
        assert_eq!(theirs["percentiles"], found["percentiles"]);
        assert_eq!(key_set(&theirs), key_set(&found));
    }
    let several = [&job[..], &["--size=64k", "--loops=2", "--percentile_list=50"]].concat();
    let found = document(&done(ours(&place, &several)))["jobs"][0]["block"].clone();
    assert_eq!(found["percentiles"], serde_json::json!({"50.000000": 2}));
    let states = &found["states"];
    assert_eq!(states["written"].as_u64().unwrap() + states["trimmed"].as_u64().unwrap(), 16, "{found}");
    let text = [&["--output-format=normal"][..], &several[..5], &["--size=64k"]].concat();
    let text = String::from_utf8(done(ours(&place, &text)).stdout).unwrap();
    assert!(
        text.contains("  block lifetime percentiles :\n   | 1.00th=1, ") && text.contains("unwritten=0"),
        "{text}"
    );
}
