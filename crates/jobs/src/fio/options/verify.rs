//! Verification.

use crate::fio::option::Opt;

/// Verification.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Verify {}

/// The options.
pub const OPTIONS: &[Opt] = &[];
