//! cli keeps arguments, wiring and exit codes: it has runs driven, and neither measures nor decides.

use std::fs;

use super::{root, sources};

/// What only those who measure or decide have a use for, and where that is done. cli turns arguments into options, begins a session,
/// has it drive a procedure, and prints the run: it needs none of these words. That it does not depend on the crates `stats`, `workers` and
/// `workload` is held by their absence in its row of ARCHITECTURE.md.
const MEASURING: [(&str, &str); 27] = [
    ("Instant", "time is taken in session and below"),
    ("thread::spawn", "threads are started in session and below"),
    ("thread::Builder", "threads are started in session and below"),
    ("thread::sleep", "session::pause lets time pass"),
    ("Recorder", "operations are recorded by workers"),
    ("run_set", "session runs the steps of a procedure"),
    ("run_file_task", "session runs the steps of a procedure"),
    ("run_db_task", "session runs phases inside databases"),
    ("phase_by", "session runs the steps of a procedure"),
    ("run_metadata_task", "session runs the steps of a procedure"),
    ("inside_database", "session runs the steps of a procedure"),
    (".prepare(", "session prepares the steps of a procedure"),
    ("PhaseInfo", "session announces phases"),
    ("tproc_c::check", "a check is a step of a procedure"),
    ("CacheProbe", "session reads counters around a phase"),
    ("LeafCounters", "session reads counters around a phase"),
    ("DiskProbe", "session counts what the host does while phases run"),
    ("CpuIdle", "session counts what the host does while phases run"),
    ("IoScheduler", "session switches schedulers, and back"),
    ("errno", "fio finds the number of an error"),
    ("EINVAL", "fio finds the number of an error"),
    ("raw_os_error", "fio finds the number of an error"),
    ("Monitor", "session reads counters around a phase"),
    ("WaitSampler", "session samples what sessions wait for"),
    ("of_phase(", "what is concluded of a phase is recorded by who measured it"),
    ("Warning::", "suites and session decide what is warned of"),
    ("Verdict", "suites reach verdicts"),
];

/// A crate's files in cli, without comments and tests, in which a word of those occurs.
fn measuring(file: &str, text: &str) -> Vec<String> {
    let code = text.split("#[cfg(test)]").next().unwrap_or(text);
    let code: Vec<&str> = code.lines().map(|line| line.split("//").next().unwrap_or(line)).collect();
    let is_word = |word: &str, line: &str| {
        line.match_indices(word).any(|(at, _)| {
            let around = [line[..at].chars().next_back(), line[at + word.len()..].chars().next()];
            let joined = |next: Option<char>| next.is_some_and(|next| next.is_alphanumeric() || next == '_');
            !joined(around[0]) && (!word.ends_with(char::is_alphanumeric) || !joined(around[1]))
        })
    };
    let found = |(word, instead): &(&str, &str)| {
        let line = code.iter().position(|line| is_word(word, line))?;
        Some(format!("{file}:{}: {word}: {instead}", line + 1))
    };
    let is_allowed = |word: &str| ALLOWED.contains(&(file, word));
    MEASURING.iter().filter(|(word, _)| !is_allowed(word)).filter_map(found).collect()
}

/// The thread that listens for signals before any session has begun.
const ALLOWED: [(&str, &str); 1] = [("crates/cli/src/signals.rs", "thread::Builder")];

#[test]
fn cli_neither_measures_nor_decides() {
    let sources = sources();
    let of_cli: Vec<_> = sources.iter().filter(|(file, _)| file.starts_with("crates/cli/src/")).collect();
    assert!(of_cli.len() > 30, "found only {} files of cli", of_cli.len());
    let found: Vec<String> = of_cli.iter().flat_map(|(file, text)| measuring(file, text)).collect();
    assert!(found.is_empty(), "move this to its crate:\n{}", found.join("\n"));
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let row = page.lines().find(|line| line.starts_with("| cli |")).unwrap();
    let uses: Vec<&str> = row.split('|').nth(3).unwrap().split_whitespace().collect();
    for measures in ["stats", "workers", "workload"] {
        assert!(!uses.contains(&measures) && !uses.contains(&"all"), "cli must not use {measures}: {row}");
    }
}

/// The methods of a session by which phases are run or anything else is done: of these, cli reaches [`Session::drive`] only.
const DRIVEN: [&str; 4] = ["calibrate", "set", "phase_by", "steps"];

/// The file of cli that drives a session to its end for most commands.
const CONDUCT: &str = "crates/cli/src/conduct.rs";

/// Whether a text has a session driven before its end.
fn drives(text: &str) -> bool {
    let (driven, ended) = (text.find(".drive("), text.rfind(".end("));
    driven.zip(ended).is_some_and(|(driven, ended)| driven < ended)
}

/// Whether a file of cli that records what a run is asked for has the session driven, and what it lacks where not.
fn undriven(file: &str, text: &str) -> Option<String> {
    text.find("RunRequest::new(")?;
    let done = drives(text) || text.contains("conduct(session, ");
    (!done).then(|| format!("{file}: a run begins, and no `Session::drive` follows before its end"))
}

#[test]
fn every_run_is_driven() {
    let sources = sources();
    let of_cli = || sources.iter().filter(|(file, _)| file.starts_with("crates/cli/src/"));
    let wrong: Vec<String> = of_cli().filter_map(|(file, text)| undriven(file, text)).collect();
    assert!(wrong.is_empty(), "make what is done a procedure:\n{}", wrong.join("\n"));
    let begin = of_cli().filter(|(_, text)| text.contains("RunRequest::new(")).count();
    assert!(begin >= 17, "only {begin} files of cli begin runs");
    assert!(of_cli().any(|(file, text)| file == CONDUCT && drives(text)), "{CONDUCT} drives no session");
    // What begins a phase is not seen outside of session.
    let session: String = sources
        .iter()
        .filter(|(file, _)| file.starts_with("crates/session/src/"))
        .map(|(_, text)| text.as_str())
        .collect();
    for method in DRIVEN {
        assert!(session.contains(&format!("fn {method}")), "session has no method {method} any more");
        for public in [format!("pub fn {method}("), format!("pub fn {method}<")] {
            assert!(!session.contains(&public), "{public} lets cli pass the driver by");
        }
    }
}

#[test]
fn a_run_that_is_not_driven_is_found() {
    let begins = "session.conclude(Concluded::of(&RunRequest::new(\"x\", \"\")));\n";
    let drives = "session.drive(&mut procedure, &mut Bare)?;\n";
    let ends = "let run = session.end(Ending::Completed);\n";
    assert_eq!(undriven("a.rs", &[begins, drives, ends].concat()), None);
    assert_eq!(undriven("a.rs", &[drives, ends].concat()), None);
    assert_eq!(
        undriven("a.rs", &[begins, "conduct(session, &mut procedure, &mut env, output)?;\n"].concat()),
        None
    );
    for wrong in [[begins, ends, drives], [begins, "measure(&mut session);\n", ends]] {
        assert!(undriven("a.rs", &wrong.concat()).is_some_and(|found| found.starts_with("a.rs: ")));
    }
}

#[test]
fn the_check_of_cli_finds_what_measures() {
    let text = "use std::time::Instant;\n// Recorder\nlet started = Instant::now();\nsession.warn(Warning::Standby);\n\
                let instantly = InstantX; let MonitorY = 1;\n#[cfg(test)]\nmod tests { use x::Verdict; }\n";
    let found = measuring("a.rs", text);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found[0].starts_with("a.rs:1: Instant") && found[1].starts_with("a.rs:4: Warning::"),
        "{found:?}"
    );
}
