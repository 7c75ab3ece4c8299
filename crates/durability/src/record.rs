//! What is written: blocks that say what they are, so that what is found later can be identified.

use iolite_model::acknowledged::RunKey;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// First bytes of each block.
const MAGIC: [u8; 8] = *b"iolitDUR";
/// Bytes of the header: magic, run, worker, number, checksum of all that follows the checksum and of the fields before it.
const HEADER: usize = 8 + 16 + 4 + 8 + 4;
/// The smallest block that holds a header and contents worth comparing.
pub(crate) const SMALLEST: usize = 64;

/// Which write a block is: the `number`th of a worker, from 1 (0 is what was there before the first).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identity {
    /// The worker, from 0.
    pub worker: u32,
    /// Its write, from 1.
    pub number: u64,
}

/// What a block turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlockState {
    /// A whole block of this run.
    Whole(Identity),
    /// The beginning of one, with other contents: a write that was done in part.
    Torn(Identity),
    /// Nothing but zeros.
    Zeros,
    /// Something else: another run's, or nobody's.
    Foreign,
}

/// Fills `block` with what this write is to hold.
pub(crate) fn fill(block: &mut [u8], run: RunKey, identity: Identity) {
    debug_assert!(block.len() >= SMALLEST, "a block has to hold its header");
    let seed =
        u64::from_le_bytes(first_half(run)) ^ identity.number.rotate_left(20) ^ u64::from(identity.worker);
    Xoshiro256PlusPlus::seed_from_u64(seed).fill_bytes(&mut block[HEADER..]);
    block[..8].copy_from_slice(&MAGIC);
    block[8..24].copy_from_slice(&run.0);
    block[24..28].copy_from_slice(&identity.worker.to_le_bytes());
    block[28..36].copy_from_slice(&identity.number.to_le_bytes());
    let sum = checksum(block);
    block[36..HEADER].copy_from_slice(&sum.to_le_bytes());
}

/// What `block` is.
pub(crate) fn read(block: &[u8], run: RunKey) -> BlockState {
    if block.iter().all(|&byte| byte == 0) {
        return BlockState::Zeros;
    }
    if block.len() < SMALLEST || block[..8] != MAGIC || block[8..24] != run.0 {
        return BlockState::Foreign;
    }
    let worker = u32::from_le_bytes([block[24], block[25], block[26], block[27]]);
    let mut number = [0; 8];
    number.copy_from_slice(&block[28..36]);
    let identity = Identity { worker, number: u64::from_le_bytes(number) };
    let whole = block[36..HEADER] == checksum(block).to_le_bytes();
    if whole { BlockState::Whole(identity) } else { BlockState::Torn(identity) }
}

/// Whether each byte of `block` is of the write `old` or of the write `new`, which was replacing it in the same place: in whatever order
/// the storage wrote the sectors of `new`, it has lost nothing. 16 other bytes pass with a probability of 2^-112.
pub(crate) fn is_partly_replaced(block: &[u8], run: RunKey, old: Identity, new: Identity) -> bool {
    let contents = |identity| {
        let mut contents = vec![0; block.len()];
        fill(&mut contents, run, identity);
        contents
    };
    let (old, new) = (contents(old), contents(new));
    block.iter().zip(old.iter().zip(&new)).all(|(found, (old, new))| found == old || found == new)
}

fn checksum(block: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&block[..36]), &block[HEADER..])
}

fn first_half(run: RunKey) -> [u8; 8] {
    let mut half = [0; 8];
    half.copy_from_slice(&run.0[..8]);
    half
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: RunKey = RunKey([7; 16]);

    #[test]
    fn a_block_says_which_write_it_is() {
        let identity = Identity { worker: 3, number: 77 };
        let mut block = vec![0; 4096];
        fill(&mut block, RUN, identity);
        assert_eq!(read(&block, RUN), BlockState::Whole(identity));
        assert_eq!(read(&block, RunKey([8; 16])), BlockState::Foreign);
        block[4000] ^= 1;
        assert_eq!(read(&block, RUN), BlockState::Torn(identity));
        assert_eq!(read(&[0; 4096], RUN), BlockState::Zeros);
        assert_eq!(read(b"short", RUN), BlockState::Foreign);
    }

    #[test]
    fn half_of_a_newer_write_over_an_older_one_is_torn() {
        let (mut old, mut new) = (vec![0; 4096], vec![0; 4096]);
        fill(&mut old, RUN, Identity { worker: 0, number: 1 });
        fill(&mut new, RUN, Identity { worker: 0, number: 2 });
        old[..512].copy_from_slice(&new[..512]);
        assert_eq!(read(&old, RUN), BlockState::Torn(Identity { worker: 0, number: 2 }));
    }
}
