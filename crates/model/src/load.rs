//! What operations are like besides where and when: their sizes, and the contents of what is written.

use serde::{Deserialize, Serialize};

use crate::units::Bytes;

/// Sizes of reads, writes and trims, and the alignment of their offsets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sizes {
    /// Sizes of reads.
    pub reads: SizeLaw,
    /// Sizes of writes.
    pub writes: SizeLaw,
    /// Sizes of trims.
    pub trims: SizeLaw,
    /// Alignment of all offsets; at least 1.
    pub alignment: Bytes,
}

/// How the size of an operation is chosen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SizeLaw {
    /// A fixed size; above 0.
    Fixed(Bytes),
    /// A multiple of `multiple` from `min` to `max`, all equally likely.
    Range {
        /// The smallest size; a multiple of `multiple`, above 0.
        min: Bytes,
        /// The largest size; a multiple of `multiple`, not below `min`.
        max: Bytes,
        /// All sizes are multiples of this; above 0.
        multiple: Bytes,
    },
    /// One of several sizes, each with a percentage.
    Split(Vec<WeightedSize>),
}

/// A size of a [`SizeLaw::Split`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WeightedSize {
    /// The size; above 0.
    pub size: Bytes,
    /// Percentage of the operations; 100 in total over all sizes.
    pub percent: f64,
}

/// Contents of written data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Contents {
    /// Contents of a block.
    pub fill: Fill,
    /// Percentage of the blocks (0 to 100) that repeat others. Deduplicating storage keeps each of those once.
    pub duplicate_percent: u8,
    /// What these repeat.
    #[serde(skip_serializing_if = "Duplicates::is_default")]
    pub duplicates: Duplicates,
    /// Fill the buffer for each write; otherwise each buffer is filled once and written repeatedly.
    pub refill: bool,
    /// Without `refill`: change eight bytes in every 512 for each write, to defeat deduplication. For random bytes without
    /// duplicates.
    pub scramble: bool,
    /// How long written data is expected to live, which the kernel passes on to file systems and devices that use it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lifetime: Option<Lifetime>,
}

/// What duplicate blocks repeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Duplicates {
    /// One of a set of this number of blocks, which all workers of the task share; at least 1.
    Set(u64),
    /// One of a set of this number of blocks, which all tasks that say so share.
    Common(u64),
    /// The last block of the worker that is no duplicate.
    Previous,
}

impl Default for Duplicates {
    /// Few enough that each comes back soon, more than a device could take for a special case.
    fn default() -> Duplicates {
        Duplicates::Set(16)
    }
}

impl Duplicates {
    fn is_default(&self) -> bool {
        *self == Duplicates::default()
    }
}

/// Expected lifetime of written data, relative to other data (`RWH_WRITE_LIFE_` of fcntl(2)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lifetime {
    /// None in particular, even if the file had one.
    None,
    /// Short.
    Short,
    /// Medium.
    Medium,
    /// Long.
    Long,
    /// Extremely long.
    Extreme,
}

impl Default for Contents {
    /// Random bytes, generated for each write.
    fn default() -> Contents {
        Contents {
            fill: Fill::Random,
            duplicate_percent: 0,
            duplicates: Duplicates::default(),
            refill: true,
            scramble: false,
            lifetime: None,
        }
    }
}

/// Contents of a block.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fill {
    /// Random bytes, which cannot be compressed or deduplicated.
    #[default]
    Random,
    /// Zeros.
    Zeros,
    /// These bytes, repeated from the start of each block; at least one.
    Pattern(Vec<u8>),
    /// In every chunk, random bytes followed by compressible ones.
    Compressible {
        /// Percentage of compressible bytes (0 to 100).
        percent: u8,
        /// Contents of the compressible bytes, repeated; empty for zeros.
        pattern: Vec<u8>,
        /// Size of a chunk; 0 for the block.
        #[serde(default = "compressed_unit", skip_serializing_if = "is_compressed_unit")]
        chunk: Bytes,
    },
}

impl Fill {
    /// This percentage of compressible bytes in every 4 KiB, what compressing storage takes at once at least.
    pub fn compressible(percent: u8, pattern: Vec<u8>) -> Fill {
        Fill::Compressible { percent, pattern, chunk: compressed_unit() }
    }
}

fn compressed_unit() -> Bytes {
    Bytes(4096)
}

fn is_compressed_unit(chunk: &Bytes) -> bool {
    *chunk == compressed_unit()
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
