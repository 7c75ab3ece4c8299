//! A table that a suite concludes with: figures with their uncertainty, and what they say, in sentences.

use serde::{Deserialize, Serialize};

use crate::concluded::real;

/// A table of results. It is printed, stored and drawn as it is, so that a suite that concludes with tables needs no output of its
/// own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResultTable {
    /// What the rows are about, for example `random read 8 KiB, 1 outstanding`.
    pub title: String,
    /// The columns after the label.
    pub columns: Vec<TableColumn>,
    /// The rows, in the order in which they are shown.
    pub rows: Vec<TableRow>,
    /// What the columns mean, where their names do not say it.
    pub legend: String,
    /// What the figures say together, one sentence each.
    pub findings: Vec<String>,
}

/// A column of a [`ResultTable`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableColumn {
    /// Its heading, for example `mean`.
    pub name: String,
    /// What its figures count.
    pub unit: TableUnit,
}

/// What the figures of a column count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TableUnit {
    /// Nanoseconds.
    Nanoseconds,
    /// Operations per second.
    PerSecond,
    /// Bytes.
    Bytes,
    /// Bytes per second.
    BytesPerSecond,
    /// A ratio of two figures.
    Ratio,
    /// No figures, but text.
    Text,
}

/// A row of a [`ResultTable`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TableRow {
    /// What its figures are of.
    pub label: String,
    /// One cell per column.
    pub cells: Vec<TableCell>,
}

/// A cell of a [`ResultTable`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TableCell {
    /// Not measured, or not known.
    Missing,
    /// Text.
    Text(String),
    /// A figure whose uncertainty is not known, or that has none.
    Figure(#[serde(with = "real")] f64),
    /// A figure with its 95 % interval.
    Estimate {
        /// The figure.
        #[serde(with = "real")]
        value: f64,
        /// Lower end of the interval.
        #[serde(with = "real")]
        low: f64,
        /// Upper end of the interval.
        #[serde(with = "real")]
        high: f64,
    },
}

impl TableCell {
    /// A figure, where there is one.
    pub fn of(value: Option<f64>) -> TableCell {
        value.map_or(TableCell::Missing, TableCell::Figure)
    }
}
