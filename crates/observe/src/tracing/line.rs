//! One line of a trace (Linux, Documentation/trace/ftrace.rst, "Output format").

use iolite_model::Nanos;

/// What a line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TraceLine<'a> {
    /// Something happened.
    Event(TracedEvent<'a>),
    /// The buffer was full, and so many events are missing here.
    Lost(u64),
}

/// An event as the kernel printed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TracedEvent<'a> {
    /// The thread on whose CPU time it happened; of an interrupt, whichever thread was interrupted.
    pub(crate) thread: u32,
    /// When, by the trace's clock.
    pub(crate) at: Nanos,
    /// Name of the tracepoint.
    pub(crate) name: &'a str,
    /// Its fields as text.
    pub(crate) fields: &'a str,
}

impl<'a> TraceLine<'a> {
    /// Reads a line, for example `dd-17 [000] ..... 20968.577830: block_rq_issue: 254,0 WS 4096 () 8 + 8 be,0,4 [dd]`; `None` for
    /// comments and whatever else is no event.
    pub(crate) fn parse(line: &'a str) -> Option<TraceLine<'a>> {
        if let Some(lost) = line.strip_prefix("CPU:") {
            let count = lost.split_once("[LOST ")?.1.strip_suffix(" EVENTS]")?;
            return Some(TraceLine::Lost(count.parse().ok()?));
        }
        // A thread's name may contain anything, brackets included: the first place from which all the rest makes sense counts.
        line.match_indices(" [").find_map(|(at, _)| event(&line[..at], &line[at + 2..])).map(TraceLine::Event)
    }
}

/// An event from what stands before the bracket of its CPU, and after.
fn event<'a>(task: &str, rest: &'a str) -> Option<TracedEvent<'a>> {
    let thread = task.trim_end().rsplit_once('-')?.1.parse().ok()?;
    let (cpu, rest) = rest.split_once("] ")?;
    cpu.parse::<u32>().ok()?;
    let (_flags, rest) = rest.trim_start().split_once(' ')?;
    let (time, rest) = rest.trim_start().split_once(": ")?;
    let (name, fields) = rest.split_once(": ")?;
    Some(TracedEvent { thread, at: nanos(time)?, name, fields })
}

/// Seconds with six digits after the point.
fn nanos(time: &str) -> Option<Nanos> {
    let (seconds, micros) = time.split_once('.')?;
    let (seconds, micros): (u64, u64) = (seconds.parse().ok()?, micros.parse().ok()?);
    Some(Nanos(seconds.checked_mul(1_000_000_000)?.checked_add(micros.checked_mul(1000)?)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read() {
        let line = "              dd-22385   [000] ...1. 20968.579329: block_rq_insert: 254,0 WS 1044480 () 52 + 2040 be,0,4 [dd]";
        let expected = TracedEvent {
            thread: 22385,
            at: Nanos(20_968_579_329_000),
            name: "block_rq_insert",
            fields: "254,0 WS 1044480 () 52 + 2040 be,0,4 [dd]",
        };
        assert_eq!(TraceLine::parse(line), Some(TraceLine::Event(expected)));
    }

    #[test]
    fn a_thread_may_have_any_name() {
        let line = " a [000] b-c-7 [001] d..2. 5.000001: mm_filemap_fault: dev=254:0 ino=1f ofs=4096";
        let Some(TraceLine::Event(event)) = TraceLine::parse(line) else { panic!("{line}") };
        assert_eq!((event.thread, event.at, event.name), (7, Nanos(5_000_001_000), "mm_filemap_fault"));
    }

    #[test]
    fn lost_events_are_counted_and_anything_else_is_left_out() {
        assert_eq!(TraceLine::parse("CPU:1 [LOST 1234 EVENTS]"), Some(TraceLine::Lost(1234)));
        for line in [
            "",
            "# tracer: nop",
            "CPU:1 [LOST EVENTS]",
            "dd-1 [000] 5.1: x",
            "-[0] ..... : : ",
            "a-b [x] . 1.0: c: d",
        ] {
            assert_eq!(TraceLine::parse(line), None, "{line}");
        }
    }
}
