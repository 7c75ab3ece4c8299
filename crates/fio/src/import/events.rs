//! Events of a run out of what fio has written.

use std::hash::{DefaultHasher, Hash, Hasher};

use iolite_model::{
    Bytes, Cache, Concluded, Ending, Event, FileTask, Interval, MODEL_VERSION, Mix, Nanos, OpKind, OpTotals,
    Outstanding, PhaseEnd, PhaseInfo, RunId, RunInfo, Stage, Storage, Task,
};
use iolite_results::RunRequest;
use iolite_stats::Histogram;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// What was counted of a kind of operation in an interval.
#[derive(Debug, Clone, Default)]
pub(super) struct Counted {
    pub(super) operations: u64,
    pub(super) bytes: u64,
    pub(super) errors: u64,
    pub(super) sum: f64,
    pub(super) longest: u64,
    pub(super) response: Histogram,
}

/// Start and length of an interval, and what was counted in it of each kind.
pub(super) type Span = (u64, u64, Vec<(OpKind, Counted)>);

/// A phase as far as fio's files describe it; times in nanoseconds.
#[derive(Debug, Clone)]
pub(super) struct Phase {
    pub(super) task: FileTask,
    /// Since the run's start.
    pub(super) started: u64,
    /// Start and length of each interval since the phase's start, and what was counted.
    pub(super) intervals: Vec<Span>,
    pub(super) failed: Option<String>,
}

/// Kinds of operation by fio's numbers of directions.
pub(super) const DIRECTIONS: [OpKind; 3] = [OpKind::Read, OpKind::Write, OpKind::Trim];

impl Counted {
    fn totals(&self, kind: OpKind) -> OpTotals {
        OpTotals {
            kind,
            operations: self.operations,
            bytes: self.bytes,
            errors: self.errors,
            response_sum: Nanos(self.sum.max(0.0) as u64),
            delay_sum: Nanos(0),
            response_max: Nanos(self.longest),
            response: self.response.encode(),
            service: Histogram::new().encode(),
        }
    }
}

/// The events of a run that started then (nanoseconds since 1970); its id follows from `text`, so that the same files make the
/// same run again.
pub(super) fn run(
    source: &str,
    text: &[&str],
    version: &str,
    started: u64,
    host: &str,
    phases: Vec<Phase>,
) -> Vec<Event> {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    let suffix = hasher.finish() as u32;
    let time = Timestamp::from_nanosecond(i128::from(started)).unwrap_or(Timestamp::UNIX_EPOCH);
    let id = RunId(format!("{}-{suffix:08x}", time.to_zoned(TimeZone::UTC).strftime("%Y%m%dT%H%M%S")));
    let host = iolite_model::Host { name: host.to_owned(), ..Default::default() };
    let info = RunInfo {
        id,
        version: version.to_owned(),
        model_version: MODEL_VERSION,
        command: vec!["iolite".into(), "results".into(), "import".into(), source.to_owned()],
        started_unix: Nanos(started),
        process: std::process::id(),
        host,
        storage: Storage::default(),
    };
    let asked = Concluded::of(&RunRequest::new("run", format!("{version}: {source}")));
    let mut events = vec![Event::RunStarted(Box::new(info)), Event::Concluded(Box::new(asked))];
    for (index, phase) in (0u32..).zip(phases) {
        events.extend(phase_events(index, phase));
    }
    events.push(Event::RunEnded(Ending::Completed));
    events
}

fn phase_events(index: u32, phase: Phase) -> Vec<Event> {
    let measured =
        phase.intervals.iter().map(|(start, length, _)| start.saturating_add(*length)).max().unwrap_or(0);
    let count = |wanted: OpKind| -> u64 {
        let counted = phase.intervals.iter().flat_map(|(_, _, counted)| counted);
        counted
            .filter(|(kind, _)| *kind == wanted)
            .fold(0, |sum, (_, counted)| sum.saturating_add(counted.bytes))
    };
    let cache = Cache {
        requested_read: Bytes(count(OpKind::Read)),
        requested_written: Bytes(count(OpKind::Write)),
        ..Cache::default()
    };
    let started = Nanos(phase.started);
    let mut events = vec![Event::PhaseStarted(PhaseInfo { index, task: Task::File(phase.task), started })];
    events.extend(phase.intervals.iter().map(|(start, length, counted)| {
        let ops = counted.iter().map(|(kind, counted)| counted.totals(*kind)).collect();
        let (start, length) = (Nanos(*start), Nanos((*length).max(1)));
        Event::Interval(Interval { phase: index, start, length, stage: Stage::Measured, ops })
    }));
    events.push(Event::PhaseEnded(PhaseEnd {
        phase: index,
        ending: phase.failed.map_or(Ending::Completed, Ending::Failed),
        measured: Nanos(measured),
        outstanding: Outstanding::default(),
        cache,
        errors: Vec::new(),
        stuck: Vec::new(),
        rate: None,
        verified: None,
    }));
    events
}

/// What operations of these kinds are mixed of, as far as it was counted.
pub(super) fn mix(reads: u64, writes: u64, trims: u64) -> Mix {
    match (reads, writes, trims) {
        (0, 0, 1..) => Mix::Trim,
        (0, _, 0) if writes > 0 => Mix::Write,
        (_, 0, _) => Mix::Read,
        (0, _, _) => Mix::TrimPercent((100.0 * trims as f64 / (trims as f64 + writes as f64)).round() as u8),
        _ => Mix::ReadPercent((100.0 * reads as f64 / (reads as f64 + writes as f64)).round() as u8),
    }
}
