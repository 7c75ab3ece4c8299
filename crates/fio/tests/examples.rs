//! The job files that come with fio.

// Helpers of tests may give up as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

use std::io;
use std::path::PathBuf;

use iolite_fio::language::{Document, HostContext, job_file, options};

const EXAMPLES: &str = "/usr/share/doc/fio/examples";

/// The job files, by name; none where fio's package is missing.
fn examples() -> Vec<(String, Document)> {
    let Ok(entries) = std::fs::read_dir(EXAMPLES) else {
        eprintln!("skipped: there is no {EXAMPLES}; install fio's package");
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|kind| kind == "fio"));
    paths.sort();
    let context = HostContext {
        variable: &|_| None,
        page_size: 4096,
        memory_mib: 1024,
        cpus: 2,
        open_trace: &|_| Err(io::ErrorKind::NotFound.into()),
        read_file: &|_| Err(io::ErrorKind::NotFound.into()),
    };
    let read = |path: &PathBuf| {
        let name = path.display().to_string();
        let document = job_file::read(&name, &std::fs::read(path).unwrap(), &context).unwrap();
        (name, document.expanded(&context).unwrap())
    };
    paths.iter().map(read).collect()
}

#[test]
fn all_examples_are_job_files() {
    for (name, document) in examples() {
        assert!(document.sections.iter().any(|section| !section.settings.is_empty()), "{name}");
    }
}

#[test]
fn all_options_of_the_examples_are_known() {
    let mut unknown = Vec::new();
    for (_, document) in examples() {
        for setting in document.sections.iter().flat_map(|section| &section.settings) {
            if options::find(&setting.name).is_none() {
                unknown.push(format!("{}: {}", setting.origin, setting.name));
            }
        }
    }
    assert!(unknown.is_empty(), "{}", unknown.join("\n"));
}
