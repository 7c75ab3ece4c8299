//! What is done about errors.

use crate::fio::option::Opt;

/// What is done about errors.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Errors {}

/// The options.
pub const OPTIONS: &[Opt] = &[];
