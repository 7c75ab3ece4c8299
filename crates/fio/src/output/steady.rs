//! A steady state in words and means.

use crate::language::thread::{SteadyMeasure, SteadyState};

use super::result::{SteadyPoint, SteadyResult};

/// The word of what was to be steady, for example `iops` or `bw_slope`.
pub(crate) fn word(asked: &SteadyState) -> String {
    let measure = match asked.measure {
        SteadyMeasure::Iops => "iops",
        SteadyMeasure::Bandwidth => "bw",
        SteadyMeasure::Latency => "lat",
    };
    format!("{measure}{}", if asked.slope { "_slope" } else { "" })
}

/// What was asked, as fio reports it: `iops:50.000000%`.
pub(crate) fn criterion(asked: &SteadyState) -> String {
    format!("{}:{:.6}{}", word(asked), asked.limit, if asked.percent { "%" } else { "" })
}

/// The means of the last window.
pub(crate) fn means(found: &SteadyResult) -> SteadyPoint {
    let count = found.window.len().max(1) as f64;
    let mean = |value: fn(&SteadyPoint) -> f64| found.window.iter().map(value).sum::<f64>() / count;
    SteadyPoint {
        iops: mean(|point| point.iops),
        bytes: mean(|point| point.bytes),
        latency: mean(|point| point.latency),
    }
}
