//! What ends a job.

use iolite_model::{Access, Bytes, FileTask, Nanos, Stop};

use super::extents::share;
use crate::fio::spec::Spec;
use crate::fio::value::Amount;

/// What ends a job whose files, sizes and order of offsets are known. `spans` are the sizes of its files, 0 where only the
/// file will tell.
///
/// # Errors
/// A percentage is one of nothing.
pub(super) fn stop(spec: &Spec, task: &FileTask, spans: &[u64]) -> Result<Stop, String> {
    let loops = u64::from(spec.job.loops);
    let operations = spec.files.operations.map(|most| most.saturating_mul(loops));
    let runtime: Option<Nanos> = spec.job.limit();
    let stop = Stop { runtime, operations, ..Stop::default() };
    if spec.job.goes_on() {
        return Ok(stop);
    }
    let known = !spans.contains(&0);
    if let Some(amount) = amount(spec, known, spans)? {
        // The last operation may go beyond.
        let bytes = amount.saturating_mul(loops);
        let bytes = if task.sizes.is_none() { up(bytes, task.block.0) } else { bytes };
        return Ok(Stop { bytes: Some(Bytes(bytes)), ..stop });
    }
    if !known {
        return Ok(Stop { loops: Some(spec.job.loops), ..stop });
    }
    let pass = Bytes(spans.iter().map(|span| pass(task, *span)).sum::<u64>().saturating_mul(loops));
    Ok(Stop { bytes: Some(pass), ..stop })
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

/// Bytes that are done when work has gone through a span once.
fn pass(task: &FileTask, span: u64) -> u64 {
    let block = task.block.0.max(1);
    match task.access {
        _ if task.sizes.is_some() && !matches!(task.access, Access::SequentialSkip { .. }) => span,
        Access::SequentialSkip { hole } => {
            let size = task.sizes.as_ref().map_or(block, |_| (task.mean_size() as u64).max(1));
            let last = (span / block).saturating_sub(1).saturating_mul(block);
            (last / size.saturating_add(hole.0).max(1) + 1).saturating_mul(size)
        }
        _ => span / block * block,
    }
}

/// Rounded up to a multiple.
fn up(bytes: u64, unit: u64) -> u64 {
    bytes.div_ceil(unit.max(1)).saturating_mul(unit.max(1))
}
