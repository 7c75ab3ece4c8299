//! The same job files reported as command lines by the installed fio and by us.

// Helpers of tests may give up as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use iolite_fio::language::{Document, HostContext, job_file, print};

const EXAMPLES: &str = "/usr/share/doc/fio/examples";

/// Settings whose order within a section says nothing.
type Job = Vec<String>;

/// The words of a command line as a shell takes it apart, by job.
fn jobs(line: &str) -> Vec<Job> {
    let script = format!("fio() {{ printf '%s\\n' \"$@\"; }}\n{line}");
    let output = Command::new("sh").args(["-c", &script]).output().unwrap();
    let mut jobs: Vec<Job> = vec![Vec::new()];
    for word in String::from_utf8(output.stdout).unwrap().lines() {
        if word.starts_with("--name=") {
            jobs.push(Vec::new());
        }
        // fio keeps the white space after a `=`.
        jobs.last_mut().unwrap().push(word.replace("= ", "="));
    }
    jobs.iter_mut().for_each(|job| job.sort());
    jobs
}

/// Whether all defaults stand before the first job: later ones fio reports as the settings of the job before them.
fn defaults_first(document: &Document) -> bool {
    let sections: Vec<bool> = document.sections.iter().map(|section| section.is_global()).collect();
    sections.is_sorted_by(|one, other| one >= other) && sections.iter().filter(|global| **global).count() < 2
}

fn read(path: &Path) -> Document {
    let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u64);
    let context = HostContext {
        variable: &|name| std::env::var(name).ok(),
        page_size: 4096,
        memory_mib: 1024,
        cpus,
        open_trace: &|_| Err(io::ErrorKind::NotFound.into()),
        read_file: &|path| std::fs::read(path),
    };
    let read =
        |bytes: io::Result<Vec<u8>>| job_file::read(&path.display().to_string(), &bytes.unwrap(), &context);
    read(std::fs::read(path)).unwrap().expanded(&context).unwrap()
}

#[test]
fn job_files_are_reported_as_the_installed_fio_reports_them() {
    let Ok(entries) = std::fs::read_dir(EXAMPLES) else {
        eprintln!("skipped: there is no {EXAMPLES}; install fio's package");
        return;
    };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|kind| kind == "fio"));
    paths.sort();
    let mut compared = 0;
    // fio takes a while to start: every second one will do.
    for path in paths.iter().step_by(2) {
        let document = read(path);
        // What the installed fio can't run it reports only in part.
        let Ok(listed) = Command::new("fio").arg("--showcmd").arg(path).output() else {
            eprintln!("skipped: fio is not installed");
            return;
        };
        if !listed.status.success() || !listed.stderr.is_empty() || !defaults_first(&document) {
            continue;
        }
        let ours = print::command_line(&document.sections);
        // Values that a shell must not take apart are quoted by us only.
        if ours.contains('"') {
            continue;
        }
        let theirs = jobs(&String::from_utf8(listed.stdout).unwrap());
        assert_eq!(jobs(&ours), theirs, "{}", path.display());
        compared += 1;
    }
    assert!(compared > 10, "only {compared} of {} files could be compared", paths.len());
}
