//! Sizes of operations.

use iolite_model::{Bytes, FileTask, Mix, SizeLaw, WeightedSize};

use crate::language::error::{OptionError, Result};
use crate::language::options::Spec;
use crate::language::options::entry::{flag, put, special};
use crate::language::options::option::{Form, Opt};
use crate::language::value::OptionValue;

/// Sizes of operations; three stand for reads, writes and trims.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sizes {
    /// Least and largest size.
    pub range: [(Bytes, Bytes); 3],
    /// Sizes with their shares; empty where `range` counts.
    pub split: [Vec<WeightedSize>; 3],
    /// What random offsets are multiples of, where it is not the size.
    pub align: [Option<Bytes>; 3],
    /// Sizes of a range need not be multiples of the least.
    pub unaligned: bool,
    /// Sizes of reads are for sequential operations, those of writes for random ones.
    pub by_order: bool,
}

impl Sizes {
    /// Where the sizes of reads (0), writes (1) and trims (2) are said, in a random or a sequential job.
    pub(crate) fn place(&self, direction: usize, random: bool) -> usize {
        if self.by_order { usize::from(random) } else { direction }
    }

    /// The least size at a place.
    pub(crate) fn smallest(&self, place: usize) -> Bytes {
        let split = self.split[place].iter().filter(|weighted| weighted.percent > 0.0);
        split.map(|weighted| weighted.size).min().unwrap_or(self.range[place].0)
    }

    /// The law of the sizes at a place.
    pub(crate) fn law(&self, place: usize) -> SizeLaw {
        let (min, max) = self.range[place];
        let multiple = if self.unaligned { Bytes(1) } else { min };
        let max = max.round_down(multiple.0);
        match self.split[place].as_slice() {
            [] if min == max => SizeLaw::Fixed(min),
            [] => SizeLaw::Range { min, max, multiple },
            [one] => SizeLaw::Fixed(one.size),
            split => SizeLaw::Split(split.to_vec()),
        }
    }
}

/// Reads, writes and trims by their place in a list of three.
const READS: usize = 0;
const WRITES: usize = 1;
const TRIMS: usize = 2;

/// What direct I/O is in multiples of at least.
const SECTOR: u64 = 512;

/// Which of reads, writes and trims a mix does. A trim that a write follows has the write's size.
pub(crate) fn used(mix: Mix) -> Vec<usize> {
    let trims = mix.trims() && mix != Mix::TrimThenWrite;
    let does = [(mix.reads(), READS), (mix.writes(), WRITES), (trims, TRIMS)];
    does.into_iter().filter_map(|(does, direction)| does.then_some(direction)).collect()
}

/// The least size of an operation.
pub(crate) fn smallest(spec: &Spec, mix: Mix) -> Bytes {
    let place = |direction: usize| spec.sizes.place(direction, spec.io.random);
    used(mix).into_iter().map(|direction| spec.sizes.smallest(place(direction))).min().unwrap_or(Bytes(4096))
}

/// The one size of all operations, or their laws; `covering` where every block is done once a round.
///
/// # Errors
/// Direct I/O can't do these sizes.
pub(crate) fn sizes(spec: &Spec, mix: Mix, covering: bool) -> Result<(Bytes, Option<iolite_model::Sizes>)> {
    let law = |direction: usize| spec.sizes.law(spec.sizes.place(direction, spec.io.random));
    let laws: Vec<SizeLaw> = used(mix).into_iter().map(law).collect();
    let block = smallest(spec, mix);
    let alike = laws.iter().all(|law| *law == SizeLaw::Fixed(block));
    let alignment = alignment(spec, mix, &laws, covering);
    let smallest = laws.iter().map(divisor).fold(alignment, common);
    if spec.io.direct && !smallest.0.is_multiple_of(SECTOR) {
        let what = format!(
            "with direct=1 all sizes and offsets have to be multiples of {SECTOR} bytes, and some are multiples of {} only",
            smallest.0
        );
        return Err(OptionError::refused(what, "choose others, or direct=0").at("bs"));
    }
    if alike && alignment == block {
        return Ok((block, None));
    }
    let sizes = iolite_model::Sizes { reads: law(READS), writes: law(WRITES), trims: law(TRIMS), alignment };
    Ok((block, Some(sizes)))
}

/// What offsets are multiples of.
fn alignment(spec: &Spec, mix: Mix, laws: &[SizeLaw], covering: bool) -> Bytes {
    let given = used(mix).into_iter().filter_map(|direction| spec.sizes.align[direction]).min();
    match given {
        Some(align) if spec.io.random => align,
        // A cursor goes on where the operation before has ended.
        _ if !spec.io.random || covering => laws.iter().map(divisor).fold(Bytes(0), common).max(Bytes(1)),
        _ => smallest(spec, mix),
    }
}

/// The greatest common divisor of all sizes of a law.
fn divisor(law: &SizeLaw) -> Bytes {
    match law {
        SizeLaw::Fixed(size) => *size,
        SizeLaw::Range { min, multiple, .. } => common(*min, *multiple),
        SizeLaw::Split(sizes) => {
            let sizes = sizes.iter().filter(|weighted| weighted.percent > 0.0);
            sizes.map(|weighted| weighted.size).fold(Bytes(0), common)
        }
    }
}

/// Euclid's algorithm; that of 0 and a number is the number.
fn common(Bytes(mut one): Bytes, Bytes(mut other): Bytes) -> Bytes {
    while other > 0 {
        (one, other) = (other, one % other);
    }
    Bytes(one)
}

/// The most sizes of one direction.
const MAX_SIZES: usize = 64;

/// Percentages may be typed as decimals: their sum may miss 100 by so much.
const ROUNDING: f64 = 1e-6;

fn size(given: &OptionValue<'_>) -> Result<Bytes> {
    let size = given.size()?;
    if (Bytes(1)..=FileTask::LARGEST_OPERATION).contains(&size) {
        Ok(size)
    } else {
        Err(OptionError::refused(
            format!("`{}` is not a size of an operation", given.text()?),
            "specify 1 byte to 1 GiB",
        ))
    }
}

fn range(given: &OptionValue<'_>) -> Result<(Bytes, Bytes)> {
    let text = given.text()?;
    let (one, other) = text.split_once(['-', ':']).ok_or_else(|| {
        OptionError::refused(format!("`{text}` is not a range"), "write two sizes, as in 4k-64k")
    })?;
    let (one, other) = (size(&given.part(one))?, size(&given.part(other))?);
    Ok((one.min(other), one.max(other)))
}

/// A range of sizes, or two of them with a slash: for reads, and for the others.
fn ranges(sizes: &mut Sizes, given: &OptionValue<'_>) -> Result {
    let commas = given.text()?.replace('/', ",");
    let given = OptionValue { text: Some(&commas), kb_base: given.kb_base };
    sizes.range = given.triplet(sizes.range, range)?;
    sizes.split = Default::default();
    Ok(())
}

/// `SIZE/PERCENT:SIZE/PERCENT`; shares that are left out have equal parts of the rest.
fn split(given: &OptionValue<'_>) -> Result<Vec<WeightedSize>> {
    let entries: Vec<&str> = given.text()?.split(':').map(str::trim).collect();
    if entries.len() > MAX_SIZES {
        return Err(OptionError::TooMany { count: entries.len(), items: "sizes", max: MAX_SIZES });
    }
    let mut shares = Vec::with_capacity(entries.len());
    for entry in entries {
        let (block, share) = entry.split_once('/').unwrap_or((entry, ""));
        let share = match share.trim() {
            "" => None,
            share => Some(given.part(share).number(0.0, 100.0)?),
        };
        shares.push((size(&given.part(block))?, share));
    }
    let total: f64 = shares.iter().filter_map(|(_, share)| *share).sum();
    let open = shares.iter().filter(|(_, share)| share.is_none()).count();
    let rest = (100.0 - total).max(0.0) / open.max(1) as f64;
    let of = |(size, share): (Bytes, Option<f64>)| WeightedSize { size, percent: share.unwrap_or(rest) };
    let mut split: Vec<WeightedSize> = shares.into_iter().map(of).collect();
    let sum: f64 = split.iter().map(|weighted| weighted.percent).sum();
    if (sum - 100.0).abs() > ROUNDING {
        fill_up(&mut split);
    }
    Ok(split)
}

/// Makes shares whose sum is not 100 what fio 3.33 was seen to make of them: the smallest shares count first, and the largest one
/// has what is left.
fn fill_up(split: &mut [WeightedSize]) {
    split.sort_by(|one, other| one.percent.total_cmp(&other.percent));
    let mut rest = 100.0;
    let last = split.len().saturating_sub(1);
    for (at, weighted) in split.iter_mut().enumerate() {
        weighted.percent = if at == last { rest } else { weighted.percent.min(rest) };
        rest -= weighted.percent;
    }
}

/// Splits for reads, writes and trims; what is left out at the end is as the one before.
fn splits(sizes: &mut Sizes, given: &OptionValue<'_>) -> Result {
    let parts: Vec<&str> = given.text()?.split(',').map(str::trim).collect();
    if parts.len() > 3 {
        return Err(OptionError::refused("it has more than three lists of sizes", "reads, writes, trims"));
    }
    let mut last: Vec<WeightedSize> = Vec::new();
    for (index, place) in sizes.split.iter_mut().enumerate() {
        if let Some(part) = parts.get(index).filter(|part| !part.is_empty()) {
            last = split(&given.part(part))?;
        }
        if !last.is_empty() {
            place.clone_from(&last);
        }
    }
    Ok(())
}

const THREE: Form = Form::Special("a size, or sizes for reads, writes and trims");

/// The options.
pub const OPTIONS: &[Opt] = &[
    special("bs", THREE, |s, g| {
        let before = s.sizes.range.map(|(min, _)| min);
        put(&mut s.sizes.range, g.triplet(before, size).map(|sizes| sizes.map(|size| (size, size))))
    })
    .named_also(&["blocksize"])
    .default("4096")
    .help("Size of an operation, or sizes of reads, writes and trims, as in 4k,8k."),
    special("bsrange", Form::Special("a range of sizes, or ranges for reads, writes and trims"), |s, g| {
        ranges(&mut s.sizes, g)
    })
    .named_also(&["blocksize_range"])
    .help("Random sizes within a range, in multiples of its minimum."),
    special(
        "bssplit",
        Form::Special("SIZE/PERCENT:SIZE/PERCENT..., or such lists for reads, writes and trims"),
        |s, g| splits(&mut s.sizes, g),
    )
    .help(
        "Sizes of operations, each with a percentage. Sizes without a percentage share the remainder \
         equally.",
    ),
    special("ba", THREE, |s, g| {
        let block = Bytes(0);
        let before = s.sizes.align.map(|align| align.unwrap_or(block));
        let align = g.triplet(before, size)?;
        s.sizes.align = align.map(|align| Some(align).filter(|align| *align != block));
        Ok(())
    })
    .named_also(&["blockalign"])
    .help(
        "Random offsets are multiples of this instead of the size. Blocks may then overlap, so it implies \
         norandommap.",
    )
    .bounded("a mix has one alignment for all directions: the smallest"),
    flag("bs_unaligned", |s, on| s.sizes.unaligned = on)
        .named_also(&["blocksize_unaligned"])
        .help("Sizes of a range need not be multiples of its minimum.")
        .bounded("not with verify, because the blocks have no common unit"),
    flag("bs_is_seq_rand", |s, on| s.sizes.by_order = on).help(
        "If sizes are given for reads and writes, the first applies to sequential and the second to random \
         operations.",
    ),
];
