//! Verification of written data.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::units::Bytes;

/// How written data is verified.
///
/// Every unit of written data begins with a header that contains its location, write sequence number and run. A checksum detects
/// corrupted data, and the header identifies misdirected, lost and torn writes. Each worker verifies the data that it has
/// written, in its own region of the target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verify {
    /// The checksum of the data.
    pub check: Checksum,
    /// Distance between headers, of which all offsets and sizes are multiples; 0 for the block size.
    #[serde(default)]
    pub unit: Bytes,
    /// Verify every read when it completes, except units that were not written.
    #[serde(default)]
    pub reads: bool,
    /// Accept data written by any run, not only by this worker: for tasks that read data written by others, and for tasks that
    /// write data to be verified by others. Units not written by iolite are errors then.
    #[serde(default)]
    pub anyone: bool,
    /// Read and verify all written data after the phase.
    #[serde(default)]
    pub after: bool,
    /// Size of the reads `after` the phase, a multiple of the unit; 0 for large reads.
    #[serde(default)]
    pub block: Bytes,
    /// No read `after` the phase holds parts of two writes: with several sizes, each write is read back by its size.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_write: bool,
    /// Number of equal parts of the work of each worker, such as loops, after each of which what was written in it is read and
    /// verified; the last part is verified `after` the phase. 0 and 1 for all of it at once.
    #[serde(default, skip_serializing_if = "is_none")]
    pub passes: u32,
    /// Maximum number of writes of a worker that were not verified: with so many, some are read and verified before it goes on
    /// (fio's `verify_backlog`); 0 for no limit. Without direct I/O they are read again later, since what is read may come from the
    /// page cache.
    #[serde(default, skip_serializing_if = "is_none")]
    pub backlog: u32,
    /// Number of writes of a full `backlog` that are verified, the oldest first; 0 for all of them.
    #[serde(default, skip_serializing_if = "is_none")]
    pub backlog_batch: u32,
    /// Positions in the pattern ([`Fill::Pattern`](crate::Fill::Pattern)) of eight bytes each that contain the offset of the unit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offsets: Vec<u32>,
    /// Position in a unit of the header and checksum of fio's formats (fio's `verify_offset`); 0 for its start. They are swapped
    /// with the data there.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub header_at: Bytes,
    /// Headers in fio's formats are written as fio 3.42 writes them, instead of fio 3.33. Both are read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub newer_headers: bool,
    /// Units that were trimmed must be zeros; otherwise they are not compared.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub trimmed_zeros: bool,
    /// Nothing is read, written or trimmed in the phase: `after` it, what it would have written is verified, whichever run has
    /// written it (fio's `verify_only`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only: bool,
    /// What is read `after` the phase is read only until the first wrong unit (fio's `verify_fatal`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fatal: bool,
    /// Wrong units, and what is known of their correct contents, are saved in files beside the target
    /// (fio's `verify_dump`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dump: bool,
    /// File in which the verification state is saved, for verification at a later time; it must not exist yet.
    #[serde(default)]
    pub state: Option<PathBuf>,
    /// The state is saved in fio's form, at the end, and replaces an earlier one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fio_state: bool,
}

fn is_zero(bytes: &Bytes) -> bool {
    bytes.0 == 0
}

// The signature is serde's.
#[expect(clippy::trivially_copy_pass_by_ref)]
fn is_none(number: &u32) -> bool {
    *number == 0
}

impl Default for Verify {
    /// Whole blocks by CRC-32C, never compared.
    fn default() -> Verify {
        Verify {
            check: Checksum::Crc32c,
            unit: Bytes(0),
            reads: false,
            anyone: false,
            after: false,
            block: Bytes(0),
            by_write: false,
            passes: 0,
            backlog: 0,
            backlog_batch: 0,
            offsets: Vec::new(),
            header_at: Bytes(0),
            newer_headers: false,
            trimmed_zeros: false,
            only: false,
            fatal: false,
            dump: false,
            state: None,
            fio_state: false,
        }
    }
}

/// The checksum of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Checksum {
    /// CRC-32C (Castagnoli; RFC 3720).
    Crc32c,
    /// XXH3, 64 bits.
    Xxh3,
    /// SHA-256 (FIPS 180-4).
    Sha256,
    /// No checksum: the data is derived from the header and compared byte by byte.
    Pattern,
    /// No checksum: only the header is verified.
    Header,
    /// A checksum in fio's format, which fio can verify; its headers contain less information.
    Fio(FioChecksum),
}

/// Verification of a unit in fio's format: fio's values of `verify`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, strum::IntoStaticStr, strum::VariantArray,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum FioChecksum {
    /// Only the header.
    Meta,
    /// MD5.
    Md5,
    /// CRC of 64 bits.
    Crc64,
    /// CRC of 32 bits.
    Crc32,
    /// CRC-32C.
    Crc32c,
    /// CRC of 16 bits.
    Crc16,
    /// CRC of 7 bits.
    Crc7,
    /// SHA-1.
    Sha1,
    /// What fio stores for SHA-256.
    Sha256,
    /// What fio stores for SHA-512.
    Sha512,
    /// SHA3-224.
    #[serde(rename = "sha3-224")]
    Sha3_224,
    /// SHA3-256.
    #[serde(rename = "sha3-256")]
    Sha3_256,
    /// SHA3-384.
    #[serde(rename = "sha3-384")]
    Sha3_384,
    /// SHA3-512.
    #[serde(rename = "sha3-512")]
    Sha3_512,
    /// XXH32.
    Xxhash,
    /// A pattern without headers.
    Pattern,
    /// A header and a pattern, which is not compared.
    #[strum(serialize = "pattern_hdr")]
    PatternHeader,
    /// No verification.
    Null,
}

impl FioChecksum {
    /// All of them.
    pub const ALL: &[FioChecksum] = <FioChecksum as strum::VariantArray>::VARIANTS;

    /// As fio calls it.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl Verify {
    /// Whether written data is verified during the phase, while the workers stand still.
    pub fn during(&self) -> bool {
        self.passes > 1 || self.backlog > 0
    }

    /// The unit, for a task of blocks of this size.
    pub fn unit_for(&self, block: Bytes) -> Bytes {
        if self.unit.0 > 0 { self.unit } else { block }
    }
}

impl Checksum {
    /// As printed and stored.
    pub fn name(self) -> &'static str {
        match self {
            Checksum::Crc32c => "crc32c",
            Checksum::Xxh3 => "xxh3",
            Checksum::Sha256 => "sha256",
            Checksum::Pattern => "pattern",
            Checksum::Header => "header",
            Checksum::Fio(check) => check.name(),
        }
    }
}

/// What verification found.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Verified {
    /// Units that were compared.
    pub units: u64,
    /// Of these, the ones that are not what was written.
    pub wrong: u64,
    /// Units that were read but could not be compared: nobody had written them, a write was on its way to them, or
    /// their last write had failed.
    pub unknown: u64,
    /// Units that could not be read.
    pub unreadable: u64,
    /// Not all was compared: interrupted.
    pub incomplete: bool,
    /// The wrong ones by kind of damage.
    #[serde(default)]
    pub damage: BTreeMap<Damage, u64>,
    /// The first ones found wrong or unreadable, up to [`Verified::LISTED`].
    #[serde(default)]
    pub first: Vec<Finding>,
}

/// A unit that is not what was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Where it is, in bytes from the target's start; with several files counted through them, and `what` names the file.
    pub offset: u64,
    /// What kind of damage; none where it could not be read.
    #[serde(default)]
    pub damage: Option<Damage>,
    /// What is wrong, as text.
    pub what: String,
}

/// What has become of a unit that is not what was written.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, strum::IntoStaticStr,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Damage {
    /// Nothing that this run has written there is there.
    Lost,
    /// An earlier write of this run is there.
    Stale,
    /// Data is there that this run has written elsewhere.
    Misplaced,
    /// Only some sectors of a write are there.
    Torn,
    /// All sectors are there, and the data is not what was written.
    Corrupt,
    /// One of both: units in fio's format have no marks that would separate them.
    #[strum(serialize = "torn or corrupt")]
    TornOrCorrupt,
    /// Data that is not iolite's, or of another format.
    Foreign,
    /// A later write than the last known.
    Newer,
}

impl Damage {
    /// As printed and stored.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl Verified {
    /// Number of findings listed.
    pub const LISTED: usize = 10;

    /// Adds what another worker found.
    pub fn add(&mut self, other: Verified) {
        self.units += other.units;
        self.wrong += other.wrong;
        self.unknown += other.unknown;
        self.unreadable += other.unreadable;
        self.incomplete |= other.incomplete;
        for (damage, units) in other.damage {
            *self.damage.entry(damage).or_default() += units;
        }
        self.first.extend(other.first);
        self.first.sort_by_key(|finding| finding.offset);
        self.first.truncate(Verified::LISTED);
    }

    /// Counts a unit that is not what was written.
    pub fn note_damage(&mut self, offset: u64, damage: Damage, what: impl FnOnce() -> String) {
        self.wrong += 1;
        *self.damage.entry(damage).or_default() += 1;
        self.list(offset, Some(damage), what);
    }

    /// Counts a unit that can't be read.
    pub fn note_unreadable(&mut self, offset: u64, what: impl FnOnce() -> String) {
        self.unreadable += 1;
        self.list(offset, None, what);
    }

    fn list(&mut self, offset: u64, damage: Option<Damage>, what: impl FnOnce() -> String) {
        if self.first.len() < Verified::LISTED {
            self.first.push(Finding { offset, damage, what: what() });
        }
    }
}
