//! What scripts rely on besides amounts: idle times, traces of operations, commands around jobs, users, schedulers.

use super::*;

fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Lines of an output with their numbers left out.
fn shape(text: &str) -> Vec<String> {
    let shaped = |line: &str| {
        let mut shape = String::new();
        for character in line.chars() {
            let character = if character.is_ascii_digit() { '0' } else { character };
            if !(character == '0' && shape.ends_with('0')) {
                shape.push(character);
            }
        }
        shape
    };
    text.lines().map(shaped).collect()
}

#[test]
fn idle_times_of_the_cpus_are_reported_in_fio_s_form() {
    let place = TestDirectory::new();
    let job = ["--name=x", "--ioengine=null", "--size=1m"];
    let idle = |text: &str| {
        let start = text.find("CPU idleness:").unwrap_or_else(|| panic!("{text}"));
        shape(text[start..].split("\n\n").next().unwrap())
    };
    let run = |make: fn(&TestDirectory, &[&str]) -> Command, what: &str, more: &[&str]| {
        let what = format!("--idle-prof={what}");
        done(make(&place, &[&[what.as_str()], &job[..], more].concat()))
    };
    let document_of = |what: &str| document(&run(ours, what, &["--output-format=json"]));
    let system = document_of("system");
    let of_all = system["cpu_idleness"]["system"].as_f64().unwrap();
    assert!((0.0..=100.0).contains(&of_all) && system["cpu_idleness"]["cpu-0"].is_null(), "{system}");
    assert!(document_of("percpu")["cpu_idleness"]["cpu-0"].is_number());
    let calibrated = printed(&run(ours, "calibrate", &[]));
    assert_eq!(shape(&calibrated), ["CPU idleness:", "  unit work: mean=0.0us, stddev=0.0"]);
    if !fio_is_installed() {
        return;
    }
    for what in ["system", "percpu", "calibrate"] {
        let (ours, theirs) = (run(ours, what, &[]), run(theirs, what, &[]));
        assert_eq!(idle(&printed(&ours)), idle(&printed(&theirs)), "{what}");
    }
    let keys = |value: &Value| key_set(&value["cpu_idleness"]);
    assert_eq!(
        keys(&document_of("percpu")),
        keys(&document(&run(theirs, "percpu", &["--output-format=json"])))
    );
}

/// Words of each line, without its numbers.
fn words_of(text: &str) -> Vec<String> {
    let word = |word: &&str| !word.starts_with(|first: char| first.is_ascii_digit()) || word.ends_with(':');
    text.lines().map(|line| line.split_whitespace().filter(word).collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn checksums_and_clocks_are_tested_in_fio_s_form() {
    let place = TestDirectory::new();
    let crc = ["--crctest=crc7,md5,sha3-512"];
    let found = printed(&done(ours(&place, &crc)));
    assert_eq!(words_of(&found), ["md5: MiB/sec", "crc7: MiB/sec", "sha3-512: MiB/sec"]);
    let speed = |line: &str| line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap();
    assert!(found.lines().all(|line| speed(line) > 0.0), "{found}");
    let clocks = printed(&done(ours(&place, &["--cpuclock-test"])));
    let lines = |text: &str| {
        let mut lines = words_of(text);
        // How it is calibrated, and the order in which CPUs are ready, is for each program.
        lines.retain(|line| line.starts_with("cs: "));
        lines.sort();
        lines
    };
    assert!(clocks.ends_with("cs: Pass!\n"), "{clocks}");
    if fio_is_installed() {
        assert_eq!(words_of(&found), words_of(&printed(&done(theirs(&place, &crc)))));
        let output = theirs(&place, &["--cpuclock-test"]).output().unwrap();
        if output.status.success() {
            assert_eq!(lines(&clocks), lines(&printed(&output)));
        } else {
            // It fails where a CPU is taken away between two readings.
            eprintln!("skipped: fio finds its own clocks apart");
        }
    }
}

#[test]
fn debug_prints_operations_and_settings_as_fio_does() {
    let place = TestDirectory::new();
    // fio prints of what comes after it.
    let job = ["--debug=io,random,parse", "--name=x", "--filename=f", "--size=16k", "--rw=randread"];
    let text = printed(&done(ours(&place, &job)));
    let offsets = |text: &str, step: &str| -> BTreeSet<String> {
        let lines = text.lines().filter(|line| line.starts_with("io ") && line.contains(step));
        lines.filter_map(|line| Some(line.split_once("off=")?.1.split(',').next()?.to_owned())).collect()
    };
    let all: BTreeSet<String> = ["0x0", "0x1000", "0x2000", "0x3000"].map(str::to_owned).into();
    assert_eq!(
        (offsets(&text, "queue: "), offsets(&text, "complete: ")),
        (all.clone(), all.clone()),
        "{text}"
    );
    assert_eq!(text.matches(" off rand ").count(), 4, "{text}");
    assert!(
        text.contains("handle_option=size, ptr=16k") && text.contains("fio: set debug option io\n"),
        "{text}"
    );
    // Results in JSON stay alone on standard output.
    let output = ours(&place, &[&job[..], &["--output-format=json"]].concat()).output().unwrap();
    assert!(printed(&output).starts_with("{\n") && stderr(&output).contains("complete: io_u "), "{output:?}");
    if fio_is_installed() {
        let theirs = printed(&theirs(&place, &job).output().unwrap());
        assert_eq!(offsets(&theirs, "complete: "), all);
        assert_eq!(theirs.matches(" off rand ").count(), 4);
        assert!(theirs.contains("handle_option=size, ptr=16k"));
    }
}

#[test]
fn max_jobs_bounds_slots_and_refuses_nothing() {
    let place = TestDirectory::new();
    let job =
        ["--max-jobs=1", "--name=x", "--ioengine=null", "--size=4k", "--numjobs=3", "--output-format=json"];
    assert_eq!(amounts(&document(&done(ours(&place, &job)))).len(), 3);
    if fio_is_installed() {
        assert_eq!(amounts(&document(&done(theirs(&place, &job)))).len(), 3);
    }
}

/// What a run with commands around its jobs left: exit code, what each job moved and its error, files.
fn around(command: &mut Command, directory: &Path) -> (Option<i32>, Vec<(u64, u64)>, Vec<String>) {
    let output = command.output().unwrap();
    let document = document(&output);
    let jobs = document["jobs"].as_array().unwrap().iter();
    let jobs = jobs.map(|job| (job["read"]["total_ios"].as_u64().unwrap(), job["error"].as_u64().unwrap()));
    (output.status.code(), jobs.collect(), entries(directory))
}

/// As in fio: a job whose command before it fails does not run, the others do; a command after it changes nothing.
#[test]
fn commands_that_fail_count_as_in_fio() {
    let place = TestDirectory::new();
    let json = "--output-format=json";
    let prerun = [
        "--size=16k",
        "--name=a",
        "--filename=a",
        "--exec_prerun=false",
        "--exec_postrun=echo after",
        "--name=b",
        "--filename=b",
        json,
    ];
    let postrun = ["--size=16k", "--name=a", "--filename=a", "--exec_postrun=exit 3", json];
    let first = around(&mut ours(&place, &prerun), &place.data());
    assert_eq!((first.0, &first.1), (Some(0), &vec![(0, 0), (4, 0)]));
    assert!(first.2.contains(&"a.prerun.txt".to_owned()) && !first.2.contains(&"a.postrun.txt".to_owned()));
    let output = ours(&place, &prerun).output().unwrap();
    assert!(printed(&output).contains("exec_prerun: `false` failed"), "{}", printed(&output));
    let second = around(&mut ours(&place, &postrun), &place.data());
    assert_eq!((second.0, &second.1), (Some(0), &vec![(4, 0)]));
    if fio_is_installed() {
        // fio prints where the output goes; which files it lays out for a job that does not run is its own affair.
        let theirs_in = place.root.path().join("theirs");
        let (code, moved, _) = around(&mut theirs(&place, &prerun), &theirs_in);
        assert_eq!((code, moved), (first.0, first.1));
        let (code, moved, _) = around(&mut theirs(&place, &postrun), &theirs_in);
        assert_eq!((code, moved), (second.0, second.1));
    }
}

#[test]
fn files_that_are_read_before_are_in_the_page_cache() {
    let place = TestDirectory::new();
    let job = ["--name=x", "--filename=f", "--size=1m", "--pre_read=1", "--output-format=json"];
    let document = document(&done(ours(&place, &job)));
    assert_eq!(document["jobs"][0]["read"]["io_bytes"], 1 << 20);
    // Without a file there is nothing to read.
    done(ours(&place, &["--name=n", "--ioengine=null", "--size=64k", "--pre_read=1"]));
}

#[test]
fn jobs_run_as_the_user_that_is_asked_for() {
    let place = TestDirectory::new();
    fs::write(place.data().join("f"), vec![0; 65536]).unwrap();
    let job = [
        "--name=x",
        "--filename=f",
        "--size=64k",
        "--rw=write",
        "--comm=worker",
        "--uid=65534",
        "--gid=65534",
    ];
    let output = ours(&place, &job).output().unwrap();
    if fs::metadata(place.data().join("f")).unwrap().uid() == 0 {
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    } else {
        assert!(stderr(&output).contains("may not become group 65534"), "{}", stderr(&output));
    }
}

/// Options that other versions have: taken where they make no difference or are close, refused by name where not.
#[test]
fn options_of_newer_versions_are_known() {
    let place = TestDirectory::new();
    let job = ["--name=x", "--filename=f", "--size=16k", "--rw=write"];
    for option in [
        "--end_syncfs=1",
        "--num_range=1",
        "--comm=x",
        "--filetype=file",
        "--thinkcycles=10",
        "--verifysort=0",
        "--flow_watermark=20",
        "--lockfile=none",
        "--atomic=1",
        "--pre_read=0",
        "--random_sequence_stride=8k",
        "--verify_pattern_interval=1",
    ] {
        done(ours(&place, &[&job[..], &[option]].concat()));
    }
    let output = ours(&place, &[&job[..], &["--num_range=4"]].concat()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("`num_range"), "{}", stderr(&output));
    for option in ["--server", "--client=host", "--remote-config=x", "--daemonize=x"] {
        let output = ours(&place, &[&job[..], &[option]].concat()).output().unwrap();
        let name = option.split('=').next().unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(
            stderr(&output).contains(name) && stderr(&output).contains("on each host"),
            "{}",
            stderr(&output)
        );
    }
}

/// Patterns in every form, byte by byte as the installed fio writes them.
#[test]
fn patterns_are_what_fio_writes() {
    if !fio_is_installed() {
        return;
    }
    let place = TestDirectory::new();
    let theirs_in = place.root.path().join("theirs");
    fs::create_dir_all(&theirs_in).unwrap();
    for directory in [&place.data(), &theirs_in] {
        fs::write(directory.join("pattern"), b"some text\n").unwrap();
    }
    for pattern in ["%o", "0xdead%o", "\"ab\"%o0xff", "'pattern'", "10xff", "-12", "0x00ff\"x\"257"] {
        let pattern = format!("--verify_pattern={pattern}");
        let job = [
            "--name=x",
            "--filename=f",
            "--size=24k",
            "--bs=8k",
            "--rw=write",
            "--verify=pattern",
            &pattern,
            "--verify_interval=2k",
            "--do_verify=0",
        ];
        done(ours(&place, &job));
        assert!(theirs(&place, &job).output().unwrap().status.success(), "{pattern}");
        let (one, other) =
            (fs::read(place.data().join("f")).unwrap(), fs::read(theirs_in.join("f")).unwrap());
        assert!(one == other, "{pattern}");
        // And it is verified, and damage of it found.
        let read =
            ["--name=x", "--filename=f", "--size=24k", "--bs=8k", "--rw=read", "--verify=pattern", &pattern];
        done(ours(&place, &read));
        let mut damaged = one;
        damaged[9000] ^= 0x10;
        fs::write(place.data().join("f"), damaged).unwrap();
        assert_eq!(ours(&place, &read).output().unwrap().status.code(), Some(1), "{pattern}");
    }
}

/// A section keeps its name for its files; a link takes no writes that lay a file out; lfsr does each block once.
#[test]
fn files_have_the_names_and_links_the_fate_that_fio_gives_them() {
    let place = TestDirectory::new();
    let theirs_in = place.root.path().join("theirs");
    let folder = |directory: &Path| {
        fs::create_dir_all(directory).unwrap();
        fs::write(directory.join("j.fio"), "[job1]\nname=other\nsize=16k\nrw=write\n").unwrap();
        fs::write(directory.join("short"), "short\n").unwrap();
        fs::write(directory.join("long"), [1; 32768]).unwrap();
        for (to, name) in [("short", "a"), ("long", "b"), ("nothing", "c")] {
            symlink(to, directory.join(name)).unwrap();
        }
    };
    let jobs = [
        &["j.fio"][..],
        &["--name=x", "--filename=a:b:c", "--size=48k", "--rw=write", "--nrfiles=3"],
        &[
            "--name=l",
            "--ioengine=null",
            "--rw=randread",
            "--norandommap",
            "--random_generator=lfsr",
            "--size=1m",
            "--write_iolog=l.log",
        ],
    ];
    let left = |directory: &Path| {
        let state = |name: &String| {
            let path = directory.join(name);
            let found = fs::symlink_metadata(&path).unwrap();
            (name.clone(), found.is_symlink(), if name == "l.log" { 0 } else { found.len() })
        };
        let log = fs::read_to_string(directory.join("l.log")).unwrap();
        let read = log.lines().filter(|line| line.contains(" read "));
        let offsets: BTreeSet<String> =
            read.filter_map(|line| Some(line.rsplit(' ').nth(1)?.to_owned())).collect();
        (entries(directory).iter().map(state).collect::<Vec<_>>(), offsets)
    };
    folder(&place.data());
    jobs.iter().for_each(|job| drop(done(ours(&place, job))));
    let (files, offsets) = left(&place.data());
    assert_eq!(offsets.len(), 256);
    assert!(files.contains(&("job1.0.0".to_owned(), false, 16384)), "{files:?}");
    assert_eq!(fs::read(place.data().join("short")).unwrap(), b"short\n");
    if fio_is_installed() {
        folder(&theirs_in);
        for job in jobs {
            assert!(theirs(&place, job).output().unwrap().status.success());
        }
        assert_eq!((files, offsets.len()), {
            let (files, offsets) = left(&theirs_in);
            (files, offsets.len())
        });
    }
}

/// Beside the I/O of another job, a busy job ends with it; the memory that it locks is free again.
#[test]
fn a_busy_job_ends_with_the_io_of_the_others() {
    let place = TestDirectory::new();
    let jobs = [
        "--name=busy",
        "--ioengine=cpuio",
        "--cpuload=10",
        "--time_based",
        "--runtime=300",
        "--exit_on_io_done=1",
        "--name=io",
        "--ioengine=psync",
        "--rw=write",
        "--size=4m",
        "--bs=4k",
        "--write_hint=short",
        "--end_syncfs=1",
        "--lockmem=1m",
    ];
    let started = std::time::Instant::now();
    let output = done(ours(&place, &[&["--output-format=json"], &jobs[..]].concat()));
    // The time that it asked for is the only other end.
    assert!(started.elapsed().as_secs() < 200, "{:?}", started.elapsed());
    let jobs = document(&output)["jobs"].as_array().unwrap().clone();
    assert_eq!((jobs.len(), jobs[1]["write"]["io_bytes"].as_u64()), (2, Some(4 << 20)));
    assert!(jobs.iter().all(|job| job["error"] == 0), "{jobs:?}");
}
