//! Traces and replay.

use crate::fio::lower::{Place, Thread};
use crate::fio::option::{Form, Opt, Support};
use crate::fio::spec::Spec;

/// Traces and replay: nothing of it is built, so there is nothing to hold.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Trace {}

impl Trace {
    /// Changes `thread` to what these settings say: they say nothing yet.
    pub(crate) fn lower(&self, _spec: &Spec, _place: Place, _thread: &mut Thread) -> Result<(), String> {
        Ok(())
    }
}

const NO_REPLAY: Support = Support::Missing(
    "replay is not built: describe what the trace does as a job (rw, bssplit, random_distribution, rate_iops)",
);
const ONLY_REPLAY: Support = Support::Missing("replay is not built: leave it out");

const fn replay(name: &'static str, form: Form, default: &'static str, help: &'static str) -> Opt {
    Opt { name, form, default, help, support: ONLY_REPLAY, ..Opt::PLAIN }
}

/// The options.
pub const OPTIONS: &[Opt] = &[
    Opt {
        name: "write_iolog",
        help: "Writes down each operation in a file that read_iolog can repeat.",
        support: Support::Missing(
            "write_lat_log with log_offset=1 lists the time, direction, size and offset of each operation",
        ),
        ..Opt::PLAIN
    },
    Opt {
        name: "read_iolog",
        help: "Repeats the operations of a trace: one written by write_iolog, or a binary one of blktrace.",
        support: NO_REPLAY,
        ..Opt::PLAIN
    },
    replay("read_iolog_chunked", Form::Flag, "0", "Reads the trace bit by bit rather than as a whole."),
    replay("replay_no_stall", Form::Flag, "0", "Repeats the trace without the pauses that were in it."),
    replay(
        "replay_time_scale",
        Form::Integer { least: 1, most: i32::MAX as i64 },
        "100",
        "Speed of the replay in percent of the trace's.",
    ),
    replay(
        "replay_redirect",
        Form::Text,
        "",
        "Device or file that all operations go to, whatever the trace says.",
    ),
    replay("replay_align", Form::Size, "", "Offsets are rounded to multiples of this, a power of two."),
    replay(
        "replay_scale",
        Form::Integer { least: 0, most: i32::MAX as i64 },
        "1",
        "Offsets are divided by this.",
    ),
    replay(
        "replay_skip",
        Form::Special("read, write, trim, sync, with commas between them"),
        "",
        "Operations of the trace that are left out.",
    ),
    replay(
        "merge_blktrace_file",
        Form::Text,
        "",
        "Merges the traces of read_iolog into this one and repeats it.",
    ),
    replay(
        "merge_blktrace_scalars",
        Form::Special("numbers with colons between them"),
        "",
        "Time of each merged trace in percent of the original.",
    ),
    replay(
        "merge_blktrace_iters",
        Form::Special("numbers with colons between them"),
        "",
        "How often each merged trace is repeated.",
    ),
];
