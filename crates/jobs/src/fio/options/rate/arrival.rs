//! From rates for reads, writes and trims to one for all operations of a job.

use iolite_model::{Arrival, Bandwidth, FileTask, Iops, Mix, SizeLaw};

use super::{PerDirection, Rate};

/// Whether a mix has reads, writes, trims.
pub(super) fn directions(mix: Mix) -> [bool; 3] {
    [mix.reads(), mix.writes(), mix.trims()]
}

/// When operations are to start, and the mix that the rates ask for; `None` where no rate is asked for.
///
/// # Errors
/// What is asked for cannot be had with one rate for all.
pub(super) fn rated(rate: &Rate, task: &FileTask) -> Result<Option<(Arrival, Mix)>, String> {
    let asked = |limits: &PerDirection<f64>| limits.iter().any(Option::is_some);
    let arrival = |by_bytes: bool, total: f64| match (by_bytes, rate.poisson) {
        (true, true) => Arrival::PoissonBytes(Bandwidth(total)),
        (true, false) => Arrival::ConstantBytes(Bandwidth(total)),
        (false, true) => Arrival::Poisson(Iops(total)),
        (false, false) => Arrival::Constant(Iops(total)),
    };
    let by_bytes = asked(&rate.bytes);
    let limits = match (by_bytes, asked(&rate.iops)) {
        (true, true) => {
            return Err("rate and rate_iops exclude each other: give one of them".into());
        }
        (true, false) => rate.bytes,
        (false, true) => rate.iops,
        (false, false) => return Ok(None),
    };
    let together = together(task, limits, by_bytes)?;
    Ok(together.map(|(total, mix)| (arrival(by_bytes, total), mix)))
}

/// The rate of all operations, and the mix that follows.
fn together(
    task: &FileTask,
    limits: PerDirection<f64>,
    by_bytes: bool,
) -> Result<Option<(f64, Mix)>, String> {
    let [reads, writes, trims] = limits;
    let sizes = if by_bytes { mean_sizes(task) } else { [1.0; 3] };
    let one = |limit: Option<f64>| Ok(limit.map(|total| (total, task.mix)));
    match task.mix {
        Mix::Read | Mix::ReadPercent(100) => one(reads),
        Mix::Write | Mix::ReadPercent(0) | Mix::TrimPercent(0) => one(writes),
        Mix::Trim | Mix::TrimPercent(100) => one(trims),
        // They alternate, so that the slower of the two holds back the other.
        Mix::TrimThenWrite => {
            let slower = match (trims, writes) {
                (Some(trims), Some(writes)) => Some(trims.min(writes)),
                (trims, writes) => trims.or(writes),
            };
            Ok(slower.map(|slower| (2.0 * slower, task.mix)))
        }
        Mix::ReadPercent(_) => mixed([reads, writes], [sizes[0], sizes[1]], Mix::ReadPercent),
        Mix::TrimPercent(_) => mixed([trims, writes], [sizes[2], sizes[1]], Mix::TrimPercent),
    }
}

/// Two directions, each with a rate of its own, and their share in the operations.
fn mixed(
    limits: [Option<f64>; 2],
    sizes: [f64; 2],
    mix: fn(u8) -> Mix,
) -> Result<Option<(f64, Mix)>, String> {
    match limits {
        [None, None] => Ok(None),
        [Some(one), Some(other)] => {
            let (first, second) = (one / sizes[0], other / sizes[1]);
            let percent = (100.0 * first / (first + second)).round().clamp(1.0, 99.0);
            Ok(Some((one + other, mix(percent as u8))))
        }
        _ => Err(
            "rate: in a job with two kinds of operations both have a rate or neither: give both, such as \
                  rate=1m,500k, or make two jobs of it, of which one has the rate"
                .into(),
        ),
    }
}

/// Bytes of reads, writes and trims in the mean.
fn mean_sizes(task: &FileTask) -> [f64; 3] {
    let block = task.block.0 as f64;
    let mean = |law: &SizeLaw| law.mean();
    let laws = task.sizes.as_ref().map(|sizes| [mean(&sizes.reads), mean(&sizes.writes), mean(&sizes.trims)]);
    // A size of nothing is refused elsewhere; it must not divide here.
    laws.unwrap_or([block; 3]).map(|size| size.max(1.0))
}
