//! What errors of systems (kernel, file systems, databases, certificates) most likely come from, and what to do about each: one
//! table. Errors carry a cause; nobody words a remedy of their own. docs/errors.md is printed from it.

mod of_system;
mod table;

pub use of_system::ErrorOrigin;
pub use table::{ErrorArea, ErrorCause};

impl std::fmt::Display for ErrorCause {
    /// The remedy.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.remedy())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cause_has_a_remedy_of_its_own() {
        for (place, cause) in ErrorCause::ALL.iter().enumerate() {
            assert!(!cause.meaning().is_empty() && !cause.remedy().is_empty(), "{cause:?}");
            let twin = ErrorCause::ALL[..place].iter().find(|other| other.remedy() == cause.remedy());
            assert_eq!(twin, None, "{cause:?}");
        }
    }
}
