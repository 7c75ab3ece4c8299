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

/// Files of these sizes, in blocks, are there before, and the job has what they hold.
fn places_in(run: Run, place: &TestDirectory, sizes: &[u64], job: &[&str]) -> Vec<(char, u64)> {
    let directory = run(place, &[]).get_current_dir().unwrap().to_owned();
    let names: Vec<String> = ('a'..).take(sizes.len()).map(String::from).collect();
    for (name, size) in names.iter().zip(sizes) {
        fs::write(directory.join(name), vec![1; (size * 4096) as usize]).unwrap();
    }
    let files = format!("--filename={}", names.join(":"));
    places(run, place, &[&[files.as_str()], job].concat())
}

/// A file that nothing is left of is closed when its turn comes, and only then makes way for another.
#[test]
fn files_of_different_sizes_make_way_for_each_other_as_with_fio() {
    let place = TestDirectory::new();
    for sizes in [&[1, 4, 2, 1][..], &[4, 1], &[3, 1, 5, 2, 4], &[2, 2, 6]] {
        for job in [
            &[][..],
            &["--openfiles=1"],
            &["--openfiles=2"],
            &["--openfiles=3"],
            &["--openfiles=2", "--loops=2"],
            &["--openfiles=2", "--file_service_type=roundrobin:2"],
            &["--openfiles=2", "--file_service_type=roundrobin:3", "--loops=3"],
            &["--openfiles=2", "--file_service_type=sequential"],
            &["--loops=2"],
        ] {
            let found = places_in(ours, &place, sizes, job);
            let blocks: u64 = sizes.iter().sum();
            assert_eq!(found.len() as u64 % blocks, 0, "{sizes:?} {job:?}: {found:?}");
            if fio_is_installed() {
                assert_eq!(found, places_in(theirs, &place, sizes, job), "{sizes:?} {job:?}");
            }
        }
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
            (&["--rw=read"], 4 << 20),
            (&["--rw=randread", "--size=8m"], 4 << 20),
        ] {
            let ([reads, writes, _], found, error) = run(*program, more);
            assert_eq!((found, error), (length, 0), "{name} {more:?}");
            assert!(
                reads > 0 && (writes > 0 || more[0].ends_with("read")),
                "{name} {more:?}: {reads} {writes}"
            );
            if length == 2 << 20 {
                assert_eq!(reads + writes, 32, "{name} {more:?}");
            }
        }
    }
    // All that fits is done once in each loop.
    for program in programs() {
        assert_eq!(run(*program, &["--rw=read", "--size=8m", "--loops=2"]).0, [128, 0, 0]);
    }
    // fio fails where it reads what did not fit, and trims of files.
    let ([reads, writes, _], found, error) = run(ours, &["--rw=randrw", "--size=8m"]);
    assert_eq!((reads + writes, found, error), (64, 4 << 20, 0));
    let ([_, writes, trims], found, error) = run(ours, &["--rw=trimwrite", "--size=8m"]);
    assert_eq!((found, error), (4 << 20, 0));
    assert!(trims >= writes && writes == 64, "{trims} {writes}");
    // Files for which there was no space are removed with the others.
    fs::remove_file(small.join("file")).unwrap();
    let directory = format!("--directory={}", small.display());
    let several =
        ["--name=y", &directory, "--rw=randrw", "--bs=64k", "--size=16m", "--nrfiles=4", "--fill_device=1"];
    for (unlink, left) in [("--unlink=1", 0), ("--unlink=0", 4)] {
        done(ours(&place, &[&several[..], &[unlink]].concat()));
        assert_eq!(entries(&small).len(), left, "{unlink}");
    }
}

/// A job that has a file open keeps what it holds, though another job removes it between its loops; what is left is that job's, and of
/// a symbolic link, only the link is removed.
#[test]
fn what_others_have_open_is_kept_when_files_are_removed() {
    let place = TestDirectory::new();
    for program in programs() {
        let common = ["--bs=4k", "--filename=shared", "--size=64k", "--output-format=json"];
        let reader = ["--name=reader", "--rw=read", "--rate_iops=20"];
        // By then, the reader has opened it; fio's processes do so one after the other.
        let writer =
            ["--name=writer", "--rw=write", "--unlink_each_loop=1", "--loops=3", "--startdelay=200ms"];
        let mut command = program(&place, &[&common[..], &reader, &writer].concat());
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{command:?}: {}", stderr(&output));
        let jobs = &document(&output)["jobs"];
        let done = |job: usize, kind: &str| jobs[job][kind]["total_ios"].as_u64().unwrap();
        assert_eq!((done(0, "read"), done(1, "write")), (16, 48), "{command:?}");
        let directory = command.get_current_dir().unwrap().to_owned();
        assert_eq!(fs::metadata(directory.join("shared")).unwrap().len(), 64 << 10);

        for (options, kept) in [(&["--unlink_each_loop=1", "--loops=2"][..], true), (&["--unlink=1"], false)]
        {
            let (target, link) = (directory.join("target"), directory.join("link"));
            fs::write(&target, [7; 16384]).unwrap();
            let _ = fs::remove_file(&link);
            std::os::unix::fs::symlink("target", &link).unwrap();
            let job = ["--name=x", "--filename=link", "--size=16k", "--bs=4k", "--rw=write"];
            let output = program(&place, &[&job[..], options].concat()).output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{options:?}: {}", stderr(&output));
            assert_eq!(fs::metadata(&target).unwrap().len(), 16384, "{options:?}");
            let found = fs::symlink_metadata(&link).is_ok_and(|found| found.is_file());
            assert_eq!(found, kept, "{options:?}");
        }
    }
}

/// Files that a law favours are gone through again, until all of the size is done.
#[test]
fn a_law_of_files_leaves_nothing_of_the_size_undone() {
    let place = TestDirectory::new();
    for program in programs() {
        let job = ["--name=x", "--rw=read", "--size=100k", "--bs=16k", "--nrfiles=2", "--output-format=json"];
        let output =
            program(&place, &[&job[..], &["--file_service_type=zipf:1.2"]].concat()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        // Each file has three whole blocks and a part of one.
        assert_eq!(document(&output)["jobs"][0]["read"]["total_ios"], 7);
    }
}

/// The blocks of a file become those of another one; what it holds stays.
#[test]
fn blocks_are_exchanged_with_those_of_another_file() {
    let place = TestDirectory::new();
    let contents: Vec<u8> = (0..1 << 20).map(|at: u32| (at >> 8) as u8).collect();
    let refused =
        ours(&place, &["--name=x", "--ioengine=e4defrag", "--rw=write", "--size=1m"]).output().unwrap();
    assert!(stderr(&refused).contains("donorname"), "{}", stderr(&refused));
    for inplace in ["--inplace=0", "--inplace=1"] {
        let job = "--name=x --filename=f --size=1m --bs=32k --rw=write --ioengine=e4defrag --donorname=d --directory=.";
        let mut job: Vec<&str> = job.split(' ').collect();
        job.extend([inplace, "--output-format=json"]);
        let mut left = Vec::new();
        for program in programs() {
            let mut command = program(&place, &job);
            let directory = command.get_current_dir().unwrap().to_owned();
            let _ = fs::remove_file(directory.join("d"));
            let file = fs::File::create(directory.join("f")).unwrap();
            std::io::Write::write_all(&mut &file, &contents).unwrap();
            file.sync_all().unwrap();
            drop(file);
            let place_of = |name: &str| {
                let file = fs::File::open(directory.join(name)).unwrap();
                iolite_sys::extents::placed(&file, 1 << 20).map(|placed| placed.start).unwrap()
            };
            let before = place_of("f");
            let output = command.output().unwrap();
            if left.is_empty() && output.status.code() != Some(0) && stderr(&output).contains("not supported")
            {
                return skip(&format!("this file system exchanges no blocks: {}", stderr(&output)))
                    .unwrap_or(());
            }
            if !left.is_empty() && stderr(&output).contains("e4defrag init failed") {
                // fio 3.33 starts it on some files only.
                eprintln!("skipped: fio: {}", stderr(&output).trim());
                continue;
            }
            assert_eq!(output.status.code(), Some(0), "{command:?}: {}", stderr(&output));
            let jobs = &document(&output)["jobs"][0];
            assert!(fs::read(directory.join("f")).unwrap() == contents, "{command:?}");
            // With inplace=1 blocks that were given back may come again, and fio leaves the donor empty (docs/fio.md).
            let all_before = inplace == "--inplace=0";
            assert!(!all_before || place_of("f") != before, "{command:?}");
            let donor = fs::metadata(directory.join("d")).map(|found| found.len()).ok();
            let donor = donor.filter(|_| all_before);
            left.push((jobs["write"]["total_ios"].clone(), jobs["write"]["io_bytes"].clone(), donor));
        }
        assert_eq!(left[0].0, 32);
        // Again, what was exchanged just before.
        let output = done(ours(&place, &[&job[..], &["--loops=2"]].concat()));
        assert_eq!(document(&output)["jobs"][0]["write"]["total_ios"], 64);
        assert!(left.iter().all(|other| *other == left[0]), "{inplace}: {left:?}");
        // Half a block is no fault of the storage.
        let output = ours(&place, &[&job[..], &["--bs=512"]].concat()).output().unwrap();
        assert_eq!(document(&output)["jobs"][0]["error"], 22);
    }
}
