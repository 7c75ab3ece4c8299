//! What a configuration file can't be run for.

/// Why a text is no configuration that can be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IcfError {
    /// It does not begin as these files do.
    #[error(
        "not an Iometer configuration file: it does not begin with `Version` and a number, or with the heading of a section, such as `'TEST SETUP`"
    )]
    NoVersion,
    /// It is too large.
    #[error("the file is larger than 16 MiB, the maximum for an Iometer configuration file")]
    TooLarge,
    /// A value can't be read.
    #[error("line {line}: `{text}`: {expected}")]
    Value {
        /// Which, from 1.
        line: usize,
        /// What stands there.
        text: String,
        /// What should.
        expected: &'static str,
    },
    /// A worker measures the network.
    #[error(
        "line {line}: worker `{worker}` is of type {kind}: iolite measures disks only; remove network workers from the file"
    )]
    Network {
        /// Which, from 1.
        line: usize,
        /// Its name.
        worker: String,
        /// Its type.
        kind: String,
    },
    /// A worker's specification is not in the file.
    #[error("worker `{worker}` has the access specification `{spec}`, which the file does not define")]
    NoSpec {
        /// The worker's name.
        worker: String,
        /// The specification's.
        spec: String,
    },
    /// Two different specifications have one name, by which workers refer to them.
    #[error("two access specifications are called `{spec}` and differ: give each a name of its own")]
    Twice {
        /// The name.
        spec: String,
    },
    /// The shares of a specification's lines are no whole.
    #[error("access specification `{spec}`: the shares of its lines add up to {sum} %, not 100 %")]
    Shares {
        /// Its name.
        spec: String,
        /// Their sum.
        sum: u32,
    },
    /// Some lines of a specification are idle.
    #[error(
        "access specification `{spec}`: a line of size 0 (idle) cannot be combined with other lines: remove it, or specify a delay"
    )]
    PartlyIdle {
        /// Its name.
        spec: String,
    },
    /// The test type is not supported.
    #[error(
        "line {line}: test type `{kind}` is not supported: specify NORMAL, CYCLE_TARGETS, CYCLE_WORKERS, INCREMENT_TARGETS_PARALLEL, \
         INCREMENT_TARGETS_SERIAL, CYCLE_WORKERS_AND_TARGETS, CYCLE_OUTSTANDING_IOS or CYCLE_OUTSTANDING_IOS_AND_TARGETS"
    )]
    Kind {
        /// Which, from 1.
        line: usize,
        /// What stands there.
        kind: String,
    },
    /// The file ends inside a section.
    #[error(
        "the file ends within the section `{section}`, without its END line: part of it is missing; copy or export it again"
    )]
    Incomplete {
        /// The section.
        section: &'static str,
    },
    /// It would not end.
    #[error(
        "the test has more than 10,000 measurements (access specifications x what is cycled), or more than 1,000,000 lines of \
         specifications over all of them and all workers: use larger steps, or several configuration files"
    )]
    Points,
}
