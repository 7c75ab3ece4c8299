//! What sweeps print.

use iolite_model::{
    Bytes, DatabaseFacts, DatabaseUse, DbOperation, DbTask, Durability, Fitness, JudgedStep, Nanos, OpKind,
    Reason, ReasonUnit, Statistic, Stop, SweepEnd, Task, TimedBy, Verdict, Warning,
};
use iolite_stats::{Knee, LoadPoint};
use proptest::prelude::*;

use super::*;
use crate::styler::is_unsafe;
use crate::synthetic;

const WIDE: Style = Style { color: false, unicode: true, width: 110 };
const NARROW: Style = Style { color: false, unicode: false, width: 60 };

fn terms(operation: DbOperation) -> SweepTerms {
    SweepTerms { ramp: Nanos(2_000_000_000), ..SweepTerms::new(operation) }
}

fn task(operation: DbOperation, workers: u32) -> Task {
    Task::Database(DbTask {
        name: "Ran".into(),
        operation,
        workers,
        stop: Stop::default(),
        ramp: Nanos(0),
        interval: Nanos(25_000_000),
        seed: 7,
        timed_by: TimedBy::Database,
    })
}

/// A kind, its rate, its mean response in nanoseconds, bytes, errors.
type Load = (OpKind, f64, f64, u64, u64);

fn step(index: u32, operation: DbOperation, jobs: u32, loads: &[Load]) -> SweptStep {
    let result = synthetic::phase(index, task(operation, jobs), loads);
    SweptStep { jobs, phases: vec![index], result }
}

fn facts() -> DatabaseFacts {
    DatabaseFacts {
        phase: 0,
        url: "postgres://me@db1/bench".into(),
        namespace: "bench".into(),
        engine: "PostgreSQL".into(),
        version: "15.6".into(),
        block: Bytes(8192),
        size: Bytes(48 << 30),
        blocks: 6_291_456,
        globals: vec![1_000_000; 12],
        read_path: "pg_prewarm, read mode".into(),
        write_path: "UPDATE by key".into(),
        durability: Durability::Full,
        durable_by: "fsync on, synchronous_commit on".into(),
        direct: false,
        timed_by: TimedBy::Database,
        settings: Vec::new(),
    }
}

/// A run of a sweep and what it concluded.
struct Swept {
    run: Run,
    concluded: SweepConcluded,
}

impl Swept {
    fn text(&self, style: Style) -> String {
        text(&self.run, &self.concluded, style)
    }

    fn json(&self) -> serde_json::Value {
        json(&self.run, &self.concluded)
    }
}

fn swept(tool: &str, operation: DbOperation, steps: Vec<SweptStep>) -> Swept {
    let points: Vec<LoadPoint> = steps
        .iter()
        .map(|step| {
            let logical = step.result.logical().unwrap();
            LoadPoint {
                concurrency: step.jobs,
                throughput: logical.rate.value,
                throughput_se: logical.rate.standard_error,
                response: logical.response.value / 1e9,
            }
        })
        .collect();
    let mut run = synthetic::of_phases(steps.iter().map(|step| step.result.clone()).collect());
    run.databases = [(0, facts())].into();
    run.verdict = Some(verdict());
    let concluded = SweepConcluded {
        tool: tool.into(),
        terms: terms(operation),
        end: SweepEnd::NotGrowing { before: 8, jobs: 16, growth: 0.0013 },
        knee: Knee::fit(&points, 1),
        judged: Some(JudgedStep { jobs: 4, why: "the knee".into() }),
    };
    Swept { run, concluded }
}

fn verdict() -> Verdict {
    let reason = |fitness, what: &str, measured: &str, asked: &str| {
        let what = format!("reads with 4 jobs (the knee), {what}");
        Reason::new(fitness, what, measured, asked).with_figure(
            Statistic::Mean,
            1.0,
            2.0,
            ReasonUnit::Nanoseconds,
        )
    };
    let reasons = vec![
        reason(Fitness::Fit, "mean", "670 µs (661 µs to 679 µs)", "at most 2.00 ms"),
        reason(
            Fitness::Marginal,
            "longest",
            "2 of 180,330 above 5.00 ms (0.001 %), the longest 7.10 ms",
            "never above 5.00 ms",
        ),
    ];
    Verdict::of("RanRead, mean 2.00 ms, max 5.00 ms", reasons)
}

fn used(phase: u32) -> DatabaseUse {
    DatabaseUse {
        phase,
        data_device: None,
        log_device: None,
        database: iolite_model::Physical::default(),
        writer_active: None,
        observed: Nanos(250_000_000),
        tool_cpu: Nanos(7),
        host_cpu: None,
    }
}

/// The published series.
fn reads() -> Swept {
    let read = DbOperation::RanRead;
    let curve = [(1, 1597.0, 0.63e6), (4, 6011.0, 0.67e6), (8, 6136.0, 1.3e6), (16, 6144.0, 2.6e6)];
    let steps = curve
        .into_iter()
        .zip(0..)
        .map(|((jobs, rate, mean), index)| step(index, read, jobs, &[(OpKind::Read, rate, mean, 8192, 0)]));
    let mut report = swept("RanRead", read, steps.collect());
    report.concluded.terms.jobs = vec![1, 4, 8, 16];
    report.concluded.terms.closer = 0;
    report
}

fn mixed() -> Swept {
    let io = DbOperation::RanIo { transaction_length: 10, hang: Nanos(0), read_percent: 50 };
    let curve = [(1, 4000.0), (5, 17_000.0), (10, 22_000.0)];
    let steps = curve.into_iter().zip(0..).map(|((jobs, rate), index)| {
        let loads = [
            (OpKind::Read, rate / 2.0, 120e3, 8192, 0),
            (OpKind::Write, rate / 2.0, 9e3, 100, 0),
            (OpKind::Commit, rate / 20.0, 900e3, 0, 0),
        ];
        step(index, io, jobs, &loads)
    });
    let mut report = swept("RanIO", io, steps.collect());
    report.concluded.terms.repeat = 3;
    report.concluded.terms.target_iops = Some(Iops(20_000.0));
    report.concluded.end = SweepEnd::Globals { globals: 12 };
    report
}

/// What stands below the machine.
fn body(swept: &Swept, style: Style) -> String {
    let text = swept.text(style);
    text.split_once("\n\n").map_or(String::new(), |(_, body)| body.to_owned())
}

#[test]
fn the_published_series() {
    insta::assert_snapshot!(body(&reads(), WIDE), @r"
    jobs     1, 4, 8, 16: each 30.0 s after a ramp of 2.00 s
    until    the mean response time exceeds 10.0 ms in two consecutive steps, or IOPS grow by less than 10 % per
             doubling of the jobs in two or three
    asked    mean at most 2.00 ms, maximum at most 5.00 ms

      jobs   IOPS      ±     mean      p50      p95      p99  p99.9      max   cache
         1  1,596  1.4 %   614 µs   601 µs   858 µs   882 µs      -  3.50 ms  device
       ▸ 4  6,008  7.6 %   658 µs   639 µs   913 µs   938 µs      -  7.03 ms  device
         8  6,136  7.1 %  1.28 ms  1.24 ms  1.77 ms  1.82 ms      -  13.6 ms  device
        16  6,144  7.2 %  2.55 ms  2.48 ms  3.55 ms  3.64 ms      -  27.3 ms  device
    ▸: the knee; ±: 95 % interval of the rate, within this run; times: response; -: too few operations

    jobs  IOPS                                   mean response
       1  ███████▊                        1,596  ███████▎                         614 µs
     ▸ 4  █████████████████████████████▍  6,008  ███████▊                         658 µs
       8  ██████████████████████████████  6,136  ███████████████                 1.28 ms
      16  ██████████████████████████████  6,144  ██████████████████████████████  2.55 ms

    knee  RanRead: 4 jobs (4 to 4, 95 %), 6,140 IOPS; plateau 6,140 IOPS (5,949 to 6,331)
          model: two asymptotes (1,596 IOPS per outstanding operation up to 6,140 IOPS), off by 1.6 %
    limit up to 4 jobs within mean 2.00 ms and max 5.00 ms: 6,008 IOPS (5,551 to 6,465, 95 % within this run)
    end   IOPS no longer grew: from 8 to 16 jobs by 0.1 % per doubling of the jobs

    VERDICT: marginal for RanRead, mean 2.00 ms, max 5.00 ms
      ✓ reads with 4 jobs (the knee), mean: 670 µs (661 µs to 679 µs); required: at most 2.00 ms
      ~ reads with 4 jobs (the knee), longest: 2 of 180,330 above 5.00 ms (0.001 %), the longest 7.10 ms;
        required: never above 5.00 ms
    ");
}

#[test]
fn the_same_where_there_is_little_room() {
    insta::assert_snapshot!(body(&reads(), NARROW), @r"
    jobs     1, 4, 8, 16: each 30.0 s after a ramp of 2.00 s
    until    the mean response time exceeds 10.0 ms in two
             consecutive steps, or IOPS grow by less than 10 %
             per doubling of the jobs in two or three
    asked    mean at most 2.00 ms, maximum at most 5.00 ms

      jobs   IOPS    +/-     mean  p99.9      max   cache
         1  1,596  1.4 %   614 us      -  3.50 ms  device
       > 4  6,008  7.6 %   658 us      -  7.03 ms  device
         8  6,136  7.1 %  1.28 ms      -  13.6 ms  device
        16  6,144  7.2 %  2.55 ms      -  27.3 ms  device
    >: the knee; +/-: 95 % interval of the rate, within this
    run; times: response; -: too few operations

    jobs  IOPS                       mean response
       1  #####               1,596  #####                614 us
     > 4  ##################  6,008  #####                658 us
       8  ##################  6,136  #########           1.28 ms
      16  ##################  6,144  ##################  2.55 ms

    knee  RanRead: 4 jobs (4 to 4, 95 %), 6,140 IOPS; plateau
          6,140 IOPS (5,949 to 6,331)
          model: two asymptotes (1,596 IOPS per outstanding
          operation up to 6,140 IOPS), off by 1.6 %
    limit up to 4 jobs within mean 2.00 ms and max 5.00 ms:
          6,008 IOPS (5,551 to 6,465, 95 % within this run)
    end   IOPS no longer grew: from 8 to 16 jobs by 0.1 % per
          doubling of the jobs

    VERDICT: marginal for RanRead, mean 2.00 ms, max 5.00 ms
      + reads with 4 jobs (the knee), mean: 670 us (661 us to
        679 us); required: at most 2.00 ms
      ~ reads with 4 jobs (the knee), longest: 2 of 180,330
        above 5.00 ms (0.001 %), the longest 7.10 ms; required:
        never above 5.00 ms
    ");
}

#[test]
fn reads_sets_and_commits_apart() {
    insta::assert_snapshot!(body(&mixed(), WIDE), @r"
    jobs     1, 5, 10, 20, 40 and so on: each 30.0 s after a ramp of 2.00 s, 3 times, each time in a different
             order
    until    the mean response time exceeds 10.0 ms in two consecutive steps, or IOPS grow by less than 10 % per
             doubling of the jobs in two or three; then up to 2 additional measurements at the knee
    asked    mean at most 2.00 ms, maximum at most 5.00 ms, at least 20,000 IOPS

             jobs    IOPS      ±     mean      p50      p95      p99  p99.9      max   cache
    all         1   4,000  2.1 %   105 µs
                5  17,000  6.9 %   107 µs
               10  22,000  7.0 %   107 µs
    reads       1   2,000  2.1 %   118 µs   114 µs   163 µs   168 µs      -   667 µs  device
                5   8,500  6.9 %   118 µs   115 µs   164 µs   168 µs      -  1.30 ms  device
               10  11,000  7.0 %   118 µs   115 µs   164 µs   168 µs      -  1.30 ms  device
    sets        1   2,000  2.1 %  8.82 µs  8.58 µs  12.2 µs  12.6 µs      -  50.0 µs
                5   8,500  6.9 %  8.85 µs  8.60 µs  12.3 µs  12.6 µs      -  97.7 µs
               10  11,000  7.0 %  8.84 µs  8.60 µs  12.3 µs  12.6 µs      -  97.7 µs
    commits     1     200  0.0 %   840 µs   833 µs        -        -      -  1.24 ms
                5     848  1.4 %   881 µs   858 µs  1.22 ms        -      -  5.00 ms
               10   1,100  1.4 %   872 µs   854 µs  1.22 ms        -      -  5.00 ms
    ±: 95 % interval of the rate, within this run; times: response; -: too few operations; each line is of all
    repetitions; all: the time of a job per operation, including its share of the commit

    jobs  IOPS                                    mean response
       1  █████▌                           4,000  █████████████████████████████▍  105 µs
       5  ███████████████████████▏        17,000  ██████████████████████████████  107 µs
      10  ██████████████████████████████  22,000  █████████████████████████████▉  107 µs

    knee  RanIO: 6 jobs (6 to 7, 95 %), 18,874 IOPS; no plateau yet, maximum measured 22,000 IOPS (21,046 to
          22,954)
          model: universal scalability law (4,002 IOPS with one outstanding, σ=0.0000, κ=0.009074)
    limit up to 1 job within mean 2.00 ms and max 5.00 ms: 4,000 IOPS (3,916 to 4,084, 95 % within this run)
    end   there are only 12 globals, and each job needs one: add globals (add-globals) to continue

    VERDICT: marginal for RanRead, mean 2.00 ms, max 5.00 ms
      ✓ reads with 4 jobs (the knee), mean: 670 µs (661 µs to 679 µs); required: at most 2.00 ms
      ~ reads with 4 jobs (the knee), longest: 2 of 180,330 above 5.00 ms (0.001 %), the longest 7.10 ms;
        required: never above 5.00 ms
    ");
}

#[test]
fn the_database_is_reported() {
    let text = reads().text(WIDE);
    let header = text.split_once("\n\n").unwrap().0;
    assert!(
        header.starts_with(
            "iolite 0.1.0: RanRead with an increasing number of jobs on postgres://me@db1/bench\n"
        )
    );
    assert!(
        header.contains("\ndatabase PostgreSQL 15.6") && header.contains("\ndurable  full: fsync on"),
        "{header}"
    );
}

#[test]
fn what_did_not_end() {
    let mut report = reads();
    report.run.phases.truncate(1);
    (report.concluded.knee, report.concluded.judged, report.run.verdict) = (None, None, None);
    (report.concluded.end, report.run.ending) = (SweepEnd::Interrupted, Some(Ending::Interrupted));
    let rendered = body(&report, WIDE);
    insta::assert_snapshot!(rendered.split_once("too few operations\n").unwrap().1, @r"
    knee  none: at least two numbers of jobs are needed
    limit up to 1 job within mean 2.00 ms and max 5.00 ms: 1,596 IOPS (1,574 to 1,618, 95 % within this run); more
          jobs were not tested
    end   interrupted

    INTERRUPTED: the table contains the results measured so far
    VERDICT: none (the sweep was not completed)
    ");
    report.run.phases.clear();
    let why = "connection refused: is the server running?";
    report.concluded.end = SweepEnd::NotStarted { jobs: 1, why: why.into() };
    report.run.ending = Some(Ending::Failed(why.into()));
    let rendered = body(&report, WIDE);
    assert!(rendered.ends_with("VERDICT: none (nothing was measured that could be judged)\n"), "{rendered}");
}

#[test]
fn colour_changes_nothing_but_colour() {
    for report in [reads(), mixed()] {
        let colored = report.text(Style { color: true, ..WIDE });
        assert!(colored.contains("\x1b[1m\x1b[33mVERDICT: marginal"), "{colored}");
        let mut plain = String::new();
        let mut rest = colored.as_str();
        while let Some((before, after)) = rest.split_once('\x1b') {
            plain += before;
            rest = after.split_once('m').unwrap().1;
        }
        assert_eq!(plain + rest, report.text(WIDE));
    }
}

#[test]
fn the_document_holds_it_all() {
    let mut report = mixed();
    report.run.database_use = [(1, used(1))].into();
    let document = report.json();
    assert_eq!((&document["used"][0]["phase"], &document["used"][0]["tool_cpu_ns"]), (&1.into(), &7.into()));
    assert_eq!(document["database"]["blocks"], 6_291_456);
    assert_eq!(document["format"], "iolite-sweep/1");
    assert_eq!(document["steps"][1]["jobs"], 5);
    assert_eq!(document["steps"][1]["operations"].as_array().unwrap().len(), 3);
    let rate = document["steps"][2]["iops"]["value"].as_f64().unwrap();
    assert!((rate / 22_000.0 - 1.0).abs() < 0.01, "{rate}");
    // 64.5 µs, and a tenth of 900 µs for one half of them.
    let response = document["steps"][2]["response_ns"]["value"].as_f64().unwrap();
    assert!((90e3..130e3).contains(&response), "{response}");
    assert_eq!(document["asked"]["target_iops"], 20_000.0);
    assert_eq!(document["end"]["end"], "globals");
    assert_eq!(document["verdict"]["fitness"], "marginal");
    assert_eq!(document["phases"].as_array().unwrap().len(), 3);
    let knee = reads().json()["knee"].clone();
    assert_eq!((&knee["concurrency"]["value"], &knee["name"]), (&4.into(), &serde_json::Value::Null));
}

proptest! {
    #[test]
    fn no_name_escapes_and_no_line_is_too_long(name in any::<String>(), unicode in any::<bool>(), width in 0usize..140) {
        let mut report = reads();
        report.concluded.tool = name.clone();
        report.concluded.end = SweepEnd::Failed { jobs: 1, why: name.clone() };
        report.run.warnings = vec![Warning::LeftOut { what: name.clone(), why: name }];
        let style = Style { unicode, width, ..WIDE };
        let rendered = report.text(style);
        prop_assert!(rendered.chars().all(|c| c == '\n' || !is_unsafe(c)), "{rendered:?}");
        prop_assert!(unicode || rendered.is_ascii(), "{rendered:?}");
        let report = SweepReport::of(&report.run, &report.concluded);
        let table = steps::table(&report, Styler(style)) + &steps::picture(&report, Styler(style));
        for line in table.lines() {
            prop_assert!(line.chars().count() <= width.max(60), "{line}");
        }
    }
}

#[test]
fn the_most_jobs_within_the_bounds_are_reported() {
    let swept = |means: &[(u32, f64)]| {
        let of = |(index, &(jobs, mean)): (usize, &(u32, f64))| {
            step(index as u32, DbOperation::RanRead, jobs, &[(OpKind::Read, 9_000.0, mean, 8192, 0)])
        };
        means.iter().enumerate().map(of).collect::<Vec<_>>()
    };
    let terms = terms(DbOperation::RanRead);
    let max = |means: &[(u32, f64)]| SweptStep::max_within(&swept(means), &terms).map(|step| step.jobs);
    let average = terms.average.0 as f64;
    assert_eq!(max(&[(1, average / 8.0), (5, average / 4.0), (10, average * 2.0)]), Some(5));
    // What is slow with fewer jobs is not made good by more.
    assert_eq!(max(&[(1, average * 2.0), (5, average / 4.0)]), None);
}
