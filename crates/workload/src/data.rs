//! Contents of what is written.

use iolite_model::{Contents, Duplicates, FileTask, Fill};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;

use crate::error::WorkloadError;
use crate::random::Purpose;
use crate::random::below;
use crate::random::generator;

/// Smallest unit that storage distinguishes, in bytes.
const SECTOR: usize = 512;

/// Seed of the blocks that the duplicates of all tasks repeat.
const COMMON: u64 = 0x00dd_0b1e;

/// Fills buffers with what is to be written: by default fresh random bytes, of which storage that compresses or
/// deduplicates gains nothing.
#[derive(Debug, Clone)]
pub struct Filler {
    random: Xoshiro256PlusPlus,
    /// Decides which blocks are duplicates, and of which; apart from the bytes, so that sizes don't change it.
    choice: Xoshiro256PlusPlus,
    /// As `random` was before the last block that is no duplicate.
    previous: Xoshiro256PlusPlus,
    seed: u64,
    contents: Contents,
}

impl Filler {
    /// The filler of one worker with random bytes.
    pub fn new(seed: u64, worker: u32) -> Filler {
        Filler {
            random: generator(seed, worker, Purpose::Data),
            choice: generator(seed, worker, Purpose::Duplicates),
            previous: generator(seed, worker, Purpose::Data),
            seed,
            contents: Contents::default(),
        }
    }

    /// The filler of one worker with these contents.
    ///
    /// # Errors
    /// A percentage above 100, a pattern without bytes, or duplicates of blocks that are all equal anyway.
    pub fn with(contents: Contents, seed: u64, worker: u32) -> Result<Filler, WorkloadError> {
        check(&contents)?;
        Ok(Filler { contents, ..Filler::new(seed, worker) })
    }

    /// The filler of worker `worker` of a task, with the task's contents.
    ///
    /// # Errors
    /// As [`with`](Filler::with).
    pub fn of(task: &FileTask, worker: u32) -> Result<Filler, WorkloadError> {
        Filler::with(task.contents.clone(), task.seed, worker)
    }

    /// Whether each write gets contents of its own; otherwise a buffer is filled once and written over and over.
    #[inline]
    pub fn refills(&self) -> bool {
        self.contents.refill
    }

    /// Whether a buffer that was written is to be changed a little before it is written again ([`scramble`](Filler::scramble)).
    #[inline]
    pub fn scrambles(&self) -> bool {
        self.contents.scramble && !self.contents.refill
    }

    /// Changes eight bytes in every 512 of a buffer that was filled before.
    #[inline]
    pub fn scramble(&mut self, buffer: &mut [u8]) {
        for sector in buffer.chunks_mut(SECTOR) {
            let stamp = self.random.next_u64().to_le_bytes();
            let length = stamp.len().min(sector.len());
            sector[..length].copy_from_slice(&stamp[..length]);
        }
    }

    /// Fills the whole buffer, which is one block; random bytes take about one nanosecond for eight.
    #[inline]
    pub fn fill(&mut self, buffer: &mut [u8]) {
        let percent = self.contents.duplicate_percent;
        if percent > 0 && below(&mut self.choice, 100) < u64::from(percent) {
            self.repeat(buffer);
        } else {
            if percent > 0 {
                self.previous = self.random.clone();
            }
            write(&self.contents.fill, &mut self.random, buffer);
        }
    }

    /// Fills the buffer with what was written before, drawn anew, so that no copy has to be kept.
    fn repeat(&mut self, buffer: &mut [u8]) {
        let mut again = match self.contents.duplicates {
            Duplicates::Previous => self.previous.clone(),
            Duplicates::Set(blocks) => duplicate(self.seed, below(&mut self.choice, blocks.max(1))),
            Duplicates::Common(blocks) => duplicate(COMMON, below(&mut self.choice, blocks.max(1))),
        };
        write(&self.contents.fill, &mut again, buffer);
    }
}

/// The generator of a block of a set.
fn duplicate(seed: u64, number: u64) -> Xoshiro256PlusPlus {
    // Numbers beyond 32 bits change the seed.
    generator(seed.wrapping_add(number >> 32), number as u32, Purpose::Duplicate)
}

#[inline]
fn write(fill: &Fill, random: &mut Xoshiro256PlusPlus, buffer: &mut [u8]) {
    match fill {
        Fill::Random => random.fill_bytes(buffer),
        Fill::Zeros => buffer.fill(0),
        Fill::Pattern(pattern) => repeat(pattern, buffer),
        Fill::Compressible { percent, pattern, chunk } => {
            let whole = buffer.len().max(1);
            let chunk = if chunk.0 == 0 { whole } else { whole.min(chunk.0 as usize) };
            for unit in buffer.chunks_mut(chunk) {
                let compressible = unit.len() * usize::from(*percent) / 100;
                let (incompressible, rest) = unit.split_at_mut(unit.len() - compressible);
                random.fill_bytes(incompressible);
                repeat(pattern, rest);
            }
        }
    }
}

/// The pattern over and over, cut off at the end; zeros where it is empty.
fn repeat(pattern: &[u8], buffer: &mut [u8]) {
    if pattern.is_empty() {
        buffer.fill(0);
        return;
    }
    let mut done = pattern.len().min(buffer.len());
    buffer[..done].copy_from_slice(&pattern[..done]);
    // What is done is doubled: a number of copies that grows with the logarithm, however short the pattern.
    while done < buffer.len() {
        let more = done.min(buffer.len() - done);
        buffer.copy_within(..more, done);
        done += more;
    }
}

/// Checks contents.
///
/// # Errors
/// As [`Filler::with`].
pub(crate) fn check(contents: &Contents) -> Result<(), WorkloadError> {
    let percent = |what: &'static str, percent: u8| {
        WorkloadError::unless(
            percent <= 100,
            || format!("the share of {what} is {percent} %"),
            "a percentage is between 0 and 100",
            "correct it",
        )
    };
    percent("duplicates", contents.duplicate_percent)?;
    match &contents.fill {
        Fill::Random => Ok(()),
        Fill::Compressible { percent: share, .. } => {
            percent("compressible bytes", *share)?;
            no_duplicates_of_equals(contents.duplicate_percent, *share == 100)
        }
        Fill::Pattern(pattern) if pattern.is_empty() => Err(WorkloadError::new(
            "the pattern has no bytes".to_owned(),
            "it needs at least one to repeat",
            "specify its bytes, or choose zeros",
        )),
        Fill::Zeros | Fill::Pattern(_) => no_duplicates_of_equals(contents.duplicate_percent, true),
    }
}

fn no_duplicates_of_equals(duplicate_percent: u8, all_equal: bool) -> Result<(), WorkloadError> {
    WorkloadError::unless(
        duplicate_percent == 0 || !all_equal,
        || format!("{duplicate_percent} % of the blocks are to be duplicates"),
        "all blocks of these contents are equal already",
        "remove duplicates, or choose random or partly compressible contents",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolite_model::Bytes;
    use proptest::prelude::*;
    use std::collections::HashMap;

    fn contents(fill: Fill, duplicate_percent: u8) -> Contents {
        Contents { fill, duplicate_percent, ..Contents::default() }
    }

    fn filled(fill: Fill, length: usize) -> Vec<u8> {
        let mut buffer = vec![0xaa; length];
        Filler::with(contents(fill, 0), 1, 0).unwrap().fill(&mut buffer);
        buffer
    }

    #[test]
    fn contents_are_incompressible_and_never_repeat() {
        let mut filler = Filler::new(1, 0);
        let (mut one, mut other) = (vec![0; 65536], vec![0; 65536]);
        filler.fill(&mut one);
        filler.fill(&mut other);
        assert_ne!(one, other);
        // Entropy of the bytes' distribution: 8 bits less the sampling error.
        let mut counts = [0f64; 256];
        one.iter().for_each(|&byte| counts[usize::from(byte)] += 1.0);
        let entropy: f64 = counts.iter().map(|count| count / 65536.0).map(|p| -p * p.log2()).sum();
        assert!(entropy > 7.99, "{entropy}");
    }

    #[test]
    fn the_same_seed_gives_the_same_contents() {
        for fill in [Fill::Random, Fill::compressible(50, vec![1, 2, 3])] {
            let draw = |seed, worker| {
                let mut filler = Filler::with(contents(fill.clone(), 30), seed, worker).unwrap();
                let mut buffers = vec![0; 64 * 4096];
                buffers.chunks_mut(4096).for_each(|buffer| filler.fill(buffer));
                buffers
            };
            assert!(draw(1, 0) == draw(1, 0) && draw(1, 0) != draw(1, 1) && draw(1, 0) != draw(2, 0));
        }
    }

    proptest! {
        #[test]
        fn a_pattern_repeats_from_the_start(pattern in prop::collection::vec(any::<u8>(), 1..50), length in 0usize..500) {
            let buffer = filled(Fill::Pattern(pattern.clone()), length);
            let expected: Vec<_> = pattern.iter().copied().cycle().take(length).collect();
            prop_assert_eq!(buffer, expected);
        }
    }

    #[test]
    fn a_task_says_its_contents() {
        let contents = Contents { fill: Fill::Pattern(vec![7]), refill: false, ..Contents::default() };
        let task = FileTask { contents, ..FileTask::default() };
        let mut filler = Filler::of(&task, 0).unwrap();
        let mut buffer = [0; 100];
        filler.fill(&mut buffer);
        assert_eq!((buffer, filler.refills()), ([7; 100], false));
        assert!(Filler::of(&FileTask::default(), 0).unwrap().refills());
    }

    #[test]
    fn scrambling_changes_every_sector_and_little_of_it() {
        let contents = Contents { refill: false, scramble: true, ..Contents::default() };
        let mut filler = Filler::with(contents, 1, 0).unwrap();
        let mut buffer = vec![0; 3000];
        filler.fill(&mut buffer);
        let before = buffer.clone();
        filler.scramble(&mut buffer);
        for (old, new) in before.chunks(512).zip(buffer.chunks(512)) {
            let changed = old.iter().zip(new).filter(|(old, new)| old != new).count();
            assert!((1..=8).contains(&changed), "{changed}");
            assert_eq!(old[8..], new[8..]);
        }
        assert!(filler.scrambles() && !Filler::new(1, 0).scrambles());
    }

    #[test]
    fn zeros_are_zeros() {
        assert_eq!(filled(Fill::Zeros, 5000), vec![0; 5000]);
        assert!(filled(Fill::Zeros, 0).is_empty());
    }

    #[test]
    fn the_share_of_every_4_kib_is_compressible() {
        for percent in [0, 1, 37, 100] {
            let buffer = filled(Fill::compressible(percent, Vec::new()), 3 * 4096 + 1000);
            for unit in buffer.chunks(4096) {
                let compressible = unit.len() * usize::from(percent) / 100;
                let (random, zeros) = unit.split_at(unit.len() - compressible);
                assert!(zeros.iter().all(|byte| *byte == 0), "{percent}");
                // Of random bytes one in 256 is zero: of 4,096 within 5 standard deviations at most 36.
                assert!(random.iter().filter(|byte| **byte == 0).count() <= 36, "{percent}");
            }
        }
        let buffer = filled(Fill::compressible(50, b"ab".to_vec()), 4096);
        assert!(buffer[2048..].chunks(2).all(|pair| pair == b"ab"));
        for (chunk, first, second) in [(0, 0..4096, 4096..8192), (1024, 0..512, 512..1024)] {
            let fill = Fill::Compressible { percent: 50, pattern: b"ab".to_vec(), chunk: Bytes(chunk) };
            let buffer = filled(fill, 8192);
            assert!(buffer[second].chunks(2).all(|pair| pair == b"ab"), "{chunk}");
            assert!(!buffer[first].chunks(2).all(|pair| pair == b"ab"), "{chunk}");
        }
    }

    #[test]
    fn duplicates_repeat_what_they_are_to() {
        let with = |duplicates, seed| {
            let contents = Contents { duplicate_percent: 50, duplicates, ..Contents::default() };
            let mut filler = Filler::with(contents, seed, 0).unwrap();
            let block = || {
                let mut buffer = [0u8; 64];
                filler.fill(&mut buffer);
                buffer
            };
            std::iter::repeat_with(block).take(2000).collect::<Vec<_>>()
        };
        let blocks = with(Duplicates::Previous, 1);
        let mut seen: HashMap<[u8; 64], usize> = HashMap::new();
        let mut repeated = 0;
        for (number, block) in blocks.iter().enumerate() {
            if let Some(last) = seen.insert(*block, number) {
                assert_eq!(last + 1, number, "a duplicate follows what it repeats");
                repeated += 1;
            }
        }
        // Within five standard deviations (22) of half of them.
        assert!((888..=1112).contains(&repeated), "{repeated}");
        let twice = |blocks: &[[u8; 64]]| {
            let mut times: HashMap<[u8; 64], u32> = HashMap::new();
            blocks.iter().for_each(|block| *times.entry(*block).or_default() += 1);
            let mut twice: Vec<_> =
                times.into_iter().filter(|(_, times)| *times > 1).map(|(b, _)| b).collect();
            twice.sort_unstable();
            twice
        };
        let set = |duplicates, seed| twice(&with(duplicates, seed));
        assert_eq!(set(Duplicates::Set(5), 1).len(), 5);
        assert_ne!(set(Duplicates::Set(5), 1), set(Duplicates::Set(5), 2));
        assert_eq!(set(Duplicates::Common(5), 1), set(Duplicates::Common(5), 2));
    }

    /// Of 10,000 blocks 30 % are duplicates: within 4 standard deviations (46). They are 16 different ones, the same
    /// for another worker.
    #[test]
    fn the_share_of_the_blocks_is_duplicates() {
        let mut sets = Vec::new();
        for worker in 0..2 {
            let mut filler = Filler::with(contents(Fill::Random, 30), 1, worker).unwrap();
            let mut times: HashMap<[u8; 64], u32> = HashMap::new();
            for _ in 0..10_000 {
                let mut buffer = [0; 64];
                filler.fill(&mut buffer);
                *times.entry(buffer).or_default() += 1;
            }
            let mut repeated: Vec<_> = times.iter().filter(|(_, times)| **times > 1).collect();
            assert_eq!(repeated.len(), 16);
            let duplicates: u32 = repeated.iter().map(|(_, times)| **times).sum();
            assert!((2816..=3184).contains(&duplicates), "{duplicates}");
            repeated.sort();
            sets.push(repeated.iter().map(|(block, _)| **block).collect::<Vec<_>>());
        }
        assert_eq!(sets[0], sets[1]);
    }

    #[test]
    fn contents_without_sense_are_refused() {
        let half = |percent| Fill::compressible(percent, Vec::new());
        for (contents, part) in [
            (contents(Fill::Random, 101), "duplicates is 101 %"),
            (contents(half(101), 0), "compressible bytes is 101 %"),
            (contents(Fill::Pattern(Vec::new()), 0), "no bytes"),
            (contents(Fill::Zeros, 1), "equal already"),
            (contents(Fill::Pattern(vec![1]), 50), "equal already"),
            (contents(half(100), 50), "equal already"),
        ] {
            let error = Filler::with(contents, 1, 0).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
        assert!(Filler::with(contents(half(99), 50), 1, 0).is_ok());
    }
}
