//! Workers as processes: each a process of its own with one worker, which sends its parent what it measures.
//!
//! A child is this program again, called as [`WORKER_COMMAND`]. It gets an [`Assignment`] as a line of JSON, opens the
//! target anew by way of a descriptor that it inherits, says [`Message::Ready`], learns the instant of the start (on
//! CLOCK_MONOTONIC, which all processes share), and sends its events as they come. On [`END`] it ends early. When its standard input ends it stops:
//! that is how a parent interrupts it, and what happens when a parent dies.

mod child;
mod parent;

use iolite_model::{Ending, ErrorTally, FileTask, Interval, Outstanding, Stuck, Usage, Verified};
use serde::{Deserialize, Serialize};

pub use child::serve_worker;
pub(crate) use parent::run;

/// What a parent says so that a child ends as if its time were over.
const END: &str = "end";

/// The argument by which a program with this engine is to call [`serve_worker`] and nothing else.
pub const WORKER_COMMAND: &str = "engine-worker";

/// What a child is to do.
#[derive(Debug, Serialize, Deserialize)]
struct Assignment {
    task: FileTask,
    phase: u32,
    worker: u32,
    /// Descriptors of the target's files that the child inherits.
    files: Vec<i32>,
    /// The smallest offset of operations: where the span begins in a file that is alone.
    base: u64,
    /// Number of the run in the headers of verified data.
    run: Option<u64>,
}

/// What a child sends, one line each.
#[derive(Debug, Serialize, Deserialize)]
enum Message {
    /// It waits for the start.
    Ready,
    Interval(Interval),
    /// It could not be ready.
    Failed(String),
    /// It has measured. Where all is verified afterwards it now waits to be asked to.
    End(Box<ChildEnd>),
    /// It has verified.
    Verified(Option<Verified>),
}

/// How a child's part of the phase ended.
#[derive(Debug, Serialize, Deserialize)]
struct ChildEnd {
    /// Measured time in nanoseconds.
    measured: u64,
    ending: Ending,
    outstanding: Outstanding,
    errors: Vec<ErrorTally>,
    stuck: Vec<Stuck>,
    verified: Option<Verified>,
    usage: Usage,
}
