//! Verified data that the installed fio and `iolite fio` exchange, and damage of it that both find.
//!
//! `IOLITE_FIO_MATRIX=1` runs every method with every option; otherwise each option runs with one method, in turn.

// Helpers of tests may give up as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod common;
#[path = "fio_verify/damage.rs"]
mod damage;

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Output;

use common::fio::{Program, empty_directory, fio_is_installed, run_as_fio};
use common::*;
use damage::made_stale;
use serde_json::Value;

const BOTH: [(Program, Program); 2] = [(Program::Ours, Program::Theirs), (Program::Theirs, Program::Ours)];

/// Every value of `verify` that fio 3.33 knows.
const METHODS: [&str; 18] = [
    "md5",
    "crc64",
    "crc32",
    "crc32c",
    "crc32c-intel",
    "crc16",
    "crc7",
    "sha1",
    "sha256",
    "sha512",
    "sha3-224",
    "sha3-256",
    "sha3-384",
    "sha3-512",
    "xxhash",
    "meta",
    "pattern",
    "null",
];

/// What both programs are asked for besides, when they write and when they read.
const OPTIONS: [&str; 17] = [
    "",
    "--verify_interval=1k",
    "--verify_interval=8k",
    "--verify_interval=3000",
    "--verify_offset=256",
    "--verify_offset=256 --verify_interval=1k",
    "--verify_pattern=0xabcd%o",
    "--verify_pattern=0xdeadbeef",
    "--verify_pattern=\"ab\"-1",
    "--verify_backlog=4",
    "--verify_backlog=8 --verify_backlog_batch=2",
    "--verify_async=2",
    "--verify_dump=1",
    "--verify_fatal=1",
    "--experimental_verify=1",
    "--bs=16k",
    "--ioengine=libaio --iodepth=8",
];

fn run(program: Program, directory: &Path, arguments: &str) -> Output {
    // With its usual clock fio compares that with another at each start, which takes as long as the job.
    let clock = "--clocksource=clock_gettime";
    let common = ["--name=x", "--filename=data", "--size=64k", "--bs=4k", "--output-format=json", clock];
    let all = common.into_iter().chain(arguments.split_whitespace()).map(str::to_owned);
    run_as_fio(program, directory, &all.collect::<Vec<_>>())
}

fn verifying(method: &str, more: &str) -> String {
    let pattern = if method.starts_with("pattern") && !more.contains("verify_pattern") {
        "--verify_pattern=0xdeadbeef12"
    } else {
        ""
    };
    format!("--verify={method} {pattern} {more}")
}

/// Operations of reads, writes and trims.
fn amounts(output: &Output) -> [u64; 3] {
    let text = String::from_utf8_lossy(&output.stdout);
    let document: Value = serde_json::from_str(&text[text.find('{').unwrap()..]).unwrap();
    ["read", "write", "trim"].map(|part| document["jobs"][0][part]["total_ios"].as_u64().unwrap())
}

#[test]
fn every_method_is_exchanged_with_every_option() {
    if !fio_is_installed() {
        return;
    }
    let place = TestDirectory::new();
    let all = std::env::var_os("IOLITE_FIO_MATRIX").is_some();
    let mut differing = Vec::new();
    for (index, method) in METHODS.iter().enumerate() {
        for (number, option) in OPTIONS.iter().enumerate() {
            // Each method without options, and each option with one of the methods.
            if !all && number != 0 && number != index % OPTIONS.len() {
                continue;
            }
            for (writer, reader) in BOTH {
                let directory = empty_directory(&place, "exchange");
                let written = run(
                    writer,
                    &directory,
                    &verifying(method, &format!("--rw=write --do_verify=0 {option}")),
                );
                let read = run(reader, &directory, &verifying(method, &format!("--rw=read {option}")));
                if !written.status.success() || !read.status.success() {
                    differing.push(format!(
                        "{method} {option} by {writer:?}: {}{}",
                        stderr(&written),
                        stderr(&read)
                    ));
                }
            }
        }
    }
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

/// Nothing is read or written by such a job but to verify; of other programs' data, that of sequential jobs.
#[test]
fn what_a_job_would_have_written_is_verified_without_writing() {
    let place = TestDirectory::new();
    let directory = empty_directory(&place, "exchange");
    let ours = |arguments: &str| run(Program::Ours, &directory, arguments);
    for rw in ["write", "randwrite", "randrw", "rw"] {
        let job = format!("--rw={rw} --verify=crc32c");
        assert!(ours(&job).status.success(), "{rw}");
        let before = fs::read(directory.join("data")).unwrap();
        let only = ours(&format!("{job} --verify_only=1"));
        assert!(only.status.success(), "{rw}: {}", stderr(&only));
        assert!(amounts(&only)[0] > 0, "{rw}: {:?}", amounts(&only));
        assert_eq!(fs::read(directory.join("data")).unwrap(), before, "{rw}");
        // The last block that was written, damaged.
        let file = fs::File::options().write(true).open(directory.join("data")).unwrap();
        (0..16).for_each(|block| file.write_all_at(b"damaged", block * 4096 + 999).unwrap());
        assert!(!ours(&format!("{job} --verify_only=1")).status.success(), "{rw}");
    }
    if fio_is_installed() {
        for (writer, reader) in BOTH {
            let directory = empty_directory(&place, "exchange");
            assert!(run(writer, &directory, "--rw=write --verify=md5").status.success());
            let only = run(reader, &directory, "--rw=write --verify=md5 --verify_only=1");
            assert!(only.status.success(), "{writer:?}: {}", stderr(&only));
            assert_eq!(amounts(&only), [16, 16, 0], "{writer:?}");
        }
    }
}

/// With a state only what had been written then is verified; both programs read each other's.
#[test]
fn states_limit_what_is_verified() {
    if !fio_is_installed() {
        return;
    }
    let place = TestDirectory::new();
    let state = "local-x-0-verify.state";
    for (writer, reader) in BOTH {
        let directory = empty_directory(&place, "exchange");
        let job = "--rw=write --verify=crc32c --do_verify=0 --number_ios=6 --verify_state_save=1";
        assert!(run(writer, &directory, job).status.success(), "{writer:?}");
        assert_eq!(fs::read(directory.join(state)).unwrap().len(), 192, "{writer:?}");
        let load = "--rw=write --verify=crc32c --verify_only=1 --verify_state_load=1";
        let saved = fs::read(directory.join(state)).unwrap();
        for program in [reader, writer] {
            // fio replaces it whenever it ends.
            fs::write(directory.join(state), &saved).unwrap();
            let loaded = run(program, &directory, load);
            assert!(loaded.status.success(), "by {writer:?}, read by {program:?}: {}", stderr(&loaded));
            assert_eq!(amounts(&loaded)[0], 6, "by {writer:?}, read by {program:?}");
        }
        fs::write(directory.join(state), "not a state").unwrap();
        let damaged = run(Program::Ours, &directory, load);
        assert!(stderr(&damaged).contains("version 3"), "{}", stderr(&damaged));
    }
}

/// What is read back, when, and how many of each: after each loop, with a backlog, and by the sizes of the writes.
#[test]
fn as_much_is_read_back_as_fio_reads_back() {
    // With options that leave no chance to the number of writes: that of reads and writes of both programs.
    const FIXED: [&str; 12] = [
        "--loops=2",
        "--loops=3 --ioengine=libaio --iodepth=4",
        "--loops=2 --io_size=32k",
        "--loops=2 --do_verify=0",
        "--number_ios=5",
        "--verify_backlog=1 --direct=1",
        "--verify_backlog=5 --loops=2 --direct=1",
        "--verify_backlog=4 --verify_backlog_batch=1 --direct=1",
        "--verify_backlog=4 --verify_backlog_batch=9 --direct=1",
        "--verify_backlog=4 --do_verify=0",
        "--verify_backlog=4 --ioengine=libaio --iodepth=8 --direct=1",
        "--verify_backlog=4 --runtime=60 --direct=1",
    ];
    const SIZES: [&str; 4] = [
        "--bsrange=4k-16k --size=256k",
        "--bssplit=4k/50:8k/30:16k/20 --size=256k",
        "--bssplit=4k/50:12k/50 --size=240k --loops=2",
        "--bsrange=4k-16k --size=256k --verify_backlog=6 --direct=1",
    ];
    let place = TestDirectory::new();
    let installed = fio_is_installed();
    for rw in ["write", "randwrite"] {
        for option in FIXED.iter().chain(&SIZES) {
            let job = format!("--rw={rw} --verify=crc32c {option}");
            let ran = |program| {
                let output = run(program, &empty_directory(&place, "amounts"), &job);
                assert!(output.status.success(), "{job}: {}", stderr(&output));
                amounts(&output)
            };
            let ours = ran(Program::Ours);
            let theirs = if installed { ran(Program::Theirs) } else { ours };
            if FIXED.contains(option) {
                assert_eq!(ours, theirs, "{job}");
            }
            // Sizes are drawn: what is written is read, by both.
            let all = if option.contains("do_verify=0") { 0 } else { 1 };
            for [reads, writes, _] in [ours, theirs] {
                assert!(writes > 0);
                assert_eq!(reads, all * writes, "{job}");
            }
        }
    }
}

/// What a backlog has read from the page cache is read again from the device, after each loop.
#[test]
fn a_buffered_backlog_is_verified_again_from_the_device() {
    let place = TestDirectory::new();
    // Of 16 blocks the backlog reads full ones only.
    for (option, reads, writes) in [
        ("--verify_backlog=4", 12 + 16, 16),
        ("--verify_backlog=5 --loops=2", 2 * (15 + 16), 32),
        ("--verify_backlog=8 --verify_backlog_batch=2", 8 + 16, 16),
        ("--verify_backlog=4 --do_verify=0", 0, 16),
        ("--verify_backlog=16", 16, 16),
        ("--verify_backlog=4 --direct=1", 16, 16),
    ] {
        let output = run(
            Program::Ours,
            &empty_directory(&place, "amounts"),
            &format!("--rw=write --verify=crc32c {option}"),
        );
        assert!(output.status.success(), "{option}: {}", stderr(&output));
        assert_eq!(amounts(&output), [reads, writes, 0], "{option}");
    }
}

/// Damage of the first loop ends the job before the second.
#[test]
fn loops_are_verified_one_by_one() {
    let place = TestDirectory::new();
    let earlier = vec![0; 4096];
    let programs = if fio_is_installed() { &[Program::Ours, Program::Theirs][..] } else { &[Program::Ours] };
    for program in programs {
        let directory = empty_directory(&place, "loops");
        fs::write(directory.join("data"), vec![0; 65536]).unwrap();
        let output = made_stale(*program, &directory, "--loops=2 --output-format=json", &earlier);
        assert!(!output.status.success(), "{program:?}");
        assert_eq!(amounts(&output)[1], 16, "{program:?}");
    }
}

/// A job that is to go on after wrong blocks reads all of them, counts them and leaves the command its exit code.
#[test]
fn a_job_may_go_on_after_wrong_blocks() {
    let place = TestDirectory::new();
    let programs = if fio_is_installed() { &[Program::Ours, Program::Theirs][..] } else { &[Program::Ours] };
    for program in programs {
        for job in ["--rw=read", "--rw=write --verify_only=1"] {
            for (more, code) in [("--continue_on_error=verify", 0), ("", 1)] {
                let directory = empty_directory(&place, "going-on");
                assert!(run(*program, &directory, "--rw=write --verify=md5 --do_verify=0").status.success());
                let file = fs::File::options().write(true).open(directory.join("data")).unwrap();
                [2, 9].into_iter().for_each(|block| file.write_all_at(b"bad", block * 4096 + 99).unwrap());
                drop(file);
                let read = run(*program, &directory, &format!("{job} --verify=md5 {more}"));
                let what = format!("{program:?} {job} {more}: {}", stderr(&read));
                assert_eq!(read.status.code(), Some(code), "{what}");
                let text = String::from_utf8_lossy(&read.stdout);
                let document: Value = serde_json::from_str(&text[text.find("{\n").unwrap()..]).unwrap();
                let of = |key: &str| document["jobs"][0][key].as_u64();
                let counted = if code == 0 { (Some(2), Some(84)) } else { (None, None) };
                assert_eq!((of("total_err"), of("first_error")), counted, "{what}");
                assert_eq!(of("error"), Some(84), "{what}");
            }
        }
    }
}

/// A read is one error, however many of its units are wrong. fio 3.33 loses it unless the last one is.
#[test]
fn errors_count_reads_rather_than_units() {
    let place = TestDirectory::new();
    let programs = if fio_is_installed() { &[Program::Ours, Program::Theirs][..] } else { &[Program::Ours] };
    for program in programs {
        for job in ["--rw=read", "--rw=write --verify_only=1", "--rw=write --verify_only=1 --verify_fatal=1"]
        {
            let directory = empty_directory(&place, "units");
            let method = "--verify=md5 --bs=16k --verify_interval=4k --continue_on_error=verify";
            assert!(
                run(*program, &directory, &format!("--rw=write --do_verify=0 {method}")).status.success()
            );
            let file = fs::File::options().write(true).open(directory.join("data")).unwrap();
            [5, 7, 9, 10, 11]
                .into_iter()
                .for_each(|unit| file.write_all_at(b"bad", unit * 4096 + 99).unwrap());
            let read = run(*program, &directory, &format!("{job} {method}"));
            let text = String::from_utf8_lossy(&read.stdout);
            let document: Value = serde_json::from_str(&text[text.find("{\n").unwrap()..]).unwrap();
            let of = |key: &str| document["jobs"][0][key].as_u64().unwrap();
            let total = if job.contains("fatal") { 1 } else { 2 };
            let counted = (read.status.code(), of("error"), of("total_err"), of("first_error"));
            assert_eq!(counted, (Some(0), 84, total, 84), "{program:?} {job}: {}", stderr(&read));
        }
    }
}

/// In a mix the state counts the writes alone. fio 3.33 does not verify its own there; of its data, a sequential mix is verified.
#[test]
fn states_of_mixes_count_their_writes() {
    let place = TestDirectory::new();
    let writers = if fio_is_installed() { &[Program::Ours, Program::Theirs][..] } else { &[Program::Ours] };
    for writer in writers {
        for rw in if *writer == Program::Ours { &["rw", "randrw"][..] } else { &["rw"] } {
            let directory = empty_directory(&place, "exchange");
            let job = format!("--rw={rw} --verify=crc32c");
            let saved = format!("{job} --do_verify=0 --number_ios=9 --verify_state_save=1");
            let written = amounts(&run(*writer, &directory, &saved))[1];
            assert!((1..9).contains(&written), "{written}");
            let load = format!("{job} --verify_only=1 --verify_state_load=1");
            let loaded = run(Program::Ours, &directory, &load);
            assert!(loaded.status.success(), "{rw} by {writer:?}: {}", stderr(&loaded));
            assert_eq!(amounts(&loaded)[1], written, "{rw} by {writer:?}");
            // The last of the blocks that the state counts.
            let file = fs::File::options().write(true).open(directory.join("data")).unwrap();
            (0..16).for_each(|block| file.write_all_at(b"damaged", block * 4096 + 999).unwrap());
            assert!(!run(Program::Ours, &directory, &load).status.success(), "{rw} by {writer:?}");
        }
    }
}

/// What a job writes in every order and with every way to do it is found right, by fio too where it is what fio does.
#[test]
fn every_order_is_verified() {
    const ORDERS: [&str; 17] = [
        "--norandommap",
        "--random_distribution=zipf:1.2:0.3",
        "--random_generator=lfsr --norandommap",
        "--rw=randwrite:4 --rw_sequencer=identical",
        "--rw=randwrite:4 --rw_sequencer=identical --norandommap",
        "--percentage_random=50",
        "--bsrange=4k-16k",
        "--bssplit=4k/50:8k/50",
        "--loops=2",
        "--io_size=128k",
        "--offset=16k",
        "--zonemode=strided --zonesize=8k --zonerange=16k",
        "--fsync=3 --fdatasync=2",
        "--rate_iops=4000 --thinktime=10",
        "--ioengine=libaio --iodepth=8 --direct=1",
        "--ioengine=io_uring --iodepth=4",
        "--dedupe_percentage=30",
    ];
    let place = TestDirectory::new();
    for (number, order) in ORDERS.iter().enumerate() {
        let all = ["write", "randwrite", "rw", "randrw"];
        let matrix = std::env::var_os("IOLITE_FIO_MATRIX").is_some();
        // Two of them, in turn.
        for rw in if matrix { &all[..] } else { &all[2 * (number % 2)..][..2] } {
            let directory = empty_directory(&place, "exchange");
            // Those of all methods with a checksum, in turn.
            let method = METHODS[number % 16];
            let job = format!("--rw={rw} --verify={method} {order}");
            let own = run(Program::Ours, &directory, &job);
            assert!(own.status.success(), "{job}: {}", stderr(&own));
            assert!(amounts(&own)[1] > 0, "{job}");
            let only = run(Program::Ours, &directory, &format!("{job} --verify_only=1"));
            assert!(only.status.success(), "{job} again: {}", stderr(&only));
            // Any reader verifies what was written in equal blocks from end to end.
            let whole = *rw == "write" && !order.contains("rw=") && order.len() > 9 && !order.contains("bs");
            if whole && !order.contains("zone") && fio_is_installed() {
                let read = format!("--rw=read --verify={method} --size=64k");
                let read = if order.contains("offset") { format!("{read} --offset=16k") } else { read };
                let theirs = run(Program::Theirs, &directory, &read);
                assert!(theirs.status.success(), "{job}, read by fio: {}", stderr(&theirs));
            }
        }
    }
}

/// Trimmed blocks are zeros, or the trims are lost.
#[test]
fn trims_are_verified() {
    let place = TestDirectory::new();
    let directory = empty_directory(&place, "exchange");
    fs::write(directory.join("data"), [7; 65536]).unwrap();
    let job = "--rw=write --verify=crc32c --trim_percentage=50";
    let trimmed = run(Program::Ours, &directory, job);
    assert!(trimmed.status.success(), "{}", stderr(&trimmed));
    assert!(amounts(&trimmed)[2] > 0, "{:?}", amounts(&trimmed));
    for rw in ["rw", "randrw"] {
        let mixed = run(
            Program::Ours,
            &directory,
            &format!("--rw={rw} --size=1m --verify=md5 --trim_percentage=60 --rwmixread=40"),
        );
        assert!(mixed.status.success(), "{}", stderr(&mixed));
        assert!(amounts(&mixed).iter().all(|operations| *operations > 0), "{:?}", amounts(&mixed));
    }
    fs::write(directory.join("data"), [7; 65536]).unwrap();
    assert!(run(Program::Ours, &directory, job).status.success());
    // Blocks that were trimmed and not written again.
    let data = fs::read(directory.join("data")).unwrap();
    assert!(data.chunks(4096).any(|block| block.iter().all(|byte| *byte == 0)), "no block is zero");
    assert!(run(Program::Ours, &directory, "--rw=randtrimwrite --verify=crc32c").status.success());
}
