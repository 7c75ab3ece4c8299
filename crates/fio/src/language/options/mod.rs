//! The table of options: one file per group.

pub mod buffers;
pub mod depth;
pub mod engine;
mod entry;
pub mod errors;
pub mod files;
pub mod io;
pub mod job;
pub mod logging;
pub mod placement;
pub mod rate;
pub mod sizes;
pub mod steady;
pub mod trace;
pub mod verify;

use super::option::Opt;

/// A group of options.
#[derive(Debug, Clone, Copy)]
pub struct Group {
    /// Title.
    pub title: &'static str,
    /// Its options, in the order in which they are told.
    pub options: &'static [Opt],
}

/// All groups, in the order in which they are told.
pub const GROUPS: &[Group] = &[
    Group { title: "Name, clones, order and length of jobs", options: job::OPTIONS },
    Group { title: "Files and extents", options: files::OPTIONS },
    Group { title: "Direction and order of the I/O", options: io::OPTIONS },
    Group { title: "Sizes of operations", options: sizes::OPTIONS },
    Group { title: "What is written, and buffers", options: buffers::OPTIONS },
    Group { title: "Engines and their own options", options: engine::OPTIONS },
    Group { title: "I/O priorities of single operations", options: engine::PRIORITIES },
    Group { title: "Options of engines that are not built", options: engine::ELSEWHERE },
    Group { title: "Queue depth", options: depth::OPTIONS },
    Group { title: "Rates, think time, latency targets", options: rate::OPTIONS },
    Group { title: "Verification", options: verify::OPTIONS },
    Group { title: "Steady state", options: steady::OPTIONS },
    Group { title: "Statistics and logs", options: logging::OPTIONS },
    Group { title: "What is done about errors", options: errors::OPTIONS },
    Group { title: "Traces and replay", options: trace::OPTIONS },
    Group { title: "CPUs, memory nodes, priorities, users", options: placement::OPTIONS },
];

/// All options.
pub fn all() -> impl Iterator<Item = &'static Opt> {
    GROUPS.iter().flat_map(|group| group.options)
}
