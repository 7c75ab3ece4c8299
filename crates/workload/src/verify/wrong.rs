//! What may be wrong with a unit.

use std::fmt;

use iolite_model::{Checksum, Damage, FioChecksum};

/// What is wrong with a unit; its text is for messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrong {
    /// It is not whole: so many bytes.
    Short {
        /// Bytes there are.
        length: usize,
        /// Bytes of a unit.
        unit: u32,
    },
    /// All zeros: never written, or given back.
    Zeros,
    /// Not data of iolite's.
    Foreign,
    /// The header was written by iolite and then damaged.
    Header,
    /// A write of another run: this run's has been lost.
    OtherRun {
        /// Number of that run.
        run: u64,
    },
    /// A write of iolite's with another version, checksum or unit.
    OtherFormat,
    /// A misdirected write: it belongs elsewhere.
    Misdirected {
        /// Where, in bytes.
        belongs: u64,
    },
    /// A lost write: an earlier one is still there.
    Stale {
        /// Sequence number found.
        found: u32,
        /// Sequence number of the write that was lost.
        expected: u32,
    },
    /// A later write than the last one that is known of.
    Newer {
        /// Sequence number found.
        found: u32,
        /// Sequence number of the last write that is known of.
        expected: u32,
    },
    /// A torn write: not all sectors belong to the same write.
    Torn {
        /// The first sector that belongs to another write than the header, or 0 where the header does; in bytes from the unit's
        /// start.
        at: u32,
        /// The highest sequence number of this run in it.
        newest: u32,
    },
    /// A corrupt write: the mark of a sector is damaged.
    Mark {
        /// The sector, in bytes from the unit's start.
        at: u32,
    },
    /// A corrupt write: header and marks are right, and the data is not what its checksum was made from.
    Payload {
        /// The checksum.
        check: Checksum,
    },
    /// The same in fio's format, which has no marks: a torn or corrupt write.
    FioPayload {
        /// The checksum.
        check: FioChecksum,
    },
    /// A corrupt write: header and marks are right, and the data is not the pattern that follows from it.
    Pattern {
        /// The first byte that differs, counted from the unit's start.
        at: u32,
    },
    /// It was trimmed and holds data.
    NotTrimmed {
        /// The first byte that is not zero, counted from the unit's start.
        at: u32,
    },
    /// The same in fio's format: a torn or corrupt write.
    FioPattern {
        /// The first byte that differs, counted from the unit's start.
        at: u32,
    },
}

impl Wrong {
    /// The kind of damage.
    pub fn damage(&self) -> Damage {
        match self {
            Wrong::Zeros | Wrong::OtherRun { .. } => Damage::Lost,
            Wrong::Stale { .. } | Wrong::NotTrimmed { .. } => Damage::Stale,
            Wrong::Newer { .. } => Damage::Newer,
            Wrong::Misdirected { .. } => Damage::Misplaced,
            Wrong::Torn { .. } => Damage::Torn,
            Wrong::Short { .. }
            | Wrong::Header
            | Wrong::Mark { .. }
            | Wrong::Payload { .. }
            | Wrong::Pattern { .. } => Damage::Corrupt,
            Wrong::FioPayload { .. } | Wrong::FioPattern { .. } => Damage::TornOrCorrupt,
            Wrong::Foreign | Wrong::OtherFormat => Damage::Foreign,
        }
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wrong::Short { length, unit } => write!(f, "only {length} of {unit} bytes are there"),
            Wrong::Zeros => f.write_str("a lost write: all zeros, never written or given back"),
            Wrong::Foreign => f.write_str("foreign: it does not begin with a header of verified data"),
            Wrong::Header => f.write_str("a corrupt write: its header is damaged"),
            Wrong::OtherRun { run } => {
                write!(f, "a lost write: data of another run ({run:016x}) is still there")
            }
            Wrong::OtherFormat => f.write_str("verified data in another format (version, checksum or unit)"),
            Wrong::Misdirected { belongs } => {
                write!(f, "a misdirected write or read: this data belongs at byte {belongs}")
            }
            Wrong::Stale { found, expected } => {
                write!(f, "a stale write: number {expected} was written, number {found} is still there")
            }
            Wrong::NotTrimmed { at } => {
                write!(f, "a lost trim: it was trimmed, and is not zero from byte {at} of the unit on")
            }
            Wrong::Newer { found, expected } => {
                write!(f, "newer than the last write known of: number {found}, where {expected} was the last")
            }
            Wrong::Torn { at: 0, newest } => {
                write!(f, "a torn write: its first sector is not that of write number {newest}")
            }
            Wrong::Torn { at, newest } => write!(
                f,
                "a torn write: from byte {at} of the unit on not all is of the write in its header; the newest is number {newest}"
            ),
            Wrong::Mark { at } => {
                write!(f, "a corrupt write: the mark of the sector at byte {at} of the unit is damaged")
            }
            Wrong::Payload { check } => {
                write!(f, "a corrupt write: its {} does not match", check.name())
            }
            Wrong::FioPayload { check } => {
                write!(f, "a torn or corrupt write: its {} does not match", check.name())
            }
            Wrong::Pattern { at } => {
                write!(f, "a corrupt write: it differs from byte {at} of the unit on")
            }
            Wrong::FioPattern { at } => {
                write!(f, "a torn or corrupt write: it differs from byte {at} of the unit on")
            }
        }
    }
}
