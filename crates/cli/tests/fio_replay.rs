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

#[test]
fn what_is_no_trace_is_refused_with_its_place() {
    let place = TestDirectory::new();
    fs::write(place.data().join("t.log"), "fio version 3 iolog\n0 f read 0 nothing\n").unwrap();
    fs::write(place.data().join("b.log"), [0x07, 0x74, 0x61, 0x65, 1, 0, 0, 0]).unwrap();
    for (name, part) in [("t.log", "line 2"), ("b.log", "blktrace"), ("none.log", "check the path")] {
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
