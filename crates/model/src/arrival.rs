//! When operations are meant to start, and what ends a phase.

use serde::{Deserialize, Serialize};

use crate::units::{Bandwidth, Bytes, Iops, Nanos};

/// When operations are scheduled to start.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrival {
    /// Closed loop: as soon as a previous operation completes.
    Closed,
    /// Open loop with random arrivals (a Poisson process) at this mean rate over all workers, whether or not previous operations
    /// have completed. Response times are measured from the intended start, so there is no coordinated omission.
    Poisson(Iops),
    /// Open loop with equal distances at this rate over all workers, which take turns; otherwise like
    /// [`Poisson`](Arrival::Poisson).
    Constant(Iops),
    /// Open loop with bursts of operations at equal distances. Workers take turns; each burst belongs to one worker.
    Bursts {
        /// Mean rate of the operations over all workers.
        rate: Iops,
        /// Operations in a burst; at least 1.
        operations: u32,
    },
    /// Like [`Constant`](Arrival::Constant), with a rate in bytes per second: the distance after an operation is proportional to
    /// its size.
    ConstantBytes(Bandwidth),
    /// Like [`Poisson`](Arrival::Poisson), with a rate in bytes per second: the mean distance after an operation is proportional
    /// to its size.
    PoissonBytes(Bandwidth),
    /// Separate rates for the two kinds of operations of a mix, whose percentages are then ignored. The next operation is of the
    /// kind that has been due for longest.
    ByKind(KindRates),
    /// At the times of the replayed trace ([`Access::Trace`](crate::Access)), with this speed in percent of the original; above
    /// 0. Open loop.
    Traced(u32),
    /// A closed loop with think time: after every N operations, a worker waits for all its operations in flight and then pauses
    /// (fio's `thinktime` and `thinktime_blocks`).
    ThinkTime {
        /// Length of the pause.
        pause: Nanos,
        /// Operations of a worker between two pauses; 0 if only `io_time` applies.
        operations: u32,
        /// Maximum time between two pauses; 0 for none.
        #[serde(default)]
        io_time: Nanos,
        /// Part of the pause, from its start, that is spent busy instead of sleeping.
        #[serde(default)]
        spin: Nanos,
    },
    /// Think time between operations that have a rate.
    RatedThinkTime(RatedThinkTime),
}

/// Think time of [`Arrival::RatedThinkTime`]: no operation is scheduled to start within a pause.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RatedThinkTime {
    /// Length of the pause.
    pub pause: Nanos,
    /// Operations of a worker between two pauses; 0 if only `io_time` applies.
    pub operations: u32,
    /// Maximum time between two pauses; 0 for none.
    #[serde(default)]
    pub io_time: Nanos,
    /// Part of the pause, from its start, that is spent busy instead of sleeping.
    #[serde(default)]
    pub spin: Nanos,
    /// The rate.
    pub schedule: Schedule,
    /// Operations that a pause has delayed start immediately after it. Otherwise the pause delays all later operations as well.
    #[serde(default)]
    pub catch_up: bool,
}

/// A rate of [`RatedThinkTime`]; see the variants of [`Arrival`] with these names.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Schedule {
    /// Random arrivals.
    Poisson(Iops),
    /// Equal distances.
    Constant(Iops),
    /// Distances proportional to the sizes of the operations.
    ConstantBytes(Bandwidth),
    /// Random arrivals, with mean distances proportional to the sizes of the operations.
    PoissonBytes(Bandwidth),
    /// Separate rates for the two kinds of operations of a mix.
    ByKind(KindRates),
}

impl From<Schedule> for Arrival {
    fn from(schedule: Schedule) -> Arrival {
        match schedule {
            Schedule::Poisson(rate) => Arrival::Poisson(rate),
            Schedule::Constant(rate) => Arrival::Constant(rate),
            Schedule::ConstantBytes(rate) => Arrival::ConstantBytes(rate),
            Schedule::PoissonBytes(rate) => Arrival::PoissonBytes(rate),
            Schedule::ByKind(rates) => Arrival::ByKind(rates),
        }
    }
}

/// Rates of the kinds of operations of [`Arrival::ByKind`], divided evenly among all workers. A kind without a rate runs as a
/// closed loop whenever no operation of the other kind is due.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct KindRates {
    /// Rate of reads.
    pub reads: Option<Pace>,
    /// Rate of writes.
    pub writes: Option<Pace>,
    /// Rate of trims.
    pub trims: Option<Pace>,
    /// Random arrivals (Poisson processes) instead of equal distances.
    pub poisson: bool,
}

/// A rate of operations.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pace {
    /// Operations per second.
    Operations(Iops),
    /// Bytes per second.
    Bytes(Bandwidth),
}

impl Arrival {
    /// The rate asked for over all workers, with operations of `mean_size` bytes in the mean, and of those that are done by kind
    /// (of reads, writes, trims); `None` in a closed loop, also of one kind only.
    pub(crate) fn rate(self, mean_size: f64, by_kind: [Option<f64>; 3]) -> Option<Iops> {
        match self {
            // What a pause has cost it is not the storage's to keep.
            Arrival::Closed | Arrival::ThinkTime { .. } | Arrival::RatedThinkTime(_) | Arrival::Traced(_) => {
                None
            }
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

impl KindRates {
    /// The same with each rate multiplied by `factor`.
    #[must_use]
    pub fn scaled(self, factor: f64) -> KindRates {
        let KindRates { reads, writes, trims, poisson } = self;
        let scaled = |pace: Option<Pace>| pace.map(|pace| pace.scaled(factor));
        KindRates { reads: scaled(reads), writes: scaled(writes), trims: scaled(trims), poisson }
    }
}

impl Pace {
    fn scaled(self, factor: f64) -> Pace {
        match self {
            Pace::Operations(rate) => Pace::Operations(Iops(rate.0 * factor)),
            Pace::Bytes(bytes) => Pace::Bytes(Bandwidth(bytes.0 * factor)),
        }
    }

    /// Operations a second, of so many bytes in the mean.
    fn rate(self, mean_size: f64) -> Iops {
        match self {
            Pace::Operations(rate) => rate,
            Pace::Bytes(bytes) => Iops(bytes.0 / mean_size),
        }
    }
}

/// Conditions that end a phase; the first one applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Stop {
    /// Measured time, after the ramp.
    pub runtime: Option<Nanos>,
    /// Bytes written or read by all workers, including the ramp.
    pub bytes: Option<Bytes>,
    /// Operations of all workers, including the ramp.
    pub operations: Option<u64>,
    /// Number of times to cover the target, including the ramp: its size over all workers together, or, if each worker has its
    /// own file, the whole region or an increment, for each worker. Several files each count in whole blocks.
    pub loops: Option<u32>,
    /// Bytes of each worker, including the ramp.
    pub worker_bytes: Option<Bytes>,
    /// Operations of each worker, including the ramp.
    pub worker_operations: Option<u64>,
    /// Maximum number of bytes written by all workers, including the ramp: an operation that could exceed it is not started. Each
    /// worker has an equal part, and ends when its part is used up, even if reads remain.
    pub written: Option<Bytes>,
    /// A write that fails because the device is full ends the phase without an error. Growing files without a size may then fill
    /// the file system.
    pub full: bool,
    /// Include operations in flight at the end of the runtime, and the time until they complete, in the results, as fio does.
    /// Otherwise they are reported as outstanding: rates refer to the runtime, and the operations in flight at one of its ends
    /// are excluded, so that with a ramp neither rate nor mean is biased. Use this setting for slow operations without a ramp.
    pub in_flight: bool,
}

impl Stop {
    /// Whether a condition is given at all.
    pub fn has_end(&self) -> bool {
        self.full || self.limits().iter().any(Option::is_some)
    }

    /// Whether a limit is 0, so that there is nothing to do.
    pub fn is_nothing(&self) -> bool {
        self.limits().contains(&Some(0))
    }

    /// All limits that are numbers.
    fn limits(&self) -> [Option<u64>; 7] {
        let Stop {
            runtime,
            bytes,
            operations,
            loops,
            worker_bytes,
            worker_operations,
            written,
            full: _,
            in_flight: _,
        } = *self;
        let bytes_of = |limit: Option<Bytes>| limit.map(|bytes| bytes.0);
        [
            runtime.map(|time| time.0),
            bytes_of(bytes),
            operations,
            loops.map(u64::from),
            bytes_of(worker_bytes),
            worker_operations,
            bytes_of(written),
        ]
    }
}
