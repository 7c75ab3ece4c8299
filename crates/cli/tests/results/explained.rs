//! `iolite explain` knows every JSON document that iolite prints: those of commands that store a run are in the table of commands.

use std::process::Command;

use super::commands::{COMMANDS, listed};
use super::common::{IOLITE, TestDirectory, stderr};
use super::{READS, blocks, data, done, explained, iolite, job, path, text};

/// Commands that print JSON and store no run, or none that is shown again, by the words that they begin with.
const DOCUMENTS: &[(&str, &[&str])] = &[
    ("results list", &["results", "list", "--json"]),
    ("results compare", &["results", "compare", "latest~1", "latest", "--json"]),
    ("results ratio", &["results", "ratio", "latest~1", "latest", "--json"]),
    ("results sql", &["results", "sql", "SELECT * FROM phase", "--json"]),
    ("results json", &["results", "json", "latest"]),
    ("results export", &["results", "export", "latest", "latest~1", "--format", "json"]),
    ("ranread history", &["ranread", "history", "--json"]),
    ("ranwrite history", &["ranwrite", "history", "--json"]),
    ("ranio history", &["ranio", "history", "--json"]),
    ("ranread export", &["ranread", "export", "-", "--format", "json"]),
];

/// Commands whose documents are explained by a test of their own.
const ELSEWHERE: &[(&str, &str)] = &[
    ("durability run", "what_a_run_has_acknowledged_is_explained"),
    ("ranwrite export", "documents_without_a_run_are_explained"),
    ("ranio export", "documents_without_a_run_are_explained"),
];

#[test]
fn documents_without_a_run_are_explained() {
    let place = TestDirectory::new();
    let db = blocks(&place);
    for tool in ["ranread", "ranwrite", "ranio", "ranread"] {
        done(&place, &[tool, "run", "--db", &db, "--jobs", "1", "--iterations", "50", "--quiet"]);
    }
    // An export is the same for each of the three.
    let exports = [
        ("", &["ranwrite", "export", "-", "--format", "json"][..]),
        ("", &["ranio", "export", "-", "--format", "json"]),
    ];
    for (_, arguments) in DOCUMENTS.iter().chain(&exports) {
        let output = iolite(&place, arguments);
        assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
        explained(&place, &output.stdout);
    }
}

#[test]
fn what_a_run_has_acknowledged_is_explained() {
    let place = TestDirectory::new();
    let notes = path(&place, "notes");
    let run = ["durability", "run", &data(&place), "--witness", &notes, "--same-file-system"];
    let limits = ["--max-write", "1MiB", "--duration", "10s", "--quiet", "--json"];
    let output = iolite(&place, &[&run[..], &limits].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    explained(&place, &output.stdout);
}

/// What a run that has failed prints is a document, too.
#[test]
fn the_document_of_a_run_that_failed_is_explained() {
    let place = TestDirectory::new();
    let missing = READS.replace(
        "{ name = 'data', size = '8MiB', create = false }",
        "{ name = 'gone', size = '8MiB', create = false }",
    );
    let output =
        iolite(&place, &["run", &job(&place, "job.toml", &missing), "--directory", &data(&place), "--json"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    explained(&place, &output.stdout);
}

/// All commands that have verbs, and those without.
fn all_commands() -> Vec<String> {
    let verbs = |command: String| match listed(&[&command]) {
        none if none.is_empty() || command == "fio" => vec![command],
        verbs => verbs.into_iter().map(|verb| format!("{command} {verb}")).collect(),
    };
    listed(&[]).into_iter().flat_map(verbs).collect()
}

#[test]
fn no_command_that_prints_json_is_left_out() {
    let prints_json = |command: &String| {
        let words: Vec<&str> = command.split(' ').collect();
        let help = Command::new(IOLITE).args(&words).arg("--help").env("NO_COLOR", "1").output().unwrap();
        let help = text(&help);
        let before = help.split("Examples:").next().unwrap();
        before.split_whitespace().any(|word| word == "--json")
            || before.contains("JSON array")
            || before.contains("JSON list")
    };
    let begins = |row: &str, command: &str| {
        row == command || row.strip_prefix(command).is_some_and(|rest| rest.starts_with(' '))
    };
    let is_explained = |command: &str| {
        COMMANDS.iter().any(|(row, _)| begins(row, command))
            || DOCUMENTS.iter().any(|(row, _)| *row == command)
            || ELSEWHERE.iter().any(|(row, _)| *row == command)
    };
    let all: Vec<String> = all_commands().into_iter().filter(prints_json).collect();
    assert!(all.len() > 20, "{all:?}");
    let left_out: Vec<_> = all.iter().filter(|command| !is_explained(command)).collect();
    assert!(left_out.is_empty(), "{left_out:?} print JSON that no test has explained");
}
