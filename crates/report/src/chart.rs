//! Numbers as bars of one line.

use crate::styler::Styler;

/// Bars from low to high.
const BARS: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

/// The same where there is only ASCII: darker is more.
const ASCII_BARS: [&str; 8] = [".", ":", "-", "=", "+", "*", "#", "@"];

/// Marks of a course at most.
const MARKS: usize = 60;

/// Fewer points make no course.
const FEWEST: usize = 4;

/// Two columns a value, a gap between; the largest fills its cell.
pub(crate) fn bars(values: Vec<f64>, styler: Styler) -> Vec<String> {
    let max = values.iter().copied().fold(0.0, f64::max);
    values.into_iter().map(|value| bar(value, max, styler).repeat(2)).collect()
}

fn bar(value: f64, max: f64, styler: Styler) -> &'static str {
    let levels = if styler.0.unicode { BARS } else { ASCII_BARS };
    // A ratio that is not a number becomes the lowest bar: the cast saturates.
    let level = ((value / max * 8.0).ceil() as usize).clamp(1, 8);
    levels[level - 1]
}

/// Eighths of a column, from the left.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// A bar that lies, as wide as its share of the most; at least a mark for what is not nothing.
pub(crate) fn horizontal_bar(value: f64, max: f64, room: usize, styler: Styler) -> String {
    let share = if max > 0.0 { (value / max).clamp(0.0, 1.0) } else { 0.0 };
    // The cast saturates: what is not a number becomes nothing.
    let eighths = (share * room as f64 * 8.0).round() as usize;
    let eighths = if value > 0.0 { eighths.max(1) } else { eighths };
    if styler.0.unicode {
        return "█".repeat(eighths / 8) + EIGHTHS[eighths % 8];
    }
    "#".repeat(eighths.div_ceil(8))
}

/// Something over time.
pub(crate) struct TimeStrip {
    /// One column a mark; a blank where there was nothing.
    pub(crate) marks: String,
    /// What the highest stands for.
    pub(crate) max: f64,
    /// What the lowest stands for.
    pub(crate) min: f64,
    /// Length of a mark in seconds.
    pub(crate) seconds: f64,
}

/// The rate over time from `(seconds, count)`, in so many columns at most; `None` where there is too little of it.
pub(crate) fn course(series: &[(f64, f64)], room: usize, styler: Styler) -> Option<TimeStrip> {
    let longest = series.iter().map(|point| point.0).fold(0.0, f64::max);
    let in_each = series.len().div_ceil(room.clamp(1, MARKS));
    let joined = series
        .chunks(in_each.max(1))
        .map(|points| points.iter().fold((0.0, 0.0), |sum, point| (sum.0 + point.0, sum.1 + point.1)));
    let seconds = longest * in_each as f64;
    // What is left at the end may be too short for a rate.
    let rates: Vec<f64> =
        joined.filter(|each| each.0 >= seconds / 2.0 && each.0 > 0.0).map(|each| each.1 / each.0).collect();
    let max = rates.iter().copied().fold(0.0, f64::max);
    if rates.len() < FEWEST || max <= 0.0 {
        return None;
    }
    let min = rates.iter().copied().fold(f64::INFINITY, f64::min);
    let mark = |&rate: &f64| if rate > 0.0 { bar(rate, max, styler) } else { " " };
    Some(TimeStrip { marks: rates.iter().map(mark).collect(), max, min, seconds })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::styler::Style;
    use proptest::prelude::*;

    const PEN: Styler = Styler(Style { color: false, unicode: true, width: 80 });

    #[test]
    fn a_stall_is_a_hole() {
        let series = [8.0, 4.0, 0.0, 0.0, 8.0, 2.0, 1.0].map(|count| (1.0, count));
        let course = course(&series, 60, PEN).unwrap();
        assert_eq!((course.marks.as_str(), course.max, course.seconds), ("█▄  █▂▁", 8.0, 1.0));
        let joined = super::course(&series, 4, PEN).unwrap();
        assert_eq!((joined.marks.as_str(), joined.max, joined.min, joined.seconds), ("█ ▇▂", 6.0, 0.0, 2.0));
    }

    #[test]
    fn a_bar_that_lies_has_its_share_of_the_room() {
        let bar = |value, max| horizontal_bar(value, max, 4, PEN);
        assert_eq!([bar(8.0, 8.0), bar(5.0, 8.0), bar(1e-9, 8.0), bar(0.0, 8.0)], ["████", "██▌", "▏", ""]);
        assert_eq!([bar(9.0, 8.0), bar(1.0, 0.0), bar(f64::NAN, 8.0)], ["████", "▏", ""]);
        let ascii = Styler(Style { unicode: false, ..PEN.0 });
        assert_eq!([8.0, 5.0, 1e-9].map(|value| horizontal_bar(value, 8.0, 4, ascii)), ["####", "###", "#"]);
    }

    proptest! {
        #[test]
        fn no_series_makes_it_panic(
            series in prop::collection::vec((0.0f64..10.0, 0.0f64..1e9), 0..500), room in 0usize..200,
            unicode in any::<bool>(),
        ) {
            let styler = Styler(Style { unicode, ..PEN.0 });
            if let Some(course) = course(&series, room, styler) {
                prop_assert!(course.marks.chars().count() <= room.clamp(1, MARKS));
                prop_assert!(unicode || course.marks.is_ascii());
            }
        }
    }
}
