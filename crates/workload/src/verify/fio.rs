//! fio's verified unit, as fio 3.33 writes it and as fio 3.42 does.
//!
//! A header, the area of the checksum, and the data that the checksum is over; numbers least significant byte first.
//!
//! | field | 3.33 | 3.42 |
//! |---|---|---|
//! | magic 0xACCA | 0..2 | 0..2 |
//! | version 0x81 | none | 2 |
//! | kind of checksum | 2..4 | 3 |
//! | length of the unit | 4..8 | 4..8 |
//! | seed of the contents | 8..16 | 8..16 |
//! | offset | 16..24 | 16..24 |
//! | time of the write: seconds, nanoseconds | 24..32 | 24..32 |
//! | thread | 32..34 | 40..42 |
//! | sequence number | 34..36 | 32..40 |
//! | CRC-32C of what is before, not inverted at its end | 36..40 | 44..48 |
//!
//! Written is 3.33's form, which the fio of today's distributions reads, unless the other is asked for; both are read. The areas are those that fio 3.33 was
//! observed to write: of SHA-512 the block buffer, of SHA-1 the words least significant byte first, of SHA-256 the last block that was
//! hashed, whose length is stored least significant byte first, with the low bytes of the eight words of the state at its start.
//!
//! With `verify_offset` header and area are swapped with the bytes at that place of the unit, once the checksum is there.

use iolite_model::FioChecksum;
use sha1::Digest;

use super::Expected;
use super::wrong::Wrong;

const MAGIC: [u8; 2] = 0xacca_u16.to_le_bytes();

/// Version of 3.42's header. No kind of checksum has this number, which stands in the same place in 3.33's.
const VERSION: u8 = 0x81;

/// Bytes of 3.33's header.
const HEADER: usize = 40;

/// Bytes of 3.42's header.
const NEWER_HEADER: usize = 48;

/// Longest area of a checksum.
const LARGEST_AREA: usize = 128;

/// Stamps and inspects units in fio's format.
#[derive(Debug, Clone)]
pub(super) struct FioSeal {
    check: FioChecksum,
    unit: u32,
    /// Stands in the place of the contents' seed: fio only compares that with its own while the job runs that wrote it.
    run: u64,
    /// What units without a header consist of.
    pattern: Vec<u8>,
    /// Places in it of eight bytes each that hold the unit's offset.
    offsets: Vec<usize>,
    /// Where in a unit its header and area are; 0 for its start.
    header_at: usize,
    /// 3.42's headers are written.
    newer: bool,
}

/// What a header says.
struct Header {
    kind: u16,
    length: u32,
    seed: u64,
    offset: u64,
    sequence: u64,
    /// Bytes of the header.
    size: usize,
    /// Bits that the sequence number was stored in.
    bits: u32,
}

impl FioSeal {
    pub(super) fn new(check: FioChecksum, unit: u32, run: u64) -> FioSeal {
        FioSeal { check, unit, run, pattern: Vec::new(), offsets: Vec::new(), header_at: 0, newer: false }
    }

    pub(super) fn with_pattern(mut self, pattern: &[u8], offsets: &[u32]) -> FioSeal {
        self.pattern = pattern.to_vec();
        self.offsets = offsets.iter().map(|at| *at as usize).filter(|at| at + 8 <= pattern.len()).collect();
        self
    }

    /// Its header and area are in this place of a unit.
    pub(super) fn with_header_at(mut self, place: usize) -> FioSeal {
        self.header_at = place;
        self
    }

    /// 3.42's headers are written, if `newer`.
    pub(super) fn with_newer_headers(mut self, newer: bool) -> FioSeal {
        self.newer = newer;
        self
    }

    /// Whether 3.42's header and the area fit into a unit.
    pub(super) fn newer_fits(check: FioChecksum, unit: u32) -> bool {
        kind(check).is_none() || NEWER_HEADER + area(check) <= unit as usize
    }

    /// Whether header and area can be at a place of a unit: behind where they would be, and within the unit.
    pub(super) fn can_have_header_at(check: FioChecksum, unit: u32, place: usize) -> bool {
        // Read are the newer headers too, which are the larger ones.
        let length = NEWER_HEADER + area(check);
        place == 0
            || kind(check).is_none()
            || (place >= length && place.saturating_add(length) <= unit as usize)
    }

    /// The byte of the pattern at this place of a unit at `offset`.
    fn pattern_at(&self, offset: u64, place: usize) -> u8 {
        let place = place % self.pattern.len();
        let within = self.offsets.iter().find(|at| (**at..**at + 8).contains(&place));
        within.map_or(self.pattern[place], |at| offset.to_le_bytes()[place - at])
    }

    /// What a unit at `offset` consists of, where it has no header.
    pub(super) fn contents(&self, offset: u64) -> Option<impl Iterator<Item = u8>> {
        let known = kind(self.check).is_none() && !self.pattern.is_empty();
        known.then(|| (0..).map(move |place| self.pattern_at(offset, place)))
    }

    /// Bytes that a unit has at least.
    pub(super) fn smallest(check: FioChecksum) -> usize {
        match kind(check) {
            None => 1,
            Some(_) => HEADER + area(check),
        }
    }

    /// Makes of a unit the write of number `sequence` at `offset`.
    pub(super) fn stamp(&self, buffer: &mut [u8], offset: u64, sequence: u32) {
        if !self.offsets.is_empty() {
            let filled = buffer.iter_mut().enumerate();
            filled.for_each(|(place, byte)| *byte = self.pattern_at(offset, place));
        }
        let Some(kind) = kind(self.check) else { return };
        let size = if self.newer { NEWER_HEADER } else { HEADER };
        let start = size + area(self.check);
        if buffer.len() != self.unit as usize || buffer.len() < start {
            return;
        }
        let (front, data) = buffer.split_at_mut(start);
        let (header, sum) = front.split_at_mut(size);
        sum.copy_from_slice(&checksum(self.check, data)[..sum.len()]);
        header.fill(0);
        header[..2].copy_from_slice(&MAGIC);
        header[4..8].copy_from_slice(&self.unit.to_le_bytes());
        header[8..16].copy_from_slice(&self.run.to_le_bytes());
        header[16..24].copy_from_slice(&offset.to_le_bytes());
        let (mut put, thread) =
            (|at: usize, bytes: &[u8]| header[at..at + bytes.len()].copy_from_slice(bytes), 1u16);
        if self.newer {
            put(2, &[VERSION, kind as u8]);
            put(32, &u64::from(sequence).to_le_bytes());
            put(40, &thread.to_le_bytes());
        } else {
            put(2, &kind.to_le_bytes());
            put(32, &thread.to_le_bytes());
            put(34, &(sequence as u16).to_le_bytes());
        }
        let guard = guard(&header[..size - 4]);
        header[size - 4..].copy_from_slice(&guard.to_le_bytes());
        self.swap(buffer, start);
    }

    /// Swaps the first bytes of a unit, its header and area, with those at their place.
    fn swap(&self, unit: &mut [u8], length: usize) {
        if self.header_at >= length && self.header_at + length <= unit.len() {
            let (front, rest) = unit.split_at_mut(self.header_at);
            front[..length].swap_with_slice(&mut rest[..length]);
        }
    }

    /// Whether a whole unit that was read at `offset` is what was written there.
    pub(super) fn inspect(&self, unit: &[u8], offset: u64, expected: Expected) -> Result<(), Wrong> {
        let Some(own) = kind(self.check) else {
            return if self.check == FioChecksum::Null { Ok(()) } else { self.compare(unit, offset) };
        };
        if unit.len() != self.unit as usize {
            return Err(Wrong::Short { length: unit.len(), unit: self.unit });
        }
        if self.header_at == 0 {
            return self.inspect_in_order(unit, own, offset, expected);
        }
        let mut ordered = unit.to_vec();
        let newer = unit.get(self.header_at + 2) == Some(&VERSION);
        self.swap(&mut ordered, if newer { NEWER_HEADER } else { HEADER } + area(self.check));
        self.inspect_in_order(&ordered, own, offset, expected)
    }

    /// The same for a unit that begins with its header.
    fn inspect_in_order(&self, unit: &[u8], own: u16, offset: u64, expected: Expected) -> Result<(), Wrong> {
        if !unit.starts_with(&MAGIC) {
            return Err(match unit {
                _ if unit.iter().all(|byte| *byte == 0) => Wrong::Zeros,
                _ if unit.starts_with(&super::MAGIC) => Wrong::OtherFormat,
                _ => Wrong::Foreign,
            });
        }
        let header = Header::read(unit).ok_or(Wrong::Header)?;
        self.judge(&header, own, offset, expected)?;
        let (sum, data) = unit[header.size..].split_at_checked(area(self.check)).ok_or(Wrong::Header)?;
        match *sum == checksum(self.check, data)[..sum.len()] {
            true if self.check == FioChecksum::PatternHeader => self.compare_behind(data, header.size),
            true => Ok(()),
            false => Err(Wrong::FioPayload { check: self.check }),
        }
    }

    /// Whether what is behind a header is the pattern, which begins with the block: a unit may begin anywhere in it.
    fn compare_behind(&self, data: &[u8], header: usize) -> Result<(), Wrong> {
        let length = self.pattern.len();
        if length == 0 || !self.offsets.is_empty() {
            return Ok(());
        }
        let is = |start: usize| {
            let rest = self.pattern.iter().cycle().skip((start + header) % length);
            data.iter().zip(rest).position(|(one, other)| one != other)
        };
        let starts = (0..length).step_by(common_divisor(self.unit as usize, length));
        let mut differs = starts.map(is);
        match differs.next().flatten() {
            Some(at) if differs.all(|differs| differs.is_some()) => {
                Err(Wrong::FioPattern { at: (at + header) as u32 })
            }
            _ => Ok(()),
        }
    }

    fn judge(&self, header: &Header, own: u16, offset: u64, expected: Expected) -> Result<(), Wrong> {
        let anyone = expected == Expected::Anyone;
        if header.seed != self.run && !anyone {
            return Err(Wrong::OtherRun { run: header.seed });
        }
        // Both numbers of CRC-32C: with and without the processor's instruction.
        let same = |kind: u16| if kind == 6 { 5 } else { kind };
        if header.length != self.unit || same(header.kind) != same(own) {
            return Err(Wrong::OtherFormat);
        }
        if header.offset != offset {
            return Err(Wrong::Misdirected { belongs: header.offset });
        }
        let (Expected::Exactly(known) | Expected::AtLeast(known)) = expected else { return Ok(()) };
        let mask = if header.bits < 64 { (1 << header.bits) - 1 } else { u64::MAX };
        let (found, known) = (header.sequence as u32, (u64::from(known) & mask) as u32);
        match found.cmp(&known) {
            std::cmp::Ordering::Less => Err(Wrong::Stale { found, expected: known }),
            std::cmp::Ordering::Greater if expected != Expected::AtLeast(known) => {
                Err(Wrong::Newer { found, expected: known })
            }
            std::cmp::Ordering::Greater | std::cmp::Ordering::Equal => Ok(()),
        }
    }

    fn compare(&self, unit: &[u8], offset: u64) -> Result<(), Wrong> {
        if self.pattern.is_empty() {
            return Ok(());
        }
        let differs = match self.offsets.is_empty() {
            true => unit.iter().zip(self.pattern.iter().cycle()).position(|(one, other)| one != other),
            false => unit.iter().enumerate().position(|(at, byte)| *byte != self.pattern_at(offset, at)),
        };
        differs.map_or(Ok(()), |at| Err(Wrong::FioPattern { at: at as u32 }))
    }
}

impl Header {
    /// `None` where it is damaged.
    fn read(unit: &[u8]) -> Option<Header> {
        let newer = unit.get(2) == Some(&VERSION);
        let size = if newer { NEWER_HEADER } else { HEADER };
        let header = unit.get(..size)?;
        let stored = u32::from_le_bytes(header[size - 4..].try_into().ok()?);
        if stored != guard(&header[..size - 4]) {
            return None;
        }
        let long = |at: usize| Some(u64::from_le_bytes(header.get(at..at + 8)?.try_into().ok()?));
        let short = |at: usize| u16::from_le_bytes([header[at], header[at + 1]]);
        Some(Header {
            kind: if newer { u16::from(header[3]) } else { short(2) },
            length: u32::from_le_bytes(header[4..8].try_into().ok()?),
            seed: long(8)?,
            offset: long(16)?,
            sequence: if newer { long(32)? } else { u64::from(short(34)) },
            size,
            bits: if newer { 64 } else { 16 },
        })
    }
}

fn common_divisor(one: usize, other: usize) -> usize {
    if other == 0 { one } else { common_divisor(other, one % other) }
}

/// The number of a checksum in the header; `None` for those without one.
fn kind(check: FioChecksum) -> Option<u16> {
    Some(match check {
        FioChecksum::Meta => 1,
        FioChecksum::Md5 => 2,
        FioChecksum::Crc64 => 3,
        FioChecksum::Crc32 => 4,
        FioChecksum::Crc32c => 5,
        FioChecksum::Crc16 => 7,
        FioChecksum::Crc7 => 8,
        FioChecksum::Sha256 => 9,
        FioChecksum::Sha512 => 10,
        FioChecksum::Sha3_224 => 11,
        FioChecksum::Sha3_256 => 12,
        FioChecksum::Sha3_384 => 13,
        FioChecksum::Sha3_512 => 14,
        FioChecksum::Xxhash => 15,
        FioChecksum::Sha1 => 16,
        FioChecksum::PatternHeader => 17,
        FioChecksum::Pattern | FioChecksum::Null => return None,
    })
}

/// Bytes between header and data.
fn area(check: FioChecksum) -> usize {
    match check {
        FioChecksum::Md5 => 16,
        FioChecksum::Crc64 => 8,
        FioChecksum::Crc32 | FioChecksum::Crc32c | FioChecksum::Xxhash => 4,
        FioChecksum::Crc16 => 2,
        FioChecksum::Crc7 => 1,
        FioChecksum::Sha1 => 20,
        FioChecksum::Sha256 | FioChecksum::Sha3_512 => 64,
        FioChecksum::Sha512 => LARGEST_AREA,
        FioChecksum::Sha3_224 => 28,
        FioChecksum::Sha3_256 => 32,
        FioChecksum::Sha3_384 => 48,
        FioChecksum::Meta | FioChecksum::PatternHeader | FioChecksum::Pattern | FioChecksum::Null => 0,
    }
}

/// What the area of the checksum holds, with zeros after it.
fn checksum(check: FioChecksum, data: &[u8]) -> [u8; LARGEST_AREA] {
    let mut out = [0; LARGEST_AREA];
    let mut put = |bytes: &[u8]| out[..bytes.len()].copy_from_slice(bytes);
    match check {
        FioChecksum::Md5 => put(&md5::Md5::digest(data)),
        FioChecksum::Crc64 => put(&reflected(data, 0x95ac_9329_ac4b_c9b5).to_le_bytes()),
        FioChecksum::Crc32 => put(&crc32(data).to_le_bytes()),
        FioChecksum::Crc32c => put(&guard(data).to_le_bytes()),
        FioChecksum::Crc16 => put(&(reflected(data, 0xa001) as u16).to_le_bytes()),
        FioChecksum::Crc7 => put(&[crc7(data)]),
        FioChecksum::Sha1 => {
            let mut digest: [u8; 20] = sha1::Sha1::digest(data).into();
            digest.chunks_exact_mut(4).for_each(<[u8]>::reverse);
            put(&digest);
        }
        FioChecksum::Sha256 => put(&sha256_area(data)),
        FioChecksum::Sha512 => put(&block_buffer(data)),
        FioChecksum::Sha3_224 => put(&sha3::Sha3_224::digest(data)),
        FioChecksum::Sha3_256 => put(&sha3::Sha3_256::digest(data)),
        FioChecksum::Sha3_384 => put(&sha3::Sha3_384::digest(data)),
        FioChecksum::Sha3_512 => put(&sha3::Sha3_512::digest(data)),
        FioChecksum::Xxhash => put(&xxhash_rust::xxh32::xxh32(data, 1).to_le_bytes()),
        FioChecksum::Meta | FioChecksum::PatternHeader | FioChecksum::Pattern | FioChecksum::Null => {}
    }
    out
}

/// CRC-32C without the inversion at its end.
fn guard(data: &[u8]) -> u32 {
    !crc32c::crc32c(data)
}

/// A CRC of at most 64 bits, least significant bit first, from 0.
fn reflected(data: &[u8], polynomial: u64) -> u64 {
    let step = |crc: u64| (crc >> 1) ^ (if crc & 1 == 1 { polynomial } else { 0 });
    let table: [u64; 256] = std::array::from_fn(|byte| (0..8).fold(byte as u64, |crc, _| step(crc)));
    data.iter().fold(0, |crc, byte| (crc >> 8) ^ table[usize::from(crc as u8 ^ byte)])
}

/// The CRC of Ethernet's polynomial, most significant bit first, from 0.
fn crc32(data: &[u8]) -> u32 {
    let step = |crc: u32| (crc << 1) ^ (if crc >> 31 == 1 { 0x04c1_1db7 } else { 0 });
    let table: [u32; 256] = std::array::from_fn(|byte| (0..8).fold((byte as u32) << 24, |crc, _| step(crc)));
    data.iter().fold(0, |crc, byte| (crc << 8) ^ table[usize::from((crc >> 24) as u8 ^ byte)])
}

/// The CRC of MultiMediaCards (x^7 + x^3 + 1), most significant bit first, from 0.
fn crc7(data: &[u8]) -> u8 {
    // The seven bits stand in the upper part of a byte.
    let step = |crc: u8| (crc << 1) ^ (if crc >> 7 == 1 { 0x12 } else { 0 });
    let table: [u8; 256] = std::array::from_fn(|byte| (0..8).fold(byte as u8, |crc, _| step(crc)));
    data.iter().fold(0, |crc, byte| table[usize::from(crc ^ byte)]) >> 1
}

/// What is in the area of SHA-256: the last block that was hashed, with the low bytes of the words of the state at its start.
fn sha256_area(data: &[u8]) -> [u8; 64] {
    // Square roots of the first eight primes, which SHA-256 begins with (FIPS 180-4, 5.3.3).
    let mut state = [
        0x6a09_e667,
        0xbb67_ae85,
        0x3c6e_f372,
        0xa54f_f53a,
        0x510e_527f,
        0x9b05_688c,
        0x1f83_d9ab,
        0x5be0_cd19,
    ];
    let mut hash = |blocks: &[[u8; 64]]| {
        blocks.iter().for_each(|block| sha2::compress256(&mut state, &[(*block).into()]));
    };
    let (blocks, rest) = data.as_chunks::<64>();
    hash(blocks);
    let mut tail = [0; 128];
    tail[..rest.len()].copy_from_slice(rest);
    tail[rest.len()] = 0x80;
    // Where there is no space for the number of bits, it is in a block of its own.
    let length = if rest.len() < 56 { 64 } else { 128 };
    tail[length - 8..length].copy_from_slice(&(data.len() as u64 * 8).to_le_bytes());
    hash(tail[..length].as_chunks::<64>().0);
    let mut area = [0; 64];
    area.copy_from_slice(&tail[length - 64..length]);
    area.iter_mut().zip(state).for_each(|(byte, word)| *byte = word as u8);
    area
}

/// What is in SHA-512's buffer once all data is in: the first block, and over it what did not fill a block.
fn block_buffer(data: &[u8]) -> [u8; 128] {
    let mut buffer = [0; 128];
    let first = data.len().min(128);
    buffer[..first].copy_from_slice(&data[..first]);
    let rest = data.len() % 128;
    buffer[..rest].copy_from_slice(&data[data.len() - rest..]);
    buffer
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the check values of the catalogue of CRCs where it has the polynomial in this form.
    #[test]
    fn checksums_have_their_known_values() {
        let data = b"123456789";
        // CRC-16/ARC, CRC-7/MMC.
        assert_eq!(reflected(data, 0xa001), 0xbb3d);
        assert_eq!(crc7(data), 0x75);
        // CRC-32C's check value is 0xe3069283, inverted.
        assert_eq!(guard(data), !0xe306_9283);
        // What fio 3.33 wrote of one zero, and of 128.
        assert_eq!(sha256_area(&[0])[..9], [0x43, 0x11, 0x36, 0xc3, 0xff, 0xd0, 0xad, 0xa7, 0]);
        assert_eq!(sha256_area(&[0; 128])[..8], [0x80, 0x3f, 0x3a, 0xe8, 0x43, 0x99, 0xb5, 0xb9]);
    }

    #[test]
    fn what_was_written_is_right_and_what_was_changed_is_not() {
        for &check in FioChecksum::ALL {
            let seal = FioSeal::new(check, 512, 77).with_pattern(&[0x5a], &[]);
            let mut unit = vec![0x5a; 512];
            seal.stamp(&mut unit, 4096, 65_539);
            let inspect = |unit: &[u8], offset, expected| seal.inspect(unit, offset, expected);
            assert_eq!(inspect(&unit, 4096, Expected::Exactly(65_539)), Ok(()), "{check:?}");
            assert_eq!(inspect(&unit, 4096, Expected::Anyone), Ok(()), "{check:?}");
            let mut damaged = unit.clone();
            damaged[511] ^= 1;
            let found = inspect(&damaged, 4096, Expected::Any);
            let blind = matches!(check, FioChecksum::Null | FioChecksum::Meta);
            assert_eq!(found.is_err(), !blind, "{check:?}: {found:?}");
            if kind(check).is_none() {
                continue;
            }
            assert_eq!(inspect(&unit, 8192, Expected::Any), Err(Wrong::Misdirected { belongs: 4096 }));
            assert_eq!(
                inspect(&unit, 4096, Expected::Exactly(4)),
                Err(Wrong::Stale { found: 3, expected: 4 })
            );
            assert_eq!(inspect(&[0; 512], 0, Expected::Any), Err(Wrong::Zeros));
            damaged[9] ^= 1;
            assert_eq!(inspect(&damaged, 4096, Expected::Any), Err(Wrong::Header));
            let mut ours = vec![1; 512];
            ours[..8].copy_from_slice(&super::super::MAGIC);
            assert_eq!(inspect(&ours, 0, Expected::Any), Err(Wrong::OtherFormat));
        }
    }

    #[test]
    fn headers_are_where_they_are_asked_for() {
        let seal = FioSeal::new(FioChecksum::Crc32c, 512, 77).with_header_at(100);
        let plain = FioSeal::new(FioChecksum::Crc32c, 512, 77);
        let mut unit: Vec<u8> = (0..512).map(|at| at as u8).collect();
        let mut ordered = unit.clone();
        seal.stamp(&mut unit, 4096, 3);
        plain.stamp(&mut ordered, 4096, 3);
        assert_eq!((&unit[..44], &unit[100..144]), (&ordered[100..144], &ordered[..44]));
        assert_eq!(seal.inspect(&unit, 4096, Expected::Exactly(3)), Ok(()));
        assert_eq!(seal.inspect(&ordered, 4096, Expected::Exactly(3)), Err(Wrong::Foreign));
        unit[5] ^= 1;
        assert!(seal.inspect(&unit, 4096, Expected::Any).is_err());
        let can = |place| FioSeal::can_have_header_at(FioChecksum::Crc32c, 512, place);
        assert_eq!([0, 40, 51, 52, 460, 461].map(can), [true, false, false, true, true, false]);
    }

    /// A unit in 3.42's form, put together field by field.
    #[test]
    fn the_newer_header_is_read_too() {
        let data = [0x5a; 512 - NEWER_HEADER - 4];
        let mut unit = Vec::new();
        unit.extend([0xca, 0xac, VERSION, 5]);
        unit.extend(512u32.to_le_bytes());
        unit.extend(99u64.to_le_bytes());
        unit.extend(4096u64.to_le_bytes());
        unit.extend([0; 8]);
        unit.extend(70_000u64.to_le_bytes());
        unit.extend([1, 0, 0, 0]);
        unit.extend(guard(&unit).to_le_bytes());
        unit.extend(guard(&data).to_le_bytes());
        unit.extend(data);
        let seal = FioSeal::new(FioChecksum::Crc32c, 512, 99);
        assert_eq!(seal.inspect(&unit, 4096, Expected::Exactly(70_000)), Ok(()));
        // And written, where it is asked for.
        let newer = seal.clone().with_newer_headers(true);
        let mut written = vec![0x5a; 512];
        newer.stamp(&mut written, 4096, 70_000);
        assert_eq!(written, unit);
        assert!(
            FioSeal::newer_fits(FioChecksum::Crc32c, 52) && !FioSeal::newer_fits(FioChecksum::Crc32c, 51)
        );
        unit[511] ^= 1;
        assert!(matches!(seal.inspect(&unit, 4096, Expected::Anyone), Err(Wrong::FioPayload { .. })));
    }
}
