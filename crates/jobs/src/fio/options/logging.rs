//! Statistics and logs.

use crate::fio::lower::{Place, Thread};
use crate::fio::option::Opt;
use crate::fio::spec::Spec;

/// Statistics and logs.
#[derive(Debug, Clone, PartialEq)]
pub struct Logging {
    /// `kb_base`: what a `k` stands for, 1024 or 1000.
    pub kb_base: u64,
}

impl Default for Logging {
    fn default() -> Self {
        Logging { kb_base: 1024 }
    }
}

impl Logging {
    /// Changes `thread` to what these settings say.
    pub(crate) fn lower(&self, _spec: &Spec, _place: Place, _thread: &mut Thread) -> Result<(), String> {
        Ok(())
    }
}

/// The options.
pub const OPTIONS: &[Opt] = &[];
