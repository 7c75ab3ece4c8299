//! Orders of offsets, syncs and rates that go together, and means, beside the installed fio's.

use super::*;

/// Offsets of the operations of a run in their order, in blocks, from its log.
fn blocks(run: fn(&TestDirectory, &[&str]) -> Command, place: &TestDirectory, job: &[&str]) -> Vec<u64> {
    let common = ["--name=x", "--filename=data", "--bs=4k", "--write_lat_log=l", "--log_offset=1"];
    let command = run(place, &[&common[..], job].concat());
    let directory = command.get_current_dir().unwrap().to_owned();
    done(command);
    let log = fs::read_to_string(directory.join("l_clat.1.log")).unwrap();
    log.lines().map(|line| line.split(", ").nth(4).unwrap().parse::<u64>().unwrap() / 4096).collect()
}

#[test]
fn identical_operations_repeat_their_offset_as_with_fio() {
    let place = TestDirectory::new();
    let all: [fn(&TestDirectory, &[&str]) -> Command; 2] = [ours, theirs];
    let programs = if fio_is_installed() { &all[..] } else { &all[..1] };
    for run in programs {
        for (options, distinct) in [(&["--norandommap"][..], 1), (&["--norandommap=0"], 4)] {
            let job = ["--rw=randread:4", "--rw_sequencer=identical", "--size=64k"];
            let found = blocks(*run, &place, &[&job[..], options].concat());
            assert_eq!(found.len(), 16, "{options:?}");
            assert!(found.chunks(4).all(|four| four.iter().all(|block| *block == four[0])), "{found:?}");
            let places: BTreeSet<u64> = found.into_iter().collect();
            assert!(places.len() >= distinct, "{places:?}");
        }
    }
}

/// The most frequent block is the same as fio's.
#[test]
fn the_centre_of_a_distribution_is_where_fio_has_it() {
    let place = TestDirectory::new();
    let hottest = |run: fn(&TestDirectory, &[&str]) -> Command, distribution: &str| {
        let distribution = format!("--random_distribution={distribution}");
        let job = ["--rw=randread", "--size=4m", "--number_ios=3000", &distribution];
        let mut counts = std::collections::BTreeMap::new();
        blocks(run, &place, &job).into_iter().for_each(|block| *counts.entry(block).or_insert(0) += 1);
        counts.into_iter().max_by_key(|(_, count)| *count).map(|(block, _)| block)
    };
    for (distribution, block) in [("zipf:1.5:0.25", 256), ("zipf:1.5:0", 0), ("pareto:0.1:0.75", 768)] {
        assert_eq!(hottest(ours, distribution), Some(block), "{distribution}");
        if fio_is_installed() {
            assert_eq!(hottest(theirs, distribution), Some(block), "{distribution}");
        }
    }
    let near = hottest(ours, "normal:1:0.25").unwrap();
    assert!((206..306).contains(&near), "five deviations around 256: {near}");
}

/// Sum of the latencies of a direction in nanoseconds, as far as six digits of the mean tell.
fn sum_of(times: &Value) -> f64 {
    times["mean"].as_f64().unwrap() * times["N"].as_f64().unwrap()
}

#[test]
fn means_are_those_of_exact_sums() {
    let place = TestDirectory::new();
    for engine in ["--ioengine=libaio", "--ioengine=io_uring", "--ioengine=psync"] {
        for rate in ["--rate_iops=20000", "--rate_iops=0"] {
            let job = ["--name=x", "--rw=randrw", "--size=1m", "--iodepth=8", engine, rate];
            let printed = document(&done(ours(&place, &[&job[..], &["--output-format=json"]].concat())));
            for direction in ["read", "write"] {
                let of = &printed["jobs"][0][direction];
                let (total, completion) = (sum_of(&of["lat_ns"]), sum_of(&of["clat_ns"]));
                // A sum of whole nanoseconds, to the six digits that are printed.
                assert!((total - total.round()).abs() < 0.01, "{engine} {rate} {direction}: {total}");
                let submission = if engine.ends_with("psync") { 0.0 } else { sum_of(&of["slat_ns"]) };
                let apart = (submission + completion - total).abs();
                assert!(apart < 0.01, "{engine} {rate} {direction}: {submission} + {completion}, {total}");
            }
        }
    }
}

#[test]
fn a_rate_goes_with_think_time() {
    let place = TestDirectory::new();
    for more in ["--rate_ignore_thinktime=0", "--rate_ignore_thinktime=1"] {
        for (rate, amount) in [("--rate=40m", 256), ("--rate_iops=20k,10k", 256)] {
            let job = ["--name=x", "--rw=randrw", "--size=1m", "--thinktime=100", "--thinktime_blocks=16"];
            let printed =
                document(&done(ours(&place, &[&job[..], &[rate, more, "--output-format=json"]].concat())));
            let operations: u64 =
                amounts(&printed).iter().flat_map(|(_, kinds)| kinds).map(|(operations, _)| operations).sum();
            assert_eq!(operations, amount, "{rate} {more}");
        }
    }
}

#[test]
fn several_kinds_of_sync_go_together() {
    let place = TestDirectory::new();
    let job = ["--name=x", "--rw=write", "--size=48k", "--fsync=4", "--fdatasync=3", "--output-format=json"];
    let printed = document(&done(ours(&place, &job)));
    // After the 4th, 8th and 12th write, and after the 3rd, 6th and 9th.
    assert_eq!(printed["jobs"][0]["sync"]["total_ios"], 6, "{}", printed["jobs"][0]["sync"]);
}
