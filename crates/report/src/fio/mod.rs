//! What fio prints, for the programs and the people that read it: normal text, terse, JSON and JSON+, and its log files.
//!
//! The caller fills [`Results`]; everything here turns that into text. Log files are written while the jobs run, by
//! [`LogWriter`](logs::LogWriter).

pub mod result;

pub use result::{DiskCounts, DiskUse, JobResult, Results, SteadyPoint, SteadyResult};
