//! Job languages: what people write to say what is to be done becomes plain data of the model. No target is opened here.

pub mod iometer;
mod language;
pub mod native;

pub use language::Language;
