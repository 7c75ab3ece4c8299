//! What is done about errors.

use crate::fio::lower::{Place, Thread};
use crate::fio::option::Opt;
use crate::fio::spec::Spec;

/// What is done about errors.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Errors {}

impl Errors {
    /// Changes `thread` to what these settings say.
    pub(crate) fn lower(&self, _spec: &Spec, _place: Place, _thread: &mut Thread) -> Result<(), String> {
        Ok(())
    }
}

/// The options.
pub const OPTIONS: &[Opt] = &[];
