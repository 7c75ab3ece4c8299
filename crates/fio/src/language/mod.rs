//! fio's language: job files and command lines, as its manual page (fio 3.42) describes them.
//!
//! A job file or a command line becomes sections of settings ([`job_file`], [`command_line`]); each section's settings, after
//! those of the global sections before it, are set on a [`Spec`] through the table of [`options`]; a spec becomes one
//! [`Thread`] per clone ([`lower`]).

mod arithmetic;
mod assign;
pub mod command_line;
mod error;
mod expand;
pub mod help;
pub mod job_file;
pub mod lower;
pub mod options;
pub mod plan;
pub mod print;
mod problem;
mod profile;
pub mod reference;
pub mod thread;
pub mod value;

pub use command_line::Invocation;
pub use error::OptionError;
pub use job_file::{Document, HostContext, Section, Setting};
pub use options::Spec;
pub use options::option::{Form, Opt, Support};
pub use plan::{Plan, plan};
pub use problem::{Origin, Problem, Problems};
pub use thread::{ControlGroup, Reporting, Thread};
pub use value::OptionValue;
