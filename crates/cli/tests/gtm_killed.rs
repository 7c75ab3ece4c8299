//! GT.M, after this program and all processes of GT.M that worked for it were killed at once. A program of tests of its own:
//! orphans become its children, so that when they are reaped does not depend on the host's process 1.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]

mod common;

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use common::subject::Subject;
use common::{TestDirectory, json, stderr};
use rustix::process::{Pid, WaitId, WaitIdOptions, WaitOptions, set_child_subreaper, waitid, waitpid};

fn is_installed() -> bool {
    let libraries = fs::read_dir("/usr/lib").unwrap().flatten();
    let found = libraries.into_iter().any(|library| library.path().join("fis-gtm").is_dir());
    if !found {
        println!("skipped: no fis-gtm is installed");
    }
    found
}

/// Processes that a process has started.
fn children(process: u32) -> Vec<Pid> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let numbers: Vec<i32> = lists
        .flat_map(|list| list.split(' ').filter_map(|word| word.parse().ok()).collect::<Vec<_>>())
        .collect();
    numbers.into_iter().map(|number| Pid::from_raw(number).unwrap()).collect()
}

/// Kills it and all its processes in the midst of their work; those that are then orphans, to be reaped.
fn kill_all(subject: &Subject) -> Vec<Pid> {
    let more = ["ranwrite", "add-globals", "--globals", "3", "--subscripts", "1000000", "--quiet"];
    let mut adding = subject.command(&more).stderr(Stdio::piped()).spawn().unwrap();
    let written = subject.place.data().join("iolite-write.dat");
    let before = fs::metadata(&written).unwrap().len();
    while fs::metadata(&written).unwrap().len() < before + (8 << 20) {
        if adding.try_wait().unwrap().is_some() {
            let output = adding.wait_with_output().unwrap();
            panic!("it ended before it could be killed, {}: {}", output.status, stderr(&output));
        }
        std::thread::yield_now();
    }
    let orphans = children(adding.id());
    assert!(!orphans.is_empty(), "nobody works for it");
    adding.kill().unwrap();
    for &orphan in &orphans {
        rustix::process::kill_process(orphan, rustix::process::Signal::KILL).unwrap();
    }
    adding.wait().unwrap();
    orphans
}

fn reap(orphans: &[Pid]) {
    for &orphan in orphans {
        waitpid(Some(orphan), WaitOptions::empty()).unwrap();
    }
}

/// Has a program of M executed in a database by GT.M's own program.
fn mumps(directory: &Path, program: &str) -> String {
    let libraries = fs::read_dir("/usr/lib").unwrap().flatten();
    let versions = libraries.filter_map(|library| fs::read_dir(library.path().join("fis-gtm")).ok());
    let installed = versions.flatten().flatten().map(|version| version.path()).next().unwrap();
    let output = Command::new(installed.join("mumps"))
        .args(["-run", "%XCMD", program])
        .env("gtm_dist", &installed)
        .env("gtmgbldir", directory.join("iolite.gld"))
        .env("gtmroutines", &installed)
        .env("gtm_chset", "M")
        .current_dir(directory)
        .output()
        .unwrap();
    assert!(output.status.success(), "{program}: {}", stderr(&output));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn commits_of_gtm_survive_kill_9_of_all_processes_and_a_lost_one_is_found() {
    if !is_installed() {
        return;
    }
    set_child_subreaper(Pid::from_raw(1)).unwrap();
    let place = TestDirectory::new();
    let db = format!("gtm:{}", place.data().display());
    let subject = Subject { place, db, stop: None };
    let (notes, results) = (subject.place.root.path().join("notes"), subject.place.results());
    let (notes_name, results) = (notes.display().to_string(), results.display().to_string());
    let run = ["durability", "run", "--witness", &notes_name, "--same-file-system", "--keep-free", "0B"];
    let run = [&run[..], &["--workers", "2", "--quiet", "--results", &results, "--db", &subject.db]].concat();
    let refused = subject.output(&run);
    assert!(stderr(&refused).contains("create it with setup") && !notes.exists(), "{refused:?}");
    subject.done(&["ranwrite", "setup", "--size", "4MiB"]);

    let mut child = subject.command(&run).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let acknowledged = || fs::read_to_string(&notes).unwrap_or_default().matches("\nack ").count();
    while acknowledged() < 300 {
        if child.try_wait().unwrap().is_some() {
            panic!("it ended before it could be killed: {}", stderr(&child.wait_with_output().unwrap()));
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let orphans = children(child.id());
    assert!(orphans.len() >= 2, "{orphans:?}");
    child.kill().unwrap();
    for &orphan in &orphans {
        rustix::process::kill_process(orphan, rustix::process::Signal::KILL).unwrap();
    }
    child.wait().unwrap();
    reap(&orphans);

    let check = || {
        let check =
            ["durability", "check", &notes_name, "--db", &subject.db, "--json", "--results", &results];
        let output = subject.output(&check);
        (output.status.code(), json(&output)["durability"].clone(), stderr(&output))
    };
    let (code, found, text) = check();
    assert_eq!((code, found["lost"].as_u64()), (Some(0), Some(0)), "{found} {text}");
    assert!(found["judged"].as_u64().unwrap() >= 300, "{found}");
    let run = "set run=$order(^IoliteCommit(\"\"))";
    mumps(&subject.place.data(), &format!("{run} kill ^IoliteCommit(run,0,2),^IoliteCommit(run,1,7)"));
    let (code, found, text) = check();
    assert_eq!((code, found["lost"].as_u64()), (Some(4), Some(2)), "{found} {text}");
    subject.done(&["ranwrite", "purge"]);
}

fn counted(output: &Output) -> bool {
    String::from_utf8_lossy(&output.stdout).contains("in all: 1000\n")
}

#[test]
fn gtm_goes_on_after_all_of_it_was_killed() {
    if !is_installed() {
        return;
    }
    set_child_subreaper(Pid::from_raw(1)).unwrap();
    let place = TestDirectory::new();
    let db = format!("gtm:{}", place.data().display());
    let subject = Subject { place, db, stop: None };
    subject.done(&["ranwrite", "setup", "--size", "4MiB"]);
    subject.done(&["ranwrite", "create-globals", "--globals", "1", "--subscripts", "1000"]);
    let count = || subject.output(&["ranwrite", "count-subscripts"]);

    // They are reaped as soon as they are dead, as a process 1 does.
    for _ in 0..2 {
        let orphans = kill_all(&subject);
        let output = std::thread::scope(|scope| {
            scope.spawn(|| reap(&orphans));
            count()
        });
        assert!(counted(&output), "{output:?}");
    }

    // They are not reaped. GT.M can go on where none of them held a lock; where one did, the error names them.
    let orphans = kill_all(&subject);
    for &orphan in &orphans {
        waitid(WaitId::Pid(orphan), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).unwrap();
    }
    let output = count();
    let named =
        || orphans.iter().all(|orphan| stderr(&output).contains(&format!("process {orphan} (its parent")));
    let refused = !output.status.success() && stderr(&output).contains("has not reaped it") && named();
    assert!(counted(&output) || refused, "{output:?}");
    reap(&orphans);
    let output = count();
    assert!(counted(&output), "{output:?}");

    subject.done(&["ranwrite", "purge"]);
    assert_eq!(fs::read_dir(subject.place.data()).unwrap().count(), 0);
}
