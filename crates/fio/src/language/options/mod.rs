//! The table of options: one file per group. What the settings of a job say, typed, is a [`Spec`]: one part per group.

pub mod buffers;
pub mod depth;
pub mod engine;
mod entry;
pub mod errors;
pub mod extents;
pub mod files;
pub mod io;
pub mod job;
pub mod logging;
pub mod option;
pub mod placement;
pub mod rate;
pub mod sizes;
pub mod steady;
pub mod trace;
pub mod verify;
pub mod zones;

use std::sync::LazyLock;

use option::Opt;

use crate::language::value::OptionValue;

/// A job as its settings describe it. Its default is that of each option; without those, a group has nothing but zeros.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    /// Name, clones, order and length of jobs.
    pub job: job::Job,
    /// Files.
    pub files: files::Files,
    /// Extents.
    pub extents: extents::Extents,
    /// Direction and order of the I/O.
    pub io: io::Io,
    /// Zones.
    pub zones: zones::Zones,
    /// Sizes of operations.
    pub sizes: sizes::Sizes,
    /// Buffers and contents.
    pub buffers: buffers::Buffers,
    /// Engines and engine options.
    pub engine: engine::Engine,
    /// Queue depth.
    pub depth: depth::Depth,
    /// Rates, think time, latency targets.
    pub rate: rate::Rate,
    /// Verification.
    pub verify: verify::Verify,
    /// Steady state.
    pub steady: steady::Steady,
    /// Statistics and logs.
    pub logging: logging::Logging,
    /// Errors.
    pub errors: errors::Errors,
    /// Traces and replay.
    pub trace: trace::Trace,
    /// CPUs, memory nodes, priorities, users.
    pub placement: placement::Placement,
}

impl Default for Spec {
    fn default() -> Spec {
        static DEFAULT: LazyLock<Spec> = LazyLock::new(|| {
            let mut spec = Spec {
                job: Default::default(),
                files: Default::default(),
                extents: Default::default(),
                io: Default::default(),
                zones: Default::default(),
                sizes: Default::default(),
                buffers: Default::default(),
                engine: Default::default(),
                depth: Default::default(),
                rate: Default::default(),
                verify: Default::default(),
                steady: Default::default(),
                logging: Default::default(),
                errors: Default::default(),
                trace: Default::default(),
                placement: Default::default(),
            };
            for option in all().filter(|option| !option.default.is_empty()) {
                let set = option.set(&mut spec, &OptionValue { text: Some(option.default), kb_base: 1024 });
                debug_assert!(set.is_ok(), "{}", option.name);
            }
            spec
        });
        DEFAULT.clone()
    }
}

/// A group of options.
#[derive(Debug, Clone, Copy)]
pub struct Group {
    /// Title.
    pub title: &'static str,
    /// Its options, in the order in which they are reported.
    pub options: &'static [Opt],
}

/// All groups, in the order in which they are reported.
pub const GROUPS: &[Group] = &[
    Group { title: "Name, clones, order and length of jobs", options: job::OPTIONS },
    Group { title: "Files", options: files::OPTIONS },
    Group { title: "Extents", options: extents::OPTIONS },
    Group { title: "Direction and order of the I/O", options: io::OPTIONS },
    Group { title: "Zones", options: zones::OPTIONS },
    Group { title: "Sizes of operations", options: sizes::OPTIONS },
    Group { title: "Buffers and contents", options: buffers::OPTIONS },
    Group { title: "Engines and engine options", options: engine::OPTIONS },
    Group { title: "I/O priorities of operations", options: engine::PRIORITIES },
    Group { title: "Options of engines that are not supported", options: engine::ELSEWHERE },
    Group { title: "Queue depth", options: depth::OPTIONS },
    Group { title: "Rates, think time, latency targets", options: rate::OPTIONS },
    Group { title: "Verification", options: verify::OPTIONS },
    Group { title: "Steady state", options: steady::OPTIONS },
    Group { title: "Statistics and logs", options: logging::OPTIONS },
    Group { title: "Error handling", options: errors::OPTIONS },
    Group { title: "Traces and replay", options: trace::OPTIONS },
    Group { title: "CPUs, memory nodes, priorities, users", options: placement::OPTIONS },
];

/// All options.
pub fn all() -> impl Iterator<Item = &'static Opt> {
    GROUPS.iter().flat_map(|group| group.options)
}

/// The option of this name or alias.
pub fn find(name: &str) -> Option<&'static Opt> {
    all().find(|option| option.name == name || option.aliases.contains(&name))
}
