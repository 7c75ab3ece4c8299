use iolite_model::{Damage, FioChecksum};

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
        assert_eq!(Wrong::Foreign.damage(), Damage::Foreign);
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

/// Writes number `sequence` of a unit of several sectors, with other contents each time.
fn large(check: Checksum, run: u64, offset: u64, sequence: u32) -> Vec<u8> {
    let mut unit = vec![sequence as u8; LARGE as usize];
    Seal::new(check, LARGE, run).unwrap().stamp(&mut unit, offset, sequence);
    unit
}

/// Eight sectors.
const LARGE: u32 = 4096;

/// Every cut at a sector is torn, whichever part has arrived and whatever was there before.
#[test]
fn every_cut_at_a_sector_is_a_torn_write() {
    let before = |check| {
        let foreign: Vec<u8> = (0..LARGE).map(|at| ((at * 7919) >> 3) as u8).collect();
        [large(check, 77, 8192, 2), large(check, 78, 8192, 3), large(check, 77, 0, 3), vec![0; 4096], foreign]
    };
    for check in CHECKS {
        let new = large(check, 77, 8192, 3);
        let seal = Seal::new(check, LARGE, 77).unwrap();
        for (kind, old) in before(check).into_iter().enumerate() {
            for cut in (SECTOR..LARGE as usize).step_by(SECTOR) {
                let first = [&new[..cut], &old[cut..]].concat();
                let last = [&old[..cut], &new[cut..]].concat();
                let inspect = |unit: &[u8]| seal.inspect(unit, 8192, Expected::Exactly(3)).unwrap_err();
                assert_eq!(
                    inspect(&first),
                    Wrong::Torn { at: cut as u32, newest: 3 },
                    "{check:?} {kind} {cut}"
                );
                let found = inspect(&last);
                assert_eq!(found.damage(), Damage::Torn, "{check:?} {kind} {cut}: {found:?}");
            }
        }
    }
}

/// Every single bit: of a unit that is only a header, and of one with several sectors.
#[test]
fn every_flipped_bit_is_a_corrupt_write() {
    for check in CHECKS {
        for length in [Seal::HEADER as u32, 512, 1536] {
            let seal = Seal::new(check, length, 77).unwrap();
            let mut unit = vec![0x5a; length as usize];
            seal.stamp(&mut unit, 8192, 3);
            for bit in 0..length as usize * 8 {
                unit[bit / 8] ^= 1 << (bit % 8);
                let found = seal.inspect(&unit, 8192, Expected::Exactly(3));
                let marked = bit / 8 < Seal::HEADER || (bit / 8 >= SECTOR && bit / 8 % SECTOR < MARK);
                match check {
                    Checksum::Header if !marked => assert_eq!(found, Ok(()), "bit {bit}"),
                    _ => assert_eq!(found.unwrap_err().damage(), Damage::Corrupt, "{check:?} bit {bit}"),
                }
                unit[bit / 8] ^= 1 << (bit % 8);
            }
        }
    }
}

#[test]
fn later_writes_count_where_what_is_known_may_be_older() {
    for check in CHECKS.into_iter().chain([Checksum::Fio(FioChecksum::Crc32c)]) {
        let seal = Seal::new(check, LARGE, 77).unwrap();
        let unit = large(check, 77, 8192, 3);
        assert_eq!(seal.inspect(&unit, 8192, Expected::AtLeast(2)), Ok(()), "{check:?}");
        assert_eq!(seal.inspect(&unit, 8192, Expected::AtLeast(3)), Ok(()), "{check:?}");
        let stale = seal.inspect(&unit, 8192, Expected::AtLeast(4)).unwrap_err();
        assert_eq!(stale.damage(), Damage::Stale, "{check:?}");
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
        let marked = place >= SECTOR && place % SECTOR < MARK;
        if marked {
            prop_assert_eq!(found, Err(Wrong::Mark { at: (place / SECTOR * SECTOR) as u32 }));
        } else if check == Checksum::Header && place >= Seal::HEADER {
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
        (Wrong::Torn { at: 512, newest: 7 }, "newest is number 7"),
        (Wrong::Mark { at: 1024 }, "byte 1024"),
    ] {
        assert!(wrong.to_string().contains(part), "{wrong}");
    }
}
