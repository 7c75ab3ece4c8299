//! Charts of stored runs, as SVG: over time, by response time, over load, over runs.
//!
//! `of_run` turns runs into a [`Chart`], which is plain data; `svg` writes it.

mod axis;
mod bounds;
mod buckets;
mod chart;
mod counters;
mod data;
mod database;
mod heatmap;
mod load;
mod markup;
mod of_run;
mod overlay;
mod percentiles;
mod picture;
mod pts;
mod readings;
mod relief;
mod repeats;
mod source;
mod svg;
mod terminal;
mod waits;

#[cfg(test)]
mod tests;

pub use axis::{Axis, Scale, Tick, Unit};
pub use chart::{Cell, Chart, Mark, Marking, Panel, Series};
pub use data::data;
pub use of_run::{PlotError, PlotKind, chart};
pub use picture::{SixelPictureError, TerminalPicture, kitty, sixel};
pub use svg::svg;
pub use terminal::terminal;
