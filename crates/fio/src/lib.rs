//! fio as a whole: its language, what its jobs mean, and what it prints.
//!
//! A job file or a command line becomes threads ([`language`]); while they run, fio's rules apply
//! ([`driver`]); what came of them becomes text, JSON and log files ([`output`]). What any fio
//! has written becomes runs again ([`import`]).

pub mod driver;
pub mod import;
pub mod language;
pub mod output;
