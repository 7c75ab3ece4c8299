//! Statistics and logs.

use crate::fio::option::Opt;

/// Statistics and logs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Logging {}

/// The options.
pub const OPTIONS: &[Opt] = &[];
