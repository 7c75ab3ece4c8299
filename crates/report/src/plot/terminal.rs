//! A chart as text: lines in braille, fields as shades.

use std::fmt::Display;

use crate::styler::escaped;
use anstyle::AnsiColor;
use unicode_width::UnicodeWidthStr;

use super::axis::Axis;
use super::chart::{Chart, Panel, Series};
use super::relief;

/// Lines of a panel.
const ROWS: usize = 12;

/// Columns left of the frame.
const MARGIN: usize = 12;

/// Dots of a character, across and downwards.
const DOTS: (usize, usize) = (2, 4);

/// The bits of a braille character by row, left and right.
const BITS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];

/// Shades from few to many.
const SHADES: [char; 4] = ['░', '▒', '▓', '█'];

/// Colours of the series, as the terminal's palette has them: blue, red, green, magenta, yellow, cyan.
const COLORS: [AnsiColor; 6] = [
    AnsiColor::Blue,
    AnsiColor::Red,
    AnsiColor::Green,
    AnsiColor::Magenta,
    AnsiColor::Yellow,
    AnsiColor::Cyan,
];

/// In the colour of a series.
fn colored(series: usize, text: impl Display) -> String {
    let style = COLORS[series % COLORS.len()].on_default();
    format!("{style}{text}{style:#}")
}

/// A grid of characters, each with the series that drew last on it.
struct Canvas {
    columns: usize,
    cells: Vec<(char, u8, Option<usize>)>,
}

impl Canvas {
    fn new(columns: usize) -> Canvas {
        Canvas { columns, cells: vec![(' ', 0, None); columns * ROWS] }
    }

    /// Sets a dot; places are from 0 to 1, from the left and from below.
    fn dot(&mut self, across: f64, upwards: f64, series: usize) {
        let place = |share: f64, dots: usize| (share * (dots - 1) as f64).round() as usize;
        let x = place(across, self.columns * DOTS.0);
        let y = place(1.0 - upwards, ROWS * DOTS.1);
        if let Some(cell) = self.cells.get_mut(y / DOTS.1 * self.columns + x / DOTS.0) {
            cell.1 |= BITS[y % DOTS.1][x % DOTS.0];
            cell.2 = Some(series);
        }
    }

    /// Sets the dots between two places.
    fn line(&mut self, from: (f64, f64), to: (f64, f64), series: usize) {
        self.between(from, to, series, |_| true);
    }

    /// Sets every other pair of them.
    fn dashes(&mut self, from: (f64, f64), to: (f64, f64), series: usize) {
        self.between(from, to, series, |step| step / 2 % 2 == 0);
    }

    fn between(&mut self, from: (f64, f64), to: (f64, f64), series: usize, is_set: fn(u32) -> bool) {
        let across = (to.0 - from.0).abs() * (self.columns * DOTS.0) as f64;
        let upwards = (to.1 - from.1).abs() * (ROWS * DOTS.1) as f64;
        let steps = across.max(upwards).ceil().clamp(1.0, 10_000.0) as u32;
        for step in (0..=steps).filter(|step| is_set(*step)) {
            let share = f64::from(step) / f64::from(steps);
            self.dot(from.0 + (to.0 - from.0) * share, from.1 + (to.1 - from.1) * share, series);
        }
    }

    fn shade(&mut self, x: (f64, f64), y: (f64, f64), share: f64) {
        let places = |from: f64, to: f64, all: usize| {
            let first = (from * all as f64).floor() as usize;
            first..((to * all as f64).ceil() as usize).clamp(first + 1, all.max(first + 1))
        };
        let shade = SHADES[((share * 4.0) as usize).min(3)];
        for row in places(1.0 - y.1, 1.0 - y.0, ROWS).filter(|row| *row < ROWS) {
            for column in places(x.0, x.1, self.columns).filter(|column| *column < self.columns) {
                let cell = &mut self.cells[row * self.columns + column];
                if SHADES.iter().position(|had| *had == cell.0) < SHADES.iter().position(|new| *new == shade)
                {
                    cell.0 = shade;
                }
            }
        }
    }

    fn row(&self, row: usize, in_color: bool) -> String {
        let mut out = String::new();
        for &(shade, bits, series) in &self.cells[row * self.columns..(row + 1) * self.columns] {
            let c = if bits == 0 { shade } else { char::from_u32(0x2800 + u32::from(bits)).unwrap_or(' ') };
            match series.filter(|_| in_color) {
                Some(series) => out.push_str(&colored(series, c)),
                None => out.push(c),
            }
        }
        out.trim_end().to_owned()
    }
}

/// The chart in so many columns; series are distinguished by colour, where that is wanted.
pub fn terminal(chart: &Chart, columns: usize, in_color: bool) -> String {
    let columns = columns.clamp(40, 200) - MARGIN - 2;
    let mut out = format!("{}\n", escaped(&chart.title));
    for panel in &chart.panels {
        out += &format!("\n{}\n", escaped(&panel.y.label));
        out += &match &panel.height {
            Some(height) => wires(panel, height, columns, in_color),
            None => frame(panel, &chart.series, columns, in_color),
        };
    }
    for (number, series) in chart.series.iter().enumerate() {
        let mark = match in_color {
            true => colored(number, "──"),
            false => "──".to_owned(),
        };
        out += &format!("{mark} {} ({})\n", escaped(&series.name), escaped(&series.run));
    }
    if let Some(note) = &chart.note {
        out += &format!("{}\n", escaped(note));
    }
    out
}

/// A surface in three dimensions, with its axes in words.
fn wires(panel: &Panel, height: &Axis, columns: usize, in_color: bool) -> String {
    let mut canvas = Canvas::new(columns);
    for wire in relief::wires(panel) {
        wire.windows(2).for_each(|pair| canvas.line(pair[0], pair[1], 0));
        wire.first().into_iter().for_each(|(across, upwards)| canvas.dot(*across, *upwards, 0));
    }
    let rows = (0..ROWS)
        .map(|row| format!("{:MARGIN$}  {}", "", canvas.row(row, in_color)).trim_end().to_owned() + "\n");
    rows.collect::<String>() + &escaped(relief::axes(panel, height)) + "\n"
}

fn frame(panel: &Panel, series: &[Series], columns: usize, in_color: bool) -> String {
    let mut canvas = Canvas::new(columns);
    for cell in &panel.cells {
        let ends = |axis: &Axis, ends: (f64, f64)| (axis.place(ends.0), axis.place(ends.1));
        canvas.shade(ends(&panel.x, cell.x), ends(&panel.y, cell.y), cell.share);
    }
    let place = |point: &(f64, f64)| (panel.x.place(point.0), panel.y.place(point.1));
    for (number, lines) in panel.lines.iter().enumerate() {
        for line in lines {
            let is_bound = series.get(number).is_some_and(|series| series.is_bound);
            let drawn = if is_bound { Canvas::dashes } else { Canvas::line };
            line.windows(2).for_each(|pair| drawn(&mut canvas, place(&pair[0]), place(&pair[1]), number));
            line.first()
                .map(place)
                .into_iter()
                .for_each(|(across, upwards)| canvas.dot(across, upwards, number));
        }
    }
    let mut labels = vec![String::new(); ROWS];
    for tick in &panel.y.ticks {
        let row = ((1.0 - panel.y.place(tick.at)) * (ROWS - 1) as f64).round() as usize;
        labels[row.min(ROWS - 1)] = escaped(&tick.label).chars().take(MARGIN).collect();
    }
    let mut out = String::new();
    for (row, label) in labels.iter().enumerate() {
        out += &format!("{label:>MARGIN$} │{}\n", canvas.row(row, in_color));
    }
    out += &format!("{:MARGIN$} └{}\n", "", "─".repeat(columns));
    out += &format!("{:MARGIN$}  {}\n", "", ticks(&panel.x, columns));
    let label = escaped(&panel.x.label);
    out + format!("{:MARGIN$}  {label:^columns$}", "").trim_end() + "\n"
}

/// The labels of a horizontal axis that do not overlap.
fn ticks(axis: &Axis, columns: usize) -> String {
    let mut out = String::new();
    for tick in &axis.ticks {
        let label: String = escaped(&tick.label).chars().collect();
        let width = label.width();
        let at = (axis.place(tick.at) * (columns - 1) as f64).round() as usize;
        let start = at.saturating_sub(width / 2).min(columns.saturating_sub(width));
        let free = out.width();
        if free == 0 || start > free {
            out += &" ".repeat(start.saturating_sub(free));
            out += &label;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::Cell;

    fn chart() -> Chart {
        let line = vec![(0.0, 0.0), (10.0, 100.0)];
        let axis = |label: &str, high: f64| Axis::linear(label, Some(0.0), [high].into_iter());
        let mut fields = Panel::of_cells(axis("s", 10.0), axis("t", 100.0), Vec::new());
        let cell = |x, share| Cell { x, y: (0.0, 50.0), share, value: String::new(), is_labelled: false };
        fields.cells = vec![cell((0.0, 5.0), 0.1), cell((5.0, 10.0), 1.0)];
        Chart {
            title: "a\x1b[2Jb".into(),
            description: String::new(),
            series: vec![Series::new("r", "s")],
            panels: vec![
                Panel::of_lines(axis("seconds", 10.0), axis("rate", 100.0), vec![vec![line]]),
                fields,
            ],
            note: None,
        }
    }

    #[test]
    fn lines_are_dots_and_fields_are_shades_within_the_width() {
        let out = terminal(&chart(), 60, false);
        assert!(!out.contains('\x1b'), "{out}");
        assert!(out.lines().all(|line| line.chars().count() <= 60), "{out}");
        let rows: Vec<&str> = out.lines().filter(|line| line.contains('│')).collect();
        assert_eq!(rows.len(), 2 * ROWS);
        let braille = |line: &str| line.chars().any(|c| ('\u{2801}'..='\u{28ff}').contains(&c));
        assert!(rows[..ROWS].iter().all(|row| braille(row)), "{out}");
        assert!(
            rows[0].starts_with("         100 │") && rows[ROWS - 1].starts_with("           0 │"),
            "{out}"
        );
        assert!(rows[2 * ROWS - 1].contains("░█"), "{out}");
        assert!(terminal(&chart(), 60, true).contains("\x1b[34m"));
        assert!(terminal(&Chart { panels: Vec::new(), ..chart() }, 0, false).starts_with("a\\u{1b}"));
    }
}
