//! Holds the code to ARCHITECTURE.md: who may use whom, where `unsafe` may be, how long a function may be.

// Helpers of tests may give up as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

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

mod imports {
    //! Which file of a crate uses which, as far as `use` and paths in the text show.

    use std::collections::{BTreeMap, BTreeSet};

    /// A crate's modules, each a file, by their path from the root (which is empty).
    pub(super) struct Crate {
        modules: BTreeMap<Vec<String>, Module>,
    }

    struct Module {
        file: String,
        /// What it imports or exports again under which name.
        uses: BTreeMap<String, Vec<String>>,
        /// Every path in it, from the crate's root.
        paths: BTreeSet<Vec<String>>,
    }

    /// What a path leads to.
    struct Found {
        module: Vec<String>,
        /// The modules through whose `use` it went.
        through: Vec<Vec<String>>,
    }

    impl Crate {
        /// From the files below `src/`, each with its text, without tests.
        pub(super) fn of<'a>(files: impl Iterator<Item = (&'a str, &'a str)>) -> Crate {
            let mut texts = BTreeMap::new();
            for (file, text) in files {
                let mut module: Vec<String> =
                    file.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
                if matches!(module.last().map(String::as_str), Some("lib" | "main" | "mod")) {
                    module.pop();
                }
                texts.insert(module, (file, without_tests(text)));
            }
            let names: BTreeSet<Vec<String>> = texts.keys().cloned().collect();
            let modules = texts.into_iter().map(|(name, (file, text))| {
                let (uses, paths) = read(&text, &name, &names);
                (name, Module { file: file.to_owned(), uses, paths })
            });
            Crate { modules: modules.collect() }
        }

        fn find(&self, path: &[String]) -> Found {
            let mut found = Found { module: Vec::new(), through: Vec::new() };
            let mut path = path.to_vec();
            // No re-export goes through more than a few others.
            for _ in 0..8 {
                found.module.clear();
                let mut rest = path.as_slice();
                while let [next, others @ ..] = rest {
                    let child: Vec<_> = found.module.iter().chain([next]).cloned().collect();
                    if !self.modules.contains_key(&child) {
                        break;
                    }
                    (found.module, rest) = (child, others);
                }
                let used = rest.first().and_then(|name| self.modules.get(&found.module)?.uses.get(name));
                let Some(used) = used.filter(|used| **used != path) else { break };
                found.through.push(found.module.clone());
                path = used.iter().chain(&rest[1..]).cloned().collect();
            }
            found
        }

        /// Files that import a name which a module above them only exports again.
        pub(super) fn upward(&self) -> Vec<String> {
            let mut upward = BTreeSet::new();
            for (name, module) in &self.modules {
                for path in &module.paths {
                    let above =
                        |through: &&Vec<String>| through.len() < name.len() && name.starts_with(through);
                    if let Some(through) = self.find(path).through.iter().find(above) {
                        let by = &self.modules[through].file;
                        upward.insert(format!("{}: crate::{} by way of {by}", module.file, path.join("::")));
                    }
                }
            }
            upward.into_iter().collect()
        }

        /// Sets of files that import each other in a circle; a module and those within it may.
        pub(super) fn circles(&self) -> Vec<Vec<String>> {
            let mut uses: BTreeMap<&Vec<String>, BTreeSet<Vec<String>>> = BTreeMap::new();
            for (name, module) in &self.modules {
                let used = module.paths.iter().map(|path| self.find(path).module);
                let related = |other: &Vec<String>| name.starts_with(other) || other.starts_with(name);
                uses.insert(name, used.filter(|other| !related(other)).collect());
            }
            let reached = |from: &Vec<String>| {
                let mut reached = BTreeSet::new();
                let mut next: Vec<_> = uses[from].iter().collect();
                while let Some(one) = next.pop() {
                    if reached.insert(one.clone()) {
                        next.extend(uses.get(one).into_iter().flatten());
                    }
                }
                reached
            };
            let reached: BTreeMap<_, _> = uses.keys().map(|name| (*name, reached(name))).collect();
            let mut circles = BTreeSet::new();
            for (name, far) in &reached {
                let mutual =
                    far.iter().filter(|other| reached.get(other).is_some_and(|of| of.contains(*name)));
                let circle: Vec<_> = mutual.map(|name| self.modules[name].file.clone()).collect();
                if !circle.is_empty() {
                    circles.insert(circle);
                }
            }
            circles.into_iter().collect()
        }
    }

    /// The code alone: neither comments nor the tests at the end.
    fn without_tests(text: &str) -> String {
        let code = ["mod tests {", "pub(crate) mod tests {"]
            .iter()
            .fold(text, |text, tests| text.split(&format!("#[cfg(test)]\n{tests}")).next().unwrap_or(text));
        code.lines().map(|line| line.split("//").next().unwrap_or(line)).collect::<Vec<_>>().join("\n")
    }

    type Uses = BTreeMap<String, Vec<String>>;

    /// What a file imports, by name, and every path in it that lies in the crate.
    fn read(text: &str, module: &[String], names: &BTreeSet<Vec<String>>) -> (Uses, BTreeSet<Vec<String>>) {
        let (mut uses, mut paths) = (Uses::new(), BTreeSet::new());
        let mut statements = Vec::new();
        for (at, _) in text.match_indices("use ") {
            if text[..at].chars().next_back().is_none_or(|before| !before.is_alphanumeric() && before != '_')
                && let Some(end) = text[at..].find(';')
            {
                statements.push(&text[at + 4..at + end]);
            }
        }
        for statement in statements {
            for (path, name) in expand(statement) {
                if let Some(path) = absolute(path, module, names) {
                    uses.insert(name, path.clone());
                    paths.insert(path);
                }
            }
        }
        // Paths within expressions and types.
        for word in text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')) {
            let path: Vec<String> =
                word.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect();
            if path.len() > 1 && word.contains("::") {
                let imported = uses.get(&path[0]).map(|of| of.iter().chain(&path[1..]).cloned().collect());
                let path = imported.or_else(|| absolute(path, module, names));
                paths.extend(path.filter(|path| !path.is_empty()));
            }
        }
        (uses, paths)
    }

    /// The paths of a `use`, each with the name that it gets.
    fn expand(tree: &str) -> Vec<(Vec<String>, String)> {
        let tree = tree.trim();
        let Some((before, inside)) = tree.split_once('{') else {
            let (path, name) = tree.split_once(" as ").unwrap_or((tree, ""));
            let path: Vec<String> = path.trim().split("::").map(|part| part.trim().to_owned()).collect();
            let name =
                if name.is_empty() { path.last().cloned().unwrap_or_default() } else { name.trim().into() };
            return vec![(path, name)];
        };
        let inside = inside.strip_suffix('}').unwrap_or(inside);
        let before: Vec<String> =
            before.split("::").map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect();
        let (mut all, mut depth, mut start) = (Vec::new(), 0, 0);
        for (at, c) in inside.char_indices().chain([(inside.len(), ',')]) {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    for (path, name) in expand(&inside[start..at]) {
                        let own = path.first().is_some_and(|first| first == "self");
                        let name = if own { before.last().cloned().unwrap_or_default() } else { name };
                        let path = path.into_iter().skip(usize::from(own));
                        all.push((before.iter().cloned().chain(path).collect(), name));
                    }
                    start = at + 1;
                }
                _ => {}
            }
        }
        all.retain(|(_, name)| !name.is_empty());
        all
    }

    /// A path from the crate's root; `None` where it lies outside of the crate.
    fn absolute(path: Vec<String>, module: &[String], names: &BTreeSet<Vec<String>>) -> Option<Vec<String>> {
        let (mut base, mut rest) = (module.to_vec(), path.as_slice());
        match rest.first()?.as_str() {
            "crate" => (base, rest) = (Vec::new(), &rest[1..]),
            "self" => rest = &rest[1..],
            "super" => {
                while rest.first().is_some_and(|part| part == "super") {
                    base.pop();
                    rest = &rest[1..];
                }
            }
            child => {
                base.push(child.to_owned());
                if !names.contains(&base) {
                    return None;
                }
                rest = &rest[1..];
            }
        }
        base.extend(rest.iter().cloned());
        Some(base)
    }
}

/// Files in import circles, and imports by way of a module above, that crates may still have. To become empty.
const STILL: [(&str, usize, usize); 0] = [];

#[test]
fn files_import_each_other_in_one_direction() {
    let sources = sources();
    let mut crates: Vec<&str> = sources.iter().filter_map(|(file, _)| file.split('/').nth(1)).collect();
    crates.dedup();
    crates.sort_unstable();
    crates.dedup();
    let mut wrong = Vec::new();
    for name in crates {
        let folder = format!("crates/{name}/src/");
        let files =
            sources.iter().filter_map(|(file, text)| Some((file.strip_prefix(&folder)?, text.as_str())));
        let is_code = |file: &str| !file.split('/').any(|part| matches!(part, "tests.rs" | "tests" | "bin"));
        let of = imports::Crate::of(files.filter(|(file, _)| is_code(file)));
        let (circles, upward) = (of.circles(), of.upward());
        let still = STILL.iter().find(|(of, ..)| *of == name);
        let (files, arrows) = still.map_or((0, 0), |(_, files, arrows)| (*files, *arrows));
        let in_circles: usize = circles.iter().map(Vec::len).sum();
        if in_circles > files {
            let circles: Vec<_> = circles.iter().map(|circle| circle.join(", ")).collect();
            wrong.push(format!(
                "{name}: {in_circles} files import each other in circles (allowed: {files}):\n  {}",
                circles.join("\n  ")
            ));
        }
        if upward.len() > arrows {
            wrong.push(format!("{name}: {} imports by way of a module above (allowed: {arrows}); name where it is defined:\n  {}", upward.len(), upward.join("\n  ")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_import_check_finds_circles_and_ways_through_the_root() {
    let files = [
        ("lib.rs", "mod a;\nmod b;\nmod c;\npub use b::B;\n"),
        ("a.rs", "use crate::B;\nuse crate::c::C;\n"),
        (
            "b.rs",
            "//! Not `crate::c::D`.\nuse crate::a::{self, A as Other};\n#[cfg(test)]\nmod tests {\n use super::*;\n}",
        ),
        ("c/mod.rs", "mod d;\npub(crate) use d::D;\npub struct C(d::D);\n"),
        ("c/d.rs", "use super::C;\n"),
        ("c/e.rs", "use super::{D, C};\n"),
    ];
    let found = imports::Crate::of(files.into_iter());
    assert_eq!(found.circles(), [["a.rs", "b.rs"]]);
    assert_eq!(found.upward(), ["a.rs: crate::B by way of lib.rs", "c/e.rs: crate::c::D by way of c/mod.rs"]);
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

/// What only those who measure or decide have a use for, and where that is done. cli turns arguments into options, begins a session,
/// has it drive a procedure, and prints the run: it needs none of these words. That it does not depend on the crates `stats`, `workers` and
/// `workload` is held by their absence in its row of ARCHITECTURE.md.
const MEASURING: [(&str, &str); 27] = [
    ("Instant", "time is taken in session and below"),
    ("thread::spawn", "threads are started in session and below"),
    ("thread::Builder", "threads are started in session and below"),
    ("thread::sleep", "session::pause lets time pass"),
    ("Recorder", "operations are recorded by workers"),
    ("run_set", "session runs the steps of a procedure"),
    ("run_file_task", "session runs the steps of a procedure"),
    ("run_db_task", "session runs phases inside databases"),
    ("phase_by", "session runs the steps of a procedure"),
    ("run_metadata_task", "session runs the steps of a procedure"),
    ("inside_database", "session runs the steps of a procedure"),
    (".prepare(", "session prepares the steps of a procedure"),
    ("PhaseInfo", "session announces phases"),
    ("tproc_c::check", "a check is a step of a procedure"),
    ("CacheProbe", "session reads counters around a phase"),
    ("LeafCounters", "session reads counters around a phase"),
    ("DiskProbe", "session counts what the host does while phases run"),
    ("CpuIdle", "session counts what the host does while phases run"),
    ("IoScheduler", "session switches schedulers, and back"),
    ("errno", "fio finds the number of an error"),
    ("EINVAL", "fio finds the number of an error"),
    ("raw_os_error", "fio finds the number of an error"),
    ("Monitor", "session reads counters around a phase"),
    ("WaitSampler", "session samples what sessions wait for"),
    ("of_phase(", "what is concluded of a phase is recorded by who measured it"),
    ("Warning::", "suites and session decide what is warned of"),
    ("Verdict", "suites reach verdicts"),
];

/// A crate's files in cli, without comments and tests, in which a word of those occurs.
fn measuring(file: &str, text: &str) -> Vec<String> {
    let code = text.split("#[cfg(test)]").next().unwrap_or(text);
    let code: Vec<&str> = code.lines().map(|line| line.split("//").next().unwrap_or(line)).collect();
    let is_word = |word: &str, line: &str| {
        line.match_indices(word).any(|(at, _)| {
            let around = [line[..at].chars().next_back(), line[at + word.len()..].chars().next()];
            let joined = |next: Option<char>| next.is_some_and(|next| next.is_alphanumeric() || next == '_');
            !joined(around[0]) && (!word.ends_with(char::is_alphanumeric) || !joined(around[1]))
        })
    };
    let found = |(word, instead): &(&str, &str)| {
        let line = code.iter().position(|line| is_word(word, line))?;
        Some(format!("{file}:{}: {word}: {instead}", line + 1))
    };
    let is_allowed = |word: &str| ALLOWED.contains(&(file, word));
    MEASURING.iter().filter(|(word, _)| !is_allowed(word)).filter_map(found).collect()
}

/// The thread that listens for signals before any session has begun.
const ALLOWED: [(&str, &str); 1] = [("crates/cli/src/signals.rs", "thread::Builder")];

#[test]
fn cli_neither_measures_nor_decides() {
    let sources = sources();
    let of_cli: Vec<_> = sources.iter().filter(|(file, _)| file.starts_with("crates/cli/src/")).collect();
    assert!(of_cli.len() > 30, "found only {} files of cli", of_cli.len());
    let found: Vec<String> = of_cli.iter().flat_map(|(file, text)| measuring(file, text)).collect();
    assert!(found.is_empty(), "move this to its crate:\n{}", found.join("\n"));
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let row = page.lines().find(|line| line.starts_with("| cli |")).unwrap();
    let uses: Vec<&str> = row.split('|').nth(3).unwrap().split_whitespace().collect();
    for measures in ["stats", "workers", "workload"] {
        assert!(!uses.contains(&measures) && !uses.contains(&"all"), "cli must not use {measures}: {row}");
    }
}

/// The methods of a session by which phases are run or anything else is done: of these, cli reaches [`Session::drive`] only.
const DRIVEN: [&str; 4] = ["calibrate", "set", "phase_by", "steps"];

/// Whether a file of cli that records what a run is asked for has the session driven, and what it lacks where not.
fn undriven(file: &str, text: &str) -> Option<String> {
    text.find("RunRequest::new(")?;
    let (driven, ended) = (text.find(".drive("), text.rfind(".end("));
    let done = driven.zip(ended).is_some_and(|(driven, ended)| driven < ended);
    (!done).then(|| format!("{file}: a run begins, and no `Session::drive` follows before its end"))
}

#[test]
fn every_run_is_driven() {
    let sources = sources();
    let of_cli = || sources.iter().filter(|(file, _)| file.starts_with("crates/cli/src/"));
    let wrong: Vec<String> = of_cli().filter_map(|(file, text)| undriven(file, text)).collect();
    assert!(wrong.is_empty(), "make what is done a procedure:\n{}", wrong.join("\n"));
    let begin = of_cli().filter(|(_, text)| text.contains("RunRequest::new(")).count();
    assert!(begin >= 17, "only {begin} files of cli begin runs");
    // What begins a phase is not seen outside of session.
    let session: String = sources
        .iter()
        .filter(|(file, _)| file.starts_with("crates/session/src/"))
        .map(|(_, text)| text.as_str())
        .collect();
    for method in DRIVEN {
        assert!(session.contains(&format!("fn {method}")), "session has no method {method} any more");
        for public in [format!("pub fn {method}("), format!("pub fn {method}<")] {
            assert!(!session.contains(&public), "{public} lets cli pass the driver by");
        }
    }
}

#[test]
fn a_run_that_is_not_driven_is_found() {
    let begins = "session.conclude(Concluded::of(&RunRequest::new(\"x\", \"\")));\n";
    let drives = "session.drive(&mut procedure, &mut Bare)?;\n";
    let ends = "let run = session.end(Ending::Completed);\n";
    assert_eq!(undriven("a.rs", &[begins, drives, ends].concat()), None);
    assert_eq!(undriven("a.rs", &[drives, ends].concat()), None);
    for wrong in [[begins, ends, drives], [begins, "measure(&mut session);\n", ends]] {
        assert!(undriven("a.rs", &wrong.concat()).is_some_and(|found| found.starts_with("a.rs: ")));
    }
}

#[test]
fn the_check_of_cli_finds_what_measures() {
    let text = "use std::time::Instant;\n// Recorder\nlet started = Instant::now();\nsession.warn(Warning::Standby);\n\
                let instantly = InstantX; let MonitorY = 1;\n#[cfg(test)]\nmod tests { use x::Verdict; }\n";
    let found = measuring("a.rs", text);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found[0].starts_with("a.rs:1: Instant") && found[1].starts_with("a.rs:4: Warning::"),
        "{found:?}"
    );
}

/// The error types of the `Result`s in a text that are text themselves.
fn textual_errors(text: &str) -> Vec<String> {
    let code = ["mod ", "pub(crate) mod "]
        .iter()
        .fold(text, |text, tests| text.split(&format!("#[cfg(test)]\n{tests}")).next().unwrap_or(text));
    let mut found = Vec::new();
    for (at, _) in code.match_indices("Result<") {
        let (mut depth, mut last, mut error) = (0, at + "Result<".len(), "");
        for (here, c) in code[at..].char_indices().map(|(here, c)| (at + here, c)) {
            match c {
                '<' | '(' | '[' => depth += 1,
                ',' if depth == 1 => last = here + 1,
                // The end of an arrow ends no list.
                '>' if code[..here].ends_with('-') => {}
                '>' | ')' | ']' => depth -= 1,
                _ => {}
            }
            if depth == 0 && c == '>' {
                error = code[last..here].trim();
                break;
            }
        }
        if last > at + "Result<".len() && matches!(error, "String" | "&str" | "&'static str") {
            found.push(code[at..].chars().take(60).collect());
        }
    }
    found
}

#[test]
fn errors_are_types() {
    let is_code =
        |file: &str| file.contains("/src/") && !file.split('/').any(|part| part.starts_with("tests"));
    let sources = sources();
    let found: Vec<String> = sources
        .iter()
        .filter(|(file, _)| is_code(file))
        .flat_map(|(file, text)| {
            textual_errors(text).into_iter().map(move |found| format!("{file}: {found}"))
        })
        .collect();
    assert!(found.is_empty(), "specify these an error type of the crate's:\n{}", found.join("\n"));
    // Only where errors end, in the commands, may they be of any type.
    let untyped = |(file, text): &&(String, String)| {
        is_code(file) && !file.starts_with("crates/cli/") && names_any_error(text)
    };
    let untyped: Vec<&str> = sources.iter().filter(untyped).map(|(file, _)| file.as_str()).collect();
    assert!(untyped.is_empty(), "specify an error type of the crate's instead of anyhow's in {untyped:?}");
}

/// Whether code names an error that may be of any type.
fn names_any_error(text: &str) -> bool {
    text.lines().map(str::trim_start).any(|line| !line.starts_with("//") && line.contains("anyhow"))
}

#[test]
fn the_check_of_errors_finds_errors_of_any_type() {
    assert!(names_any_error("fn a() {}\n    fn b() -> anyhow::Result<()> {}\n"));
    assert!(names_any_error("use anyhow::bail;\n"));
    assert!(!names_any_error("// anyhow is for the commands\nfn a() {}\n"));
}

#[test]
fn the_check_of_errors_finds_text() {
    let text = "fn a() -> Result<(), String> {}\nfn b() -> Result<String, Own> {}\nfn c() -> Result<Option<fn(u8) -> u8>,\n\
                String> {}\nfn d(_: Result<Vec<(u8, String)>, Own>) -> Result<String> {}\ntype E = \
                Result<Result<u8, &'static str>, Own>;\n#[cfg(test)]\nmod tests { fn f() -> Result<u8, String> {} }\n";
    assert_eq!(textual_errors(text).len(), 3, "{:?}", textual_errors(text));
}
