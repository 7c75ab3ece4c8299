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

mod fio;

use std::fmt;

use iolite_model::{Checksum, FioChecksum};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use sha2::{Digest, Sha256};
use xxhash_rust::xxh3::xxh3_64;

use crate::error::WorkloadError;
use fio::FioSeal;

/// In the first bytes of every unit. Not text that a file may begin with by itself.
const MAGIC: [u8; 8] = *b"\x89iolite\n";

/// Version of the format.
const VERSION: u16 = 1;

/// Bytes of the largest checksum.
const LARGEST_CHECKSUM: usize = 32;

/// Bytes of the header that its own checksum is over.
const GUARDED: usize = Seal::HEADER - 4;

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
    /// Any of this run.
    Any,
    /// Any of any run, whatever its checksum.
    Anyone,
}

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
    /// A torn or corrupt write: the header is right, and the data is not what its checksum was made from.
    Payload {
        /// The checksum.
        check: Checksum,
    },
    /// The same in fio's format.
    FioPayload {
        /// The checksum.
        check: FioChecksum,
    },
    /// A torn or corrupt write: the header is right, and the data is not the pattern that follows from it.
    Pattern {
        /// The first byte that differs, counted from the unit's start.
        at: u32,
    },
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

    /// Makes of the buffer, which is one unit, the write of number `sequence` at `offset`. What follows the header is
    /// left as it is, except that a pattern ([`Checksum::Pattern`]) is made there. A buffer that is not of a unit's size
    /// is left alone.
    pub fn stamp(&self, buffer: &mut [u8], offset: u64, sequence: u32) {
        if let Some(fio) = &self.fio {
            return fio.stamp(buffer, offset, sequence);
        }
        if buffer.len() != self.unit as usize {
            return;
        }
        let Some((header, payload)) = buffer.split_first_chunk_mut::<{ Seal::HEADER }>() else { return };
        if self.check == Checksum::Pattern {
            pattern(self.run, offset, sequence).fill_bytes(payload);
        }
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
        if !header.starts_with(&MAGIC) {
            let zeros = unit.iter().all(|byte| *byte == 0);
            return Err(if zeros { Wrong::Zeros } else { Wrong::Foreign });
        }
        let fields = Header::read(header).ok_or(Wrong::Header)?;
        self.judge(&fields, offset, expected)?;
        match decoded(fields.check).ok_or(Wrong::OtherFormat)? {
            Checksum::Pattern => compare(payload, fields.run, offset, fields.sequence),
            check if checksum(check, payload) != fields.checksum => Err(Wrong::Payload { check }),
            _ => Ok(()),
        }
    }

    /// Whether a sound header is the right one. What is wrong in more than one way is reported by the most specific kind: of
    /// another run, nothing else counts.
    fn judge(&self, header: &Header, offset: u64, expected: Expected) -> Result<(), Wrong> {
        let anyone = expected == Expected::Anyone;
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
        let found = header.sequence;
        match expected {
            Expected::Exactly(expected) if found < expected => Err(Wrong::Stale { found, expected }),
            Expected::Exactly(expected) if found > expected => Err(Wrong::Newer { found, expected }),
            Expected::Exactly(_) | Expected::Any | Expected::Anyone => Ok(()),
        }
    }
}

/// Compares with the pattern piece by piece, for which the stack is room enough.
fn compare(payload: &[u8], run: u64, offset: u64, sequence: u32) -> Result<(), Wrong> {
    let mut generator = pattern(run, offset, sequence);
    let mut right = [0; CHUNK];
    for (index, chunk) in payload.chunks(CHUNK).enumerate() {
        let right = &mut right[..chunk.len()];
        generator.fill_bytes(right);
        // All at once first: that is what compares fast.
        if chunk != right
            && let Some(place) = chunk.iter().zip(right.iter()).position(|(one, other)| one != other)
        {
            return Err(Wrong::Pattern { at: (Seal::HEADER + index * CHUNK + place) as u32 });
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

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wrong::Short { length, unit } => write!(f, "only {length} of {unit} bytes are there"),
            Wrong::Zeros => f.write_str("all zeros: the write was lost, or the block given back"),
            Wrong::Foreign => {
                f.write_str("not data that iolite wrote: overwritten, or corrupt from its first bytes on")
            }
            Wrong::Header => f.write_str("its header is damaged: a corrupt or torn write"),
            Wrong::OtherRun { run } => {
                write!(f, "data of another run ({run:016x}): this run's write was lost")
            }
            Wrong::OtherFormat => {
                f.write_str("data of iolite's in another format (version, checksum or unit)")
            }
            Wrong::Misdirected { belongs } => {
                write!(f, "a misdirected write or read: this data belongs at byte {belongs}")
            }
            Wrong::Stale { found, expected } => {
                write!(f, "a lost write: number {expected} was written, number {found} is still there")
            }
            Wrong::Newer { found, expected } => {
                write!(f, "newer than the last write known of: number {found}, where {expected} was the last")
            }
            Wrong::Payload { check } => {
                write!(f, "a torn or corrupt write: its {} does not match", check.name())
            }
            Wrong::FioPayload { check } => {
                write!(f, "a torn or corrupt write: its {} does not match", check.name())
            }
            Wrong::Pattern { at } => {
                write!(f, "a torn or corrupt write: it differs from byte {at} of the unit on")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CHECKS: [Checksum; 5] =
        [Checksum::Crc32c, Checksum::Xxh3, Checksum::Sha256, Checksum::Pattern, Checksum::Header];

    fn seal(check: Checksum) -> Seal {
        Seal::new(check, 512, 77).unwrap()
    }

    fn stamped(check: Checksum) -> Vec<u8> {
        let mut unit = vec![0x5a; 512];
        seal(check).stamp(&mut unit, 8192, 3);
        unit
    }

    fn inspect(check: Checksum, unit: &[u8]) -> Result<(), Wrong> {
        seal(check).inspect(unit, 8192, Expected::Exactly(3))
    }

    #[test]
    fn what_was_written_is_right() {
        for check in CHECKS {
            let unit = stamped(check);
            assert_eq!(inspect(check, &unit), Ok(()));
            assert_eq!(seal(check).inspect(&unit, 8192, Expected::Any), Ok(()));
            assert_eq!(unit[Seal::HEADER..] == [0x5a; 440], check != Checksum::Pattern, "contents are kept");
        }
    }

    #[test]
    fn each_thing_that_may_be_wrong_is_reported() {
        for check in CHECKS {
            let unit = stamped(check);
            let seal = seal(check);
            let at = |offset, expected| seal.inspect(&unit, offset, expected).unwrap_err();
            assert_eq!(inspect(check, &[0; 512]), Err(Wrong::Zeros));
            assert_eq!(inspect(check, &[1; 512]), Err(Wrong::Foreign));
            assert_eq!(inspect(check, &unit[..511]), Err(Wrong::Short { length: 511, unit: 512 }));
            assert_eq!(inspect(check, &[]), Err(Wrong::Short { length: 0, unit: 512 }));
            let mut damaged = unit.clone();
            damaged[20] ^= 1;
            assert_eq!(inspect(check, &damaged), Err(Wrong::Header));
            let other = Seal::new(check, 512, 78).unwrap();
            assert_eq!(other.inspect(&unit, 0, Expected::Any), Err(Wrong::OtherRun { run: 77 }));
            assert_eq!(at(4096, Expected::Any), Wrong::Misdirected { belongs: 8192 });
            assert_eq!(at(8192, Expected::Exactly(4)), Wrong::Stale { found: 3, expected: 4 });
            assert_eq!(at(8192, Expected::Exactly(2)), Wrong::Newer { found: 3, expected: 2 });
        }
        let other = Seal::new(Checksum::Xxh3, 512, 77).unwrap();
        let unit = stamped(Checksum::Crc32c);
        assert_eq!(other.inspect(&unit, 8192, Expected::Any), Err(Wrong::OtherFormat));
    }

    /// The header of one write with the rest of another: the second half never arrived.
    #[test]
    fn a_torn_write_is_reported() {
        for check in CHECKS {
            let mut old = vec![0x11; 512];
            seal(check).stamp(&mut old, 8192, 2);
            let mut torn = stamped(check);
            torn[256..].copy_from_slice(&old[256..]);
            let expected = match check {
                Checksum::Header => Ok(()),
                // 1 in 256 that the first byte is the same by chance; the run's number decides, and it is fixed.
                Checksum::Pattern => Err(Wrong::Pattern { at: 256 }),
                check => Err(Wrong::Payload { check }),
            };
            assert_eq!(inspect(check, &torn), expected);
        }
    }

    #[test]
    fn what_another_run_wrote_counts_where_anyone_may_have_written() {
        let mine = Seal::new(Checksum::Crc32c, 512, 78).unwrap();
        for check in CHECKS {
            let mut unit = stamped(check);
            assert_eq!(mine.inspect(&unit, 8192, Expected::Anyone), Ok(()), "{check:?}");
            let elsewhere = mine.inspect(&unit, 4096, Expected::Anyone);
            assert_eq!(elsewhere, Err(Wrong::Misdirected { belongs: 8192 }));
            unit[300] ^= 1;
            let found = mine.inspect(&unit, 8192, Expected::Anyone);
            assert_eq!(found.is_err(), check != Checksum::Header, "{check:?}");
        }
        assert_eq!(mine.inspect(&[0; 512], 0, Expected::Anyone), Err(Wrong::Zeros));
        let larger = Seal::new(Checksum::Crc32c, 1024, 78).unwrap();
        let mut unit = stamped(Checksum::Crc32c);
        unit.resize(1024, 0);
        assert_eq!(larger.inspect(&unit, 8192, Expected::Anyone), Err(Wrong::OtherFormat));
    }

    #[test]
    fn patterns_differ_by_run_offset_and_sequence() {
        let pattern = |run, offset, sequence| {
            let mut unit = vec![0; 512];
            Seal::new(Checksum::Pattern, 512, run).unwrap().stamp(&mut unit, offset, sequence);
            unit[Seal::HEADER..].to_vec()
        };
        let mut seen = std::collections::HashSet::new();
        for run in 0..5 {
            for offset in 0..20 {
                for sequence in 0..20 {
                    assert!(seen.insert(pattern(run, offset * 512, sequence)));
                }
            }
        }
    }

    #[test]
    fn buffers_of_other_sizes_are_left_alone() {
        for length in [0, 10, 511, 513] {
            let mut buffer = vec![9; length];
            seal(Checksum::Pattern).stamp(&mut buffer, 0, 1);
            assert!(buffer.iter().all(|byte| *byte == 9));
        }
        let error = Seal::new(Checksum::Crc32c, 71, 0).unwrap_err().to_string();
        assert!(error.contains("header of 72 bytes"), "{error}");
        for check in CHECKS {
            let seal = Seal::new(check, 72, 1).unwrap();
            let mut buffer = [0; 72];
            seal.stamp(&mut buffer, 5, 1);
            assert_eq!(seal.inspect(&buffer, 5, Expected::Exactly(1)), Ok(()), "a header alone");
        }
    }

    /// RFC 3720, B.4, and the check value of the catalogue of parametrised CRC algorithms (CRC-32/ISCSI).
    #[test]
    fn crc32c_is_as_published() {
        let ascending: Vec<u8> = (0..32).collect();
        let descending: Vec<u8> = (0..32).rev().collect();
        for (data, expected) in [
            (&[0; 32][..], 0x8a91_36aau32),
            (&[0xff; 32], 0x62a8_ab43),
            (&ascending, 0x46dd_794e),
            (&descending, 0x113f_db5c),
            (b"123456789", 0xe306_9283),
        ] {
            assert_eq!(checksum(Checksum::Crc32c, data)[..4], expected.to_le_bytes());
        }
    }

    /// FIPS 180-4's examples (NIST, Examples with Intermediate Values: SHA-256).
    #[test]
    fn sha256_is_as_published() {
        let hex = |data: &[u8]| -> String {
            checksum(Checksum::Sha256, data).iter().map(|byte| format!("{byte:02x}")).collect()
        };
        assert_eq!(hex(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        let two_blocks = b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
        assert_eq!(hex(two_blocks), "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    }

    /// XXH3_64bits with seed 0: short inputs as in the tests of python-xxhash and others, long ones as in LLVM's
    /// (unittests/Support/xxhashTest.cpp), which has bytes of Marsaglia's xorshift (13, 7, 17) from 1 on.
    #[test]
    fn xxh3_is_as_published() {
        let xorshift = |state: &mut u64| {
            *state ^= *state << 13;
            *state ^= *state >> 7;
            *state ^= *state << 17;
            Some(*state as u8)
        };
        let bytes: Vec<u8> = (0..2049).scan(1u64, |state, _| xorshift(state)).collect();
        for (data, expected) in [
            (&b""[..], 0x2d06_8005_38d3_94c2u64),
            (b"a", 0xe6c6_32b6_1e96_4e1f),
            (b"abc", 0x78af_5f94_892f_3950),
            (&bytes[..128], 0x06a1_46ee_9a2d_a378),
            (&bytes[..512], 0xcdfa_6b62_68e3_650f),
            (&bytes[..2049], 0x3ba6_afa0_249f_ef9a),
        ] {
            assert_eq!(checksum(Checksum::Xxh3, data)[..8], expected.to_le_bytes());
        }
    }

    proptest! {
        #[test]
        fn any_flipped_byte_is_found(
            check in prop::sample::select(CHECKS.to_vec()), place in 0usize..4096, flip in 1u8..,
            sequence in 1u32.., offset: u64, fill: u8,
        ) {
            let seal = Seal::new(check, 4096, 5).unwrap();
            let mut unit = vec![fill; 4096];
            seal.stamp(&mut unit, offset, sequence);
            let expected = Expected::Exactly(sequence);
            prop_assert_eq!(seal.inspect(&unit, offset, expected), Ok(()));
            unit[place] ^= flip;
            let found = seal.inspect(&unit, offset, expected);
            if check == Checksum::Header && place >= Seal::HEADER {
                prop_assert_eq!(found, Ok(()));
            } else if check == Checksum::Pattern && place >= Seal::HEADER {
                prop_assert_eq!(found, Err(Wrong::Pattern { at: place as u32 }));
            } else {
                prop_assert!(found.is_err());
            }
        }
    }

    #[test]
    fn people_see_the_numbers() {
        for (wrong, part) in [
            (Wrong::Misdirected { belongs: 4096 }, "belongs at byte 4096"),
            (Wrong::Stale { found: 3, expected: 9 }, "number 9 was written, number 3"),
            (Wrong::OtherRun { run: 255 }, "00000000000000ff"),
            (Wrong::Payload { check: Checksum::Sha256 }, "sha256"),
            (Wrong::Pattern { at: 100 }, "byte 100"),
        ] {
            assert!(wrong.to_string().contains(part), "{wrong}");
        }
    }
}
