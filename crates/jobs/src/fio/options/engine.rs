//! Engines and their own options.

use crate::fio::option::Opt;

/// Engines and their own options.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Engine {}

/// The options.
pub const OPTIONS: &[Opt] = &[];
