//! Holds the code to ARCHITECTURE.md: who may use whom, where `unsafe` may be, how long a function may be.

// Helpers of tests may give up as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

#[path = "architecture/cli.rs"]
mod cli;
#[path = "architecture/errors.rs"]
mod errors;
#[path = "architecture/imports.rs"]
mod imports;

use std::fs;
use std::path::{Path, PathBuf};

/// Longest function, in lines from its `fn` to its closing brace.
const LONGEST_FUNCTION: usize = 70;

/// Longest file, without its tests.
const LONGEST_FILE: usize = 600;

/// Files outside of crates/sys that bind C.
const FFI_FILES: [&str; 1] = ["crates/db/src/sqlite/vfs.rs"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn sources() -> Vec<(String, String)> {
    let mut sources = Vec::new();
    let mut folders = vec![root().join("crates")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
                sources.push((name, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    assert!(sources.len() > 50, "found only {} source files", sources.len());
    sources
}

/// Name and length of each function of formatted code: its closing brace has the indentation of its `fn`.
fn functions(text: &str) -> Vec<(String, usize)> {
    let lines: Vec<_> = text.lines().collect();
    let mut functions = Vec::new();
    for (first, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let words = ["pub ", "pub(crate) ", "pub(super) ", "const ", "unsafe ", "extern \"C\" "];
        let start = words.iter().fold(code, |rest, word| rest.strip_prefix(word).unwrap_or(rest));
        let Some(name) = start.strip_prefix("fn ") else { continue };
        let end = format!("{}}}", &line[..line.len() - code.len()]);
        // A declaration without a body ends with its signature.
        let signature = lines[first..].iter().position(|line| line.ends_with(['{', ';', '}'])).unwrap_or(0);
        let declared = lines[first + signature].ends_with(';');
        let length =
            if declared { Some(signature) } else { lines[first..].iter().position(|line| *line == end) };
        let length = length.map_or(1, |length| length + 1);
        functions.push((name.split(['(', '<']).next().unwrap_or(name).to_owned(), length));
    }
    functions
}

#[test]
fn functions_and_files_fit_a_screen() {
    let mut too_long = Vec::new();
    for (file, text) in sources() {
        // Tests hold tables and snapshots: catalogues, which may be long.
        if file.contains("/tests/") || file.ends_with("/tests.rs") {
            continue;
        }
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(&text);
        let lines = code.lines().count();
        if lines > LONGEST_FILE {
            too_long.push(format!("{file}: {lines} lines"));
        }
        let long = functions(code).into_iter().filter(|(_, length)| *length > LONGEST_FUNCTION);
        too_long.extend(long.map(|(name, length)| format!("{file}: fn {name}, {length} lines")));
    }
    assert!(too_long.is_empty(), "split these by responsibility:\n{}", too_long.join("\n"));
}

#[test]
fn the_length_check_finds_a_long_function() {
    let body = "        x();\n".repeat(80);
    let text = format!(
        "impl X {{\n    pub(crate) unsafe fn long<T>(\n    ) {{\n{body}    }}\n\n    fn short() {{}}\n}}\n"
    );
    assert_eq!(functions(&text), [("long".to_owned(), 83), ("short".to_owned(), 1)]);
}

#[test]
fn unsafe_is_only_where_it_may_be() {
    for (file, text) in sources() {
        let allowed = file.starts_with("crates/sys/")
            || FFI_FILES.contains(&file.as_str())
            || file.ends_with("architecture.rs");
        let uses = text.lines().any(|line| {
            let code = line.split("//").next().unwrap_or(line);
            code.contains("unsafe {") || code.contains("unsafe fn") || code.contains("unsafe impl")
        });
        assert!(allowed || !uses, "{file} uses unsafe");
    }
}

/// The table "crate | is the place for | may use (ours)" of ARCHITECTURE.md against each crate's dependencies.
#[test]
fn crates_use_only_what_the_architecture_allows() {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let rows: Vec<Vec<&str>> = page
        .lines()
        .skip_while(|line| !line.starts_with("| crate "))
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    let mut checked = 0;
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let folder = entry.unwrap().path();
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let row = rows
            .iter()
            .find(|row| row[0] == name)
            .unwrap_or_else(|| panic!("{name} is not in ARCHITECTURE.md"));
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let dependencies = manifest.split("[dev-dependencies]").next().unwrap();
        for line in dependencies.lines() {
            let Some(used) = line.strip_prefix("iolite-").and_then(|rest| rest.split('.').next()) else {
                continue;
            };
            let allowed = row[2] == "all" || row[2].split_whitespace().any(|allowed| allowed == used);
            assert!(allowed, "{name} uses {used}, which ARCHITECTURE.md does not allow");
        }
        checked += 1;
    }
    assert_eq!(checked, rows.iter().filter(|row| row[0] != "crate" && !row[0].starts_with('-')).count());
}

/// What a crate's files share is in files of its own: a root that defined it would be imported from below.
#[test]
fn roots_of_crates_list_modules_and_define_nothing() {
    let mut roots = 0;
    for (file, text) in sources() {
        // Made-up results of tests, in a single file.
        if !file.ends_with("/src/lib.rs") || file.starts_with("crates/synthetic/") {
            continue;
        }
        roots += 1;
        let code = text.split("#[cfg(test)]").next().unwrap_or(&text);
        let defined = code.lines().find(|line| {
            let line = line.strip_prefix("pub(crate) ").or_else(|| line.strip_prefix("pub ")).unwrap_or(line);
            ["struct ", "enum ", "fn ", "trait ", "type ", "impl", "static "]
                .iter()
                .any(|word| line.starts_with(word))
        });
        assert_eq!(defined, None, "{file}: move it to a file of its own");
    }
    assert!(roots > 15, "{roots}");
}
