//! A phase's result, and the estimates derived from it.

use iolite_model::{Nanos, OpKind, PhaseEnd, PhaseInfo, Quantile};

use crate::collector::PhaseTotals;
use crate::estimate::{Direction, Estimate};

/// A finished phase: what was asked, how it ended, what was counted. The suites' history is made of these.
#[derive(Debug, Clone, PartialEq)]
pub struct PhaseResult {
    /// What was asked.
    pub info: PhaseInfo,
    /// How it ended.
    pub end: PhaseEnd,
    /// What was counted over the measured part.
    pub totals: PhaseTotals,
}

/// What one kind of operation did over the measured part of a phase.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// Kind of operation.
    pub kind: OpKind,
    /// Operations that succeeded.
    pub operations: u64,
    /// Operations that failed.
    pub errors: u64,
    /// Operations per second.
    pub rate: Estimate,
    /// Bytes per second.
    pub bytes_per_second: f64,
    /// Mean response time in nanoseconds.
    pub mean: Estimate,
    /// Longest response time.
    pub max: Nanos,
}

impl PhaseResult {
    /// The kind of operation that the phase is about: the commit where there is one, else the one that occurred most.
    pub fn main_kind(&self) -> OpKind {
        if self.totals.operations(OpKind::Sync) > 0 && self.totals.operations(OpKind::Commit) > 0 {
            return OpKind::Commit;
        }
        OpKind::ALL.into_iter().max_by_key(|&kind| self.totals.operations(kind)).unwrap_or(OpKind::Read)
    }

    /// What a kind of operation did; `None` where none succeeded.
    pub fn summary(&self, kind: OpKind) -> Option<Summary> {
        let totals = &self.totals;
        let record = totals.record_of(kind).filter(|record| record.operations > 0)?;
        let index = kind.index();
        let counts: Vec<_> = totals.series.iter().map(|p| (p.seconds, p.operations[index] as f64)).collect();
        // Response times within an interval resemble each other: the error of the mean comes from interval to interval.
        let responses: Vec<_> = totals
            .series
            .iter()
            .map(|p| (p.operations[index] as f64, p.response_sum[index] as f64))
            .collect();
        let count = record.operations as f64;
        let mean = record.response_sum as f64 / count;
        let deviation = record.response.standard_deviation();
        let direction = Direction::LowerIsBetter;
        Some(Summary {
            kind,
            operations: record.operations,
            errors: record.errors,
            rate: Estimate::rate(&counts, Direction::HigherIsBetter),
            bytes_per_second: record.bytes as f64 / (totals.measured as f64 / 1e9),
            mean: Estimate::ratio(&responses, direction)
                .unwrap_or_else(|| Estimate::mean(mean, deviation, count, direction)),
            max: Nanos(record.response_max),
        })
    }

    /// A quantile of a kind's response times in nanoseconds, with its interval; `None` where none succeeded.
    ///
    /// No histogram reports more than the exact maximum.
    pub fn quantile(&self, kind: OpKind, quantile: Quantile) -> Option<Estimate> {
        let record = self.totals.record_of(kind).filter(|record| record.operations > 0)?;
        let value_at = |q: f64| record.response.quantile(Quantile(q)).0.min(record.response_max) as f64;
        Some(Estimate::quantile(quantile, record.operations, value_at, Direction::LowerIsBetter))
    }
}
