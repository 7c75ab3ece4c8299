//! From rates for reads, writes and trims to when the operations of a job start.

use iolite_model::{Bandwidth, FileTask, Iops, KindRates, Mix, Pace, Schedule};

use super::{PerDirection, Rate};
use crate::language::error::{OptionError, Result};

/// Whether a mix has reads, writes, trims.
pub(super) fn directions(mix: Mix) -> [bool; 3] {
    [mix.reads(), mix.writes(), mix.trims()]
}

/// When operations are to start; `None` where no rate is asked for.
///
/// # Errors
/// Rates in bytes and in operations.
pub(super) fn rated(rate: &Rate, task: &FileTask) -> Result<Option<Schedule>> {
    let asked = |limits: &PerDirection<f64>| limits.iter().any(Option::is_some);
    let by_bytes = asked(&rate.bytes);
    if by_bytes && asked(&rate.iops) {
        return Err(OptionError::refused("rate and rate_iops exclude each other", "give one of them"));
    }
    let limits = if by_bytes { rate.bytes } else { rate.iops };
    let [reads, writes, trims] = limits;
    let one = |limit: Option<f64>| {
        limit.map(|total| match (by_bytes, rate.poisson) {
            (true, true) => Schedule::PoissonBytes(Bandwidth(total)),
            (true, false) => Schedule::ConstantBytes(Bandwidth(total)),
            (false, true) => Schedule::Poisson(Iops(total)),
            (false, false) => Schedule::Constant(Iops(total)),
        })
    };
    Ok(match task.mix {
        Mix::Read | Mix::ReadPercent(100) => one(reads),
        Mix::Write | Mix::ReadPercent(0) | Mix::TrimPercent(0) => one(writes),
        Mix::Trim | Mix::TrimPercent(100) => one(trims),
        // They alternate, so that the slower of the two holds back the other.
        Mix::TrimThenWrite => {
            let slower = match (trims, writes) {
                (Some(trims), Some(writes)) => Some(trims.min(writes)),
                (trims, writes) => trims.or(writes),
            };
            one(slower.map(|slower| 2.0 * slower))
        }
        // A trace says itself what is done when.
        Mix::Traced(_) => None,
        // No option of fio's is lowered to it.
        Mix::ReadThenWrite(_) => one(reads),
        Mix::ReadPercent(_) => by_kind(rate, by_bytes, [reads, writes, None]),
        Mix::TrimPercent(_) => by_kind(rate, by_bytes, [None, writes, trims]),
        // Trims of blocks that are verified come after rates.
        Mix::ReadTrimPercent { .. } => None,
    })
}

/// Rates of reads, writes and trims, each of its own.
fn by_kind(rate: &Rate, by_bytes: bool, limits: PerDirection<f64>) -> Option<Schedule> {
    let pace = |limit: f64| {
        if by_bytes { Pace::Bytes(Bandwidth(limit)) } else { Pace::Operations(Iops(limit)) }
    };
    let [reads, writes, trims] = limits.map(|limit| limit.map(pace));
    let rates = KindRates { reads, writes, trims, poisson: rate.poisson };
    reads.or(writes).or(trims).map(|_| Schedule::ByKind(rates))
}
