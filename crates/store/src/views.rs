//! Tests of the views: values computed by hand from the synthetic runs.

use iolite_model::RunId;
use rusqlite::Connection;
use rusqlite::types::Value;

use crate::store::Store;
use crate::synthetic;

/// The database run of three seconds: 100, 200 and 300 operations of each kind, 1 ms each.
fn store() -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("results.db");
    synthetic::write(&path, &synthetic::database_run("20261120T160301-0a", 1, 3));
    let store = Store::open(&path).unwrap();
    (dir, store)
}

fn table(connection: &Connection, sql: &str) -> Vec<String> {
    let mut statement = connection.prepare(sql).unwrap();
    let columns = statement.column_count();
    let row = |row: &rusqlite::Row<'_>| {
        let cell = |index| match row.get(index)? {
            Value::Null => Ok("NULL".to_owned()),
            Value::Integer(value) => Ok(value.to_string()),
            Value::Real(value) => Ok(format!("{value:.3}")),
            Value::Text(value) => Ok(value),
            Value::Blob(value) => Ok(format!("{} bytes", value.len())),
        };
        (0..columns).map(cell).collect::<rusqlite::Result<Vec<_>>>().map(|cells| cells.join("|"))
    };
    statement.query_map([], row).unwrap().collect::<Result<_, _>>().unwrap()
}

#[test]
fn perftools_views_have_one_row_per_worker() {
    let (_dir, store) = store();
    let of = |view: &str| {
        let columns =
            NAMES.split_whitespace().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
        table(&store.connection, &format!("SELECT {columns} FROM {view}"))
    };
    // What is known of the second and third phases' database, and of no other's.
    let (older, known) = ("20261120T160301-0a|/var/lib/db|", "20261120T160301-0a|postgres://me@host/ran|ran");
    assert_eq!(
        of("RanRead"),
        [
            format!("2026-11-20|16:03:01|{older}|2|0|300|0|100.000|0.000|3.000|100"),
            format!("2026-11-20|16:03:01|{older}|2|1|300|0|100.000|0.000|3.000|100"),
            format!("2026-11-20|19:03:01|{older}|2|0|250|0|83.333|0.000|3.000|100"),
            format!("2026-11-20|19:03:01|{older}|2|1|250|0|83.333|0.000|3.000|100"),
        ]
    );
    assert_eq!(
        of("RanWrite"),
        [
            format!("2026-11-20|17:03:01|{known}|2|0|0|300|0.000|100.000|3.000|0"),
            format!("2026-11-20|17:03:01|{known}|2|1|0|300|0.000|100.000|3.000|0"),
        ]
    );
    assert_eq!(
        of("RanIO"),
        [
            format!("2026-11-20|18:03:01|{known}|2|0|300|300|100.000|100.000|3.000|70"),
            format!("2026-11-20|18:03:01|{known}|2|1|300|300|100.000|100.000|3.000|70"),
        ]
    );
}

/// The reference's columns, which come first.
const NAMES: &str = "RunDate RunTime Batch Database Namespace Processes Job Reads Writes ReadsPerSec WritesPerSec \
                     ProcTime ReadPct";

#[test]
fn perftools_columns_have_their_names_and_come_first() {
    let (_dir, store) = store();
    for view in ["RanRead", "RanWrite", "RanIO"] {
        let statement = store.connection.prepare(&format!("SELECT * FROM {view}")).unwrap();
        let columns: Vec<_> = statement.column_names().collect();
        assert_eq!(columns[..13].join(" "), NAMES);
        assert_eq!(columns.len(), 41);
    }
}

#[test]
fn perftools_views_have_response_times_and_what_they_rest_on() {
    let (_dir, store) = store();
    let times = |of: &str| {
        ["Mean", "P50", "P95", "P99", "P999", "Max"].map(|time| format!("{of}{time}Ms")).join(", ")
    };
    let of = |view: &str| {
        let (reads, writes, commits) = (times("Read"), times("Write"), times("Commit"));
        let sql = format!(
            "SELECT {reads}, {writes}, Commits, CommitsPerSec, {commits}, Engine, Durability, TimedBy, phase
               FROM {view} WHERE Job = 0 ORDER BY phase"
        );
        table(&store.connection, &sql)
    };
    let (none, zero) = ("NULL|NULL|NULL|NULL|NULL|NULL", "0|0.000|NULL|NULL|NULL|NULL|NULL|NULL");
    let reported = |p999| format!("1.000|0.900|1.500|2.500|{p999}|5.000");
    let older = "1.000|NULL|NULL|NULL|NULL|5.000";
    assert_eq!(of("RanRead"), [0, 3].map(|phase| format!("{older}|{none}|{zero}|NULL|NULL|client|{phase}")));
    let (read, write, commit) = (reported("4.000"), reported("4.001"), reported("4.003"));
    let facts = "PostgreSQL|relaxed|database";
    assert_eq!(of("RanWrite"), [format!("{none}|{write}|300|100.000|{commit}|{facts}|1")]);
    assert_eq!(of("RanIO"), [format!("{read}|{write}|{zero}|{facts}|2")]);
}

/// A rate without its stamp or its interval is taken for more than it is: the best of several is then the one that a cache served.
#[test]
fn each_rate_of_the_views_has_its_stamp_and_its_interval() {
    let (_dir, store) = store();
    let kinds = ["read", "write", "commit"].map(|kind| {
        format!(
            r#"{{"kind":"{kind}","rate_low":190.0,"rate_high":210.0,"mean_low":900000.0,"mean_high":null}}"#
        )
    });
    let bounds = format!(r#"{{"kinds":[{}]}}"#, kinds.join(","));
    let insert = "INSERT INTO conclusion SELECT run, 1000 + number, 'rate-bounds', number, ?1 FROM phase WHERE number < 3";
    store.connection.execute(insert, [bounds]).unwrap();
    let stamp = "partly cached (37 %)";
    let of = |columns: &str, view: &str| {
        table(&store.connection, &format!("SELECT {columns} FROM {view} ORDER BY phase"))
    };
    let summary = of("iops_low, iops_high, mean_response_low_ms, mean_response_high_ms, stamp", "summary");
    assert_eq!(summary[0], format!("190.000|210.000|0.900|NULL|{stamp}"));
    assert_eq!(summary[5], format!("NULL|NULL|NULL|NULL|{stamp}"), "a phase without its end has none");
    let timeline = of("phase_iops_low, phase_iops_high, stamp, kind", "timeline");
    assert!(timeline.contains(&format!("190.000|210.000|{stamp}|read")), "{timeline:?}");
    let job = "Stamp, ReadsPlusMinusPct, WritesPlusMinusPct, CommitsPlusMinusPct";
    for view in ["RanRead", "RanWrite", "RanIO"] {
        assert_eq!(of(job, view)[0], format!("{stamp}|5.000|5.000|5.000"), "{view}");
    }
    let rates = ["reads", "writes", "commits"].map(|kind| format!("{kind}_per_s_low, {kind}_per_s_high"));
    let summary = of(&format!("stamp, {}", rates.join(", ")), "database_summary");
    assert_eq!(summary[0], format!("{stamp}|190.000|210.000|NULL|NULL|NULL|NULL"));
    assert_eq!(summary[1], format!("{stamp}|NULL|NULL|190.000|210.000|190.000|210.000"));
}

#[test]
fn the_rates_of_tproc_c_are_a_view_in_which_unknown_limits_are_null() {
    let (_dir, store) = store();
    let insert = "INSERT INTO conclusion SELECT run, 1000 + number, 'tproc-c-rates', number, ?1 FROM phase WHERE number = ?2";
    let of = |low: &str, high: &str| format!(r#"{{"value":1200.0,"low":{low},"high":{high}}}"#);
    let known = format!(r#"{{"nopm":{},"tpm":{}}}"#, of("1100.0", "1300.0"), of("0.0", "\"inf\""));
    let uncounted = format!(r#"{{"nopm":{},"tpm":null}}"#, of("0.0", "\"inf\""));
    for (rates, phase) in [(known, 0), (uncounted, 1)] {
        store.connection.execute(insert, (rates, phase)).unwrap();
    }
    let columns = "phase, users, seconds, nopm, nopm_low, nopm_high, tpm, tpm_low, tpm_high";
    assert_eq!(
        table(&store.connection, &format!("SELECT {columns} FROM tproc_c_summary ORDER BY phase")),
        [
            "0|2|3.000|1200.000|1100.000|1300.000|1200.000|0.000|NULL",
            "1|2|3.000|1200.000|0.000|NULL|NULL|NULL|NULL"
        ]
    );
}

#[test]
fn a_rate_that_changed_is_in_the_summary_with_its_levels() {
    let (_dir, store) = store();
    let shift = |at: f64, before: f64, after: f64| {
        format!(
            r#"{{"change":"level-shift","at":{at:?},"before":{{"value":{before:?}}},"after":{{"value":{after:?}}}}}"#
        )
    };
    let stall = r#"{"change":"stall","at":0.5,"seconds":0.1}"#;
    let changes = [shift(1.5, 900.0, 300.0), shift(2.5, 300.0, 100.0), stall.to_owned()].join(",");
    let conclusion = format!(r#"{{"operation":"read","changes":[{changes}]}}"#);
    let insert = "INSERT INTO conclusion SELECT id, 1000, 'changes', 0, ?1 FROM run";
    store.connection.execute(insert, [conclusion]).unwrap();
    let changes =
        table(&store.connection, "SELECT phase, kind, at_s, iops_before, iops_after FROM rate_change");
    assert_eq!(changes, ["0|read|1.500|900.000|300.000", "0|read|2.500|300.000|100.000"]);
    let summary = "SELECT phase, kind, iops_first, iops_last FROM summary ORDER BY phase, kind";
    let summary = table(&store.connection, summary);
    assert_eq!(summary[0], "0|read|900.000|100.000");
    assert!(summary[1..].iter().all(|row| row.ends_with("|NULL|NULL")), "{summary:?}");
}

#[test]
fn the_database_summary_sets_logical_against_physical() {
    let (_dir, store) = store();
    let of = |columns: &str| {
        table(&store.connection, &format!("SELECT phase, {columns} FROM database_summary ORDER BY phase"))
    };
    assert_eq!(
        of("run, name, operation, database, engine, durability, timed_by, workers, seconds"),
        [
            "0|20261120T160301-0a|phase 0|ran-read|/var/lib/db|NULL|NULL|client|2|3.000",
            "1|20261120T160301-0a|phase 1|ran-write|postgres://me@host/ran|PostgreSQL|relaxed|database|2|3.000",
            "2|20261120T160301-0a|phase 2|ran-io|postgres://me@host/ran|PostgreSQL|relaxed|database|2|3.000",
            "3|20261120T160301-0a|phase 3|ran-read|/var/lib/db|NULL|NULL|client|2|3.000",
        ]
    );
    assert_eq!(
        of("reads, writes, commits, errors, reads_per_s, writes_per_s, commits_per_s,
            read_mean_ms, read_max_ms, write_mean_ms, write_max_ms, commit_mean_ms, commit_max_ms"),
        [
            "0|600|0|0|3|200.000|0.000|0.000|1.000|5.000|NULL|NULL|NULL|NULL",
            "1|0|600|600|6|0.000|200.000|200.000|NULL|NULL|1.000|5.000|1.000|5.000",
            "2|600|600|0|6|200.000|200.000|0.000|1.000|5.000|1.000|5.000|NULL|NULL",
            "3|500|0|0|2|166.667|0.000|0.000|1.000|5.000|NULL|NULL|NULL|NULL",
        ]
    );
    // The ramp's 1000 operations and the drain's 2 are in, as they are in what the devices count.
    let logical = of("logical_reads, logical_writes, logical_commits");
    assert_eq!(logical, ["0|1602|0|0", "1|0|1602|1602", "2|1602|1602|0", "3|1502|0|0"]);
    let physical = "device_reads, device_read_bytes, device_writes, device_written_bytes, device_flushes, data_reads,
        data_read_bytes, data_writes, data_written_bytes, data_syncs, log_writes, log_written_bytes, log_syncs,
        reads_per_device_read, writes_per_device_write, reads_per_data_read, writes_per_data_write,
        log_bytes_per_write, writer_active_share, tool_cpu_share";
    let physical = of(physical);
    assert_eq!(
        physical[1],
        "1|400|3276800|800|6553600|200|7|57344|400|3276800|3|1602|102528|1500|NULL|2.002|NULL|4.005|64.000|0.200|0.100"
    );
    for (phase, row) in [(0, &physical[0]), (2, &physical[2])] {
        assert_eq!(*row, format!("{phase}{}", "|NULL".repeat(20)));
    }
}

#[test]
fn a_database_that_is_measured_or_was_cut_short_is_in_the_summary() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("results.db");
    let events = synthetic::database_run("cut", 1, 1);
    synthetic::write(&path, &events[..synthetic::position_of_first_interval(&events) + 2]);
    let store = Store::open(&path).unwrap();
    let sql = "SELECT phase, reads, seconds, logical_reads FROM database_summary";
    assert_eq!(table(&store.connection, sql), ["0|100|1.000|1100"]);
    assert_eq!(table(&store.connection, "SELECT * FROM RanRead"), [""; 0]);
    assert_eq!(table(&store.connection, "SELECT phase, ending FROM database_phase"), ["0|NULL"]);
}

#[test]
fn a_phase_after_midnight_has_the_next_date() {
    let (_dir, store) = store();
    store
        .connection
        .execute("UPDATE phase SET started_ns = 8 * 3600 * 1000000000 WHERE number = 1", [])
        .unwrap();
    let start = table(&store.connection, "SELECT DISTINCT RunDate, RunTime FROM RanWrite");
    assert_eq!(start, ["2026-11-21|00:03:01"]);
}

#[test]
fn the_summary_counts_measured_intervals_only_and_stalls_in_full() {
    let (_dir, store) = store();
    let sql = "SELECT phase, name, concurrency, kind, operations, bytes, errors, seconds, iops, mb_per_s,
                      mean_response_ms, max_response_ms, stamp FROM summary ORDER BY phase, kind";
    let all = "600|4915200|3|3.000|200.000|1.638|1.000|5.000|partly cached (37 %)";
    assert_eq!(
        table(&store.connection, sql),
        [
            format!("0|phase 0|2|read|{all}"),
            format!("1|phase 1|2|commit|{all}"),
            format!("1|phase 1|2|write|{all}"),
            format!("2|phase 2|2|read|{all}"),
            format!("2|phase 2|2|write|{all}"),
            "3|phase 3|2|read|500|4096000|2|3.000|166.667|1.365|1.000|5.000|partly cached (37 %)".to_owned(),
        ]
    );
}

#[test]
fn the_summary_equals_the_workers_totals() {
    let (_dir, store) = store();
    let by_worker = "SELECT w.phase, o.kind, sum(o.operations), sum(o.bytes) FROM worker AS w
                       JOIN worker_op AS o ON o.worker = w.id GROUP BY w.phase, o.kind ORDER BY w.phase, o.kind";
    let by_interval = "SELECT phase, kind, operations, bytes FROM summary ORDER BY phase, kind";
    assert_eq!(table(&store.connection, by_worker), table(&store.connection, by_interval));
}

#[test]
fn a_stall_is_a_row_of_the_timeline() {
    let (_dir, store) = store();
    let sql = "SELECT stage, start_s, length_s, kind, operations, errors, iops, mb_per_s, mean_response_ms,
                      max_response_ms FROM timeline WHERE phase = 3 ORDER BY start_s";
    assert_eq!(
        table(&store.connection, sql)[..3],
        [
            "ramp|0.000|1.000|read|1000|1|1000.000|8.192|1.000|5.000",
            "measured|1.000|1.000|NULL|0|0|0.000|0.000|NULL|NULL",
            "measured|2.000|1.000|read|200|1|200.000|1.638|1.000|5.000",
        ]
    );
}

#[test]
fn a_deleted_run_leaves_nothing_behind() {
    let (dir, store) = store();
    synthetic::write(&dir.path().join("results.db"), &synthetic::file_run("file"));
    let tables = table(&store.connection, "SELECT name FROM sqlite_schema WHERE type = 'table'");
    store.connection.execute("DELETE FROM run", []).unwrap();
    for name in tables {
        assert_eq!(table(&store.connection, &format!("SELECT count(*) FROM {name}")), ["0"], "{name}");
    }
}

#[test]
fn facts_that_people_query_are_readable() {
    let (dir, store) = store();
    synthetic::write(&dir.path().join("results.db"), &synthetic::file_run("file"));
    let sql = "SELECT started_utc, ending, host_name, filesystem_kind FROM run WHERE id = 'file'";
    assert_eq!(table(&store.connection, sql), ["2026-11-20T16:03:01.250Z|interrupted|host|ext4"]);
    let kinds = table(&store.connection, "SELECT kind FROM warning ORDER BY sequence");
    assert_eq!(kinds, ["no-direct-io", "volatile", "short-phases"]);
    let layers =
        table(&store.connection, "SELECT layer, ending FROM phase WHERE run = 'file' ORDER BY number");
    assert_eq!(layers, ["calibration|completed", "file|interrupted", "metadata|completed"]);
    let devices =
        table(&store.connection, "SELECT name, rests_on, rotational FROM device WHERE run = 'file'");
    assert_eq!(devices, ["vda1|[\"vda\"]|0", "vda|[]|NULL"]);
}

#[test]
fn what_went_wrong_is_in_one_place() {
    let (dir, store) = store();
    assert_eq!(table(&store.connection, "SELECT * FROM trouble"), [""; 0]);
    synthetic::write(&dir.path().join("results.db"), &synthetic::file_run("file"));
    let head = "file|1|random read 8 KiB";
    assert_eq!(
        table(&store.connection, "SELECT * FROM trouble ORDER BY what, kind"),
        [
            format!("{head}|error: device|read|12|read at 8192: Input/output error"),
            format!("{head}|error: other|rmdir|12|read at 8192: Input/output error"),
            format!("{head}|error: space|write|12|read at 8192: Input/output error"),
            format!("{head}|rate not kept|NULL|2|0.3 operations per second of 1000.1 asked for"),
            format!("{head}|stuck|read|1|the oldest for 3.500 s"),
            format!("{head}|stuck|trim|2|the oldest for 4.000 s"),
            format!("{head}|unreadable data|NULL|1|NULL"),
            format!("{head}|wrong data|NULL|2|from another place: 8192"),
        ]
    );
}

#[test]
fn an_altered_row_is_said_to_be_unreadable() {
    let (_dir, store) = store();
    store.connection.execute("UPDATE phase SET task = '{}' WHERE number = 2", []).unwrap();
    let run = RunId("20261120T160301-0a".into());
    let error = store.events(&run).unwrap_err().to_string();
    assert!(error.contains("cannot read a phase's task"), "{error}");
    assert_eq!(store.intervals(&run, 2).unwrap().len(), 5);
}

/// Every query of the reference page runs.
#[test]
fn sample_queries_of_the_reference_page_run() {
    let (_dir, store) = store();
    let page = include_str!("../../../docs/results.md");
    let samples: Vec<&str> =
        page.split("```sql\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(samples.len() >= 4);
    for sample in samples {
        assert!(!table(&store.connection, sample).is_empty(), "no row from: {sample}");
    }
}
