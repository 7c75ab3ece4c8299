//! docs/errors.md: the table of causes and remedies, with the test that produces each.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use iolite_model::{ErrorArea, ErrorCause};

/// How tests say that they have produced a cause: a call that checks that its remedy is named.
const PRODUCED: [&str; 2] = ["produced(", "is_remedied("];

/// The tests of each cause, by the cause's name in the sources.
pub(crate) fn tests_of_causes() -> BTreeMap<String, Vec<String>> {
    let mut tests = BTreeMap::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), &mut |text| tests_in(text, &mut tests));
    tests
}

fn sources(directory: &Path, each: &mut impl FnMut(&str)) {
    let mut entries: Vec<_> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            sources(&path, each);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            each(&fs::read_to_string(path).unwrap());
        }
    }
}

/// Notes under each cause the function in which it is produced.
fn tests_in(text: &str, tests: &mut BTreeMap<String, Vec<String>>) {
    let mut function = "";
    let mut rest = text;
    while let Some(next) = rest.find(|c: char| c.is_ascii_alphabetic()) {
        rest = &rest[next..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        if word == "fn" {
            let name = after.trim_start();
            function = &name[..name.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(0)];
        }
        if PRODUCED.iter().any(|call| call.strip_suffix('(') == Some(word))
            && let Some(cause) =
                after.strip_prefix('(').and_then(|inside| inside.trim_start().strip_prefix("ErrorCause::"))
        {
            let end = cause.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(cause.len());
            let found = tests.entry(cause[..end].to_owned()).or_default();
            if !found.iter().any(|name| name == function) {
                found.push(function.to_owned());
            }
        }
        rest = after;
    }
}

/// The page.
pub(crate) fn page() -> String {
    let mut page = String::from(
        "# Errors: causes and remedies\n\nGenerated from `iolite_model::ErrorCause` and from the tests (`UPDATE_DOCS=1 cargo test --test \
         docs`).\n\nErrors of the system, of databases and of certificates carry one of these causes, and end with its remedy. Errors \
         of the request itself (an invalid option, a combination that there is not) name the option and what to use instead; \
         they are not listed.\n",
    );
    let tests = tests_of_causes();
    for area in ErrorArea::ALL {
        write!(page, "\n## {}\n\n| cause | remedy | produced in |\n|---|---|---|\n", area.title()).unwrap();
        for cause in ErrorCause::ALL.iter().filter(|cause| cause.area() == *area) {
            let tests = tests.get(&format!("{cause:?}")).map(Vec::as_slice).unwrap_or_default();
            let tests: Vec<_> = tests.iter().map(|test| format!("`{test}`")).collect();
            let remedy = cause.remedy().replace('|', "\\|");
            writeln!(page, "| {} | {remedy} | {} |", cause.meaning(), tests.join(", ")).unwrap();
        }
    }
    page
}
