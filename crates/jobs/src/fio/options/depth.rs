//! Queue depth.

use crate::fio::option::Opt;

/// Queue depth.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Depth {}

/// The options.
pub const OPTIONS: &[Opt] = &[];
