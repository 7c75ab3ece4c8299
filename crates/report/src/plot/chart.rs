//! What a chart consists of, before anything is drawn.

use serde::Serialize;

use super::axis::Axis;

/// A chart: panels one above the other that share their series.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// The heading.
    pub title: String,
    /// One sentence instead of the picture.
    pub description: String,
    /// The series of all panels, in the order of the legend.
    pub series: Vec<Series>,
    /// The panels, from the top.
    pub panels: Vec<Panel>,
    /// What is left out, if anything.
    pub note: Option<String>,
}

/// A line of the legend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Series {
    /// The run it is of; the legend has it as a heading where it changes.
    pub run: String,
    /// Its name: phase and kind of operation.
    pub name: String,
    /// It is nothing measured, but what measured values are compared with: drawn in the colour of the text, and dashed.
    pub is_bound: bool,
}

impl Series {
    /// A series of measured values.
    pub fn new(run: impl Into<String>, name: impl Into<String>) -> Series {
        Series { run: run.into(), name: name.into(), is_bound: false }
    }

    /// A series of bounds, thresholds or means.
    pub fn bound(run: impl Into<String>, name: impl Into<String>) -> Series {
        Series { is_bound: true, ..Series::new(run, name) }
    }

    /// Place of a series among the measured ones, or among the bounds, by which its colour and its dashes are chosen.
    pub fn ordinal(all: &[Series], number: usize) -> usize {
        let is_bound = all.get(number).is_some_and(|series| series.is_bound);
        all.iter().take(number).filter(|series| series.is_bound == is_bound).count()
    }
}

/// A frame with its axes.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The lines of each series, in the order of [`Chart::series`]; where nothing is known, a line is interrupted.
    pub lines: Vec<Vec<Vec<(f64, f64)>>>,
    /// How the lines are drawn.
    pub marking: Marking,
    /// Coloured fields behind the lines.
    pub cells: Vec<Cell>,
    /// Values of the horizontal axis with their intervals.
    pub marks: Vec<Mark>,
    /// The axis of the fields' heights, of which each has its share: then the panel is drawn in three dimensions.
    pub height: Option<Axis>,
}

/// How the lines of a panel are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Marking {
    /// As lines.
    Lines,
    /// As lines, with the area between each series and the one before it filled.
    Bands,
    /// As bars: each line is a vertical one.
    Bars,
}

/// A value of the horizontal axis that is pointed out, with its interval.
#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    /// The value.
    pub at: f64,
    /// Lower and upper end of its interval.
    pub interval: (f64, f64),
    /// What it is.
    pub label: String,
}

/// A coloured field of a panel.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Left and right end.
    pub x: (f64, f64),
    /// Lower and upper end.
    pub y: (f64, f64),
    /// Its colour: 0 for the smallest value, 1 for the largest.
    pub share: f64,
    /// The value, shown where the pointer is.
    pub value: String,
    /// The value is also written into it.
    pub is_labelled: bool,
}

impl Panel {
    /// A panel of lines.
    pub fn of_lines(x: Axis, y: Axis, lines: Vec<Vec<Vec<(f64, f64)>>>) -> Panel {
        Panel { x, y, lines, marking: Marking::Lines, cells: Vec::new(), marks: Vec::new(), height: None }
    }

    /// A panel of coloured fields.
    pub fn of_cells(x: Axis, y: Axis, cells: Vec<Cell>) -> Panel {
        Panel { x, y, lines: Vec::new(), marking: Marking::Lines, cells, marks: Vec::new(), height: None }
    }
}
