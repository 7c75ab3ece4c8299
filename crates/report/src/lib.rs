//! The outputs of a run: the terminal's text, the live view, the JSON document and the page.
//!
//! Everything here turns plain data into text: the caller hands over a run, or several.

pub mod ab;
mod answer;
pub mod cachestat;
mod chart;
mod check;
pub mod classic;
pub mod comparison;
mod configuration;
mod document;
pub mod durability;
pub mod explain;
pub mod export;
mod extremes;
mod grid;
pub mod html;
pub mod intervals;
pub mod iometer;
mod json;
mod knees;
pub mod latency_target;
mod live;
mod machine;
mod meanwhile;
pub mod observed;
pub mod parts;
pub mod plot;
mod progress;
pub mod prometheus;
pub mod pts;
pub mod ran;
pub mod ratios;
mod result_table;
pub mod run;
pub mod run_filter;
pub mod runs;
mod screen;
mod show;
mod stalls;
pub mod study;
mod styler;
pub mod sweep;
#[cfg(test)]
mod synthetic;
mod table;
pub mod tproc_c;
pub mod waits;
mod words;
pub mod write_plan;

pub use check::{JSON_FORMAT, json, text};
pub use grid::aligned;
pub use html::page;
pub use live::{Live, LiveKind};
pub use meanwhile::text as meanwhile;
pub use progress::{Progress, ProgressUnit};
pub use screen::Screen;
pub use show::{Format, show};
pub use styler::{Style, count, harmless};
