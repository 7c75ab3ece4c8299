//! `iolite layers` with a raw device and with a database server.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod common;

use std::path::Path;
use std::process::{Command, Output, Stdio};

use common::private::PrivateServer;
use common::*;
use serde_json::Value;

/// The shortest comparison.
const SHORT: [&str; 6] = ["--size", "64MiB", "--window", "200ms", "--rounds", "2"];

fn layers(place: &TestDirectory, directory: &Path, more: &[&str]) -> Output {
    let mut command = Command::new(IOLITE);
    command.arg("layers").arg(directory).args(SHORT).args(more).args(["--quiet", "--results"]);
    command.arg(place.results()).env("NO_COLOR", "1").stdin(Stdio::null()).output().unwrap()
}

/// The labels of the rows of each table, with the title.
fn rows(document: &Value) -> Vec<(String, Vec<String>)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let of = |table: &Value| {
        let rows = table["rows"].as_array().unwrap();
        (text(&table["title"]), rows.iter().map(|row| text(&row["label"])).collect())
    };
    document["tables"].as_array().unwrap().iter().map(of).collect()
}

/// The mean response time of a layer in a table.
fn mean(document: &Value, table: usize, label: &str) -> f64 {
    let rows = document["tables"][table]["rows"].as_array().unwrap();
    let row =
        rows.iter().find(|row| row["label"] == label).unwrap_or_else(|| panic!("no {label}: {document}"));
    row["cells"][0]["estimate"]["value"].as_f64().unwrap_or_else(|| panic!("no mean of {label}: {row}"))
}

/// A file system of its own on a loop device.
fn mounted(place: &TestDirectory) -> Option<(Mount, Loop, std::path::PathBuf)> {
    let device = Loop::new(place, 256 << 20)?;
    let made = Command::new("mkfs.ext4").args(["-q", "-F", &device.0]).status();
    if !made.is_ok_and(|status| status.success()) {
        return skip("no mkfs.ext4");
    }
    let at = place.root.path().join("mounted");
    Some((Mount::new(&[&device.0], &at)?, device, at))
}

#[test]
fn the_raw_device_is_read_beside_its_file_system_and_not_written() {
    let place = TestDirectory::new();
    let Some((mount, device, at)) = mounted(&place) else { return };
    std::fs::write(at.join("precious"), "data").unwrap();
    let output = layers(&place, &at, &["--device", &device.0, "--json"]);
    let document = json(&output);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let rows = rows(&document);
    assert_eq!(rows.len(), 4, "{rows:?}");
    for (title, labels) in &rows {
        // Of the device nothing is committed.
        assert_eq!(labels.contains(&device.0), !title.starts_with("commit"), "{title}: {labels:?}");
        for label in ["file, direct I/O", "file, page cache", "SQLite"] {
            assert!(labels.iter().any(|found| found == label), "{title}: no {label} in {labels:?}");
        }
    }
    assert!(mean(&document, 0, &device.0) > 0.0);
    let finding = document["tables"][0]["findings"].to_string();
    assert!(finding.contains("file, direct I/O"), "{finding}");
    // The file system is what it was: nothing of the comparison is left, and the device was read only.
    assert_eq!(std::fs::read_to_string(at.join("precious")).unwrap(), "data");
    assert_eq!(entries(&at), ["lost+found", "precious"]);
    drop(mount);
    let checked = Command::new("fsck.ext4").args(["-f", "-n", &device.0]).output().unwrap();
    assert!(checked.status.success(), "{}{}", String::from_utf8_lossy(&checked.stdout), stderr(&checked));
}

#[test]
fn a_device_that_the_directory_is_not_on_is_refused() {
    let place = TestDirectory::new();
    let data = place.data();
    let refused = |device: &str, part: &str| {
        let output = layers(&place, &data, &["--device", device]);
        assert_eq!(output.status.code(), Some(2), "{device}: {}", stderr(&output));
        assert!(stderr(&output).contains(part), "{device}: {}", stderr(&output));
    };
    refused("/dev/none", "specify the path of the device");
    refused("/dev/null", "specify a device below the directory");
    refused(data.to_str().unwrap(), "specify a device below the directory");
    if let Some(device) = Loop::new(&place, 16 << 20) {
        refused(&device.0, "is not on this device but on");
    }
    assert_eq!(entries(&data), Vec::<String>::new());
    assert!(!place.results().exists(), "nothing was begun");
}

fn ran(server: &PrivateServer, tool: &str, verb: &str, arguments: &[&str]) {
    let mut command = Command::new(IOLITE);
    let done = command.args([tool, verb]).args(arguments).env("IOLITE_DB", &server.url).output().unwrap();
    assert!(done.status.success(), "{tool} {verb}: {}", stderr(&done));
}

#[test]
fn a_server_is_a_layer_once_its_data_is_set_up() {
    let place = TestDirectory::new();
    let Some(server) = PrivateServer::start("postgres") else { return };
    let data = place.data();
    // Nothing to read yet: the remedy is named, and nothing begun.
    let output = layers(&place, &data, &["--db", &server.url]);
    let error = stderr(&output);
    assert!(output.status.code() != Some(0) && error.contains("setup"), "{:?} {error}", output.status);
    assert_eq!(entries(&data), Vec::<String>::new());
    ran(&server, "ranread", "setup", &["--size", "32MiB", "--quiet"]);
    let read_only = json(&layers(&place, &data, &["--db", &server.url, "--json"]));
    let commits = |document: &Value| {
        let rows = rows(document);
        rows.into_iter().find(|(title, _)| title.starts_with("commit")).unwrap().1
    };
    let has = |labels: &[String], name: &str| labels.iter().any(|label| label.starts_with(name));
    assert!(!has(&commits(&read_only), "PostgreSQL"), "it has no global to write to: {:?}", rows(&read_only));
    ran(&server, "ranwrite", "create-globals", &["--globals", "1", "--subscripts", "1000"]);
    let output = layers(&place, &data, &["--db", &server.url, "--json"]);
    let document = json(&output);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for (title, labels) in rows(&document) {
        // The database given is there instead of the SQLite one.
        assert!(has(&labels, "PostgreSQL") && !has(&labels, "SQLite"), "{title}: {labels:?}");
    }
    assert!(has(&commits(&document), "PostgreSQL"));
    assert_eq!(entries(&data), Vec::<String>::new());
}

#[test]
fn an_invalid_database_is_refused_before_anything_is_written() {
    let place = TestDirectory::new();
    let data = place.data();
    for (url, code) in [("nonsense://host/db", 2), ("postgres:///none?host=/nowhere", 1)] {
        let output = layers(&place, &data, &["--db", url]);
        assert_eq!(output.status.code(), Some(code), "{url}: {}", stderr(&output));
        assert!(stderr(&output).len() > 20, "{url}: {}", stderr(&output));
        assert_eq!(entries(&data), Vec::<String>::new(), "{url}");
    }
    for more in [["--size", "1MiB"], ["--window", "1ms"]] {
        let mut command = Command::new(IOLITE);
        let output = command.arg("layers").arg(&data).args(more).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{more:?}");
        assert!(stderr(&output).contains("specify at least"), "{more:?}: {}", stderr(&output));
    }
    assert!(!place.results().exists());
}
