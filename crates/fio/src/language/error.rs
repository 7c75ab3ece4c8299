//! What is wrong with the value of an option, or with options that do not go together.

use std::borrow::Cow;
use std::io;

/// As much of the user's text as a message repeats.
const SHOWN: usize = 80;

/// Text of a message: a literal, or one that repeats what the user has written.
type Text = Cow<'static, str>;

/// What setting an option or lowering its settings comes to.
pub(crate) type Result<T = (), E = OptionError> = std::result::Result<T, E>;

/// What is wrong with an option, and what to do about it; the job file's line and the option's name are added by who knows them.
#[derive(Debug, thiserror::Error)]
pub enum OptionError {
    /// The option stands without a value.
    #[error("it needs a value: {}", self.remedy())]
    NoValue,
    /// The value is not of the form that the option takes.
    #[error("{text} is not {}: {}", with_article(expected), self.remedy())]
    Malformed {
        /// The value, or the part of it that is wrong, quoted.
        text: String,
        /// What is expected.
        expected: Text,
    },
    /// The value is a word that the option does not know.
    #[error("{text} is none of {expected}: {}", self.remedy())]
    UnknownWord {
        /// The word, quoted.
        text: String,
        /// The words that it knows, with commas between them.
        expected: String,
    },
    /// The number is too small or too large.
    #[error("`{text}` is out of its range, {min} to {max}: {}", self.remedy())]
    OutOfRange {
        /// The number as written.
        text: String,
        /// The smallest that is accepted.
        min: String,
        /// The largest that is accepted.
        max: String,
    },
    /// The list is too long.
    #[error("it has {count} {items}, and {max} are the most: {}", self.remedy())]
    TooMany {
        /// Its length.
        count: usize,
        /// What it is a list of, in the plural.
        items: &'static str,
        /// The longest that is accepted.
        max: usize,
    },
    /// What fio has and this program has not.
    #[error("{what} not supported: {remedy}")]
    NotBuilt {
        /// What, with its verb.
        what: Text,
        /// What to use instead.
        remedy: Text,
    },
    /// Anything else that cannot be done as asked for.
    #[error("{what}: {remedy}")]
    Refused {
        /// What cannot be done, and why.
        what: Text,
        /// What to write instead.
        remedy: Text,
    },
    /// A file that the option names can't be read.
    #[error("cannot read {what}: {source}; {}", self.remedy())]
    Unreadable {
        /// What is read.
        what: String,
        /// Why it can't be.
        source: io::Error,
    },
    /// Where another error is: in which options, in which line of a trace.
    #[error("{place}: {source}")]
    In {
        /// The options by name, or the place within a file.
        place: Text,
        /// What is wrong there.
        source: Box<OptionError>,
    },
}

impl OptionError {
    pub(super) fn malformed(text: &str, expected: impl Into<Text>) -> OptionError {
        OptionError::Malformed { text: quoted(text), expected: expected.into() }
    }

    pub(super) fn unknown_word<'a>(text: &str, known: impl IntoIterator<Item = &'a str>) -> OptionError {
        let expected = known.into_iter().collect::<Vec<_>>().join(", ");
        OptionError::UnknownWord { text: quoted(text), expected }
    }

    pub(super) fn out_of_range(text: &str, min: impl ToString, max: impl ToString) -> OptionError {
        OptionError::OutOfRange { text: text.into(), min: min.to_string(), max: max.to_string() }
    }

    pub(super) fn not_built(what: impl Into<Text>, remedy: impl Into<Text>) -> OptionError {
        OptionError::NotBuilt { what: what.into(), remedy: remedy.into() }
    }

    pub(super) fn refused(what: impl Into<Text>, remedy: impl Into<Text>) -> OptionError {
        OptionError::Refused { what: what.into(), remedy: remedy.into() }
    }

    pub(super) fn unreadable(what: impl Into<String>, source: io::Error) -> OptionError {
        OptionError::Unreadable { what: what.into(), source }
    }

    /// What to do about it, as its text says it.
    pub fn remedy(&self) -> &str {
        match self {
            OptionError::NoValue => "write one behind a `=`",
            OptionError::Malformed { .. } => "write one",
            OptionError::UnknownWord { .. } => "use one of these",
            OptionError::OutOfRange { .. } => "use a number within it",
            OptionError::TooMany { .. } => "leave some out",
            OptionError::NotBuilt { remedy, .. } | OptionError::Refused { remedy, .. } => remedy,
            OptionError::Unreadable { .. } => "check the path and its permissions",
            OptionError::In { source, .. } => source.remedy(),
        }
    }

    /// The same error with where it is.
    pub(super) fn at(self, place: impl Into<Text>) -> OptionError {
        OptionError::In { place: place.into(), source: Box::new(self) }
    }
}

/// The user's text as messages repeat it: quoted, shortened, and with nothing that would disturb a terminal.
pub(super) fn quoted(text: &str) -> String {
    let mut shown: String =
        text.chars().take(SHOWN).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push_str("...");
    }
    format!("`{shown}`")
}

/// `a` or `an` before a noun, as it is spoken.
fn with_article(noun: &str) -> String {
    let article = if noun.starts_with(['a', 'e', 'i', 'o']) { "an" } else { "a" };
    format!("{article} {noun}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_text_is_short_and_harmless() {
        assert_eq!(quoted("a\u{1b}[2J"), "`a\u{fffd}[2J`");
        assert!(quoted(&"é".repeat(500)).chars().count() < 90);
    }
}
