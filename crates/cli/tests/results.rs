//! `iolite results`: what a command printed when it ended is what is shown of the stored run, for every command; and what is
//! said of runs.

// Helpers of tests may give up as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod common;

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use common::{IOLITE, Loop, TestDirectory, is_root, skip, stderr};
use serde_json::Value;

fn iolite(place: &TestDirectory, arguments: &[&str]) -> Output {
    let mut command = Command::new(IOLITE);
    command.args(arguments);
    // fio's command line has no option for it, and works in the current directory.
    match arguments.first() {
        Some(&"fio") => command.env("IOLITE_RESULTS", place.results()).current_dir(place.data()),
        _ => command.arg("--results").arg(place.results()),
    };
    command.env("NO_COLOR", "1").env("COLUMNS", "110").stdin(Stdio::null()).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Runs a command, and holds what is shown of its run against what it printed, as text and as JSON.
fn shown_as_printed(place: &TestDirectory, arguments: &[&str]) {
    let text_run = iolite(place, arguments);
    let printed = text(&text_run);
    assert!(!printed.is_empty(), "{arguments:?}: {}", stderr(&text_run));
    assert!(!stderr(&text_run).contains("error:"), "{arguments:?}: {}", stderr(&text_run));
    assert_eq!(text(&iolite(place, &["results", "show", "latest"])), printed, "{arguments:?}");
    // The document of the same run is a document of the command's own kind.
    let from_store = parsed(&text(&iolite(place, &["results", "json", "latest"])));

    // Every command's run makes a page.
    let page = text(&iolite(place, &["report", "latest", "-o", "-"]));
    let id: String = place.ask("SELECT id FROM run ORDER BY started_unix_ns DESC, id DESC LIMIT 1");
    assert!(
        page.starts_with("<!DOCTYPE html>") && page.contains(&id) && page.ends_with("</html>"),
        "{arguments:?}"
    );

    let as_json = if arguments[0] == "fio" { "--output-format=json" } else { "--json" };
    let json_run = iolite(place, &[arguments, &[as_json]].concat());
    let printed = parsed(&text(&json_run));
    let stored = parsed(&text(&iolite(place, &["results", "json", "latest"])));
    assert_eq!(stored, printed, "{arguments:?}");
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&from_store), keys(&stored), "{arguments:?}");
    explained(place, &json_run.stdout);
}

/// A document that was printed is one that `explain` knows.
fn explained(place: &TestDirectory, document: &[u8]) {
    let file = place.root.path().join("document.json");
    fs::write(&file, document).unwrap();
    for all in [&[][..], &["--all"]] {
        let mut command = Command::new(IOLITE);
        let output = command.arg("explain").arg(&file).args(all).stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success() && output.stdout.len() > 100, "{all:?}: {}", stderr(&output));
    }
}

#[test]
fn lists_comparisons_and_histories_are_explained_too() {
    let place = TestDirectory::new();
    let db = blocks(&place);
    for _ in 0..2 {
        done(&place, &["ranread", "run", "--db", &db, "--jobs", "1", "--runtime", "200ms", "--quiet"]);
    }
    for arguments in [
        &["results", "list", "--json"][..],
        &["results", "compare", "latest~1", "latest", "--json"],
        &["results", "ratio", "latest~1", "latest", "--json"],
        &["ranread", "history", "--json"],
    ] {
        explained(&place, &iolite(&place, arguments).stdout);
    }
}

fn job(place: &TestDirectory, name: &str, text: &str) -> String {
    let path = place.root.path().join(name);
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

const READS: &str = "
name = 'some reads'
[[tasks]]
[tasks.io]
name = 'lay out'
target.file = { name = 'data', size = '8MiB', create = true }
backend = 'sync'
mix = 'write'
access = 'sequential'
block = '64KiB'
verify = { check = 'crc32c', after = true }
stop.loops = 1

[[tasks]]
[tasks.io]
name = 'reads'
target.file = { name = 'data', size = '8MiB', create = false }
backend = 'sync'
block = '8KiB'
stop.runtime = '300ms'
interval = '30ms'

[[tasks]]
[tasks.io]
name = 'more reads'
group = 'both'
start.together = true
target.file = { name = 'data', size = '8MiB', create = false }
backend = 'sync'
placement.processes = true
workers = 2
concurrency = 2
block = '4KiB'
stop.runtime = '300ms'
interval = '30ms'

[[tasks]]
[tasks.metadata]
name = 'names'
stop.operations = 100
";

/// A test of Iometer's with one disk worker.
const ICF: &str = "\
Version 1.1.0 
'TEST SETUP ====================================================================
'Test Description
\tone worker
'Run Time
'\thours      minutes    seconds
\t0          0          1
'Ramp Up Time (s)
\t0
'Test Type
\tNORMAL
'END test setup
'ACCESS SPECIFICATIONS =========================================================
'Access specification name,default assignment
\tmixed,NONE
'size,% of size,% reads,% random,delay,burst,align,reply
\t8192,100,67,100,0,1,0,0
'END access specifications
'MANAGER LIST ==================================================================
'Manager ID, manager name
\t1,HOST
'Worker
\tWorker 1
'Worker type
\tDISK
'Default target settings for worker
'Number of outstanding IOs,test connection rate,transactions per connection
\t2,DISABLED,1
'Disk maximum size,starting sector
\t0,0
'End default target settings for worker
'Assigned access specs
\tmixed
'End assigned access specs
'End worker
'End manager
";

/// How a command is asked for, and what has to stay until it has run.
struct RunRequest {
    arguments: Vec<String>,
    keep: Option<Box<dyn std::any::Any>>,
}

fn asked<const N: usize>(arguments: [&str; N]) -> Option<RunRequest> {
    let arguments = arguments.iter().map(|&argument| argument.to_owned()).collect();
    Some(RunRequest { arguments, keep: None })
}

/// A command by the words that it begins with, and how it is asked for in a place; `None`, with the reason printed, where that is
/// not possible.
type Row = (&'static str, fn(&TestDirectory) -> Option<RunRequest>);

/// Every command whose runs are stored. More of fio's command lines are in tests of their own below.
const COMMANDS: &[Row] = &[
    ("run", |place| asked(["run", &job(place, "job.toml", READS), "--directory", &data(place)])),
    ("fio", |_| asked(["fio", "--name=a", "--ioengine=psync", "--size=1m", "--rw=randwrite"])),
    ("check", |place| asked(["check", &data(place), "--budget-time", "10s", "--budget-space", "64MiB"])),
    ("latency-target", |place| {
        let job = job(place, "job.toml", READS.split("[[tasks]]\n[tasks.io]\nname = 'more").next().unwrap());
        asked([
            "latency-target",
            &job,
            "--quantile",
            "50",
            "--bound",
            "50ms",
            "--depth",
            "2",
            "--window",
            "200ms",
            "--directory",
            &data(place),
        ])
    }),
    ("ab", |place| {
        let one = |block: &str| {
            let text = format!(
                "name = '{block}'\n[[tasks]]\n[tasks.io]\nname = 'writes'\n\
                 target.file = {{ name = 'data', size = '1MiB', create = true }}\nbackend = 'sync'\nmix = 'write'\n\
                 block = '{block}'\nstop.operations = 50\ninterval = '10ms'\n"
            );
            job(place, &format!("{block}.toml"), &text)
        };
        asked(["ab", &one("4KiB"), &one("64KiB"), "--repeat", "2", "--directory", &data(place)])
    }),
    ("verify", |place| {
        let (file, state) = (path(place, "mine"), path(place, "state"));
        fs::File::create(&file).unwrap().set_len(1 << 20).unwrap();
        let text = format!(
            "[[tasks]]\n[tasks.io]\nname = 'writes'\ntarget.existing = {{ path = '{file}', overwrite = 'blank' }}\n\
             backend = 'sync'\nmix = 'write'\naccess = 'covering'\nstop.loops = 1\n\
             verify = {{ check = 'crc32c', state = '{state}' }}\n"
        );
        done(place, &["run", &job(place, "job.toml", &text)]);
        asked(["verify", &state])
    }),
    ("study cache", |place| asked(["study", "cache", &data(place), "--make", "4MiB", "--window", "100ms"])),
    ("study blocksize", |place| {
        asked(["study", "blocksize", &data(place), "--make", "4MiB", "--window", "100ms"])
    }),
    ("study readahead", |place| {
        if !is_root() {
            return skip("read-ahead is set by root only");
        }
        let device = Loop::new(place, 16 << 20)?;
        let mut asked = asked([
            "study",
            "readahead",
            &device.0,
            "--values",
            "64",
            "--window",
            "100ms",
            "--size",
            "4MiB",
        ])?;
        asked.keep = Some(Box::new(device));
        Some(asked)
    }),
    ("layers", |place| {
        asked(["layers", &data(place), "--size", "64MiB", "--window", "200ms", "--rounds", "2"])
    }),
    ("classic dd", |place| asked(["classic", "dd", &data(place), "--size", "4MiB"])),
    ("classic bonnie", |place| asked(["classic", "bonnie", &data(place), "--size", "4MiB", "--files", "50"])),
    ("classic iozone", |place| {
        asked(["classic", "iozone", &data(place), "--size", "4MiB", "--processes", "2"])
    }),
    ("classic all", |place| {
        asked([
            "classic",
            "all",
            &data(place),
            "--size",
            "4MiB",
            "--files",
            "50",
            "--processes",
            "2",
            "--concurrency",
            "2",
        ])
    }),
    ("pts", |place| {
        let file = path(place, "tested");
        fs::File::create(&file).unwrap().set_len(16 << 20).unwrap();
        asked([
            "pts",
            &file,
            "--allow-overwrite",
            &file,
            "--tests",
            "write-saturation",
            "--scale",
            "0.000001",
            "--threads",
            "1",
            "--depth",
            "2",
        ])
    }),
    ("iometer patterns", |place| {
        asked(["iometer", "patterns", &data(place), "--size", "4MiB", "--time", "100ms"])
    }),
    ("iometer spec", |place| {
        asked(["iometer", "spec", "File Server", &data(place), "--size", "4MiB", "--time", "100ms"])
    }),
    ("iometer run", |place| {
        let file = job(place, "one.icf", ICF);
        asked(["iometer", "run", &file, &data(place), "--size", "4MiB", "--time", "50ms"])
    }),
    ("ranread run", |place| ran(place, "ranread")),
    ("ranwrite run", |place| ran(place, "ranwrite")),
    ("ranio run", |place| ran(place, "ranio")),
    ("ranread sweep", |place| sweep(place, "ranread")),
    ("ranwrite sweep", |place| sweep(place, "ranwrite")),
    ("ranio sweep", |place| sweep(place, "ranio")),
    ("tproc-c run", |place| {
        let db = warehouse(place);
        asked([
            "tproc-c",
            "run",
            "--db",
            &db,
            "--users",
            "2",
            "--duration",
            "400ms",
            "--ramp",
            "100ms",
            "--repeat",
            "2",
        ])
    }),
    ("tproc-c sweep", |place| {
        let db = warehouse(place);
        asked(["tproc-c", "sweep", "--db", &db, "--users", "1,2", "--step", "400ms", "--ramp", "100ms"])
    }),
    ("tproc-c check", |place| asked(["tproc-c", "check", "--db", &warehouse(place)])),
    ("waits watch", |_| {
        let server = Server::start("postgres")?;
        let mut asked = asked(["waits", "watch", "--db", &server.url, "--duration", "300ms"])?;
        asked.keep = Some(Box::new(server));
        Some(asked)
    }),
    ("observe", |place| asked(["observe", &data(place), "--duration", "300ms", "--interval", "50ms"])),
    ("durability check", |place| {
        let notes = path(place, "notes");
        let run = ["durability", "run", &data(place), "--witness", &notes, "--same-file-system"];
        let limits = ["--max-write", "1MiB", "--duration", "10s", "--quiet"];
        let mut command = Command::new(IOLITE);
        let output = command.args(run).args(limits).stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        asked(["durability", "check", &notes])
    }),
];

fn data(place: &TestDirectory) -> String {
    place.data().display().to_string()
}

fn path(place: &TestDirectory, name: &str) -> String {
    place.root.path().join(name).display().to_string()
}

/// Runs what has to be done before.
fn done(place: &TestDirectory, arguments: &[&str]) {
    let output = iolite(place, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
}

/// A database with blocks and two globals.
fn blocks(place: &TestDirectory) -> String {
    let db = format!("sqlite:{}", data(place));
    for arguments in [
        &["ranread", "setup", "--db", &db, "--size", "8MiB"][..],
        &["ranwrite", "create-globals", "--db", &db, "--globals", "2", "--subscripts", "1000"],
    ] {
        let output = Command::new(IOLITE).args(arguments).stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    }
    db
}

fn ran(place: &TestDirectory, tool: &str) -> Option<RunRequest> {
    asked([tool, "run", "--db", &blocks(place), "--jobs", "2", "--runtime", "300ms", "--ramp", "100ms"])
}

fn sweep(place: &TestDirectory, tool: &str) -> Option<RunRequest> {
    asked([tool, "sweep", "--db", &blocks(place), "--jobs", "1,2", "--step", "300ms", "--ramp", "0s"])
}

/// A database of TPROC-C.
fn warehouse(place: &TestDirectory) -> String {
    let db = format!("sqlite:{}", data(place));
    let build = ["tproc-c", "build", "--db", &db, "--reduction", "100", "--quiet"];
    let output = Command::new(IOLITE).args(build).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    db
}

/// A private server, stopped when dropped.
struct Server {
    name: &'static str,
    /// Not beneath a home directory, which the server's user may not pass; and a socket's path is short.
    directory: tempfile::TempDir,
    url: String,
}

impl Server {
    /// `None`, with the reason printed, where its programs are missing.
    fn start(name: &'static str) -> Option<Server> {
        let directory = tempfile::tempdir().unwrap();
        let started =
            Command::new(IOLITE).args(["db", "start", name]).arg(directory.path()).output().unwrap();
        if !started.status.success() && stderr(&started).contains("install") {
            return skip(&stderr(&started));
        }
        assert!(started.status.success(), "{}", stderr(&started));
        let url = text(&started).lines().next().unwrap().to_owned();
        Some(Server { name, directory, url })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = Command::new(IOLITE).args(["db", "stop", self.name]).arg(self.directory.path()).output();
    }
}

#[test]
fn every_command_is_shown_as_it_was_printed() {
    for (name, ask) in COMMANDS {
        let place = TestDirectory::new();
        let Some(asked) = ask(&place) else { continue };
        assert!(asked.arguments.join(" ").starts_with(name), "{name}: {:?}", asked.arguments);
        let arguments: Vec<&str> = asked.arguments.iter().map(String::as_str).collect();
        shown_as_printed(&place, &arguments);
        drop(asked.keep);
    }
}

/// Commands that store no run of their own: they print what is known, prepare, or work on stored runs. `durability run` writes until
/// the crash comes: what came of it `durability check` stores.
const WITHOUT_RUNS: &[&str] = &[
    "profiles",
    "db",
    "results",
    "plot",
    "report",
    "serve",
    "explain",
    "completions",
    "man",
    "iometer print",
    "durability run",
    "durability witness",
    "tproc-c build",
    "tproc-c purge",
];

/// What PerfTools' commands do besides `run` and `sweep`.
const OF_RAN: [&str; 10] = [
    "setup",
    "create-globals",
    "add-globals",
    "count-subscripts",
    "get-sizes",
    "stop",
    "history",
    "export",
    "reset",
    "purge",
];

/// The commands that the help of a command lists.
fn listed(command: &[&str]) -> Vec<String> {
    let help = Command::new(IOLITE).args(command).arg("--help").env("NO_COLOR", "1").output().unwrap();
    let help = text(&help);
    let lines =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let lines = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = lines.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help");
    names.map(str::to_owned).collect()
}

#[test]
fn no_command_is_missing_in_the_table() {
    let commands = listed(&[]);
    assert!(commands.len() > 20 && commands.contains(&"check".to_owned()), "{commands:?}");
    let verbs = |command: &String| match listed(&[command]) {
        // fio's help has no such list, and those of other commands without verbs are empty.
        none if none.is_empty() || command == "fio" => vec![command.clone()],
        verbs => verbs.into_iter().map(|verb| format!("{command} {verb}")).collect(),
    };
    let all: Vec<String> = commands.iter().flat_map(verbs).collect();
    assert!(all.contains(&"tproc-c build".to_owned()) && all.contains(&"observe".to_owned()), "{all:?}");
    let begins = |row: &str, command: &str| {
        row == command || row.strip_prefix(command).is_some_and(|rest| rest.starts_with(' '))
    };
    let stores_none = |command: &str| {
        let of_ran = command.split_once(' ').filter(|(tool, _)| tool.starts_with("ran"));
        WITHOUT_RUNS.iter().any(|row| begins(command, row))
            || of_ran.is_some_and(|(_, verb)| OF_RAN.contains(&verb))
    };
    let is_held = |command: &str| COMMANDS.iter().any(|(row, _)| begins(row, command));
    let missing: Vec<_> = all.iter().filter(|command| !is_held(command) && !stores_none(command)).collect();
    assert!(
        missing.is_empty(),
        "{missing:?} print runs that are not held against what is stored: add a row to COMMANDS"
    );
}

#[test]
fn a_relative_target_is_below_the_current_directory() {
    let place = TestDirectory::new();
    let job = job(
        &place,
        "job.toml",
        "[[tasks]]\n[tasks.io]\nname = 'w'\nmix = 'write'\nstop.operations = 10\nbackend = 'sync'\n\
         target.file = { name = 'f', size = '1MiB', create = true }\n",
    );
    done(&place, &["run", &job, "--quiet", "--directory", &place.data().display().to_string()]);
    for (target, directory, expected) in [
        (".", place.root.path().to_owned(), 1),
        (".", place.data(), 1),
        ("data", place.root.path().to_owned(), 1),
        ("..", place.data(), 1),
        (".", std::env::temp_dir(), 0),
    ] {
        let mut here = Command::new(IOLITE);
        here.args(["results", "list", "--json", "--target", target, "--results"]).arg(place.results());
        let listed = parsed(&text(&here.current_dir(&directory).output().unwrap()));
        assert_eq!(listed["runs"].as_array().unwrap().len(), expected, "{target} in {directory:?}: {listed}");
    }
}

#[test]
fn runs_are_listed_noted_tagged_and_deleted() {
    let place = TestDirectory::new();
    let none = iolite(&place, &["results", "list"]);
    assert_eq!(none.status.code(), Some(2), "{}", stderr(&none));
    assert!(stderr(&none).contains("there are no results yet"), "{}", stderr(&none));
    let job = job(&place, "null.toml", "[[tasks]]\n[tasks.io]\nname = 'nothing'\nstop.operations = 1000\n");
    for _ in 0..2 {
        let output = iolite(&place, &["run", &job]);
        assert!(output.status.success(), "{}", stderr(&output));
    }
    let runs = || parsed(&text(&iolite(&place, &["results", "list", "--json"])))["runs"].clone();
    let ids: Vec<String> =
        runs().as_array().unwrap().iter().map(|run| run["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(ids.len(), 2);
    for arguments in [
        &["results", "note", &ids[1], "before the new controller"][..],
        &["results", "tag", "latest~1", "before", "nvme0"],
        &["results", "tag", "--remove", "latest~1", "nvme0"],
    ] {
        let output = iolite(&place, arguments);
        assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    }
    assert_eq!(runs()[1]["notes"][0], "before the new controller");
    assert_eq!(runs()[1]["tags"], serde_json::json!(["before"]));
    let tagged = text(&iolite(&place, &["results", "list", "--tag", "before"]));
    assert!(tagged.contains(&ids[1]) && !tagged.contains(&ids[0]), "{tagged}");
    for (arguments, expected) in [
        (&["--command", "run"][..], 2),
        (&["--command", "check"], 0),
        (&["--target", &job], 2),
        (&["--target", "/elsewhere"], 0),
        (&["--database", "sqlite:"], 0),
        (&["--since", "1h"], 2),
        (&["--until", "2001-01-01"], 0),
        (&["--since", "2001-01-01", "--until", "2999"], 2),
        (&["--result", "completed", "--limit", "1"], 1),
        (&["--result", "failed"], 0),
        (&["--containing", "CONTROLLER"], 1),
    ] {
        let listed = parsed(&text(&iolite(&place, &[&["results", "list", "--json"], arguments].concat())));
        assert_eq!(listed["runs"].as_array().unwrap().len(), expected, "{arguments:?}: {listed}");
    }
    let wrong = iolite(&place, &["results", "list", "--since", "yesterday"]);
    assert!(wrong.status.code() == Some(2) && stderr(&wrong).contains("12h, 7d"), "{}", stderr(&wrong));
    for time in ["2026-13-99", "2026-11-25T99:99", "2026-02-30"] {
        let wrong = iolite(&place, &["results", "list", "--until", time]);
        assert!(wrong.status.code() == Some(2) && stderr(&wrong).contains("12h, 7d"), "{}", stderr(&wrong));
    }
    let ratios = parsed(&text(&iolite(&place, &["results", "ratio", "before", "latest", "--json"])));
    assert_eq!((&ratios["rows"][0]["phases"], &ratios["ratios"]), (&2.into(), &serde_json::json!([])));
    let ratios = text(&iolite(&place, &["results", "ratio", "latest"]));
    assert!(ratios.starts_with("pattern") && ratios.contains("There are no ratios"), "{ratios}");
    let page = text(&iolite(&place, &["report", "before", "-o", "-"]));
    assert!(page.contains(&ids[1]) && !page.contains(&ids[0]), "the runs of a tag");
    let drawn = text(&iolite(&place, &["plot", "before", "latest", "--kind", "compare", "-o", "-"]));
    assert!(drawn.contains(&ids[1]) && drawn.contains(&ids[0]), "{drawn}");
    let path = text(&iolite(&place, &["results", "path"]));
    assert_eq!(path, format!("{}\n", place.results().display()));
    let unknown = iolite(&place, &["results", "show", "20010101"]);
    assert_eq!(unknown.status.code(), Some(2), "{}", stderr(&unknown));
    assert!(iolite(&place, &["results", "delete", "latest~1"]).status.success());
    assert_eq!(runs().as_array().unwrap().len(), 1);
}

#[test]
fn a_run_that_was_killed_shows_how_far_it_came() {
    let place = TestDirectory::new();
    let job = job(
        &place,
        "long.toml",
        "[[tasks]]\n[tasks.io]\nname = 'long'\nstop.runtime = '1h'\ninterval = '50ms'\narrival = { constant = 1000 }\n",
    );
    let mut command = Command::new(IOLITE);
    command.args(["run", &job, "--results"]).arg(place.results()).stdin(Stdio::null());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    place.wait_for_intervals(&mut child, 5);
    let listed = || text(&iolite(&place, &["results", "list"]));
    assert!(listed().contains("running"), "{}", listed());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(listed().contains("interrupted") && !listed().contains("running"), "{}", listed());
    let listed = parsed(&text(&iolite(&place, &["results", "list", "--json"])));
    assert_eq!(listed["runs"][0]["ending"]["kind"], "interrupted", "{listed}");
    let shown = text(&iolite(&place, &["results", "show"]));
    assert!(shown.contains("1. long") && shown.contains("INTERRUPTED"), "{shown}");
    let document = parsed(&text(&iolite(&place, &["results", "json"])));
    let operations = &document["phases"][0]["operations"][0];
    assert!(operations["operations"].as_u64().unwrap() > 0, "{operations}");
    assert!(Path::new(&place.results()).exists());
}

#[test]
fn runs_are_compared_and_conditions_decide_the_exit_code() {
    let place = TestDirectory::new();
    let writes = |block: &str| {
        format!(
            "[[tasks]]\n[tasks.io]\nname = 'writes'\ntarget.file = {{ name = 'data', size = '1MiB', create = true }}\n\
             backend = 'sync'\nmix = 'write'\nblock = '{block}'\nstop.runtime = '400ms'\ninterval = '20ms'\n"
        )
    };
    let (small, large) =
        (job(&place, "small.toml", &writes("4KiB")), job(&place, "large.toml", &writes("64KiB")));
    for job in [&small, &small, &large] {
        let output = iolite(&place, &["run", job, "--directory", place.data().to_str().unwrap()]);
        assert!(output.status.success(), "{}", stderr(&output));
    }
    for tagged in ["latest~1", "latest~2"] {
        iolite(&place, &["results", "tag", tagged, "it's 4 KiB"]);
    }
    let compared = iolite(&place, &["results", "compare", "latest~1", "latest", "--json"]);
    let document = parsed(&text(&compared));
    assert_eq!(
        (&document["format"], &document["covers"]),
        (&"iolite-comparison/1".into(), &"within-runs".into())
    );
    assert!(document["repeats_suggested"].as_u64().is_some_and(|repeats| repeats >= 5), "{document}");
    let caveats = document["caveats"].to_string();
    assert!(caveats.contains("block 4096 -> 65536"), "{caveats}");
    let printed = text(&iolite(&place, &["results", "compare", "latest~1", "latest"]));
    for part in ["writes, concurrency 1", "95 % interval", "ANSWER: ", "only the variation within one run"] {
        assert!(printed.split_whitespace().collect::<Vec<_>>().join(" ").contains(part), "{part}: {printed}");
    }
    let sets = ["results", "compare", "--before", "it's 4 KiB", "--after", "latest", "--json"];
    assert_eq!(parsed(&text(&iolite(&place, &sets)))["covers"], "between-runs");

    // Of 64 KiB there is more to move, whatever else the machine does meanwhile.
    let fails = |condition: &str| {
        let compare = ["results", "compare", "latest~1", "latest", "--fail-if", condition];
        iolite(&place, &compare)
    };
    let failed = fails("rate < 1000000000");
    assert_eq!(failed.status.code(), Some(3), "{}", stderr(&failed));
    assert!(text(&failed).contains("FAILED: "), "{}", text(&failed));
    assert_eq!(fails("rate > 1000000000").status.code(), Some(0));
    for wrong in ["p99 ~ 5", "read p99 > 1s"] {
        assert_eq!(fails(wrong).status.code(), Some(2), "{wrong}");
    }
    for wrong in [&["latest", "latest"][..], &["latest"], &["latest", "nope"], &["--before", "latest"]] {
        let output = iolite(&place, &[&["results", "compare"], wrong].concat());
        assert_eq!(output.status.code(), Some(2), "{wrong:?}: {}", stderr(&output));
    }
}

/// Runs fio's jobs, and holds what is shown of the run against what was printed, in the form that was asked for.
fn fio_shown_as_printed(place: &TestDirectory, arguments: &[&str]) -> String {
    let directory = place.data();
    let mut command = Command::new(IOLITE);
    command.arg("fio").args(arguments).current_dir(&directory).env("IOLITE_RESULTS", place.results());
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}{}", text(&output), stderr(&output));
    let printed = text(&output);
    assert_eq!(text(&iolite(place, &["results", "show", "latest"])), printed, "{arguments:?}");
    printed
}

#[test]
fn jobs_of_fio_are_shown_as_they_were_printed() {
    let place = TestDirectory::new();
    let common = ["--ioengine=psync", "--size=1m", "--bs=4k"];
    let fio = |arguments: &[&str]| fio_shown_as_printed(&place, &[&common[..], arguments].concat());
    let two = fio(&["--name=a", "--rw=randwrite", "--name=b", "--rw=read", "--description=the second"]);
    assert!(two.contains("a: (g=0): rw=randwrite") && two.contains("Run status group 0"), "{two}");
    let grouped = fio(&["--name=g", "--rw=randrw", "--numjobs=2", "--group_reporting=1"]);
    assert!(grouped.contains("(groupid=0, jobs=2)"), "{grouped}");
    let walled = fio(&["--name=w", "--rw=write", "--name=r", "--stonewall", "--rw=randread"]);
    assert!(walled.contains("Run status group 1"), "{walled}");
    fio(&["--name=v", "--rw=write", "--verify=crc32c", "--do_verify=1"]);
    fio(&["--name=e", "--rw=write", "--exec_prerun=true", "--create_only=1"]);
    let terse = fio(&["--name=t", "--rw=write", "--minimal"]);
    assert_eq!(terse.split(';').next(), Some("3"), "{terse}");

    let both = ["--name=j", "--rw=randwrite", "--output-format=normal,json", "--iodepth=4"];
    let both = fio(&[&both[..], &["--ioengine=libaio", "--steadystate=iops:50%", "--ss_dur=2"]].concat());
    assert!(both.contains("\"fio version\"") && both.contains("Run status group"), "{both}");
    let printed = parsed(&fio(&["--name=j", "--rw=write", "--output-format=json"]));
    assert_eq!(parsed(&text(&iolite(&place, &["results", "json", "latest"]))), printed);
    assert_eq!(printed["jobs"][0]["write"]["io_bytes"], 1 << 20);
}

#[test]
fn a_job_of_fio_that_failed_is_shown_with_its_error() {
    let place = TestDirectory::new();
    let mut command = Command::new(IOLITE);
    command.args(["fio", "--name=x", "--rw=read", "--size=1m", "--output-format=json"]);
    command.arg("--allow_file_create=0").env("IOLITE_RESULTS", place.results()).current_dir(place.data());
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let printed = parsed(&text(&output));
    assert_ne!(printed["jobs"][0]["error"], 0, "{printed}");
    assert_eq!(parsed(&text(&iolite(&place, &["results", "show", "latest"]))), printed);
}

#[test]
fn two_jobs_in_turns_are_shown_as_they_were_printed() {
    let place = TestDirectory::new();
    let writes = |block: &str| {
        format!(
            "name = 'writes of {block}'\n[[tasks]]\n[tasks.io]\nname = 'writes'\n\
             target.file = {{ name = 'data', size = '1MiB', create = true }}\nbackend = 'sync'\nmix = 'write'\n\
             block = '{block}'\nstop.operations = 200\ninterval = '10ms'\n"
        )
    };
    let (small, large) =
        (job(&place, "small.toml", &writes("4KiB")), job(&place, "large.toml", &writes("256KiB")));
    let directory = place.data();
    let ab =
        ["ab", &small, &large, "--repeat", "6", "--seed", "1", "--directory", directory.to_str().unwrap()];
    shown_as_printed(&place, &ab);
    let document = parsed(&text(&iolite(&place, &["results", "json", "latest"])));
    assert_eq!(document["jobs"]["b"], "writes of 256KiB");
    let order = document["order"].as_array().unwrap();
    assert_eq!(Some(order.len() as u64), document["pairs"].as_u64());
    assert!(order.contains(&"a".into()) && order.contains(&"b".into()), "{document}");
    let deciding: Vec<&Value> =
        document["figures"].as_array().unwrap().iter().filter(|figure| figure["decides"] == true).collect();
    assert_eq!(deciding.len(), 1, "{document}");
    assert_eq!((&deciding[0]["figure"], &deciding[0]["kind"]), (&"rate".into(), &"write".into()));
    for wrong in [&["--repeat", "1"][..], &["--figure", "p98"], &["--detect", "0"]] {
        let output = iolite(&place, &[&ab[..3], wrong].concat());
        assert_eq!(output.status.code(), Some(2), "{wrong:?}: {}", stderr(&output));
    }
}

#[test]
fn runs_are_exported_imported_asked_and_collected() {
    let place = TestDirectory::new();
    let writes = "[[tasks]]\n[tasks.io]\nname = '=1+1 \"quoted\"'\n\
                  target.file = { name = 'data', size = '1MiB', create = true }\nbackend = 'sync'\nmix = 'write'\n\
                  stop.operations = 200\n";
    let job = job(&place, "job.toml", writes);
    for _ in 0..3 {
        let output = iolite(&place, &["run", &job, "--directory", place.data().to_str().unwrap()]);
        assert!(output.status.success(), "{}", stderr(&output));
    }
    iolite(&place, &["results", "tag", "latest", "kept"]);
    let file = |name: &str| place.root.path().join(name).to_str().unwrap().to_owned();
    let (portable, other) = (file("portable.db"), file("other.db"));
    let export = ["results", "export", "kept", "latest~1", "-o", &portable];
    assert!(iolite(&place, &export).status.success());
    assert_eq!(iolite(&place, &export).status.code(), Some(2), "what is there is not overwritten");
    let elsewhere = |arguments: &[&str]| {
        let mut command = Command::new(IOLITE);
        command.args(arguments).args(["--results", &other]).env("COLUMNS", "110").env("NO_COLOR", "1");
        command.stdin(Stdio::null()).output().unwrap()
    };
    assert!(
        text(&elsewhere(&["results", "import", &portable])).contains("2 runs imported, none was already")
    );
    assert!(text(&elsewhere(&["results", "import", &portable])).contains("no runs imported, 2 were already"));
    for run in ["latest", "latest~1"] {
        let shown = ["results", "json", run];
        assert_eq!(parsed(&text(&elsewhere(&shown))), parsed(&text(&iolite(&place, &shown))));
    }
    let kept = parsed(&text(&elsewhere(&["results", "list", "--tag", "kept", "--json"])));
    assert_eq!(kept["runs"].as_array().unwrap().len(), 1);
    assert_eq!(elsewhere(&["results", "import", &job]).status.code(), Some(2));

    let table = text(&iolite(&place, &["results", "export", "latest", "--format", "csv"]));
    assert!(
        table.starts_with("run,started_unix_ns,") && table.contains("\"=1+1 \"\"quoted\"\"\""),
        "{table}"
    );
    let list = parsed(&text(&iolite(&place, &["results", "export", "latest", "--format", "json"])));
    assert_eq!(list[0], parsed(&text(&iolite(&place, &["results", "json", "latest"]))));

    let asked = iolite(&place, &["results", "sql", "SELECT count(*) AS runs FROM run", "--json"]);
    assert_eq!(parsed(&text(&asked))[0]["runs"], 3);
    for wrong in ["DELETE FROM run", "SELECT nonsense"] {
        assert_eq!(iolite(&place, &["results", "sql", wrong]).status.code(), Some(2), "{wrong}");
    }
    let dry = text(&iolite(&place, &["results", "gc", "--keep", "1", "--dry-run"]));
    assert_eq!(dry.lines().count(), 1, "{dry}");
    assert!(text(&iolite(&place, &["results", "gc", "--keep", "0"])).starts_with("2 runs deleted"));
    let left = parsed(&text(&iolite(&place, &["results", "list", "--json"])));
    assert_eq!(left["runs"].as_array().unwrap().len(), 1);
}

#[test]
fn a_stored_run_is_drawn_in_every_kind() {
    let place = TestDirectory::new();
    let writes = "[[tasks]]\n[tasks.io]\nname = 'a < b & \"c\"'\n\
                  target.file = { name = 'data', size = '1MiB', create = true }\nbackend = 'sync'\nmix = 'write'\n\
                  stop.operations = 500\ninterval = '10ms'\n";
    let job = job(&place, "job.toml", writes);
    for _ in 0..2 {
        let output = iolite(&place, &["run", &job, "--directory", place.data().to_str().unwrap()]);
        assert!(output.status.success(), "{}", stderr(&output));
    }
    let file = place.root.path().join("chart.svg");
    let file = file.to_str().unwrap();
    let kinds =
        ["timeline", "histogram", "cdf", "percentiles", "heatmap", "sweep", "surface", "compare", "trend"];
    for kind in kinds {
        let drawn = iolite(&place, &["plot", "latest", "latest~1", "--kind", kind, "-o", file]);
        assert!(drawn.status.success(), "{kind}: {}", stderr(&drawn));
        let picture = fs::read_to_string(file).unwrap();
        assert!(picture.starts_with("<svg ") && picture.ends_with("</svg>\n"), "{kind}: {picture}");
        let of_phase = picture.matches("a &lt; b &amp; &quot;c&quot;, write").count();
        match kind {
            "timeline" => assert!(of_phase >= 4, "{picture}"),
            "sweep" | "surface" => assert!(picture.contains("write"), "{picture}"),
            _ => assert!(of_phase >= 1, "{kind}: {picture}"),
        }
        let printed = iolite(&place, &["plot", "latest", "latest~1", "--kind", kind, "-o", "-"]);
        assert_eq!(text(&printed), picture, "{kind}");
    }
    let page = place.root.path().join("report.html");
    let page = page.to_str().unwrap();
    let written = iolite(&place, &["report", "latest", "latest~1", "-o", page]);
    assert!(written.status.success(), "{}", stderr(&written));
    let html = fs::read_to_string(page).unwrap();
    assert!(html.starts_with("<!DOCTYPE html>") && html.ends_with("</html>"));
    for kind in ["timeline", "histogram", "cdf", "percentiles", "heatmap", "compare", "trend"] {
        assert_eq!(html.matches(&format!("data-kind=\"{kind}\"")).count(), 1, "{kind}");
    }
    let name = "<title>1. a &lt; b &amp; &quot;c&quot;, write, run ";
    assert!(html.matches(name).count() >= 8);
    assert!(!html.contains("a < b") && !html.contains("src="));
    let unwritable = place.root.path().join("missing/chart.svg");
    for (arguments, says) in [
        (["latest", "--kind", "cdf", "-o", unwritable.to_str().unwrap()], "cannot write"),
        (["latest", "--kind", "pie", "-o", file], "timeline, histogram, cdf"),
        (["20010101", "--kind", "cdf", "-o", file], "20010101"),
    ] {
        let output = iolite(&place, &[&["plot"], &arguments[..]].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(says), "{arguments:?}: {}", stderr(&output));
    }
}

#[test]
fn results_of_fio_are_imported_listed_compared_and_drawn() {
    let place = TestDirectory::new();
    if !common::fio::fio_is_installed() {
        return;
    }
    let path = |name: &str| place.root.path().join(name).to_str().unwrap().to_owned();
    for format in ["json", "json+"] {
        let run = std::process::Command::new("fio")
            .current_dir(place.root.path())
            .args([
                "--name=a",
                "--ioengine=psync",
                "--size=8m",
                "--rw=randrw",
                "--bs=4k",
                "--iodepth=4",
                "--runtime=1",
            ])
            .args(["--time_based=1", "--rate_iops=2000,1000", "--write_bw_log=t", "--write_iops_log=t"])
            .args(["--write_lat_log=t", "--write_hist_log=t", "--log_hist_msec=200", "--log_avg_msec=100"])
            .arg(format!("--output-format={format}"))
            .arg(format!("--output={}", path(format)))
            .output()
            .unwrap();
        assert!(run.status.success(), "{}", stderr(&run));
    }
    for (number, name) in ["json", "json+"].into_iter().enumerate() {
        let imported = iolite(&place, &["results", "import", &path(name)]);
        assert_eq!(text(&imported), "1 run imported, none was already present\n", "{}", stderr(&imported));
        let again = iolite(&place, &["results", "import", &path(name)]);
        assert_eq!(text(&again), "no runs imported, 1 was already present\n", "{}", stderr(&again));
        let listed = parsed(&text(&iolite(&place, &["results", "list", "--json"])));
        assert_eq!(listed["runs"].as_array().unwrap().len(), number + 1);
    }
    let shown = text(&iolite(&place, &["results", "json", "latest"]));
    assert!(parsed(&shown)["phases"][0].is_object(), "{shown}");
    let compared = iolite(&place, &["results", "compare", "latest~1", "latest"]);
    assert!(compared.status.success(), "{}", stderr(&compared));
    let logs =
        ["bw", "iops", "lat", "clat", "slat", "clat_hist"].map(|kind| path(&format!("t_{kind}.1.log")));
    let logs: Vec<&str> = logs.iter().map(String::as_str).collect();
    let chart = path("chart.svg");
    let drawn = iolite(&place, &[&["plot", "--smooth", "1", "--trend", "-o", &chart][..], &logs].concat());
    assert!(drawn.status.success(), "{}", stderr(&drawn));
    let figures = text(&drawn);
    for name in ["t.1, read bw", "t.1, write iops", "t.1, read clat_hist", "standard deviation"] {
        assert!(figures.contains(name), "{name} in {figures}");
    }
    let picture = fs::read_to_string(&chart).unwrap();
    for label in ["bandwidth in MiB", "total latency", "completion latency"] {
        assert!(picture.contains(label), "{label}: {picture}");
    }
    let cdf = iolite(&place, &[&["plot", "--kind", "heatmap", "-o", "-"][..], &logs].concat());
    assert!(text(&cdf).contains("response time: 1. "), "{}", stderr(&cdf));
    let imported = iolite(&place, &[&["results", "import"][..], &logs].concat());
    assert!(text(&imported).starts_with("1 run imported"), "{}", stderr(&imported));
    odd_logs_of_fio_are_read(&place);
    let picture = path("chart.png");
    let drawn = iolite(&place, &["plot", "latest", "--kind", "trend", "-o", &picture]);
    if drawn.status.success() {
        assert!(fs::read(&picture).unwrap().starts_with(b"\x89PNG"));
        let shown = iolite(&place, &["plot", "latest", "--show=kitty"]);
        assert!(text(&shown).starts_with("\u{1b}_Ga=T,f=100,m=1;iVBORw0KGgo"), "{}", stderr(&shown));
        // Not to what is no terminal, whatever that announces.
        let mut piped = Command::new(IOLITE);
        piped.args(["plot", "latest", "--show", "--results"]).arg(place.results()).env("TERM", "xterm-kitty");
        assert!(!text(&piped.output().unwrap()).contains("\u{1b}_G"));
    } else {
        assert!(stderr(&drawn).contains("librsvg2-bin"), "{}", stderr(&drawn));
        eprintln!("skipped: rsvg-convert is not installed");
    }
    let wrong = iolite(&place, &["results", "import", &path("t_bw.1.log")]);
    assert_eq!(wrong.status.code(), Some(2), "{}", stderr(&wrong));
}

#[test]
fn exports_of_perftools_join_the_history() {
    let place = TestDirectory::new();
    let db = blocks(&place);
    done(&place, &["ranread", "run", "--db", &db, "--jobs", "2", "--runtime", "300ms", "--quiet"]);
    let own = text(&iolite(&place, &["ranread", "export", "-"]));
    let sheet = text(&iolite(&place, &["ranread", "export", "-", "--format", "json"]));
    let (export, old) = (path(&place, "own.csv"), path(&place, "PerfToolsRanRead_20160622-2105.txt"));
    fs::write(&export, &own).unwrap();
    fs::write(
        &old,
        "RunDate\tRunTime\tDatabase\tReads\tWrites\tReadsPS\tWritesPS\tProcesses\tReadPct\n\
         2016-06-22\t21:05:01\t/db/zranread/\t1803600\t0\t6012\t0\t4\t100\n",
    )
    .unwrap();
    let imported = text(&iolite(&place, &["results", "import", &export, &old]));
    assert_eq!(imported, "2 runs imported, none was already present\n", "{own}");
    let again = text(&iolite(&place, &["results", "import", &export, &old]));
    assert_eq!(again, "no runs imported, 2 were already present\n");
    let shown = text(&iolite(&place, &["results", "show", "2016"]));
    assert!(shown.contains("/db/zranread/") && shown.contains("6,012"), "{shown}");
    assert!(shown.contains("p50 -, p95 -, p99 -, p99.9 -, max -; IOPS ± -"), "{shown}");
    let csv = text(&iolite(&place, &["ranread", "export", "-"]));
    let line = csv.lines().find(|line| line.starts_with("2016")).unwrap_or_default();
    assert!(line.contains(",0.665336,,,,,,"), "mean alone: {csv}");
    let list = parsed(&text(&iolite(&place, &["results", "list", "--until", "2016-06-22", "--json"])));
    assert!(list["runs"][0]["notes"][0].as_str().unwrap().contains("without a time series"), "{list}");
    let page = text(&iolite(&place, &["report", "2016", "latest", "-o", "-"]));
    assert!(page.contains("/db/zranread/"), "{page}");
    let elsewhere = path(&place, "elsewhere.db");
    let mut command = Command::new(IOLITE);
    let output = command.args(["results", "import", &export, "--results", &elsewhere]).output().unwrap();
    assert!(text(&output).starts_with("1 run imported"), "{}", stderr(&output));
    // A file that is too large is refused, not cut off.
    let large = fs::File::create(path(&place, "large_lat.1.log")).unwrap();
    large.set_len((2 << 30) + 1).unwrap();
    let refused = iolite(&place, &["results", "import", &path(&place, "large_lat.1.log")]);
    assert!(stderr(&refused).contains("larger than 2 GiB"), "{}", stderr(&refused));
    // What the export says of the run is what the run says; the run itself can still come.
    let columns = ["Errors", "ReadMaxMs", "Stamp", "ReadsPSLow", "ReadsPSHigh", "Ending", "TimedBy"];
    // As rounded in CSV.
    let rounded =
        |value: &Value| value.as_f64().map_or_else(|| value.to_string(), |value| format!("{value:.3}"));
    let cells = |sheet: &str| columns.map(|name| rounded(&parsed(sheet)[0][name]));
    let first = cells(&sheet);
    let of = |arguments: &[&str]| {
        let output = Command::new(IOLITE).args(arguments).args(["--results", &elsewhere]).output().unwrap();
        text(&output)
    };
    assert_eq!(cells(&of(&["ranread", "export", "-", "--format", "json"])), first);
    let whole = path(&place, "whole.db");
    // Both began in the same second: `latest` may be either.
    let measured = parsed(&sheet)[0]["Run"].as_str().unwrap().to_owned();
    done(&place, &["results", "export", &measured, "-o", &whole]);
    assert_eq!(of(&["results", "import", &whole]), "1 run imported, none was already present\n");
}

/// Logs of the installed fio that are compressed, coarse, counted from 1970, or of all jobs (`fio_generic`): the figures are those
/// of the job, and the run began when the job did.
fn odd_logs_of_fio_are_read(place: &TestDirectory) {
    let at = place.root.path().join("odd");
    fs::create_dir(&at).unwrap();
    let fio = |arguments: &[&str]| {
        let mut command = Command::new("fio");
        let job = ["--name=a", "--ioengine=null", "--size=1m", "--rw=read", "--time_based", "--thread"];
        let output = command.current_dir(&at).args(job).args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
    };
    let imported = |files: &[&str]| {
        let files: Vec<String> = files.iter().map(|name| at.join(name).display().to_string()).collect();
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        let output = iolite(place, &[&["results", "import"][..], &files].concat());
        assert!(text(&output).starts_with("1 run imported"), "{files:?}: {}", stderr(&output));
        let newest = "SELECT id FROM run ORDER BY rowid DESC LIMIT 1";
        let id: String = place.ask(newest);
        let kept: i64 = place.ask(&format!("SELECT started_unix_ns FROM run WHERE id = '{id}'"));
        (parsed(&text(&iolite(place, &["results", "json", &id]))), kept)
    };
    let rate = |run: &Value| run["phases"][0]["operations"][0]["iops"]["value"].as_f64().unwrap();

    let before =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as i64;
    let coarse = ["--write_hist_log=h", "--log_hist_msec=200", "--log_hist_coarseness=3"];
    let averages = ["--write_iops_log=h", "--log_avg_msec=200", "--log_unix_epoch=1"];
    fio(&[&["--runtime=2", "--rate_iops=2000"][..], &coarse, &averages].concat());
    for name in ["h_clat_hist.1.log", "h_iops.1.log"] {
        let (run, started) = imported(&[name]);
        assert!((1000.0..4000.0).contains(&rate(&run)), "{name}: {run}");
        // fio reads its clocks one after the other.
        assert!(started > before - 1_000_000_000, "{name}: {started} began before {before}");
    }

    fio(&[
        "--runtime=1",
        "--rate_iops=500",
        "--write_lat_log=z",
        "--log_store_compressed=1",
        "--log_compression=64k",
    ]);
    let refused = iolite(place, &["results", "import", at.join("z_lat.1.log.fz").to_str().unwrap()]);
    assert!(stderr(&refused).contains("fio --inflate-log"), "{}", stderr(&refused));
    let inflated = Command::new("fio").arg("--inflate-log=z_lat.1.log.fz").current_dir(&at).output().unwrap();
    fs::write(at.join("z_lat.1.log"), inflated.stdout).unwrap();
    let (run, _) = imported(&["z_lat.1.log"]);
    assert!((250.0..1000.0).contains(&rate(&run)), "{run}");
    // iolite's own are gzip's.
    let own = ["fio", "--name=a", "--ioengine=null", "--size=1m", "--rw=read", "--time_based", "--runtime=1"];
    let prefix = format!("--write_lat_log={}", at.join("g").display());
    let own = iolite(place, &[&own[..], &["--rate_iops=500", "--log_store_compressed=1", &prefix]].concat());
    assert!(own.status.success(), "{}", stderr(&own));
    let (run, _) = imported(&["g_lat.1.log.gz"]);
    assert!((250.0..1000.0).contains(&rate(&run)), "{run}");

    fio(&[
        "--runtime=1",
        "--rate_iops=500",
        "--write_iops_log=fio_generic",
        "--per_job_logs=0",
        "--log_avg_msec=200",
    ]);
    let (run, _) = imported(&["fio_generic_iops.log"]);
    assert!((250.0..1000.0).contains(&rate(&run)), "{run}");
}
