//! `zonemode=zbd` and `ramp_size`: the installed fio and `iolite fio` on the same file used as if it had zones, and amounts that are
//! known.

// Helpers of tests may give up as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use common::fio::{Program, empty_directory, fio_is_installed, run_as_fio};
use common::*;
use serde_json::Value;

/// Blocks of 4 KiB in a zone.
const ZONE: u64 = 16;

/// Of these, blocks that hold data.
const HOLDS: u64 = 12;

/// What a job did: kind, and number of the block, in order; and operations and bytes of reads, writes and trims.
type Did = (Vec<(char, u64)>, [(u64, u64); 3]);

fn did(program: Program, directory: &Path, options: &str) -> Did {
    fs::write(directory.join("f"), vec![7; 256 << 10]).unwrap();
    let fixed = "--name=j --filename=f --size=256k --zonemode=zbd --zonesize=64k --bs=4k --output-format=json \
                 --write_iolog=log";
    let arguments: Vec<String> = fixed.split(' ').chain(options.split(' ')).map(str::to_owned).collect();
    let output = run_as_fio(program, directory, &arguments);
    assert!(output.status.success(), "{program:?} {options}: {}", stderr(&output));
    let text = String::from_utf8_lossy(&output.stdout);
    let document: Value = serde_json::from_str(&text[text.find("{\n").unwrap()..]).unwrap();
    let job = &document["jobs"][0];
    let amounts = ["read", "write", "trim"].map(|kind| {
        let number = |key: &str| job[kind][key].as_u64().unwrap();
        (number("total_ios"), number("io_bytes"))
    });
    // The last three columns of a line are the operation, its offset and its size.
    let log = fs::read_to_string(directory.join("log")).unwrap_or_default();
    let order = log.lines().filter_map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        let at = words.iter().position(|word| ["read", "write", "trim"].contains(word))?;
        let offset: u64 = words.get(at + 1)?.parse().ok()?;
        Some((words[at].chars().next()?, offset / 4096))
    });
    (order.collect(), amounts)
}

fn ours_and_theirs(options: &str) -> [Did; 2] {
    let place = TestDirectory::new();
    [Program::Ours, Program::Theirs]
        .map(|program| did(program, &empty_directory(&place, &format!("{program:?}")), options))
}

#[test]
fn sequential_jobs_go_through_zones_as_fio_s_do() {
    if !fio_is_installed() {
        return;
    }
    for options in [
        "--rw=write --zonecapacity=48k",
        "--rw=write --zonecapacity=48k --loops=2",
        "--rw=write --zonecapacity=48k --io_size=512k",
        "--rw=write --zonecapacity=48k --zoneskip=64k",
        "--rw=write --zonecapacity=48k --offset=32k --size=200k",
        "--rw=write --zonecapacity=48k --size=200k",
        "--rw=write",
        "--rw=read --zonecapacity=48k",
        "--rw=read --read_beyond_wp=1",
        "--rw=trim --bs=64k",
    ] {
        let [ours, theirs] = ours_and_theirs(options);
        assert_eq!(ours, theirs, "{options}");
    }
}

/// Each write is at the write pointer of its zone, which is 0 again once the zone was full, or at the start of a zone that was reset.
fn is_at_write_pointers(order: &[(char, u64)], resets: bool) {
    let mut pointers: BTreeMap<u64, u64> = BTreeMap::new();
    for (kind, block) in order {
        let (zone, within) = (block / ZONE, block % ZONE);
        let pointer = pointers.entry(zone).or_default();
        if *kind == 'w' {
            assert!(within == *pointer % HOLDS || (resets && within == 0), "{block} of {order:?}");
            *pointer = within + 1;
        } else {
            assert!(within < *pointer, "nothing is written at {block}: {order:?}");
        }
    }
}

#[test]
fn random_jobs_write_at_write_pointers_and_read_below_them_as_fio_s_do() {
    if !fio_is_installed() {
        return;
    }
    for (options, resets) in [
        ("--rw=randwrite --zonecapacity=48k", false),
        ("--rw=randwrite --zonecapacity=48k --max_open_zones=1", false),
        ("--rw=randwrite --zonecapacity=48k --max_open_zones=2 --job_max_open_zones=2", false),
        ("--rw=randwrite --zonecapacity=48k --zone_reset_threshold=0.1 --zone_reset_frequency=0.5", true),
        ("--rw=randread --zonecapacity=48k", false),
    ] {
        let [ours, theirs] = ours_and_theirs(options);
        assert_eq!(ours.1, theirs.1, "{options}");
        is_at_write_pointers(&ours.0, resets);
        is_at_write_pointers(&theirs.0, resets);
    }
    let [ours, theirs] = ours_and_theirs("--rw=randrw --zonecapacity=48k");
    let sum = |did: &Did| did.1.iter().map(|(operations, _)| operations).sum::<u64>();
    assert_eq!((sum(&ours), sum(&theirs)), (64, 64));
    is_at_write_pointers(&ours.0, false);
}

/// The number of open zones is that of zones that are begun and not full.
#[test]
fn no_more_zones_are_open_than_allowed() {
    let place = TestDirectory::new();
    for limit in 1..=3 {
        let directory = empty_directory(&place, "open");
        let options = format!("--rw=randwrite --zonecapacity=48k --max_open_zones={limit} --io_size=1m");
        let (order, _) = did(Program::Ours, &directory, &options);
        let mut open: BTreeMap<u64, u64> = BTreeMap::new();
        for (_, block) in order {
            let (zone, within) = (block / ZONE, block % ZONE);
            open.insert(zone, within + 1);
            if within + 1 == HOLDS {
                open.remove(&zone);
            }
            assert!(open.len() <= limit, "{open:?}");
        }
    }
}

#[test]
fn options_of_zones_are_refused_where_they_mean_nothing() {
    let place = TestDirectory::new();
    let directory = empty_directory(&place, "refused");
    for (options, reason) in [
        ("--max_open_zones=2", "zonemode=zbd only"),
        ("--zonemode=zbd --rw=write", "specify their size"),
        ("--zonemode=zbd --zonesize=64k --rw=write --verify=crc32c", "cannot be verified"),
        ("--zonemode=zbd --zonesize=64k --rw=write --zone_reset_threshold=0.5", "zone_reset_frequency"),
        (
            "--zonemode=zbd --zonesize=64k --zonecapacity=4k --bs=8k --rw=write",
            "no operation fits into a zone",
        ),
        ("--zonemode=zbd --zonesize=1m --rw=write", "no zone of this size"),
        ("--zonemode=zbd --zonesize=64k --rw=trimwrite", "zoned block devices"),
        ("--ramp_size=4k --ramp_time=1", "together"),
        ("--ramp_size=4k --ioengine=filecreate", "ramp_size"),
    ] {
        let fixed = "--name=j --filename=f --size=256k";
        let arguments: Vec<String> = fixed.split(' ').chain(options.split(' ')).map(str::to_owned).collect();
        let output = run_as_fio(Program::Ours, &directory, &arguments);
        assert_eq!(output.status.code(), Some(1), "{options}");
        assert!(stderr(&output).contains(reason), "{options}: {}", stderr(&output));
    }
}

#[test]
fn ramp_size_leaves_out_just_that_amount_of_each_clone() {
    let place = TestDirectory::new();
    let directory = empty_directory(&place, "ramp");
    let arguments: Vec<String> =
        "--name=j --filename=f --size=1m --bs=4k --rw=randread --ramp_size=256k --numjobs=2 \
         --log_offset=1 --write_lat_log=l --write_bw_log=l --log_avg_msec=0 --output-format=json"
            .split_whitespace()
            .map(str::to_owned)
            .collect();
    let output = run_as_fio(Program::Ours, &directory, &arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    for (number, job) in document["jobs"].as_array().unwrap().iter().enumerate() {
        assert_eq!(job["read"]["total_ios"], 192, "of 256 blocks, 64 are the ramp's");
        assert_eq!(job["read"]["io_bytes"], 192 * 4096);
        let log = fs::read_to_string(directory.join(format!("l_clat.{}.log", number + 1))).unwrap();
        assert_eq!(log.lines().count(), 192);
    }
}
