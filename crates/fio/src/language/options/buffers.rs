//! Buffers and contents.

use iolite_model::{Bytes, Contents, Duplicates, FileTask, Fill, Lifetime};

use super::verify::pattern;
use crate::language::error::{OptionError, Result};
use crate::language::options::Spec;
use crate::language::options::entry::{choice, flag, integer, put, size, special};
use crate::language::options::option::{Form, Opt};
use crate::language::thread::{Thread, ThreadIndex};
use crate::language::value::OptionValue;

/// Buffers and contents.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Buffers {
    /// Zeros.
    pub zero: bool,
    /// generated for each write.
    pub refill: bool,
    /// Changed a little for each write.
    pub scramble: bool,
    /// These bytes over and over; empty for random ones.
    pub pattern: Vec<u8>,
    /// Share of the compressible bytes, in percent.
    pub compress_percent: Option<u8>,
    /// Length of what is partly random and partly compressible, in bytes; 0 for the block.
    pub compress_chunk: u64,
    /// Share of the buffers that repeat others, in percent.
    pub dedupe_percent: u8,
    /// Others are from a set rather than the one before.
    pub dedupe_from_set: bool,
    /// Size of that set, in percent of the size of the job.
    pub dedupe_set_percent: u8,
    /// It is that of all jobs that say so.
    pub dedupe_global: bool,
    /// Buffers are of huge pages (`mem=shmhuge` or `mmaphuge`).
    pub huge: bool,
    /// Size of a huge page, in bytes.
    pub huge_page: u64,
    /// What the first buffer's address is a multiple of, in bytes; 0 for a page.
    pub align: u64,
    /// Memory that each clone locks, in bytes.
    pub locked: u64,
    /// `write_hint`: how long written data is expected to live.
    pub lifetime: Option<Lifetime>,
}

impl Buffers {
    /// Changes `thread` to what these settings say.
    pub(crate) fn lower(&self, _spec: &Spec, _place: ThreadIndex, thread: &mut Thread) -> Result {
        if let Some(task) = thread.io() {
            task.contents = self.contents(task)?;
        }
        Ok(())
    }

    /// What duplicates repeat.
    ///
    /// # Errors
    /// A working set has no size.
    fn duplicates(&self, task: &FileTask) -> Result<Duplicates> {
        match (self.dedupe_percent, self.dedupe_from_set) {
            (0, _) => return Ok(Duplicates::default()),
            (_, false) => return Ok(Duplicates::Previous),
            (_, true) => {}
        }
        let size = task.target.size().0;
        if size == 0 {
            return Err(OptionError::refused("a working set is a part of the size", "specify size")
                .at("dedupe_working_set_percentage"));
        }
        let bytes = u128::from(size) * u128::from(self.dedupe_set_percent) / 100;
        let blocks = (bytes / u128::from(task.block.0.max(1))).max(1) as u64;
        Ok(if self.dedupe_global { Duplicates::Common(blocks) } else { Duplicates::Set(blocks) })
    }

    fn contents(&self, task: &FileTask) -> Result<Contents> {
        let fill = match self.compress_percent {
            Some(percent) => Fill::Compressible {
                percent,
                pattern: self.pattern.clone(),
                chunk: Bytes(self.compress_chunk),
            },
            None if !self.pattern.is_empty() => Fill::Pattern(self.pattern.clone()),
            None if self.zero => Fill::Zeros,
            None => Fill::Random,
        };
        let all_equal =
            matches!(fill, Fill::Pattern(_) | Fill::Zeros | Fill::Compressible { percent: 100, .. });
        // Where all are equal anyway there is nothing to repeat, nor to make anew.
        let duplicate_percent = if all_equal { 0 } else { self.dedupe_percent };
        let implied = self.compress_percent.is_some() || duplicate_percent > 0;
        let refill = !all_equal && (self.refill || implied);
        let scramble = self.scramble && !refill && fill == Fill::Random && duplicate_percent == 0;
        let duplicates = if all_equal { Duplicates::default() } else { self.duplicates(task)? };
        Ok(Contents { fill, duplicate_percent, duplicates, refill, scramble, lifetime: self.lifetime })
    }
}

/// The largest alignment of a buffer: that of the engine's own.
const ALIGNED: i64 = 4096;

/// The smallest size of a huge page on any machine, in bytes.
const HUGE: u64 = 64 << 10;

/// Whether the buffers are of huge pages. A file of mmaphuge, which lies in a file system of huge pages, is not needed for them.
fn memory(given: &OptionValue<'_>) -> Result<bool> {
    let text = given.text()?;
    match text.split_once(':').map_or((text, None), |(kind, file)| (kind, Some(file))) {
        ("malloc" | "shm" | "mmap" | "mmapshared", None) => Ok(false),
        ("shmhuge" | "mmaphuge", None) | ("mmaphuge", Some(_)) => Ok(true),
        ("mmap" | "mmapshared", Some(_)) => {
            Err(OptionError::not_built("buffers in a file are", "use mem=malloc"))
        }
        ("cudamalloc", _) => Err(OptionError::not_built("GPU memory is", "use mem=malloc")),
        _ => {
            let words = ["malloc", "shm", "shmhuge", "mmap", "mmapshared", "mmaphuge"];
            Err(OptionError::unknown_word(text, words))
        }
    }
}

fn huge_page(given: &OptionValue<'_>) -> Result<u64> {
    let size = given.size()?.0;
    if size.is_power_of_two() && size >= HUGE {
        return Ok(size);
    }
    Err(OptionError::refused(
        format!("{size} bytes are not the size of a huge page"),
        "specify one of those in /sys/kernel/mm/hugepages, such as 2m",
    ))
}

fn align(given: &OptionValue<'_>) -> Result<u64> {
    let align = given.integer(0, i64::from(i32::MAX))?;
    if align == 0 || (align as u64).is_power_of_two() && align <= ALIGNED {
        Ok(align as u64)
    } else {
        Err(OptionError::refused(
            format!("`{}`: buffers are aligned to 4096 bytes", given.text()?),
            "specify a power of two up to that, or remove it",
        ))
    }
}

/// The options.
pub const OPTIONS: &[Opt] = &[
    flag("zero_buffers", |s, on| s.buffers.zero = on)
        .help("Writes zeros, which compressing storage reduces to almost nothing."),
    flag("refill_buffers", |s, on| s.buffers.refill = on)
        .help("Fills the buffer with new random bytes for each write instead of once."),
    flag("scramble_buffers", |s, on| s.buffers.scramble = on)
        .default("1")
        .help("Changes a few bytes of the buffer for each write, so that no two blocks are equal."),
    special(
        "buffer_pattern",
        Form::Special(
            "0x and hexadecimal digits, text in double quotes, the name of a file in single quotes, decimal \
             numbers, one after the other",
        ),
        |s, g| put(&mut s.buffers.pattern, g.text().and_then(pattern::parse)),
    )
    .help("Writes these bytes repeatedly."),
    integer("buffer_compress_percentage", 0, 100, |s, value| s.buffers.compress_percent = Some(value as u8))
        .help(
            "Percentage of the written data that is compressible: zeros, or the pattern. Implies \
             refill_buffers, unless it is 100.",
        ),
    size("buffer_compress_chunk", |s, size| s.buffers.compress_chunk = size.0)
        .default("512")
        .help("Size of the chunks that are partly random and partly compressible; 0 for the whole block."),
    integer("dedupe_percentage", 0, 100, |s, value| s.buffers.dedupe_percent = value as u8)
        .default("0")
        .help(
            "Percentage of writes with duplicate contents; none with verify, whose headers differ. Implies \
             refill_buffers.",
        ),
    choice!("dedupe_mode", &[("repeat", false), ("working_set", true)], |s, v| s.buffers.dedupe_from_set = v)
        .default("repeat")
        .help("Whether the previous write or one of a working set is repeated."),
    integer("dedupe_working_set_percentage", 0, 100, |s, value| s.buffers.dedupe_set_percent = value as u8)
        .default("5")
        .help("Size of the working set of duplicates, in percent of the size of the job."),
    flag("dedupe_global", |s, on| s.buffers.dedupe_global = on)
        .help("Jobs that say so share the working set of duplicates."),
    special(
        "mem",
        Form::Special("malloc, shm, shmhuge, mmap, mmapshared, mmaphuge or mmaphuge:FILE"),
        |s, g| put(&mut s.buffers.huge, memory(g)),
    )
    .named_also(&["iomem"])
    .default("malloc")
    .help(
        "Type of memory for the buffers: pages of the usual size, or huge pages (shmhuge, mmaphuge), \
             which the system must have reserved.",
    )
    .bounded(
        "buffers are always anonymous memory, also with a FILE; buffers in other files and GPU memory \
             are rejected",
    ),
    special("iomem_align", Form::Size, |s, g| put(&mut s.buffers.align, align(g)))
        .named_also(&["mem_align"])
        .default("0")
        .help("Alignment of the first buffer.")
        .bounded("buffers are always aligned to 4096 bytes"),
    special("hugepage-size", Form::Size, |s, g| put(&mut s.buffers.huge_page, huge_page(g)))
        .default("2m")
        .help("Size of a huge page for mem=shmhuge and mmaphuge."),
    size("lockmem", |s, size| s.buffers.locked = size.0)
        .default("0")
        .help("Amount of memory that each clone locks, to reduce free memory."),
    choice!(
        "write_hint",
        &[
            ("none", Lifetime::None),
            ("short", Lifetime::Short),
            ("medium", Lifetime::Medium),
            ("long", Lifetime::Long),
            ("extreme", Lifetime::Extreme),
        ],
        |s, v| s.buffers.lifetime = Some(v)
    )
    .help(
        "Expected lifetime of written data (fcntl F_SET_RW_HINT), for file systems and devices that use \
             it.",
    ),
];
