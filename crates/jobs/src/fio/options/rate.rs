//! Rates, think time, latency targets.

use crate::fio::lower::{Place, Thread};
use crate::fio::option::Opt;
use crate::fio::spec::Spec;

/// Rates, think time, latency targets.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rate {}

impl Rate {
    /// Changes `thread` to what these settings say.
    pub(crate) fn lower(&self, _spec: &Spec, _place: Place, _thread: &mut Thread) -> Result<(), String> {
        Ok(())
    }
}

/// The options.
pub const OPTIONS: &[Opt] = &[];
