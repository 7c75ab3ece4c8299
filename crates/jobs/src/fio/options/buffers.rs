//! What is written, and buffers.

use crate::fio::option::Opt;

/// What is written, and buffers.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Buffers {}

/// The options.
pub const OPTIONS: &[Opt] = &[];
