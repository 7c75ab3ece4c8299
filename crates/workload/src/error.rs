//! Why parameters make no workload.

/// A parameter that cannot be: says what was given, why it cannot be, and what to give instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{given}, but {rule}; {remedy}")]
pub struct WorkloadError {
    given: String,
    rule: &'static str,
    remedy: &'static str,
}

impl WorkloadError {
    /// `given`: the parameter with its value; `rule`: what it has to be; `remedy`: what to do.
    pub(crate) fn new(given: String, rule: &'static str, remedy: &'static str) -> WorkloadError {
        WorkloadError { given, rule, remedy }
    }

    /// Refuses unless `holds`. `given` is only made when it is needed.
    pub(crate) fn unless(
        holds: bool,
        given: impl FnOnce() -> String,
        rule: &'static str,
        remedy: &'static str,
    ) -> Result<(), WorkloadError> {
        if holds { Ok(()) } else { Err(WorkloadError::new(given(), rule, remedy)) }
    }
}
