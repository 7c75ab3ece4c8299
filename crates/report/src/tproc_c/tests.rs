use iolite_model::{
    CheckpointCycles, CheckpointDue, Concluded, Nanos, OpClass, OpKind, Stop, Task, TprocCCounts, TprocCTask,
};
use iolite_results::RunRequest;
use iolite_stats::Direction;

use super::*;
use crate::synthetic;

const STYLE: Style = Style { color: false, unicode: true, width: 110 };

fn task(users: u32) -> Task {
    Task::TprocC(TprocCTask {
        name: "TPROC-C".into(),
        users,
        warehouses: 2,
        reduction: 100,
        all_warehouses: false,
        keying_thinking: false,
        procedures: true,
        spread_warehouse: false,
        whole_cycles: None,
        rate: None,
        stop: Stop { runtime: Some(Nanos(60 * Nanos::SECOND.0)), ..Stop::default() },
        ramp: Nanos(0),
        interval: Nanos::SECOND,
        seed: 7,
        kinds: vec![OpKind::of("new-order", OpClass::Write, false).unwrap()],
    })
}

fn counted(orders: u64, committed: u64) -> TprocCCounted {
    let counts = |seconds: u64, orders, transactions| TprocCCounts {
        at: Nanos(seconds * Nanos::SECOND.0),
        orders,
        transactions: Some(transactions),
    };
    TprocCCounted {
        before: counts(0, 1000, 5000),
        start: counts(10, 2000, 6000),
        end: counts(70, 2000 + orders, 6000 + 2 * orders),
        after: counts(71, 2000 + orders, 6000 + 2 * orders),
        new_orders: committed,
        committed: 2 * committed,
        rolled_back: 13,
        deadlocks: 4,
        lock_timeouts: 2,
        skipped_deliveries: 0,
    }
}

/// A phase, and what is known of it.
type Phase = (PhaseResult, Vec<Concluded>);

fn phase(index: u32, orders: u64) -> Phase {
    let kind = OpKind::of("new-order", OpClass::Write, false).unwrap();
    let result = synthetic::phase(index, task(8), &[(kind, 500.0, 2e6, 0, 0)]);
    (result, vec![Concluded::of_phase(index, &counted(orders, orders + 1000))])
}

/// A run of the procedure with these phases.
fn run(procedure: &str, phases: Vec<Phase>) -> Run {
    let database = TprocCDatabase {
        url: "postgres://me@host/db".into(),
        engine: "PostgreSQL".into(),
        version: "15.18".into(),
        warehouses: 2,
        reduction: 100,
        durable_by: "synchronous_commit=on".into(),
        settings: vec![("fsync".into(), "on".into())],
    };
    let (phases, conclusions): (Vec<_>, Vec<_>) = phases.into_iter().unzip();
    let mut run = synthetic::of_phases(phases);
    run.conclusions = vec![Concluded::of(&RunRequest::new(procedure, "")), Concluded::of(&database)];
    run.conclusions.extend(conclusions.into_iter().flatten());
    run
}

fn report(phases: Vec<Phase>) -> Run {
    run("tproc-c", phases)
}

/// White space of any kind is one blank.
fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_run_is_reported_by_what_the_districts_have_counted() {
    let report = report(vec![phase(0, 1200)]);
    let text = plain(&text(&report, STYLE));
    for expected in [
        "TPROC-C on postgres://me@host/db",
        "1,200 NOPM ± ",
        " % from 2,400 PostgreSQL TPM ± ",
        " % (REDUCED to 1/100)",
        "2 warehouses, REDUCED: 1/100",
        "8 virtual users",
        "new-order",
        "2,200 over the whole run, as many as iolite has committed",
        "13 of 2,213 New-Orders, 0.59 % (1 % by the specification)",
        "4 transactions were ended by the database because of a deadlock, and retried",
        "2 transactions were ended by the database because they waited too long for a lock of another session",
        "not a TPC result",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let json = json(&report);
    assert_eq!(
        (json["phases"][0]["nopm"].as_f64(), json["phases"][0]["tpm"].as_f64()),
        (Some(1200.0), Some(2400.0))
    );
    for (low, value, high) in [("nopm_low", 1200.0, "nopm_high"), ("tpm_low", 2400.0, "tpm_high")] {
        let [low, high] = [low, high].map(|end| json["phases"][0][end].as_f64().unwrap());
        assert!(low < value && value < high, "{low} {value} {high}");
    }
    assert_eq!(json["database"]["reduction"], 100);
    assert!(json["repeats"].is_null());
}

#[test]
fn rates_have_their_interval_and_what_is_known_of_the_cache() {
    let phases = vec![phase(0, 1200), phase(1, 1500)];
    let report = report(phases.clone());
    let single = plain(&text(&report, STYLE));
    assert_eq!(
        single.matches("cache unknown: transactions request no number of bytes").count(),
        2,
        "{single}"
    );
    let swept = plain(&text(&run("tproc-c-sweep", phases), STYLE));
    assert!(swept.contains("users NOPM ±"), "{swept}");
    assert!(swept.contains("cache stamp: unknown (transactions request no number of bytes"), "{swept}");
}

#[test]
fn orders_that_the_districts_have_and_this_program_has_not_are_named() {
    let mut lost = phase(0, 1200);
    let counted = TprocCCounted { new_orders: 2201, ..counted(1200, 2200) };
    lost.1 = vec![Concluded::of_phase(0, &counted)];
    let text = plain(&text(&report(vec![lost]), STYLE));
    assert!(text.contains("but iolite has committed 2,201"), "{text}");
}

#[test]
fn repetitions_have_a_mean_with_its_interval() {
    let report = report(vec![phase(0, 1000), phase(1, 1100), phase(2, 1200)]);
    let text = plain(&text(&report, STYLE));
    // The standard deviation is 100; 4.303 x 100 / sqrt(3) = 248.
    assert!(text.contains("mean 1,100 ± 22.6 %") && text.contains("1,000 to 1,200"), "{text}");
    let json = json(&report);
    assert!((json["repeats"]["nopm_half_width"].as_f64().unwrap() - 248.4).abs() < 0.1, "{json:#}");
}

/// Cycles of 30 s in a measured time of 60 s from 10 s on.
fn cycles(started: &[u64], cycles: f64) -> CheckpointCycles {
    let second = |seconds: u64| Nanos(seconds * Nanos::SECOND.0);
    CheckpointCycles {
        cycles,
        at: [0.25, 0.75],
        measured: [second(10), second(70)],
        started: started.iter().map(|at| second(*at)).collect(),
        has_starts: true,
        due: CheckpointDue { time: Some(second(30)), log: Some(Bytes(64 << 20)) },
        age: None,
    }
}

#[test]
fn checkpoints_in_the_measured_time_are_shown_with_the_rate_of_whole_cycles() {
    let mut measured = phase(0, 1200);
    measured.1.push(Concluded::of_phase(0, &cycles(&[2, 32, 62], 1.9)));
    let nopm =
        Estimate::rate(&[(1.0, 20.0), (1.0, 22.0), (1.0, 20.0)], Direction::HigherIsBetter).scaled(60.0);
    let span = [Nanos(32 * Nanos::SECOND.0), Nanos(62 * Nanos::SECOND.0)];
    measured.1.push(Concluded::of_phase(0, &WholeCycles { span, nopm, each: vec![1240.0] }));
    let report = report(vec![measured, phase(1, 1200)]);
    let text = plain(&text(&report, STYLE));
    for expected in [
        "1.9 checkpoint cycles in the measured time, from 0.25 of one to 0.75 of one; started at 32.0 s, 62.0 s",
        "due every 30.0 s or 64 MiB of log",
        "whole 1,240 NOPM ±",
        "over 1 whole cycle from 32.0 s to 62.0 s",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let json = json(&report);
    assert_eq!(json["phases"][0]["checkpoints"]["cycles"], 1.9);
    assert_eq!(json["phases"][0]["checkpoints"]["whole"], true);
    assert_eq!(json["phases"][0]["whole_cycles"]["each"][0], 1240.0);
    assert!(json["phases"][1]["checkpoints"].is_null() && json["phases"][1]["whole_cycles"].is_null());
}

#[test]
fn innodb_shows_how_much_of_its_log_was_turned_over() {
    let mut measured = phase(0, 1200);
    let innodb = CheckpointCycles {
        has_starts: false,
        due: CheckpointDue { time: None, log: Some(Bytes(200 << 20)) },
        age: Some([0.02, 0.31]),
        ..cycles(&[], 0.3)
    };
    measured.1.push(Concluded::of_phase(0, &innodb));
    let text = plain(&text(&report(vec![measured]), STYLE));
    assert!(
        text.contains("0.3 checkpoint cycles in the measured time; a cycle is 200 MiB of redo log"),
        "{text}"
    );
    assert!(text.contains("2 % of the largest checkpoint age at its start, 31 % at its end"), "{text}");
}

#[test]
fn repetitions_say_how_many_cycles_each_measured() {
    let with = |index, measured| {
        let mut with = phase(index, 1000);
        with.1.push(Concluded::of_phase(index, &cycles(&[], measured)));
        with
    };
    let text = plain(&text(&report(vec![with(0, 1.0), with(1, 1.5)]), STYLE));
    assert!(text.contains("checkpoint cycles in the measured times: 1.0, 1.5"), "{text}");
}

#[test]
fn passes_of_a_sweep_are_one_line_with_the_variation_between_them() {
    let swept = run("tproc-c-sweep", vec![phase(0, 1000), phase(1, 1200)]);
    let text = plain(&text(&swept, STYLE));
    // 12.706 x 141 / sqrt(2) of 1,100.
    assert!(text.contains("8 1,100 116 %") || text.contains("8 1,100 115 %"), "{text}");
    assert!(text.contains("2 runs of each step, interleaved"), "{text}");
}
