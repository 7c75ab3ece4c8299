//! `iolite iometer`.

use std::process::Command;

use super::common::*;
use super::{suite, suite_results};

/// A manager with a worker that has one of the standard specifications.
const MANAGER: &str = "'Manager ID, manager name\n\t1,HOST\n'Worker\n\tWorker 1\n'Worker type\n\tDISK\n\
                       'Assigned access specs\n\tFile Server\n'End assigned access specs\n'End worker\n'End manager\n";

#[test]
fn seven_patterns_are_run_and_their_best_compared_with_their_worst() {
    let place = TestDirectory::new();
    let data = place.data();
    let asked =
        ["iometer", "patterns", data.to_str().unwrap(), "--size", "8MiB", "--time", "100ms", "--json"];
    let output = suite(&place, &asked);
    let document = json(&output);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(document["points"].as_array().unwrap().len(), 7);
    assert!(document["ratios"]["operations"].as_f64().unwrap() >= 1.0);
    // Rows for all targets, the manager, the worker and the disk.
    let rows = document["csv"].as_str().unwrap().lines();
    let kinds = ["ALL,", "MANAGER,", "WORKER,", "DISK,"];
    assert_eq!(rows.filter(|line| kinds.iter().any(|kind| line.starts_with(kind))).count(), 4 * 7);
    assert!(document["verdict"].is_null() && document["points"][0]["rate"]["low"].is_number());
    let text = String::from_utf8(suite_results(&place, &["show", "latest"]).stdout).unwrap();
    assert!(text.contains("IO/s: best / worst = "), "{text}");
    assert_eq!(entries(&data), Vec::<String>::new());
}

#[test]
fn two_targets_are_measured_one_after_the_other_and_written_for_spreadsheets() {
    let place = TestDirectory::new();
    let first = place.data();
    let second = place.root.path().join("second");
    std::fs::create_dir(&second).unwrap();
    let csv = place.root.path().join("results.csv");
    let asked = ["iometer", "patterns", first.to_str().unwrap(), second.to_str().unwrap()];
    let short = ["--size", "8MiB", "--time", "100ms", "--csv", csv.to_str().unwrap()];
    let output = suite(&place, &[&asked[..], &short[..]].concat());
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(text.contains("B: IO/s") && text.contains("best / worst: A: "), "{text}");
    assert_eq!(place.ask::<i64>("SELECT count(*) FROM run"), 2);
    let written = std::fs::read_to_string(&csv).unwrap();
    assert_eq!(written.lines().filter(|line| line.starts_with("ALL,All,")).count(), 2 * 7);
    for directory in [&first, &second] {
        let disk = format!("DISK,{},", directory.canonicalize().unwrap().display());
        assert_eq!(written.lines().filter(|line| line.starts_with(&disk)).count(), 7, "{written}");
        assert_eq!(entries(directory), Vec::<String>::new());
    }
    // Results are never overwritten, which is found before anything is measured.
    let output = suite(&place, &[&asked[..], &short[..]].concat());
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("specify a new file"), "{}", stderr(&output));
    assert_eq!(place.ask::<i64>("SELECT count(*) FROM run"), 2);
    let missing = place.root.path().join("no directory/results.csv");
    let output = suite(&place, &[&asked[..], &["--csv", missing.to_str().unwrap()]].concat());
    assert_eq!(output.status.code(), Some(2));
    assert!(!stderr(&output).contains("specify a new file"), "{}", stderr(&output));
}

/// A file system on a device whose logical blocks are as large as those of 4Kn drives.
#[test]
fn patterns_smaller_than_a_logical_block_are_refused_before_anything_is_written() {
    let place = TestDirectory::new();
    let Some(device) = Loop::new(&place, 64 << 20) else { return };
    let large = Command::new("losetup").args(["--sector-size", "4096", &device.0]).status();
    let made = Command::new("mkfs.ext4").args(["-q", "-F", &device.0]).status();
    if !(large.is_ok_and(|status| status.success()) && made.is_ok_and(|status| status.success())) {
        let _: Option<()> = skip("no loop device with blocks of 4 KiB, or no mkfs.ext4");
        return;
    }
    let at = place.root.path().join("mounted");
    let Some(_mount) = Mount::new(&[&device.0], &at) else { return };
    let before = entries(&at);
    let asked = |size| ["iometer", "patterns", at.to_str().unwrap(), "--size", size, "--time", "50ms"];
    let output = suite(&place, &asked("8MiB"));
    assert_eq!(output.status.code(), Some(2));
    let error = stderr(&output);
    assert!(error.contains("operations of 2048 bytes") && error.contains("multiples of 4096"), "{error}");
    assert_eq!(entries(&at), before);
    let spec = ["iometer", "spec", "Database", at.to_str().unwrap(), "--size", "8MiB", "--time", "50ms"];
    let output = suite(&place, &[&spec[..], &["--keep-free", "0"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&suite(&place, &asked("900TiB"))).contains("specify a smaller --size"));
}

#[test]
fn configuration_files_are_run_and_network_workers_refused_by_name() {
    let place = TestDirectory::new();
    let data = place.data();
    let (printed, manager) = (suite_plain(&["iometer", "print"]), MANAGER);
    let file = place.root.path().join("test.icf");
    // What never ends is not read to its end; what has no workers is named.
    let endless = suite(&place, &["iometer", "run", "/dev/zero", data.to_str().unwrap()]);
    assert_eq!(endless.status.code(), Some(2));
    assert!(stderr(&endless).contains("/dev/zero: the file is larger than 16 MiB"), "{}", stderr(&endless));
    std::fs::write(&file, &printed).unwrap();
    let nobody = suite(&place, &["iometer", "run", file.to_str().unwrap(), data.to_str().unwrap()]);
    assert_eq!(nobody.status.code(), Some(2));
    assert!(
        stderr(&nobody).contains("test.icf: no worker has an access specification"),
        "{}",
        stderr(&nobody)
    );
    std::fs::write(&file, format!("{printed}{manager}")).unwrap();
    let asked = ["iometer", "run", file.to_str().unwrap(), data.to_str().unwrap()];
    let asked = [&asked[..], &["--size", "8MiB", "--time", "100ms", "--json"]].concat();
    let document = json(&suite(&place, &asked));
    assert_eq!(document["points"][0]["name"], "File Server");
    assert!(!document["warnings"].to_string().contains("connection rate"), "{}", document["warnings"]);
    // 16 MiB in sectors, where --size does not say otherwise.
    let limited = manager.replace("'Assigned", "'Disk maximum size,starting sector\n\t32768,0\n'Assigned");
    std::fs::write(&file, format!("{printed}{limited}")).unwrap();
    let sized = |asked: &[&str]| json(&suite(&place, asked))["terms"]["size"].as_u64();
    let unsized_ = ["iometer", "run", asked[2], asked[3], "--time", "100ms", "--json"];
    assert_eq!((sized(&unsized_), sized(&asked)), (Some(16 << 20), Some(8 << 20)));
    // A starting sector is one of the test file; what is below it is not used.
    std::fs::write(&file, format!("{printed}{}", limited.replace("32768,0", "32768,2048"))).unwrap();
    let document = json(&suite(&place, &unsized_));
    assert_eq!(document["terms"]["size"].as_u64(), Some(17 << 20));
    let part = &document["phases"][1]["task"]["regions"]["part"];
    assert_eq!((part["start"].as_u64(), part["length"].as_u64()), (Some(1 << 20), Some(16 << 20)), "{part}");
    let far = limited.replace("32768,0", "32768,999999999999");
    std::fs::write(&file, format!("{printed}{far}")).unwrap();
    let output = suite(&place, &asked);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("or lower starting sectors (worker `Worker 1`"), "{}", stderr(&output));
    std::fs::write(&file, format!("{printed}{manager}").replace("\tDISK", "\tNETWORK,TCP")).unwrap();
    let output = suite(&place, &asked);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("`Worker 1` is of type NETWORK,TCP"), "{}", stderr(&output));
}

#[test]
fn each_target_of_a_worker_is_a_file_and_a_connection_rate_is_named() {
    let place = TestDirectory::new();
    let data = place.data();
    let file = place.root.path().join("test.icf");
    let (printed, manager) = (suite_plain(&["iometer", "print"]), MANAGER);
    let asked = ["iometer", "run", file.to_str().unwrap(), data.to_str().unwrap()];
    let asked = [&asked[..], &["--size", "8MiB", "--time", "100ms", "--json"]].concat();
    let two = "'Target\n\tC:\n'End target\n'Target\n\tD:\n'End target\n'End worker";
    let rated = "'Number of outstanding IOs,test connection rate,transactions per connection\n\t2,ENABLED,9\n'Assigned";
    let several = manager.replace("'End worker", two).replace("'Assigned", rated);
    std::fs::write(&file, format!("{printed}{several}")).unwrap();
    let document = json(&suite(&place, &asked));
    assert_eq!((&document["points"][0]["targets"], &document["points"][0]["depth"]), (&2.into(), &2.into()));
    let names: Vec<&str> =
        document["phases"].as_array().unwrap().iter().map(|phase| phase["name"].as_str().unwrap()).collect();
    let expected = ["fill the test file", "fill the test file 2"];
    assert_eq!((&names[..2], names.len()), (&expected[..], 4), "{names:?}");
    let csv = document["csv"].as_str().unwrap();
    assert!(csv.contains("iobw.tst.2,File Server,1,1,1,"), "{csv}");
    let warnings = document["warnings"].to_string();
    assert!(warnings.contains("the test connection rate of worker `Worker 1`"), "{warnings}");
    assert_eq!(entries(&data), Vec::<String>::new());
    let beyond = suite(&place, &["iometer", "run", asked[2], asked[3], "--size", "900TiB"]);
    assert!(stderr(&beyond).contains("the 2 test files of 900 TiB take 1.76 PiB"), "{}", stderr(&beyond));
    // Printed again, it is the same.
    let again = suite_plain(&["iometer", "print", file.to_str().unwrap()]);
    assert!(again.contains("2,ENABLED,9") && again.contains("\tD:\n"), "{again}");
}

/// A manager with two workers: one reads at random from disk C:, the other writes sequentially to C: and D:; in the second test only the
/// first has something to do.
const TWO_WORKERS: &str = "'Manager ID, manager name\n\t1,HOST\n'Worker\n\tReader\n'Worker type\n\tDISK\n\
    'Number of outstanding IOs,test connection rate,transactions per connection\n\t4,DISABLED,1\n'Assigned access specs\n\t4 KiB; 100% Read; \
    100% random\n\tDatabase\n'End assigned access specs\n'Target\n\tC:\n'End target\n'End worker\n'Worker\n\tLog writer\n'Worker type\n\
    \tDISK\n'Disk maximum size,starting sector\n\t16384,0\n'Assigned access specs\n\t64 KiB; 0% Read; 0% random\n'End assigned access \
    specs\n'Target\n\tC:\n'End target\n'Target\n\tD:\n'End target\n'End worker\n'End manager\n";

#[test]
fn workers_that_differ_run_together_and_each_has_its_results() {
    let place = TestDirectory::new();
    let data = place.data();
    let file = place.root.path().join("two.icf");
    std::fs::write(&file, format!("{}{TWO_WORKERS}", suite_plain(&["iometer", "print"]))).unwrap();
    let asked = ["iometer", "run", file.to_str().unwrap(), data.to_str().unwrap(), "--time", "300ms"];
    let document = json(&suite(&place, &[&asked[..], &["--json"]].concat()));
    let points = document["points"].as_array().unwrap();
    let name = |value: &serde_json::Value| value["name"].as_str().unwrap().to_owned();
    let both = "4 KiB; 100% Read; 100% random + 64 KiB; 0% Read; 0% random";
    assert_eq!(points.iter().map(name).collect::<Vec<_>>(), [both, "Database"]);
    let workers = points[0]["by_worker"].as_array().unwrap();
    let facts =
        |it: &serde_json::Value| (it["worker"].to_string(), it["targets"].as_u64(), it["depth"].as_u64());
    assert_eq!(
        workers.iter().map(facts).collect::<Vec<_>>(),
        [("\"Reader\"".to_owned(), Some(1), Some(4)), ("\"Log writer\"".to_owned(), Some(2), Some(1))]
    );
    let of = |it: &serde_json::Value, key: &str| it[key].as_f64().unwrap();
    assert_eq!(
        (of(&workers[0], "write_operations_per_second"), of(&workers[1], "read_operations_per_second")),
        (0.0, 0.0)
    );
    for key in ["operations_per_second", "bytes_per_second"] {
        let sum = of(&workers[0], key) + of(&workers[1], key);
        assert!((of(&points[0], key) / sum - 1.0).abs() < 0.05, "{key}: {} {sum}", of(&points[0], key));
        assert!(of(&workers[0], key) > 0.0 && of(&workers[1], key) > 0.0, "{points:?}");
    }
    // They ran at the same time: their phases, of which there are three, began together.
    let phases = document["phases"].as_array().unwrap();
    let together = |from: usize, count| {
        let started = &phases[from]["started_ns"];
        phases[from..from + count].iter().all(|phase| phase["started_ns"] == *started && !started.is_null())
    };
    assert_eq!((phases.len(), together(2, 3)), (2 + 3 + 1, true), "{phases:?}");
    let csv = document["csv"].as_str().unwrap();
    for row in [
        "WORKER,Reader,4 KiB; 100% Read; 100% random,1,1,1,",
        "WORKER,Log writer,64 KiB; 0% Read; 0% random,1,1,2,",
    ] {
        assert!(csv.contains(row), "{csv}");
    }
    let text = String::from_utf8(suite_results(&place, &["show", "latest"]).stdout).unwrap();
    assert!(text.contains("2 workers") && text.contains("       Reader: 4 KiB; 100% Read"), "{text}");
    assert_eq!(entries(&data), Vec::<String>::new());
}

#[test]
fn the_patterns_as_a_file_are_the_test_that_the_command_runs() {
    let place = TestDirectory::new();
    let data = place.data();
    let file = place.root.path().join("patterns.icf");
    std::fs::write(&file, suite_plain(&["iometer", "print", "--patterns"])).unwrap();
    let points = |asked: &[&str]| {
        let short = ["--size", "8MiB", "--time", "50ms", "--json"];
        let document = json(&suite(&place, &[asked, &short].concat()));
        let name = |point: &serde_json::Value| (point["name"].to_string(), point["depth"].as_u64());
        document["points"].as_array().unwrap().iter().map(name).collect::<Vec<_>>()
    };
    let (file, data) = (file.to_str().unwrap(), data.to_str().unwrap());
    let read = points(&["iometer", "run", file, data]);
    assert_eq!((read.len(), read), (7, points(&["iometer", "patterns", data])));
}

fn suite_plain(arguments: &[&str]) -> String {
    String::from_utf8(Command::new(IOLITE).args(arguments).output().unwrap().stdout).unwrap()
}

/// A collection of access specifications without workers, in the form of those that are passed on.
const COLLECTION: &str = "Version 2008.06.18 \r\n'ACCESS SPECIFICATIONS ====\r\n'Access specification name,default assignment\r\n\t\
                          Log (of a database),NONE\r\n'size,% of size,% reads,% random,delay,burst,align,reply\r\n\t65536,100,0,0,0,1,0,0\r\n\
                          'END access specifications\r\nVersion 2008.06.18 \r\n";

#[test]
fn a_specification_of_a_file_is_run_by_its_name() {
    let place = TestDirectory::new();
    let data = place.data();
    let file = place.root.path().join("collection.icf");
    let path = file.to_str().unwrap();
    let spec = |name: &str| {
        let asked = ["iometer", "spec", name, data.to_str().unwrap(), "--from", path];
        suite(&place, &[&asked[..], &["--size", "8MiB", "--time", "50ms", "--json"]].concat())
    };
    // As Windows writes it, in each encoding.
    let utf16 = |unit: fn(u16) -> [u8; 2]| -> Vec<u8> {
        "\u{feff}".encode_utf16().chain(COLLECTION.encode_utf16()).flat_map(unit).collect()
    };
    for content in [COLLECTION.as_bytes().to_vec(), utf16(u16::to_le_bytes), utf16(u16::to_be_bytes)] {
        std::fs::write(&file, content).unwrap();
        let document = json(&spec("log (of a database)"));
        assert_eq!(document["points"][0]["name"], "Log (of a database)");
        assert_eq!(document["terms"]["points"][0]["spec"]["lines"][0]["size"], 65_536);
    }
    let other = spec("Database");
    assert_eq!(other.status.code(), Some(2));
    assert!(
        stderr(&other).contains("`Database` does not exist; the file has `Log (of a database)`"),
        "{}",
        stderr(&other)
    );
    let nobody = suite(&place, &["iometer", "run", path, data.to_str().unwrap()]);
    assert!(stderr(&nobody).contains("spec NAME DIR --from FILE.icf"), "{}", stderr(&nobody));
    assert_eq!(entries(&data), Vec::<String>::new());
}
