use iolite_model::{
    Access, AccessLine, AccessSpec, Bytes, Concluded, IometerPoint, IometerTerms, Mix, OpKind, Task, Usage,
};
use iolite_results::RunRequest;

use super::*;
use crate::synthetic;

fn point(name: &str, lines: Vec<AccessLine>) -> IometerPoint {
    IometerPoint { spec: AccessSpec { name: name.into(), lines }, workers: 2, targets: 1, depth: 4 }
}

fn terms(patterns: bool) -> IometerTerms {
    let half = |line| AccessLine { share: 50, ..line };
    IometerTerms {
        test: "two specifications, one idle".into(),
        patterns,
        points: vec![
            point("2 KiB random 67/33", vec![AccessLine::of(2048, 67, 100)]),
            point("Idle", Vec::new()),
            point(
                "4 KiB aligned; 100% Read; 0% random",
                vec![half(AccessLine::of(4096, 100, 0)), half(AccessLine::of(65_536, 0, 0))],
            ),
        ],
        size: Bytes::GIB,
        run_time: Nanos(250_000_000),
        ramp: Nanos(0),
    }
}

/// A run of these terms, of which the first point was slow and the lines of the third ran together.
fn run(patterns: bool) -> Run {
    let terms = terms(patterns);
    let mut run = Run::new(synthetic::run());
    run.conclusions.push(Concluded::of(&RunRequest::new("iometer", "two specifications")));
    run.conclusions.push(Concluded::of(&terms));
    let task = |number: usize, line: usize, block| -> Task {
        let name = terms.points[number - 1].task_name(number, line, 1);
        synthetic::file(&name, Mix::ReadPercent(67), Access::Random, block, 8)
    };
    let small = [(OpKind::Read, 670.0, 2e6, 2048, 0), (OpKind::Write, 330.0, 9e6, 2048, 3)];
    run.phases.push(synthetic::phase(0, task(1, 1, 2048), &small));
    run.phases.push(synthetic::phase(1, task(3, 1, 4096), &[(OpKind::Read, 20_000.0, 90_000.0, 4096, 0)]));
    run.phases.push(synthetic::phase(
        2,
        task(3, 2, 65_536),
        &[(OpKind::Write, 20_000.0, 400_000.0, 65_536, 0)],
    ));
    let usage = Usage { user: Nanos(25_000_000), system: Nanos(100_000_000), ..Usage::default() };
    run.conclusions.push(Concluded { phase: Some(1), ..Concluded::of(&usage) });
    run.ending = Some(iolite_model::Ending::Completed);
    run
}

fn style() -> Style {
    Style { unicode: true, color: false, width: 120 }
}

/// The output without the description of the machine.
fn body(text: &str) -> String {
    let from = text.find("access specification").unwrap();
    text[from..].to_owned()
}

#[test]
fn points_have_a_line_with_interval_p99_and_cache() {
    let run = run(true);
    let text = body(&text(&run, &terms(true), style()));
    insta::assert_snapshot!(text);
}

#[test]
fn two_targets_are_shown_side_by_side() {
    let mut second = run(true);
    let first = comparison(&run(true)).unwrap();
    let slower = first.points.iter().map(|point| iolite_model::IometerComparisonPoint {
        operations_per_second: point.operations_per_second / 27.0,
        bytes_per_second: point.bytes_per_second / 27.0,
        ..*point
    });
    let comparison = IometerComparison { points: slower.collect(), directory: "/raid5".into(), ..first };
    second.conclusions.push(Concluded::of(&comparison));
    let text = text(&second, &terms(true), style());
    // Pattern 1 is random, pattern 3 sequential.
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("pattern 1: 27.00 times as many operations on B as on A"), "{text}");
    assert!(words.contains("B has 27.00 to 27.00 times as many"), "{text}");
    let from = text.find("A: /raid5").unwrap();
    insta::assert_snapshot!(&text[from..]);
    assert_eq!(json(&second, &terms(true))["comparison"]["directory"], "/raid5");
}

#[test]
fn the_file_for_spreadsheets_has_a_value_for_each_column_that_disks_have() {
    let text = csv(&run(false)).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[..5],
        ["'Test Type,Test Description", "0,two specifications  one idle", "'Version", "1.1.0", "'Time Stamp"]
    );
    let specs = [
        "'Access specification name,default assignment",
        "2 KiB random 67/33,0",
        "'size,% of size,% reads,% random,delay,burst,align,reply",
        "2048,100,67,100,0,1,0,0",
    ];
    assert_eq!((lines[6], &lines[7..11]), ("'Access specifications", &specs[..]));
    let mixed = lines.iter().position(|line| *line == "4 KiB aligned; 100% Read; 0% random,0").unwrap();
    assert_eq!(lines[mixed + 2..mixed + 4], ["4096,50,100,0,0,1,0,0", "65536,50,0,0,0,1,0,0"]);
    let results = lines.iter().position(|line| *line == "'Results").unwrap();
    assert_eq!(lines[results - 1], "'End access specifications");
    let columns: Vec<&str> = lines[results + 1].split(',').collect();
    assert_eq!(columns[0], "'Target Type");
    // Two points ran, each with a row for all targets, one for the manager and one for the disk. What each of the two workers has
    // done is not recorded.
    let rows: Vec<Vec<&str>> =
        lines[results + 2..results + 8].iter().map(|line| line.split(',').collect()).collect();
    assert_eq!((lines[results + 8], lines.last().copied()), ("'Time Stamp", Some("'End results")));
    // The run begins when its first phase does; a phase of a quarter of a second ends later.
    let [start, end] = [lines[5], lines[results + 9]].map(|text| {
        let (seconds, millis) = text.rsplit_once(':').unwrap();
        (seconds.parse::<jiff::civil::DateTime>().unwrap(), millis.parse::<u32>().unwrap())
    });
    assert!(end > start, "{start:?} {end:?}");
    let value = |row: usize, name: &str| {
        assert_eq!(rows[row].len(), columns.len());
        rows[row][columns.iter().position(|column| *column == name).unwrap()]
    };
    assert_eq!((value(0, "'Target Type"), value(0, "Target Name")), ("ALL", "All"));
    assert_eq!(
        (value(2, "'Target Type"), value(2, "Access Specification Name")),
        ("DISK", "2 KiB random 67/33")
    );
    assert_eq!(["ALL", "MANAGER", "DISK"], [0, 1, 2].map(|row| value(row, "'Target Type")));
    // 167 reads and 82 writes of 2 KiB in a quarter of a second.
    assert_eq!(
        (value(0, "Read I/Os"), value(0, "Write I/Os"), value(0, "IOps")),
        ("167", "82", "996.000000")
    );
    assert_eq!((value(0, "Bytes Read"), value(0, "MiBps (Binary)")), ("342016", "1.945312"));
    assert_eq!((value(0, "MBps (Decimal)"), value(0, "Write Errors")), ("2.039808", "3"));
    assert_eq!(
        (value(0, "Starting Sector"), value(0, "Maximum Size"), value(0, "Queue Depth")),
        ("0", "2097152", "4")
    );
    assert_eq!((value(3, "% CPU Utilization"), value(3, "% User Time")), ("50.000000", "10.000000"));
    let first = columns.iter().position(|column| *column == "0 to 50 uS").unwrap();
    let counted: u64 = rows[3][first..].iter().map(|count| count.parse::<u64>().unwrap()).sum();
    assert_eq!(counted, 10_000, "every operation is in a class of response times");
    assert_eq!(value(0, "Transactions per Second"), "");
}

#[test]
fn each_target_has_a_row_of_its_own_and_all_have_their_sum() {
    let mut terms = terms(false);
    terms.points = vec![IometerPoint { workers: 1, targets: 2, ..terms.points[0].clone() }];
    let mut run = Run::new(synthetic::run());
    run.conclusions.push(Concluded::of(&RunRequest::new("iometer", "two targets")));
    run.conclusions.push(Concluded::of(&terms));
    for (target, rate) in [(1, 1000.0), (2, 3000.0)] {
        let name = terms.points[0].task_name(1, 1, target);
        let task = synthetic::file(&name, Mix::Read, Access::Random, 2048, 4);
        run.phases.push(synthetic::phase(target - 1, task, &[(OpKind::Read, rate, 1e6, 2048, 0)]));
    }
    run.ending = Some(iolite_model::Ending::Completed);
    let shown = body(&text(&run, &terms, style()));
    assert!(shown.contains("1x2x4") && shown.contains("workers x targets x outstanding"), "{shown}");
    assert_eq!(json(&run, &terms)["points"][0]["targets"], 2);
    let text = csv(&run).unwrap();
    let rows: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| ["ALL,", "MANAGER,", "WORKER,", "DISK,"].iter().any(|kind| line.starts_with(kind)))
        .map(|line| line.split(',').collect())
        .collect();
    let kinds: Vec<&str> = rows.iter().map(|row| row[0]).collect();
    assert_eq!(kinds, ["ALL", "MANAGER", "WORKER", "DISK", "DISK"]);
    assert_eq!((rows[3][1], rows[4][1]), ("/srv/data/iobw.tst", "/srv/data/iobw.tst.2"));
    // # Disks, IOps.
    let rate = |row: usize| rows[row][6].parse::<f64>().unwrap();
    assert_eq!((rows[0][5], rows[3][5]), ("2", "1"));
    assert!((rate(0) - rate(3) - rate(4)).abs() < 1e-6 && rate(4) > 2.9 * rate(3), "{rows:?}");
}

#[test]
fn the_document_says_that_there_is_no_verdict() {
    let document = json(&run(false), &terms(false));
    assert!(document["verdict"].is_null());
    let points = document["points"].as_array().unwrap();
    assert_eq!((points.len(), points[1]["number"].as_u64()), (2, Some(3)));
    assert!(points[0]["p99_response_ns"].is_null(), "249 operations are too few");
    assert!(points[1]["p99_response_ns"].as_u64().unwrap() > 400_000);
    let rate = &points[1]["rate"];
    assert!(
        rate["low"].as_f64() <= rate["value"].as_f64() && rate["value"].as_f64() <= rate["high"].as_f64()
    );
}
