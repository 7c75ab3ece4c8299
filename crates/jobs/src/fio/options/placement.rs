//! CPUs, memory nodes, priorities, users.

use crate::fio::lower::{Place, Thread};
use crate::fio::option::Opt;
use crate::fio::spec::Spec;

/// CPUs, memory nodes, priorities, users.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Placement {}

impl Placement {
    /// Changes `thread` to what these settings say.
    pub(crate) fn lower(&self, _spec: &Spec, _place: Place, _thread: &mut Thread) -> Result<(), String> {
        Ok(())
    }
}

/// The options.
pub const OPTIONS: &[Opt] = &[];
