//! A rehearsal of SNIA's specification says so wherever its figures are shown.

use super::common::*;
use super::{suite, suite_results};

/// What every output for readers says.
const MARK: &str = "do not conform to the specification";

#[test]
fn a_rehearsal_is_marked_in_every_output() {
    let place = TestDirectory::new();
    let file = place.data().join("data");
    std::fs::write(&file, vec![7u8; 20 << 20]).unwrap();
    let path = file.to_str().unwrap();
    let asked = ["pts", path, "--allow-overwrite", path, "--tests", "write-saturation"];
    let run = |more: &[&str]| suite(&place, &[&asked[..], more].concat());
    let rehearsal = ["--scale", "0.0001"];
    let text = String::from_utf8(run(&rehearsal).stdout).unwrap();
    assert!(
        text.contains("REHEARSAL at scale 0.0001") && text.contains("write-saturation (rehearsal)"),
        "{text}"
    );
    let document = json(&run(&[&rehearsal[..], &["--json"]].concat()));
    assert_eq!(document["rehearsal"].as_bool(), Some(true));
    // Views and other readers of warnings see it too.
    assert!(document["warnings"].to_string().contains("this is a rehearsal at scale 0.0001"), "{document}");
    let results = |arguments: &[&str]| String::from_utf8(suite_results(&place, arguments).stdout).unwrap();
    // Both runs, each in its line.
    let list = results(&["list"]);
    assert_eq!(list.matches("(rehearsal)").count(), 2, "{list}");
    let listed: serde_json::Value = serde_json::from_str(&results(&["list", "--json"])).unwrap();
    assert!(listed["runs"].as_array().unwrap().iter().all(|run| run["rehearsal"] == true), "{listed}");
    assert_eq!(results(&["list", "--result", "completed"]), list);
    let shown = [
        results(&["show", "latest~1"]),
        results(&["compare", "latest~1", "latest"]),
        results(&["compare", "latest~1", "latest", "--json"]),
        results(&["ratio", "latest"]),
        page(&place, &["report", "latest"]),
        page(&place, &["plot", "latest", "--kind", "pts-saturation"]),
        page(&place, &["plot", "latest", "--kind", "timeline"]),
    ];
    for output in shown {
        let words = output.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(MARK), "{output}");
    }
    assert!(page(&place, &["report", "latest"]).contains("(rehearsal)</title>"));
    let ratios: serde_json::Value = serde_json::from_str(&results(&["ratio", "latest", "--json"])).unwrap();
    assert_eq!(ratios["rehearsals"].as_array().unwrap().len(), 1);
    let table = results(&["export", "latest", "--format", "csv"]);
    let mut lines = table.lines();
    assert!(lines.next().unwrap().ends_with(",rehearsal"), "{table}");
    assert!(lines.clone().count() > 0 && lines.all(|line| line.ends_with(",true")), "{table}");
    let exported: serde_json::Value =
        serde_json::from_str(&results(&["export", "latest", "--format", "json"])).unwrap();
    assert!(exported.to_string().contains("\"rehearsal\":true"), "{exported}");
    another_run_is_not_marked(&place);
}

/// A run that is none has no mark in the list, and a false one in the table.
fn another_run_is_not_marked(place: &TestDirectory) {
    let data = place.data();
    let spec = ["iometer", "spec", "Database", data.to_str().unwrap(), "--size", "8MiB", "--time", "50ms"];
    assert_eq!(suite(place, &spec).status.code(), Some(0));
    let results = |arguments: &[&str]| String::from_utf8(suite_results(place, arguments).stdout).unwrap();
    assert!(!results(&["list", "--limit", "1"]).contains("(rehearsal)"));
    let table = results(&["export", "latest", "--format", "csv"]);
    assert!(table.lines().skip(1).all(|line| line.ends_with(",false")), "{table}");
}

/// A file that a command writes.
fn page(place: &TestDirectory, arguments: &[&str]) -> String {
    let file = place.root.path().join("page");
    let written = suite_results_of(place, &[arguments, &["-o", file.to_str().unwrap()]].concat());
    assert!(written.status.success(), "{arguments:?}: {}", stderr(&written));
    std::fs::read_to_string(file).unwrap()
}

fn suite_results_of(place: &TestDirectory, arguments: &[&str]) -> std::process::Output {
    let mut command = std::process::Command::new(IOLITE);
    command.args(arguments).arg("--results").arg(place.results()).env("NO_COLOR", "1");
    command.output().unwrap()
}
