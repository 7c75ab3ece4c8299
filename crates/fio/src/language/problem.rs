//! What is wrong with a job file or a command line, and where.

use std::fmt;
use std::sync::Arc;

use super::error::OptionError;

/// Where a setting or a section was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The job file as named by the user; `None` for the command line.
    pub file: Option<Arc<str>>,
    /// Line, from 1. On the command line: which argument, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

/// One thing that is wrong.
#[derive(Debug)]
pub struct Problem {
    /// Where.
    pub origin: Origin,
    /// What.
    pub cause: Cause,
}

/// What is wrong, and what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum Cause {
    /// The text: its form, or a name that there is not.
    #[error("{what}; {remedy}")]
    Text {
        /// What is wrong.
        what: String,
        /// What to write instead.
        remedy: String,
    },
    /// The value of a setting.
    #[error("{setting}: {source}")]
    Value {
        /// The setting as written, quoted.
        setting: String,
        /// What is wrong with its value.
        source: OptionError,
    },
    /// Settings that do not go together.
    #[error(transparent)]
    Together(#[from] OptionError),
}

impl Problem {
    /// What to do about it, as its text says it.
    pub fn remedy(&self) -> &str {
        match &self.cause {
            Cause::Text { remedy, .. } => remedy,
            Cause::Value { source, .. } | Cause::Together(source) => source.remedy(),
        }
    }
}

/// Everything that is wrong, in the order in which it was found; never empty.
#[derive(Debug)]
pub struct Problems(pub Vec<Problem>);

impl Origin {
    /// An argument of the command line, from 1.
    pub fn argument(number: usize) -> Origin {
        Origin { file: None, line: u32::try_from(number).unwrap_or(u32::MAX), column: 1 }
    }

    /// What is wrong with the text at this place.
    pub fn problem(&self, what: impl Into<String>, remedy: impl Into<String>) -> Problem {
        self.caused(Cause::Text { what: what.into(), remedy: remedy.into() })
    }

    /// What is wrong with the value of the setting at this place.
    pub(super) fn value(&self, setting: String, source: OptionError) -> Problem {
        self.caused(Cause::Value { setting, source })
    }

    /// What is wrong with the settings at this place.
    pub(super) fn together(&self, error: OptionError) -> Problem {
        self.caused(error.into())
    }

    fn caused(&self, cause: Cause) -> Problem {
        Problem { origin: self.clone(), cause }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            Some(file) => write!(f, "{file}:{}:{}", self.line, self.column),
            None => write!(f, "argument {}", self.line),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.origin, self.cause)
    }
}

impl fmt::Display for Problems {
    /// A line each.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(Problem::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for Problem {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(&self.cause)
    }
}

impl std::error::Error for Problems {}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Problems {
        Problems(vec![problem])
    }
}

/// Those of `names` that look most like `name`: at most three, best first.
pub(super) fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    // Longer than any option: nothing is like it, and comparing would take long.
    if name.is_empty() || name.len() > 64 {
        return Vec::new();
    }
    let lower = name.to_lowercase();
    let length = lower.chars().count();
    let allowed = 1 + length / 4;
    let score = |known: &str| {
        let extended = name.len() >= 3 && known.starts_with(&lower);
        // The distance is at least the difference of the lengths, which is cheap to look at first.
        if !extended && known.len().abs_diff(length) > allowed {
            return None;
        }
        let distance = strsim::osa_distance(&lower, &known.to_lowercase());
        (distance <= allowed || extended).then_some(distance)
    };
    let mut found: Vec<(usize, &str)> =
        names.filter_map(|known| score(known).map(|distance| (distance, known))).collect();
    found.sort_unstable();
    found.dedup();
    found.into_iter().take(3).map(|(_, known)| known).collect()
}

/// "did you mean" for these names; for none this remedy.
pub(super) fn did_you_mean(names: &[&str], otherwise: &str) -> String {
    match names {
        [] => otherwise.to_owned(),
        [only] => format!("did you mean `{only}`?"),
        [first @ .., last] => {
            let first: Vec<String> = first.iter().map(|name| format!("`{name}`")).collect();
            format!("did you mean {} or `{last}`?", first.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_says_where_what_and_what_to_do() {
        let origin = Origin { file: Some("a.fio".into()), line: 3, column: 2 };
        assert_eq!(origin.problem("no such", "do this").to_string(), "a.fio:3:2: no such; do this");
        let refused = Origin::argument(4).together(OptionError::refused("odd", "remove it"));
        assert_eq!(refused.to_string(), "argument 4: odd: remove it");
        let refused = Origin::argument(5).value("`bs`".into(), OptionError::NoValue);
        assert_eq!(refused.to_string(), "argument 5: `bs`: it needs a value: write one behind a `=`");
    }

    #[test]
    fn names_are_near_by_few_letters_or_by_their_beginning() {
        let known = ["bs", "iodepth", "iodepth_batch", "size", "filesize", "runtime"];
        let near = |name| nearest(name, known.into_iter());
        assert_eq!(near("iodpeth"), ["iodepth"]);
        assert_eq!(near("iodep"), ["iodepth", "iodepth_batch"]);
        assert_eq!(near("SIZE"), ["size"]);
        assert_eq!(near("quux"), Vec::<&str>::new());
        assert_eq!(near(&"x".repeat(1000)), Vec::<&str>::new());
        assert_eq!(did_you_mean(&["a", "b", "c"], ""), "did you mean `a`, `b` or `c`?");
        assert_eq!(did_you_mean(&[], "see --help"), "see --help");
    }
}
