//! Steady state.

use crate::fio::option::Opt;

/// Steady state.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Steady {}

/// The options.
pub const OPTIONS: &[Opt] = &[];
