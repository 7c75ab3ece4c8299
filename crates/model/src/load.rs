//! What operations are like besides where and when: their sizes, and the contents of what is written.

use serde::{Deserialize, Serialize};

use crate::units::Bytes;

/// Sizes of operations, for reads, writes and trims apart, and what their offsets are multiples of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sizes {
    /// Sizes of reads.
    pub reads: SizeLaw,
    /// Sizes of writes.
    pub writes: SizeLaw,
    /// Sizes of trims.
    pub trims: SizeLaw,
    /// Every offset is a multiple of this, whatever the sizes; at least 1.
    pub alignment: Bytes,
}

/// How the size of an operation is chosen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SizeLaw {
    /// Always the same; above 0.
    Fixed(Bytes),
    /// Each multiple of `multiple` from `min` to `max` equally likely.
    Range {
        /// The smallest size; a multiple of `multiple`, above 0.
        min: Bytes,
        /// The largest size; a multiple of `multiple`, not below `min`.
        max: Bytes,
        /// What all sizes are multiples of; above 0.
        multiple: Bytes,
    },
    /// Some sizes, each with its share.
    Split(Vec<WeightedSize>),
}

/// A size of a [`SizeLaw::Split`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WeightedSize {
    /// The size; above 0.
    pub size: Bytes,
    /// Its share of the operations in percent; 100 over all sizes.
    pub percent: f64,
}

/// Contents of what is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Contents {
    /// What a block holds.
    pub fill: Fill,
    /// Share of the blocks, in percent (0 to 100), that repeat one of a small set, the same for all workers. Storage
    /// that deduplicates keeps each of that set once.
    pub duplicate_percent: u8,
    /// Made anew for each write; otherwise each buffer is filled once and written over and over.
    pub refill: bool,
    /// Where it is not made anew: eight bytes in every 512 are, so that storage that deduplicates does not find the same blocks
    /// again. For random bytes without duplicates.
    pub scramble: bool,
}

impl Default for Contents {
    /// Random bytes, made anew for each write.
    fn default() -> Contents {
        Contents { fill: Fill::Random, duplicate_percent: 0, refill: true, scramble: false }
    }
}

/// What a block holds.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fill {
    /// Random bytes: nothing to gain by compression or deduplication.
    #[default]
    Random,
    /// Zeros.
    Zeros,
    /// These bytes over and over from the start of each block; at least one.
    Pattern(Vec<u8>),
    /// In every 4 KiB, random bytes followed by compressible ones.
    Compressible {
        /// Share of the compressible bytes, in percent (0 to 100).
        percent: u8,
        /// What these are, over and over; empty for zeros.
        pattern: Vec<u8>,
    },
}

impl Sizes {
    /// The same law for all operations.
    pub fn alike(law: SizeLaw, alignment: Bytes) -> Sizes {
        Sizes { reads: law.clone(), writes: law.clone(), trims: law, alignment }
    }

    /// The largest size that an operation may have.
    pub fn largest(&self) -> Bytes {
        self.reads.largest().max(self.writes.largest()).max(self.trims.largest())
    }
}

impl SizeLaw {
    /// The largest size that it may choose: what a buffer has to hold. Zero where it has no sizes.
    pub fn largest(&self) -> Bytes {
        match self {
            SizeLaw::Fixed(size) => *size,
            SizeLaw::Range { max, .. } => *max,
            SizeLaw::Split(sizes) => sizes.iter().map(|weighted| weighted.size).max().unwrap_or_default(),
        }
    }

    /// The expected size in bytes.
    pub fn mean(&self) -> f64 {
        match self {
            SizeLaw::Fixed(size) => size.0 as f64,
            SizeLaw::Range { min, max, .. } => (min.0 as f64 + max.0 as f64) / 2.0,
            SizeLaw::Split(sizes) => {
                sizes.iter().map(|weighted| weighted.size.0 as f64 * weighted.percent / 100.0).sum()
            }
        }
    }
}
