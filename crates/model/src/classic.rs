//! The classic disk performance tests (dd, Bonnie++, IOzone): what a run of them was asked for, and the names of its
//! steps, by which each of its phases is found again.

use serde::{Deserialize, Serialize};

use crate::units::Bytes;

/// What a run of the disk performance tests was asked for. Tests that were not asked for are `None`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ClassicTerms {
    /// The test of large sequential writes and reads with one program.
    pub dd: Option<DdTerms>,
    /// Bonnie++'s phases.
    pub bonnie: Option<BonnieTerms>,
    /// IOzone's tests of several processes.
    pub iozone: Option<IozoneTerms>,
    /// The page cache is left as it is before phases that read, as the originals leave it.
    pub keep_cache: bool,
}

/// Sizes of the dd test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DdTerms {
    /// Bytes of the file that is written and read back: twice the memory, unless the user says otherwise.
    pub size: Bytes,
    /// Bytes of the second file, whose writing pushes the first one out of the page cache.
    pub flush: Bytes,
    /// Bytes of each operation.
    pub block: Bytes,
}

/// Sizes of Bonnie++'s phases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BonnieTerms {
    /// Bytes of all files together.
    pub size: Bytes,
    /// Bytes that are written and read one at a time.
    pub characters: Bytes,
    /// Bytes of each other operation.
    pub chunk: Bytes,
    /// Copies of each phase that run at the same time.
    pub concurrency: u32,
    /// Random reads of the seek phase.
    pub seeks: u64,
    /// Threads that do them.
    pub seekers: u32,
    /// Files that are created, looked up and removed, by all copies together; 0 to leave these phases out.
    pub files: u64,
}

/// Sizes of IOzone's tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct IozoneTerms {
    /// Bytes of each process's file.
    pub size: Bytes,
    /// Bytes of each operation.
    pub record: Bytes,
    /// Processes.
    pub processes: u32,
}

/// A phase of a run of these tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClassicStep {
    /// A step of the dd test.
    Dd(DdStep),
    /// A phase of Bonnie++.
    Bonnie(BonniePhase),
    /// One process of a test of IOzone, from 1.
    Iozone(IozoneTest, u32),
}

impl ClassicStep {
    /// Name of its task, by which a report finds its phase.
    pub fn name(self) -> String {
        match self {
            ClassicStep::Dd(step) => format!("dd: {}", step.name()),
            ClassicStep::Bonnie(phase) => format!("bonnie: {}", phase.name()),
            ClassicStep::Iozone(test, process) => format!("iozone: {}, process {process}", test.name()),
        }
    }
}

/// A step of the dd test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DdStep {
    /// Writes the file, then makes it durable.
    Write,
    /// Writes a second file, to fill the page cache with something else.
    Flush,
    /// Reads the first file.
    Read,
}

impl DdStep {
    /// All of them, in order.
    pub const ALL: [DdStep; 3] = [DdStep::Write, DdStep::Flush, DdStep::Read];

    /// What it does.
    pub const fn name(self) -> &'static str {
        match self {
            DdStep::Write => "write",
            DdStep::Flush => "write a second file",
            DdStep::Read => "read back",
        }
    }
}

/// A phase of Bonnie++.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BonniePhase {
    /// Writes one byte at a time.
    PutCharacter,
    /// Writes a chunk at a time.
    PutBlock,
    /// Reads each chunk, and writes it back.
    Rewrite,
    /// Reads one byte at a time.
    GetCharacter,
    /// Reads a chunk at a time.
    GetBlock,
    /// Reads chunks at random, and writes some back.
    Seeks,
    /// Works on names: a step, in sequential order or not.
    Files(MetadataStep, bool),
}

impl BonniePhase {
    /// All of them, in order.
    pub const ALL: [BonniePhase; 12] = [
        BonniePhase::PutCharacter,
        BonniePhase::PutBlock,
        BonniePhase::Rewrite,
        BonniePhase::GetCharacter,
        BonniePhase::GetBlock,
        BonniePhase::Seeks,
        BonniePhase::Files(MetadataStep::Create, true),
        BonniePhase::Files(MetadataStep::Stat, true),
        BonniePhase::Files(MetadataStep::Delete, true),
        BonniePhase::Files(MetadataStep::Create, false),
        BonniePhase::Files(MetadataStep::Stat, false),
        BonniePhase::Files(MetadataStep::Delete, false),
    ];

    /// What it does.
    pub const fn name(self) -> &'static str {
        use MetadataStep::{Create, Delete, Stat};
        match self {
            BonniePhase::PutCharacter => "per-character output",
            BonniePhase::PutBlock => "block output",
            BonniePhase::Rewrite => "rewrite",
            BonniePhase::GetCharacter => "per-character input",
            BonniePhase::GetBlock => "block input",
            BonniePhase::Seeks => "random seeks",
            BonniePhase::Files(Create, true) => "sequential create",
            BonniePhase::Files(Stat, true) => "sequential stat",
            BonniePhase::Files(Delete, true) => "sequential delete",
            BonniePhase::Files(Create, false) => "random create",
            BonniePhase::Files(Stat, false) => "random stat",
            BonniePhase::Files(Delete, false) => "random delete",
        }
    }
}

/// What is done to each of many files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MetadataStep {
    /// Created.
    Create,
    /// Looked up by name.
    Stat,
    /// Removed.
    Delete,
}

/// A test of IOzone. Each of its processes works on a file of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IozoneTest {
    /// Test 0: new files are written.
    Write,
    /// Test 0: the same files are written again.
    Rewrite,
    /// Test 1: they are read.
    Read,
    /// Test 1: they are read again.
    Reread,
    /// Test 2: records are read at random.
    RandomRead,
    /// Test 2: records are written at random.
    RandomWrite,
    /// Test 3: records are read from the last to the first.
    ReverseRead,
    /// Test 4: one record is written again and again.
    RecordRewrite,
    /// Test 5: records are read at distances.
    StrideRead,
    /// Test 8: some processes read at random, the others write at random.
    Mixed,
}

impl IozoneTest {
    /// All of them, in the order of their numbers.
    pub const ALL: [IozoneTest; 10] = [
        IozoneTest::Write,
        IozoneTest::Rewrite,
        IozoneTest::Read,
        IozoneTest::Reread,
        IozoneTest::RandomRead,
        IozoneTest::RandomWrite,
        IozoneTest::ReverseRead,
        IozoneTest::RecordRewrite,
        IozoneTest::StrideRead,
        IozoneTest::Mixed,
    ];

    /// What its processes are called in IOzone's output.
    pub const fn name(self) -> &'static str {
        match self {
            IozoneTest::Write => "initial writers",
            IozoneTest::Rewrite => "rewriters",
            IozoneTest::Read => "readers",
            IozoneTest::Reread => "re-readers",
            IozoneTest::RandomRead => "random readers",
            IozoneTest::RandomWrite => "random writers",
            IozoneTest::ReverseRead => "reverse readers",
            IozoneTest::RecordRewrite => "record rewriters",
            IozoneTest::StrideRead => "stride readers",
            IozoneTest::Mixed => "mixed workload",
        }
    }

    /// Its label in IOzone's spreadsheet report (`-R`).
    pub const fn label(self) -> &'static str {
        match self {
            IozoneTest::Write => "Initial write",
            IozoneTest::Rewrite => "Rewrite",
            IozoneTest::Read => "Read",
            IozoneTest::Reread => "Re-read",
            IozoneTest::RandomRead => "Random read",
            IozoneTest::RandomWrite => "Random write",
            IozoneTest::ReverseRead => "Reverse Read",
            IozoneTest::RecordRewrite => "Record rewrite",
            IozoneTest::StrideRead => "Stride read",
            IozoneTest::Mixed => "Mixed workload",
        }
    }

    /// Its number (`-i`).
    pub const fn number(self) -> u8 {
        match self {
            IozoneTest::Write | IozoneTest::Rewrite => 0,
            IozoneTest::Read | IozoneTest::Reread => 1,
            IozoneTest::RandomRead | IozoneTest::RandomWrite => 2,
            IozoneTest::ReverseRead => 3,
            IozoneTest::RecordRewrite => 4,
            IozoneTest::StrideRead => 5,
            IozoneTest::Mixed => 8,
        }
    }

    /// Whether process `process`, from 1, writes.
    pub const fn writes(self, process: u32) -> bool {
        match self {
            IozoneTest::Write | IozoneTest::Rewrite | IozoneTest::RandomWrite | IozoneTest::RecordRewrite => {
                true
            }
            IozoneTest::Mixed => process.is_multiple_of(2),
            IozoneTest::Read
            | IozoneTest::Reread
            | IozoneTest::RandomRead
            | IozoneTest::ReverseRead
            | IozoneTest::StrideRead => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_phase_has_a_name_of_its_own() {
        let dd = DdStep::ALL.map(ClassicStep::Dd);
        let bonnie = BonniePhase::ALL.map(ClassicStep::Bonnie);
        let iozone = IozoneTest::ALL.map(|test| ClassicStep::Iozone(test, 1));
        let steps: Vec<_> = dd.into_iter().chain(bonnie).chain(iozone).collect();
        let names: BTreeSet<_> = steps.iter().map(|step| step.name()).collect();
        assert_eq!(names.len(), steps.len());
    }
}
