//! Traces and replay.

use crate::fio::option::Opt;

/// Traces and replay.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Trace {}

/// The options.
pub const OPTIONS: &[Opt] = &[];
