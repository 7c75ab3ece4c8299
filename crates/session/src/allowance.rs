//! What a run may still write.

use iolite_model::Bytes;

/// What a run may still write, where that is limited.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WriteAllowance {
    /// What was allowed.
    pub(crate) max: Bytes,
    /// Bytes that are left of it.
    pub(crate) left: u64,
}
