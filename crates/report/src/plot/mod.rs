//! Charts of stored runs, as SVG: a course over time, a histogram, a distribution by quantile.
//!
//! `of_run` turns runs into a [`Chart`], which is plain data; `svg` writes it.

mod axis;
mod chart;
mod of_run;
mod svg;

pub use axis::{Axis, Scale, Tick};
pub use chart::{Chart, Panel, Series};
pub use of_run::{PlotError, PlotKind, chart};
pub use svg::svg;
