//! A chart as data for the script of the page.

use serde_json::{Value, json};

use super::axis::Axis;
use super::chart::{Cell, Chart, Mark, Panel};
use crate::styler::escaped;

/// Significant digits of a value: more than any screen shows.
const DIGITS: i32 = 7;

/// Characters of a name at most.
const NAME_CHARACTERS: usize = 200;

/// The chart as one JSON value: `title`, `note`, `series` (list: `run`, `name`, `bound`: true of what measured values are compared with), `panels` (list: `x`, `y`, `marking`, `lines`, `cells`,
/// `marks`). An axis has `label`, `low`, `high`, `scale`, `unit` and `ticks` (list of value and label). `lines` holds a list of lines
/// for each series, each a flat list of x and y in turn; a cell is left, right, lower and upper end, share, value, and whether it is
/// labelled; a mark is value, both ends of its interval, and label.
pub fn data(chart: &Chart) -> Value {
    let series = chart.series.iter().map(|series| match series.is_bound {
        true => json!({ "run": name(&series.run), "name": name(&series.name), "bound": true }),
        false => json!({ "run": name(&series.run), "name": name(&series.name) }),
    });
    json!({
        "title": name(&chart.title),
        "note": chart.note.as_deref().map(name),
        "series": series.collect::<Vec<_>>(),
        "panels": chart.panels.iter().map(panel).collect::<Vec<_>>(),
    })
}

fn panel(panel: &Panel) -> Value {
    let line = |line: &Vec<(f64, f64)>| -> Value {
        line.iter().flat_map(|(x, y)| [number(*x), number(*y)]).collect::<Vec<_>>().into()
    };
    let of_series = |lines: &Vec<Vec<(f64, f64)>>| lines.iter().map(line).collect::<Vec<_>>();
    let cell = |Cell { x, y, share, value, is_labelled }: &Cell| {
        json!([number(x.0), number(x.1), number(y.0), number(y.1), number(*share), name(value), is_labelled])
    };
    let mark = |Mark { at, interval, label }: &Mark| {
        json!([number(*at), number(interval.0), number(interval.1), name(label)])
    };
    json!({
        "x": axis(&panel.x),
        "y": axis(&panel.y),
        "marking": panel.marking,
        "lines": panel.lines.iter().map(of_series).collect::<Vec<_>>(),
        "cells": panel.cells.iter().map(cell).collect::<Vec<_>>(),
        "marks": panel.marks.iter().map(mark).collect::<Vec<_>>(),
    })
}

fn axis(axis: &Axis) -> Value {
    let ticks = axis.ticks.iter().map(|tick| json!([number(tick.at), name(&tick.label)]));
    json!({
        "label": name(&axis.label),
        "low": number(axis.low),
        "high": number(axis.high),
        "scale": axis.scale,
        "unit": axis.unit,
        "ticks": ticks.collect::<Vec<_>>(),
    })
}

/// The number with as many digits as are of use; null where it is not finite.
fn number(value: f64) -> Value {
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 { 0.into() } else { Value::Null };
    }
    let digits = DIGITS - 1 - value.abs().log10().floor() as i32;
    let rounded = if (-15..=22).contains(&digits) {
        let factor = 10f64.powi(digits.abs());
        if digits >= 0 { (value * factor).round() / factor } else { (value / factor).round() * factor }
    } else {
        value
    };
    if rounded.fract() == 0.0 && rounded.abs() < 1e15 { (rounded as i64).into() } else { rounded.into() }
}

/// A name without what hides or reorders others.
fn name(text: &str) -> String {
    let mut cut: String = text.chars().take(NAME_CHARACTERS).collect();
    if text.chars().nth(NAME_CHARACTERS).is_some() {
        cut.pop();
        cut.push('…');
    }
    escaped(cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_seven_digits() {
        assert_eq!(number(123_456_789.4).to_string(), "123456800");
        assert_eq!(number(0.000_123_456_789).to_string(), "0.0001234568");
        assert_eq!(number(12.0).to_string(), "12");
        assert_eq!(
            [number(0.0), number(f64::NAN), number(f64::INFINITY)],
            [0.into(), Value::Null, Value::Null]
        );
        assert!(number(1e-300).as_f64().is_some_and(|value| value > 0.0));
    }

    #[test]
    fn names_are_cut_and_harmless() {
        assert_eq!(name("a\u{202e}b\n"), "a\\u{202e}b\\n");
        assert_eq!(name(&"x".repeat(10_000)).chars().count(), NAME_CHARACTERS);
    }
}
