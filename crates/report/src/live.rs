//! Progress while a run is under way: a bar on a terminal, a line per phase elsewhere.

use std::fmt::Write as _;
use std::io::Write;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressState, ProgressStyle};
use iolite_model::{
    Ending, Event, FileTask, Interval, Iops, Nanos, OpKind, OpTotals, PhaseEnd, PhaseInfo, Sink, Stage, Task,
};

use crate::knees::load_word;
use crate::pen::{errors, escaped};

/// How often the bar is drawn though nothing happens: the clock on it must not seem to stand.
const TICK: Duration = Duration::from_millis(250);

/// Columns of the bar.
const BAR: usize = 20;

/// How progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LiveKind {
    /// A bar on standard error, which is a terminal.
    Terminal {
        /// In colour.
        color: bool,
    },
    /// A line on standard error at the end of each phase, without control characters.
    Plain,
    /// Nothing.
    Quiet,
}

/// The live view: a consumer of a run's events. Dropped at any time, it leaves the terminal clean.
pub struct Live {
    view: View,
    phase: Option<Phase>,
}

enum View {
    Bar(ProgressBar),
    Lines(Box<dyn Write + Send>),
    Quiet,
}

/// The phase under way.
struct Phase {
    index: u32,
    label: String,
    /// Start, length and counts of the latest interval.
    latest: (Nanos, Nanos, Counts),
    /// Counts of the measured part.
    measured: Counts,
}

/// Counts by kind of operation.
#[derive(Clone, Copy, Default)]
struct Counts([Flow; OpKind::ALL.len()]);

#[derive(Clone, Copy, Default)]
struct Flow {
    operations: u64,
    bytes: u64,
    errors: u64,
    response_sum: u64,
}

impl Live {
    /// A live view; `budget` is the time that the whole run may take.
    pub fn new(kind: LiveKind, budget: Nanos) -> Live {
        match kind {
            LiveKind::Terminal { color } => Live::bar(ProgressDrawTarget::stderr(), color, budget),
            LiveKind::Plain => Live::lines(Box::new(std::io::stderr())),
            LiveKind::Quiet => Live::of(View::Quiet),
        }
    }

    /// The view of [`LiveKind::Plain`], writing elsewhere than to standard error.
    pub fn lines(out: Box<dyn Write + Send>) -> Live {
        Live::of(View::Lines(out))
    }

    /// Says what is going on outside of any phase, for example `creating the database 37 %`. On the bar only.
    pub fn message(&self, text: &str) {
        if let View::Bar(bar) = &self.view {
            bar.set_message(escaped(text));
        }
    }

    /// Takes the bar away. Later events bring nothing back.
    pub fn finish(&mut self) {
        if let View::Bar(bar) = std::mem::replace(&mut self.view, View::Quiet) {
            bar.finish_and_clear();
        }
    }

    fn of(view: View) -> Live {
        Live { view, phase: None }
    }

    fn bar(target: ProgressDrawTarget, color: bool, budget: Nanos) -> Live {
        let template = if color { "{spent:.cyan} {wide_msg}" } else { "{spent} {wide_msg}" };
        let spent = move |state: &ProgressState, out: &mut dyn std::fmt::Write| {
            // The bar has nowhere to report a failure to, and its writer has none.
            let _ = out.write_str(&spent(state.elapsed(), budget));
        };
        // The template is constant; were it wrong, the library's own would be shown.
        let style =
            ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner());
        let bar = ProgressBar::with_draw_target(None, target)
            .with_style(style.with_key("spent", spent))
            .with_finish(ProgressFinish::AndClear);
        bar.enable_steady_tick(TICK);
        Live::of(View::Bar(bar))
    }

    fn started(&mut self, info: &PhaseInfo) {
        let phase = Phase {
            index: info.index,
            label: label(&info.task),
            latest: (Nanos(0), Nanos(0), Counts::default()),
            measured: Counts::default(),
        };
        self.message(&phase.label);
        self.phase = Some(phase);
    }

    fn interval(&mut self, interval: &Interval) {
        let Some(phase) = self.phase.as_mut().filter(|phase| phase.index == interval.phase) else { return };
        if interval.stage == Stage::Measured {
            phase.measured.add(&interval.ops);
        }
        let (start, length, counts) = &mut phase.latest;
        if interval.stage == Stage::Drain || interval.length.0 == 0 || interval.start < *start {
            return;
        }
        // A worker's late share comes as a further interval with the same start.
        if interval.start > *start || *length == Nanos(0) {
            (*start, *length, *counts) = (interval.start, interval.length, Counts::default());
        }
        *length = (*length).max(interval.length);
        counts.add(&interval.ops);
        if let View::Bar(bar) = &self.view {
            bar.set_message(format!("{}: {}", phase.label, counts.told(*length, true)));
        }
    }

    fn ended(&mut self, end: &PhaseEnd) {
        let Some(phase) = self.phase.take_if(|phase| phase.index == end.phase) else { return };
        let View::Lines(out) = &mut self.view else { return };
        let mut line = format!("{}: {}", phase.label, phase.measured.told(end.measured, false));
        match &end.ending {
            Ending::Completed => {}
            Ending::Interrupted => line.push_str(", interrupted"),
            Ending::Failed(error) => {
                // Writing to a String cannot fail.
                let _ = write!(line, ", failed: {}", escaped(error));
            }
        }
        // A consumer of events must not fail: a closed pipe costs the lines and nothing else.
        let _ = writeln!(out, "{line}").and_then(|()| out.flush());
    }
}

impl Sink for Live {
    fn event(&mut self, event: &Event) {
        match event {
            Event::PhaseStarted(info) => self.started(info),
            Event::Interval(interval) => self.interval(interval),
            Event::PhaseEnded(end) => self.ended(end),
            Event::RunEnded(_) => self.finish(),
            Event::RunStarted(_)
            | Event::Calibrated(_)
            | Event::Worker(_)
            | Event::Warning(_)
            | Event::Verdict(_) => {}
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.finish();
    }
}

impl std::fmt::Debug for Live {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Live").field("phase", &self.phase.as_ref().map(|phase| &phase.label)).finish()
    }
}

impl Counts {
    fn add(&mut self, ops: &[OpTotals]) {
        for op in ops {
            let flow = &mut self.0[op.kind.index()];
            flow.operations += op.operations;
            flow.bytes += op.bytes;
            flow.errors += op.errors;
            flow.response_sum = flow.response_sum.saturating_add(op.response_sum.0);
        }
    }

    /// What the phase is about: its commits where each write is synced, else its reads and writes.
    fn main(&self) -> Flow {
        let [read, write, sync, commit] = self.0;
        let blocks = Flow {
            operations: read.operations + write.operations,
            bytes: read.bytes + write.bytes,
            errors: 0,
            response_sum: read.response_sum.saturating_add(write.response_sum),
        };
        let is_commit = sync.operations > 0 && commit.operations > 0;
        let main = if is_commit || blocks.operations == 0 { commit } else { blocks };
        Flow { errors: self.0.iter().map(|flow| flow.errors).sum(), ..main }
    }

    /// In words, over a length of time.
    fn told(&self, length: Nanos, with_bytes: bool) -> String {
        let flow = self.main();
        let seconds = length.as_secs_f64();
        let mut parts = Vec::new();
        if flow.operations == 0 || seconds <= 0.0 {
            parts.push("nothing completed".to_owned());
        } else {
            parts.push(format!("{} IOPS", Iops(flow.operations as f64 / seconds)));
            if with_bytes && flow.bytes > 0 {
                parts.push(format!("{} MiB/s", Iops(flow.bytes as f64 / seconds / 1024.0 / 1024.0)));
            }
            parts.push(format!("mean {}", Nanos(flow.response_sum / flow.operations)));
        }
        if flow.errors > 0 {
            parts.push(errors(flow.errors));
        }
        parts.join(", ")
    }
}

/// The phase's name with its load.
fn label(task: &Task) -> String {
    let name = escaped(task.name());
    match task {
        Task::File(FileTask { arrival, .. }) if let Some(rate) = arrival.rate() => {
            format!("{name}, {rate} IOPS asked")
        }
        _ => format!("{name}, {} {}", task.concurrency(), load_word(task.layer(), task.concurrency())),
    }
}

/// The bar and the clock: `[=====>              ] 25 s of 90 s`.
fn spent(elapsed: Duration, budget: Nanos) -> String {
    let share = (elapsed.as_secs_f64() / budget.as_secs_f64().max(1e-9)).min(1.0);
    let filled = (share * BAR as f64) as usize;
    let head = if filled < BAR { ">" } else { "" };
    let bar = format!("{}{head}", "=".repeat(filled));
    format!("[{bar:<BAR$}] {} s of {:.0} s", elapsed.as_secs(), budget.as_secs_f64())
}

#[cfg(test)]
mod tests;
