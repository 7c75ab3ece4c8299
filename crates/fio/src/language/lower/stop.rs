//! What ends a job.

use iolite_model::{Access, Bytes, FileTask, Mix, NamedFile, Nanos, Stop};

use super::extents::share;
use crate::language::options::Spec;
use crate::language::value::Amount;

/// What ends a job whose files, sizes and order of offsets are known. Sizes of files are 0 where only the file will tell.
///
/// # Errors
/// A percentage is one of nothing.
pub(super) fn stop(spec: &Spec, task: &FileTask, files: &[NamedFile]) -> Result<Stop, String> {
    let loops = u64::from(spec.job.loops);
    let operations = spec.files.operations.map(|most| most.saturating_mul(loops));
    let runtime: Option<Nanos> = spec.job.limit();
    let stop =
        Stop { runtime, operations, full: spec.files.fill, in_flight: runtime.is_some(), ..Stop::default() };
    if spec.job.goes_on() {
        return Ok(stop);
    }
    let spans: Vec<u64> = files.iter().map(|file| file.size.0).collect();
    let known = !spans.contains(&0);
    // The last operation may go beyond.
    let whole = |bytes| if task.sizes.is_none() { up(bytes, task.block.0) } else { bytes };
    if let Some(amount) = amount(spec, known, &spans)? {
        let all = spans.iter().fold(0u64, |sum, span| sum.saturating_add(*span));
        // As fio 3.33 was seen to do: what goes beyond the files once is not repeated by loops.
        let total = match known && amount > all {
            true => amount.max(all.saturating_mul(loops)),
            false => amount.saturating_mul(loops),
        };
        return Ok(Stop { bytes: Some(Bytes(whole(total))), ..stop });
    }
    if !known {
        return Ok(Stop { loops: Some(spec.job.loops), ..stop });
    }
    let pass = whole(files.iter().map(|file| pass(task, file)).fold(0, u64::saturating_add));
    Ok(Stop { bytes: Some(Bytes(pass.saturating_mul(loops))), ..stop })
}

/// What is to be done in a loop, where that is not the files once.
fn amount(spec: &Spec, known: bool, spans: &[u64]) -> Result<Option<u64>, String> {
    let all = || spans.iter().fold(0u64, |sum, span| sum.saturating_add(*span));
    match (spec.files.io_size, spec.files.size, spec.files.file_size) {
        (Some(Amount::Bytes(size)), ..) => Ok(Some(size.0)),
        (Some(Amount::Percent(percent)), Some(Amount::Bytes(size)), _) => Ok(Some(share(size.0, percent))),
        (Some(Amount::Percent(percent)), ..) if known => Ok(Some(share(all(), percent))),
        (Some(Amount::Percent(_)), ..) => Err("io_size: its percentage is one of size: give size too".into()),
        (None, Some(Amount::Bytes(size)), Some(_)) if size.0 < all() => Ok(Some(size.0)),
        (None, ..) => Ok(None),
    }
}

/// Bytes that are done when work has gone through a file once.
///
/// An order with jumps has done so, as with fio 3.33, when the operation that ends at the last byte is done, or when a jump leads
/// to where no operation fits. A jump beyond the end leads back to the start instead; then the file's size in bytes is done.
fn pass(task: &FileTask, file: &NamedFile) -> u64 {
    let (span, block) = (file.size.0, task.block.0.max(1));
    match (&task.access, &task.sizes) {
        // These start over wherever they are.
        (Access::SequentialBack { .. } | Access::ZoneCycle(_), _) => span,
        (Access::SequentialSkip { .. }, Some(_)) => span,
        (Access::SequentialSkip { hole }, None) => {
            let step = block.saturating_add(hole.0);
            let last = span.saturating_sub(block) / step * step;
            let ends_there = last + block == span || last.saturating_add(step) < file.offset.0 + span;
            if ends_there { (last / step + 1) * block } else { span }
        }
        // These end with what is too little for any operation.
        (Access::Sequential | Access::Covering, Some(sizes)) => span / sizes.alignment.0 * sizes.alignment.0,
        (_, Some(_)) => span,
        // What may be done again goes on until the span's bytes are done; so does a mix, whose parts have their own places.
        (Access::Sequential, None) if matches!(task.mix, Mix::ReadPercent(_)) => span,
        (Access::Sequential | Access::Covering, None) => span / block * block,
        (Access::Random, None) => span,
        (_, None) => span / block * block,
    }
}

/// Rounded up to a multiple.
fn up(bytes: u64, unit: u64) -> u64 {
    bytes.div_ceil(unit.max(1)).saturating_mul(unit.max(1))
}
