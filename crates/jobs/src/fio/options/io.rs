//! Direction and order of the I/O.

use crate::fio::option::Opt;

/// Direction and order of the I/O.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Io {}

/// The options.
pub const OPTIONS: &[Opt] = &[];
