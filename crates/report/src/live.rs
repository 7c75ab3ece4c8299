//! Progress while a run is in progress: a bar on a terminal, a line per phase elsewhere.

use std::fmt::Write as _;
use std::io::Write;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressState, ProgressStyle};
use iolite_model::{
    Ending, Event, Interval, Iops, Layer, Nanos, OpKind, OpTotals, PerKind, PhaseEnd, PhaseInfo, Sink, Stage,
    Task, View, Warning,
};

use crate::knees::load_word;
use crate::styler::{count, errors, escaped, plain_stderr};

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
    /// The whole terminal: see [`crate::Screen`]; a bar where there is none.
    Screen {
        /// In colour.
        color: bool,
    },
    /// A line on standard error at the end of each phase, without control characters.
    Plain {
        /// In UTF-8, else in ASCII.
        unicode: bool,
    },
    /// Nothing.
    Quiet,
}

/// The live view: a consumer of a run's events. Dropped at any time, it leaves the terminal clean.
pub struct Live {
    view: Shown,
    /// The phases in progress, in the order they started.
    phases: Vec<Phase>,
}

/// Where progress is shown.
enum Shown {
    Bar(ProgressBar),
    Lines(Box<dyn Write + Send>),
    Quiet,
}

/// A phase in progress.
struct Phase {
    index: u32,
    name: String,
    /// The name with the load.
    label: String,
    unit: &'static str,
    /// Start, length and counts of the latest interval.
    latest: (Nanos, Nanos, Counts),
    /// Counts of the measured part.
    measured: Counts,
}

/// Counts by kind of operation.
#[derive(Clone, Default)]
struct Counts(PerKind<Flow>);

#[derive(Clone, Copy, Default)]
struct Flow {
    operations: u64,
    bytes: u64,
    errors: u64,
    response_sum: u64,
}

impl Live {
    /// A live view; `budget` is the time that the whole run may take, 0 where nobody knows.
    pub fn new(kind: LiveKind, budget: Nanos) -> Live {
        match kind {
            LiveKind::Terminal { color } | LiveKind::Screen { color } => {
                Live::bar(ProgressDrawTarget::stderr(), color, budget)
            }
            LiveKind::Plain { unicode } => Live::lines(plain_stderr(unicode)),
            LiveKind::Quiet => Live::of(Shown::Quiet),
        }
    }

    /// The view of [`LiveKind::Plain`], writing elsewhere than to standard error.
    pub fn lines(out: Box<dyn Write + Send>) -> Live {
        Live::of(Shown::Lines(out))
    }

    fn of(view: Shown) -> Live {
        Live { view, phases: Vec::new() }
    }

    fn bar(target: ProgressDrawTarget, color: bool, budget: Nanos) -> Live {
        let spent = move |state: &ProgressState| spent(state.elapsed(), budget);
        Live::of(Shown::Bar(bar(target, color, spent)))
    }

    fn started(&mut self, info: &PhaseInfo) {
        self.phases.retain(|phase| phase.index != info.index);
        self.phases.push(Phase {
            index: info.index,
            name: escaped(info.task.name()),
            label: label(&info.task),
            unit: if info.task.layer() == Layer::Metadata { "per second" } else { "IOPS" },
            latest: (Nanos(0), Nanos(0), Counts::default()),
            measured: Counts::default(),
        });
        self.draw();
    }

    fn interval(&mut self, interval: &Interval) {
        let Some(phase) = self.phases.iter_mut().find(|phase| phase.index == interval.phase) else { return };
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
        self.draw();
    }

    /// Shows the latest interval of the phase in progress; of several, each one's rate.
    fn draw(&self) {
        let Shown::Bar(bar) = &self.view else { return };
        let text = match self.phases.as_slice() {
            [] => return,
            [phase] => phase.rendered(true),
            phases => phases.iter().map(|phase| phase.rendered(false)).collect::<Vec<_>>().join("; "),
        };
        bar.set_message(text);
    }

    /// Shows a warning at once. The others, which are about figures, are shown with these.
    fn warn(&mut self, warning: &Warning) {
        let line = format!("warning: {}", escaped(warning));
        match &mut self.view {
            Shown::Bar(bar) => bar.println(line),
            // A consumer of events must not fail: a closed pipe costs the lines and nothing else.
            Shown::Lines(out) => drop(writeln!(out, "{line}").and_then(|()| out.flush())),
            Shown::Quiet => {}
        }
    }

    fn ended(&mut self, end: &PhaseEnd) {
        let Some(place) = self.phases.iter().position(|phase| phase.index == end.phase) else { return };
        let phase = self.phases.remove(place);
        self.draw();
        let Shown::Lines(out) = &mut self.view else { return };
        let mut line =
            format!("{}: {}", phase.label, phase.measured.rendered(end.measured, phase.unit, false));
        if end.rate.is_some_and(|rate| !rate.kept) {
            line.push_str(", the rate was not reached");
        }
        if let Some(verified) = end.verified.as_ref().filter(|verified| verified.wrong > 0) {
            line += &format!(", {} wrong when verified", count(verified.wrong));
        }
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

impl Phase {
    /// The latest interval; beside others, only its rate.
    fn rendered(&self, alone: bool) -> String {
        let (_, length, counts) = &self.latest;
        match (alone, *length) {
            (true, Nanos(0)) => self.label.clone(),
            (false, Nanos(0)) => self.name.clone(),
            (true, length) => format!("{}: {}", self.label, counts.rendered(length, self.unit, true)),
            (false, length) => format!("{}: {}", self.name, counts.rate(length, self.unit)),
        }
    }
}

impl View for Live {
    /// On the bar only, for example `creating the database 37 %`.
    fn message(&mut self, text: &str) {
        if let Shown::Bar(bar) = &self.view {
            bar.set_message(escaped(text));
        }
    }

    /// Removes the bar; later events bring nothing back.
    fn finish(&mut self) {
        if let Shown::Bar(bar) = std::mem::replace(&mut self.view, Shown::Quiet) {
            bar.finish_and_clear();
        }
    }
}

impl Sink for Live {
    fn event(&mut self, event: &Event) {
        match event {
            Event::PhaseStarted(info) => self.started(info),
            Event::Interval(interval) => self.interval(interval),
            Event::PhaseEnded(end) => self.ended(end),
            Event::Warning(warning @ Warning::UsersUnseen { .. }) => self.warn(warning),
            Event::RunEnded(_) => self.finish(),
            Event::RunStarted(_)
            | Event::Calibrated(_)
            | Event::PhaseReady(_)
            | Event::PhaseReleased(_)
            | Event::Database(_)
            | Event::DatabaseUse(_)
            | Event::Operations(_)
            | Event::Worker(_)
            | Event::Reading(_)
            | Event::Warning(_)
            | Event::Verdict(_)
            | Event::Concluded(_) => {}
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
        let phases: Vec<_> = self.phases.iter().map(|phase| &phase.label).collect();
        f.debug_struct("Live").field("phases", &phases).finish()
    }
}

impl Counts {
    fn add(&mut self, ops: &[OpTotals]) {
        for op in ops {
            let flow = self.0.entry(op.kind);
            flow.operations += op.operations;
            flow.bytes += op.bytes;
            flow.errors += op.errors;
            flow.response_sum = flow.response_sum.saturating_add(op.response_sum.0);
        }
    }

    /// What the phase is about: its commits where each write is synced, else all that is neither commit nor sync.
    fn main(&self) -> Flow {
        let of = |kind: OpKind| self.0.get(kind).copied().unwrap_or_default();
        let (sync, commit) = (of(OpKind::Sync), of(OpKind::Commit));
        let mut all = Flow::default();
        for kind in OpKind::all().filter(|kind| !matches!(*kind, OpKind::Sync | OpKind::Commit)) {
            all.operations += of(kind).operations;
            all.bytes += of(kind).bytes;
            all.response_sum = all.response_sum.saturating_add(of(kind).response_sum);
        }
        let is_commit = sync.operations > 0 && commit.operations > 0;
        let main = if is_commit || all.operations == 0 { commit } else { all };
        Flow { errors: self.0.iter().map(|(_, flow)| flow.errors).sum(), ..main }
    }

    /// In words, over a length of time.
    fn rendered(&self, length: Nanos, unit: &str, with_bytes: bool) -> String {
        let flow = self.main();
        let seconds = length.as_secs_f64();
        let mut parts = vec![self.rate(length, unit)];
        if flow.operations > 0 && seconds > 0.0 {
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

    /// Operations a second over a length of time.
    fn rate(&self, length: Nanos, unit: &str) -> String {
        let (operations, seconds) = (self.main().operations, length.as_secs_f64());
        if operations == 0 || seconds <= 0.0 {
            return "nothing completed".to_owned();
        }
        format!("{} {unit}", Iops(operations as f64 / seconds))
    }
}

/// A bar that shows what `spent` says and then its message, as far as there is room; it leaves nothing behind.
pub(crate) fn bar(
    target: ProgressDrawTarget,
    color: bool,
    spent: impl Fn(&ProgressState) -> String + Clone + Send + Sync + 'static,
) -> ProgressBar {
    let template = if color { "{spent:.cyan} {wide_msg}" } else { "{spent} {wide_msg}" };
    let spent = move |state: &ProgressState, out: &mut dyn std::fmt::Write| {
        // The bar has nowhere to report a failure to, and its writer has none.
        let _ = out.write_str(&spent(state));
    };
    // The template is constant; were it wrong, the library's own would be shown.
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner());
    let bar = ProgressBar::with_draw_target(None, target)
        .with_style(style.with_key("spent", spent))
        .with_finish(ProgressFinish::AndClear);
    bar.enable_steady_tick(TICK);
    bar
}

/// The phase's name with its load.
pub(crate) fn label(task: &Task) -> String {
    let name = escaped(task.name());
    match task {
        Task::File(task) if let Some(rate) = task.asked_rate() => format!("{name}, {rate} IOPS asked"),
        _ => format!("{name}, {} {}", task.concurrency(), load_word(task.layer(), task.concurrency())),
    }
}

/// The bar and the clock: `[=====>              ] 25 s of 90 s`; without a budget, the clock alone.
fn spent(elapsed: Duration, budget: Nanos) -> String {
    if budget.0 == 0 {
        return format!("{} s", elapsed.as_secs());
    }
    let share = elapsed.as_secs_f64() / budget.as_secs_f64().max(1e-9);
    format!("{} {} s of {:.0} s", filled(share), elapsed.as_secs(), budget.as_secs_f64())
}

/// A bar of which a share is filled: `[=====>              ]`.
pub(crate) fn filled(share: f64) -> String {
    let filled = (share.min(1.0) * BAR as f64) as usize;
    let head = if filled < BAR { ">" } else { "" };
    let bar = format!("{}{head}", "=".repeat(filled));
    format!("[{bar:<BAR$}]")
}

#[cfg(test)]
pub(crate) mod tests;
