use super::*;
use crate::Run;

fn imported(text: &str) -> Vec<Run> {
    assert!(is_export(text), "{text}");
    runs("old.txt", text).unwrap().iter().map(|run| Run::of(&run.events).unwrap()).collect()
}

#[test]
fn lines_of_perftools_are_runs() {
    let text = "RunDate\tRunTime\tDatabase\tNamespace\tReads\tWrites\tReadsPS\tWritesPS\tStdDevR\tStdDevW\tProcesses\tReadPct\n\
                2016-06-22\t9:05:01\t/db/zranread/\tZRANREAD\t1803600\t0\t6012\t0\t10\t0\t4\t100\n\
                06/23/2016\t10:05:01\t/db/zranread/\tZRANREAD\t0\t30000\t0\t100\t0\t3\t2\t0\n\
                2016-06-24\t10:05:01\t/db/zranread/\tZRANREAD\t20000\t60000\t100\t300\t0\t3\t2\t25\n";
    let runs = imported(text);
    let read = runs[0].phases[0].summary(OpKind::Read).unwrap();
    assert_eq!((read.operations, read.rate.value.round(), runs.len()), (1_803_600, 6012.0, 3));
    // What a published table says of four processes: 0.67 ms.
    assert!((read.mean.value / 1e6 - 0.665).abs() < 0.001, "{}", read.mean.value);
    assert_eq!(runs[0].info.started_unix, Nanos(1_466_586_301 * Nanos::SECOND.0));
    assert_eq!(runs[0].phases[0].info.task.concurrency(), 4);
    assert_eq!(runs[0].phases[0].totals.response(OpKind::Read).unwrap().count(), 0);
    assert_eq!((read.max, read.rate.high), (None, f64::INFINITY));
    let write = runs[1].phases[0].summary(OpKind::Write).unwrap();
    assert_eq!(
        (write.rate.value.round(), runs[1].phases[0].end.measured),
        (100.0, Nanos(300 * Nanos::SECOND.0))
    );
    assert!(write.mean.value.is_nan(), "{write:?}");
    let Task::Database(task) = &runs[2].phases[0].info.task else { panic!("a database's task") };
    assert!(matches!(task.operation, DbOperation::RanIo { read_percent: 25, transaction_length: 50, .. }));
    assert_ne!(runs[0].info.id, runs[1].info.id);
}

#[test]
fn older_exports_have_iterations() {
    let text = "RunDate,RunTime,Database,Iterations,Processes,ResponseTime,IOPS\n\
                2016-06-22,21:05:01,/db/zranread/,10000,10,1.23,8130\n";
    let run = &imported(text)[0];
    let read = run.phases[0].summary(OpKind::Read).unwrap();
    assert_eq!((read.operations, read.rate.value.round()), (100_000, 8130.0));
    assert!((read.mean.value / 1e6 - 1.23).abs() < 0.001, "{}", read.mean.value);
}

#[test]
fn lines_of_one_run_are_its_phases() {
    let text = "RunDate,RunTime,Database,Reads,Writes,ReadsPS,WritesPS,Processes,ReadMeanMs,Seconds,Host,Run,Phase\n\
                2026-11-23,06:00:00,sqlite:/a,1000,,100,,1,2.5,10,db1,20261123T060000-1,0\n\
                2026-11-23,06:00:20,sqlite:/a,2000,,200,,4,5.0,10,db1,20261123T060000-1,1\n";
    let imports = runs("own.csv", text).unwrap();
    let run = Run::of(&imports[0].events).unwrap();
    assert_eq!((imports.len(), run.phases.len(), run.info.version.as_str()), (1, 2, "(exported)"));
    assert_ne!(run.info.id.0, "20261123T060000-1");
    assert_eq!(run.phases[1].info.started, Nanos(20 * Nanos::SECOND.0));
    assert_eq!(imports[0].finished().0, run.info.started_unix.0 + 30 * Nanos::SECOND.0);
    assert!((run.phases[1].summary(OpKind::Read).unwrap().mean.value / 1e6 - 5.0).abs() < 0.001);
}

/// A line of iolite's export with all that it has beyond PerfTools'.
const OWN: &str = "RunDate,RunTime,Reads,Writes,ReadsPS,WritesPS,Processes,Errors,Commits,ReadMeanMs,ReadP99Ms,ReadMaxMs,CommitMaxMs,\
                   Seconds,Stamp,ReadsPSLow,ReadsPSHigh,LogicalReads,DeviceReadBytes,BlockBytes,TimedBy,Ending,Failure,Run,Phase\n";

#[test]
fn the_columns_of_iolites_own_export_are_read() {
    let line = "2026-11-23,06:00:00,1000,,100,,4,77,,2.5,4.0,9.5,,10,partly cached (25 %),88,112,1100,9000000,8192,database,failed,\
                it broke,20261123T060000-1,0\n";
    let imports = runs("own.csv", &format!("{OWN}{line}")).unwrap();
    let run = Run::of(&imports[0].events).unwrap();
    let phase = &run.phases[0];
    let summary = phase.summary(OpKind::Read).unwrap();
    assert_eq!((summary.errors, summary.max), (77, Some(Nanos(9_500_000))));
    assert_eq!(phase.end.ending, Ending::Failed("it broke".into()));
    assert_eq!(run.ending, Some(Ending::Failed("it broke".into())));
    assert_eq!(phase.end.cache.stamp().to_string(), "partly cached (25 %)");
    let Task::Database(task) = &phase.info.task else { panic!("a database's task") };
    assert_eq!(task.timed_by, iolite_model::TimedBy::Database);
    let bounds = imports[0].events.iter().find_map(|event| match event {
        Event::Concluded(concluded) => concluded.read::<iolite_stats::RateBounds>(),
        _ => None,
    });
    assert_eq!(bounds.unwrap().rate(OpKind::Read), Some((88.0, 112.0)));
}

#[test]
fn every_stamp_of_an_export_is_that_of_its_import_or_in_its_note() {
    for stamp in [
        "device",
        "cached",
        "unwritten (50 %)",
        "compressed (99 %)",
        "zeros (75 %)",
        "unknown (other I/O on the device)",
        "unknown (server I/O not counted)",
        "unknown",
    ] {
        let line = format!(
            "2026-11-23,06:00:00,1000,,100,,4,,,2.5,,9,,10,{stamp},,,1000,90000000,8192,,completed,,a,0\n"
        );
        let import = &runs("own.csv", &format!("{OWN}{line}")).unwrap()[0];
        let phase = &Run::of(&import.events).unwrap().phases[0];
        assert_eq!(phase.end.cache.stamp().to_string(), stamp);
        assert!(!import.note.contains("stamp"), "{}", import.note);
    }
    let writes = "2026-11-23,06:00:00,,1000,,100,4,,20,,,,9,10,device,,,,,8192,,completed,,a,0\n";
    let import = &runs("own.csv", &format!("{OWN}{writes}")).unwrap()[0];
    let phase = &Run::of(&import.events).unwrap().phases[0];
    assert_eq!((phase.totals.operations(OpKind::Write), phase.totals.operations(OpKind::Commit)), (1000, 20));
    assert!(import.note.ends_with("its cache stamp was: device"), "{}", import.note);
}

#[test]
fn a_run_without_operations_and_numbers_beyond_all_measure_are_no_panic() {
    let line = "2026-11-23,06:00:00,0,,0,,4,77,,,,,,10,,,,,,8192,,interrupted,,a,0\n";
    let run = Run::of(&runs("own.csv", &format!("{OWN}{line}")).unwrap()[0].events).unwrap();
    assert_eq!((run.phases[0].totals.errors(OpKind::Read), run.ending), (77, Some(Ending::Interrupted)));
    let heading = "RunDate,RunTime,Reads,Writes,ReadsPS,WritesPS,Processes\n";
    let line = format!("{heading}2016-06-22,10:00:00,1e19,1e19,1,1,1\n");
    assert!(runs("old.txt", &line).unwrap_err().to_string().contains("operations with their rate"));
}

#[test]
fn other_tables_and_incomplete_lines_are_named() {
    for other in ["", "a,b,c\n1,2,3\n", "{\"RunDate\": 1}"] {
        assert!(!is_export(other), "{other}");
    }
    let heading = "RunDate,RunTime,Reads,ReadsPS,Processes\n";
    for (line, what) in [
        ("yesterday,10:00:00,1,1,1", "date and time"),
        ("2016-06-22,10:00:00,1,1,0", "Processes"),
        ("2016-06-22,10:00:00,1,0,1", "operations with their rate"),
        ("2016-06-22,10:00:00,-1,x,1", "operations with their rate"),
    ] {
        let error = runs("old.txt", &format!("{heading}{line}\n")).unwrap_err().to_string();
        assert!(error.contains("line 2") && error.contains(what), "{line}: {error}");
    }
    assert!(matches!(runs("old.txt", &format!("{heading}1,2\n")), Err(PerfToolsError::Table { .. })));
}
