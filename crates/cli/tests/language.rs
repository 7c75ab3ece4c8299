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

/// Crates whose comments and names of functions are held to plain technical English too.
const CLEANED: [&str; 9] =
    ["model", "stats", "workload", "sys", "workers", "observe", "store", "session", "jobs"];

/// Words that are not written in comments either: of values, events and operations.
const BANNED_WORDS: [(&str, &str); 6] = [
    ("told", "reported, printed, recorded; notified; distinguished"),
    ("tells", "reports, returns, shows, identifies"),
    ("underway", "in flight"),
    ("manyth", "sequence number; every Nth"),
    ("caveats", "warnings"),
    ("busied", "filled"),
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

/// The sources of a crate, its tests included.
fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The comments of a source as one text, and the names of its functions word by word.
fn comments(source: &str) -> String {
    let mut text = String::new();
    for line in source.lines().map(str::trim_start) {
        if let Some(comment) = line.split_once("//").filter(|(before, _)| !before.contains('"')) {
            text += comment.1.trim_start_matches(['/', '!']);
        }
        if let Some((_, after)) = line.split_once("fn ").filter(|(before, _)| !before.contains("//")) {
            let name = after.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
            text += &format!(". {}. ", name.replace('_', " "));
        }
        text.push(' ');
    }
    text
}

/// The banned words of a text, each with what stands before it.
fn words(name: &str, text: &str) -> Vec<String> {
    let words: Vec<_> =
        text.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|word| !word.is_empty()).collect();
    let banned = |word: &str| BANNED_WORDS.iter().find(|(banned, _)| word.eq_ignore_ascii_case(banned));
    let place = |(at, word): (usize, &&str)| {
        let (banned, instead) = banned(word)?;
        Some(format!(
            "{name}: ...{} [{banned}]: write `{instead}`",
            words[at.saturating_sub(6)..at].join(" ")
        ))
    };
    words.iter().enumerate().filter_map(place).collect()
}

#[test]
fn comments_and_names_are_in_plain_technical_english() {
    let mut places = Vec::new();
    for name in CLEANED {
        let mut files = Vec::new();
        sources(&root().join("crates").join(name), &mut files);
        assert!(!files.is_empty(), "{name}");
        for file in files {
            let text = comments(&fs::read_to_string(&file).unwrap());
            let shown = file.strip_prefix(root()).unwrap().display().to_string();
            places.extend(found(&shown, &text));
            places.extend(words(&shown, &text));
        }
    }
    assert!(places.is_empty(), "{}", places.join("\n"));
}

#[test]
fn words_are_found_in_comments_and_names_but_not_in_strings() {
    let source = "/// What is recorded\nfn a_rate_is_told() { print(\"told\"); }\n// it tells\nlet retold = \"// told\";";
    let found = words("page", &comments(source));
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].contains("a rate is [told]") && found[1].contains("it [tells]"), "{found:?}");
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
