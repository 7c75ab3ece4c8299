//! Order of the offsets, and which part of the target they lie in.

use serde::{Deserialize, Serialize};

use crate::trace::Trace;
use crate::units::Bytes;

/// Region of the target that a worker accesses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Regions {
    /// Depends on the order of the offsets: slices for sequential orders, otherwise shared.
    #[default]
    Natural,
    /// Every worker accesses the whole region independently.
    Shared,
    /// Each worker has its own slice of equal size.
    Slices,
    /// Worker w starts at w times this number of bytes and ends at the end of the region (fio's `offset_increment`).
    Increment(Bytes),
    /// Every worker accesses this part of the region independently: of these many bytes, from this offset on.
    Part {
        /// First byte.
        start: Bytes,
        /// Bytes from there.
        length: Bytes,
    },
}

/// Order of the offsets. If workers have slices, each starts over at the end of its slice; otherwise all workers share the whole
/// region. In a sequential mix of reads or trims with writes, each kind advances independently.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// Sequential; each worker in its own slice, starting over at its end.
    Sequential,
    /// Like [`Sequential`](Access::Sequential), but skips this number of bytes after each block (fio's `rw=read:8k`). The holes
    /// are never accessed.
    SequentialSkip {
        /// Bytes to skip after each block.
        hole: Bytes,
    },
    /// From the last block of each worker's slice down to its first.
    Backwards,
    /// From the start of each worker's slice, each operation this number of bytes before the end of the previous one; if that is
    /// before the start of the slice, this number of bytes before its end (fio's `rw=read:-8k`).
    SequentialBack {
        /// Bytes from the end of an operation back to the start of the next: at least the largest operation, at most the slice.
        step: Bytes,
    },
    /// At this distance through each worker's slice, then again one block further, and so on, as a table stored by rows is read
    /// by columns. A round accesses each block of the slice once.
    Strided {
        /// Distance between the starts of two operations; a multiple of the block.
        stride: Bytes,
    },
    /// Runs of this number of sequential blocks, each starting at a uniformly random block (fio's `rw=randread:8` with
    /// `rw_sequencer=sequential`). A run that reaches the end of the region continues at its start, so that all blocks are equally likely.
    Runs {
        /// Blocks in a run; at least 1.
        blocks: u64,
    },
    /// Uniformly random blocks over the whole region.
    Random,
    /// Every block of the region exactly once per round over all workers, in a pseudo-random order that differs in each round.
    Covering,
    /// The block of rank k (from 1) with a probability proportional to 1 / k^theta; ranks are scattered over the region.
    Zipf {
        /// Skew: 0 is uniform; 0.99 is YCSB's; any finite number from 0 up.
        theta: f64,
        /// Where the most frequent block lies, from 0 (the start of the region) to 1 (its end); unless given, anywhere.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        centre: Option<f64>,
    },
    /// Self-similar: a fraction `h` of the blocks gets a fraction `1 - h` of the operations, recursively (0.2 is the 80-20 rule,
    /// 0.5 is uniform). Hot blocks are scattered over the region.
    Pareto {
        /// Share of the blocks, above 0 and below 1.
        h: f64,
        /// Where the most frequent block lies, from 0 (the start of the region) to 1 (its end); unless given, anywhere.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        centre: Option<f64>,
    },
    /// Normally distributed around a place in the region, truncated at its ends. Blocks are not scattered.
    Normal {
        /// Standard deviation in percent of the region; above 0 and at most 100.
        deviation_percent: f64,
        /// The most frequent place, from 0 (the start of the region) to 1 (its end); unless given, the middle.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        centre: Option<f64>,
    },
    /// Contiguous zones from the start of the region, uniformly random within each zone. The rest of the region is not accessed.
    Zoned(Vec<Zone>),
    /// Hot spots with their own percentages of the operations, uniformly random within each; the other operations are uniformly
    /// random over the rest of the region.
    HotSpots(Vec<HotSpot>),
    /// A given amount of I/O in a zone, then in the next zone, and the first zone again after the last one (fio's
    /// `zonemode=strided`). Each worker uses all zones of its slice.
    ZoneCycle(ZoneCycle),
    /// Jumps to places of a random order, and goes on from each (fio's `percentage_random` and `random_sequence_stride`).
    Jumps(Box<Jumps>),
    /// Each block of the region once, in a pseudo-random order, and some of them again: one pass of writes after which a solid-state
    /// drive is in the steady state of random writes (fio's `sprandom`). Each worker in its own slice; one block size, writes only.
    Precondition(Precondition),
    /// Reads (of a mix without reads, trims) in one order and writes in another, of one block size.
    ByKind(Box<ByKind>),
    /// Reads and writes of several sizes and orders by their percentages, drawn for each operation (the lines of Iometer's access
    /// specifications). What is not random begins where the operation before it ended, whichever that was. `block` is the largest
    /// size, and the mix is that of all of them.
    Mixture(Box<Mixture>),
    /// At the end of a growing file (O_APPEND): writes only, on a file that this phase creates without preallocation. The phase
    /// ends when the size of the target has been written.
    Append,
    /// The operations of a trace, replayed once by each worker, with their kinds, offsets and sizes, and with
    /// [`Arrival::Traced`](crate::Arrival) also their times. `block` is the size of the largest read or write, and the mix is
    /// [`Mix::Traced`](crate::Mix).
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

/// The orders of [`Access::ByKind`], neither of which is of this kind itself, an append or a trace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ByKind {
    /// Order of the reads; of a mix without reads, of the trims.
    pub reads: Access,
    /// Order of the writes, and of trims beside reads and writes.
    pub writes: Access,
}

/// The operations of [`Access::Mixture`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mixture {
    /// The kinds of operations; at least one.
    pub lines: Vec<MixtureLine>,
    /// Offset within the region of each worker at which its first operation begins if it is not random; rounded up to the alignment of
    /// its line, and 0 where it does not fit behind it.
    #[serde(default)]
    pub first: Bytes,
}

/// A kind of operations of a [`Mixture`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MixtureLine {
    /// Weight: its percentage of the operations, if all of them add up to 100; at least 1.
    pub share: u32,
    /// Bytes of each operation.
    pub size: Bytes,
    /// Offsets are multiples of this number of bytes; at least 1.
    pub alignment: Bytes,
    /// Percentage of reads; the others are writes.
    pub reads: u8,
    /// Percentage at random offsets, read or written.
    pub random: u8,
}

impl Mixture {
    /// Mean number of bytes of an operation.
    pub fn mean_size(&self) -> f64 {
        let weighted = self.lines.iter().map(|line| f64::from(line.share) * line.size.0 as f64).sum::<f64>();
        weighted / self.lines.iter().map(|line| f64::from(line.share)).sum::<f64>().max(1.0)
    }
}

/// How [`Access::Precondition`] writes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Precondition {
    /// Memory of the drive beyond the region, divided by the region.
    pub over_provisioning: f64,
    /// Number of equal parts of the pass. Behind each of them, as many of its blocks are written again as it has invalid ones in the
    /// steady state. A worker remembers these: 8 bytes each.
    pub regions: u32,
    /// A further part lies between: for a drive with a cache that would otherwise replace a block before it is written to memory.
    pub delayed: bool,
}

impl Default for Precondition {
    fn default() -> Precondition {
        Precondition { over_provisioning: 0.15, regions: 100, delayed: false }
    }
}

impl Precondition {
    /// Writes of a pass over a region of this number of blocks: as many as the drive has memory for.
    pub fn writes(&self, blocks: u64) -> u64 {
        blocks.saturating_add((blocks as f64 * self.over_provisioning) as u64)
    }
}

/// Jumps of [`Access::Jumps`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Jumps {
    /// Order of the places that jumps lead to: a random one.
    pub to: Access,
    /// Number of operations from one jump to the next; 0 if `percent` decides.
    pub run: u64,
    /// Percentage of the operations that jump, by chance.
    pub percent: u8,
    /// Bytes from the start of an operation to the start of the next one that does not jump; 0 for the block. At the end of the
    /// region it continues at its start.
    pub step: Bytes,
    /// Operations that do not jump repeat the offset of the one before (fio's `rw_sequencer=identical`).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub repeat: bool,
}

impl Jumps {
    /// What follows the places that jumps lead to, in words.
    pub fn in_a_row(&self) -> String {
        if self.repeat {
            return match self.run {
                0 => format!(
                    " ({} % of the operations, the others at the offset of the one before)",
                    self.percent
                ),
                run => format!(" ({run} times each)"),
            };
        }
        let apart = if self.step.0 > 0 { format!(", {} apart", self.step) } else { String::new() };
        match self.run {
            0 => format!(" ({} % of the operations, the others in a row{apart})", self.percent),
            run => format!(" (runs of {run} from there{apart})"),
        }
    }
}

impl Default for Jumps {
    fn default() -> Jumps {
        Jumps { to: Access::Random, run: 0, percent: 0, step: Bytes(0), repeat: false }
    }
}

/// Zones of [`Access::ZoneCycle`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ZoneCycle {
    /// Length of a zone; a multiple of the block.
    pub range: Bytes,
    /// Amount of I/O in a zone before the next zone.
    pub amount: Bytes,
    /// Bytes skipped between two zones.
    #[serde(default)]
    pub skip: Bytes,
    /// Uniformly random within the zone instead of sequential.
    #[serde(default)]
    pub random: bool,
}

/// A zone of [`Access::Zoned`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Zone {
    /// Percentage of the operations; 100 in total over all zones.
    pub io_percent: f64,
    /// Size of the zone.
    pub size: ZoneSize,
}

/// Size of a [`Zone`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ZoneSize {
    /// In percent of the region.
    Percent(f64),
    /// In bytes.
    Bytes(Bytes),
}

/// A hot spot of [`Access::HotSpots`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HotSpot {
    /// Offset from the start of the region; rounded down to a block.
    pub offset: Bytes,
    /// Length; the end is rounded down to a block.
    pub length: Bytes,
    /// Percentage of the operations; at most 100 in total.
    pub io_percent: f64,
}
