//! Why a text is none of the words or forms that were expected.

/// What was written, what it should have been, and how that is written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no {what}: {remedy}")]
pub struct ParseError {
    text: String,
    what: &'static str,
    remedy: &'static str,
}

impl ParseError {
    pub(crate) fn new(text: &str, what: &'static str, remedy: &'static str) -> ParseError {
        ParseError { text: text.to_owned(), what, remedy }
    }
}
