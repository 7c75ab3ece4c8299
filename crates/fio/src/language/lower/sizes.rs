//! Sizes of operations, and what offsets are multiples of.

use iolite_model::{Bytes, Mix, SizeLaw, Sizes};

use crate::language::options::Spec;

/// Reads, writes and trims by their place in a list of three.
const READS: usize = 0;
const WRITES: usize = 1;
const TRIMS: usize = 2;

/// What direct I/O is in multiples of at least.
const SECTOR: u64 = 512;

/// Which of reads, writes and trims a mix does. A trim that a write follows has the write's size.
pub(super) fn used(mix: Mix) -> Vec<usize> {
    let trims = mix.trims() && mix != Mix::TrimThenWrite;
    let does = [(mix.reads(), READS), (mix.writes(), WRITES), (trims, TRIMS)];
    does.into_iter().filter_map(|(does, direction)| does.then_some(direction)).collect()
}

/// The least size of an operation.
pub(super) fn least(spec: &Spec, mix: Mix) -> Bytes {
    let place = |direction: usize| spec.sizes.place(direction, spec.io.random);
    used(mix).into_iter().map(|direction| spec.sizes.least(place(direction))).min().unwrap_or(Bytes(4096))
}

/// The one size of all operations, or their laws; `covering` where every block is done once a round.
///
/// # Errors
/// Direct I/O can't do these sizes.
pub(super) fn sizes(spec: &Spec, mix: Mix, covering: bool) -> Result<(Bytes, Option<Sizes>), String> {
    let law = |direction: usize| spec.sizes.law(spec.sizes.place(direction, spec.io.random));
    let laws: Vec<SizeLaw> = used(mix).into_iter().map(law).collect();
    let block = least(spec, mix);
    let alike = laws.iter().all(|law| *law == SizeLaw::Fixed(block));
    let alignment = alignment(spec, mix, &laws, covering);
    let smallest = laws.iter().map(divisor).fold(alignment, common);
    if spec.io.direct && !smallest.0.is_multiple_of(SECTOR) {
        return Err(format!(
            "bs: with direct=1 all sizes and offsets have to be multiples of {SECTOR} bytes, and \
         some are multiples of {} only: choose others, or direct=0",
            smallest.0
        ));
    }
    if alike && alignment == block {
        return Ok((block, None));
    }
    let sizes = Sizes { reads: law(READS), writes: law(WRITES), trims: law(TRIMS), alignment };
    Ok((block, Some(sizes)))
}

/// What offsets are multiples of.
fn alignment(spec: &Spec, mix: Mix, laws: &[SizeLaw], covering: bool) -> Bytes {
    let given = used(mix).into_iter().filter_map(|direction| spec.sizes.align[direction]).min();
    match given {
        Some(align) if spec.io.random => align,
        // A cursor goes on where the operation before has ended.
        _ if !spec.io.random || covering => laws.iter().map(divisor).fold(Bytes(0), common).max(Bytes(1)),
        _ => least(spec, mix),
    }
}

/// The greatest common divisor of all sizes of a law.
fn divisor(law: &SizeLaw) -> Bytes {
    match law {
        SizeLaw::Fixed(size) => *size,
        SizeLaw::Range { least, multiple, .. } => common(*least, *multiple),
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
