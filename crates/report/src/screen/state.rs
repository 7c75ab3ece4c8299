//! What the full-screen view knows of a run: folded from its events.

use std::collections::{BTreeMap, VecDeque};

use iolite_model::{Event, Interval, Nanos, OpKind, PhaseInfo, Ramp, Reading, Stage};
use iolite_stats::Histogram;

use crate::live::label;
use crate::styler::escaped;

/// Columns of the charts over time at most.
const COLUMNS: usize = 240;

/// Length of a column.
const COLUMN: Nanos = Nanos::SECOND;

/// Columns that the figures of the moment are of.
const LATEST: usize = 5;

/// Warnings kept.
const WARNINGS: usize = 100;

/// What is shown above the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Overlay {
    None,
    Keys,
    Quit,
    Warnings,
}

/// Operations of some time.
#[derive(Debug, Clone, Default)]
pub(super) struct Tally {
    pub(super) seconds: f64,
    pub(super) operations: u64,
    pub(super) bytes: u64,
    pub(super) errors: u64,
    pub(super) response: Histogram,
}

impl Tally {
    fn add(&mut self, interval: &Interval) {
        for op in &interval.ops {
            self.errors = self.errors.saturating_add(op.errors);
            // A commit's time holds those of its sync and its writes.
            if op.kind == OpKind::Sync {
                continue;
            }
            self.operations = self.operations.saturating_add(op.operations);
            self.bytes = self.bytes.saturating_add(op.bytes);
            if let Ok(response) = Histogram::decode(&op.response) {
                self.response.merge(&response);
            }
        }
    }

    fn merge(&mut self, other: &Tally) {
        self.seconds += other.seconds;
        self.operations = self.operations.saturating_add(other.operations);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.errors = self.errors.saturating_add(other.errors);
        self.response.merge(&other.response);
    }
}

/// What a device did between its last two readings.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct DeviceLine {
    pub(super) name: String,
    pub(super) reads: f64,
    pub(super) read_bytes: f64,
    pub(super) writes: f64,
    pub(super) written_bytes: f64,
    /// Share of the time.
    pub(super) busy: f64,
    pub(super) in_flight: f64,
}

pub(super) struct State {
    pub(super) budget: Nanos,
    pub(super) color: bool,
    pub(super) run: String,
    pub(super) overlay: Overlay,
    pub(super) columns: VecDeque<Tally>,
    /// Of all that is measured since the last phase began.
    pub(super) phase: Tally,
    pub(super) phases_ended: usize,
    pub(super) devices: BTreeMap<String, DeviceLine>,
    pub(super) warnings: VecDeque<String>,
    pub(super) said: String,
    open: Vec<PhaseInfo>,
    /// The column that is being filled, and when it began.
    column: (Tally, Nanos),
    readings: BTreeMap<String, Reading>,
    phase_began: Nanos,
    /// Start of the first measured interval of the phases that are open.
    measured_from: Option<u64>,
}

impl State {
    pub(super) fn new(budget: Nanos, color: bool) -> State {
        State {
            budget,
            color,
            run: String::new(),
            overlay: Overlay::None,
            columns: VecDeque::new(),
            phase: Tally::default(),
            phases_ended: 0,
            devices: BTreeMap::new(),
            warnings: VecDeque::new(),
            said: String::new(),
            open: Vec::new(),
            column: (Tally::default(), Nanos(0)),
            readings: BTreeMap::new(),
            phase_began: Nanos(0),
            measured_from: None,
        }
    }

    /// What is done between the phases.
    pub(super) fn message(&mut self, text: &str) {
        self.said = escaped(text);
    }

    /// The phases in progress.
    pub(super) fn open(&self) -> Vec<PhaseInfo> {
        self.open.clone()
    }

    /// Names and loads of the phases in progress; what is done meanwhile where there are none.
    pub(super) fn activity(&self) -> String {
        match self.open.as_slice() {
            [] => self.said.clone(),
            phases => phases.iter().map(|info| label(&info.task)).collect::<Vec<_>>().join("; "),
        }
    }

    /// Operations of the last seconds.
    pub(super) fn latest(&self) -> Tally {
        let mut all = Tally::default();
        self.columns.iter().rev().take(LATEST).for_each(|column| all.merge(column));
        all
    }

    pub(super) fn event(&mut self, event: &Event, now: Nanos) {
        match event {
            Event::RunStarted(info) => self.run = escaped(&info.id.0),
            Event::PhaseStarted(info) => {
                if self.open.is_empty() {
                    (self.phase, self.phase_began) = (Tally::default(), now);
                    self.measured_from = None;
                }
                self.open.push(info.clone());
            }
            Event::PhaseEnded(end) => {
                self.open.retain(|info| info.index != end.phase);
                self.phases_ended += 1;
                self.said = "between phases".to_owned();
            }
            Event::Interval(interval) => self.interval(interval),
            Event::Reading(reading) if reading.probe == "device" => self.reading(reading),
            Event::Warning(warning) => {
                self.warnings.push_back(escaped(warning));
                if self.warnings.len() > WARNINGS {
                    self.warnings.pop_front();
                }
            }
            _ => {}
        }
        self.advance(now);
    }

    fn interval(&mut self, interval: &Interval) {
        if interval.stage == Stage::Drain {
            return;
        }
        self.column.0.add(interval);
        if interval.stage == Stage::Measured {
            let end = interval.start.0.saturating_add(interval.length.0) as f64 / 1e9;
            self.phase.add(interval);
            // Of several phases side by side, and of late shares, the longest counts.
            let ramps = self.open.iter().map(|info| match info.task.ramp() {
                Ramp::Time(ramp) => ramp.0,
                // The first measured interval begins where the amount was done.
                Ramp::Amount(_) => *self.measured_from.get_or_insert(interval.start.0),
            });
            let first = ramps.min().unwrap_or(0) as f64 / 1e9;
            self.phase.seconds = self.phase.seconds.max(end - first);
        }
    }

    fn reading(&mut self, reading: &Reading) {
        let Some(earlier) = self.readings.insert(reading.subject.clone(), reading.clone()) else { return };
        let rate = |name| reading.rate(&earlier, name).unwrap_or(0.0);
        let line = DeviceLine {
            name: escaped(&reading.subject),
            reads: rate("reads"),
            read_bytes: rate("read_bytes"),
            writes: rate("writes"),
            written_bytes: rate("written_bytes"),
            busy: rate("busy_seconds").min(1.0),
            in_flight: reading.value("in_flight").unwrap_or(0.0),
        };
        // What never does anything has no line.
        if line.reads + line.writes > 0.0 || self.devices.contains_key(&line.name) {
            self.devices.insert(line.name.clone(), line);
        }
    }

    /// Ends the column where its time is over.
    fn advance(&mut self, now: Nanos) {
        let (column, began) = &mut self.column;
        let length = now.saturating_sub(*began);
        if length < COLUMN {
            return;
        }
        let mut ended = std::mem::take(column);
        ended.seconds = length.as_secs_f64();
        *began = now;
        self.columns.push_back(ended);
        if self.columns.len() > COLUMNS {
            self.columns.pop_front();
        }
    }
}
