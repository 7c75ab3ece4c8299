//! `iolite explain` as its users meet it: results of the installed fio and of the program itself, and jobs.

// Helpers of tests may give up as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod common;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use common::*;

fn explain(arguments: &[&str], file: &Path) -> Output {
    let mut command = Command::new(IOLITE);
    command.arg("explain").arg(file).args(arguments).env("NO_COLOR", "1").env("COLUMNS", "120");
    command.stdin(Stdio::null()).output().unwrap()
}

/// The text of a success, its lines joined where they were wrapped.
fn printed(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", stderr(output));
    String::from_utf8(output.stdout.clone()).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn refused(output: &Output, part: &str) {
    let text = stderr(output);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains(part) && output.stdout.is_empty(), "{part}: {text}");
}

#[test]
fn a_result_of_the_installed_fio_is_explained() {
    undisturbed(|| {
        let place = TestDirectory::alone();
        let result = place.root.path().join("result.json");
        let run = Command::new("fio")
            .args([
                "--name=buffered",
                "--rw=randread",
                "--bs=4k",
                "--size=4m",
                "--ioengine=psync",
                "--iodepth=16",
            ])
            .args(["--invalidate=0", "--output-format=json"])
            .arg(format!("--directory={}", place.data().display()))
            .arg(format!("--output={}", result.display()))
            .output();
        match run {
            Ok(run) if run.status.success() => {}
            other => return eprintln!("skipped: no fio that runs here: {other:?}"),
        }
        let text = printed(&explain(&[], &result));
        for part in [
            "a result of fio, 1 job",
            "job 1: buffered",
            "iodepth=16 had no effect",
            "no direct=1",
            "* total_ios: 1,024",
            "are too short to be meaningful",
            "half of the operations took less",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("ctx:") && !text.contains("what writes did"), "{text}");
        let all = printed(&explain(&["--all"], &result));
        assert!(all.contains("ctx:"), "{all}");
        assert!(!all.contains("not known here"), "{all}");

        // fio's messages before the document, and what the document is cut off.
        let document = fs::read_to_string(&result).unwrap();
        let noisy = place.root.path().join("noisy");
        fs::write(&noisy, format!("fio: something {{ to say\n{document}")).unwrap();
        let output = explain(&[], &noisy);
        assert_eq!(printed(&output), text);
        assert!(stderr(&output).contains("something { to say"), "{}", stderr(&output));
        fs::write(&noisy, &document[..document.len() / 2]).unwrap();
        refused(&explain(&[], &noisy), "truncated");
    });
}

#[test]
fn a_result_of_the_program_itself_is_explained() {
    let place = TestDirectory::new();
    let job = place.root.path().join("job.toml");
    fs::write(&job, "[[tasks]]\n[tasks.io]\nname = 'nothing'\nstop.runtime = '100ms'\n").unwrap();
    let output = Command::new(IOLITE)
        .arg("run")
        .arg(&job)
        .args(["--json", "--quiet", "--results"])
        .arg(place.results())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let result = place.root.path().join("result.json");
    fs::write(&result, &output.stdout).unwrap();
    let text = printed(&explain(&["--all"], &result));
    assert!(text.contains("phase 1: nothing") && text.contains("* kind: read"), "{text}");
    assert!(!text.contains("not known here"), "{text}");
}

#[test]
fn a_job_is_explained_before_it_is_run() {
    let place = TestDirectory::new();
    let existing = place.data().join("file");
    fs::write(&existing, vec![0; 1 << 20]).unwrap();
    let job = place.root.path().join("job");
    let text = format!(
        "[[tasks]]\n[tasks.io]\nname = 'over it'\nmix = 'write'\nbackend = 'sync'\ncontents.fill = 'zeros'\n\
         target.existing = {{ path = '{}', overwrite = 'anything' }}\nstop.loops = 1\n",
        existing.display()
    );
    fs::write(&job, &text).unwrap();
    let explained = printed(&explain(&[], &job));
    for part in
        ["1 task", "1 MiB in total", "DESTROYS", "its contents are lost", "zeros are written", "page cache"]
    {
        assert!(explained.contains(part), "{part}: {explained}");
    }
    assert_eq!(fs::read(&existing).unwrap(), vec![0; 1 << 20]);
    refused(&explain(&["--all"], &job), "applies to results only");

    let mut child = Command::new(IOLITE)
        .args(["explain", "-"])
        .env("COLUMNS", "120")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert_eq!(printed(&child.wait_with_output().unwrap()), explained);
}

#[test]
fn a_job_file_of_fio_is_explained_as_words_and_as_toml() {
    let place = TestDirectory::new();
    let job = place.root.path().join("job.fio");
    let text = "[global]\ndirectory=/nowhere\nsize=64m\n[scan]\nrw=read\nnumjobs=2\niodepth=8\nioengine=psync\nwrite_bw_log=x\n";
    fs::write(&job, text).unwrap();
    let output = explain(&[], &job);
    let words = printed(&output);
    for part in [
        "2 tasks",
        "scan, 2 clones",
        "/nowhere/scan.1.0",
        "iodepth",
        "write_*_log is supported only by `iolite fio",
        "page cache",
    ] {
        assert!(words.contains(part), "{part}: {words}");
    }
    // The TOML is the same job.
    let whole = String::from_utf8(output.stdout).unwrap();
    let (_, native) = whole.split_once("(TOML)\n").unwrap();
    assert_eq!(iolite_jobs::native::parse(native).unwrap().tasks.len(), 2);
    assert_eq!(entries(&place.data()), [""; 0]);
    fs::write(&job, "[a]\nrw=sideways\n").unwrap();
    refused(&explain(&[], &job), "sideways");
}

#[test]
fn what_can_not_be_explained_is_reported() {
    let place = TestDirectory::new();
    let file = place.root.path().join("file");
    for (content, part) in [
        (&b""[..], "empty input"),
        (b"{\"a\": 1}", "not a known result"),
        (b"[1, 2]", "a list"),
        (b"{\"a\": ", "truncated"),
        (b"\x7fELF\0\0", "is not a text file"),
        (b"\xff\xfe{}", "is not a text file"),
        (b"3;fio-3.33;job;0;0", "in terse format"),
        (b"x: (g=0)\nRun status group 0 (all jobs):\n", "in normal format"),
    ] {
        fs::write(&file, content).unwrap();
        refused(&explain(&[], &file), part);
    }
    refused(&explain(&[], place.root.path()), "is a directory");
    refused(&explain(&[], &place.root.path().join("missing")), "cannot read");
    fs::File::create(&file).unwrap().set_len(65 << 20).unwrap();
    refused(&explain(&[], &file), "larger than 64 MiB");
}

#[test]
fn an_answer_in_sql_is_explained_by_its_columns() {
    let place = TestDirectory::new();
    let job = place.root.path().join("job.toml");
    fs::write(&job, "[[tasks]]\n[tasks.io]\nname = 'x'\nmix = 'read'\nstop.operations = 10\n").unwrap();
    let iolite = |arguments: &[&str]| {
        let mut command = Command::new(IOLITE);
        command.args(arguments).arg("--results").arg(place.results()).stdin(Stdio::null()).output().unwrap()
    };
    assert!(iolite(&["run", &job.display().to_string(), "--quiet"]).status.success());
    let question = "SELECT name, 7 AS answer_ns FROM phase";
    let rows = iolite(&["results", "sql", "--json", question]);
    let file = place.root.path().join("rows.json");
    fs::write(&file, &rows.stdout).unwrap();
    let text = printed(&explain(&[], &file));
    assert!(text.starts_with("1 row, as printed by `iolite results sql --json`"), "{text}");
    assert!(text.contains("answer_ns") && text.contains("7 ns"), "{text}");
    fs::write(&file, "[1, 2]").unwrap();
    refused(&explain(&[], &file), "a list");
}
