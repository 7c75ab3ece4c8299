//! Engines that do file operations: the installed fio and `iolite fio` leave the same files, count the same, and log the same.

// Helpers of tests may give up as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use common::fio::{Program, empty_directory, fio_is_installed, run_as_fio};
use common::*;
use serde_json::Value;

/// What a run left and reported.
#[derive(Debug, PartialEq)]
struct Came {
    code: Option<i32>,
    /// Files and their lengths, without logs.
    files: BTreeMap<String, u64>,
    /// Direction and size of each line of the logs; later columns are those of fio 3.42.
    logs: BTreeMap<String, Vec<String>>,
    /// By job: operations, bytes, latencies.
    amounts: Vec<[u64; 3]>,
}

fn came(program: Program, directory: &Path, options: &str) -> Came {
    let arguments: Vec<String> =
        format!("--name=j {options} --output-format=json").split_whitespace().map(str::to_owned).collect();
    let output = run_as_fio(program, directory, &arguments);
    let text = String::from_utf8_lossy(&output.stdout);
    let start = text.find("{\n").unwrap_or_else(|| panic!("{program:?} {options}: {}", stderr(&output)));
    let document: Value = serde_json::from_str(&text[start..]).unwrap();
    let amounts = document["jobs"].as_array().unwrap().iter().map(|job| {
        let read = &job["read"];
        [&read["total_ios"], &read["io_bytes"], &read["clat_ns"]["N"]].map(|number| number.as_u64().unwrap())
    });
    let (mut files, mut logs) = (BTreeMap::new(), BTreeMap::new());
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if name.ends_with(".log") {
            let text = fs::read_to_string(entry.path()).unwrap();
            let rest = |line: &str| line.split(", ").skip(2).take(2).collect::<Vec<_>>().join(", ");
            logs.insert(name, text.lines().map(rest).collect());
        } else {
            files.insert(name, entry.metadata().unwrap().len());
        }
    }
    Came { code: output.status.code(), files, logs, amounts: amounts.collect() }
}

#[test]
fn file_operations_leave_count_and_log_what_fio_does() {
    if !fio_is_installed() {
        return;
    }
    let place = TestDirectory::new();
    for engine in ["filecreate", "filestat", "filedelete"] {
        for options in [
            "--nrfiles=5 --filesize=16k",
            "--nrfiles=5 --size=80k --numjobs=2",
            "--nrfiles=4 --filesize=16k --bs=12k",
            "--filename=a:b:c --filesize=4k",
            "--nrfiles=3 --filesize=4k --unlink=1",
            "--nrfiles=6 --filesize=8k --write_lat_log=l --write_bw_log=l --write_iops_log=l",
            "--nrfiles=2 --filesize=4k --filename_format=f.$filenum",
        ] {
            let options = format!("--ioengine={engine} {options}");
            let [ours, theirs] = [Program::Ours, Program::Theirs]
                .map(|program| came(program, &empty_directory(&place, &format!("{program:?}")), &options));
            assert_eq!(ours, theirs, "{options}");
        }
    }
}

#[test]
fn directories_are_made_looked_at_and_removed() {
    let place = TestDirectory::new();
    let directory = empty_directory(&place, "directories");
    let run =
        |options: &str| came(Program::Ours, &directory, &format!("--nrfiles=3 --filesize=4k {options}"));
    let names = |came: &Came| came.files.keys().cloned().collect::<Vec<_>>();
    let made = run("--ioengine=dircreate");
    assert_eq!((made.code, names(&made)), (Some(0), ["j.0.0", "j.0.1", "j.0.2"].map(str::to_owned).to_vec()));
    assert_eq!(made.amounts, [[3, 12288, 3]]);
    let looked = run("--ioengine=dirstat --write_lat_log=l");
    assert_eq!((looked.code, names(&looked).len(), looked.logs["l_clat.1.log"].len()), (Some(0), 3, 3));
    let removed = run("--ioengine=dirdelete");
    assert_eq!((removed.code, names(&removed).len()), (Some(0), 0));
    assert_eq!(run("--ioengine=fileopen").files.into_values().collect::<Vec<_>>(), [4096; 3]);
}

#[test]
fn files_of_the_users_are_kept() {
    let place = TestDirectory::new();
    let directory = empty_directory(&place, "kept");
    fs::write(directory.join("a"), "some text").unwrap();
    // One that is there is opened, whatever it holds; one that would have to grow is not touched.
    assert_eq!(
        came(Program::Ours, &directory, "--ioengine=filecreate --filename=a:b --filesize=4k").code,
        Some(0)
    );
    assert_eq!(fs::read(directory.join("a")).unwrap(), b"some text");
    let short = came(Program::Ours, &directory, "--ioengine=filestat --filename=a --filesize=4k");
    assert_eq!(short.code, Some(0), "it is there to be looked at");
    assert_eq!(fs::read(directory.join("a")).unwrap(), b"some text");
}
