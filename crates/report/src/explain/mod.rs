//! What `iolite explain` prints: results and jobs in plain words.

mod fio;
mod fio_doubts;
mod iolite;
mod iolite_doubts;
pub mod job;
mod tree;

use serde_json::Value;

use crate::pen::{Ink, Pen, Style};

/// A result of fio's or iolite's, to be explained.
#[derive(Debug, Clone, Copy)]
pub struct ResultToExplain<'a> {
    /// The document.
    pub document: &'a Value,
    /// Every key rather than those that matter.
    pub all: bool,
}

/// What is known of a document that is no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "it is JSON, but no result that is known here ({found}): give what `fio --output-format=json` or `iolite ... --json` has \
     printed"
)]
pub struct NoResult {
    found: String,
}

/// Walks through a result.
///
/// # Errors
/// It is none.
pub fn result(result: ResultToExplain<'_>, style: Style) -> Result<String, NoResult> {
    let pen = Pen(style);
    let document = result.document;
    if document.get("fio version").is_some() && document.get("jobs").is_some_and(Value::is_array) {
        return Ok(fio::explain(document, result.all, pen));
    }
    match document.get("format").and_then(Value::as_str) {
        Some(format) if iolite::knows(format) => Ok(iolite::explain(document, result.all, pen)),
        Some(format) => Err(NoResult { found: format!("format `{}`", pen.clean(format)) }),
        None => Err(NoResult { found: shape(document, pen) }),
    }
}

/// What a document is, for whoever wonders.
fn shape(document: &Value, pen: Pen) -> String {
    match document {
        Value::Object(fields) if fields.is_empty() => "an empty object".to_owned(),
        Value::Object(fields) => {
            let keys: Vec<_> = fields.keys().take(4).map(|key| format!("`{}`", pen.clean(key))).collect();
            format!("an object with {}", keys.join(", "))
        }
        Value::Array(_) => "a list".to_owned(),
        _ => "a single value".to_owned(),
    }
}

/// Doubts, each with a mark; empty without any.
fn doubts(doubts: &[String], pen: Pen) -> String {
    let mut out = String::new();
    for doubt in doubts {
        let label = format!("  {} ", pen.paint(Ink::Doubt, "!"));
        out += &pen.item(&label, 4, doubt);
    }
    out
}

/// What the marks mean.
fn legend(all: bool, pen: Pen) -> String {
    let more = if all { "" } else { "; --all explains every key" };
    pen.item("", 0, format_args!("!: to be doubted; *: what matters{more}"))
}

#[cfg(test)]
mod tests;
