//! The sizes of the tests: as asked for, else by the memory, as the programs' manuals advise.

use iolite_model::{BonnieTerms, Bytes, ClassicTerms, DdTerms, FileTask, IozoneTerms};

/// Bytes that Bonnie++ writes one at a time, by its manual.
const CHARACTERS: Bytes = Bytes(20 << 20);
/// Random reads of its seek phase, and processes that do them, by its manual.
const SEEKS: u64 = 8192;
const SEEKERS: u32 = 5;

/// A test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClassicTest {
    /// A file is written, a second one, the first is read back.
    Dd,
    /// Bonnie++.
    Bonnie,
    /// IOzone.
    Iozone,
}

impl ClassicTest {
    /// All of them.
    pub const ALL: [ClassicTest; 3] = [ClassicTest::Dd, ClassicTest::Bonnie, ClassicTest::Iozone];

    /// The original program.
    pub const fn name(self) -> &'static str {
        match self {
            ClassicTest::Dd => "dd",
            ClassicTest::Bonnie => "Bonnie++",
            ClassicTest::Iozone => "IOzone",
        }
    }
}

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassicRequest {
    /// The tests.
    pub tests: Vec<ClassicTest>,
    /// Data of each test in all; `None` to follow the memory.
    pub size: Option<Bytes>,
    /// Bytes of each operation.
    pub block: Bytes,
    /// Copies of each of Bonnie++'s phases that run at the same time.
    pub concurrency: u32,
    /// Files that Bonnie++ creates, looks up and removes.
    pub files: u64,
    /// IOzone's processes.
    pub processes: u32,
    /// Leaves the page cache alone before phases that read.
    pub keep_cache: bool,
}

/// Why there are no sizes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClassicError {
    /// The memory's size is not known.
    #[error("the memory size of this host, from which sizes are derived, is unknown: specify --size")]
    Memory,
    /// The block is invalid.
    #[error("--block {0}: specify a size from 1 byte to 1 GiB")]
    Block(Bytes),
    /// Too little for the files.
    #[error(
        "{size} is too small for {}, which needs two blocks of {block} in each of its files ({parts}): specify a --size of at least \
         {min}, or a smaller --block",
        test.name()
    )]
    Size {
        /// The test.
        test: ClassicTest,
        /// Its data.
        size: Bytes,
        /// Its files.
        parts: u64,
        /// Bytes of each operation.
        block: Bytes,
        /// Smallest size.
        min: Bytes,
    },
}

/// The terms of a request on a host with this memory.
pub(super) fn terms(request: &ClassicRequest, memory: Bytes) -> Result<ClassicTerms, ClassicError> {
    let &ClassicRequest { size, block, concurrency, files, processes, keep_cache, .. } = request;
    if size.is_none() && memory.0 == 0 {
        return Err(ClassicError::Memory);
    }
    if block.0 == 0 || block > FileTask::LARGEST_OPERATION {
        return Err(ClassicError::Block(block));
    }
    let halves = |count: u64| size.unwrap_or(Bytes(memory.0.saturating_mul(count) / 2));
    let asked = |test| request.tests.contains(&test);
    let parts = [
        (ClassicTest::Dd, halves(4), 1),
        (ClassicTest::Bonnie, halves(3), concurrency),
        (ClassicTest::Iozone, halves(3), processes),
    ];
    for (test, size, parts) in parts.into_iter().filter(|(test, ..)| asked(*test)) {
        enough(test, size, parts.into(), block)?;
    }
    let whole = |size: Bytes| size.round_down(block.0);
    Ok(ClassicTerms {
        dd: asked(ClassicTest::Dd).then(|| DdTerms {
            size: whole(halves(4)),
            flush: whole(Bytes(halves(4).0 / 2)),
            block,
        }),
        bonnie: asked(ClassicTest::Bonnie).then(|| BonnieTerms {
            size: whole(halves(3)),
            // With little data as little as the other phases: byte by byte it takes long.
            characters: Bytes(CHARACTERS.0.min(halves(3).0 / 4).max(1)),
            chunk: block,
            concurrency,
            seeks: SEEKS,
            seekers: SEEKERS,
            files,
        }),
        iozone: asked(ClassicTest::Iozone).then(|| IozoneTerms {
            size: whole(Bytes(halves(3).0 / u64::from(processes.max(1)))),
            record: block,
            processes,
        }),
        keep_cache,
    })
}

/// Checks that each file of a test has at least two blocks.
fn enough(test: ClassicTest, size: Bytes, parts: u64, block: Bytes) -> Result<(), ClassicError> {
    let min = Bytes(block.0.saturating_mul(parts).saturating_mul(2));
    if size < min { Err(ClassicError::Size { test, size, parts, block, min }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(size: Option<Bytes>) -> ClassicRequest {
        ClassicRequest {
            tests: ClassicTest::ALL.to_vec(),
            size,
            block: Bytes(8192),
            concurrency: 1,
            files: 16,
            processes: 6,
            keep_cache: false,
        }
    }

    #[test]
    fn sizes_follow_the_memory_unless_one_is_given() {
        let found = terms(&request(None), Bytes::GIB).unwrap();
        let (dd, bonnie, iozone) = (found.dd.unwrap(), found.bonnie.unwrap(), found.iozone.unwrap());
        assert_eq!((dd.size, dd.flush, bonnie.size), (Bytes(2 << 30), Bytes(1 << 30), Bytes(3 << 29)));
        assert_eq!((bonnie.characters, iozone.size), (CHARACTERS, Bytes(1 << 28)));
        let given = terms(&request(Some(Bytes(6 << 20))), Bytes(0)).unwrap();
        assert_eq!(given.iozone.unwrap().size, Bytes(1 << 20));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        assert_eq!(terms(&request(None), Bytes(0)), Err(ClassicError::Memory));
        let small = terms(&request(Some(Bytes(8192))), Bytes(0)).unwrap_err().to_string();
        // The first test for which it is too small.
        assert!(small.contains("dd,") && small.contains("at least 16 KiB"), "{small}");
        let iozone = ClassicRequest { tests: vec![ClassicTest::Iozone], ..request(Some(Bytes(8192))) };
        let small = terms(&iozone, Bytes(0)).unwrap_err().to_string();
        assert!(
            small.contains("IOzone,") && small.contains("files (6)") && small.contains("96 KiB"),
            "{small}"
        );
        let large = ClassicRequest { block: Bytes::GIB, ..request(None) };
        assert!(terms(&large, Bytes::GIB).is_err());
        let block = ClassicRequest { block: Bytes(0), ..request(None) };
        assert_eq!(terms(&block, Bytes::GIB), Err(ClassicError::Block(Bytes(0))));
    }
}
