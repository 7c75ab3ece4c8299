//! `iolite tproc-c` from build to purge, and what `results show` prints of its runs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]

mod common;

use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use common::{IOLITE, TestDirectory, json, stderr};

/// A database that is measured; a private server of it is stopped in the end.
struct Subject {
    place: TestDirectory,
    db: String,
    stop: Option<[String; 2]>,
}

impl Drop for Subject {
    fn drop(&mut self) {
        if let Some([server, directory]) = &self.stop {
            let _ = Command::new(IOLITE).args(["db", "stop", server, directory]).output();
            let _ = std::fs::remove_dir_all(directory);
        }
    }
}

impl Subject {
    fn sqlite() -> Subject {
        let place = TestDirectory::new();
        let db = format!("sqlite:{}", place.data().display());
        Subject { place, db, stop: None }
    }

    /// `None`, with the reason printed, where its programs are missing.
    fn server(server: &str) -> Option<Subject> {
        let place = TestDirectory::new();
        // Not beneath a home directory, which the server's user may not pass; and a socket's path is short.
        let directory = tempfile::tempdir().unwrap().keep();
        let started = Command::new(IOLITE).args(["db", "start", server]).arg(&directory).output().unwrap();
        if !started.status.success() && stderr(&started).contains("install") {
            println!("skipped: {}", stderr(&started));
            return None;
        }
        assert!(started.status.success(), "{}", stderr(&started));
        let text = String::from_utf8(started.stdout).unwrap();
        let stop = Some([server.to_owned(), directory.display().to_string()]);
        Some(Subject { place, db: text.lines().next().unwrap().to_owned(), stop })
    }

    fn output(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(IOLITE);
        command.args(arguments).env("IOLITE_DB", &self.db).env("NO_COLOR", "1").stdin(Stdio::null());
        let measures = matches!(
            arguments,
            ["tproc-c" | "ranread", "run" | "sweep" | "check", ..] | ["waits" | "observe", ..]
        );
        if measures || arguments[0] == "results" {
            command.arg("--results").arg(self.place.results());
        }
        command
    }

    /// What psql answers to statements, one after the other in one session.
    fn psql(&self, statements: &[&str]) -> String {
        let each = statements.iter().flat_map(|statement| ["-c", statement]);
        let output = Command::new("psql").args([&self.db, "-XAtq"]).args(each).output().unwrap();
        assert!(output.status.success(), "{statements:?}: {}", stderr(&output));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn done(&self, arguments: &[&str]) -> String {
        let output = self.output(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    fn build(&self) {
        let built = self.done(&["tproc-c", "build", "--reduction", "100", "--warehouses", "2", "--quiet"]);
        assert!(built.contains("2 warehouses") && built.contains("REDUCED to 1/100"), "{built}");
    }

    /// A run is shown again as it was printed, as text and as JSON.
    fn shows_again(&self, printed: &str) {
        assert_eq!(self.done(&["results", "show", "latest"]), printed);
        let shown: serde_json::Value =
            serde_json::from_str(&self.done(&["results", "json", "latest"])).unwrap();
        assert_eq!(shown["format"], "iolite-tproc-c/1");
    }
}

/// White space of any kind is one blank.
fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

const SHORT: [&str; 7] = ["tproc-c", "run", "--quiet", "--duration", "2s", "--ramp", "500ms"];

#[test]
fn a_database_in_a_directory_from_build_to_purge() {
    let subject = Subject::sqlite();
    let missing = subject.output(&SHORT);
    assert_eq!(missing.status.code(), Some(2));
    assert!(stderr(&missing).contains("tproc-c build"), "{}", stderr(&missing));
    subject.build();
    let again = subject.output(&["tproc-c", "build", "--quiet"]);
    assert_eq!(again.status.code(), Some(2), "{}", stderr(&again));

    let printed = subject.done(&[&SHORT[..], &["--users", "3", "--repeat", "2"]].concat());
    for expected in [
        "NOPM",
        "(REDUCED to 1/100)",
        "new-order",
        "stock-level",
        "3 virtual users",
        "2 runs from the same start",
    ] {
        assert!(plain(&printed).contains(expected), "{expected}: {printed}");
    }
    subject.shows_again(&printed);

    let output = subject.output(&[&SHORT[..], &["--users", "2", "--json"]].concat());
    let document = json(&output);
    let counted = &document["phases"][0]["counted"];
    assert_eq!(counted["orders"], counted["new_orders"]);
    assert!(counted["new_orders"].as_u64().unwrap() > 0, "{document:#}");
    let stored = |column| {
        let latest = "run = (SELECT max(run) FROM tproc_c_summary)";
        subject.place.ask::<f64>(&format!("SELECT {column} FROM tproc_c_summary WHERE {latest}"))
    };
    for column in ["nopm_low", "nopm", "nopm_high"] {
        assert_eq!(document["phases"][0][column].as_f64(), Some(stored(column)), "{column}");
    }
    assert!(
        stored("nopm") > 0.0 && stored("nopm_low") <= stored("nopm") && stored("nopm") <= stored("nopm_high")
    );
    assert_eq!(document["database"]["reduction"], 100);
    assert!(document["phases"][0]["tpm"].is_null());
    assert!(document["configuration"]["notes"].is_array(), "{document:#}");
    let again: serde_json::Value =
        serde_json::from_str(&subject.done(&["results", "json", "latest"])).unwrap();
    assert_eq!(again, document);

    assert!(plain(&subject.done(&["tproc-c", "check"])).ends_with("CONSISTENT"));
    let file = subject.place.data().join("tproc-c.db");
    let sql = "DELETE FROM orders WHERE o_w_id = 1 AND o_d_id = 3 AND o_id = 5";
    rusqlite::Connection::open(file).unwrap().execute_batch(sql).unwrap();
    let broken = subject.output(&["tproc-c", "check", "--json"]);
    assert_eq!(broken.status.code(), Some(4));
    let broken = json(&broken);
    assert_eq!(
        (&broken["consistent"], &broken["conditions"][3]["violations"][0]["district"]),
        (&false.into(), &3.into())
    );

    subject.done(&["tproc-c", "purge"]);
    assert_eq!(common::entries(&subject.place.data()), Vec::<String>::new());
}

#[test]
fn servers_are_measured_by_their_own_counters() {
    for server in ["postgres", "mariadb"] {
        let Some(subject) = Subject::server(server) else { continue };
        subject.build();
        for way in [&[][..], &["--client-side"]] {
            let printed = subject.done(&[&SHORT[..], &["--users", "2"], way].concat());
            let text = plain(&printed);
            assert!(text.contains("as many as iolite has committed"), "{server} {way:?}: {text}");
            assert!(text.contains("TPM") && text.contains("active sessions:"), "{text}");
            subject.shows_again(&printed);
        }
        assert!(plain(&subject.done(&["tproc-c", "check"])).ends_with("CONSISTENT"));
        let watched = subject.done(&["waits", "watch", "--quiet", "--duration", "500ms"]);
        assert!(plain(&watched).contains("active sessions:"), "{watched}");
        assert_eq!(subject.done(&["results", "show", "latest"]), watched);
        subject.done(&["tproc-c", "purge"]);
    }
}

/// A role that may not see other sessions does not take them for idle.
#[test]
fn hidden_sessions_are_a_warning_with_its_remedy() {
    let Some(subject) = Subject::server("postgres") else { return };
    subject.psql(&["CREATE ROLE weak LOGIN"]);
    let db = subject.db.replacen("iolite@", "weak@", 1);
    let mut other = Command::new("psql")
        .args([&subject.db, "-XAtq", "-c", "SELECT pg_sleep(600)"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let sleeping = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
    let until = Instant::now() + Duration::from_secs(60);
    while subject.psql(&[sleeping]) != "1" {
        assert!(Instant::now() < until, "nobody sleeps");
        std::thread::sleep(Duration::from_millis(5));
    }
    let watch = || {
        let watch = ["waits", "watch", "--quiet", "--duration", "500ms"];
        let output = subject.command(&watch).env("IOLITE_DB", &db).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        plain(&String::from_utf8(output.stdout).unwrap())
    };
    let hidden = watch();
    subject.psql(&["GRANT pg_read_all_stats TO weak"]);
    let visible = watch();
    subject.psql(&["SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"]);
    other.wait().unwrap();
    assert!(
        hidden.contains("one session is hidden") && !hidden.contains("no session was active"),
        "{hidden}"
    );
    assert!(hidden.contains("GRANT pg_read_all_stats TO weak"), "{hidden}");
    assert!(visible.contains("1.00 Timeout:PgSleep") && !visible.contains("hidden"), "{visible}");
}

#[test]
fn options_that_a_database_cannot_follow_are_refused() {
    let subject = Subject::sqlite();
    subject.build();
    for (interval, message) in [("50ms", "cannot report wait events"), ("10us", "at least 1ms")] {
        let refused = subject.output(&[&SHORT[..], &["--waits", interval]].concat());
        assert_eq!(refused.status.code(), Some(2));
        assert!(stderr(&refused).contains(message), "{}", stderr(&refused));
    }
    subject.done(&[&SHORT[..], &["--waits", "off"]].concat());
    let spread = subject.output(&[&SHORT[..], &["--spread-warehouse"]].concat());
    assert_eq!(spread.status.code(), Some(2));
    assert!(stderr(&spread).contains("--spread-warehouse needs PostgreSQL"), "{}", stderr(&spread));
}

#[test]
fn the_slowest_transactions_are_attributed() {
    let subject = Subject::sqlite();
    subject.build();
    let document = json(&subject.output(&[&SHORT[..], &["--users", "2", "--json", "--stalls"]].concat()));
    let stalls = &document["stalls"][0];
    let number = |value: &serde_json::Value| value.as_u64().unwrap();
    assert!(number(&stalls["operations"]) > 0 && number(&stalls["examined"]) > 0, "{document:#}");
    let parts = stalls["largest_part"].as_object().unwrap();
    assert_eq!(parts.values().map(number).sum::<u64>(), number(&stalls["examined"]), "{stalls:#}");
    assert_eq!(stalls["traced"] == false, document["warnings"].to_string().contains("requests-not-traced"));
    assert!(plain(&subject.done(&["results", "show", "latest"])).contains("slowest operations TPROC-C: "));
    subject.done(&["ranread", "setup", "--size", "4m", "--quiet"]);
    let text = plain(&subject.done(&["ranread", "run", "--runtime", "1s", "--quiet", "--stalls=1ns"]));
    assert!(text.contains("operations took longer than 1 ns"), "{text}");
}

/// Returns as soon as a session of this program writes.
fn await_writer(subject: &Subject) {
    let until = Instant::now() + Duration::from_secs(60);
    let writing =
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'iolite' AND backend_xid IS NOT NULL";
    while subject.psql(&[writing]) == "0" {
        assert!(Instant::now() < until, "nobody writes");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Checkpoints are seen by the server's own counter of the blocks that it has written.
#[test]
fn slow_transactions_coincide_with_a_checkpoint() {
    let Some(subject) = Subject::server("postgres") else { return };
    subject.build();
    let arguments =
        ["tproc-c", "run", "--quiet", "--json", "--users", "1", "--ramp", "0s", "--duration", "5s"];
    let run = subject
        .command(&[&arguments[..], &["--stalls=1ns"]].concat())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    await_writer(&subject);
    subject.psql(&["SELECT pg_sleep(1.5)", "CHECKPOINT"]);
    let document = json(&run.wait_with_output().unwrap());
    let stalls = &document["stalls"][0];
    let causes = stalls["beside"].as_array().unwrap();
    let written = causes.iter().find(|beside| beside["cause"] == "data-file-writes");
    let written = written.unwrap_or_else(|| panic!("{stalls:#}"));
    assert!(written["operations"].as_u64().unwrap() > 0 && written["share_of_time"].as_f64().unwrap() > 0.0);
}

#[test]
fn waits_are_sampled_as_often_as_asked_for() {
    let Some(subject) = Subject::server("postgres") else { return };
    subject.build();
    let waits = |value| {
        let document = json(&subject.output(&[&SHORT[..], &["--json", "--waits", value]].concat()));
        document["phases"][0]["waits"].clone()
    };
    assert!(waits("off").is_null());
    assert_eq!(waits("20ms")["interval"], 20_000_000);
    subject.done(&["ranread", "setup", "--size", "4m", "--quiet"]);
    let text = subject.done(&["ranread", "run", "--runtime", "1s", "--quiet"]);
    assert!(text.contains("active sessions:"), "{text}");
}

/// A lock that another session holds, and a durability that it takes away, are named by the run that suffers from them.
#[test]
fn what_others_do_during_a_run_is_named() {
    let Some(subject) = Subject::server("postgres") else { return };
    subject.build();
    let arguments =
        ["tproc-c", "run", "--quiet", "--json", "--users", "2", "--ramp", "0s", "--duration", "8s"];
    let run = subject.command(&arguments).stdout(Stdio::piped()).spawn().unwrap();
    await_writer(&subject);
    subject.psql(&[
        "BEGIN",
        "UPDATE iolite_tproc_c.warehouse SET w_ytd = w_ytd",
        "SELECT pg_sleep(4)",
        "COMMIT",
    ]);
    subject.psql(&["ALTER SYSTEM SET fsync = off", "SELECT pg_reload_conf()"]);
    let output = run.wait_with_output().unwrap();
    subject.psql(&["ALTER SYSTEM RESET fsync", "SELECT pg_reload_conf()"]);
    let warnings = json(&output)["warnings"].to_string();
    for named in ["for a lock held by", "application psql", "fsync was on, and is off"] {
        assert!(warnings.contains(named), "{named}: {warnings}");
    }
    subject.done(&["tproc-c", "purge"]);
}

#[test]
fn a_sweep_reports_the_curve_and_a_verdict() {
    let subject = Subject::sqlite();
    subject.build();
    let sweep = [
        "tproc-c",
        "sweep",
        "--quiet",
        "--users",
        "1,2,3",
        "--step",
        "1s",
        "--ramp",
        "0s",
        "--durability",
        "relaxed",
    ];
    let output = subject.output(&sweep);
    let printed = String::from_utf8(output.stdout.clone()).unwrap();
    let text = plain(&printed);
    for expected in ["NOPM by virtual users", "NOPM ±", "VERDICT: ", "new-order with", "knee", "REDUCED"] {
        assert!(text.contains(expected), "{expected}: {printed} {}", stderr(&output));
    }
    subject.shows_again(&printed);
    let wrong = subject.output(&["tproc-c", "sweep", "--quiet", "--users", "2,1"]);
    assert_eq!(wrong.status.code(), Some(2), "{}", stderr(&wrong));
}

#[test]
fn databases_without_waits_say_so() {
    let subject = Subject::sqlite();
    let refused = subject.output(&["waits", "watch", "--quiet"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("does not report waits"), "{}", stderr(&refused));
}

#[test]
fn the_machine_is_observed_without_a_workload() {
    let subject = Subject::sqlite();
    let directory = subject.place.data().display().to_string();
    let observe = ["observe", &directory, "--quiet", "--duration", "1500ms", "--interval", "200ms"];
    let printed = subject.done(&observe);
    assert!(printed.contains("context switches/s"), "{printed}");
    assert_eq!(subject.done(&["results", "show", "latest"]), printed);
    let document: serde_json::Value =
        serde_json::from_str(&subject.done(&["results", "json", "latest"])).unwrap();
    assert_eq!(document["format"], "iolite-observe/1");
    assert!(subject.place.ask::<i64>("SELECT count(*) FROM reading") > 20);
}
