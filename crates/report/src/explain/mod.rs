//! What `iolite explain` prints: results and jobs in plain words.

mod caveat;
mod fio;
mod fio_caveats;
mod iolite;
mod iolite_caveats;
pub mod job;
mod others;
mod tree;

use std::fmt::Display;

use serde_json::Value;

use crate::styler::{Emphasis, Style, Styler};

/// A result of fio's or iolite's, to be explained.
#[derive(Debug, Clone, Copy)]
pub struct ResultToExplain<'a> {
    /// The document.
    pub document: &'a Value,
    /// Every key rather than those that matter.
    pub all: bool,
}

/// What is known of a document that is not a result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "this JSON is not a known result ({found}): specify the output of `fio --output-format=json` or `iolite ... --json`"
)]
pub struct NoResult {
    found: String,
}

/// Walks through a result.
///
/// # Errors
/// It is none, nor the rows of an answer in SQL.
pub fn result(result: ResultToExplain<'_>, style: Style) -> Result<String, NoResult> {
    let styler = Styler(style);
    let document = result.document;
    if document.get("fio version").is_some() && document.get("jobs").is_some_and(Value::is_array) {
        return Ok(fio::explain(document, result.all, styler));
    }
    if let Value::Array(rows) = document
        && rows.iter().all(Value::is_object)
    {
        return Ok(others::explain_rows(rows, result.all, styler));
    }
    match document.get("format").and_then(Value::as_str) {
        Some(format) if iolite::knows(format) => Ok(iolite::explain(document, result.all, styler)),
        Some(format) if let Some(what) = others::what(format) => {
            Ok(others::explain(document, what, result.all, styler))
        }
        Some(format) => Err(NoResult { found: format!("format `{}`", styler.clean(format)) }),
        None => Err(NoResult { found: shape(document, styler) }),
    }
}

/// What a document is, for whoever wonders.
fn shape(document: &Value, styler: Styler) -> String {
    match document {
        Value::Object(fields) if fields.is_empty() => "an empty object".to_owned(),
        Value::Object(fields) => {
            let keys: Vec<_> = fields.keys().take(4).map(|key| format!("`{}`", styler.clean(key))).collect();
            format!("an object with {}", keys.join(", "))
        }
        Value::Array(_) => "a list".to_owned(),
        _ => "a single value".to_owned(),
    }
}

/// Caveats, each with a mark; empty without any.
fn caveats(caveats: impl IntoIterator<Item = impl Display>, styler: Styler) -> String {
    let mut out = String::new();
    for caveat in caveats {
        let label = format!("  {} ", styler.paint(Emphasis::Caution, "!"));
        out += &styler.item(&label, 4, caveat);
    }
    out
}

/// What the marks mean.
fn legend(all: bool, styler: Styler) -> String {
    let more = if all { "" } else { "; --all explains every key" };
    styler.item("", 0, format_args!("!: a caveat; *: what matters{more}"))
}

#[cfg(test)]
mod tests;
