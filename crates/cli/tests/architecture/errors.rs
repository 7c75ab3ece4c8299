//! Errors are types of the crate that they come from.

use super::sources;

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
