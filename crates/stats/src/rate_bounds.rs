//! How certain the rates and means of a phase are, as it is recorded.

use iolite_model::OpKind;
use serde::{Deserialize, Serialize};

use crate::estimate::Estimate;
use crate::summary::PhaseResult;

/// The 95 % intervals of a phase's rates and mean response times: concluded at its end, so that whoever reads a rate in SQL or in a
/// list sees how certain it is. They cover the variation within the phase.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RateBounds {
    /// The kinds of operation that succeeded.
    pub kinds: Vec<KindBounds>,
}

/// The intervals of one kind of operation; an end that is not known is `None`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KindBounds {
    /// Name of the kind.
    pub kind: String,
    /// Lower end of the operations per second.
    pub rate_low: Option<f64>,
    /// Upper end of the operations per second.
    pub rate_high: Option<f64>,
    /// Lower end of the mean response time, in nanoseconds.
    pub mean_low: Option<f64>,
    /// Upper end of the mean response time, in nanoseconds.
    pub mean_high: Option<f64>,
}

impl RateBounds {
    /// Of a phase that has ended; `None` where nothing succeeded.
    pub fn of(phase: &PhaseResult) -> Option<RateBounds> {
        let of = |kind: OpKind| {
            let summary = phase.summary(kind)?;
            let [rate_low, rate_high] = ends(&summary.rate);
            let [mean_low, mean_high] = ends(&summary.mean);
            Some(KindBounds { kind: kind.name().to_owned(), rate_low, rate_high, mean_low, mean_high })
        };
        let kinds: Vec<_> = OpKind::all().filter_map(of).collect();
        (!kinds.is_empty()).then_some(RateBounds { kinds })
    }

    /// The interval of a kind's operations per second, where both ends are known.
    pub fn rate(&self, kind: OpKind) -> Option<(f64, f64)> {
        let bounds = self.kinds.iter().find(|bounds| bounds.kind == kind.name())?;
        bounds.rate_low.zip(bounds.rate_high)
    }
}

/// Both ends of an interval; JSON has no number for one that is not finite.
fn ends(estimate: &Estimate) -> [Option<f64>; 2] {
    [estimate.low.max(0.0), estimate.high].map(|end| end.is_finite().then_some(end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolite_model::Concluded;

    #[test]
    fn what_is_recorded_is_read_back_and_unknown_ends_are_none() {
        let kind = |rate_high| KindBounds {
            kind: "read".into(),
            rate_low: Some(0.1 + 0.2),
            rate_high,
            mean_low: Some(1.0),
            mean_high: None,
        };
        let bounds = |high| RateBounds { kinds: vec![kind(high)] };
        let concluded = Concluded::of_phase(3, &bounds(Some(9.0)));
        assert_eq!(concluded.read::<RateBounds>(), Some(bounds(Some(9.0))));
        assert_eq!(bounds(Some(9.0)).rate(OpKind::Read), Some((0.1 + 0.2, 9.0)));
        assert_eq!((bounds(None).rate(OpKind::Read), bounds(Some(9.0)).rate(OpKind::Write)), (None, None));
    }
}
