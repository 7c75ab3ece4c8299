//! Every command: what it printed when it ended is what is shown of the stored run.

use super::*;

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
pub(super) struct RunRequest {
    arguments: Vec<String>,
    keep: Option<Box<dyn std::any::Any>>,
}

fn asked<const N: usize>(arguments: [&str; N]) -> Option<RunRequest> {
    let arguments = arguments.iter().map(|&argument| argument.to_owned()).collect();
    Some(RunRequest { arguments, keep: None })
}

/// A command by the words that it begins with, and how it is asked for in a place; `None`, with the reason printed, where that is
/// not possible.
pub(super) type Row = (&'static str, fn(&TestDirectory) -> Option<RunRequest>);

/// Every command whose runs are stored. More of fio's command lines are in tests of their own below.
pub(super) const COMMANDS: &[Row] = &[
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
            "64KiB",
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
            "write-saturation,cross-stimulus-recovery,composite,demand-intensity,zone-iops",
            "--scale",
            "0.000001",
            "--max-rounds",
            "5",
            "--demand",
            "1,2",
            "--zones",
            "1",
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
    ("tproc-c ab", |place| {
        let db = warehouse(place);
        let words =
            "tproc-c ab --vary all-warehouses --users 1 --repeat 2 --duration 400ms --ramp 100ms --db";
        let arguments = words.split(' ').chain([&*db]).map(str::to_owned).collect();
        Some(RunRequest { arguments, keep: None })
    }),
    ("tproc-c check", |place| asked(["tproc-c", "check", "--db", &warehouse(place)])),
    ("waits watch", |_| {
        let server = PrivateServer::start("postgres")?;
        let mut asked = asked(["waits", "watch", "--db", &server.url, "--duration", "300ms"])?;
        asked.keep = Some(Box::new(server));
        Some(asked)
    }),
    ("observe", |place| asked(["observe", &data(place), "--duration", "300ms", "--interval", "50ms"])),
    ("observe cachestat", |_| asked(["observe", "cachestat", "--duration", "300ms", "--interval", "50ms"])),
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

/// Commands that store no run of their own: they print what is known, prepare, or work on stored runs. `durability run` can't be run
/// twice with the same arguments: it has a test of its own (durability.rs).
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
pub(super) fn listed(command: &[&str]) -> Vec<String> {
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
    assert!(
        all.contains(&"tproc-c build".to_owned()) && all.contains(&"observe cachestat".to_owned()),
        "{all:?}"
    );
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
