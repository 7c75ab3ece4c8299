//! Rates, think time, latency targets.

use crate::fio::option::Opt;

/// Rates, think time, latency targets.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rate {}

/// The options.
pub const OPTIONS: &[Opt] = &[];
