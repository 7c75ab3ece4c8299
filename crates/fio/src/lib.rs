//! fio as a whole: its language, what its jobs mean, and what it prints.
//!
//! A job file or a command line becomes threads ([`language`]); what came of them becomes text, JSON and log files ([`output`]).

pub mod language;
pub mod output;
#[cfg(test)]
mod synthetic;
