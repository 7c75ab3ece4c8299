use iolite_model::{
    Access, AccessLine, AccessSpec, Bytes, Concluded, IometerPoint, IometerTerms, Mix, OpKind, Task, Usage,
};
use iolite_results::RunRequest;

use super::*;
use crate::synthetic;

fn point(name: &str, lines: Vec<AccessLine>) -> IometerPoint {
    IometerPoint { spec: AccessSpec { name: name.into(), lines }, workers: 2, depth: 4 }
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
        let name = terms.points[number - 1].task_name(number, line);
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
    let from = text.find("     access specification").unwrap();
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
    let from = text.find("A: /raid5").unwrap();
    insta::assert_snapshot!(&text[from..]);
    assert_eq!(json(&second, &terms(true))["comparison"]["directory"], "/raid5");
}

#[test]
fn the_file_for_spreadsheets_has_a_value_for_each_column_that_disks_have() {
    let text = csv(&run(false)).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[..6],
        [
            "'Test Type,Test Description",
            "0,two specifications  one idle",
            "'Version",
            "1.1.0",
            "'Results",
            lines[5]
        ]
    );
    let columns: Vec<&str> = lines[5].split(',').collect();
    assert_eq!(columns[0], "'Target Type");
    // Two points ran, each with a row for all targets and one for the disk.
    let rows: Vec<Vec<&str>> = lines[6..10].iter().map(|line| line.split(',').collect()).collect();
    assert_eq!(lines[10], "'End results");
    let value = |row: usize, name: &str| {
        assert_eq!(rows[row].len(), columns.len());
        rows[row][columns.iter().position(|column| *column == name).unwrap()]
    };
    assert_eq!((value(0, "'Target Type"), value(0, "Target Name")), ("ALL", "All"));
    assert_eq!(
        (value(1, "'Target Type"), value(1, "Access Specification Name")),
        ("DISK", "2 KiB random 67/33")
    );
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
    assert_eq!((value(2, "% CPU Utilization"), value(2, "% User Time")), ("50.000000", "10.000000"));
    let first = columns.iter().position(|column| *column == "0 to 50 uS").unwrap();
    let counted: u64 = rows[2][first..].iter().map(|count| count.parse::<u64>().unwrap()).sum();
    assert_eq!(counted, 10_000, "every operation is in a class of response times");
    assert_eq!(value(0, "Transactions per Second"), "");
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
