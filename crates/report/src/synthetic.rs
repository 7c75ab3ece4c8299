//! Runs for the tests, of the phases that `iolite_synthetic` records.

use iolite_model::{
    Access, Bytes, Calibration, Concluded, Configuration, ConfigurationNote, DbOperation, Ending, Fitness,
    HostSettings, Mix, Nanos, OpKind, Quantile, Reason, ReasonUnit, Statistic, Task, Verdict, Warning,
};
use iolite_results::Run;
use iolite_stats::{Knee, KneeFound, LoadPoint, PhaseResult};
pub(crate) use iolite_synthetic::*;
use serde_json::Value;

fn search(
    phases: &mut Vec<PhaseResult>,
    block: u64,
    curve: &[(u32, f64)],
    task: impl Fn(u32) -> Task,
) -> KneeFound {
    let first = phases.len() as u32;
    for (&(concurrency, rate), index) in curve.iter().zip(first..) {
        let mean = f64::from(concurrency) / rate * 1e9;
        phases.push(phase(index, task(concurrency), &[(OpKind::Read, rate, mean, block, 0)]));
    }
    let of_search = &phases[first as usize..];
    let points: Vec<_> = of_search
        .iter()
        .map(|phase| {
            let summary = phase.summary(OpKind::Read).unwrap();
            LoadPoint {
                concurrency: phase.info.task.concurrency(),
                throughput: summary.rate.value,
                throughput_se: summary.rate.standard_error,
                response: summary.mean.value / 1e9,
            }
        })
        .collect();
    KneeFound {
        name: of_search[0].info.task.name().to_owned(),
        phases: of_search.iter().map(|phase| phase.info.index).collect(),
        knee: Knee::fit(&points, 1).unwrap(),
    }
}

/// A whole check.
pub(crate) fn check() -> Run {
    let mut phases = Vec::new();
    let small = [
        (1, 17_960.0),
        (2, 27_503.0),
        (3, 35_100.0),
        (4, 40_325.0),
        (8, 53_438.0),
        (16, 65_513.0),
        (32, 64_548.0),
    ];
    let large = [(1, 9_400.0), (2, 15_800.0), (4, 22_000.0), (8, 22_300.0), (16, 22_100.0)];
    let jobs = [(1, 14_000.0), (2, 26_000.0), (4, 31_000.0), (8, 31_500.0)];
    let mut knees = vec![
        search(&mut phases, 8192, &small, |c| read("random read 8 KiB", 8192, c)),
        search(&mut phases, 65_536, &large, |c| read("random read 64 KiB", 65_536, c)),
    ];
    let mib = 1 << 20;
    let random_write = file("random write 8 KiB", Mix::Write, Access::Random, 8192, 8);
    phases.push(phase(12, random_write, &[(OpKind::Write, 21_000.0, 380_000.0, 8192, 0)]));
    let sequential_read = file("sequential read 1 MiB", Mix::Read, Access::Sequential, mib, 4);
    phases.push(phase(13, sequential_read, &[(OpKind::Read, 2_100.0, 1_900_000.0, mib, 0)]));
    let committed = |rate: f64, sync: f64| {
        let write = (OpKind::Write, rate, 20_000.0, 8192, 0);
        [write, (OpKind::Sync, rate, sync, 0, 0), (OpKind::Commit, rate, sync + 20_000.0, 8192, 0)]
    };
    let growing = commit("append 8 KiB + fdatasync, growing", false);
    phases.push(phase(14, commit("commit, preallocated", true), &committed(2_600.0, 360_000.0)));
    phases.push(phase(15, growing, &committed(1_100.0, 880_000.0)));
    knees.push(search(&mut phases, 8192, &jobs, |c| database("RanRead", DbOperation::RanRead, c)));
    let write = DbOperation::RanWrite { transaction_length: 10, hang: Nanos(0) };
    let sets = [(OpKind::Write, 24_000.0, 9_000.0, 64, 0), (OpKind::Commit, 2_400.0, 700_000.0, 0, 0)];
    phases.push(phase(20, database("RanWrite", write, 2), &sets));
    let configuration = Configuration {
        settings: HostSettings { swappiness: Some(60), ..HostSettings::default() },
        notes: vec![ConfigurationNote::Overcommit { value: 0 }],
    };
    let mut check = of_phases(phases);
    check.calibration = Some(Calibration {
        clock: "tsc".into(),
        clock_cost_ns: 18.24,
        clock_resolution: Nanos(1),
        loop_cost_ns: 61.7,
    });
    check.conclusions = knees.iter().map(Concluded::of).chain([Concluded::of(&configuration)]).collect();
    (check.warnings, check.verdict) = (warnings(), Some(verdict()));
    check
}

fn warnings() -> Vec<Warning> {
    vec![
        Warning::ForeignLoad {
            phase: "random read 64 KiB".into(),
            kind: OpKind::Read,
            requested: Bytes::GIB,
            device: Bytes(3 << 29),
        },
        Warning::NoPlateau { phase: "random read 8 KiB".into(), concurrency: 32 },
    ]
}

fn verdict() -> Verdict {
    let reason = |fitness, what: &str, statistic, measured: &str, value| {
        Reason::new(fitness, what, measured, "at most 2.00 ms").with_figure(
            statistic,
            value,
            2e6,
            ReasonUnit::Nanoseconds,
        )
    };
    let mut reasons = vec![
        reason(
            Fitness::Fit,
            "random read 8 KiB at the knee (8 outstanding), mean",
            Statistic::Mean,
            "150 µs (148 µs to 152 µs)",
            1.5e5,
        ),
        reason(
            Fitness::Marginal,
            "random read 64 KiB at the knee (4 outstanding), p99.9",
            Statistic::Quantile(Quantile(0.999)),
            "2.1 ms (1.9 ms to 2.5 ms)",
            2.1e6,
        ),
        reason(
            Fitness::Unfit,
            "fdatasync, growing, p99",
            Statistic::Quantile(Quantile(0.99)),
            "3.60 ms (3.1 ms to 4.0 ms)",
            3.6e6,
        ),
    ];
    reasons[1].reserve(Fitness::Marginal, "900 operations are too few");
    Verdict::of("oltp-flash", reasons)
}

/// A run that measured nothing.
pub(crate) fn empty() -> Run {
    of_phases(Vec::new())
}

/// A run that has completed these phases, and concluded nothing.
pub(crate) fn of_phases(phases: Vec<PhaseResult>) -> Run {
    let mut of_phases = Run::new(run());
    (of_phases.phases, of_phases.ending) = (phases, Some(Ending::Completed));
    of_phases
}

/// Every key with the path to it, lists shown by their first entry.
pub(crate) fn keys(value: &Value, path: &str, out: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                assert!(
                    key.chars().all(|c| c.is_ascii_lowercase()
                        || c.is_ascii_digit()
                        || c == '_'
                        || (c == '-' && path.contains(".task"))),
                    "{key}"
                );
                keys(value, &format!("{path}.{key}"), out);
            }
        }
        Value::Array(values) if values.iter().any(Value::is_object) => {
            keys(values.first().unwrap(), &format!("{path}[]"), out);
        }
        _ => out.push(path.to_owned()),
    }
}

#[test]
fn the_synthetic_phases_are_what_they_claim() {
    let phase = phase(0, read("r", 8192, 8), &[(OpKind::Read, 20_000.0, 100_000.0, 8192, 2)]);
    let summary = phase.summary(OpKind::Read).unwrap();
    assert_eq!((summary.operations, summary.errors, phase.totals.series.len()), (5_000, 2, 10));
    assert!(phase.quantile(OpKind::Read, Quantile(0.5)).is_some());
}

/// Gives a phase two levels of a kind's rate: 22,000 operations a second for two seconds, then 1,000.
pub(crate) fn shift(phase: &mut PhaseResult, kind: OpKind) {
    let point = |index: u64| {
        let mut point = iolite_stats::Point { seconds: 0.1, ..Default::default() };
        point.operations[kind] = if index < 20 { 2200 + index % 3 } else { 100 + index % 3 };
        point
    };
    phase.totals.series = (0..40).map(point).collect();
}
