mod document;
mod levels;

use iolite_model::{
    Access, Arrival, Bytes, Concluded, Damage, Ending, ErrorClass, ErrorTally, Finding, Iops,
    MetadataOperation, MetadataTask, Mix, Nanos, Outstanding, RateKept, Stop, Stuck, Verified, Warning,
};
use iolite_results::RunRequest;
use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::styler::is_unsafe;
use crate::synthetic::{self, keys};

const UNICODE: Style = Style { color: false, unicode: true, width: 110 };

/// A run of a job with these phases.
fn of_phases(phases: Vec<PhaseResult>) -> Run {
    let mut run = synthetic::of_phases(phases);
    run.conclusions = vec![Concluded::of(&RunRequest::new("run", "nightly"))];
    run
}

fn adapted(task: Task, change: impl FnOnce(&mut FileTask)) -> Task {
    let Task::File(mut task) = task else { panic!("{task:?}") };
    change(&mut task);
    Task::File(task)
}

/// An open loop that does not keep its rate, and a mix, together in a group.
fn together() -> [PhaseResult; 2] {
    let asked = Arrival::Poisson(Iops(30_000.0));
    let open = adapted(synthetic::read("reads of the index", 8192, 32), |task| {
        (task.arrival, task.group) = (asked, Some("db".into()));
    });
    let mixed =
        adapted(synthetic::file("the tables", Mix::ReadPercent(70), Access::Random, 8192, 8), |task| {
            (task.group, task.start.together, task.ramp) =
                (Some("db".into()), true, Nanos(50_000_000).into());
        });
    let mut open = synthetic::late(0, open, 20_000.0, 100_000.0, 3.0);
    open.end.rate =
        Some(RateKept { asked: Iops(30_000.0), achieved: Iops(20_000.0), backlog: 2_500, kept: false });
    let loads = [(OpKind::Read, 14_000.0, 150_000.0, 8192, 0), (OpKind::Write, 6_000.0, 90_000.0, 8192, 3)];
    let mut mixed = synthetic::phase(1, mixed, &loads);
    mixed.info.started = open.info.started;
    mixed.end.errors = vec![ErrorTally {
        kind: OpKind::Write,
        class: ErrorClass::Device,
        count: 3,
        first_offsets: vec![8192, 1 << 20],
        first: "Input/output error (os error 5)".into(),
        number: Some(5),
    }];
    [open, mixed]
}

fn verified() -> PhaseResult {
    let task = adapted(synthetic::commit("the log", false), |task| {
        task.verify = Some(iolite_model::Verify {
            check: iolite_model::Checksum::Crc32c,
            unit: Bytes(0),
            reads: false,
            anyone: false,
            after: true,
            block: Bytes(0),
            ..iolite_model::Verify::default()
        });
    });
    let committed = [
        (OpKind::Write, 2_000.0, 20_000.0, 8192, 0),
        (OpKind::Sync, 2_000.0, 300_000.0, 0, 0),
        (OpKind::Commit, 2_000.0, 320_000.0, 8192, 0),
    ];
    let mut phase = synthetic::phase(2, task, &committed);
    phase.end.outstanding = Outstanding { at_end: 2, lost: 2, oldest: Nanos(5_000_000_000), backlog: 0 };
    phase.end.stuck =
        vec![Stuck { worker: 0, kind: OpKind::Write, offset: 8192, age: Nanos(5_000_000_000) }; 10];
    phase.end.verified = Some(Verified {
        units: 500,
        wrong: 1,
        unknown: 7,
        unreadable: 1,
        incomplete: true,
        damage: [(Damage::Misplaced, 1)].into(),
        first: vec![Finding {
            offset: 4096,
            damage: Some(Damage::Misplaced),
            what: "holds what belongs at byte 8192".into(),
        }],
    });
    phase.end.ending = Ending::Interrupted;
    phase
}

fn names() -> PhaseResult {
    let task = Task::Metadata(MetadataTask {
        name: "create".into(),
        operation: MetadataOperation::Create,
        workers: 4,
        stop: Stop { operations: Some(4000), ..Stop::default() },
        ..MetadataTask::default()
    });
    synthetic::phase(3, task, &[(OpKind::Create, 16_000.0, 60_000.0, 0, 0)])
}

fn whole() -> Run {
    let mut phases: Vec<_> = together().into();
    phases.extend([verified(), names()]);
    let mut whole = of_phases(phases);
    whole.warnings = vec![Warning::Volatile { device: "zram0".into() }];
    whole.ending = Some(Ending::Interrupted);
    whole
}

/// What stands below the machine.
fn body(report: &Run, style: Style) -> String {
    let text = text(report, style);
    assert!(!text.contains('\x1b'));
    text.split_once("\n\n").map_or(String::new(), |(_, body)| body.to_owned())
}

#[test]
fn a_whole_run() {
    let text = body(&whole(), UNICODE);
    assert!(text.lines().all(|line| line.chars().count() <= 110), "{text}");
    insta::assert_snapshot!(text, @r"
    1. reads of the index (together with 2) [db]
       does     reads of 8 KiB, at random, on data (1 GiB, existing)
       by       io_uring, direct
       load     1 thread, 32 outstanding, 30,000 per second with random arrivals
       time     for 250 ms
                  operations    IOPS      ±  MiB/s    mean      p50     p90     p99    p99.9  p99.99      max
       reads           5,000  20,000  7.1 %    156  296 µs   286 µs  396 µs  420 µs  1.67 ms       -  3.59 ms
         service                                            95.5 µs  132 µs  140 µs   556 µs       -
       timeline ██████████ 19,440 to 20,480 IOPS, 25.0 ms per mark
       rate     NOT REACHED: 30,000 IOPS requested, 20,000 achieved; 2,500 operations were due but not yet issued
                at the end: the storage does not reach this rate with 32 outstanding
       cache    device: what was requested reached the device (of all phases that ran together)

    2. the tables (together with 1) [db]
       does     70 % reads and 30 % writes of 8 KiB, at random, on data (1 GiB, existing)
       by       io_uring, direct
       load     1 thread, 8 outstanding, each as soon as an earlier one completes
       time     for 250 ms, after a ramp of 50.0 ms, which is not measured
               operations    IOPS      ±  MiB/s     mean      p50     p90     p99  p99.9  p99.99      max
       reads        3,500  14,000  7.1 %    109   148 µs   143 µs  198 µs  210 µs      -       -  1.68 ms
       writes       1,500   6,000  7.5 %   46.9  88.4 µs  86.0 µs  119 µs  126 µs      -       -   944 µs
       timeline ██████████ 19,480 to 20,520 IOPS, 25.0 ms per mark
       errors   write failed 3 times (device): Input/output error (os error 5); at byte 8192, 1048576...
       cache    device: what was requested reached the device (of all phases that ran together)

    3. the log
       does     writes of 8 KiB, sequential, on log (1 MiB, created for the run, growing)
       by       io_uring, direct, fdatasync after each write, verified by crc32c (completely after the phase)
       load     1 thread, 1 outstanding, each as soon as an earlier one completes
       time     for 250 ms
                        operations   IOPS      ±     mean      p50      p90      p99  p99.9  p99.99      max
       commits                 500  2,000  2.1 %   314 µs   305 µs   421 µs   448 µs      -       -  1.78 ms
       fdatasync alone         500  2,000  2.1 %   294 µs   286 µs   395 µs   420 µs      -       -  1.67 ms
       writes                  500  2,000  2.1 %  19.6 µs  19.1 µs  26.3 µs  28.0 µs      -       -   111 µs
       timeline ██████████ 1,920 to 2,080 IOPS, 25.0 ms per mark
       hung     2 operations never completed; the oldest was abandoned after 5.00 s: the device hangs
       stuck    write at byte 8192 of worker 0, in flight for 5.00 s
       stuck    write at byte 8192 of worker 0, in flight for 5.00 s
       stuck    write at byte 8192 of worker 0, in flight for 5.00 s
       stuck    write at byte 8192 of worker 0, in flight for 5.00 s
       stuck    write at byte 8192 of worker 0, in flight for 5.00 s
       stuck    write at byte 8192 of worker 0, in flight for 5.00 s
       stuck    write at byte 8192 of worker 0, in flight for 5.00 s
       stuck    write at byte 8192 of worker 0, in flight for 5.00 s
                and 2 more
       ended    interrupted
       verified WRONG: 1 of 500 units differ from the data written; 1 misplaced; 1 could not be read; 7 could not
                be compared (not written, or being written); verification is incomplete: interrupted
                at byte 4096: holds what belongs at byte 8192

    4. create
       does     creates files in order, 1,000 per thread, 100 per directory, in tree
       load     4 threads
       time     until 4,000 operations
                operations  per second      ±  MiB/s     mean      p50      p90      p99   p99.9  p99.99     max
       creates       4,000      16,000  7.1 %      -  59.1 µs  57.3 µs  79.1 µs  84.0 µs  334 µs       -  696 µs
       timeline ██████████ 15,560 to 16,360 per second, 25.0 ms per mark

    group db: 2 phases together (1, 2)
                  operations    IOPS      ±  MiB/s     mean      p50     p90     p99    p99.9  p99.99      max
       reads           8,500  34,000  7.1 %    266   235 µs   203 µs  378 µs  420 µs  1.62 ms       -  3.59 ms
         service                                              111 µs  180 µs  210 µs   834 µs       -
       writes          1,500   6,000  7.5 %   46.9  88.4 µs  86.0 µs  119 µs  126 µs        -       -   944 µs

    ±: 95 % interval of the rate, within this run (levels: the rate before and after it changed); times: response,
    from the intended start (service: from the issue); -: too few operations; timeline: the rate over the measured
    time

    warnings
      1. zram0 keeps its data in memory and loses it at the next restart: measure the storage that the database
         will use

    INTERRUPTED: this contains the results measured so far
    ");
}

#[test]
fn a_narrow_terminal_without_unicode_gets_what_fits() {
    let report = of_phases(together().into());
    let text = body(&report, Style { unicode: false, width: 60, ..UNICODE });
    assert!(text.is_ascii());
    assert!(text.lines().all(|line| line.chars().count() <= 70), "{text}");
    insta::assert_snapshot!(text, @r"
    1. reads of the index (together with 2) [db]
       does     reads of 8 KiB, at random, on data (1 GiB,
                existing)
       by       io_uring, direct
       load     1 thread, 32 outstanding, 30,000 per second with
                random arrivals
       time     for 250 ms
                    IOPS    mean     p99    p99.9      max
       reads      20,000  296 us  420 us  1.67 ms  3.59 ms
         service                  140 us   556 us
       timeline @@@@@@@@@@ 19,440 to 20,480 IOPS, 25.0 ms per mark
       rate     NOT REACHED: 30,000 IOPS requested, 20,000
                achieved; 2,500 operations were due but not yet
                issued at the end: the storage does not reach
                this rate with 32 outstanding
       cache    device: what was requested reached the device
                (of all phases that ran together)

    2. the tables (together with 1) [db]
       does     70 % reads and 30 % writes of 8 KiB, at random,
                on data (1 GiB, existing)
       by       io_uring, direct
       load     1 thread, 8 outstanding, each as soon as an
                earlier one completes
       time     for 250 ms, after a ramp of 50.0 ms, which is
                not measured
                 IOPS    +/-     mean     p99  p99.9      max
       reads   14,000  7.1 %   148 us  210 us      -  1.68 ms
       writes   6,000  7.5 %  88.4 us  126 us      -   944 us
       timeline @@@@@@@@@@ 19,480 to 20,520 IOPS, 25.0 ms per mark
       errors   write failed 3 times (device): Input/output
                error (os error 5); at byte 8192, 1048576...
       cache    device: what was requested reached the device
                (of all phases that ran together)

    group db: 2 phases together (1, 2)
                    IOPS     mean     p99    p99.9      max
       reads      34,000   235 us  420 us  1.62 ms  3.59 ms
         service                   210 us   834 us
       writes      6,000  88.4 us  126 us        -   944 us

    +/-: 95 % interval of the rate, within this run (levels: the
    rate before and after it changed); times: response, from the
    intended start (service: from the issue); -: too few
    operations; timeline: the rate over the measured time
    ");
}

#[test]
fn a_job_without_phases_is_no_more_than_its_storage() {
    let text = text(&of_phases(Vec::new()), UNICODE);
    assert!(text.starts_with("iolite 0.1.0: nightly on /srv/data\n") && !text.contains("\n\n"), "{text}");
}

#[test]
fn colour_adds_nothing_but_colour() {
    let colored = text(&whole(), Style { color: true, ..UNICODE });
    let mut plain = colored.clone();
    for code in ["\x1b[1m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[0m"] {
        plain = plain.replace(code, "");
    }
    assert_eq!(plain, text(&whole(), UNICODE));
    assert!(colored.contains('\x1b'));
}

#[test]
fn groups_are_of_those_that_ran_together() {
    let [open, mixed] = together();
    let mut later = mixed.clone();
    (later.info.index, later.info.started) = (2, Nanos(9_000_000_000));
    let phases = [open, mixed, later];
    let groups = groups(&phases);
    assert_eq!(groups.len(), 1);
    assert_eq!((groups[0].name.as_str(), groups[0].phases.as_slice()), ("db", [0, 1].as_slice()));
    let reads = groups[0].merged.totals.operations(OpKind::Read);
    assert_eq!(reads, phases[0].totals.operations(OpKind::Read) + phases[1].totals.operations(OpKind::Read));
}

#[test]
fn a_verification_is_reported_alone_too() {
    let Task::File(task) = verified().info.task else { panic!() };
    let found = Verified { units: 1234, ..Verified::default() };
    let rendered = |found| {
        let state = StateVerified { task: task.clone(), found };
        verified_text(&of_phases(Vec::new()), &state, UNICODE)
    };
    insta::assert_snapshot!(rendered(found.clone()), @"
    target    log (1 MiB, created for the run, growing)
    verified  all 1,234 units match the data written
    ");
    insta::assert_snapshot!(rendered(verified().end.verified.unwrap()), @"
    target    log (1 MiB, created for the run, growing)
    verified  WRONG: 1 of 500 units differ from the data written; 1 misplaced; 1 could not be read; 7 could not be
              compared (not written, or being written); verification is incomplete: interrupted
              at byte 4096: holds what belongs at byte 8192
    ");
    let document = verified_json(&of_phases(Vec::new()), &StateVerified { task, found });
    assert_eq!(document["format"], "iolite-verified/1");
    assert_eq!((&document["verified"]["units"], &document["task"]["kind"]), (&1234.into(), &"file".into()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_name_reaches_the_terminal_unescaped(
        name in any::<String>(), error in any::<String>(), unicode in any::<bool>(), width in 0usize..200,
    ) {
        let mut report = of_phases(Vec::new());
        report.conclusions = vec![Concluded::of(&RunRequest::new("run", name.as_str()))];
        let task = adapted(synthetic::read(&name, 8192, 1), |task| {
            task.group = Some(name.clone());
            task.target = iolite_model::Target::Existing(iolite_model::ExistingTarget {
                path: name.clone().into(), offset: Bytes(0), size: Bytes(0), overwrite: Default::default(),
            });
        });
        let loads = [(OpKind::Read, 40.0, 1e5, 8192, 1)];
        report.phases = vec![synthetic::phase(0, task.clone(), &loads), synthetic::phase(1, task, &loads)];
        report.phases[1].info.started = report.phases[0].info.started;
        let end = &mut report.phases[0].end;
        end.ending = Ending::Failed(error.clone());
        end.errors = vec![ErrorTally {
            kind: OpKind::Read, class: ErrorClass::Other, count: 1, first_offsets: vec![], first: error.clone(), number: None,
        }];
        let finding = Finding { offset: 0, damage: None, what: error.clone() };
        end.verified = Some(Verified { wrong: 1, first: vec![finding], ..Verified::default() });
        report.ending = Some(Ending::Failed(error));
        let text = text(&report, Style { color: false, unicode, width });
        prop_assert!(text.chars().all(|c| c == '\n' || !is_unsafe(c)), "{text:?}");
        prop_assert!(unicode || text.is_ascii(), "{text:?}");
    }
}
