//! Name, clones, order and length of jobs.

use crate::fio::option::Opt;

/// Name, clones, order and length of jobs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Job {
    /// a
    pub name: String,
    /// a
    pub wait_for: Option<String>,
    /// a
    pub numjobs: u32,
    /// a
    pub stonewall: bool,
    /// a
    pub new_group: bool,
}

/// The options.
pub const OPTIONS: &[Opt] = &[];
