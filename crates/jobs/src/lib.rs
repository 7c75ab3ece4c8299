//! Job languages: job descriptions written by users become plain data of the model. No target is opened here.

pub mod iometer;
mod language;
pub mod native;

pub use language::Language;
