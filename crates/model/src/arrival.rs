//! When operations are meant to start, and what ends a phase.

use serde::{Deserialize, Serialize};

use crate::units::{Bandwidth, Bytes, Iops, Nanos};

/// When operations are meant to start.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrival {
    /// As soon as an earlier one completes.
    Closed,
    /// At random instants of this mean rate over all workers (a Poisson process), whether or not earlier ones have
    /// completed: response time counts from the intended instant, so nothing is omitted.
    Poisson(Iops),
    /// At equal distances of this rate over all workers, which take turns; otherwise as
    /// [`Poisson`](Arrival::Poisson).
    Constant(Iops),
    /// So many operations meant to start at the same instant, at equal distances. The workers take turns at the bursts,
    /// each of which belongs to one of them. The instants are kept whether or not earlier operations have completed.
    Bursts {
        /// Mean rate of the operations over all workers.
        rate: Iops,
        /// Operations in a burst; at least 1.
        operations: u32,
    },
    /// As [`Constant`](Arrival::Constant) with so many bytes a second: an operation is followed by a distance in
    /// proportion to its size.
    ConstantBytes(Bandwidth),
    /// As [`Poisson`](Arrival::Poisson) with so many bytes a second: the mean distance after an operation is in
    /// proportion to its size.
    PoissonBytes(Bandwidth),
    /// The two kinds of operations of a mix each at a rate of its own; the mix's shares mean nothing then. The next operation is
    /// of the kind that has been due for longest.
    ByKind(KindRates),
    /// At the instants of the trace that is repeated ([`Access::Trace`](crate::Access)), at this speed in percent of the
    /// original; above 0. The instants are kept whether or not earlier operations have completed.
    Traced(u32),
    /// A closed loop in which each worker, after every so many operations, waits for all that it has in flight and then
    /// pauses (fio's `thinktime` and `thinktime_blocks`).
    ThinkTime {
        /// Length of the pause.
        pause: Nanos,
        /// Operations of a worker between two pauses; 0 for any number, where `io_time` says when.
        operations: u32,
        /// Time from a pause's end after which the next one comes, where it comes before that of the operations; 0 for none.
        #[serde(default)]
        io_time: Nanos,
        /// How much of the pause, from its start, the worker keeps its CPU busy rather than sleeps.
        #[serde(default)]
        spin: Nanos,
    },
}

/// Rates of the kinds of operations of [`Arrival::ByKind`], over all workers, which share each evenly. One of the two kinds may
/// have none: whenever none of the other is due, it goes as in a closed loop.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct KindRates {
    /// Of reads.
    pub reads: Option<Pace>,
    /// Of writes.
    pub writes: Option<Pace>,
    /// Of trims.
    pub trims: Option<Pace>,
    /// At random instants (Poisson processes) rather than at equal distances.
    pub poisson: bool,
}

/// How fast operations come.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pace {
    /// So many a second.
    Operations(Iops),
    /// So many bytes a second.
    Bytes(Bandwidth),
}

impl Arrival {
    /// The rate asked for over all workers, with operations of `mean_size` bytes in the mean, and of those that are done by kind (of
    /// reads, writes, trims); `None` in a closed loop, also of one kind only.
    pub(crate) fn rate(self, mean_size: f64, by_kind: [Option<f64>; 3]) -> Option<Iops> {
        match self {
            Arrival::Closed | Arrival::ThinkTime { .. } | Arrival::Traced(_) => None,
            Arrival::Poisson(rate) | Arrival::Constant(rate) | Arrival::Bursts { rate, .. } => Some(rate),
            Arrival::ConstantBytes(bytes) | Arrival::PoissonBytes(bytes) => Some(Iops(bytes.0 / mean_size)),
            Arrival::ByKind(KindRates { reads, writes, trims, .. }) => {
                let paces = [reads, writes, trims].into_iter().zip(by_kind);
                let each = paces.filter_map(|(pace, size)| size.map(|size| Some(pace?.rate(size).0)));
                each.sum::<Option<f64>>().map(Iops)
            }
        }
    }
}

impl Pace {
    /// Operations a second, of so many bytes in the mean.
    fn rate(self, mean_size: f64) -> Iops {
        match self {
            Pace::Operations(rate) => rate,
            Pace::Bytes(bytes) => Iops(bytes.0 / mean_size),
        }
    }
}

/// What ends a phase; whichever comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Stop {
    /// Measured time, after the ramp.
    pub runtime: Option<Nanos>,
    /// Bytes written or read over all workers, the ramp included.
    pub bytes: Option<Bytes>,
    /// Operations over all workers, the ramp included.
    pub operations: Option<u64>,
    /// Times what there is to cover, the ramp included: the target's size over all workers together; where each has a file of
    /// its own, the whole span or what an increment leaves it, that for each. Of several files each counts in whole blocks.
    pub loops: Option<u32>,
    /// Bytes of each worker, the ramp included.
    pub worker_bytes: Option<Bytes>,
    /// Operations of each worker, the ramp included.
    pub worker_operations: Option<u64>,
    /// Bytes written at most over all workers, the ramp included: an operation that could go beyond is not begun. Each worker has
    /// an even part, and its first one that is used up ends that worker, whatever is left to read.
    pub written: Option<Bytes>,
    /// A write for which there is no space left ends the phase, and is no error. Files that are to grow and have no size may then
    /// take their whole file system.
    pub full: bool,
    /// Operations in flight when the runtime is over count, and the time until they are back is measured time, as fio has it.
    /// Otherwise they are listed as outstanding: rates are those of the runtime, and of the operations in flight at its two
    /// ends one set is left out, so that with a ramp neither rate nor mean is biased. Without a ramp, in a phase in which
    /// operations take long, this setting keeps the slow ones.
    pub in_flight: bool,
}
