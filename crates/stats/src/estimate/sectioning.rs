//! Intervals of quantiles from the sections of a phase.

use iolite_model::{Nanos, Quantile};

use super::correlation::Worth;
use super::{Direction, Estimate, MIN_SECTIONS, Z_95, share, student_t, worth_for_quantile};
use crate::histogram::Histogram;

/// Sections below which their correlation cannot be estimated (Asmussen & Glynn 2007, Stochastic Simulation, III.5, advise 10 to 30).
const FEW: usize = 10;

/// Independent sections that so few are taken for, whatever their correlation seems to be: less than one, because correlated ones vary
/// less among themselves than from run to run. By simulation, up to a correlation of 0.8: see docs/statistics.md.
const WORTH_OF_FEW: f64 = 0.5;

/// Operations beyond the quantile that a section has to expect: with fewer, its own quantile is biased towards its maximum.
const BEYOND: f64 = 5.0;

impl Estimate {
    /// A quantile (in nanoseconds) from the histograms of the sections of a phase, in the order in which they were measured, with
    /// `value_at` as for [`Estimate::quantile`].
    ///
    /// Slow operations occur together, so that they are worth fewer than their number. How many fewer is their design effect: the
    /// variance of the share of slow operations from section to section, over the binomial one. The ranks are the binomial ones for
    /// the number that the operations are worth, reduced for the few degrees of freedom that the sections leave (Woodruff 1952,
    /// Journal of the American Statistical Association 47: quantiles of clustered observations from the interval of their share;
    /// Korn & Graubard 1998, Survey Methodology 24, for that interval).
    ///
    /// Where the operations are worth so few that no rank is an upper end, the interval is that of sectioning: the spread of the
    /// sections' own quantiles around the overall one (Asmussen & Glynn 2007, III.5; Nakayama 2014, ACM TOMACS 24, 18), in
    /// logarithms, because response times are skewed. It needs four sections with five expected operations beyond the quantile
    /// each; neighbours are joined until they have them. Otherwise the largest observation is the upper end.
    ///
    /// `None` where the sections say nothing: fewer than four of them.
    pub fn quantile_of_sections(
        q: Quantile,
        sections: &[&Histogram],
        value_at: impl Fn(f64) -> f64,
        direction: Direction,
    ) -> Option<Estimate> {
        let value = value_at(share(q));
        let bound = Nanos(value as u64);
        let slow = |section: &&Histogram| (section.count() as f64, section.count_above(bound) as f64);
        let worth = worth_for_quantile(&sections.iter().map(slow).collect::<Vec<_>>())?;
        let by_ranks = Estimate::quantile(q, worth, value_at, direction);
        if Estimate::resolves(q, worth) {
            return Some(by_ranks);
        }
        Some(Estimate::by_sectioning(value, &quantiles(q, sections), direction).unwrap_or(by_ranks))
    }

    /// The interval of an overall quantile from those of the sections; `None` where there are too few.
    fn by_sectioning(value: f64, sections: &[f64], direction: Direction) -> Option<Estimate> {
        if sections.len() < MIN_SECTIONS || sections.iter().chain([&value]).any(|quantile| *quantile <= 0.0) {
            return None;
        }
        // Around the overall quantile, not around their mean: that they are biased widens the interval.
        let residuals: Vec<f64> = sections.iter().map(|quantile| (quantile / value).ln()).collect();
        let count = residuals.len() as f64;
        let mean = residuals.iter().sum::<f64>() / count;
        let centred: Vec<f64> = residuals.iter().map(|residual| residual - mean).collect();
        let worth = Worth::of(&centred);
        let samples = if residuals.len() < FEW { worth.samples.min(WORTH_OF_FEW) } else { worth.samples };
        let variance = residuals.iter().map(|residual| residual * residual).sum::<f64>() / (count - 1.0);
        let half = student_t(worth.freedom) * (variance / samples).sqrt();
        let (low, high) = (value * (-half).exp(), value * half.exp());
        let standard_error = (high - low) / (2.0 * Z_95);
        Some(Estimate { value, standard_error, low, high, effective_samples: samples, direction })
    }
}

/// The quantile of each section, in nanoseconds, of neighbours joined until each expects enough operations beyond it. What is left
/// at the end joins the last one.
fn quantiles(q: Quantile, sections: &[&Histogram]) -> Vec<f64> {
    let enough = BEYOND / (1.0 - share(q)).max(f64::MIN_POSITIVE);
    let mut joined: Vec<Histogram> = Vec::new();
    let mut next = Histogram::new();
    for section in sections {
        next.merge(section);
        if next.count() as f64 >= enough {
            joined.push(std::mem::take(&mut next));
        }
    }
    if let Some(last) = joined.last_mut() {
        last.merge(&next);
    }
    joined.iter().map(|section| section.quantile(q).0 as f64).collect()
}
