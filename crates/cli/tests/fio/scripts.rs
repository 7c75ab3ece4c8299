//! Command lines that vendors and tools publish, with small sizes, and what their scripts read of the output.

use super::*;

/// Published command lines, with the sizes and times of a test; `{dir}` is a directory.
struct Script {
    /// Where it is published.
    from: &'static str,
    command: &'static str,
}

const fn script(from: &'static str, command: &'static str) -> Script {
    Script { from, command }
}

/// Of which the human-readable text is read.
const TEXTS: &[Script] = &[
    script(
        "etcd: fdatasync test",
        "--rw=write --ioengine=sync --fdatasync=1 --directory={dir} --size=230k --bs=2300 --name=mytest",
    ),
    script(
        "Ceph: journal test",
        "--filename={dir}/f --size=1m --direct=1 --sync=1 --rw=write --bs=4k --numjobs=1 --iodepth=1 --runtime=1 \
         --time_based --group_reporting --name=journal-test",
    ),
    script(
        "dbench: read IOPS",
        "--randrepeat=0 --verify=0 --ioengine=libaio --direct=1 --gtod_reduce=1 --name=read_iops --filename={dir}/f \
         --bs=4K --iodepth=64 --size=1M --readwrite=randread --time_based --ramp_time=1s --runtime=1s",
    ),
    script(
        "dbench: write latency",
        "--randrepeat=0 --verify=0 --ioengine=libaio --direct=1 --name=write_latency --filename={dir}/f --bs=4K \
         --iodepth=4 --size=1M --readwrite=randwrite --time_based --ramp_time=1s --runtime=1s",
    ),
    script(
        "dbench: sequential",
        "--randrepeat=0 --verify=0 --ioengine=libaio --direct=1 --gtod_reduce=1 --name=read_seq --filename={dir}/f \
         --bs=64K --iodepth=16 --size=1M --readwrite=read --time_based --ramp_time=1s --runtime=1s --thread --numjobs=2 \
         --offset_increment=256K",
    ),
    script(
        "Google Cloud: write throughput",
        "--name=write_throughput --directory={dir} --numjobs=2 --size=2M --time_based --runtime=1s --ramp_time=1s \
         --ioengine=libaio --direct=1 --verify=0 --bs=256K --iodepth=64 --rw=write --group_reporting=1 \
         --iodepth_batch_submit=64 --iodepth_batch_complete_max=64",
    ),
    script(
        "AWS: io volumes",
        "--directory={dir} --ioengine=psync --name fio_test_file --direct=1 --rw=randwrite --bs=16k --size=1M --numjobs=4 \
         --time_based --runtime=1 --group_reporting --norandommap",
    ),
    script(
        "Oracle Cloud: IOPS",
        "--filename={dir}/f --size=1M --direct=1 --rw=randrw --bs=4k --ioengine=libaio --iodepth=64 --runtime=1 \
         --numjobs=2 --time_based --group_reporting --name=iops-test-job --eta-newline=1",
    ),
    script(
        "KDiskMark: from its bug reports",
        "--ioengine=libaio --direct=1 --randrepeat=0 --refill_buffers --end_fsync=1 --filename={dir}/f \
         --name=readrandjob --size=1M --bs=4k --rw=randread --iodepth=32 --numjobs=2 --loops=2",
    ),
];

fn arguments(command: &str, directory: &Path) -> Vec<String> {
    let command = command.replace("{dir}", &directory.display().to_string());
    command.split_whitespace().map(str::to_owned).collect()
}

/// Runs a script's command with our program, and with the installed fio where there is one.
fn outputs(place: &TestDirectory, command: &str) -> Vec<Output> {
    let run = |make: fn(&TestDirectory, &[&str]) -> Command, directory: PathBuf| {
        fs::create_dir_all(&directory).unwrap();
        let arguments = arguments(command, &directory);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let output = make(place, &arguments).output().unwrap();
        assert!(output.status.success(), "{command}: {}", stderr(&output));
        output
    };
    let mut outputs = vec![run(ours, place.data())];
    assert_eq!(stderr(&outputs[0]), "", "{command}");
    if fio_is_installed() {
        outputs.push(run(theirs, place.root.path().join("theirs-data")));
    }
    outputs
}

/// The words with which lines begin that scripts look for: all before the first `=`, `:`, `(` or `[`, without numbers.
fn starts(text: &str) -> BTreeSet<String> {
    let mut starts = BTreeSet::new();
    for line in text.lines() {
        let start = line.split(['=', ':', '(', '[', '|']).next().unwrap().trim();
        // Which latencies occur, and which devices there are, is for the machine to say.
        if !start.is_empty() && start.chars().all(|c| c.is_ascii_alphabetic() || " /-_".contains(c)) {
            starts.insert(start.to_owned());
        }
    }
    starts
}

#[test]
fn published_command_lines_print_the_lines_that_fio_prints() {
    for Script { from, command } in TEXTS {
        let place = TestDirectory::new();
        let texts: Vec<String> = outputs(&place, command)
            .iter()
            .map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
            .collect();
        let ours = starts(&texts[0]);
        for line in ["cpu", "IO depths", "issued rwts", "submit", "complete", "latency"] {
            assert!(ours.contains(line), "{from}: {line}\n{}", texts[0]);
        }
        for line in [": Laying out IO file", "Run status group 0 (all jobs):"] {
            assert!(texts[0].contains(line), "{from}: {line}\n{}", texts[0]);
        }
        if let Some(theirs) = texts.get(1) {
            let missing: Vec<String> = starts(theirs).difference(&ours).cloned().collect();
            assert!(missing.is_empty(), "{from}: {missing:?}\n{}\n{theirs}", texts[0]);
        }
    }
}

#[test]
fn files_that_are_laid_out_are_announced_as_fio_does() {
    let laid_out = |output: Output| -> Vec<String> {
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().filter(|line| line.contains("Laying out")).map(str::to_owned).collect()
    };
    for job in [
        &["--name=l", "--size=64k", "--rw=write"][..],
        &["--name=l", "--size=5m", "--rw=randread", "--nrfiles=3"],
        &["--name=l", "--size=2500k", "--rw=read", "--numjobs=2"],
        &["--name=l", "--size=2500k", "--rw=read", "--numjobs=2", "--filename=one"],
        &["--name=l", "--size=64k", "--rw=write", "--create_on_open=1"],
        &["--name=l", "--size=64k", "--rw=read", "--output-format=json"],
    ] {
        let place = TestDirectory::new();
        let found = laid_out(done(ours(&place, job)));
        if fio_is_installed() {
            assert_eq!(found, laid_out(theirs(&place, job).output().unwrap()), "{job:?}");
        }
        // What exists is long enough.
        assert!(
            laid_out(done(ours(&place, job))).is_empty() || job.contains(&"--create_on_open=1"),
            "{job:?}"
        );
    }
}

#[test]
fn etcd_finds_the_percentiles_of_syncs() {
    let place = TestDirectory::new();
    for output in outputs(&place, TEXTS[0].command) {
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let syncs = &text[text.find("fsync/fdatasync/sync_file_range:").unwrap()..];
        let percentiles = &syncs[syncs.find("sync percentiles (").unwrap()..];
        assert!(percentiles.contains("99.00th=["), "{percentiles}");
    }
}

/// The value behind a word, up to what is neither a digit, a point nor a `k`.
fn value<'a>(text: &'a str, line: &str, word: &str) -> &'a str {
    let line =
        text.lines().find(|found| found.trim_start().starts_with(line)).unwrap_or_else(|| panic!("{text}"));
    let value = &line[line.find(word).unwrap_or_else(|| panic!("{line}")) + word.len()..];
    let end = value.find(|c: char| !c.is_ascii_digit() && c != '.' && c != 'k').unwrap_or(value.len());
    &value[..end]
}

#[test]
fn dbench_finds_rates_and_latencies() {
    let place = TestDirectory::new();
    for output in outputs(&place, TEXTS[2].command) {
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(!value(&text, "read: ", "IOPS=").is_empty(), "{text}");
        assert!(!value(&text, "read: ", "BW=").is_empty(), "{text}");
    }
    for output in outputs(&place, TEXTS[3].command) {
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(value(&text, "lat (", "avg=").trim().parse::<f64>().is_ok(), "{text}");
    }
}

#[test]
fn yabs_finds_its_fields() {
    let place = TestDirectory::new();
    let command = "--name=rand_rw_4k --ioengine=libaio --rw=randrw --rwmixread=50 --bs=4k --iodepth=64 --numjobs=2 \
                   --size=1M --runtime=1 --time_based --gtod_reduce=1 --direct=1 --filename={dir}/f --group_reporting --minimal";
    for output in outputs(&place, command) {
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let line = text.lines().find(|line| line.contains("rand_rw_4k")).unwrap();
        let fields: Vec<&str> = line.split(';').collect();
        // awk's $7, $8, $48, $49: KiB and operations per second of reads and writes.
        for field in [7, 8, 48, 49] {
            assert!(fields[field - 1].parse::<u64>().unwrap() > 0, "{field}: {line}");
        }
    }
}

/// All keys of a document.
fn paths(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| {
            let path = format!("{path}/{key}");
            paths(value, &path, found);
            found.insert(path);
        }),
        Value::Array(list) => list.iter().for_each(|value| paths(value, path, found)),
        _ => {}
    }
}

#[test]
fn tools_that_read_json_find_their_keys() {
    let kubestr = "[global]\nrandrepeat=0\nverify=0\nioengine=libaio\ndirect=1\ngtod_reduce=1\n\
                   [job1]\nname=read_iops\nbs=4K\niodepth=64\nsize=1M\nreadwrite=randread\ntime_based\nramp_time=1s\nruntime=1s\n\
                   [job2]\nname=write_iops\nbs=4K\niodepth=64\nsize=1M\nreadwrite=randwrite\ntime_based\nramp_time=1s\nruntime=1s\n";
    let place = TestDirectory::new();
    fs::write(place.root.path().join("kubestr.fio"), kubestr).unwrap();
    let file = place.root.path().join("kubestr.fio").display().to_string();
    let kubestr = format!("--directory={{dir}} {file} --output-format=json");
    let kdiskmark = "--output-format=json --ioengine=libaio --direct=1 --randrepeat=0 --refill_buffers --end_fsync=1 \
                     --rwmixread=70 --filename={dir}/f --name=randrw --size=1m --zero_buffers=0 --bs=4k --runtime=1 \
                     --rw=randrw --iodepth=8 --numjobs=2";
    for (command, needed) in [
        (
            kubestr.as_str(),
            &[
                "jobname",
                "read/iops",
                "read/iops_min",
                "read/iops_max",
                "read/iops_mean",
                "read/iops_stddev",
                "read/bw_min",
                "read/bw_max",
                "read/bw_mean",
                "read/bw_dev",
                "write/iops_mean",
                "write/bw_mean",
                "job options/bs",
            ][..],
        ),
        (
            kdiskmark,
            &["read/bw", "read/iops", "read/lat_ns/mean", "write/bw", "write/iops", "write/lat_ns/mean"],
        ),
    ] {
        let found: Vec<BTreeSet<String>> = outputs(&place, command)
            .iter()
            .map(|output| {
                let mut found = BTreeSet::new();
                paths(&document(output), "", &mut found);
                found
            })
            .collect();
        for key in needed {
            assert!(found[0].contains(&format!("/jobs/{key}")), "{command}: {key}");
        }
        if let Some(theirs) = found.get(1) {
            // Which percentiles there are follows from what was done; devices from the machine.
            let missing = theirs.difference(&found[0]).filter(|key| !key.starts_with("/disk_util"));
            assert_eq!(missing.collect::<Vec<_>>(), Vec::<&String>::new(), "{command}");
        }
    }
}
