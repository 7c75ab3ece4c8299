//! Details in which scripts that ran with fio would notice a difference.

use super::*;

/// The operations and bytes of reads and writes of all jobs together.
fn moved(document: &Value) -> Moved {
    let jobs = document["jobs"].as_array().unwrap().iter();
    let part = |job: &Value, part: &str| {
        let number = |key: &str| job[part][key].as_u64().unwrap();
        (number("total_ios"), number("io_bytes"))
    };
    jobs.map(|job| [part(job, "read"), part(job, "write")]).collect()
}

/// Operations and bytes of reads and writes, by job.
type Moved = Vec<[(u64, u64); 2]>;

/// What both programs leave of a job that ends well: what it moved, and its files with their lengths.
fn same_as_theirs(arguments: &[&str]) -> (Moved, Vec<(String, u64)>) {
    let place = TestDirectory::new();
    let left = |directory: &Path| {
        let names = entries(directory).into_iter();
        names
            .map(|name| (name.clone(), fs::metadata(directory.join(&name)).unwrap().len()))
            .collect::<Vec<_>>()
    };
    let arguments = [arguments, &["--output-format=json"]].concat();
    let found = (moved(&document(&done(ours(&place, &arguments)))), left(&place.data()));
    if fio_is_installed() {
        let output = theirs(&place, &arguments).output().unwrap();
        let other = (moved(&document(&output)), left(&place.root.path().join("theirs")));
        assert_eq!(found, other, "{arguments:?}");
    }
    found
}

#[test]
fn a_percentage_of_a_file_that_does_not_exist_is_nothing() {
    let (moved, files) = same_as_theirs(&["--name=x", "--rw=write", "--size=1m", "--offset=25%", "--bs=4k"]);
    assert_eq!((moved[0][1], files[0].1), ((256, 1 << 20), 1 << 20));
}

/// They move no data; fio counts a block for each file all the same.
#[test]
fn engines_that_work_on_names_count_blocks() {
    let place = TestDirectory::new();
    for engine in ["filecreate", "filestat", "filedelete"] {
        let engine = format!("--ioengine={engine}");
        let job = ["--name=x", &engine, "--nrfiles=5", "--filesize=4k", "--output-format=json"];
        let counted = |output: Output| moved(&document(&output))[0][0];
        assert_eq!(counted(done(ours(&place, &job))), (5, 20_480));
        if fio_is_installed() {
            assert_eq!(counted(theirs(&place, &job).output().unwrap()), (5, 20_480));
        }
    }
}

#[test]
fn files_smaller_than_a_block_are_left_alone() {
    for rw in ["--rw=read", "--rw=write", "--rw=randrw"] {
        let (moved, files) = same_as_theirs(&["--name=x", rw, "--nrfiles=4", "--size=8k", "--bs=4k"]);
        assert_eq!((moved, files.len(), files[3].1), (vec![[(0, 0); 2]], 4, 2048));
    }
    let place = TestDirectory::new();
    let output = ours(&place, &["--name=x", "--rw=read", "--size=2k", "--bs=4k"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn shares_of_sizes_need_not_add_up() {
    let place = TestDirectory::new();
    let share = |command: Command| {
        let output = command.into_output();
        let [_, (operations, bytes)] = moved(&document(&output))[0];
        // Of operations of 4 and 8 KiB, those of 8 KiB.
        bytes as f64 / 4096.0 / operations as f64 - 1.0
    };
    let job = |split: &str| {
        ["--name=x", "--ioengine=null", "--rw=write", "--size=64m", split, "--output-format=json"]
            .map(str::to_owned)
    };
    for (split, expected) in [("4k/50:8k/30", 0.3), ("4k/50:8k/80", 0.5), ("4k/80:8k/80", 0.2)] {
        let job = job(&format!("--bssplit={split}"));
        let job: Vec<&str> = job.iter().map(String::as_str).collect();
        let found = share(ours(&place, &job));
        assert!((found - expected).abs() < 0.03, "{split}: {found}");
        if fio_is_installed() {
            let found = share(theirs(&place, &job));
            assert!((found - expected).abs() < 0.03, "fio: {split}: {found}");
        }
    }
}

/// A command that is run.
trait IntoOutput {
    fn into_output(self) -> Output;
}

impl IntoOutput for Command {
    fn into_output(mut self) -> Output {
        let output = self.output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        output
    }
}

/// The times by priority add up to those of all operations, to the nanosecond.
#[test]
fn means_by_priority_are_exact() {
    let place = TestDirectory::new();
    for (latency, more) in [("clat_ns", "--lat_percentiles=0"), ("lat_ns", "--lat_percentiles=1")] {
        let job = [
            "--name=x",
            "--ioengine=libaio",
            "--iodepth=4",
            "--rw=randread",
            "--size=4m",
            "--bs=4k",
            "--cmdprio_percentage=40",
            "--cmdprio_class=2",
            "--cmdprio=7",
            "--output-format=json",
            more,
        ];
        let document = document(&done(ours(&place, &job)));
        let read = &document["jobs"][0]["read"];
        let sum = |times: &Value| times["mean"].as_f64().unwrap() * times["N"].as_f64().unwrap();
        let parts = read["prios"].as_array().unwrap();
        assert_eq!(parts.len(), 2, "{read}");
        let together: f64 = parts.iter().map(|part| sum(&part[latency])).sum();
        let whole = sum(&read[latency]);
        assert!((together - whole).abs() < 2.0, "{latency}: {together} of {whole}");
    }
}

#[test]
fn a_job_without_stats_runs_and_is_not_reported() {
    let place = TestDirectory::new();
    let job = ["--size=64k", "--rw=write", "--name=x", "--name=y", "--stats=0", "--output-format=json"];
    let document = document(&done(ours(&place, &job)));
    let names: Vec<_> = document["jobs"].as_array().unwrap().iter().map(|job| &job["jobname"]).collect();
    assert_eq!(names, ["x"]);
    assert_eq!(fs::metadata(place.data().join("y.0.0")).unwrap().len(), 64 << 10);
}

/// The times of logs, and of the job's start, by another clock of the system.
#[test]
fn times_are_of_the_clock_that_is_asked_for() {
    let place = TestDirectory::new();
    let started = || {
        let uptime = fs::read_to_string("/proc/uptime").unwrap();
        (uptime.split(' ').next().unwrap().parse::<f64>().unwrap() * 1000.0) as u64
    };
    let before = started();
    let job = [
        "--name=x",
        "--size=64k",
        "--rw=write",
        "--job_start_clock_id=7",
        "--log_alternate_epoch=1",
        "--log_alternate_epoch_clock_id=7",
        "--write_lat_log=l",
        "--output-format=json",
    ];
    let document = document(&done(ours(&place, &job)));
    let between = before.saturating_sub(1000)..=started() + 1000;
    let start = document["jobs"][0]["job_start"].as_u64().unwrap();
    let log = fs::read_to_string(place.data().join("l_lat.1.log")).unwrap();
    let first: u64 = log.split(',').next().unwrap().parse().unwrap();
    assert!(between.contains(&start) && between.contains(&first), "{start} {first} {between:?}");
    // Linux has no clock of this number; the real time would pass for it.
    for option in ["--job_start_clock_id=10", "--log_alternate_epoch_clock_id=10"] {
        let log = ["--log_alternate_epoch=1", "--write_lat_log=none"];
        let output =
            ours(&place, &[&["--name=x", "--size=64k", option], &log[..]].concat()).output().unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{option}");
        assert!(stderr(&output).contains("cannot read clock 10"), "{}", stderr(&output));
    }
}

#[test]
fn longest_latencies_are_of_each_direction() {
    let place = TestDirectory::new();
    let job = |limits: &str| {
        let limits = format!("--max_latency={limits}");
        let job = ["--name=x", "--size=1m", "--rw=rw", &limits, "--output-format=json"];
        let output = ours(&place, &job).output().unwrap();
        (output.status.code(), document(&output)["jobs"][0]["error"].as_u64())
    };
    // 110 is ETIMEDOUT.
    assert_eq!(job("100s,1ns"), (Some(1), Some(110)));
    assert_eq!(job("100s,100s"), (Some(0), Some(0)));
}

#[test]
fn what_fio_says_is_said() {
    let place = TestDirectory::new();
    let said = |program: fn(&TestDirectory, &[&str]) -> Command, job: &[&str]| {
        let output = program(&place, job).output().unwrap();
        (output.status.code(), stderr(&output), output.stdout)
    };
    let deprecated = ["--name=x", "--size=64k", "--latency-log=x"];
    let expected = "fio: --latency-log is deprecated. Use per-job latency log options.\n";
    assert_eq!(said(ours, &deprecated), (Some(1), expected.to_owned(), Vec::new()));
    if fio_is_installed() {
        assert_eq!(said(theirs, &deprecated), (Some(1), expected.to_owned(), Vec::new()));
    }
    let barrier = ["--name=x", "--size=64k", "--rw=write", "--write_barrier=4"];
    done(ours(&place, &barrier));
    let zones = ours(&place, &["--name=x", "--size=64k", "--write_zone_remainder=1"]).output().unwrap();
    assert!(stderr(&zones).contains("zonemode=zbd only"));
}

/// `${DEV}` that is not set would be a new file in the current directory, whose figures pass for the device's.
#[test]
fn a_variable_without_a_value_is_refused_as_by_fio() {
    let place = TestDirectory::new();
    let job = place.data().join("j.fio");
    for option in ["filename", "rw", "bs", "size", "ioengine", "runtime", "direct", "thread", "description"] {
        for section in ["x", "global"] {
            let rest = "[x]\nsize=64k\nioengine=null\n";
            let text = if section == "x" {
                format!("{rest}{option}=${{UNSET}}\n")
            } else {
                format!("[global]\n{option}=${{UNSET}}\n{rest}")
            };
            fs::write(&job, &text).unwrap();
            let output = ours(&place, &["j.fio"]).output().unwrap();
            assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{text}");
            let line = if section == "x" { 4 } else { 2 };
            let expected = format!(
                "j.fio:{line}:1: `{option}=${{UNSET}}`: the environment variable `UNSET` is not set, or empty"
            );
            assert!(stderr(&output).contains(&expected), "{text}: {}", stderr(&output));
            if fio_is_installed() {
                let refused = theirs(&place, &[&job.display().to_string()]).output().unwrap();
                let says = format!("failed parsing {option}=");
                assert!(stderr(&refused).contains(&says), "{text}: {}", stderr(&refused));
            }
        }
    }
    let files: Vec<_> = fs::read_dir(place.data()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(files, ["j.fio"]);
    // A part of a value, and an option that needs none.
    for line in ["filename=a${UNSET}b", "write_bw_log=${UNSET}"] {
        fs::write(&job, format!("[x]\nsize=64k\n{line}\n")).unwrap();
        done(ours(&place, &["j.fio"]));
        if fio_is_installed() {
            done(theirs(&place, &[&job.display().to_string()]));
        }
    }
    fs::write(&job, "[x]\nsize=64k\n${UNSET}\n").unwrap();
    let bare = ours(&place, &["j.fio"]).output().unwrap();
    assert!(bare.status.code() == Some(1) && stderr(&bare).contains("variable `UNSET`"), "{}", stderr(&bare));
}

#[test]
fn the_progress_line_is_beside_results_in_a_file() {
    let place = TestDirectory::new();
    let job = [
        "--name=x",
        "--ioengine=null",
        "--size=1m",
        "--time_based",
        "--runtime=3",
        "--eta=always",
        "--output-format=json",
    ];
    let to_a_file = done(ours(&place, &[&job[..], &["--output=F"]].concat()));
    let line = String::from_utf8(to_a_file.stdout).unwrap();
    assert!(line.contains("Jobs: 1 (f=1)"), "{line}");
    assert!(fs::read_to_string(place.data().join("F")).unwrap().starts_with("{\n"));
}

/// An operation every four seconds cannot keep 3 KiB in each second, and need not.
#[test]
fn seconds_in_which_a_rate_allows_nothing_are_not_judged() {
    let place = TestDirectory::new();
    let job =
        ["--name=x", "--size=1m", "--rw=write", "--bs=16k", "--rate=4k", "--rate_min=3k", "--runtime=6"];
    done(ours(&place, &job));
}

/// A job file may be a named pipe, as of a shell's process substitution. One that no program writes to is an error, where open(2) would
/// wait for ever.
#[test]
fn a_job_in_a_named_pipe_is_waited_for_as_long_as_a_program_writes() {
    let place = TestDirectory::new();
    let pipe = place.data().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let writer = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::write(pipe, "[x]\nrw=write\nsize=16k\nfilename=f\n").unwrap()
    });
    let output = done(ours(&place, &["pipe", "--output-format=json"]));
    assert_eq!(moved(&document(&output))[0][1], (4, 16 << 10));
    writer.join().unwrap();
    let commands = ["fio pipe", "run pipe", "explain pipe", "check . --profile pipe"].map(|arguments| {
        let mut command = Command::new(IOLITE);
        command.args(arguments.split(' ')).current_dir(place.data()).stdin(Stdio::null());
        command.env("XDG_DATA_HOME", place.root.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    });
    for command in commands {
        let output = command.wait_with_output().unwrap();
        assert!(stderr(&output).contains("no program has opened this named pipe to write"), "{output:?}");
        assert!(!output.status.success());
    }
}

/// What is appended begins where the file ends when all jobs have been prepared, not where a job before it would end if it had no limit.
#[test]
fn appends_begin_where_the_file_ends_when_jobs_are_prepared() {
    for (first, end) in [
        ("--number_ios=4", 64 + 16),
        ("--io_size=16k", 64 + 16),
        ("--fallocate=none", 64),
        ("--fallocate=none --number_ios=4", 16),
        ("--fallocate=none --io_size=16k", 16),
        ("--fallocate=keep --number_ios=4", 16),
        ("--fallocate=truncate --number_ios=4", 64 + 16),
        ("--overwrite=1 --fallocate=none --number_ios=4", 64 + 16),
        ("--create_on_open=1 --number_ios=4", 16),
    ] {
        let job = format!(
            "--name=a --rw=write --bs=4k --size=64k --filename=f {first} --name=b --stonewall --rw=write --bs=4k --size=16k \
             --filename=f --file_append=1"
        );
        let (_, files) = same_as_theirs(&job.split_whitespace().collect::<Vec<_>>());
        assert_eq!(files, [("f".to_owned(), end << 10)], "{first}");
    }
}
