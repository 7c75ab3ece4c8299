use iolite_model::{Bytes, Cache, Concluded, FileTask, Iops, LatencyTarget, Nanos, OpKind, Quantile};
use iolite_stats::PhaseResult;
use proptest::prelude::*;

use super::*;
use crate::styler::is_unsafe;
use crate::synthetic;

const UNICODE: Style = Style { color: false, unicode: true, width: 110 };

fn task() -> FileTask {
    match synthetic::read("random read 8 KiB", 8192, 64) {
        Task::File(task) => task,
        other => panic!("{other:?}"),
    }
}

fn each(phase: u32, load: Load, purpose: TryPurpose, outcome: TryOutcome, us: u64) -> Try {
    let rate = Iops(f64::from(phase + 1) * 5000.0);
    let quantile = Some(Nanos(us * 1000));
    let window = Nanos(10_000_000_000);
    Try { phase, window, load, purpose, outcome, quantile, operations: 123_456, rate, backlog: 0 }
}

/// What was measured in a try: the second from memory.
fn phase(each: &Try) -> PhaseResult {
    let task = synthetic::read("random read 8 KiB", 8192, 64);
    let reads = (OpKind::Read, each.rate.0, 1e5, 8192, 0);
    let mut result = synthetic::phase(each.phase, task, &[reads]);
    let device = if each.phase == 1 { 0 } else { 8192 };
    let (requested_read, device_read) = (Bytes(8192), Some(Bytes(device)));
    result.end.cache = Cache { requested_read, device_read, ..result.end.cache };
    result
}

/// A search that is changed in tests.
#[derive(Clone)]
struct Search {
    run: Run,
    terms: LatencyTerms,
    tries: Vec<Try>,
    answer: Option<LatencyAnswer>,
}

impl Search {
    /// The run, with the conclusions of the search.
    fn run(&self) -> Run {
        let mut run = self.run.clone();
        run.conclusions = self.tries.iter().map(Concluded::of).collect();
        run.conclusions.extend(self.answer.iter().map(Concluded::of));
        run
    }

    fn json(&self) -> Value {
        json(&self.run(), &self.terms)
    }
}

fn search(parameter: LoadParameter, tries: Vec<Try>, answer: LatencyAnswer) -> Search {
    let target = LatencyTarget {
        bound: Nanos(1_000_000),
        quantile: Quantile(0.999),
        window: Nanos(10_000_000_000),
        ramp: Nanos(1_000_000_000),
        parameter,
    };
    Search {
        run: synthetic::of_phases(tries.iter().map(phase).collect()),
        terms: LatencyTerms { task: task(), target },
        tries,
        answer: Some(answer),
    }
}

fn depths() -> Search {
    use TryOutcome::{Broken, Kept};
    use TryPurpose::{Confirmation, Search};
    let depth = Load::Depth;
    let tries = vec![
        each(0, depth(1), Search, Kept, 120),
        each(1, depth(2), Search, Kept, 480),
        each(2, depth(4), Search, Broken, 1650),
        each(3, depth(3), Search, Kept, 910),
        each(4, depth(3), Confirmation, Kept, 940),
    ];
    let answer =
        LatencyAnswer::Found { load: depth(3), limited: false, low: Some(depth(2)), high: Some(depth(4)) };
    search(LoadParameter::Depth { max: 256 }, tries, answer)
}

fn rates() -> Search {
    use TryOutcome::{Behind, Kept, Sounded};
    let rate = |rate| Load::Rate(Iops(rate));
    let mut tries = vec![
        each(0, Load::Depth(1), TryPurpose::Sounding, Sounded, 120),
        each(1, rate(625.0), TryPurpose::Search, Kept, 480),
        each(2, rate(1250.0), TryPurpose::Search, Behind, 1650),
    ];
    (tries[2].quantile, tries[2].backlog) = (None, 4321);
    let parameter = LoadParameter::Rate { max: None, precision: 0.05 };
    search(parameter, tries, LatencyAnswer::NoneKept { lowest: rate(1112.0) })
}

/// What stands below the machine.
fn body(search: &Search, style: Style) -> String {
    let text = text(&search.run(), &search.terms, style);
    text.split_once("\n\n").map_or(String::new(), |(_, body)| body.to_owned())
}

#[test]
fn the_tries_and_the_answer() {
    insta::assert_snapshot!(body(&depths(), UNICODE), @r"
    target   p99.9 of at most 1.00 ms: the most operations outstanding, up to 256
    task     random read 8 KiB: reads of 8 KiB, at random, on data (1 GiB, existing)
    by       io_uring, direct
    windows  of 10.0 s after a ramp of 1.00 s

      outstanding    IOPS      ±    p99.9  operations         for               cache
                1   5,000  4.0 %   120 µs     123,456  the search      ✓ kept  device
                2  10,000  7.1 %   480 µs     123,456  the search      ✓ kept  cached
                4  15,000  7.3 %  1.65 ms     123,456  the search  ✗ too slow  device
                3  20,000  7.1 %   910 µs     123,456  the search      ✓ kept  device
                3  25,000  7.0 %   940 µs     123,456   certainty      ✓ kept  device
    ±: 95 % interval of the rate, within this run; cache: cache stamp

    ANSWER: p99.9 is within 1.00 ms up to 3 operations outstanding (940 µs in the worse of two windows, at
            25,000 IOPS, 95 % interval within this run: at least 2 outstanding, below 4 outstanding); not with
            more
    ");
    insta::assert_snapshot!(body(&rates(), Style { unicode: false, width: 60, ..UNICODE }), @"
    target   p99.9 of at most 1.00 ms: the most operations per
             second, with 64 outstanding at most
    task     random read 8 KiB: reads of 8 KiB, at random, on
             data (1 GiB, existing)
    by       io_uring, direct
    windows  of 10.0 s after a ramp of 1.00 s

              asked    IOPS   p99.9                   cache
      1 outstanding   5,000  120 us                  device
                625  10,000  480 us          + kept  cached
              1,250  15,000       -  x 4,321 behind  device
    +/-: 95 % interval of the rate, within this run; cache:
    cache stamp

    ANSWER: none: even with 1,112 IOPS, the lowest load that
            windows of this length can judge, p99.9 exceeded
            1.00 ms
    ");
}

#[test]
fn windows_that_had_to_be_longer_are_reported() {
    let mut report = depths();
    report.tries.insert(0, Try { outcome: TryOutcome::TooFew, ..report.tries[0].clone() });
    report.tries[1..].iter_mut().for_each(|each| each.window = Nanos(14_500_000_000));
    let text = body(&report, UNICODE);
    let rendered = text.lines().filter(|line| line.contains("too few")).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(rendered, @r"
    windows  of 10.0 s after a ramp of 1.00 s, up to 14.5 s if p99.9 rested on too few operations
                1   5,000  4.0 %   120 µs     123,456  the search     too few  device
    ");
}

#[test]
fn other_answers_in_a_sentence() {
    let rendered = |answer| {
        let search = Search { answer, ..depths() };
        conclusion(&LatencyReport::of(&search.run(), &search.terms), Styler(UNICODE))
    };
    let limited =
        LatencyAnswer::Found { load: Load::Rate(Iops(5000.0)), limited: true, low: None, high: None };
    let answers = [
        None,
        Some(LatencyAnswer::Failed("the device hangs".into())),
        Some(LatencyAnswer::NoneKept { lowest: Load::Depth(1) }),
        Some(limited),
    ];
    insta::assert_snapshot!(answers.map(rendered).concat(), @r"
    ANSWER: none: the search was not completed
    FAILED: the device hangs
    ANSWER: none: even with 1 operation outstanding p99.9 exceeded 1.00 ms
    ANSWER: p99.9 is within 1.00 ms up to 5,000 IOPS; the maximum was reached
    ");
}

#[test]
fn the_document_holds_it_all() {
    let mut report = rates();
    report.run.phases =
        vec![synthetic::phase(0, Task::File(task()), &[(iolite_model::OpKind::Read, 2e4, 1e5, 8192, 0)])];
    let document = report.json();
    assert_eq!(document["format"], JSON_FORMAT);
    insta::assert_snapshot!(format!("{:#}", document["target"]), @r#"
    {
      "bound_ns": 1000000,
      "max": null,
      "parameter": "rate",
      "precision": 0.05,
      "quantile": 0.999,
      "ramp_ns": 1000000000,
      "window_ns": 10000000000
    }
    "#);
    insta::assert_snapshot!(format!("{:#}", document["tries"][2]), @r#"
    {
      "backlog": 4321,
      "iops": 15000.0,
      "operations": 123456,
      "outcome": "behind",
      "phase": 2,
      "purpose": "search",
      "quantile_ns": null,
      "rate_iops": 1250.0,
      "window_ns": 10000000000
    }
    "#);
    assert!(document["answer"].is_null() && document["failure"].is_null());
    assert_eq!(document["phases"][0]["series"].as_array().unwrap().len(), 10);
    let document = depths().json();
    assert_eq!(
        document["answer"],
        json!({ "depth": 3, "rate_iops": null, "limited": false, "low": 2.0, "high": 4.0 })
    );
    let failed = Search { answer: Some(LatencyAnswer::Failed("x".into())), ..depths() };
    assert_eq!(failed.json()["failure"], "x");
}

proptest! {
    #[test]
    fn no_name_reaches_the_terminal_unescaped(
        name in any::<String>(), why in any::<String>(), unicode in any::<bool>(), width in 0usize..200,
    ) {
        let mut report = depths();
        report.terms.task.name = name;
        report.answer = Some(LatencyAnswer::Failed(why));
        let text = text(&report.run(), &report.terms, Style { color: false, unicode, width });
        prop_assert!(text.chars().all(|c| c == '\n' || !is_unsafe(c)), "{text:?}");
        prop_assert!(unicode || text.is_ascii(), "{text:?}");
    }
}
