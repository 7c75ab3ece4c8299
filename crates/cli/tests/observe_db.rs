//! `iolite observe --db`: counters and waits of a database beside the host's readings, and what is stated where they can't be read.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod common;

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::subject::{Subject, plain};
use common::{IOLITE, json, stderr};

/// An observation of which nothing but its end is waited for.
const OBSERVE: [&str; 6] = ["observe", "--quiet", "--interval", "100ms", "--duration", "1h"];
/// The same, over at once.
const SHORT: [&str; 6] = ["observe", "--quiet", "--interval", "100ms", "--duration", "1s"];
/// Readings of the database's counters.
const READ: &str = "SELECT count(*) FROM reading WHERE probe = 'database'";

fn signal(name: &str, process: &str) {
    assert!(Command::new("kill").args([name, process]).status().unwrap().success());
}

/// What the results say so far; 0 as long as there are none.
fn number(subject: &Subject, sql: &str) -> i64 {
    let ask = || {
        let database = rusqlite::Connection::open(subject.place.results())?;
        database.busy_timeout(Duration::from_secs(5))?;
        database.query_row(sql, [], |row| row.get(0))
    };
    if subject.place.results().exists() { ask().unwrap_or_default() } else { 0 }
}

fn until(observation: &mut Child, what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while !is_so() {
        assert!(observation.try_wait().unwrap().is_none(), "the observation ended before {what}");
        assert!(Instant::now() < deadline, "no {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn begun(subject: &Subject) -> Child {
    let mut observation = subject.command(&OBSERVE).stdout(Stdio::piped()).spawn().unwrap();
    until(&mut observation, "readings of the database", || number(subject, READ) > 5);
    observation
}

/// Waits until the observation has noticed that the database is away.
fn until_missed(subject: &Subject, observation: &mut Child) {
    let warned = "SELECT count(*) FROM warning WHERE kind = 'probe-failed'";
    until(observation, "warning that the database is away", || number(subject, warned) > 0);
}

/// Waits until the database is read again; then the observation is interrupted. What it prints.
fn ended_when_back(subject: &Subject, mut observation: Child) -> String {
    let before = number(subject, READ);
    until(&mut observation, "readings after the gap", || number(subject, READ) > before + 5);
    signal("-INT", &observation.id().to_string());
    let output = observation.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_server_that_goes_away_and_comes_back_is_a_gap() {
    for server in ["postgres", "mariadb"] {
        let Some(subject) = Subject::server(server) else { continue };
        let mut observation = begun(&subject);
        subject.serve("stop");
        until_missed(&subject, &mut observation);
        subject.serve("start");
        let printed = ended_when_back(&subject, observation);
        let text = plain(&printed);
        for expected in
            ["no counters and waits from", "log writes/s", "context switches/s", "active sessions:"]
        {
            assert!(text.contains(expected), "{server}: {expected}: {printed}");
        }
        assert_eq!(subject.done(&["results", "show", "latest"]), printed);
        let gaps =
            "SELECT json_array_length(json, '$.gaps') FROM conclusion WHERE kind = 'observed-database'";
        assert_eq!(number(&subject, gaps), 1, "{printed}");
        assert!(
            text.contains("no session was active in any sample"),
            "what iolite reads is not active: {printed}"
        );
        let page = subject.place.root.path().join("page.html");
        let report = Command::new(IOLITE)
            .args(["report", "latest", "-o"])
            .arg(&page)
            .arg("--results")
            .arg(subject.place.results())
            .output()
            .unwrap();
        assert!(report.status.success(), "{}", stderr(&report));
        let page = std::fs::read_to_string(page).unwrap();
        assert!(page.contains("Counters of the database") && page.contains("no counters and waits from"));
    }
}

#[test]
fn a_server_that_hangs_holds_up_no_reading_of_the_host() {
    let Some(subject) = Subject::server("mariadb") else { return };
    // It runs already.
    let started = subject.serve("start");
    let process = started.split("process ").nth(1).and_then(|rest| rest.split(';').next()).unwrap();
    let mut observation = begun(&subject);
    signal("-STOP", process);
    let host = "SELECT count(*) FROM reading WHERE probe = 'cpu'";
    let before = number(&subject, host);
    until_missed(&subject, &mut observation);
    let meanwhile = number(&subject, host) - before;
    signal("-CONT", process);
    let text = plain(&ended_when_back(&subject, observation));
    assert!(text.contains("has not responded"), "{text}");
    assert!(meanwhile > 5, "{meanwhile} readings of the host in five seconds");
}

#[test]
fn what_an_account_may_not_see_is_stated() {
    if let Some(subject) = Subject::server("mariadb") {
        // The password is between the account's colon and the host.
        let (account, rest) = subject.db.split_once('@').unwrap();
        let (account, _) = account.rsplit_once(':').unwrap();
        let wrong = format!("{account}:wrong@{rest}");
        let output =
            subject.command(&[&SHORT[..], &["--json"]].concat()).env("IOLITE_DB", &wrong).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        let document = json(&output);
        let why = document["database"]["gaps"][0]["why"].as_str().unwrap();
        assert!(why.contains("password") || why.contains("denied"), "{document:#}");
        assert!(
            document["database"]["engine"].is_null() && !document.to_string().contains("wrong@"),
            "{document:#}"
        );
        assert!(document["figures"].to_string().contains("context switches/s"), "{document:#}");
    }
    let Some(subject) = Subject::server("postgres") else { return };
    subject.psql(&["CREATE ROLE weak LOGIN"]);
    let weak = subject.db.replacen("iolite@", "weak@", 1);
    let other = Command::new("psql")
        .args([&subject.db, "-XAtq", "-c", "SELECT pg_sleep(600)"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let mut observation =
        subject.command(&OBSERVE).env("IOLITE_DB", &weak).stdout(Stdio::piped()).spawn().unwrap();
    until(&mut observation, "readings of the database", || number(&subject, READ) > 5);
    let sleeping = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
    until(&mut observation, "sleeping session", || subject.psql(&[sleeping]) == "1");
    // Beyond the next sample of it.
    let read = number(&subject, READ);
    until(&mut observation, "samples", || number(&subject, READ) > read + 5);
    signal("-INT", &observation.id().to_string());
    let printed = observation.wait_with_output().unwrap();
    subject.psql(&["SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"]);
    other.unwrap().wait().unwrap();
    let text = plain(&String::from_utf8(printed.stdout).unwrap());
    assert!(text.contains("log writes/s") && text.contains("GRANT pg_read_all_stats TO weak"), "{text}");
}

#[test]
fn an_embedded_database_has_nothing_to_read() {
    let subject = Subject::sqlite();
    let output = subject.output(&[&SHORT[..], &["--json"]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let document = json(&output);
    assert_eq!(document["database"]["engine"], "SQLite");
    let why = document["database"]["gaps"][0]["why"].as_str().unwrap();
    assert!(why.contains("library within the application"), "{why}");
    assert!(document["warnings"].to_string().contains("counters and waits of sqlite:"), "{document:#}");
    assert!(document["figures"].to_string().contains("context switches/s"), "{document:#}");
    let refused = subject
        .command(&[&SHORT[..], &["--waits", "50ms"]].concat())
        .env_remove("IOLITE_DB")
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("--waits needs --db"), "{}", stderr(&refused));
}
