//! Direction and order of the I/O.

mod distribution;
mod precondition;

use std::hash::{BuildHasher, Hasher, RandomState};

use iolite_model::{Access, ByKind, Bytes, Jumps, Mix, SizeLaw};
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

pub use self::distribution::{Distribution, Hot};
pub use self::precondition::Preconditioning;
pub(crate) use self::precondition::holds_cache;

use super::sizes::used;
use super::zones;
use crate::language::error::{OptionError, Result};
use crate::language::options::Spec;
use crate::language::options::entry::{choice, flag, ignored, integer, number, size, special};
use crate::language::options::option::{Form, Opt};
use crate::language::thread::ThreadIndex;
use crate::language::value::OptionValue;

/// Direction and order of the I/O.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Io {
    /// What operations do.
    pub direction: Direction,
    /// Offsets are random.
    pub random: bool,
    /// The number after the colon of `rw`: bytes left out after each operation, or operations in a row from a random one on.
    pub modifier: Option<i64>,
    /// Operations in a row go to the same offset (`rw_sequencer=identical`).
    pub identical: bool,
    /// Share of reads in a mix, in percent.
    pub read_percent: u8,
    /// Share of the random offsets of a random job, in percent, for reads, writes and trims.
    pub random_percent: [u8; 3],
    /// Bytes from one sequential operation of a random job to the next; 0 for the block.
    pub stride: Bytes,
    /// It is not remembered which blocks have been done.
    pub no_map: bool,
    /// `random_generator=lfsr`: each offset once, with or without a map.
    pub lfsr: bool,
    /// One pass of random writes after which a drive is in its steady state (`sprandom`).
    pub precondition: bool,
    /// How it does that.
    pub preconditioning: Preconditioning,
    /// How random offsets are spread.
    pub distribution: [Distribution; 3],
    /// The same offsets in each run.
    pub repeat: bool,
    /// All random values are the same in every run.
    pub repeat_all: bool,
    /// Where chance starts from.
    pub seed: Option<u64>,
    /// O_DIRECT.
    pub direct: bool,
    /// Writes are all or nothing.
    pub atomic: bool,
}

/// What operations do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Direction {
    /// Reads.
    #[default]
    Read,
    /// Writes.
    Write,
    /// Trims.
    Trim,
    /// Reads and writes.
    Mixed,
    /// A trim of each block, then a write.
    TrimWrite,
}

/// A start for chance where none is given; any number will do.
const SEED: u64 = 0x10_11_7e;

impl Io {
    /// Where a thread's chance starts from: the same in each run, unless it is asked to be different.
    pub fn seed(&self, place: ThreadIndex) -> u64 {
        let base = match self.seed {
            Some(seed) => seed,
            None if self.repeat || self.repeat_all => SEED,
            None => RandomState::new().build_hasher().finish(),
        };
        // One bit less: TOML, which a job may be printed as, has no larger integers.
        scatter(base.wrapping_add(scatter(u64::from(place.number)))) >> 1
    }

    /// Whether random offsets may come again before all have been done.
    pub(crate) fn repeats(&self) -> bool {
        self.no_map || self.distribution.iter().any(|distribution| *distribution != Distribution::Uniform)
    }

    /// A number between two, both included, the same in each run; `purpose` and `index` tell draws apart.
    pub fn draw(&self, place: ThreadIndex, purpose: u64, index: u64, (min, max): (u64, u64)) -> u64 {
        let base = self.seed.unwrap_or(SEED).wrapping_add(scatter(u64::from(place.number)));
        let chance = scatter(base ^ scatter(purpose.wrapping_add(index << 8)));
        match (max - min).checked_add(1) {
            Some(values) => min + ((u128::from(chance) * u128::from(values)) >> 64) as u64,
            None => chance,
        }
    }
}

/// The order of the offsets.
///
/// # Errors
/// A setting that has no such order here.
pub(crate) fn access(spec: &Spec, mix: Mix) -> Result<Access> {
    if let Some(access) = zones::cycle(spec)? {
        return Ok(access);
    }
    if spec.io.precondition {
        return precondition::access(spec, mix);
    }
    if spec.io.random { random(spec, mix) } else { sequential(spec, mix) }
}

fn sequential(spec: &Spec, mix: Mix) -> Result<Access> {
    let modifier = spec.io.modifier.unwrap_or(0);
    if let Ok(hole) = u64::try_from(modifier) {
        return Ok(if hole == 0 { Access::Sequential } else { Access::SequentialSkip { hole: Bytes(hole) } });
    }
    let law = |direction: usize| spec.sizes.law(spec.sizes.place(direction, false));
    let max = used(mix).into_iter().map(|direction| law(direction).largest()).max().unwrap_or_default();
    let step = Bytes(modifier.unsigned_abs());
    if step >= max {
        return Ok(Access::SequentialBack { step });
    }
    let what =
        format!("going back by {step} from the end of each operation, where operations have up to {max}, is");
    Err(OptionError::not_built(what, "go back by at least that").at("rw"))
}

fn random(spec: &Spec, mix: Mix) -> Result<Access> {
    let directions = used(mix);
    let first = directions.first().copied().unwrap_or(0);
    let Io { distribution, random_percent, .. } = &spec.io;
    let option = match () {
        () if directions.iter().any(|other| distribution[*other] != distribution[first]) => {
            "random_distribution"
        }
        () if directions.iter().any(|other| random_percent[*other] != random_percent[first]) => {
            "percentage_random"
        }
        () => return random_of(spec, &directions),
    };
    match directions[..] {
        [one, other] if mix != Mix::TrimThenWrite && has_one_size(spec, &directions) => {
            let (reads, writes) = (random_of(spec, &[one])?, random_of(spec, &[other])?);
            Ok(Access::ByKind(Box::new(ByKind { reads, writes })))
        }
        _ => Err(OptionError::refused(
            "each direction can have its own in a mix of reads and writes of one block size",
            "specify one for all, or two jobs",
        )
        .at(option)),
    }
}

/// The order of random operations in these directions, which are alike.
fn random_of(spec: &Spec, directions: &[usize]) -> Result<Access> {
    let first = directions.first().copied().unwrap_or(0);
    let (distribution, percent) = (&spec.io.distribution[first], spec.io.random_percent[first]);
    if percent == 0 {
        return Ok(Access::Sequential);
    }
    let run = run(spec)?;
    if run > 1 && spec.io.identical {
        return identical(spec, directions, run);
    }
    let jumps = percent < 100 || (run > 1 && (spec.io.stride.0 > 0 || distribution.access().is_some()));
    if jumps && has_one_size(spec, directions) {
        if percent < 100 && run > 1 {
            return Err(OptionError::refused("it does not go with a number after rw", "remove one of them")
                .at("percentage_random"));
        }
        let to = distribution.access().unwrap_or(Access::Random);
        let (run, percent) = if percent < 100 { (0, percent) } else { (run, 0) };
        return Ok(Access::Jumps(Box::new(Jumps { to, run, percent, step: spec.io.stride, repeat: false })));
    }
    let run = if percent < 100 { by_distance(percent)? } else { run };
    match distribution.access() {
        None if run > 1 => Ok(Access::Runs { blocks: run }),
        None if (spec.io.no_map && !spec.io.lfsr) || is_aligned(spec, directions) || spec.sizes.unaligned => {
            Ok(Access::Random)
        }
        None => Ok(Access::Covering),
        Some(access) if run == 1 => Ok(access),
        Some(_) => Err(OptionError::not_built(
            "with several block sizes, operations in a row from its places are",
            "specify one block size, or remove percentage_random and the number after rw",
        )
        .at("random_distribution")),
    }
}

/// Each random offset `run` times (`rw_sequencer=identical`).
fn identical(spec: &Spec, directions: &[usize], run: u64) -> Result<Access> {
    let distribution = &spec.io.distribution[directions.first().copied().unwrap_or(0)];
    let once = !spec.io.no_map && has_one_size(spec, directions);
    let to = distribution.access().unwrap_or(if once { Access::Covering } else { Access::Random });
    Ok(Access::Jumps(Box::new(Jumps { to, run, repeat: true, ..Jumps::default() })))
}

/// Number of operations from one jump to the next that follows `rw`.
fn run(spec: &Spec) -> Result<u64> {
    match spec.io.modifier {
        None | Some(0 | 1) => Ok(1),
        Some(number) => u64::try_from(number).map_err(|_| {
            OptionError::refused(format!("{number} operations in a row are none"), "specify 1 or more")
                .at("rw")
        }),
    }
}

/// The same for operations of several sizes, which jump at equal distances.
fn by_distance(percent: u8) -> Result<u64> {
    if 100 % percent == 0 {
        return Ok(u64::from(100 / percent));
    }
    Err(OptionError::refused(
        "with several block sizes, jumps come at equal distances here",
        "specify what divides 100, such as 20, 25 or 50, or one block size",
    )
    .at(format!("percentage_random={percent}")))
}

/// Whether all operations have the same size.
fn has_one_size(spec: &Spec, directions: &[usize]) -> bool {
    let laws = || directions.iter().map(|direction| spec.sizes.law(spec.sizes.place(*direction, true)));
    let first = laws().next();
    matches!(first, Some(SizeLaw::Fixed(_)))
        && laws().all(|law| Some(law) == first)
        && !spec.sizes.by_order
        && !is_aligned(spec, directions)
}

fn is_aligned(spec: &Spec, directions: &[usize]) -> bool {
    directions.iter().any(|direction| spec.sizes.align[*direction].is_some())
}

/// A number that looks random, the same for the same number.
fn scatter(number: u64) -> u64 {
    SplitMix64::seed_from_u64(number).next_u64()
}

const DIRECTIONS: &[(&str, (Direction, bool))] = &[
    ("read", (Direction::Read, false)),
    ("write", (Direction::Write, false)),
    ("trim", (Direction::Trim, false)),
    ("randread", (Direction::Read, true)),
    ("randwrite", (Direction::Write, true)),
    ("randtrim", (Direction::Trim, true)),
    ("rw", (Direction::Mixed, false)),
    ("readwrite", (Direction::Mixed, false)),
    ("randrw", (Direction::Mixed, true)),
    ("trimwrite", (Direction::TrimWrite, false)),
    ("randtrimwrite", (Direction::TrimWrite, true)),
];

fn readwrite(io: &mut Io, given: &OptionValue<'_>) -> Result {
    let text = given.text()?;
    let (word, modifier) = match text.split_once(':') {
        Some((word, modifier)) => {
            (word.trim(), Some(given.part(modifier).integer(i64::MIN / 2, i64::MAX / 2)?))
        }
        None => (text, None),
    };
    (io.direction, io.random) = given.part(word).choice(DIRECTIONS)?;
    io.modifier = modifier;
    Ok(())
}

fn percent(given: &OptionValue<'_>) -> Result<u8> {
    given.integer(0, 100).map(|percent| percent as u8)
}

/// The options.
pub const OPTIONS: &[Opt] = &[
    special(
        "rw",
        Form::Special(
            "read, write, trim, rw, trimwrite, or one of randread, randwrite, randtrim, randrw, \
             randtrimwrite; then, if wanted, a colon and a number",
        ),
        |s, g| readwrite(&mut s.io, g),
    )
    .named_also(&["readwrite"])
    .default("read")
    .help(
        "Kind of operations, sequential or random. A number after a colon is the number of bytes to skip \
         after each operation of a sequential job, or the number of sequential operations before the next \
         random offset of a random job. A negative number of bytes moves backwards from the end of each \
         operation: twice bs reads backwards, block by block. It must be at least the largest bs. Reads and \
         writes of a sequential mix advance independently.",
    ),
    choice!("rw_sequencer", &[("sequential", false), ("identical", true)], |s, v| s.io.identical = v)
        .default("sequential")
        .help(
            "Whether the operations after a random offset continue from it (sequential) or repeat it \
             (identical).",
        ),
    integer("rwmixread", 0, 100, |s, value| s.io.read_percent = value as u8)
        .default("50")
        .help("Percentage of reads in a mix."),
    integer("rwmixwrite", 0, 100, |s, value| s.io.read_percent = 100 - value as u8)
        .default("50")
        .help("Percentage of writes in a mix. If rwmixread is also given, the later one applies."),
    special(
        "percentage_random",
        Form::Special("a percentage, or percentages for reads, writes and trims"),
        |s, g| {
            s.io.random_percent = g.triplet(s.io.random_percent, percent)?;
            Ok(())
        },
    )
    .default("100")
    .help("Percentage of operations of a random job with a random offset; the others are sequential.")
    .bounded(
        "with several block sizes one percentage for all directions, and only divisors of 100, at equal \
         distances",
    ),
    flag("norandommap", |s, on| s.io.no_map = on).help(
        "Random offsets are independent: blocks may be accessed several times or never, and no map is kept.",
    ),
    size("random_sequence_stride", |s, size| s.io.stride = size)
        .default("0")
        .help(
            "Distance from the start of one sequential operation of a random job to the next (rw=randread:N, \
             percentage_random); 0 for the block size.",
        )
        .bounded("for jobs of one block size"),
    ignored("num_range", Form::Integer { min: 1, max: 1 })
        .default("1")
        .help("Number of ranges of one trim.")
        .bounded(
            "only 1: the system calls for trims take one range; commands with several are NVMe's, which \
             ioengine=io_uring_cmd sends",
        ),
    flag("sprandom", |s, on| s.io.precondition = on)
        .help(
            "Preconditions a solid-state drive by one pass of random writes, which writes each block once \
             and then as many again as the drive has memory for, so that invalid blocks are distributed as \
             in the steady state. For rw=randwrite with one block size, on a whole drive that was erased \
             before.",
        )
        .bounded("how many blocks of a region are written again follows from a model of our own"),
    number("spr_op", 0.0, 10.0, |s, value| s.io.preconditioning.over_provisioning = value)
        .default("0.15")
        .help(
            "Over-provisioning of the drive for sprandom: its memory beyond its capacity, divided by its \
             capacity.",
        ),
    integer("spr_num_regions", 1, 1 << 20, |s, value| s.io.preconditioning.regions = value as u32)
        .default("100")
        .help(
            "Number of regions into which sprandom divides the pass: the more, the more exact, and the less \
             memory is needed.",
        ),
    size("spr_cs", |s, size| s.io.preconditioning.cache = size).default("0").help(
        "Cache of the drive for sprandom: with one, a region lies between a block and its being written \
         again.",
    ),
    ignored("softrandommap", Form::Flag)
        .help("The job continues without a map if memory is insufficient; no map is needed here."),
    choice!("random_generator", &[("tausworthe", false), ("tausworthe64", false), ("lfsr", true)], |s, v| {
        s.io.lfsr = v
    })
    .default("tausworthe")
    .help("Generator of random offsets.")
    .bounded(
        "all three use xoshiro256++, and a keyed permutation if every block is accessed once; offsets differ \
         from fio's",
    ),
    special(
        "random_distribution",
        Form::Special(
            "random, zipf:THETA[:CENTRE], pareto:H[:CENTRE], normal:DEVIATION[:CENTRE], zoned:IO/SIZE:..., \
             zoned_abs:IO/SIZE:...",
        ),
        |s, g| distribution::set(&mut s.io.distribution, g),
    )
    .default("random")
    .help(
        "Distribution of random offsets. zoned: percentages of the operations and of the region; zoned_abs: \
         percentages of the operations and sizes. All except random imply norandommap. CENTRE is where the \
         most frequent block lies, from 0 (the start of the region) to 1 (its end).",
    )
    .bounded(
        "the hot blocks of zipf and pareto are scattered by a different permutation, and normal is not \
         scattered, which is reported with the results",
    ),
    flag("randrepeat", |s, on| s.io.repeat = on).default("1").help("Offsets are the same in every run."),
    flag("allrandrepeat", |s, on| s.io.repeat_all = on).help("All random values are the same in every run."),
    integer("randseed", 0, i64::MAX, |s, value| s.io.seed = Some(value as u64))
        .help("Seed of the random numbers: another seed gives other offsets, sizes and contents.")
        .bounded("it also applies with randrepeat"),
    flag("direct", |s, on| s.io.direct = on).help("Bypasses the page cache (O_DIRECT)."),
    flag("buffered", |s, on| s.io.direct = !on)
        .default("1")
        .help("Uses the page cache: the opposite of direct."),
    flag("atomic", |s, on| s.io.atomic = on)
        .help("Writes are atomic, even across a power failure (RWF_ATOMIC). Implies direct=1.")
        .differs(
            "only ioengine=pvsync2 uses RWF_ATOMIC; the other engines treat it as direct=1, as in fio 3.33",
        ),
    ignored("write_barrier", Form::Integer { min: 0, max: i64::MAX })
        .default("0")
        .help("Every Nth write is a barrier.")
        .differs("Linux has no barrier writes and fio does without them: use fsync= or fdatasync="),
];
