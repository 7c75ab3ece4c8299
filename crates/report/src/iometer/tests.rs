use iolite_model::{
    Access, AccessLine, AccessSpec, Bytes, Concluded, IometerLoad, IometerPoint, IometerTerms, IometerWorker,
    Mix, OpKind, Task, Usage,
};
use iolite_results::RunRequest;

use super::csv::COLUMNS;
use super::*;
use crate::synthetic;

fn point(name: &str, lines: Vec<AccessLine>) -> IometerPoint {
    IometerPoint {
        spec: AccessSpec { name: name.into(), lines },
        workers: 1,
        targets: 1,
        depth: 8,
        loads: Vec::new(),
    }
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
        workers: vec![IometerWorker {
            manager: 1,
            manager_name: String::new(),
            name: String::new(),
            files: vec![1],
            start: Bytes(0),
            size: Bytes::GIB,
        }],
    }
}

fn task_name(terms: &IometerTerms, number: usize, line: usize, target: u32) -> String {
    terms.task_name(number, &terms.loads(&terms.points[number - 1])[0], line, target)
}

/// A run of these terms, of which the first point was slow and the lines of the third ran together.
fn run(patterns: bool) -> Run {
    let terms = terms(patterns);
    let mut run = Run::new(synthetic::run());
    run.conclusions.push(Concluded::of(&RunRequest::new("iometer", "two specifications")));
    run.conclusions.push(Concluded::of(&terms));
    let task = |number: usize, line: usize, block| -> Task {
        let name = task_name(&terms, number, line, 1);
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
    // Two points ran, each with a row for all, one for the manager, one for its worker and one for the disk.
    let rows: Vec<Vec<&str>> =
        lines[results + 2..results + 10].iter().map(|line| line.split(',').collect()).collect();
    assert_eq!((lines[results + 10], lines.last().copied()), ("'Time Stamp", Some("'End results")));
    // The run begins when its first phase does; a phase of a quarter of a second ends later.
    let [start, end] = [lines[5], lines[results + 11]].map(|text| {
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
        (value(3, "'Target Type"), value(3, "Access Specification Name")),
        ("DISK", "2 KiB random 67/33")
    );
    assert_eq!(["ALL", "MANAGER", "WORKER", "DISK"], [0, 1, 2, 3].map(|row| value(row, "'Target Type")));
    // 167 reads and 82 writes of 2 KiB in a quarter of a second.
    assert_eq!(
        (value(0, "Read I/Os"), value(0, "Write I/Os"), value(0, "IOps")),
        ("167", "82", "996.000000")
    );
    assert_eq!((value(0, "Bytes Read"), value(0, "MiBps (Binary)")), ("342016", "1.945312"));
    assert_eq!((value(0, "MBps (Decimal)"), value(0, "Write Errors")), ("2.039808", "3"));
    assert_eq!(
        (value(0, "Starting Sector"), value(0, "Maximum Size"), value(0, "Queue Depth")),
        ("0", "2097152", "8")
    );
    assert_eq!((value(4, "% CPU Utilization"), value(4, "% User Time")), ("50.000000", "10.000000"));
    let first = columns.iter().position(|column| *column == "0 to 50 uS").unwrap();
    let counted: u64 = rows[4][first..].iter().map(|count| count.parse::<u64>().unwrap()).sum();
    assert_eq!(counted, 10_000, "every operation is in a class of response times");
    assert_eq!(value(0, "Transactions per Second"), "");
}

#[test]
fn each_target_has_a_row_of_its_own_and_all_have_their_sum() {
    let mut terms = terms(false);
    terms.points = vec![IometerPoint { targets: 2, depth: 4, ..terms.points[0].clone() }];
    terms.workers[0].files = vec![1, 2];
    let mut run = Run::new(synthetic::run());
    run.conclusions.push(Concluded::of(&RunRequest::new("iometer", "two targets")));
    run.conclusions.push(Concluded::of(&terms));
    for (target, rate) in [(1, 1000.0), (2, 3000.0)] {
        let name = task_name(&terms, 1, 1, target);
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

/// Two workers of two hosts: the first reads at random with two targets, the second writes.
fn two_workers() -> (IometerTerms, Run) {
    let mut terms = terms(false);
    let worker = |manager, files| IometerWorker {
        manager,
        manager_name: ["ALPHA", "BETA"][manager as usize - 1].into(),
        name: "Worker 1".into(),
        files,
        start: Bytes(0),
        size: Bytes(Bytes::GIB.0 * u64::from(manager)),
    };
    terms.workers = vec![worker(1, vec![1, 2]), worker(2, vec![3])];
    let spec =
        |name: &str, reads| AccessSpec { name: name.into(), lines: vec![AccessLine::of(2048, reads, 100)] };
    let loads = vec![
        IometerLoad { worker: 1, spec: spec("reader", 100), targets: 2, depth: 4 },
        IometerLoad { worker: 2, spec: spec("writer", 0), targets: 1, depth: 1 },
    ];
    let names = AccessSpec { name: "reader + writer".into(), lines: Vec::new() };
    let alike =
        IometerPoint { workers: 2, depth: 4, ..point("reader", vec![AccessLine::of(2048, 100, 100)]) };
    terms.points = vec![IometerPoint { spec: names, loads, targets: 2, ..alike.clone() }, alike];
    let mut run = Run::new(synthetic::run());
    run.conclusions.push(Concluded::of(&RunRequest::new("iometer", "two workers")));
    run.conclusions.push(Concluded::of(&terms));
    for (number, point) in terms.points.iter().enumerate() {
        for load in terms.loads(point) {
            for target in 1..=load.targets {
                let (kind, rate) =
                    if load.worker == 1 { (OpKind::Read, 1000.0) } else { (OpKind::Write, 400.0) };
                let name = terms.task_name(number + 1, &load, 1, target);
                let task = synthetic::file(&name, Mix::Read, Access::Random, 2048, 4);
                let phase = run.phases.len() as u32;
                run.phases.push(synthetic::phase(phase, task, &[(kind, rate, 1e6, 2048, 0)]));
            }
        }
    }
    run.ending = Some(iolite_model::Ending::Completed);
    (terms, run)
}

#[test]
fn workers_have_rows_of_their_own_and_their_sum_is_that_of_the_point() {
    let (terms, run) = two_workers();
    insta::assert_snapshot!(body(&text(&run, &terms, style())));
    let document = json(&run, &terms);
    let rate = |value: &Value| value["operations_per_second"].as_f64().unwrap();
    for (index, depths) in [(0, [4, 1]), (1, [4, 4])] {
        let point = &document["points"][index];
        let workers = point["by_worker"].as_array().unwrap();
        assert_eq!(workers.iter().map(|it| it["depth"].as_u64().unwrap()).collect::<Vec<_>>(), depths);
        let sum: f64 = workers.iter().map(rate).sum();
        assert!((rate(point) - sum).abs() < 1e-6 && rate(point) > 1300.0, "{point}");
    }
    assert_eq!(document["points"][0]["by_worker"][1]["worker"], "BETA, Worker 1");
    // More than fit a screen are in the files only.
    let mut many = terms.clone();
    many.points = vec![terms.points[1].clone(); 50];
    let mut run = run.clone();
    for phase in run.phases.split_off(3) {
        for number in 1..=50 {
            let name = phase.info.task.name().replacen("iometer 2", &format!("iometer {number}"), 1);
            let task = synthetic::file(&name, Mix::Read, Access::Random, 2048, 4);
            let index = run.phases.len() as u32;
            run.phases.push(synthetic::phase(index, task, &[(OpKind::Read, 1000.0, 1e6, 2048, 0)]));
        }
    }
    let text = text(&run, &many, style());
    assert!(text.contains("the 100 results of single workers are in the results file"), "{text}");
}

#[test]
fn the_file_for_spreadsheets_has_each_manager_with_its_workers_and_their_disks() {
    let (_, run) = two_workers();
    let text = csv(&run).unwrap();
    let kinds = ["ALL,", "MANAGER,", "WORKER,", "DISK,"];
    let rows: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| kinds.iter().any(|kind| line.starts_with(kind)))
        .map(|line| line.split(',').collect())
        .collect();
    // Kind, name, specification, managers, workers, disks.
    let facts: Vec<String> = rows.iter().map(|row| row[..6].join(",")).collect();
    let expected = [
        "ALL,All,reader + writer,2,2,3",
        "MANAGER,ALPHA,reader,1,1,2",
        "WORKER,Worker 1,reader,1,1,2",
        "DISK,/srv/data/iobw.tst,reader,1,1,1",
        "DISK,/srv/data/iobw.tst.2,reader,1,1,1",
        "MANAGER,BETA,writer,1,1,1",
        "WORKER,Worker 1,writer,1,1,1",
        "DISK,/srv/data/iobw.tst.3,writer,1,1,1",
    ];
    assert_eq!(facts[..8], expected);
    let value = |row: usize, name: &str| {
        let column = COLUMNS.iter().position(|column| *column == name).unwrap();
        rows[row][column].parse::<f64>().ok()
    };
    for column in ["IOps", "Read I/Os", "Bytes Written"] {
        let [all, alpha, beta] = [0, 1, 5].map(|row| value(row, column).unwrap());
        assert!((all - alpha - beta).abs() < 1e-5, "{column}: {all} {alpha} {beta}");
    }
    // Workers that differ have no common queue depth and size.
    assert_eq!([0, 1, 5].map(|row| value(row, "Queue Depth")), [None, Some(4.0), Some(1.0)]);
    assert_eq!([0, 1, 5].map(|row| value(row, "Maximum Size")), [None, Some(2_097_152.0), Some(4_194_304.0)]);
    let specs = text.lines().filter(|line| ["reader,0", "writer,0"].contains(line)).count();
    assert_eq!(specs, 2);
}

#[test]
fn a_point_that_was_interrupted_has_its_time_and_none_without_a_measurement() {
    let mut run = run(false);
    run.phases[0].totals.measured = 100_000_000;
    for phase in &mut run.phases[1..] {
        phase.totals.measured = 0;
    }
    run.ending = Some(iolite_model::Ending::Interrupted);
    let text = text(&run, &terms(false), style());
    assert!(text.contains("1: measured for 100 ms of 250 ms"), "{text}");
    assert!(!text.contains("100% Read"), "{text}");
    assert_eq!(json(&run, &terms(false))["points"].as_array().unwrap().len(), 1);
    assert_eq!(csv(&run).unwrap().lines().filter(|line| line.starts_with("ALL,")).count(), 1);
}
