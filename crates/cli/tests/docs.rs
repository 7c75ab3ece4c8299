//! The reference page of the command line is what the program itself says.

// Helpers of tests may give up as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

/// docs/cli.md, made from the help texts.
fn page() -> String {
    let mut page = String::from(
        "# Command line\n\nMade from the program's own help texts (`UPDATE_DOCS=1 cargo test --test docs`).\n",
    );
    for command in [&[][..], &["check"], &["profiles"]] {
        let output = Command::new(env!("CARGO_BIN_EXE_iolite")).args(command).arg("--help").output().unwrap();
        let help = String::from_utf8(output.stdout).unwrap();
        let lines: Vec<_> = help.lines().map(str::trim_end).collect();
        let title = ["iolite"].iter().chain(command).copied().collect::<Vec<_>>().join(" ");
        write!(page, "\n## {title}\n\n```text\n{}\n```\n", lines.join("\n").trim_end()).unwrap();
    }
    page
}

#[test]
fn the_reference_page_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, page()).unwrap();
    }
    let told = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(told, page(), "docs/cli.md is out of date: UPDATE_DOCS=1 cargo test --test docs");
}
