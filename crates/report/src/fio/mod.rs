//! What fio prints, for the programs and the people that read it: normal text, terse, JSON and JSON+, and its log files.
//!
//! The caller fills [`Results`]; everything here turns that into text. Log files are written while the jobs run, by
//! [`LogWriter`](logs::LogWriter).

mod bins;
mod clock;
mod closing;
mod group;
pub mod header;
pub mod json;
pub mod logs;
pub mod normal;
mod number;
pub mod result;
mod samples;
mod steady;
pub mod terse;
mod times;
mod value;
mod windows;

pub use result::{JobResult, Results, SteadyPoint, SteadyResult};
