//! What goes wrong in a server during `iolite tproc-c run`: copies that are interrupted, locks that are refused, a redo log that is full.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]

mod common;

use std::fs;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use common::subject::{Subject, plain};
use common::{Limit, Mount, Throttle, json, skip, stderr};
use iolite_model::ErrorCause;

const RUN: [&str; 8] = ["tproc-c", "run", "--quiet", "--users", "2", "--ramp", "0s", "--duration"];

/// Waits for something, for a while.
fn until(what: &str, mut is: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(120);
    while !is() {
        assert!(Instant::now() < end, "{what} did not come about");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn start(subject: &Subject, arguments: &[&str]) -> Child {
    subject.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn printed(output: &Output) -> String {
    plain(&format!("{} {}", stderr(output), String::from_utf8_lossy(&output.stdout)))
}

/// Checks that the remedy is named. docs/errors.md lists each call as the test of that cause.
fn produced(cause: ErrorCause, text: &str) {
    assert!(text.contains(cause.remedy()), "{cause:?}: {text}");
}

/// What psql answers in the server's database `postgres`: a database that is being copied lets nobody in.
fn elsewhere(subject: &Subject, sql: &str) -> String {
    let url = subject.db.replacen("/iolite?", "/postgres?", 1);
    let output = Command::new("psql").args([&url, "-XAtq", "-c", sql]).output().unwrap();
    assert!(output.status.success(), "{sql}: {}", stderr(&output));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

const COPYING: &str = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'CREATE DATABASE %'";
const COPIES: &str = "SELECT count(*) FROM pg_database WHERE datname LIKE '%iolite_copy'";

/// A run that is ended while the server copies the database leaves no copy and everything else, and the next run goes on.
#[test]
fn a_run_that_ends_while_the_database_is_copied_leaves_no_copy() {
    let Some(subject) = Subject::server("postgres") else { return };
    subject.build();
    subject.psql(&["CREATE TABLE public.mine AS SELECT n FROM generate_series(1, 1000) n"]);
    let orders = "SELECT sum(d_next_o_id) FROM iolite_tproc_c.district";
    let contents = || subject.psql(&["SELECT sum(n) FROM public.mine", orders]);
    let before = contents();
    let restored = [&RUN[..], &["1s", "--restore"]].concat();
    for signal in ["-INT", "-TERM", "-KILL"] {
        // The server copies until it records the new database, which nobody may do meanwhile.
        let url = subject.db.replacen("/iolite?", "/postgres?", 1);
        let hold = "BEGIN; LOCK TABLE pg_database IN EXCLUSIVE MODE; SELECT pg_sleep(600)";
        let mut holder = Command::new("psql").args([&url, "-XAtq", "-c", hold]).spawn().unwrap();
        until("a lock", || {
            elsewhere(&subject, "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") == "1"
        });
        let run = start(&subject, &restored);
        until("the copying", || elsewhere(&subject, COPYING) == "1");
        assert!(Command::new("kill").args([signal, &run.id().to_string()]).status().unwrap().success());
        let output = run.wait_with_output().unwrap();
        // The server ends what nobody waits for.
        until("its end", || elsewhere(&subject, COPYING) == "0");
        elsewhere(
            &subject,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'",
        );
        holder.wait().unwrap();
        assert_eq!(elsewhere(&subject, COPIES), "0", "{signal}");
        if signal != "-KILL" {
            assert_eq!(output.status.code(), Some(130), "{signal}: {}", printed(&output));
            assert!(!printed(&output).contains("DROP DATABASE"), "nothing is left: {}", printed(&output));
        }
    }
    assert_eq!(contents(), before);
    subject.done(&restored);
    assert_eq!((contents(), elsewhere(&subject, COPIES)), (before, "0".to_owned()));
}

/// A lock that another session keeps: transactions that the server refuses it are counted; the run ends with an error, and what was
/// measured until then is stored.
#[test]
fn a_lock_that_is_refused_again_and_again_ends_the_run_with_its_remedy() {
    for server in ["postgres", "mariadb"] {
        let Some(subject) = Subject::server(server) else { continue };
        subject.build();
        let (locked, mut holder) = match server {
            "postgres" => {
                let lock = "BEGIN; UPDATE iolite_tproc_c.warehouse SET w_ytd = w_ytd; SELECT pg_sleep(600)";
                (None, Command::new("psql").args([&subject.db, "-XAtq", "-c", lock]).spawn().unwrap())
            }
            _ => {
                let lock = ["BEGIN", "UPDATE tproc_c_warehouse SET w_ytd = w_ytd", "SELECT SLEEP(600)"];
                let timeout = subject.mariadb(&["SET GLOBAL innodb_lock_wait_timeout = 7"]).output().unwrap();
                assert!(timeout.status.success(), "{}", stderr(&timeout));
                (Some("7"), subject.mariadb(&lock).stdout(Stdio::null()).spawn().unwrap())
            }
        };
        until("a lock", || match server {
            "postgres" => {
                elsewhere(&subject, "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'")
                    == "1"
            }
            _ => {
                let sleeping =
                    "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE = 'User sleep'";
                String::from_utf8_lossy(&subject.mariadb(&[sleeping]).output().unwrap().stdout).trim() == "1"
            }
        });
        let output = subject.output(&[&RUN[..], &["120s"]].concat());
        holder.kill().unwrap();
        holder.wait().unwrap();
        let text = printed(&output);
        assert_eq!(output.status.code(), Some(1), "{server}, {locked:?}: {text}");
        produced(ErrorCause::LocksHeld, &text);
        assert!(text.contains("3 times because it waited too long for a lock"), "{text}");
        let shown = plain(&subject.done(&["results", "show", "latest"]));
        assert!(shown.contains("because they waited too long for a lock of another session"), "{shown}");
    }
}

/// SQLite is embedded: a full file system ends its run, and what it has committed stays.
#[test]
fn a_disk_that_is_full_ends_the_run_with_its_remedy_and_loses_no_order() {
    let mut subject = Subject::sqlite();
    let at = subject.place.data().join("small");
    let Some(_mounted) = Mount::new(&["-t", "tmpfs", "-o", "size=200m", "tmpfs"], &at) else { return };
    subject.db = format!("sqlite:{}", at.display());
    subject.build();
    let run = start(&subject, &[&RUN[..], &["120s", "--json", "--keep-free", "0B"]].concat());
    let file = at.join("tproc-c.db-wal");
    until("a commit", || fs::metadata(&file).is_ok_and(|log| log.len() > 1 << 20));
    let rest = at.join("rest");
    // The run may take some of it meanwhile.
    let _ = fs::write(&rest, vec![0; 256 << 20]);
    let output = run.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", printed(&output));
    produced(ErrorCause::SqliteFull, &printed(&output));
    let committed = json(&output)["phases"][0]["counted"].clone();
    fs::remove_file(rest).unwrap();
    assert!(plain(&subject.done(&["tproc-c", "check"])).ends_with("CONSISTENT"));
    assert!(committed.is_null() || committed["orders"] == committed["new_orders"], "{committed:#}");
    subject.done(&[&RUN[..], &["1s", "--keep-free", "0B"]].concat());
}

/// Changes come faster than a slow disk takes the pages, until the redo log has no space for more of them.
#[test]
fn stalls_are_attributed_to_a_redo_log_that_is_full() {
    let Some(subject) = Subject::server("mariadb") else { return };
    subject.build();
    let directory = subject.stop.as_ref().unwrap()[1].clone();
    let Some(throttle) = Throttle::new(directory.as_ref(), Limit::WriteIops(50)) else { return };
    let resized = subject.mariadb(&["SET GLOBAL innodb_log_file_size = 16777216"]).output().unwrap();
    if !resized.status.success() {
        return skip(&format!("this server does not resize its redo log: {}", stderr(&resized)))
            .unwrap_or(());
    }
    subject.mariadb(&["SET GLOBAL innodb_flush_log_at_trx_commit = 0"]).output().unwrap();
    let pid = String::from_utf8(subject.mariadb(&["SELECT @@pid_file"]).output().unwrap().stdout).unwrap();
    let server = fs::read_to_string(pid.trim()).unwrap().trim().parse().unwrap();
    throttle.holds(server, true);
    let run = [&RUN[..], &["10s", "--durability", "as-configured", "--json", "--stalls=20ms"]].concat();
    let output = subject.output(&run);
    throttle.holds(server, false);
    let document = json(&output);
    let beside = document["stalls"][0]["beside"].as_array().unwrap_or_else(|| panic!("{}", printed(&output)));
    let full = beside.iter().find(|beside| beside["cause"] == "checkpoint-age");
    let full = full.unwrap_or_else(|| panic!("{beside:#?}"));
    assert!(full["operations"].as_u64().unwrap() > 0, "{beside:#?}");
}

/// What a server refuses a run: rights, sessions, changes. The run ends with the remedy, and is stored as one that failed, or is not begun.
#[test]
fn what_a_server_refuses_a_run_has_its_remedy() {
    let run = [&RUN[..], &["2s"]].concat();
    if let Some(subject) = Subject::server("postgres") {
        subject.build();
        let as_weak = |setting: &str| {
            subject.psql(&[setting]);
            let weak = subject.db.replacen("iolite@", "weak@", 1);
            let output = subject.command(&run).env("IOLITE_DB", weak).output().unwrap();
            assert!(matches!(output.status.code(), Some(1 | 2)), "{setting}: {}", printed(&output));
            printed(&output)
        };
        produced(ErrorCause::PgPrivilege, &as_weak("CREATE ROLE weak LOGIN"));
        subject.psql(&[
            "GRANT USAGE ON SCHEMA iolite_tproc_c TO weak",
            "GRANT ALL ON ALL TABLES IN SCHEMA iolite_tproc_c TO weak",
        ]);
        produced(ErrorCause::PgConnections, &as_weak("ALTER ROLE weak CONNECTION LIMIT 4"));
    }
    if let Some(subject) = Subject::server("mariadb") {
        subject.build();
        let ask = |sql: &str| {
            let output = subject.mariadb(&[sql]).output().unwrap();
            assert!(output.status.success(), "{sql}: {}", stderr(&output));
        };
        let user = subject.db.split("//").nth(1).unwrap().split('@').next().unwrap();
        let weak = subject.db.replacen(user, "weak:weak", 1);
        let as_weak = |sql: &str| {
            ask(sql);
            let output = subject.command(&run).env("IOLITE_DB", &weak).output().unwrap();
            assert!(matches!(output.status.code(), Some(1 | 2)), "{sql}: {}", printed(&output));
            printed(&output)
        };
        ask("CREATE USER weak@localhost IDENTIFIED BY 'weak'");
        produced(ErrorCause::MyPrivilege, &as_weak("GRANT SELECT ON iolite.* TO weak@localhost"));
        ask("GRANT ALL ON iolite.* TO weak@localhost");
        produced(
            ErrorCause::MyConnections,
            &as_weak("ALTER USER weak@localhost WITH MAX_USER_CONNECTIONS 2"),
        );
        ask("ALTER USER weak@localhost WITH MAX_USER_CONNECTIONS 0");
        produced(ErrorCause::MyReadOnly, &as_weak("SET GLOBAL read_only = 1"));
    }
}
