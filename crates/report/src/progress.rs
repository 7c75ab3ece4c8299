//! Progress of something long that is not a measurement: making a database, counting its subscripts.

use std::io::Write;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState};
use iolite_model::{Bandwidth, Bytes, Iops, Nanos};

use crate::live::{LiveKind, bar, filled};
use crate::styler::{count, escaped, plain_stderr};

/// Where nobody watches, a line is written each time another such part is done, in percent.
const STEP: u64 = 10;

/// The text beside the bar is rendered at most so often: news may come many thousand times a second.
const REDRAW: Duration = Duration::from_millis(100);

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgressUnit {
    /// Bytes.
    Bytes,
    /// Subscripts of globals.
    Subscripts,
    /// Rows of tables.
    Rows,
}

/// The view of something long, on standard error: a bar on a terminal, a line at each tenth elsewhere. Dropped at any
/// time, it leaves the terminal clean.
pub struct Progress {
    view: View,
    what: String,
    unit: ProgressUnit,
    started: Instant,
    /// The latest news: so much of so much.
    latest: (u64, u64),
}

enum View {
    Bar {
        bar: ProgressBar,
        /// When its text was made.
        drawn: Option<Instant>,
    },
    Lines {
        out: Box<dyn Write + Send>,
        /// The last percentage that was printed.
        rendered: u64,
    },
    Quiet,
}

impl Progress {
    /// A view of `what`, for example `making the blocks`.
    pub fn new(kind: LiveKind, what: &str, unit: ProgressUnit) -> Progress {
        match kind {
            LiveKind::Terminal { color } | LiveKind::Screen { color } => {
                Progress::bar(ProgressDrawTarget::stderr(), color, what, unit)
            }
            LiveKind::Plain { unicode } => Progress::lines(plain_stderr(unicode), what, unit),
            LiveKind::Quiet => Progress::of(View::Quiet, what, unit),
        }
    }

    /// So much of so much is done. May be called as often as one likes.
    pub fn update(&mut self, done: u64, total: u64) {
        self.latest = (done, total);
        match &mut self.view {
            View::Bar { bar, drawn } => {
                bar.set_length(total);
                bar.set_position(done);
                if drawn.is_none_or(|drawn| drawn.elapsed() >= REDRAW) {
                    *drawn = Some(Instant::now());
                    let rendered = rendered(self.unit, (done, total), bar.per_sec(), bar.eta());
                    bar.set_message(format!("{}: {rendered}", self.what));
                }
            }
            View::Lines { out, rendered } => {
                let part = percent(done, total) / STEP * STEP;
                // The last one is printed when it is finished.
                if part > *rendered && part < 100 {
                    *rendered = part;
                    let amounts = amounts(self.unit, done, total);
                    // A view must not fail: a closed pipe costs the lines and nothing else.
                    let _ = writeln!(out, "{}: {part} %, {amounts}", self.what).and_then(|()| out.flush());
                }
            }
            View::Quiet => {}
        }
    }

    /// All is done: the bar goes away, the last line says how long it took.
    pub fn finish(mut self) {
        let (done, took) = (self.latest.0, self.started.elapsed());
        let speed = speed(self.unit, done as f64 / took.as_secs_f64());
        let speed = speed.map_or(String::new(), |speed| format!(", {speed}"));
        self.close(&format!("done, {} in {}{speed}", amount(self.unit, done), Nanos::from(took)));
    }

    /// It came to no end: the bar goes away, the last line says how far it came.
    pub fn abandon(mut self) {
        let (done, total) = self.latest;
        self.close(&format!("ended at {} %, {}", percent(done, total), amounts(self.unit, done, total)));
    }

    fn of(view: View, what: &str, unit: ProgressUnit) -> Progress {
        Progress { view, what: escaped(what), unit, started: Instant::now(), latest: (0, 0) }
    }

    fn lines(out: Box<dyn Write + Send>, what: &str, unit: ProgressUnit) -> Progress {
        Progress::of(View::Lines { out, rendered: 0 }, what, unit)
    }

    fn bar(target: ProgressDrawTarget, color: bool, what: &str, unit: ProgressUnit) -> Progress {
        let share =
            |state: &ProgressState| filled(state.pos() as f64 / state.len().unwrap_or(0).max(1) as f64);
        Progress::of(View::Bar { bar: bar(target, color, share), drawn: None }, what, unit)
    }

    /// Takes the bar away, or writes the last line. What comes later shows nothing.
    fn close(&mut self, last: &str) {
        match std::mem::replace(&mut self.view, View::Quiet) {
            View::Bar { bar, .. } => bar.finish_and_clear(),
            View::Lines { mut out, .. } => {
                let _ = writeln!(out, "{}: {last}", self.what).and_then(|()| out.flush());
            }
            View::Quiet => {}
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let View::Bar { bar, .. } = &self.view {
            bar.finish_and_clear();
        }
    }
}

impl std::fmt::Debug for Progress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Progress").field("what", &self.what).field("latest", &self.latest).finish()
    }
}

/// Beside the bar: so much of so much, how fast, and how long still.
fn rendered(unit: ProgressUnit, (done, total): (u64, u64), rate: f64, left: Duration) -> String {
    let mut parts = vec![amounts(unit, done, total)];
    if done > 0
        && done < total
        && let Some(speed) = speed(unit, rate)
    {
        parts.push(speed);
        parts.push(format!("{} left", rounded(left)));
    }
    parts.join(", ")
}

fn percent(done: u64, total: u64) -> u64 {
    let percent = u128::from(done) * 100 / u128::from(total.max(1));
    u64::try_from(percent).unwrap_or(100).min(100)
}

fn amounts(unit: ProgressUnit, done: u64, total: u64) -> String {
    match total {
        0 => amount(unit, done),
        total => match unit {
            ProgressUnit::Bytes => format!("{} of {}", Bytes(done), Bytes(total)),
            ProgressUnit::Subscripts | ProgressUnit::Rows => {
                format!("{} of {}", count(done), amount(unit, total))
            }
        },
    }
}

fn amount(unit: ProgressUnit, value: u64) -> String {
    match unit {
        ProgressUnit::Bytes => Bytes(value).to_string(),
        ProgressUnit::Subscripts => format!("{} subscripts", count(value)),
        ProgressUnit::Rows => format!("{} rows", count(value)),
    }
}

/// `None` where there is none.
fn speed(unit: ProgressUnit, rate: f64) -> Option<String> {
    (rate > 0.0 && rate.is_finite()).then(|| match unit {
        ProgressUnit::Bytes => Bandwidth(rate).to_string(),
        ProgressUnit::Subscripts | ProgressUnit::Rows => format!("{} per second", Iops(rate)),
    })
}

/// A time to wait, no more exactly than anybody knows.
fn rounded(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7200 => format!("{} min", seconds.div_ceil(60)),
        seconds => format!("{} h", count(seconds.div_ceil(3600))),
    }
}

#[cfg(test)]
mod tests;
