//! The suites people know: `iolite classic`.

// Helpers of tests may give up as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod common;

use std::io::Write;
use std::process::{Command, Output, Stdio};

use common::*;

fn suite(place: &Place, arguments: &[&str]) -> Output {
    let mut command = Command::new(IOLITE);
    command.args(arguments).arg("--results").arg(place.results()).arg("--quiet");
    command.env("NO_COLOR", "1").env("COLUMNS", "120").stdin(Stdio::null());
    command.output().unwrap()
}

#[test]
fn the_three_tests_run_to_their_end_and_are_shown_again_as_they_were_printed() {
    let place = Place::new();
    let data = place.data();
    let small = ["--size", "8MiB", "--files", "200", "--processes", "2", "--concurrency", "2"];
    let output = suite(&place, &[&["classic", "all", data.to_str().unwrap()], &small[..]].concat());
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(matches!(output.status.code(), Some(0 | 3 | 4)), "{text}{}", stderr(&output));
    for part in
        ["dd, blocks of 8 KiB", "rewrite", "random delete", "Parent sees throughput for  2 stride readers"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(text.contains("\"  Initial write \"") && text.contains("VERDICT: "), "{text}");
    // Everything that was made is gone.
    assert_eq!(entries(&data), Vec::<String>::new());
    let run: String = place.ask("SELECT id FROM run");
    let again = suite_results(&place, &["show", &run]);
    assert_eq!(String::from_utf8(again.stdout).unwrap(), text);
    csv_is_accepted(&text);
}

fn suite_results(place: &Place, arguments: &[&str]) -> Output {
    let mut command = Command::new(IOLITE);
    command.arg("results").args(arguments).arg("--results").arg(place.results());
    command.env("NO_COLOR", "1").env("COLUMNS", "120").stdin(Stdio::null());
    command.output().unwrap()
}

/// Bonnie++'s own converter reads the line, and finds each figure where it belongs.
fn csv_is_accepted(text: &str) {
    let line = text.lines().find(|line| line.starts_with("1.98,")).unwrap();
    assert_eq!(line.split(',').count(), 50, "{line}");
    let converter = Command::new("bon_csv2html").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let Ok(mut converter) = converter else {
        let _: Option<()> = skip("no bon_csv2html: install bonnie++");
        return;
    };
    let mut input = converter.stdin.take().unwrap();
    writeln!(input, "{line}").unwrap();
    drop(input);
    let output = converter.wait_with_output().unwrap();
    let html = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", stderr(&output));
    let fields: Vec<&str> = line.split(',').collect();
    // Rates too short to mean anything are shown as such; latencies always are what they are.
    for field in [fields[2], fields[5], fields[39], fields[49]] {
        assert!(html.contains(field), "{field}: {html}");
    }
}

#[test]
fn sizes_beyond_the_space_are_refused_before_anything_is_written() {
    let place = Place::new();
    let data = place.data();
    let output = suite(&place, &["classic", "dd", data.to_str().unwrap(), "--size", "900TiB"]);
    assert_eq!(output.status.code(), Some(2));
    let error = stderr(&output);
    assert!(error.contains("free: give a smaller --size"), "{error}");
    assert_eq!(entries(&data), Vec::<String>::new());
    let output = suite(&place, &["classic", "iozone", data.to_str().unwrap(), "--size", "8KiB"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("give at least"), "{}", stderr(&output));
}
