//! A short run of what `fuzz/` does at length: job files and command lines made from examples by a seeded generator.

// Helpers of tests may give up as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]

mod stirrer;

use std::io;
use std::path::Path;

use iolite_fio::language::{Document, HostContext, Invocation, Problem, command_line, job_file, plan, print};
use stirrer::{Stirrer, fuzz};

const EXAMPLES: &str = "/usr/share/doc/fio/examples";

/// What files and lines are made of, besides the examples.
const SNIPPETS: &[&str] = &[
    "[global]\nbs=4k\nioengine=libaio\n[a]\nrw=randread\nsize=$mb_memory*2\n[b]\nstonewall\nwait_for=a\n",
    "[a]\ninclude ab\nbssplit=4k/50:8k/50,1k-4k/100:\nruntime=(2*3s)\n\tthread\r\n",
    "\u{feff}; x\n[a]\nfilename=${HOME}/x\\:y:z # c\nsize=20%%\nrandom_distribution=zoned:10/20:90/80\n",
    "--name=a\n--bs=4k\n--rw\nrandrw\n--output-format=json,terse\n-v\n--section=x\n--\nx.fio\n--numjobs=4096",
];

/// What is put in here and there.
const TOKENS: &[&str] = &[
    "\n",
    "=",
    "[",
    "]",
    "[global]\n",
    "\ninclude ab\n",
    "\ninclude abc",
    "${HOME}",
    "${",
    "$ncpus",
    "$pagesize*2",
    "(",
    ")",
    "((4+",
    "%",
    "0x",
    "18446744073709551616",
    "-1",
    "1e400",
    "4k",
    "kib",
    ",",
    ":",
    "/",
    "\0",
    "\u{1f980}",
    "\\:",
    ";",
    "#",
    "\nnumjobs=4294967295\n",
    "\nbs=",
    "\nrw=randrw:",
    "\nkb_base=1000\n",
    "--name=",
    "--debug=",
    "--",
    "\n\n",
    "nan",
    "\t",
];

fn context() -> HostContext<'static> {
    HostContext {
        variable: &|name| (name.len() % 2 == 0).then(|| "bs=$ncpus*4k".repeat(name.len())),
        page_size: 4096,
        memory_mib: 1024,
        cpus: 4,
        open_trace: &|path: &Path| {
            let lines = ["fio version 3 iolog", "1 /f add", "1 /f read 4096 4096", "2 /f", "-"];
            let text = lines[..path.as_os_str().len() % 6].join("\n");
            Ok(Box::new(io::Cursor::new(text)))
        },
        read_file: &|path: &Path| match path.as_os_str().len() % 3 {
            0 => Ok(b"include ab\ninclude abc\nx".to_vec()),
            1 => Ok(b"bs=4k\nrw=${X}\niodepth=(2*4)".to_vec()),
            _ => Err(io::ErrorKind::NotFound.into()),
        },
    }
}

/// The snippets, and the job files of fio's package where it is installed.
fn texts() -> Vec<Vec<u8>> {
    let mut texts: Vec<Vec<u8>> = SNIPPETS.iter().map(|text| text.as_bytes().to_vec()).collect();
    match std::fs::read_dir(EXAMPLES) {
        Ok(entries) => {
            let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
            paths.sort();
            let examples = paths.iter().filter(|path| path.extension().is_some_and(|kind| kind == "fio"));
            texts.extend(examples.map(|path| std::fs::read(path).unwrap()));
        }
        Err(error) => eprintln!("without fio's examples ({EXAMPLES}: {error})"),
    }
    texts
}

/// A section without its place: its name, and its settings' names and values.
type Outline = (String, Vec<(String, Option<String>)>);

fn outline(document: &Document) -> Vec<Outline> {
    let settings = |section: &job_file::Section| {
        section.settings.iter().map(|setting| (setting.name.clone(), setting.value.clone())).collect()
    };
    document.sections.iter().map(|section| (section.name.clone(), settings(section))).collect()
}

/// A problem says where it is, what it is and what to do about it.
fn placed(problem: &Problem, in_file: bool) {
    let origin = &problem.origin;
    assert!(origin.line > 0 && origin.column > 0 && !problem.cause.to_string().is_empty(), "{problem:?}");
    assert!(!in_file || origin.file.is_some(), "{problem:?}");
    let (text, remedy) = (problem.to_string(), problem.remedy());
    assert!(remedy.len() > 3 && text.contains(remedy), "without a remedy: {problem:?}");
}

#[test]
fn no_job_file_makes_it_stumble() {
    let texts = texts();
    let mut stirrer = Stirrer::new(0x00c0_ffee, TOKENS);
    let mut planned = 0;
    fuzz("fio job files", 3000, || {
        let text = stirrer.stirred(&texts);
        let document = match job_file::read("job.fio", &text, &context()) {
            Ok(document) => document,
            Err(problem) => {
                placed(&problem, true);
                return;
            }
        };
        let printed = print::job_file(&document).unwrap();
        let again = job_file::read("job.fio", printed.as_bytes(), &context()).unwrap();
        assert_eq!(outline(&document), outline(&again));
        match plan(&Invocation::default(), &[document], &context()) {
            Ok(_) => planned += 1,
            Err(problems) => problems.0.iter().for_each(|problem| placed(problem, true)),
        }
    });
    assert!(planned > 0, "not one file was a job");
}

#[test]
fn no_command_line_makes_it_stumble() {
    let texts = texts();
    let mut stirrer = Stirrer::new(0x0dec_afe5, TOKENS);
    fuzz("fio command lines", 3000, || {
        let text = String::from_utf8_lossy(&stirrer.stirred(&texts)).into_owned();
        let dashes = if stirrer.below(2) == 0 { "--" } else { "" };
        let arguments: Vec<String> = text.split('\n').map(|line| format!("{dashes}{line}")).collect();
        match command_line::parse(&arguments) {
            Ok(invocation) => {
                print::command_line(&invocation.jobs);
                if let Err(problems) = plan(&invocation, &[], &context()) {
                    problems.0.iter().for_each(|problem| placed(problem, false));
                }
            }
            Err(problem) => placed(&problem, false),
        }
    });
}

#[test]
fn small_files_that_ask_for_much_are_refused() {
    let read = |text: &str| job_file::read("job.fio", text.as_bytes(), &context());
    let planned = |text: &str| plan(&Invocation::default(), &[read(text).unwrap()], &context());
    for (text, part) in [
        ("[a]\nnumjobs=4294967295\n", "out of its range"),
        ("[a]\nsize=4k\nnumjobs=4097\n", "4097 threads, more than the maximum of 4096"),
        ("[global]\nsize=4k\n[a]\nnumjobs=4096\n[b]\n", "4097 threads, more than the maximum of 4096"),
        ("[a]\nnumjobs=0\n", "out of its range"),
    ] {
        let problems = planned(text).unwrap_err().to_string();
        assert!(problems.contains(part) && problems.starts_with("job.fio:"), "{problems}");
    }
    let deep = format!("[a]\nsize={}", "(".repeat(60_000));
    assert!(planned(&deep).unwrap_err().to_string().contains("64 deep"));
}
