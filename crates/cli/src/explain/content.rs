//! What a text is: a result, or a job.

use anyhow::{Context, bail};
use serde_json::{Deserializer, Value};

/// What a text is.
#[derive(Debug, PartialEq)]
pub(super) enum Content {
    /// A result.
    Result {
        /// The last document.
        document: Value,
        /// Lines before the first one: fio's messages.
        skipped: Vec<String>,
        /// Number of them.
        documents: usize,
    },
    /// No JSON: a job, if anything.
    Job,
}

/// Identifies what a text is.
///
/// # Errors
/// It is JSON that is damaged, or a result in a form that is not explained: says what to give.
pub(super) fn of(text: &str) -> anyhow::Result<Content> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim().is_empty() {
        bail!("empty input: specify a result in JSON (fio --output-format=json), or a job");
    }
    let whole = text.trim_start();
    if whole.starts_with('{') || serde_json::from_str::<Value>(whole).is_ok() {
        return result(text, text.len() - whole.len(), Vec::new());
    }
    // Messages, or the same result in another form, may stand before the document, which begins a line of its own.
    let start = lines(text).find(|(_, line)| line.trim_end() == "{").map(|(start, _)| start);
    match (other_form(&text[..start.unwrap_or(text.len())]), start) {
        (Some(form), None) => {
            bail!(
                "this is a fio result in {form} format, which cannot be explained: run fio with --output-format=json"
            )
        }
        (None, None) => Ok(Content::Job),
        (Some(_), Some(start)) => result(text, start, Vec::new()),
        (None, Some(start)) => {
            let before = text[..start].lines().filter(|line| !line.trim().is_empty());
            result(text, start, before.map(str::to_owned).collect())
        }
    }
}

/// The lines of a text with where they begin.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split_inclusive('\n').scan(0, |end, line| {
        let start = *end;
        *end += line.len();
        Some((start, line))
    })
}

/// The result that begins at this byte.
fn result(text: &str, start: usize, skipped: Vec<String>) -> anyhow::Result<Content> {
    let (mut last, mut documents) = (None, 0);
    for document in Deserializer::from_str(&text[start..]).into_iter::<Value>() {
        match document {
            Ok(document) => (last, documents) = (Some(document), documents + 1),
            // What stands behind a whole document are messages again, or one that was cut off.
            Err(_) if last.is_some() => break,
            Err(error) => {
                let line = error.line() + text[..start].matches('\n').count();
                let cause = if error.is_eof() { "; the file is truncated" } else { "" };
                bail!("invalid JSON: {error} (line {line} of the file){cause}");
            }
        }
    }
    let document = last.context("no document found")?;
    Ok(match document {
        // A list of results, as `results export` writes it: like several documents.
        Value::Array(mut results) if results.iter().all(is_result) && !results.is_empty() => {
            let documents = results.len();
            Content::Result { document: results.pop().unwrap_or_default(), skipped, documents }
        }
        document => Content::Result { document, skipped, documents },
    })
}

fn is_result(document: &Value) -> bool {
    document.get("format").is_some_and(Value::is_string) || document.get("fio version").is_some()
}

/// What form of fio's output it is, other than JSON.
fn other_form(text: &str) -> Option<&'static str> {
    let terse = |line: &str| {
        let mut fields = line.split(';');
        fields.next().is_some_and(|version| matches!(version, "2" | "3" | "4" | "5"))
            && fields.next().is_some_and(|program| program.starts_with("fio-"))
    };
    if text.lines().any(terse) {
        return Some("terse");
    }
    text.lines().any(|line| line.starts_with("Run status group ")).then_some("normal")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> (Value, usize, usize) {
        match of(text) {
            Ok(Content::Result { document, skipped, documents }) => (document, skipped.len(), documents),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_result_is_found_behind_messages() {
        let document = serde_json::json!({ "a": 1 });
        assert_eq!(found("{\"a\": 1}"), (document.clone(), 0, 1));
        assert_eq!(found("\u{feff}\n {\"a\": 1}\n"), (document.clone(), 0, 1));
        assert_eq!(found("fio: a warning {x}\n\nnote\n{\n\"a\": 1\n}\nfio: bye\n"), (document.clone(), 2, 1));
        assert_eq!(found("{\n\"a\": 1\n}\n{\n\"a\": 2\n}\n").0["a"], 2);
        assert_eq!(found("[1, 2]").0[1], 2);
        let exported =
            found("[{\"format\": \"iolite-run/1\", \"n\": 1}, {\"format\": \"iolite-run/1\", \"n\": 2}]");
        assert_eq!((&exported.0["n"], exported.2), (&serde_json::json!(2), 2));
        // Of several forms in one file.
        let normal = "a: (g=0)\nStarting 1 process\n{\n\"a\": 1\n}\n\nRun status group 0 (all jobs):\n";
        assert_eq!(found(normal), (document.clone(), 2, 1));
        assert_eq!(found("3;fio-3.33;a;0;0;1\n{\n\"a\": 1\n}\n"), (document, 0, 1));
    }

    #[test]
    fn jobs_are_no_json() {
        for text in ["[global]\nrw=read\n[a]\n", "[[tasks]]\n[tasks.io]\nmix = 'read'\n", "; comment\n"] {
            assert_eq!(of(text).unwrap(), Content::Job, "{text}");
        }
    }

    #[test]
    fn what_is_damaged_or_of_another_form_is_reported() {
        for (text, part) in [
            ("", "empty"),
            (" \n", "empty"),
            ("{\n\"a\": ", "truncated"),
            ("{\n\"a\": }", "line 2"),
            ("note\n{\n\"a\": }", "line 3 of the file"),
            ("\nnote\n\n{\n\"a\": }", "line 5 of the file"),
            ("3;fio-3.33;a;0;0;1", "terse"),
            ("a: (g=0)\n\nRun status group 0 (all jobs):\n", "normal"),
        ] {
            let error = of(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text:?}: {error}");
        }
    }
}
