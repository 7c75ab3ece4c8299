//! Holds help texts and documents to plain technical English: phrases that users stumbled over do not come back.

// Helpers of tests may give up as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is not written, and what is written instead.
const BANNED: [(&str, &str); 30] = [
    ("is told", "is reported, printed, recorded"),
    ("are told", "are reported, printed, recorded"),
    ("told apart", "distinguished"),
    ("given away", "allowed to be overwritten"),
    ("gives away", "allows to be overwritten"),
    ("it is no use", "until throughput stops growing"),
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
    ("for people", "human-readable; terminal output"),
    ("lying on its side", "horizontal"),
    ("looks whether", "checks whether"),
    ("look whether", "check whether"),
    ("too few operations to tell", "too few operations"),
    ("file is made", "file is created"),
    ("made anew", "created again; generated for each"),
    ("has made", "has created"),
    ("setup made", "setup created"),
    ("never came back", "never completed"),
    ("come to its end", "complete, end"),
];

/// Words that are not written anywhere: of values, events and operations.
const BANNED_WORDS: [(&str, &str); 9] = [
    ("told", "reported, printed, recorded; notified; distinguished"),
    ("tells", "reports, returns, shows, identifies"),
    ("underway", "in flight"),
    ("flying", "in flight"),
    ("manyth", "sequence number; every Nth"),
    ("busied", "filled"),
    ("doubt", "warning, caveat"),
    ("doubts", "warnings, caveats"),
    ("doubtful", "uncertain"),
];

/// Names that say nothing: of bounds, of events, of null sinks.
const BANNED_NAMES: [(&str, &str); 21] = [
    ("told", "reported, shown; or what it holds"),
    ("tell", "report, send"),
    ("least", "min"),
    ("most", "max"),
    ("flying", "in_flight"),
    ("underway", "in_flight"),
    ("Told", "Rendered"),
    ("Crew", "WorkerGroup"),
    ("Beside", "a noun of the field"),
    ("Besides", "a noun of the field"),
    ("Surroundings", "HostContext"),
    ("Course", "TimeStrip"),
    ("Hands", "a noun of the field"),
    ("Pen", "Styler"),
    ("Ink", "Emphasis"),
    ("Given", "OptionValue"),
    ("Nobody", "NullSink"),
    ("Silence", "NullSink"),
    ("Deaf", "NullSink"),
    ("Doubt", "Warning, Caveat"),
    ("Untold", "Unknown"),
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

/// The files below a directory that end so, tests included.
fn sources(directory: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("target") {
            sources(&path, ending, found);
        } else if path.extension().is_some_and(|extension| extension == ending) {
            found.push(path);
        }
    }
}

/// The parts of a source.
#[derive(Default)]
struct Parts {
    /// Comments, and the names of functions word by word.
    comments: String,
    /// Text literals, one after the other.
    literals: String,
    /// What is left: the code.
    code: String,
}

/// Takes a source apart. Raw literals and characters are recognised by their quotes alone, which is enough for words.
fn parts(source: &str) -> Parts {
    let mut parts = Parts::default();
    let mut rest = source;
    while let Some(at) = rest.find(['"', '/', '\'']) {
        let (code, from) = rest.split_at(at);
        parts.code += code;
        rest = if let Some(comment) = from.strip_prefix("//") {
            let (comment, after) = comment.split_once('\n').unwrap_or((comment, ""));
            parts.comments += comment.trim_start_matches(['/', '!']);
            parts.comments.push(' ');
            after
        } else if let Some(literal) = from.strip_prefix('"') {
            let length = literal_length(literal, code);
            parts.literals += &literal[..length].replace("\\\n", " ");
            parts.literals += " . ";
            literal.get(length + 1..).unwrap_or_default()
        } else if let Some(character) =
            ["'\"'", "'\\\"'", "'\\''", "b'\"'"].iter().find(|c| from.starts_with(**c))
        {
            &from[character.len()..]
        } else {
            parts.code.push(' ');
            &from[1..]
        };
        parts.code.push(' ');
    }
    parts.code += rest;
    for name in parts.code.split("fn ").skip(1) {
        let name = name.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
        parts.comments += &format!(". {}. ", name.replace('_', " "));
    }
    parts
}

/// The length of a text literal, by the code before its quote: raw where that ends with `r` and hashes.
fn literal_length(literal: &str, before: &str) -> usize {
    let hashes = before.len() - before.trim_end_matches('#').len();
    if before.trim_end_matches('#').ends_with('r') {
        return literal.find(&format!("\"{}", "#".repeat(hashes))).unwrap_or(literal.len());
    }
    let mut escaped = false;
    let end = literal.find(|c: char| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    });
    end.unwrap_or(literal.len())
}

/// The banned names in code.
fn names(file: &str, code: &str) -> Vec<String> {
    let words = code.split(|c: char| !c.is_alphanumeric() && c != '_');
    let banned = |word: &str| BANNED_NAMES.iter().find(|(banned, _)| *banned == word);
    words.filter_map(banned).map(|(name, instead)| format!("{file}: {name}: name it `{instead}`")).collect()
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
fn comments_texts_and_names_are_in_plain_technical_english() {
    let mut files = Vec::new();
    sources(&root().join("crates"), "rs", &mut files);
    assert!(files.len() > 500, "{}", files.len());
    sources(&root().join("fuzz"), "rs", &mut files);
    let mut places = Vec::new();
    for file in files.into_iter().filter(|file| !file.ends_with("cli/tests/language.rs")) {
        let parts = parts(&fs::read_to_string(&file).unwrap());
        let shown = file.strip_prefix(root()).unwrap().display().to_string();
        for text in [&parts.comments, &parts.literals] {
            places.extend(found(&shown, text));
            places.extend(words(&shown, text));
        }
        places.extend(names(&shown, &parts.code));
    }
    assert!(places.is_empty(), "{}", places.join("\n"));
}

/// The indentation of a source is no part of a message: the line before ends with a backslash.
#[test]
fn messages_have_no_gaps() {
    let mut files = Vec::new();
    sources(&root().join("crates"), "rs", &mut files);
    files.retain(|file| file.components().any(|part| part.as_os_str() == "src"));
    assert!(files.len() > 300, "{}", files.len());
    let mut places = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let gaps = text.lines().filter(|line| line.contains(",     "));
        places.extend(gaps.map(|line| format!("{}: {}", file.display(), line.trim())));
    }
    assert!(places.is_empty(), "{}", places.join("\n"));
}

/// What is neither Rust nor a document, as a whole: descriptions of crates, routines of databases, scripts.
#[test]
fn manifests_routines_and_scripts_are_in_plain_technical_english() {
    let mut files = vec![root().join("CONTRIBUTING.md"), root().join("Makefile")];
    for ending in ["toml", "m", "sql", "js", "css"] {
        sources(&root().join("crates"), ending, &mut files);
    }
    assert!(files.iter().any(|file| file.ends_with("iolite.m")) && files.len() > 20, "{files:?}");
    files.extend(fs::read_dir(root().join(".ci")).unwrap().map(|entry| entry.unwrap().path()));
    let mut places = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let shown = file.strip_prefix(root()).unwrap().display().to_string();
        places.extend(found(&shown, &text));
        places.extend(words(&shown, &text));
    }
    assert!(places.is_empty(), "{}", places.join("\n"));
}

#[test]
fn words_are_found_in_comments_texts_and_names() {
    let source = "/// What is recorded\nfn a_rate_is_told(most: u32) { print(\"it \\\"told\\\"\", '\"'); }\n// it tells\nr#\"\"doubts\"\"#; Told";
    let parts = parts(source);
    let comments = words("page", &parts.comments);
    assert_eq!(comments.len(), 2, "{comments:?}");
    assert!(comments[0].contains("it [tells]") && comments[1].contains("a rate is [told]"), "{comments:?}");
    assert_eq!(words("page", &parts.literals).len(), 2, "{}", parts.literals);
    assert_eq!(names("page", &parts.code).len(), 2, "{}", parts.code);
}

#[test]
fn documents_are_in_plain_technical_english() {
    let mut places = Vec::new();
    let mut pages: Vec<_> =
        ["README.md", "ARCHITECTURE.md", "CHANGELOG.md"].iter().map(|page| root().join(page)).collect();
    pages.extend(fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path()));
    let pages: Vec<_> =
        pages.into_iter().filter(|page| page.extension().is_some_and(|ext| ext == "md")).collect();
    assert!(pages.len() > 5, "{pages:?}");
    for page in pages {
        let (name, text) = (page.file_name().unwrap().to_string_lossy(), fs::read_to_string(&page).unwrap());
        places.extend(found(&name, &text));
        places.extend(words(&name, &text));
    }
    assert!(places.is_empty(), "{}", places.join("\n"));
}

/// What the program prints on standard output.
fn printed(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_iolite")).args(arguments).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn fio_s_help_is_in_plain_technical_english() {
    let mut places = Vec::new();
    for arguments in [&["fio", "--help"][..], &["fio", "--cmdhelp=all"], &["fio", "--enghelp"]] {
        let text = printed(arguments);
        assert!(text.len() > 100, "{arguments:?}: {text}");
        places.extend(found(&arguments.join(" "), &text));
        places.extend(words(&arguments.join(" "), &text));
    }
    assert!(places.is_empty(), "{}", places.join("\n"));
}

/// The manual pages hold the helps of all commands.
#[test]
fn every_command_s_help_is_in_plain_technical_english() {
    let pages = tempfile::tempdir().unwrap();
    printed(&["man", pages.path().to_str().unwrap()]);
    let mut places = Vec::new();
    let mut count = 0;
    for page in fs::read_dir(pages.path()).unwrap() {
        let page = page.unwrap().path();
        let text = fs::read_to_string(&page).unwrap().replace("\\-", "-");
        places.extend(found(&page.display().to_string(), &text));
        places.extend(words(&page.display().to_string(), &text));
        count += 1;
    }
    assert!(count > 40, "{count} pages");
    assert!(places.is_empty(), "{}", places.join("\n"));
}

#[test]
fn the_check_finds_phrases_across_lines() {
    assert_eq!(found("page", "What was measured\nis  told.").len(), 1);
    assert_eq!(found("page", "What was measured is reported.").len(), 0);
}
