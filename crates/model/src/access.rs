//! Order of the offsets, and which part of the target they lie in.

use serde::{Deserialize, Serialize};

use crate::trace::Trace;
use crate::units::Bytes;

/// Which part of the target's span a worker's offsets lie in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Regions {
    /// As the order of the offsets suggests: slices where it goes through the span from end to end, shared otherwise.
    #[default]
    Natural,
    /// Every worker the whole span, by itself: workers that go through it do so side by side.
    Shared,
    /// Each worker an equal part of its own.
    Slices,
    /// Worker w from w times so many bytes to the span's end (fio's `offset_increment`).
    Increment(Bytes),
}

/// Order of the offsets. Where workers have slices, each starts over at its own slice's end; otherwise all workers share
/// the whole span. In a mix of reads or trims with writes, each kind goes through the slice by itself where the order is one
/// block after another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// One block after the other; each worker in its own slice, starting over at its end.
    Sequential,
    /// As [`Sequential`](Access::Sequential), leaving out so many bytes after each block (fio's `rw=read:8k`). The holes
    /// are never touched.
    SequentialSkip {
        /// Bytes left out after each block.
        hole: Bytes,
    },
    /// From the last block of each worker's slice down to its first.
    Backwards,
    /// From the start of each worker's slice on, each operation so many bytes before the end of the one before; where that is
    /// before the slice's start, so many bytes before its end (fio's `rw=read:-8k`).
    SequentialBack {
        /// Bytes from the end of an operation back to the start of the next: at least the largest operation, at most the slice.
        step: Bytes,
    },
    /// Every so many bytes through each worker's slice, then again one block further, and so on: as a table stored by
    /// rows is read by columns. A round does each block of the slice once.
    Strided {
        /// Distance between the starts of two operations; a multiple of the block.
        stride: Bytes,
    },
    /// So many blocks one after the other from a uniformly random one on, then from another (fio's `rw=randread:8` with
    /// `rw_sequencer=sequential`). A run that meets the span's end goes on at its start, so that all blocks are equally
    /// likely.
    Runs {
        /// Blocks in a run; at least 1.
        blocks: u64,
    },
    /// Uniformly random blocks over the whole span.
    Random,
    /// Every block of the span exactly once per round over all workers, in an order that looks random and is new in each
    /// round.
    Covering,
    /// The block of rank k (from 1) with a probability in proportion to 1 / k^theta; ranks are scattered over the span.
    Zipf {
        /// Skew: 0 is uniform; 0.99 is YCSB's; any finite number from 0 up.
        theta: f64,
    },
    /// Self-similar: the share `h` of the blocks gets the share `1 - h` of the operations, and so on within them (0.2 is
    /// the rule of 80 and 20, 0.5 is uniform). Hot blocks are scattered over the span.
    Pareto {
        /// Share of the blocks, above 0 and below 1.
        h: f64,
    },
    /// Normally distributed around the middle of the span, cut off at its ends. Not scattered: neighbours are alike.
    Normal {
        /// Standard deviation in percent of the span; above 0 and at most 100.
        deviation_percent: f64,
    },
    /// Zones one after the other from the span's start, uniformly random within each. What they leave of the span is not
    /// touched.
    Zoned(Vec<Zone>),
    /// Places with a share of the operations of their own, uniformly random within each; the operations that are left
    /// are uniformly random over the rest of the span.
    HotSpots(Vec<HotSpot>),
    /// So many bytes of operations in a zone, then on to the next zone, and after the last again the first (fio's
    /// `zonemode=strided`). Each worker goes through all zones of its part.
    ZoneCycle(ZoneCycle),
    /// At the end of the file, which grows (O_APPEND): writes only, on a file made for this phase without reserving its
    /// blocks. The phase is over when the target's size has been written.
    Append,
    /// These operations, once, by each worker: their kinds, places and sizes, and with [`Arrival::Traced`](crate::Arrival) their
    /// instants too. `block` is the size of the largest read or write, the mix is [`Mix::Traced`](crate::Mix).
    Trace(Trace),
}

impl Access {
    /// Whether each operation follows from the one before, without chance.
    pub fn is_sequential(&self) -> bool {
        match self {
            Access::Sequential
            | Access::SequentialSkip { .. }
            | Access::SequentialBack { .. }
            | Access::Backwards
            | Access::Strided { .. }
            | Access::Append => true,
            Access::ZoneCycle(zones) => !zones.random,
            _ => false,
        }
    }
}

/// Zones of [`Access::ZoneCycle`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ZoneCycle {
    /// Length of a zone; a multiple of the block.
    pub range: Bytes,
    /// Bytes of operations in a zone before the next.
    pub amount: Bytes,
    /// Bytes left out between two zones.
    #[serde(default)]
    pub skip: Bytes,
    /// Uniformly random within the zone, rather than one block after the other.
    #[serde(default)]
    pub random: bool,
}

/// A zone of [`Access::Zoned`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Zone {
    /// Share of the operations in percent; over all zones 100.
    pub io_percent: f64,
    /// How much of the span it is.
    pub size: ZoneSize,
}

/// Size of a [`Zone`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ZoneSize {
    /// In percent of the span.
    Percent(f64),
    /// Absolute.
    Bytes(Bytes),
}

/// A place of [`Access::HotSpots`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HotSpot {
    /// Where it starts, counted from the span's start; rounded down to a block.
    pub offset: Bytes,
    /// How long it is; its end is rounded down to a block.
    pub length: Bytes,
    /// Share of the operations in percent; over all spots at most 100.
    pub io_percent: f64,
}
