//! Marks of the sectors of a unit: which write each of them belongs to.
//!
//! A device writes a sector whole or not at all. Every sector of a unit after the first, which has the header, begins with a mark
//! of [`MARK`] bytes, numbers least significant byte first: sequence number of the write (4), number of the sector in the unit (4),
//! and a hash of both with the run and the offset of the unit (8).

use super::SECTOR;

/// Bytes of a mark.
pub(super) const MARK: usize = 16;

/// Bits in which a damaged mark, or a damaged magic number, differs from the right one at most. What another write has left there
/// differs in half of the bits of the hash.
pub(super) const DAMAGED_BITS: u32 = 8;

/// What all marks of a write have in common.
#[derive(Debug, Clone, Copy)]
pub(super) struct Marks {
    pub(super) run: u64,
    pub(super) offset: u64,
}

/// Whose sector it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// The write asked about.
    Same,
    /// Another write of the same run to the same place: its sequence number.
    Other(u32),
    /// The write asked about, and its mark is damaged.
    Damaged,
    /// No write of this run to this place.
    Unknown,
}

impl Marks {
    /// Marks the sectors of a unit with write number `sequence`.
    pub(super) fn stamp(self, unit: &mut [u8], sequence: u32) {
        for (index, place) in places(unit.len()) {
            unit[place..place + MARK].copy_from_slice(&self.mark(index, sequence));
        }
    }

    /// Whose each sector after the first is, if not that of write number `sequence`, with the place of the sector in the unit.
    pub(super) fn others(self, unit: &[u8], sequence: u32) -> impl Iterator<Item = (usize, Owner)> {
        let owners = places(unit.len())
            .map(move |(index, place)| (place, self.owner(&unit[place..place + MARK], index, sequence)));
        owners.filter(|(_, owner)| *owner != Owner::Same)
    }

    /// The highest number of a write of this run to this place that any sector after the first has.
    pub(super) fn newest(self, unit: &[u8]) -> Option<u32> {
        let own =
            places(unit.len()).filter_map(|(index, place)| self.sequence(&unit[place..place + MARK], index));
        own.max()
    }

    fn owner(self, mark: &[u8], index: u32, sequence: u32) -> Owner {
        let right = self.mark(index, sequence);
        if mark == right {
            return Owner::Same;
        }
        let differing: u32 = mark.iter().zip(right).map(|(one, other)| (one ^ other).count_ones()).sum();
        match self.sequence(mark, index) {
            Some(other) => Owner::Other(other),
            None if differing <= DAMAGED_BITS => Owner::Damaged,
            None => Owner::Unknown,
        }
    }

    /// The number in a mark, if it is one of this run at this place.
    fn sequence(self, mark: &[u8], index: u32) -> Option<u32> {
        let sequence = u32::from_le_bytes(*mark.first_chunk()?);
        (*mark == self.mark(index, sequence)).then_some(sequence)
    }

    fn mark(self, index: u32, sequence: u32) -> [u8; MARK] {
        let mut mark = [0; MARK];
        mark[..4].copy_from_slice(&sequence.to_le_bytes());
        mark[4..8].copy_from_slice(&index.to_le_bytes());
        let numbers = (u64::from(index) << 32) | u64::from(sequence);
        let hash = spread(spread(spread(self.run) ^ self.offset) ^ numbers);
        mark[8..].copy_from_slice(&hash.to_le_bytes());
        mark
    }
}

/// Numbers and places of the sectors that have a mark: all but the first, and one at the end that is too short.
pub(super) fn places(unit: usize) -> impl Iterator<Item = (u32, usize)> {
    (1u32..).zip((SECTOR..).step_by(SECTOR)).take_while(move |(_, place)| place + MARK <= unit)
}

/// A bijection in which each bit of the result depends on each bit of the value (the finalizer of SplitMix64).
fn spread(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
