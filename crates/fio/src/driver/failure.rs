//! Why a step could not be done.

/// Why a step between or around the phases could not be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The error number that results hold.
    pub number: i32,
    /// What went wrong, with its cause.
    pub reason: String,
}
