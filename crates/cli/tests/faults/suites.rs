//! Suites on a file system that fails: no success, whatever else came of them.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::common::{IOLITE, json, stderr};
use crate::file_system::Faulty;
use crate::fuse::{Call, Fault, Rule};
use crate::{ended_by_itself, injected};

/// A command with these arguments while a read in ten fails, from the tenth on.
fn failing(faulty: &Faulty, arguments: &[&str]) -> Output {
    faulty.disk.script().set(vec![Rule::new(Call::Read, Fault::Error(5)).after(10).every(10)]);
    let mut command = Command::new(IOLITE);
    command.args(arguments).arg("--results").arg(faulty.place.results()).args(["--quiet", "--json"]);
    let output = command.env("NO_COLOR", "1").stdin(Stdio::null()).output().unwrap();
    ended_by_itself(&output);
    injected("errors of reads", faulty.struck(0));
    assert!(faulty.struck(0) > 0, "{arguments:?} has met no error: {}", stderr(&output));
    output
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_failing_disk_is_unfit_by_the_classic_tests() {
    let Some(faulty) = Faulty::new() else { return };
    let output = failing(&faulty, &["classic", "dd", text(&faulty.directory()), "--size", "1MiB"]);
    let verdict = json(&output)["verdict"].clone();
    assert_eq!(output.status.code(), Some(4), "{verdict}");
    assert_eq!((&verdict["fitness"], &verdict["reasons"][0]["what"]), (&"unfit".into(), &"errors".into()));
}

#[test]
fn suites_without_a_verdict_end_with_the_code_of_failed_operations() {
    let Some(faulty) = Faulty::new() else { return };
    let directory = faulty.directory();
    let (directory, mine) = (text(&directory), directory.join("mine"));
    std::fs::write(&mine, vec![1; 20 << 20]).unwrap();
    let mine = text(&mine);
    let job = |name: &str, block: &str| {
        let path = faulty.place.root.path().join(name);
        let task = format!(
            "[[tasks]]\n[tasks.io]\nname = 'measured'\ntarget.existing = {{ path = '{mine}' }}\nbackend = 'sync'\n\
             mix = 'read'\nblock = '{block}'\nstop.runtime = '200ms'\n"
        );
        std::fs::write(&path, task).unwrap();
        path
    };
    let (a, b) = (job("a.toml", "4KiB"), job("b.toml", "8KiB"));
    let commands: [&[&str]; 3] = [
        &["iometer", "spec", "File Server", directory, "--size", "4MiB", "--time", "200ms"],
        &["study", "blocksize", mine, "--sizes", "4KiB,8KiB", "--window", "200ms"],
        &["ab", text(&a), text(&b), "--repeat", "2"],
    ];
    for command in commands {
        let output = failing(&faulty, command);
        assert_eq!(output.status.code(), Some(3), "{command:?}: {}", stderr(&output));
    }
    // Figures of a drive that fails are none: the first error ends it.
    let short = ["--tests", "latency", "--purge", "none", "--scale", "0.0001", "--max-rounds", "5"];
    let output = failing(&faulty, &[&["pts", mine, "--allow-overwrite", mine][..], &short].concat());
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert_eq!(json(&output)["ending"]["kind"], "failed", "{}", stderr(&output));
    let reason = stderr(&output);
    assert!(reason.contains("first error that the job does not allow: read: Input/output error"), "{reason}");
}
