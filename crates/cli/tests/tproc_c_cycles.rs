//! Checkpoint cycles in the measured time of `iolite tproc-c run`, and loads that are compared in turns.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]

mod common;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::subject::{Subject, plain};
use common::{json, stderr};
use serde_json::Value;

const RUN: [&str; 6] = ["tproc-c", "run", "--quiet", "--users", "2", "--ramp"];

/// Whether a run warns that it measured no whole cycles.
fn is_partial(document: &Value) -> bool {
    document["warnings"].to_string().contains("partial-checkpoint-cycles")
}

fn checkpoints(document: &Value) -> &Value {
    let found = &document["phases"][0]["checkpoints"];
    assert!(found["cycles"].as_f64().unwrap() >= 0.0, "{document:#}");
    found
}

#[test]
fn a_run_says_how_many_checkpoint_cycles_it_measured() {
    for server in ["sqlite", "postgres", "mariadb"] {
        let subject = if server == "sqlite" { Some(Subject::sqlite()) } else { Subject::server(server) };
        let Some(subject) = subject else { continue };
        subject.build();
        let short = [&RUN[..], &["0s", "--duration", "1s", "--repeat", "2"]].concat();
        let printed = subject.done(&short);
        let text = plain(&printed);
        assert_eq!(text.matches(" checkpoint cycles in the measured time").count(), 3, "{printed}");
        assert!(text.contains("checkpoint cycles in the measured times: "), "{printed}");
        subject.shows_again(&printed);
        let document = json(&subject.output(&[&RUN[..], &["0s", "--duration", "1s", "--json"]].concat()));
        let found = checkpoints(&document);
        assert_eq!(found["whole"].as_bool(), Some(!is_partial(&document)), "{document:#}");
        assert_eq!(found["has_starts"].as_bool(), Some(!subject.db.starts_with("mysql")));
    }
}

/// The measured time of a second is extended until a cycle is whole. On a busy host it may be seen late that it is; then the run warns.
#[test]
fn the_measured_time_is_extended_to_whole_cycles() {
    let sqlite = Subject::sqlite();
    sqlite.build();
    let whole = |subject: &Subject, more: &[&str]| {
        let run = ["0s", "--duration", "1s", "--whole-cycles", "300s", "--json"];
        let document = json(&subject.output(&[&RUN[..], &run, more].concat()));
        let found = checkpoints(&document);
        let (counted, cycles) = (&document["phases"][0]["counted"], found["cycles"].as_f64().unwrap());
        assert_eq!(counted["orders"], counted["new_orders"], "{document:#}");
        let measured = document["phases"][0]["measured_seconds"].as_f64().unwrap();
        println!("{cycles} cycles in {measured} s");
        assert!(cycles >= 0.9 && (1.0..300.0).contains(&measured), "{document:#}");
        assert_eq!(found["whole"].as_bool(), Some(!is_partial(&document)), "{document:#}");
    };
    whole(&sqlite, &["--durability", "relaxed"]);
    drop(sqlite);
    if let Some(subject) = Subject::server("postgres") {
        subject.build();
        subject.psql(&["ALTER SYSTEM SET max_wal_size = '96MB'", "SELECT pg_reload_conf()"]);
        whole(&subject, &["--durability", "relaxed"]);
        subject.psql(&[
            "ALTER FUNCTION pg_catalog.pg_control_checkpoint() RENAME TO pg_control_checkpoint_of_yore",
        ]);
        let run = ["0s", "--duration", "1s", "--whole-cycles", "300s", "--json"];
        let document = json(&subject.output(&[&RUN[..], &run].concat()));
        assert!(document["phases"][0]["checkpoints"].is_null(), "{document:#}");
        assert!(document["warnings"].to_string().contains("--whole-cycles"), "{document:#}");
        assert!(document["phases"][0]["measured_seconds"].as_f64() < Some(300.0), "{document:#}");
    }
}

#[test]
fn two_ways_of_the_same_load_are_compared_in_turns() {
    for server in ["postgres", "mariadb"] {
        let Some(subject) = Subject::server(server) else { continue };
        subject.build();
        let compare =
            ["tproc-c", "ab", "--quiet", "--users", "2", "--duration", "1s", "--ramp", "0s", "--repeat", "2"];
        let printed = subject.done(&compare);
        let text = plain(&printed);
        for expected in [
            "two jobs, run alternately",
            "A warehouse rows share pages",
            "B one warehouse row per page",
            "new-order rate",
            "ANSWER: ",
            "REDUCED",
        ] {
            assert!(text.contains(expected), "{server}, {expected}: {printed}");
        }
        assert_eq!(subject.done(&["results", "show", "latest"]), printed);
        let document: Value = serde_json::from_str(&subject.done(&["results", "json", "latest"])).unwrap();
        let decides = document["figures"].as_array().unwrap().iter().find(|figure| figure["decides"] == true);
        let decides = decides.unwrap_or_else(|| panic!("{document:#}"));
        assert_eq!((&decides["kind"], &decides["figure"]), (&"new-order".into(), &"rate".into()));
        let seeds = "SELECT tree.value AS seed FROM phase, json_tree(task) AS tree WHERE tree.key = 'seed' ORDER BY number";
        let seeds: Value = serde_json::from_str(&subject.done(&["results", "sql", "--json", seeds])).unwrap();
        let seeds = seeds.as_array().unwrap();
        assert_eq!(seeds.len(), 4, "{seeds:?}");
        assert!(seeds.chunks(2).all(|pair| pair[0]["seed"] == pair[1]["seed"]), "{seeds:?}");
        assert!(seeds[0]["seed"] != seeds[2]["seed"], "{seeds:?}");
        let spread = subject.output(&[&compare[..], &["--spread-warehouse"]].concat());
        assert_eq!(spread.status.code(), Some(2));
        assert!(stderr(&spread).contains("--spread-warehouse is what differs"), "{}", stderr(&spread));
    }
    let sqlite = Subject::sqlite();
    sqlite.build();
    for (vary, message) in
        [("spread-warehouse", "--spread-warehouse needs"), ("client-side", "SQLite does not have")]
    {
        let refused = sqlite.output(&["tproc-c", "ab", "--quiet", "--vary", vary]);
        assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
        assert!(stderr(&refused).contains(message), "{}", stderr(&refused));
    }
}

#[test]
fn passes_of_a_sweep_are_interleaved() {
    let subject = Subject::sqlite();
    subject.build();
    let sweep =
        ["tproc-c", "sweep", "--quiet", "--users", "1,2", "--step", "500ms", "--ramp", "0s", "--repeat", "2"];
    let output = subject.output(&[&sweep[..], &["--durability", "relaxed"]].concat());
    let printed = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(plain(&printed).contains("2 runs of each step, interleaved"), "{printed} {}", stderr(&output));
    subject.shows_again(&printed);
    let document: Value = serde_json::from_str(&subject.done(&["results", "json", "latest"])).unwrap();
    let users: Vec<&Value> =
        document["phases"].as_array().unwrap().iter().map(|phase| &phase["task"]["users"]).collect();
    assert_eq!(users, [1, 2, 2, 1], "{document:#}");
}

/// Transactions that wait for a lock of another session are attributed to that.
#[test]
fn slow_transactions_coincide_with_waits_for_locks() {
    let Some(subject) = Subject::server("postgres") else { return };
    subject.build();
    let arguments = ["0s", "--duration", "8s", "--json", "--stalls=1s"];
    let run = subject.command(&[&RUN[..], &arguments].concat()).stdout(Stdio::piped()).spawn().unwrap();
    let writing =
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'iolite' AND backend_xid IS NOT NULL";
    let until = Instant::now() + Duration::from_secs(60);
    while subject.psql(&[writing]) == "0" {
        assert!(Instant::now() < until, "nobody writes");
        std::thread::sleep(Duration::from_millis(5));
    }
    let pay = "UPDATE iolite_tproc_c.warehouse SET w_ytd = w_ytd";
    subject.psql(&["BEGIN", pay, "SELECT pg_sleep(3)", "COMMIT"]);
    let document = json(&run.wait_with_output().unwrap());
    let stalls = &document["stalls"][0];
    let causes = stalls["beside"].as_array().unwrap_or_else(|| panic!("{document:#}"));
    let waits = causes.iter().find(|beside| beside["cause"] == "lock-waits");
    let waits = waits.unwrap_or_else(|| panic!("{stalls:#}"));
    assert_eq!(waits["operations"], stalls["examined"], "{stalls:#}");
}

/// `waits watch` beside an application: from a wait to the table, the page and its rows, and who blocks whom.
#[test]
fn waits_watch_names_the_page_that_sessions_wait_for() {
    for server in ["postgres", "mariadb"] {
        let Some(subject) = Subject::server(server) else { continue };
        subject.build();
        let (table, sleep) = match server {
            "postgres" => ("iolite_tproc_c.warehouse", "SELECT pg_sleep(600)"),
            _ => ("tproc_c_warehouse", "SELECT SLEEP(600)"),
        };
        let session = |statements: &[&str]| {
            let mut client = match server {
                "postgres" => {
                    let mut psql = Command::new("psql");
                    psql.args([&subject.db, "-XAtq"]).args(statements.iter().flat_map(|sql| ["-c", sql]));
                    psql
                }
                _ => subject.mariadb(statements),
            };
            client.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        };
        let update = format!("UPDATE {table} SET w_ytd = w_ytd + 1 WHERE w_id = 1");
        let mut holder = session(&["BEGIN", &update, sleep]);
        let watch = ["waits", "watch", "--quiet", "--duration", "1s", "--json"];
        let watched = || json(&subject.output(&watch))["waits"].clone();
        let until = Instant::now() + Duration::from_secs(60);
        while !watched()["statements"].to_string().contains("(?)") {
            assert!(Instant::now() < until, "nobody sleeps");
        }
        let mut waiting = session(&[&update]);
        let found = loop {
            let found = watched();
            if found["pages"].as_array().is_some_and(|pages| !pages.is_empty()) {
                break found;
            }
            assert!(Instant::now() < until, "nobody waits: {found:#}");
        };
        for client in [&mut holder, &mut waiting] {
            client.kill().unwrap();
            client.wait().unwrap();
        }
        let page = &found["pages"][0];
        assert!(page["table"].as_str().unwrap().contains(table), "{found:#}");
        assert!(page["page"].is_u64() && page["rows_in_page"].as_u64() >= Some(1), "{found:#}");
        assert!(page["advice"].as_str().is_some_and(|advice| !advice.is_empty()), "{found:#}");
        let blocker = &found["blockers"][0];
        assert!(blocker["waiting"].as_str().unwrap().starts_with("UPDATE"), "{found:#}");
        assert!(blocker["holder"].as_str().unwrap().to_lowercase().contains("sleep"), "{found:#}");
    }
}
