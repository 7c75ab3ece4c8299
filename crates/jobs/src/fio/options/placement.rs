//! CPUs, memory nodes, priorities, users.

use crate::fio::option::Opt;

/// CPUs, memory nodes, priorities, users.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Placement {}

/// The options.
pub const OPTIONS: &[Opt] = &[];
