//! fio's log files, written while the jobs run.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::language::thread::Thread;
use crate::language::thread::{Log, LogKind};
use flate2::Compression;
use flate2::write::GzEncoder;
use iolite_model::{
    Bytes, Event, Interval, LoggedOperation, Nanos, OpKind, OperationLog, Ramp, Sink, Stage, Task,
};

use super::iolog::Iolog;
use super::windows::{Entry, WindowValue, Windows};

/// A log that could not be written.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot write the log `{}`: {source}. The directory may be missing, full or not writable: check it with `ls -ld` and `df`, \
     or specify another directory", .path.display()
)]
pub struct LogError {
    /// The log.
    pub path: PathBuf,
    /// The reason.
    pub source: io::Error,
}

/// Writes the logs of threads as their operations come back. It holds no more than the open windows.
///
/// A log that cannot be written is left at that, the measurement is not disturbed; [`finish`](LogWriter::finish) says so.
#[derive(Debug)]
pub struct LogWriter {
    /// The logs of each phase, by its number.
    phases: HashMap<u32, Phase>,
    files: Vec<LogFile>,
    /// By phase: the number of its thread, where that is another one.
    numbers: HashMap<u32, u32>,
}

/// A thread's logs, while it runs.
#[derive(Debug)]
struct Phase {
    logs: Vec<OpenLog>,
    synchronous: bool,
    workers: u32,
    /// Of operations on names: the bytes that each counts as.
    name: Option<Bytes>,
    /// Time before what is measured, in nanoseconds since the phase's start; where an amount ends the ramp, as far as it is known.
    ramp: u64,
    /// An amount ends the ramp, and has not done so yet.
    ramping: bool,
    /// The phase's start since 1970, in nanoseconds.
    started_unix: u64,
}

#[derive(Debug)]
struct OpenLog {
    log: Log,
    /// Position among the files.
    file: usize,
    windows: Option<Windows>,
    iolog: Option<Iolog>,
}

impl LogWriter {
    /// A writer for these threads, each the phase of that number. The files are created at once, empty.
    pub fn new<'a>(threads: impl IntoIterator<Item = (u32, &'a Thread)>) -> LogWriter {
        let mut writer = LogWriter { phases: HashMap::new(), files: Vec::new(), numbers: HashMap::new() };
        for (number, thread) in threads {
            let task = thread.task.task();
            let workers = task.workers();
            let logs = thread.logs.iter().map(|log| writer.open(log, thread, workers)).collect();
            let phase = Phase {
                logs,
                synchronous: thread.reporting.synchronous,
                workers,
                name: matches!(task, Task::Metadata(_)).then_some(thread.reporting.bytes_per_name),
                ramp: task.ramp().known_time().0,
                ramping: matches!(task.ramp(), Ramp::Amount(_)),
                started_unix: 0,
            };
            writer.phases.insert(number, phase);
        }
        writer
    }

    fn open(&mut self, log: &Log, thread: &Thread, workers: u32) -> OpenLog {
        let known = self.files.iter().position(|file| file.path == log.path);
        let file = known.unwrap_or_else(|| {
            self.files.push(LogFile::make(log));
            self.files.len() - 1
        });
        let windows = log.window.filter(|window| window.0 > 0);
        let windows = windows.map(|window| Windows::new(log, window.0, workers));
        let iolog = (log.kind == LogKind::Trace).then(|| Iolog::of(thread));
        OpenLog { log: log.clone(), file, windows, iolog }
    }

    /// The thread of this number runs as phase `phase`: by default as that of its own number.
    pub fn is_phase(&mut self, number: u32, phase: u32) {
        self.numbers.insert(phase, number);
    }

    fn number(&self, phase: u32) -> u32 {
        self.numbers.get(&phase).copied().unwrap_or(phase)
    }

    /// Writes what is left and closes the files.
    ///
    /// # Errors
    /// The logs that could not be written, or not in full.
    pub fn finish(mut self) -> Result<(), Vec<LogError>> {
        let mut numbers: Vec<u32> = self.phases.keys().copied().collect();
        numbers.sort_unstable();
        for number in numbers {
            self.close(number, Nanos(0));
        }
        let errors: Vec<LogError> = self.files.into_iter().filter_map(LogFile::finish).collect();
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    /// Writes the windows of a thread that are still open, once it was measured for so long.
    fn close(&mut self, number: u32, measured: Nanos) {
        let Some(phase) = self.phases.get_mut(&number) else { return };
        for open in &mut phase.logs {
            if let Some(iolog) = &mut open.iolog {
                let file = &mut self.files[open.file];
                iolog.close(phase.started_unix, &mut file.began, &mut |line| file.out.write(line));
            }
            if let Some(windows) = &mut open.windows {
                let recorded = windows.close(measured.0);
                write_windows(
                    &mut self.files[open.file],
                    &open.log,
                    &recorded,
                    phase.started_unix + phase.ramp,
                );
            }
        }
    }

    fn operations(&mut self, recorded: &OperationLog) {
        let number = self.number(recorded.phase);
        let Some(phase) = self.phases.get_mut(&number) else { return };
        phase.note_ramp(&recorded.operations);
        let Phase { logs, synchronous, workers, name, ramp, started_unix, .. } = phase;
        let several = *workers > 1;
        for open in logs {
            let file = &mut self.files[open.file];
            if let Some(iolog) = &mut open.iolog {
                iolog.add(&recorded.operations, *started_unix, &mut file.began, &mut |line| {
                    file.out.write(line)
                });
                continue;
            }
            for operation in &recorded.operations {
                if name.is_some() && !logs_names(open) {
                    continue;
                }
                let operation = &of_name(operation, open.log.kind, *name);
                let Some(entry) = Entry::of(operation, &open.log, *synchronous, *ramp) else { continue };
                match &mut open.windows {
                    None if open.log.kind != LogKind::Histogram => {
                        file.write(&line(&open.log, &entry, *started_unix + *ramp));
                    }
                    // Without an interval a histogram log stays empty, as fio's does.
                    None => {}
                    Some(windows) => windows.add(&entry),
                }
            }
            if let Some(windows) = &mut open.windows {
                let last = recorded.operations.last().map_or(0, |operation| operation.completed);
                windows.reached(if several { recorded.worker } else { 0 }, last.saturating_sub(*ramp));
                let recorded = windows.take();
                write_windows(file, &open.log, &recorded, *started_unix + *ramp);
            }
        }
    }
}

/// Whether fio logs operations on names there: their completion latency, and bandwidth and rate as means over time.
fn logs_names(open: &OpenLog) -> bool {
    match open.log.kind {
        LogKind::Completion | LogKind::Histogram => true,
        LogKind::Bandwidth | LogKind::Iops => open.windows.is_some(),
        LogKind::Latency | LogKind::Submission | LogKind::Trace => false,
    }
}

/// An operation on a name moves nothing; for the bandwidth it counts as these bytes.
fn of_name(operation: &LoggedOperation, kind: LogKind, name: Option<Bytes>) -> LoggedOperation {
    let length = match (name, kind) {
        (Some(bytes), LogKind::Bandwidth) => u32::try_from(bytes.0).unwrap_or(u32::MAX),
        (Some(_), _) => 0,
        (None, _) => operation.length,
    };
    LoggedOperation { length, ..*operation }
}

impl Phase {
    /// The operation that completes the amount of a ramp is the last one that does not count.
    fn note_ramp(&mut self, operations: &[LoggedOperation]) {
        if !self.ramping {
            return;
        }
        for operation in operations {
            if operation.counted {
                self.ramping = false;
                return;
            }
            self.ramp = self.ramp.max(operation.completed.saturating_add(1));
        }
    }
}

impl Sink for LogWriter {
    fn event(&mut self, event: &Event) {
        match event {
            Event::PhaseReleased(release) => {
                let number = self.number(release.phase);
                if let Some(phase) = self.phases.get_mut(&number) {
                    phase.started_unix = release.at_unix.0;
                }
            }
            Event::Operations(recorded) => self.operations(recorded),
            Event::PhaseEnded(end) => self.close(self.number(end.phase), end.measured),
            _ => {}
        }
    }
}

/// The time column in milliseconds.
fn time(log: &Log, at: u64, unix: u64) -> u64 {
    let at = log.epoch.map_or(at, |clock| at.saturating_add(clock.at(Nanos(unix))));
    at / 1_000_000
}

fn line(log: &Log, entry: &Entry, unix: u64) -> String {
    let Entry { at, value, direction, length, offset, priority, issued } = *entry;
    let first = [time(log, at, unix), value, direction as u64, length.into()];
    columns(log, first, None, (offset, priority, issued))
}

/// `ms, value[, largest], direction, bs[, offset], prio, issue_ns`.
///
/// Without `log_prio` it is reported only whether the priority is of the highest class.
fn columns(
    log: &Log,
    first: [u64; 4],
    largest: Option<u64>,
    (offset, priority, issued): (u64, u16, u64),
) -> String {
    let [time, value, direction, length] = first;
    // Writing to a string cannot fail.
    let mut line = format!("{time}, {value}, ");
    if let Some(largest) = largest {
        let _ = write!(line, "{largest}, ");
    }
    let _ = write!(line, "{direction}, {length}");
    if log.offset {
        let _ = write!(line, ", {offset}");
    }
    let _ = match log.priority {
        true => write!(line, ", {priority:#06x}"),
        false => write!(line, ", {}", u8::from(priority >> 13 == 1)),
    };
    // fio 3.42 has the column whether it is asked for or not.
    let _ = write!(line, ", {}", if log.issue_time { issued } else { 0 });
    line + "\n"
}

fn write_windows(file: &mut LogFile, log: &Log, recorded: &[WindowValue], unix: u64) {
    for window in recorded {
        let time = time(log, window.end, unix);
        let direction = window.direction as u64;
        if log.kind == LogKind::Histogram {
            let counts = window.counts.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
            file.write(&format!("{time}, {direction}, {}, {counts}\n", window.length));
            continue;
        }
        file.write(&columns(log, [time, window.value, direction, 0], window.largest, (0, 0, 0)));
    }
}

/// A file that is written until the first error.
#[derive(Debug)]
struct LogFile {
    path: PathBuf,
    out: Writing,
    /// Where it is a trace and has begun: when the first job that writes to it started, in nanoseconds since 1970.
    began: Option<u64>,
}

#[derive(Debug)]
struct Writing(Result<Output, io::Error>);

#[derive(Debug)]
enum Output {
    Plain(BufWriter<File>),
    Compressed(Box<GzEncoder<BufWriter<File>>>),
}

impl LogFile {
    fn make(log: &Log) -> LogFile {
        let mut options = OpenOptions::new();
        options.create(true).write(!log.append).append(log.append).truncate(!log.append);
        LogFile::writing(&log.path, options.open(&log.path), log.compressed)
    }

    fn writing(path: &Path, file: io::Result<File>, compressed: bool) -> LogFile {
        let out = file.map(BufWriter::new).map(|file| {
            if compressed {
                Output::Compressed(Box::new(GzEncoder::new(file, Compression::fast())))
            } else {
                Output::Plain(file)
            }
        });
        LogFile { path: path.to_path_buf(), out: Writing(out), began: None }
    }

    fn write(&mut self, text: &str) {
        self.out.write(text);
    }

    fn finish(self) -> Option<LogError> {
        let finished = self.out.0.and_then(|out| match out {
            Output::Plain(mut file) => file.flush(),
            Output::Compressed(file) => file.finish().and_then(|mut file| file.flush()),
        });
        finished.err().map(|source| LogError { path: self.path, source })
    }
}

impl Writing {
    fn write(&mut self, text: &str) {
        let written = match &mut self.0 {
            Ok(Output::Plain(file)) => file.write_all(text.as_bytes()),
            Ok(Output::Compressed(file)) => file.write_all(text.as_bytes()),
            Err(_) => return,
        };
        if let Err(error) = written {
            self.0 = Err(error);
        }
    }
}

/// Bandwidth of all jobs together (`--bandwidth-log`): a file for reads, one for writes, one for trims.
#[derive(Debug)]
pub struct AggregateLog {
    directory: PathBuf,
    /// Bytes of reads, writes and trims by the number of the window.
    windows: std::collections::BTreeMap<u64, [f64; 3]>,
    /// When each phase was released, in nanoseconds since 1970.
    released: HashMap<u32, u64>,
    /// When the first one was.
    origin: Option<u64>,
}

/// Length of a window of an [`AggregateLog`].
const AGGREGATE: u64 = 500_000_000;

impl AggregateLog {
    /// A log into files `agg-read_bw.log`, `agg-write_bw.log` and `agg-trim_bw.log` in this directory.
    pub fn new(directory: &Path) -> AggregateLog {
        let directory = directory.to_path_buf();
        AggregateLog { directory, windows: Default::default(), released: HashMap::new(), origin: None }
    }

    /// Writes the files.
    ///
    /// # Errors
    /// Those that could not be written.
    pub fn finish(self) -> Result<(), Vec<LogError>> {
        let files = ["read", "write", "trim"].into_iter().enumerate().filter_map(|(direction, name)| {
            let path = self.directory.join(format!("agg-{name}_bw.log"));
            let mut text = String::new();
            for (window, bytes) in self.windows.iter().filter(|(_, bytes)| bytes[direction] > 0.0) {
                let (end, rate) = ((window + 1) * AGGREGATE, bytes[direction] * 1e9 / AGGREGATE as f64);
                let rate = (rate / 1024.0).round() as u64;
                let _ = writeln!(text, "{}, {rate}, {direction}, 0, 0", end / 1_000_000);
            }
            let written = std::fs::write(&path, text);
            written.err().map(|source| LogError { path, source })
        });
        let errors: Vec<LogError> = files.collect();
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    /// Spreads what was done from one instant to another evenly over the windows.
    fn add(&mut self, (from, to): (u64, u64), bytes: [u64; 3]) {
        let length = (to - from) as f64;
        for window in from / AGGREGATE..to.div_ceil(AGGREGATE) {
            let (start, end) = (window * AGGREGATE, (window + 1) * AGGREGATE);
            let share = (end.min(to) - start.max(from)) as f64 / length;
            let sums = self.windows.entry(window).or_default();
            sums.iter_mut().zip(bytes).for_each(|(sum, bytes)| *sum += bytes as f64 * share);
        }
    }

    fn interval(&mut self, interval: &Interval) {
        let released = self.released.get(&interval.phase).zip(self.origin);
        let start = released.map_or(0, |(released, origin)| released.saturating_sub(origin));
        let start = start.saturating_add(interval.start.0);
        let mut bytes = [0; 3];
        for op in &interval.ops {
            match op.kind {
                OpKind::Read => bytes[0] += op.bytes,
                OpKind::Write => bytes[1] += op.bytes,
                OpKind::Trim => bytes[2] += op.bytes,
                _ => {}
            }
        }
        self.add((start, start.saturating_add(interval.length.0)), bytes);
    }
}

impl Sink for AggregateLog {
    fn event(&mut self, event: &Event) {
        match event {
            Event::PhaseReleased(release) => {
                self.released.insert(release.phase, release.at_unix.0);
                // One whose delay is longer may be reported before it.
                let origin = self.origin.unwrap_or(u64::MAX);
                self.origin = Some(origin.min(release.at_unix.0));
            }
            Event::Interval(interval) if interval.stage == Stage::Measured => self.interval(interval),
            _ => {}
        }
    }
}
