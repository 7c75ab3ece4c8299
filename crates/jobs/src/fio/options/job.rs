//! Name, clones, order and length of jobs.

use crate::fio::option::Opt;

/// Name, clones, order and length of jobs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Job {}

/// The options.
pub const OPTIONS: &[Opt] = &[];
