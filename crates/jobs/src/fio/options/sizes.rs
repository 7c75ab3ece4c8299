//! Sizes of operations.

use crate::fio::option::Opt;

/// Sizes of operations.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sizes {}

/// The options.
pub const OPTIONS: &[Opt] = &[];
