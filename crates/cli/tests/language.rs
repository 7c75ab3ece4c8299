//! Holds help texts and documents to plain technical English: phrases that users stumbled over do not come back.

// Helpers of tests may give up as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is not written, and what is written instead.
const BANNED: [(&str, &str); 21] = [
    ("is told", "is reported, printed, recorded"),
    ("are told", "are reported, printed, recorded"),
    ("given away", "allowed to be overwritten"),
    ("gives away", "allows to be overwritten"),
    ("no use", "until throughput stops growing"),
    ("of no account", "ignored"),
    ("manyth", "sequence number; every Nth"),
    ("before whom", "scheduling priority"),
    ("whose part of the span", "region of each worker"),
    ("be fio", "run fio job files and command lines"),
    ("underway", "in flight"),
    ("under way", "in progress"),
    ("taken back", "reaped"),
    ("takes back", "reaps"),
    ("away with", "remove"),
    ("so many jobs", "number of jobs"),
    ("quiet hour", "idle host"),
    ("busy hour", "loaded host"),
    ("for people:", "human-readable"),
    ("how manyth", "write sequence number"),
    ("lying on its side", "horizontal"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The places of banned phrases in a text; blanks and line ends are alike.
fn found(name: &str, text: &str) -> Vec<String> {
    let plain = text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    let mut places = Vec::new();
    for (phrase, instead) in BANNED {
        for (at, _) in plain.match_indices(phrase) {
            let around: String =
                plain[..at].chars().rev().take(40).collect::<Vec<_>>().into_iter().rev().collect();
            places.push(format!("{name}: ...{around}[{phrase}]: write `{instead}`"));
        }
    }
    places
}

#[test]
fn documents_are_in_plain_technical_english() {
    let mut places = Vec::new();
    let mut pages = vec![root().join("README.md"), root().join("ARCHITECTURE.md")];
    pages.extend(fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path()));
    let pages: Vec<_> =
        pages.into_iter().filter(|page| page.extension().is_some_and(|ext| ext == "md")).collect();
    assert!(pages.len() > 5, "{pages:?}");
    for page in pages {
        places
            .extend(found(&page.file_name().unwrap().to_string_lossy(), &fs::read_to_string(&page).unwrap()));
    }
    assert!(places.is_empty(), "{}", places.join("\n"));
}

#[test]
fn fio_s_help_is_in_plain_technical_english() {
    let mut places = Vec::new();
    for arguments in [&["fio", "--help"][..], &["fio", "--cmdhelp=all"], &["fio", "--enghelp"]] {
        let output = Command::new(env!("CARGO_BIN_EXE_iolite")).args(arguments).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.len() > 100, "{arguments:?}: {text}");
        places.extend(found(&arguments.join(" "), &text));
    }
    assert!(places.is_empty(), "{}", places.join("\n"));
}

#[test]
fn the_check_finds_phrases_across_lines() {
    assert_eq!(found("page", "What was measured\nis  told.").len(), 1);
    assert_eq!(found("page", "What was measured is reported.").len(), 0);
}
