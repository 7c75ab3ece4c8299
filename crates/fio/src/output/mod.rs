//! What fio prints, for programs and users: normal text, terse, JSON and JSON+, and its log files.
//!
//! What the outputs need besides the phases is recorded as conclusions of the run ([`recorded`]); [`Results`] are put together
//! from the run, live or read back, and everything else here turns them into text. Log files are written while the jobs run,
//! by [`logs::LogWriter`].

pub(crate) mod bins;
pub mod blocks;
mod clock;
mod closing;
mod durations;
mod group;
pub mod header;
mod idle;
pub mod inflate;
mod iolog;
pub mod json;
pub mod logs;
pub mod normal;
pub(crate) mod number;
pub mod recorded;
pub mod result;
mod samples;
mod steady;
#[cfg(test)]
mod synthetic;
pub mod terse;
#[cfg(test)]
mod tests;
mod times;
mod value;
mod windows;

pub use crate::language::command_line::Format;
pub use header::{header, laying_out};
pub use idle::Idleness;
pub use logs::{AggregateLog, LogError, LogWriter};
pub use recorded::{FioEnd, FioRequest, JobEnd, show};
pub use result::{JobResult, Results, SteadyPoint, SteadyResult};

/// Whether human-readable text is among these formats.
pub(crate) fn has_text(formats: &[Format]) -> bool {
    formats.contains(&Format::Normal)
}

/// The results in these formats: terse, then JSON, then text, whatever the order in which they were asked for, as fio does.
pub fn output(results: &Results, formats: &[Format], version: terse::TerseVersion) -> String {
    let asked = |format| formats.contains(&format);
    let mut out = String::new();
    if asked(Format::Terse) {
        out += &terse::terse(results, version);
    }
    if asked(Format::Json) || asked(Format::JsonPlus) {
        out += &json::json(results, asked(Format::JsonPlus));
    }
    if asked(Format::Normal) {
        out += &normal::normal(results);
    }
    out
}
