//! Several files of a job: how many are used at a time, what becomes of them between loops, and when they fill the device; beside the
//! installed fio's.

use super::*;

type Run = fn(&TestDirectory, &[&str]) -> Command;

fn programs() -> &'static [Run] {
    const ALL: [Run; 2] = [ours, theirs];
    if fio_is_installed() { &ALL } else { &ALL[..1] }
}

/// The files and offsets of a run's writes in their order, from its trace.
fn places(run: Run, place: &TestDirectory, job: &[&str]) -> Vec<(char, u64)> {
    let common = ["--name=x", "--bs=4k", "--rw=write", "--write_iolog=trace"];
    let command = run(place, &[&common[..], job].concat());
    let directory = command.get_current_dir().unwrap().to_owned();
    done(command);
    let trace = fs::read_to_string(directory.join("trace")).unwrap();
    fs::remove_file(directory.join("trace")).unwrap();
    let fields = trace.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let write = |fields: Vec<&str>| match fields[..] {
        [_, name, "write", offset, _] => Some((name.chars().last()?, offset.parse().ok()?)),
        _ => None,
    };
    fields.filter_map(write).collect()
}

#[test]
fn as_many_files_are_used_at_a_time_as_may_be_open() {
    let place = TestDirectory::new();
    for job in [
        &["--nrfiles=4", "--size=64k", "--openfiles=1"][..],
        &["--nrfiles=4", "--size=64k", "--openfiles=2"],
        &["--nrfiles=4", "--size=64k", "--openfiles=3"],
        &["--nrfiles=4", "--size=64k", "--openfiles=9"],
        &["--nrfiles=4", "--size=64k", "--openfiles=2", "--file_service_type=roundrobin:2"],
        &["--nrfiles=4", "--size=64k", "--openfiles=2", "--file_service_type=sequential"],
        &["--nrfiles=5", "--size=80k", "--openfiles=2", "--loops=2"],
    ] {
        let [first, rest @ ..] = programs() else { panic!("no program") };
        let found = places(*first, &place, job);
        assert!(found.len() >= 16, "{job:?}: {found:?}");
        for program in rest {
            assert_eq!(found, places(*program, &place, job), "{job:?}");
        }
    }
    // By chance: no more than so many are begun and not done with.
    for program in programs() {
        let job = ["--nrfiles=6", "--size=96k", "--openfiles=2", "--file_service_type=random"];
        let found = places(*program, &place, &job);
        let mut done = std::collections::BTreeMap::new();
        for (file, _) in found {
            *done.entry(file).or_insert(0) += 1;
            assert!(done.values().filter(|writes| **writes < 4).count() <= 2, "{done:?}");
        }
        assert_eq!(done.len(), 6);
    }
}

/// Nothing is left of a loop in the next, so that nothing can be read there.
#[test]
fn files_are_emptied_between_loops() {
    let place = TestDirectory::new();
    for (number, program) in programs().iter().enumerate() {
        let job = ["--name=x", "--nrfiles=2", "--size=64k", "--bs=4k", "--unlink_each_loop=1", "--loops=2"];
        for (more, code, operations) in [
            (&["--rw=write"][..], 0, 32),
            (&["--rw=write", "--ioengine=mmap"], 0, 32),
            (&["--rw=write", "--verify=crc32c"], 0, 64),
            (&["--rw=read"], 1, 16),
        ] {
            // fio 3.33 is killed by SIGBUS.
            if number > 0 && more.contains(&"--ioengine=mmap") {
                continue;
            }
            let mut command = program(&place, &[&job[..], more, &["--output-format=json"]].concat());
            let output = command.output().unwrap();
            let what = format!("{command:?}: {}", stderr(&output));
            assert_eq!(output.status.code(), Some(code), "{what}");
            let jobs = &document(&output)["jobs"][0];
            let done = ["read", "write"].map(|kind| jobs[kind]["total_ios"].as_u64().unwrap());
            assert_eq!(done.iter().sum::<u64>(), operations, "{what}");
            if code == 0 {
                let left = command.get_current_dir().unwrap().join("x.0.0");
                assert_eq!(fs::metadata(left).unwrap().len(), 32 << 10, "{what}");
            }
        }
    }
}

/// What reads and trims besides ends without an error, too, when the device is full.
#[test]
fn mixes_fill_a_device() {
    let place = TestDirectory::new();
    let small = place.root.path().join("small");
    let Some(_mount) = Mount::new(&["-t", "tmpfs", "-o", "size=4m", "tmpfs"], &small) else { return };
    let file = format!("--filename={}", small.join("file").display());
    let run = |program: Run, more: &[&str]| {
        let _ = fs::remove_file(small.join("file"));
        let job = ["--name=x", &file, "--bs=64k", "--fill_device=1", "--output-format=json"];
        let output = program(&place, &[&job[..], more].concat()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{more:?}: {}", stderr(&output));
        let jobs = &document(&output)["jobs"][0];
        let done = ["read", "write", "trim"].map(|kind| jobs[kind]["total_ios"].as_u64().unwrap());
        (done, fs::metadata(small.join("file")).unwrap().len(), jobs["error"].as_u64().unwrap())
    };
    for (program, name) in programs().iter().zip(["ours", "theirs"]) {
        for (more, length) in [
            (&["--rw=rw"][..], 4 << 20),
            (&["--rw=rw", "--size=8m"], 4 << 20),
            (&["--rw=rw", "--size=2m"], 2 << 20),
            (&["--rw=randrw", "--size=2m"], 2 << 20),
            (&["--rw=read", "--size=2m"], 2 << 20),
        ] {
            let ([reads, writes, _], found, error) = run(*program, more);
            assert_eq!((found, error), (length, 0), "{name} {more:?}");
            assert!(reads > 0 && (writes > 0 || more[0] == "--rw=read"), "{name} {more:?}: {reads} {writes}");
            if length == 2 << 20 {
                assert_eq!(reads + writes, 32, "{name} {more:?}");
            }
        }
    }
    // fio fails where it reads what did not fit, and trims of files.
    let ([reads, writes, _], found, error) = run(ours, &["--rw=randrw", "--size=8m"]);
    assert_eq!((reads + writes, found, error), (64, 4 << 20, 0));
    let ([_, writes, trims], found, error) = run(ours, &["--rw=trimwrite", "--size=8m"]);
    assert_eq!((found, error), (4 << 20, 0));
    assert!(trims >= writes && writes == 64, "{trims} {writes}");
}
