//! `iolite tproc-c` from build to purge, and what `results show` prints of its runs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]

mod common;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::subject::{Subject, plain};
use common::{json, stderr};
use iolite_model::ErrorCause;

/// Checks that the remedy of a cause is named. docs/errors.md lists each call as the test of that cause.
fn produced(cause: ErrorCause, text: &str) {
    assert!(text.contains(cause.remedy()), "{cause:?}: {text}");
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
    await_sleeper(&subject);
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
    produced(
        ErrorCause::NoWaitEvents,
        &stderr(&subject.output(&[&SHORT[..], &["--waits", "50ms"]].concat())),
    );
    subject.done(&[&SHORT[..], &["--waits", "off"]].concat());
    let spread = subject.output(&[&SHORT[..], &["--spread-warehouse"]].concat());
    assert_eq!(spread.status.code(), Some(2));
    assert!(stderr(&spread).contains("--spread-warehouse needs PostgreSQL"), "{}", stderr(&spread));
    let build =
        ["tproc-c", "build", "--quiet", "--reduction", "100", "--warehouses", "2", "--partitions", "2"];
    let partitions = subject.output(&build);
    assert_eq!(partitions.status.code(), Some(2));
    assert!(stderr(&partitions).contains("SQLite has no partitioned tables"), "{}", stderr(&partitions));
}

/// Runs in copies leave the database as it was.
#[test]
fn each_run_starts_from_a_copy_that_is_removed() {
    let sqlite = Subject::sqlite();
    sqlite.build();
    let file = sqlite.place.data().join("tproc-c.db");
    let before = numbered(&file);
    let restored = [&SHORT[..], &["--users", "2", "--repeat", "2", "--restore"]].concat();
    let printed = sqlite.done(&restored);
    assert!(plain(&printed).contains("start of each run a copy of the database"), "{printed}");
    assert!(plain(&printed).contains("2 runs from the same start"), "{printed}");
    assert_eq!(numbered(&file), before);
    assert_eq!(common::entries(&sqlite.place.data()), ["tproc-c.db"]);
    sqlite.shows_again(&printed);
    drop(sqlite);

    if let Some(subject) = Subject::server("postgres") {
        subject.build();
        let orders = || subject.psql(&["SELECT sum(d_next_o_id) FROM iolite_tproc_c.district"]);
        let before = orders();
        let document = json(&subject.output(&[&restored[..], &["--json"]].concat()));
        for phase in document["phases"].as_array().unwrap() {
            assert!(phase["counted"]["new_orders"].as_u64().unwrap() > 0, "{document:#}");
            assert_eq!(phase["counted"]["orders"], phase["counted"]["new_orders"]);
        }
        assert_eq!(orders(), before);
        let copies = "SELECT count(*) FROM pg_database WHERE datname LIKE '%iolite_copy'";
        assert_eq!(subject.psql(&[copies]), "0");
        // A template with other sessions cannot be copied.
        let mut other = Command::new("psql")
            .args([&subject.db, "-XAtq", "-c", "SELECT pg_sleep(600)"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        await_sleeper(&subject);
        let used = subject.output(&restored);
        subject
            .psql(&["SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"]);
        other.wait().unwrap();
        assert_eq!(used.status.code(), Some(1));
        assert!(stderr(&used).contains("end the other sessions in that database"), "{}", stderr(&used));
        // What somebody else has put there stays.
        let name = subject.psql(&["SELECT current_database() || '_iolite_copy'"]);
        subject.psql(&[&format!("CREATE DATABASE {name}"), &format!("COMMENT ON DATABASE {name} IS 'mine'")]);
        let refused = subject.output(&restored);
        assert!(!refused.status.success() && subject.psql(&[copies]) == "1", "{}", stderr(&refused));
        let said = format!("{}{}", stderr(&refused), String::from_utf8_lossy(&refused.stdout));
        assert!(said.contains("has no mark that iolite created it"), "{said}");
        assert!(said.contains(&format!("DROP DATABASE \"{name}\"")), "{said}");
    }
    if let Some(subject) = Subject::server("mariadb") {
        subject.build();
        let refused = subject.output(&restored);
        assert_eq!(refused.status.code(), Some(2));
        produced(ErrorCause::MyNoCopy, &stderr(&refused));
    }
}

#[test]
fn partitions_and_loaders_are_in_the_description_of_a_run() {
    for server in ["postgres", "mariadb"] {
        let Some(subject) = Subject::server(server) else { continue };
        let build =
            ["tproc-c", "build", "--quiet", "--reduction", "100", "--warehouses", "2", "--workers", "3"];
        let many = subject.output(&[&build[..], &["--partitions", "3"]].concat());
        assert_eq!(many.status.code(), Some(2));
        assert!(stderr(&many).contains("between 1 and 2"), "{}", stderr(&many));
        let built = subject.done(&[&build[..], &["--partitions", "2"]].concat());
        assert!(built.contains("large tables in 2 partitions, loaded by 3 sessions"), "{built}");
        let text = plain(&subject.done(&[&SHORT[..], &["--users", "2"]].concat()));
        // Settings are in the order of their names.
        let settings =
            ["loaded by 3 sessions", "partitions 2 by hash of the warehouse"].map(|it| text.find(it));
        assert!(settings[0].is_some() && settings[0] < settings[1], "{text}");
        assert!(plain(&subject.done(&["tproc-c", "check"])).ends_with("CONSISTENT"));
    }
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

/// Returns as soon as a session sleeps.
fn await_sleeper(subject: &Subject) {
    let sleeping = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
    let until = Instant::now() + Duration::from_secs(60);
    while subject.psql(&[sleeping]) != "1" {
        assert!(Instant::now() < until, "nobody sleeps");
        std::thread::sleep(Duration::from_millis(5));
    }
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

/// New-Orders that the latest run has stored as completed, interval by interval: each had been committed before.
const REPORTED: &str = "SELECT coalesce(sum(operations), 0) FROM interval_op JOIN interval ON interval.id = interval_op.interval \
     WHERE kind = 'new-order' AND run = (SELECT run FROM phase ORDER BY rowid DESC LIMIT 1)";

/// Orders that a database in a directory has numbered.
fn numbered(file: &Path) -> i64 {
    let database = rusqlite::Connection::open(file).unwrap();
    database.query_row("SELECT sum(d_next_o_id) FROM district", [], |row| row.get(0)).unwrap()
}

/// SQLite is embedded: its run and its database are killed together.
#[test]
fn a_run_that_is_killed_has_kept_every_order_that_it_reported() {
    let subject = Subject::sqlite();
    subject.build();
    let file = subject.place.data().join("tproc-c.db");
    let before = numbered(&file);
    let endless = ["tproc-c", "run", "--quiet", "--users", "3", "--ramp", "0s", "--duration", "1h"];
    let mut run = subject.command(&endless).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(120);
    subject.place.wait_for_intervals(&mut run, 1);
    while subject.place.ask::<i64>(REPORTED) == 0 {
        assert!(run.try_wait().unwrap().is_none(), "the run ended before it was killed");
        assert!(Instant::now() < until, "no order was reported");
        std::thread::sleep(Duration::from_millis(20));
    }
    run.kill().unwrap();
    run.wait().unwrap();
    let log = std::fs::metadata(file.with_extension("db-wal")).unwrap().len();
    assert!(log > 0, "commits that only the log has are recovered by the next to open the database");

    assert!(plain(&subject.done(&["tproc-c", "check"])).ends_with("CONSISTENT"));
    let (reported, gained) = (subject.place.ask::<i64>(REPORTED), numbered(&file) - before);
    // Those of the last moments had not been stored yet.
    assert!(reported > 0 && gained >= reported, "{reported} reported, {gained} in the database");
    let next = json(&subject.output(&[&SHORT[..], &["--users", "2", "--json"]].concat()));
    assert_eq!(next["phases"][0]["counted"]["orders"], next["phases"][0]["counted"]["new_orders"]);
    assert!(plain(&subject.done(&["tproc-c", "check"])).ends_with("CONSISTENT"));
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
        "--stalls=1ns",
    ];
    let output = subject.output(&sweep);
    let printed = String::from_utf8(output.stdout.clone()).unwrap();
    let text = plain(&printed);
    for expected in ["NOPM by virtual users", "NOPM ±", "VERDICT: ", "new-order with", "knee", "REDUCED"] {
        assert!(text.contains(expected), "{expected}: {printed} {}", stderr(&output));
    }
    for step in ["1. TPROC-C, 1 virtual user: ", "3. TPROC-C, 3 virtual users: "] {
        assert!(text.contains(step), "each step has its slowest operations: {printed}");
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
