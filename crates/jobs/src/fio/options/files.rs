//! Files and extents.

use crate::fio::option::Opt;

/// Files and extents.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Files {}

/// The options.
pub const OPTIONS: &[Opt] = &[];
