//! What the suites print fits a terminal, and loses nothing in a narrow one.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

use super::common::*;
use super::suite;

/// The stored runs of `place` as shown in a terminal of so many columns; in a pipe without.
fn shown(place: &TestDirectory, arguments: &[&str], columns: Option<usize>) -> String {
    let mut command = Command::new(IOLITE);
    command.arg("results").args(arguments).arg("--results").arg(place.results()).env("NO_COLOR", "1");
    match columns {
        Some(columns) => command.env("COLUMNS", columns.to_string()),
        None => command.env_remove("COLUMNS"),
    };
    String::from_utf8(command.stdin(Stdio::null()).output().unwrap().stdout).unwrap()
}

/// Lines of data for other programs, which are never broken, and words that have no place to be broken.
fn is_data(line: &str) -> bool {
    line.starts_with("1.98,")
        || line.starts_with("\"Throughput report")
        || line.split_whitespace().count() <= 1
}

/// The words of a text: what is printed, wherever it stands.
fn words(text: &str) -> BTreeSet<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn every_suite_fits_a_terminal_of_80_columns_and_has_all_columns_there_and_in_a_pipe() {
    let place = TestDirectory::new();
    let data = place.data();
    let directory = data.to_str().unwrap();
    let file = place.root.path().join("device");
    std::fs::write(&file, vec![7u8; 20 << 20]).unwrap();
    let path = file.to_str().unwrap();
    let pts = ["pts", path, "--allow-overwrite", path, "--scale", "0.0001", "--threads", "1", "--depth", "2"];
    let tests = "iops,latency,host-idle-recovery,demand-intensity";
    let classic = ["classic", "all", directory, "--size", "8MiB", "--files", "100", "--processes", "2"];
    let iometer = ["iometer", "patterns", directory, directory, "--size", "8MiB", "--time", "50ms"];
    let layers = ["layers", directory, "--size", "64MiB", "--window", "200ms", "--rounds", "2"];
    let runs: [(&[&str], &str); 4] = [
        (&[&pts[..], &["--tests", tests, "--max-rounds", "5", "--demand", "1,2,4,8,16"]].concat(), "95/5"),
        (&classic, "sequential create"),
        (&iometer, "B / A"),
        (&layers, "device"),
    ];
    for (asked, part) in runs {
        let output = suite(&place, asked);
        assert!(matches!(output.status.code(), Some(0 | 3 | 4)), "{asked:?}: {}", stderr(&output));
        let of = |columns| shown(&place, &["show", "latest"], columns);
        let piped = of(None);
        assert!(piped.contains(part), "{asked:?}: {piped}");
        for columns in [80, 120] {
            let text = of(Some(columns));
            let wide: Vec<&str> =
                text.lines().filter(|line| line.chars().count() > columns && !is_data(line)).collect();
            assert!(wide.is_empty(), "{asked:?} at {columns}: {wide:#?}");
            // Nothing is left out.
            assert_eq!(words(&text), words(&piped), "{asked:?} at {columns}");
        }
    }
    for columns in [80, 120] {
        let list = shown(&place, &["list"], Some(columns));
        assert!(
            list.lines().all(|line| line.chars().count() <= columns || is_data(line)),
            "{columns}: {list}"
        );
        assert!(list.contains(tests) && list.contains("(rehearsal)"), "{list}");
    }
    assert!(shown(&place, &["list"], None).contains(tests));
}
