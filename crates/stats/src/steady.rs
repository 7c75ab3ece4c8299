//! When a workload counts as steady: a rolling window of values whose largest deviation, or whose slope, is small enough.
//!
//! The slope is that of the least squares line through the window (SNIA Solid State Storage Performance Test Specification
//! 2.0.2, steady state; fio's `steadystate` judges the same two).

use std::collections::VecDeque;

/// What counts as steady.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SteadyRule {
    /// The slope is looked at rather than the largest deviation from the mean.
    pub slope: bool,
    /// The bound: in the values' unit, for a slope in that per value.
    pub limit: f64,
    /// The bound is in percent of the window's mean.
    pub percent: bool,
    /// Values in a window; at least 2.
    pub window: usize,
}

/// What a window amounts to.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SteadyWindow {
    /// Mean of the values.
    pub mean: f64,
    /// Largest distance of a value from the mean.
    pub max_deviation: f64,
    /// Slope of the least squares line, in the values' unit per value.
    pub slope: f64,
    /// What is compared with the bound: of these two the one that the rule looks at, without its sign, in percent of the mean
    /// where the bound is.
    pub criterion: f64,
}

/// Looks at values as they come.
#[derive(Debug, Clone, PartialEq)]
pub struct SteadyWatch {
    rule: SteadyRule,
    values: VecDeque<f64>,
}

impl SteadyWatch {
    /// A watch that has seen nothing. Windows shorter than two values are taken as two: one value can't deviate.
    pub fn new(rule: SteadyRule) -> SteadyWatch {
        SteadyWatch { rule: SteadyRule { window: rule.window.max(2), ..rule }, values: VecDeque::new() }
    }

    /// Takes the next value. True when the window is full and steady.
    pub fn push(&mut self, value: f64) -> bool {
        if self.values.len() == self.rule.window {
            self.values.pop_front();
        }
        self.values.push_back(value);
        self.values.len() == self.rule.window && self.window().criterion <= self.rule.limit
    }

    /// What the values of the window amount to so far.
    pub fn window(&self) -> SteadyWindow {
        if self.values.is_empty() {
            return SteadyWindow::default();
        }
        let count = self.values.len() as f64;
        let mean = self.values.iter().sum::<f64>() / count;
        let max_deviation = self.values.iter().map(|value| (value - mean).abs()).fold(0.0, f64::max);
        let middle = (count - 1.0) / 2.0;
        let (mut products, mut squares) = (0.0, 0.0);
        for (index, value) in self.values.iter().enumerate() {
            let distance = index as f64 - middle;
            products += distance * (value - mean);
            squares += distance * distance;
        }
        let slope = if squares > 0.0 { products / squares } else { 0.0 };
        let looked_at = if self.rule.slope { slope.abs() } else { max_deviation };
        let criterion = match (self.rule.percent, mean > 0.0) {
            (false, _) => looked_at,
            (true, true) => 100.0 * looked_at / mean,
            // Nothing at all is done: that is not a steady state of a workload.
            (true, false) => f64::INFINITY,
        };
        SteadyWindow { mean, max_deviation, slope, criterion }
    }

    /// The values of the window, the oldest first.
    pub fn values(&self) -> impl Iterator<Item = f64> + '_ {
        self.values.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(slope: bool, limit: f64, percent: bool) -> SteadyWatch {
        SteadyWatch::new(SteadyRule { slope, limit, percent, window: 4 })
    }

    #[test]
    fn a_window_is_steady_when_no_value_strays() {
        let mut watch = watch(false, 10.0, true);
        let steady: Vec<_> = [50.0, 100.0, 100.0, 100.0, 105.0, 95.0].map(|value| watch.push(value)).into();
        assert_eq!(steady, [false, false, false, false, true, true]);
        assert_eq!(watch.window().mean, 100.0);
        assert_eq!(watch.window().max_deviation, 5.0);
    }

    #[test]
    fn a_ramp_has_a_slope_and_noise_has_little() {
        let mut ramp = watch(true, 1.0, false);
        assert!(![0.0, 10.0, 20.0, 30.0].map(|value| ramp.push(value)).contains(&true));
        assert_eq!(ramp.window().slope, 10.0);
        let mut noise = watch(true, 1.0, false);
        assert!([0.0, 30.0, 30.0, 0.0].map(|value| noise.push(value))[3]);
        let mut falling = watch(true, 1.0, false);
        assert!(![30.0, 20.0, 10.0, 0.0].map(|value| falling.push(value)).contains(&true));
    }

    #[test]
    fn nothing_is_not_steady_in_percent() {
        let mut idle = watch(false, 50.0, true);
        assert!(![0.0; 6].map(|value| idle.push(value)).contains(&true));
        assert_eq!(
            SteadyWatch::new(SteadyRule { slope: false, limit: 1.0, percent: false, window: 0 }).rule.window,
            2
        );
    }
}
