//! The criteria of steady state over a window of rounds.

use iolite_stats::{SteadyRule, SteadyWatch};

/// Largest range of the values of a window in percent of their mean (SNIA SSS PTS 2.0.2, steady state).
pub const MAX_RANGE: f64 = 20.0;

/// Largest rise of the least squares line over a window in percent of the mean.
pub const MAX_RISE: f64 = 10.0;

/// A window of rounds, and whether it is steady.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PtsWindow {
    /// The last round of it, from 1.
    pub last: u32,
    /// Whether each round has a figure and both criteria keep their bounds.
    pub steady: bool,
    /// The figures and the criteria; `None` where a round of it has no figure, because no operation completed.
    pub criteria: Option<PtsCriteria>,
}

/// The figures of a window and the two criteria.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PtsCriteria {
    /// Mean of the values.
    pub mean: f64,
    /// Largest value less the smallest, in percent of the mean.
    pub range: f64,
    /// Rise of the least squares line from the first round to the last, without its sign, in percent of the mean.
    pub rise: f64,
    /// The least squares line: its value at the first round and at the last.
    pub line: (f64, f64),
}

impl PtsWindow {
    /// The window that ends with these values, the oldest first; `None` for fewer than two.
    pub fn of(values: &[Option<f64>], last: u32) -> Option<PtsWindow> {
        if values.len() < 2 {
            return None;
        }
        let measured: Option<Vec<f64>> = values.iter().copied().collect();
        let criteria = measured.map(|values| PtsCriteria::of(&values));
        Some(PtsWindow { last, steady: criteria.is_some_and(|criteria| criteria.are_kept()), criteria })
    }

    /// The mean of the values; `None` where a round has none.
    pub fn mean(&self) -> Option<f64> {
        self.criteria.map(|criteria| criteria.mean)
    }
}

impl PtsCriteria {
    fn of(values: &[f64]) -> PtsCriteria {
        let rule = SteadyRule { slope: true, limit: f64::INFINITY, percent: false, window: values.len() };
        let mut watch = SteadyWatch::new(rule);
        values.iter().for_each(|&value| {
            watch.push(value);
        });
        let window = watch.window();
        let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let smallest = values.iter().copied().fold(f64::INFINITY, f64::min);
        // Nothing at all was done: that is not a steady state.
        let share = |value: f64| if window.mean > 0.0 { 100.0 * value / window.mean } else { f64::INFINITY };
        let range = share(largest - smallest);
        let rise = share(window.slope.abs() * (values.len() - 1) as f64);
        let half = window.slope * (values.len() - 1) as f64 / 2.0;
        PtsCriteria { mean: window.mean, range, rise, line: (window.mean - half, window.mean + half) }
    }

    fn are_kept(&self) -> bool {
        self.range <= MAX_RANGE && self.rise <= MAX_RISE
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The window that ends with these values.
    fn of(values: &[f64], last: u32) -> Option<PtsWindow> {
        PtsWindow::of(&values.iter().copied().map(Some).collect::<Vec<_>>(), last)
    }

    /// The window with its criteria.
    fn judged(values: &[f64]) -> (PtsCriteria, bool) {
        let window = of(values, 5).unwrap();
        (window.criteria.unwrap(), window.steady)
    }

    /// The first round, from 1, with which a window of five is steady.
    fn first_steady(values: &[f64]) -> Option<u32> {
        let window = |last: usize| of(&values[last - 5..last], last as u32);
        (5..=values.len()).filter_map(window).find(|window| window.steady).map(|window| window.last)
    }

    #[test]
    fn a_fresh_drive_that_slows_down_is_steady_at_the_round_calculated_by_hand() {
        let values = [1000.0, 800.0, 600.0, 450.0, 400.0, 390.0, 385.0, 380.0, 378.0, 377.0];
        // Rounds 4 to 8: mean 401, range 70 (17.5 %), slope -15.5 a round, so a rise of 62 (15.5 %): not yet.
        let (early, steady) = judged(&values[3..8]);
        assert!((early.mean - 401.0).abs() < 1e-9 && (early.range - 100.0 * 70.0 / 401.0).abs() < 1e-9);
        assert!((early.rise - 100.0 * 62.0 / 401.0).abs() < 1e-9 && !steady);
        assert!((early.line.0 - 432.0).abs() < 1e-9 && (early.line.1 - 370.0).abs() < 1e-9);
        // Rounds 5 to 9: mean 386.6, range 22 (5.7 %), slope -5.4, rise 21.6 (5.6 %).
        assert_eq!(first_steady(&values), Some(9));
    }

    #[test]
    fn a_drive_that_loses_a_share_each_round_never_settles() {
        // Of any window the line falls by about 4 times 7 % of its middle.
        let values: Vec<f64> = (0..25).map(|round| 1000.0 * 0.93f64.powi(round)).collect();
        assert_eq!(first_steady(&values), None);
    }

    #[test]
    fn saw_teeth_are_steady_when_they_have_become_small() {
        let values = [520.0, 400.0, 520.0, 400.0, 520.0, 430.0, 480.0, 430.0, 480.0];
        // Rounds 4 to 8: mean 452, range 120 (26.5 %). Rounds 5 to 9: mean 468, range 90 (19.2 %), slope -8, rise 32 (6.8 %).
        assert_eq!(first_steady(&values), Some(9));
    }

    #[test]
    fn bounds_belong_to_what_is_steady_and_nothing_is_not() {
        // Range 20 of 100 exactly; the line does not rise.
        let (at, steady) = judged(&[110.0, 90.0, 100.0, 90.0, 110.0]);
        assert_eq!((at.mean, at.range, at.rise, steady), (100.0, 20.0, 0.0, true));
        let (beyond, steady) = judged(&[110.1, 90.0, 100.0, 90.0, 110.1]);
        assert!(beyond.range > 20.0 && beyond.rise <= 10.0 && !steady, "{beyond:?}");
        // The line rises, or falls, by 10 of 100 exactly.
        for values in [[95.0, 97.5, 100.0, 102.5, 105.0], [105.0, 102.5, 100.0, 97.5, 95.0]] {
            let (at, steady) = judged(&values);
            assert_eq!((at.mean, at.range, at.rise, steady), (100.0, 10.0, 10.0, true));
        }
        let (beyond, steady) = judged(&[94.9, 97.5, 100.0, 102.5, 105.1]);
        assert!(beyond.range < 20.0 && beyond.rise > 10.0 && !steady, "{beyond:?}");
        assert!(!judged(&[0.0; 5]).1 && !judged(&[100.0, 100.0, 0.0, 100.0, 100.0]).1);
        assert_eq!((of(&[], 0), of(&[1.0], 1)), (None, None));
    }

    #[test]
    fn a_window_with_a_round_without_a_figure_is_not_steady_and_has_no_mean() {
        let mut values = [Some(100.0); 5];
        assert!(PtsWindow::of(&values, 7).unwrap().steady);
        for missing in 0..5 {
            values = [Some(100.0); 5];
            values[missing] = None;
            let window = PtsWindow::of(&values, 7).unwrap();
            assert_eq!(window, PtsWindow { last: 7, steady: false, criteria: None });
        }
        assert_eq!(PtsWindow::of(&[None; 5], 7).unwrap().mean(), None);
    }

    /// Both criteria in whole numbers, without a division: the range times 100 is at most 20 times the mean, and the rise of the line,
    /// which is 4 tenths of the sum of the products, times 100 at most 10 times the mean.
    fn is_steady_in_whole_numbers(values: [i64; 5]) -> bool {
        let sum: i64 = values.iter().sum();
        let range = values.iter().max().unwrap() - values.iter().min().unwrap();
        let products: i64 = values.iter().zip(-2..).map(|(value, distance)| value * distance).sum();
        sum > 0 && 100 * 5 * range <= 20 * sum && 4 * 100 * 5 * products.abs() <= 10 * 10 * sum
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn the_criteria_are_those_calculated_in_whole_numbers(
            mean in 0i64..1_000_000,
            // Up to 13 % above and below: about as many windows are steady as are not.
            away in prop::array::uniform5(-130i64..=130),
        ) {
            let values = away.map(|away| mean + mean * away / 1000);
            let found = of(&values.map(|value| value as f64), 5).unwrap();
            prop_assert_eq!(found.steady, is_steady_in_whole_numbers(values), "{:?} {:?}", values, found);
        }

        #[test]
        fn a_line_on_its_bound_is_steady(mean in 1i64..1_000_000) {
            let values = [-2, -1, 0, 1, 2].map(|place| 40 * mean + place * mean);
            let found = of(&values.map(|value| value as f64), 5).unwrap();
            prop_assert!(found.steady && is_steady_in_whole_numbers(values), "{:?}", found);
        }
    }
}
