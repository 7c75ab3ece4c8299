//! Axes: their range, and ticks at round values.

use iolite_model::Nanos;
use serde::Serialize;

/// Ticks of a linear axis, about.
const TICKS: f64 = 6.0;

/// Decades above which only powers of ten have a tick.
const FINE_DECADES: i32 = 3;

/// Quantiles of the axis in nines stop here: 99.999999999 %.
const MAX_NINES: i32 = 11;

/// How values are placed on an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Evenly.
    Linear,
    /// By their logarithm; values are above zero.
    Log,
}

/// What the values of an axis are, for their labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Numbers.
    Number,
    /// Seconds since the start of the run.
    RunTime,
    /// Times in nanoseconds.
    Nanos,
    /// Quantiles by their number of nines.
    Nines,
    /// Places in a list of names.
    Names,
}

/// A labelled value.
#[derive(Debug, Clone, PartialEq)]
pub struct Tick {
    /// Where it is.
    pub at: f64,
    /// Its label.
    pub label: String,
}

/// An axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// Quantity and unit.
    pub label: String,
    /// Smallest value.
    pub low: f64,
    /// Largest value.
    pub high: f64,
    /// How values are placed.
    pub scale: Scale,
    /// What the values are.
    pub unit: Unit,
    /// Round values within the range, in order.
    pub ticks: Vec<Tick>,
}

impl Axis {
    /// A linear axis over the values and at least from `from`, rounded to the next ticks.
    pub fn linear(label: &str, from: Option<f64>, values: impl Iterator<Item = f64>) -> Axis {
        let (low, high) = range(from.into_iter().chain(values), (0.0, 1.0));
        let high = if high > low { high } else { low + low.abs().max(1.0) };
        let step = nice_step((high - low) / TICKS);
        let (first, last) = ((low / step).floor(), (high / step).ceil());
        let count = (last - first).clamp(1.0, 4.0 * TICKS) as u32;
        let at = |number: u32| (first + f64::from(number)) * step;
        let ticks = (0..=count).map(|number| Tick { at: at(number), label: number_label(at(number), step) });
        Axis {
            label: label.to_owned(),
            low: at(0),
            high: at(count),
            scale: Scale::Linear,
            unit: Unit::Number,
            ticks: ticks.collect(),
        }
    }

    /// A logarithmic axis over nanoseconds.
    pub fn log_time(label: &str, values: impl Iterator<Item = f64>) -> Axis {
        let (low, high) = range(values.filter(|value| *value > 0.0), (1e3, 1e6));
        let (low, high) = (low.max(1.0), high.max(1.0));
        let steps = round_values(low, high);
        let first = steps.iter().rposition(|step| *step <= low * (1.0 + 1e-9)).unwrap_or(0);
        let last = steps.iter().position(|step| *step >= high * (1.0 - 1e-9));
        // A single value has the next round one as its other end.
        let last = last.unwrap_or(steps.len() - 1).max(first + 1).min(steps.len() - 1);
        let ticks: Vec<Tick> =
            steps[first..=last].iter().map(|at| Tick { at: *at, label: time_label(*at) }).collect();
        let (low, high) = (steps[first], steps[last]);
        Axis { label: label.to_owned(), low, high, scale: Scale::Log, unit: Unit::Nanos, ticks }
    }

    /// The time since the start of the run: all charts with such an axis may be zoomed together.
    /// It ends with the last value, as the run did.
    pub fn run_time(values: impl Iterator<Item = f64>) -> Axis {
        let values: Vec<f64> = values.collect();
        let mut axis = Axis::linear("seconds since the start of the run", None, values.iter().copied());
        let (first, last) = range(values.into_iter(), (axis.low, axis.high));
        if last > first {
            axis.high = last;
            axis.ticks.retain(|tick| tick.at <= last);
        }
        Axis { unit: Unit::RunTime, ..axis }
    }

    /// An axis of quantiles, placed by the number of nines: 90 % is one unit from 0 %, 99 % two.
    pub fn nines(label: &str, high: f64) -> Axis {
        let high = if high.is_finite() { high.clamp(1.0, f64::from(MAX_NINES) + 1.0) } else { 1.0 };
        let mut ticks = vec![
            Tick { at: 0.0, label: "0 %".into() },
            Tick { at: 2f64.log10(), label: "50 %".into() },
            Tick { at: 1.0, label: "90 %".into() },
        ];
        for nines in 2..=MAX_NINES {
            let label = match nines {
                2 => "99 %".to_owned(),
                nines => format!("99.{} %", "9".repeat(nines as usize - 2)),
            };
            ticks.push(Tick { at: f64::from(nines), label });
        }
        ticks.retain(|tick| tick.at <= high);
        Axis { label: label.to_owned(), low: 0.0, high, scale: Scale::Linear, unit: Unit::Nines, ticks }
    }

    /// A logarithmic axis with a tick at each of the values, which are above zero.
    pub fn steps(label: &str, values: impl Iterator<Item = f64>) -> Axis {
        let mut values: Vec<f64> = values.filter(|value| value.is_finite() && *value > 0.0).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        let (low, high) = range(values.iter().copied(), (1.0, 1.0));
        let ticks = values.iter().map(|at| Tick { at: *at, label: number_label(*at, at.min(1.0)) }).collect();
        let (scale, unit) = (Scale::Log, Unit::Number);
        Axis { label: label.to_owned(), low: low / 1.3, high: high * 1.3, scale, unit, ticks }
    }

    /// An axis of names: number N is the middle of the Nth, from 0.
    pub fn names(label: &str, names: impl Iterator<Item = String>) -> Axis {
        let ticks: Vec<Tick> =
            names.zip(0u32..).map(|(label, at)| Tick { at: f64::from(at), label }).collect();
        let (low, high) = (-0.5, ticks.len().max(1) as f64 - 0.5);
        Axis { label: label.to_owned(), low, high, scale: Scale::Linear, unit: Unit::Names, ticks }
    }

    /// A value in words, for tables.
    pub fn describe(&self, value: f64) -> String {
        match self.unit {
            Unit::Number => number_label(value, significant_step(value)),
            Unit::RunTime => format!("{} s", number_label(value, if value < 100.0 { 0.1 } else { 1.0 })),
            Unit::Nanos => Nanos(value.round() as u64).to_string(),
            Unit::Nines => percentile(value),
            Unit::Names => {
                let near = self.ticks.iter().find(|tick| (tick.at - value).abs() < 0.5);
                near.map(|tick| tick.label.clone()).unwrap_or_default()
            }
        }
    }

    /// Where a value is: 0 at the low end, 1 at the high end, never beyond.
    pub fn place(&self, value: f64) -> f64 {
        let of = |value: f64| match self.scale {
            Scale::Linear => value,
            Scale::Log => value.max(f64::MIN_POSITIVE).ln(),
        };
        let share = (of(value) - of(self.low)) / (of(self.high) - of(self.low));
        if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 }
    }
}

/// Smallest and largest of the finite values.
fn range(values: impl Iterator<Item = f64>, without: (f64, f64)) -> (f64, f64) {
    let around = |range: Option<(f64, f64)>, value: f64| match range {
        Some((low, high)) => Some((low.min(value), high.max(value))),
        None => Some((value, value)),
    };
    values.filter(|value| value.is_finite()).fold(None, around).unwrap_or(without)
}

/// 1, 2 or 5 times a power of ten, not below the given one.
fn nice_step(at_least: f64) -> f64 {
    let power = 10f64.powf(at_least.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
    let step = steps.into_iter().find(|step| *step >= at_least * (1.0 - 1e-9)).unwrap_or(10.0 * power);
    if step.is_normal() { step } else { 1.0 }
}

/// Round values around a range: powers of ten, and 2 and 5 times these where the range is small.
fn round_values(low: f64, high: f64) -> Vec<f64> {
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32 + 1);
    let factors: &[f64] = if last - first > FINE_DECADES + 1 { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let decade = |power: i32| factors.iter().map(move |factor| factor * 10f64.powi(power));
    (first..=last).flat_map(decade).collect()
}

/// A number with as many decimals as its step needs, thousands separated.
pub(super) fn number_label(value: f64, step: f64) -> String {
    let decimals = (-step.log10().floor()).clamp(0.0, 9.0) as usize;
    let text = format!("{:.decimals$}", if value == 0.0 { 0.0 } else { value });
    let (whole, fraction) = text.split_once('.').map_or((&*text, ""), |(whole, fraction)| (whole, fraction));
    let mut out = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) && !out.ends_with('-') {
            out.push(',');
        }
        out.push(digit);
    }
    if fraction.is_empty() { out } else { format!("{out}.{fraction}") }
}

/// The step with which a number has about four significant digits.
fn significant_step(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 1.0;
    }
    10f64.powf(value.abs().log10().floor() - 3.0).min(1.0)
}

/// The share that a number of nines stands for.
fn percentile(nines: f64) -> String {
    let decimals = if nines < 1.0 { 0 } else { nines.ceil() as usize - 1 };
    format!("{:.decimals$} %", 100.0 * (1.0 - 10f64.powf(-nines)))
}

/// Nanoseconds in the largest unit that they fill.
fn time_label(nanos: f64) -> String {
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, "µs")];
    let unit = units.into_iter().find(|(size, _)| nanos >= size * (1.0 - 1e-9));
    let (size, name) = unit.unwrap_or((1.0, "ns"));
    format!("{} {name}", number_label((nanos / size).round(), 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|tick| tick.label.as_str()).collect()
    }

    fn linear(values: &[f64]) -> Axis {
        Axis::linear("", Some(0.0), values.iter().copied())
    }

    fn log(values: &[f64]) -> Axis {
        Axis::log_time("", values.iter().copied())
    }

    #[test]
    fn linear_ticks_are_round_and_enclose_the_values() {
        assert_eq!(
            labels(&linear(&[11_300.0])),
            ["0", "2,000", "4,000", "6,000", "8,000", "10,000", "12,000"]
        );
        assert_eq!(labels(&linear(&[0.23])), ["0.00", "0.05", "0.10", "0.15", "0.20", "0.25"]);
        assert_eq!(labels(&linear(&[])).first(), Some(&"0.0"));
        for values in [[0.0, 0.0], [7.0, 7.0], [1e300, 0.0], [f64::NAN, f64::INFINITY], [1e-300, 0.0]] {
            let axis = linear(&values);
            assert!(axis.low < axis.high && (2..=25).contains(&axis.ticks.len()), "{values:?}: {axis:?}");
        }
    }

    #[test]
    fn log_ticks_are_powers_of_ten_with_more_between_in_a_small_range() {
        assert_eq!(labels(&log(&[120e3, 1.7e6])), ["100 µs", "200 µs", "500 µs", "1 ms", "2 ms"]);
        let wide = ["100 ns", "1 µs", "10 µs", "100 µs", "1 ms", "10 ms", "100 ms", "1 s", "10 s"];
        assert_eq!(labels(&log(&[130.0, 2.1e9])), wide);
        for values in [&[][..], &[1e6], &[0.0], &[1.0], &[1.8e19, 1.0], &[f64::INFINITY]] {
            let axis = log(values);
            assert!(axis.low < axis.high && axis.ticks.len() >= 2, "{values:?}: {axis:?}");
        }
    }

    #[test]
    fn the_time_of_a_run_ends_where_the_run_did() {
        let axis = |values: &[f64]| Axis::run_time(values.iter().copied());
        let long = axis(&[0.5, 30.2]);
        assert_eq!(
            (labels(&long), long.low, long.high),
            (vec!["0", "5", "10", "15", "20", "25", "30"], 0.0, 30.2)
        );
        for values in [&[][..], &[7.0], &[7.0, 7.0], &[7.0, 7.1], &[f64::NAN], &[0.0, 1e9]] {
            let axis = axis(values);
            assert!(axis.low < axis.high && !axis.ticks.is_empty(), "{values:?}: {axis:?}");
        }
    }

    #[test]
    fn quantiles_are_placed_by_their_nines() {
        let axis = Axis::nines("", 3.3);
        assert_eq!(labels(&axis), ["0 %", "50 %", "90 %", "99 %", "99.9 %"]);
        assert!((axis.place(1.65) - 0.5).abs() < 1e-9);
        assert_eq!((axis.place(f64::NAN), axis.place(99.0)), (0.0, 1.0));
    }
}
