//! Traces under fio's name: written by one, repeated by the other.

// Helpers of tests may give up as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod common;

use std::fs;
use std::process::{Command, Stdio};

use common::*;
use serde_json::Value;

/// Our fio in the place's directory.
fn ours(place: &TestDirectory, arguments: &[&str]) -> Command {
    let mut command = Command::new(IOLITE);
    command.arg("fio").args(arguments).current_dir(place.data()).stdin(Stdio::null());
    command.env("XDG_DATA_HOME", place.root.path()).env("NO_COLOR", "1");
    command
}

/// The installed fio in the same directory; `None` where there is none.
fn theirs(place: &TestDirectory, arguments: &[&str]) -> Option<Command> {
    if !common::fio::fio_is_installed() {
        return None;
    }
    let mut command = Command::new("fio");
    command.args(arguments).current_dir(place.data()).stdin(Stdio::null());
    Some(command)
}

/// Operations and bytes of reads and writes that a job of a run in JSON has done.
fn amounts(mut command: Command) -> [(u64, u64); 2] {
    let output = command.arg("--output-format=json").output().unwrap();
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    assert_eq!(output.status.code(), Some(0), "{command:?}\n{}{text}", stderr(&output));
    let document: Value = serde_json::from_str(&text[text.find("{\n").unwrap()..]).unwrap();
    ["read", "write"].map(|direction| {
        let part = &document["jobs"][0][direction];
        (part["total_ios"].as_u64().unwrap(), part["io_bytes"].as_u64().unwrap())
    })
}

/// The operations of a trace, in their order: file, action, offset and length; without syncs, whose offsets say nothing.
fn operations(place: &TestDirectory, name: &str) -> Vec<String> {
    let text = fs::read_to_string(place.data().join(name)).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("fio version 3 iolog"));
    let words = lines.map(|line| line.split(' ').skip(1).collect::<Vec<_>>());
    words
        .filter(|words| words.len() == 4 && !words[1].ends_with("sync"))
        .map(|words| format!("{} {}", words[0].rsplit('/').next().unwrap(), words[1..].join(" ")))
        .collect()
}

const JOB: [&str; 7] = [
    "--name=t",
    "--filename=f1:f2",
    "--rw=randrw",
    "--size=256k",
    "--bs=4k,8k",
    "--fdatasync=5",
    "--write_iolog=t.log",
];

#[test]
fn our_trace_is_repeated_by_both() {
    let place = TestDirectory::new();
    let asynchronous = ["--ioengine=libaio", "--direct=1", "--iodepth=8"];
    let written = amounts(ours(&place, &[&JOB[..], &asynchronous].concat()));
    let traced = operations(&place, "t.log");
    assert_eq!(traced.len() as u64, written[0].0 + written[1].0);
    let replay = ["--name=r", "--read_iolog=t.log", "--replay_no_stall=1"];
    let again = amounts(ours(&place, &[&replay[..], &["--write_iolog=again.log"]].concat()));
    assert_eq!((again, operations(&place, "again.log")), (written, traced.clone()));
    // One at a time the instants can be kept, too.
    let timed = amounts(ours(&place, &["--name=r", "--read_iolog=t.log", "--write_iolog=timed.log"]));
    assert_eq!((timed, operations(&place, "timed.log")), (written, traced));
    let Some(theirs) = theirs(&place, &replay) else { return };
    assert_eq!(amounts(theirs), written);
}

#[test]
fn the_trace_of_the_installed_fio_is_repeated() {
    let place = TestDirectory::new();
    let Some(theirs) = theirs(&place, &JOB) else { return };
    let written = amounts(theirs);
    for engine in ["psync", "io_uring", "libaio"] {
        let replay = ["--name=r", "--read_iolog=t.log", "--iodepth=4", "--write_iolog=again.log"];
        let engine = format!("--ioengine={engine}");
        let again = amounts(ours(&place, &[&replay[..], &[&engine]].concat()));
        assert_eq!(
            (again, operations(&place, "again.log")),
            (written, operations(&place, "t.log")),
            "{engine}"
        );
    }
}

#[test]
fn a_trace_may_be_sent_elsewhere() {
    let place = TestDirectory::new();
    let trace = "fio version 3 iolog\n0 /gone add\n0 /gone open\n1 /gone read 5000 4096\n2 /gone write 9000 512\n\
                 3 /gone trim 0 8192\n4 /gone sync 0 0\n5 /gone close\n";
    fs::write(place.data().join("t.log"), trace).unwrap();
    let moved = ["--replay_redirect=here", "--replay_scale=2", "--replay_align=512", "--replay_skip=trim"];
    let replay = ["--name=r", "--read_iolog=t.log", "--write_iolog=again.log"];
    assert_eq!(amounts(ours(&place, &[&replay[..], &moved].concat())), [(1, 4096), (1, 512)]);
    assert_eq!(operations(&place, "again.log"), ["here read 2048 4096", "here write 4096 512"]);
    assert!(!std::path::Path::new("/gone").exists());
}

/// A binary trace as blkparse writes it: category, time in microseconds, sector and bytes of operations that arrive at device 8:16.
fn binary_trace(operations: &[(u32, u64, u64, u32)]) -> Vec<u8> {
    let event = |(number, (category, at, sector, bytes)): (usize, &(u32, u64, u64, u32))| {
        let mut event = Vec::new();
        event.extend(0x6561_7407_u32.to_le_bytes());
        event.extend((number as u32).to_le_bytes());
        event.extend((at * 1000).to_le_bytes());
        event.extend(sector.to_le_bytes());
        event.extend(bytes.to_le_bytes());
        event.extend((category << 16 | 1).to_le_bytes());
        event.extend(77u32.to_le_bytes());
        event.extend((8u32 << 20 | 16).to_le_bytes());
        event.extend([0; 8]);
        event
    };
    operations.iter().enumerate().flat_map(event).collect()
}

#[test]
fn a_binary_trace_is_repeated_by_both() {
    let place = TestDirectory::new();
    let (reads, writes, flushes) = (1 | 1 << 4, 1 << 1 | 1 << 4, 1 << 2 | 1 << 4);
    let operations_of_trace = [
        (reads, 100, 8, 4096),
        (writes, 300, 64, 8192),
        (writes, 400, 16, 512),
        (flushes, 500, 0, 0),
        (reads, 900, 64, 4096),
    ];
    fs::write(place.data().join("t.bin"), binary_trace(&operations_of_trace)).unwrap();
    fs::write(place.data().join("f"), vec![0; 1 << 20]).unwrap();
    let target = format!("--replay_redirect={}", place.data().join("f").display());
    let replay = ["--name=r", "--read_iolog=t.bin", &target];
    let ours_done = amounts(ours(&place, &[&replay[..], &["--write_iolog=again.log"]].concat()));
    assert_eq!(ours_done, [(2, 8192), (2, 8704)]);
    let expected = ["f read 4096 4096", "f write 32768 8192", "f write 8192 512", "f read 32768 4096"];
    assert_eq!(operations(&place, "again.log"), expected);
    if let Some(theirs) = theirs(&place, &replay) {
        assert_eq!(amounts(theirs), ours_done);
    }
}

/// fio 3.33 can't merge (`iolog short read`): what its manual says is tested.
#[test]
fn binary_traces_are_merged_into_a_file() {
    let place = TestDirectory::new();
    let (read, write) = (1 | 1 << 4, 1 << 1 | 1 << 4);
    fs::write(place.data().join("a"), binary_trace(&[(read, 100, 8, 4096), (read, 300, 16, 4096)])).unwrap();
    fs::write(place.data().join("b"), binary_trace(&[(write, 50, 64, 512), (write, 200, 72, 512)])).unwrap();
    let merge = ["--name=m", "--read_iolog=a:b", "--merge_blktrace_file=c", "--replay_redirect=f"];
    let scaled = ["--merge_blktrace_scalars=50:100", "--merge_blktrace_iters=2:1"];
    // A job that cannot run leaves nothing.
    let refused =
        ours(&place, &[&merge[..], &["--ioengine=io_uring", "--hipri=1"]].concat()).output().unwrap();
    assert_eq!(refused.status.code(), Some(1), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("polling") && !place.data().join("c").exists(), "{}", stderr(&refused));
    let output = ours(&place, &[&merge[..], &scaled, &["--merge-blktrace-only"]].concat()).output().unwrap();
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
    assert!(!place.data().join("f").exists(), "no job was run");
    let merged = fs::read(place.data().join("c")).unwrap();
    let sectors: Vec<u64> =
        merged.chunks(48).map(|event| u64::from_le_bytes(event[16..24].try_into().unwrap())).collect();
    assert_eq!(sectors, [8, 64, 16, 8, 72, 16]);
    let done = amounts(ours(&place, &merge));
    assert_eq!(done, [(2, 8192), (2, 1024)]);
    // What was merged is a trace itself, also to fio.
    let target = format!("--replay_redirect={}", place.data().join("f").display());
    let again = ["--name=m", "--read_iolog=c", &target];
    assert_eq!(amounts(ours(&place, &again)), done);
    if let Some(theirs) = theirs(&place, &again) {
        assert_eq!(amounts(theirs), done);
    }
}

#[test]
fn what_is_no_trace_is_refused_with_its_place() {
    let place = TestDirectory::new();
    fs::write(place.data().join("t.log"), "fio version 3 iolog\n0 f read 0 nothing\n").unwrap();
    fs::write(place.data().join("b.log"), [0x07, 0x74, 0x61, 0x65, 1, 0, 0, 0]).unwrap();
    for (name, part) in [("t.log", "line 2"), ("b.log", "within its event 1"), ("none.log", "check the path")]
    {
        let read = format!("--read_iolog={name}");
        let output = ours(&place, &["--name=r", &read]).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        let message = stderr(&output);
        assert!(message.contains(name) && message.contains(part), "{message}");
    }
}

/// Each direction keeps its rate, and what has none goes as fast as it can: as the installed fio does.
#[test]
fn directions_have_rates_of_their_own() {
    let place = TestDirectory::new();
    let job = [
        "--name=r",
        "--ioengine=null",
        "--rw=randrw",
        "--size=1g",
        "--number_ios=330",
        "--rate_iops=1000,100",
    ];
    let [(reads, _), (writes, _)] = amounts(ours(&place, &job));
    assert_eq!((reads, writes), (300, 30));
    let job = ["--name=r", "--ioengine=null", "--rw=randrw", "--size=1g", "--number_ios=5000", "--rate=1,"];
    let [(reads, _), (writes, _)] = amounts(ours(&place, &job));
    assert_eq!((reads, writes), (1, 4999));
}

/// A batch of four that is waited for as a whole is replaced by a batch of four.
#[test]
fn batches_show_in_the_distributions() {
    let place = TestDirectory::new();
    let batch = ["--iodepth_batch=4", "--iodepth_batch_complete_min=4", "--iodepth_batch_complete_max=4"];
    let job = ["--name=b", "--ioengine=libaio", "--direct=1", "--iodepth=16", "--rw=randread", "--size=1m"];
    let output = ours(&place, &[&job[..], &batch, &["--output-format=json"]].concat()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    let job = &document["jobs"][0];
    assert_eq!(job["read"]["total_ios"], 256);
    assert_eq!((&job["iodepth_submit"]["4"], &job["iodepth_complete"]["4"]), (&100.0.into(), &100.0.into()));
}
