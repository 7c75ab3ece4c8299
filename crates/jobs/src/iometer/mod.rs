//! Iometer's configuration files (`.icf`), read and written, and its standard access specifications.
//!
//! A file is a list of headings, each a line that begins with an apostrophe, with values on the indented lines below. It is read
//! into [`Configuration`], which holds what disk tests need; printing it gives a file that is read into the same again.

mod configuration;
mod error;
mod parse;
mod print;
mod standard;

pub use configuration::{Configuration, Cycle, Manager, Setup, TestKind, Worker};
pub use error::IcfError;
pub use parse::{MAX_BYTES, parse};
pub use print::print;
pub use standard::{PATTERNS, patterns, standard};

#[cfg(test)]
mod tests;
