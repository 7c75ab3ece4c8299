//! The verified unit: written so that it can be distinguished from anything else when it is read.
//!
//! A unit begins with a header of [`Seal::HEADER`] bytes, numbers least significant byte first:
//!
//! | bytes | what |
//! |---|---|
//! | 0..8 | magic |
//! | 8..10 | version of the format |
//! | 10 | kind of checksum |
//! | 11 | 0 |
//! | 12..16 | sequence number of the write |
//! | 16..24 | run |
//! | 24..32 | offset |
//! | 32..36 | length of the unit, with its header |
//! | 36..68 | checksum of what follows the header; the rest of the 32 bytes is 0 |
//! | 68..72 | CRC-32C of bytes 0..68 |
//!
//! Each further sector of 512 bytes begins with a mark of the write that it belongs to (see `marks`), so that a write of which only
//! some sectors have arrived differs from one that was damaged.

mod fio;
mod marks;
mod wrong;

use iolite_model::{Bytes, Checksum};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use sha2::{Digest, Sha256};
use xxhash_rust::xxh3::xxh3_64;

use crate::error::WorkloadError;
use fio::FioSeal;
use marks::{DAMAGED_BITS, MARK, Marks, Owner};
pub use wrong::Wrong;

/// In the first bytes of every unit. Not text that a file may begin with by itself.
const MAGIC: [u8; 8] = *b"\x89iolite\n";

/// Version of the format.
const VERSION: u16 = 2;

/// Bytes of the largest checksum.
const LARGEST_CHECKSUM: usize = 32;

/// Bytes of the header that its own checksum is over.
const GUARDED: usize = Seal::HEADER - 4;

/// What a device writes whole or not at all.
const SECTOR: usize = 512;

/// Bytes of a pattern made at a time for comparison: a multiple of what the generator makes at once.
const CHUNK: usize = 256;

/// Stamps units on their way out, and inspects them on their way back.
#[derive(Debug, Clone)]
pub struct Seal {
    check: Checksum,
    unit: u32,
    run: u64,
    /// Where the format is fio's.
    fio: Option<FioSeal>,
}

/// Which write of a unit is expected to be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// That of this sequence number.
    Exactly(u32),
    /// That of this sequence number or a later one.
    AtLeast(u32),
    /// Any of this run.
    Any,
    /// Any of any run, whatever its checksum.
    Anyone,
}

/// What a header says.
struct Header {
    version: u16,
    check: u8,
    sequence: u32,
    run: u64,
    offset: u64,
    length: u32,
    checksum: [u8; LARGEST_CHECKSUM],
}

impl Seal {
    /// Bytes of a unit that are its header.
    pub const HEADER: usize = 72;

    /// For units of `unit` bytes of the run of this number.
    ///
    /// # Errors
    /// A unit is smaller than its header.
    pub fn new(check: Checksum, unit: u32, run: u64) -> Result<Seal, WorkloadError> {
        let (min, rule, fio) = match check {
            Checksum::Fio(check) => {
                let rule = "each begins with a header of 40 bytes and its checksum";
                (FioSeal::smallest(check), rule, Some(FioSeal::new(check, unit, run)))
            }
            _ => (Seal::HEADER, "each begins with a header of 72 bytes", None),
        };
        WorkloadError::unless(
            unit as usize >= min,
            || format!("the verified unit has {unit} bytes"),
            rule,
            "make it larger; 512 is what the smallest devices write at once",
        )?;
        Ok(Seal { check, unit, run, fio })
    }

    /// The same for units of fio's that have no header and consist of this pattern.
    #[must_use]
    pub fn with_pattern(mut self, pattern: &[u8], offsets: &[u32]) -> Seal {
        self.fio = self.fio.map(|fio| fio.with_pattern(pattern, offsets));
        self
    }

    /// The same for units of fio's whose header is in this place.
    ///
    /// # Errors
    /// It cannot be there.
    pub fn with_header_at(mut self, place: Bytes) -> Result<Seal, WorkloadError> {
        let at = usize::try_from(place.0).unwrap_or(usize::MAX);
        let fits = match self.check {
            Checksum::Fio(check) => FioSeal::can_have_header_at(check, self.unit, at),
            _ => at == 0,
        };
        WorkloadError::unless(
            fits,
            || format!("the header is {} bytes from the start of a unit of {} bytes", place.0, self.unit),
            "header and checksum, which fio's formats have there, are swapped with other data of the unit",
            "specify at least 176, and larger units",
        )?;
        self.fio = self.fio.map(|fio| fio.with_header_at(at));
        Ok(self)
    }

    /// The same for units of fio's whose headers are written as fio 3.42 writes them, if `newer`.
    ///
    /// # Errors
    /// A unit is smaller than such a header.
    pub fn with_newer_headers(mut self, newer: bool) -> Result<Seal, WorkloadError> {
        let fits = match self.check {
            Checksum::Fio(check) => FioSeal::newer_fits(check, self.unit),
            _ => true,
        };
        WorkloadError::unless(
            !newer || fits,
            || format!("the verified unit has {} bytes", self.unit),
            "each begins with a header of 48 bytes and its checksum",
            "make it larger, or write the headers of fio 3.33",
        )?;
        self.fio = self.fio.map(|fio| fio.with_newer_headers(newer));
        Ok(self)
    }

    /// The contents of a unit at `offset`, where they follow from that alone: an endless iterator of the pattern without headers.
    pub fn contents(&self, offset: u64) -> Option<impl Iterator<Item = u8>> {
        self.fio.as_ref().and_then(|fio| fio.contents(offset))
    }

    /// Makes of the buffer, which is one unit, the write of number `sequence` at `offset`. What follows the header is
    /// left as it is, except for the marks of sectors, and that a pattern ([`Checksum::Pattern`]) is made there. A buffer that is not of a unit's size
    /// is left alone.
    pub fn stamp(&self, buffer: &mut [u8], offset: u64, sequence: u32) {
        if let Some(fio) = &self.fio {
            return fio.stamp(buffer, offset, sequence);
        }
        if buffer.len() != self.unit as usize {
            return;
        }
        if self.check == Checksum::Pattern
            && let Some(payload) = buffer.get_mut(Seal::HEADER..)
        {
            pattern(self.run, offset, sequence).fill_bytes(payload);
        }
        Marks { run: self.run, offset }.stamp(buffer, sequence);
        let Some((header, payload)) = buffer.split_first_chunk_mut::<{ Seal::HEADER }>() else { return };
        let checksum = checksum(self.check, payload);
        let fields = Header {
            version: VERSION,
            check: code(self.check),
            sequence,
            run: self.run,
            offset,
            length: self.unit,
            checksum,
        };
        fields.write(header);
    }

    /// Whether a unit that was read at `offset` is what was written there.
    ///
    /// # Errors
    /// It is not: why.
    pub fn inspect(&self, unit: &[u8], offset: u64, expected: Expected) -> Result<(), Wrong> {
        if let Some(fio) = &self.fio {
            return fio.inspect(unit, offset, expected);
        }
        let whole = unit.len() == self.unit as usize;
        let Some((header, payload)) = unit.split_first_chunk::<{ Seal::HEADER }>().filter(|_| whole) else {
            return Err(Wrong::Short { length: unit.len(), unit: self.unit });
        };
        let mine = Marks { run: self.run, offset };
        let Some(fields) = Header::read(header) else {
            return Err(without_header(unit, header, mine));
        };
        self.judge(&fields, unit, offset, expected)?;
        match decoded(fields.check).ok_or(Wrong::OtherFormat)? {
            Checksum::Pattern => compare(payload, fields.run, offset, fields.sequence),
            check if checksum(check, payload) != fields.checksum => Err(Wrong::Payload { check }),
            _ => Ok(()),
        }
    }

    /// Whether a sound header is the right one, and all sectors belong to its write. What is wrong in more than one way is
    /// reported by the most specific kind: of another run, nothing else counts.
    fn judge(&self, header: &Header, unit: &[u8], offset: u64, expected: Expected) -> Result<(), Wrong> {
        let anyone = expected == Expected::Anyone;
        let mine = Marks { run: self.run, offset };
        let belongs_here = header.offset == offset && (header.run == self.run || anyone);
        if !belongs_here && let Some(newest) = mine.newest(unit) {
            return Err(Wrong::Torn { at: 0, newest });
        }
        if header.run != self.run && !anyone {
            return Err(Wrong::OtherRun { run: header.run });
        }
        let right_check = anyone || header.check == code(self.check);
        if (header.version, header.length) != (VERSION, self.unit) || !right_check {
            return Err(Wrong::OtherFormat);
        }
        if header.offset != offset {
            return Err(Wrong::Misdirected { belongs: header.offset });
        }
        whole(unit, Marks { run: header.run, offset }, header.sequence)?;
        let found = header.sequence;
        match expected {
            Expected::Exactly(expected) | Expected::AtLeast(expected) if found < expected => {
                Err(Wrong::Stale { found, expected })
            }
            Expected::Exactly(expected) if found > expected => Err(Wrong::Newer { found, expected }),
            Expected::Exactly(_) | Expected::AtLeast(_) | Expected::Any | Expected::Anyone => Ok(()),
        }
    }
}

/// Whether all sectors are those of write number `sequence`.
fn whole(unit: &[u8], marks: Marks, sequence: u32) -> Result<(), Wrong> {
    let mut damaged = None;
    for (place, owner) in marks.others(unit, sequence) {
        let at = place as u32;
        match owner {
            Owner::Damaged => damaged = damaged.or(Some(Wrong::Mark { at })),
            Owner::Other(_) | Owner::Unknown | Owner::Same => {
                let newest = marks.newest(unit).unwrap_or(0).max(sequence);
                return Err(Wrong::Torn { at, newest });
            }
        }
    }
    damaged.map_or(Ok(()), Err)
}

/// What a unit is whose header is none.
fn without_header(unit: &[u8], header: &[u8; Seal::HEADER], mine: Marks) -> Wrong {
    let differing: u32 = MAGIC.iter().zip(header).map(|(one, other)| (one ^ other).count_ones()).sum();
    if differing <= DAMAGED_BITS {
        return Wrong::Header;
    }
    match mine.newest(unit) {
        Some(newest) => Wrong::Torn { at: 0, newest },
        None if unit.iter().all(|byte| *byte == 0) => Wrong::Zeros,
        None => Wrong::Foreign,
    }
}

/// Compares with the pattern piece by piece, for which the stack has space enough. The marks were compared before.
fn compare(payload: &[u8], run: u64, offset: u64, sequence: u32) -> Result<(), Wrong> {
    let mut generator = pattern(run, offset, sequence);
    let mut right = [0; CHUNK];
    for (index, chunk) in payload.chunks(CHUNK).enumerate() {
        let right = &mut right[..chunk.len()];
        generator.fill_bytes(right);
        let start = Seal::HEADER + index * CHUNK;
        let mark = start.next_multiple_of(SECTOR);
        if mark + MARK <= Seal::HEADER + payload.len() {
            let marked = (mark - start).min(chunk.len())..(mark + MARK - start).min(chunk.len());
            right[marked.clone()].copy_from_slice(&chunk[marked]);
        }
        // All at once first: that is what compares fast.
        if chunk != right
            && let Some(place) = chunk.iter().zip(right.iter()).position(|(one, other)| one != other)
        {
            return Err(Wrong::Pattern { at: (start + place) as u32 });
        }
    }
    Ok(())
}

/// The generator of the pattern of one write.
fn pattern(run: u64, offset: u64, sequence: u32) -> Xoshiro256PlusPlus {
    let spread = |value: u64| {
        let product = value.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        product ^ (product >> 32)
    };
    Xoshiro256PlusPlus::seed_from_u64(spread(spread(run ^ spread(offset)) ^ u64::from(sequence)))
}

impl Header {
    fn write(&self, bytes: &mut [u8; Seal::HEADER]) {
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..10].copy_from_slice(&self.version.to_le_bytes());
        bytes[10] = self.check;
        bytes[11] = 0;
        bytes[12..16].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.run.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.offset.to_le_bytes());
        bytes[32..36].copy_from_slice(&self.length.to_le_bytes());
        bytes[36..GUARDED].copy_from_slice(&self.checksum);
        let guard = crc32c::crc32c(&bytes[..GUARDED]);
        bytes[GUARDED..].copy_from_slice(&guard.to_le_bytes());
    }

    /// `None` where it is damaged.
    fn read(bytes: &[u8; Seal::HEADER]) -> Option<Header> {
        if u32::from_le_bytes(array(bytes, GUARDED)) != crc32c::crc32c(&bytes[..GUARDED]) {
            return None;
        }
        Some(Header {
            version: u16::from_le_bytes(array(bytes, 8)),
            check: bytes[10],
            sequence: u32::from_le_bytes(array(bytes, 12)),
            run: u64::from_le_bytes(array(bytes, 16)),
            offset: u64::from_le_bytes(array(bytes, 24)),
            length: u32::from_le_bytes(array(bytes, 32)),
            checksum: array(bytes, 36),
        })
    }
}

/// The `N` bytes of the header from `at` on.
fn array<const N: usize>(header: &[u8; Seal::HEADER], at: usize) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.copy_from_slice(&header[at..at + N]);
    bytes
}

/// The number of a checksum in the header.
fn code(check: Checksum) -> u8 {
    match check {
        Checksum::Crc32c => 1,
        Checksum::Xxh3 => 2,
        Checksum::Sha256 => 3,
        Checksum::Pattern => 4,
        Checksum::Header => 5,
        // Not in this header.
        Checksum::Fio(_) => 0,
    }
}

/// The checksum of a number in the header.
fn decoded(number: u8) -> Option<Checksum> {
    let all = [Checksum::Crc32c, Checksum::Xxh3, Checksum::Sha256, Checksum::Pattern, Checksum::Header];
    all.into_iter().find(|check| code(*check) == number)
}

/// The checksum, with zeros after it. SHA-256 is stored in its own order, the numbers least significant byte first.
fn checksum(check: Checksum, payload: &[u8]) -> [u8; LARGEST_CHECKSUM] {
    let mut bytes = [0; LARGEST_CHECKSUM];
    match check {
        Checksum::Crc32c => bytes[..4].copy_from_slice(&crc32c::crc32c(payload).to_le_bytes()),
        Checksum::Xxh3 => bytes[..8].copy_from_slice(&xxh3_64(payload).to_le_bytes()),
        Checksum::Sha256 => bytes.copy_from_slice(&Sha256::digest(payload)),
        Checksum::Pattern | Checksum::Header | Checksum::Fio(_) => {}
    }
    bytes
}

#[cfg(test)]
mod tests;
