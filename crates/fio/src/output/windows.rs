//! The windows of a log: what came back in equal times from the start of what is measured.

use std::collections::BTreeMap;

use iolite_model::{LoggedOperation, OpKind};

use crate::language::thread::{Log, LogKind, LogValue};

use super::bins::{COLUMNS, bucket};

/// An operation as a log reports it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Entry {
    /// When it came back, in nanoseconds since the measured part's start.
    pub(super) at: u64,
    /// What the log is about: nanoseconds, KiB/s or 1.
    pub(super) value: u64,
    /// 0 for reads, 1 for writes, 2 for trims.
    pub(super) direction: usize,
    pub(super) length: u32,
    pub(super) offset: u64,
    /// As the kernel has it.
    pub(super) priority: u16,
    /// In nanoseconds since the measured part's start.
    pub(super) issued: u64,
}

impl Entry {
    /// `None` for what is not logged: what failed, syncs, and what is not in the totals either.
    pub(super) fn of(operation: &LoggedOperation, log: &Log, synchronous: bool, ramp: u64) -> Option<Entry> {
        let direction = match operation.kind {
            OpKind::Sync | OpKind::Commit => return None,
            OpKind::Write => 1,
            OpKind::Trim => 2,
            _ => 0,
        };
        if operation.error.is_some() || !operation.counted {
            return None;
        }
        let LoggedOperation { issued, submitted, completed, length, .. } = *operation;
        let total = completed.saturating_sub(issued);
        // What a submission does itself is all completion.
        let split = !synchronous && submitted < completed;
        let completion = if split { completed.saturating_sub(submitted) } else { total };
        let value = match log.kind {
            LogKind::Latency => total,
            LogKind::Completion | LogKind::Histogram => completion,
            LogKind::Submission if synchronous => return None,
            LogKind::Submission => submitted.saturating_sub(issued),
            LogKind::Bandwidth => (f64::from(length) * 1e9 / completion.max(1) as f64 / 1024.0) as u64,
            LogKind::Iops => 1,
            LogKind::Trace => return None,
        };
        let (at, issued) = (completed.saturating_sub(ramp), issued.saturating_sub(ramp));
        let (offset, priority) = (operation.offset, operation.priority);
        Some(Entry { at, value, direction, length, offset, priority, issued })
    }
}

/// Windows of one log of one thread.
#[derive(Debug)]
pub(super) struct Windows {
    kind: LogKind,
    value: LogValue,
    coarseness: u8,
    /// In nanoseconds.
    length: u64,
    /// By the window's number and the direction.
    open: BTreeMap<(u64, usize), Window>,
    /// How far each worker has come, in nanoseconds: of what lies before, nothing more comes.
    reached: Vec<u64>,
}

#[derive(Debug, Default)]
struct Window {
    operations: u64,
    bytes: u64,
    sum: u128,
    largest: u64,
    /// Length of the last operation.
    length: u32,
    counts: Vec<u64>,
}

/// A window that is complete.
#[derive(Debug, PartialEq)]
pub(super) struct WindowValue {
    /// In nanoseconds since the measured part's start.
    pub(super) end: u64,
    pub(super) direction: usize,
    pub(super) value: u64,
    /// Reported in addition to the value.
    pub(super) largest: Option<u64>,
    pub(super) length: u32,
    /// Of a histogram.
    pub(super) counts: Vec<u64>,
}

impl Windows {
    pub(super) fn new(log: &Log, length: u64, workers: u32) -> Windows {
        Windows {
            kind: log.kind,
            value: log.value,
            coarseness: log.coarseness.min(6),
            length: length.max(1),
            open: BTreeMap::new(),
            reached: vec![0; workers.max(1) as usize],
        }
    }

    pub(super) fn add(&mut self, entry: &Entry) {
        let window = self.open.entry((entry.at / self.length, entry.direction)).or_default();
        window.operations += 1;
        window.bytes += u64::from(entry.length);
        window.sum += u128::from(entry.value);
        window.largest = window.largest.max(entry.value);
        window.length = entry.length;
        if self.kind == LogKind::Histogram {
            window.counts.resize(COLUMNS >> self.coarseness, 0);
            let column = bucket(entry.value).min(COLUMNS - 1) >> self.coarseness;
            window.counts[column] += 1;
        }
    }

    /// Says that a worker has come so far, in nanoseconds.
    pub(super) fn reached(&mut self, worker: u32, at: u64) {
        if let Some(reached) = self.reached.get_mut(worker as usize) {
            *reached = (*reached).max(at);
        }
    }

    /// The windows that all workers have left behind.
    pub(super) fn take(&mut self) -> Vec<WindowValue> {
        let behind = self.reached.iter().min().copied().unwrap_or(0) / self.length;
        let rest = self.open.split_off(&(behind, 0));
        let complete = std::mem::replace(&mut self.open, rest);
        let finished = complete.into_iter();
        finished
            .map(|((number, direction), window)| self.finished(number, direction, window, self.length))
            .collect()
    }

    /// All that is left, of a job that was measured for so long. A last window that isn't complete says nothing about
    /// bandwidth: it is left out, unless it is the only one.
    pub(super) fn close(&mut self, measured: u64) -> Vec<WindowValue> {
        let open = std::mem::take(&mut self.open);
        // A thread may run several times: in a search, each try is a phase.
        self.reached.fill(0);
        let rate = matches!(self.kind, LogKind::Bandwidth | LogKind::Iops);
        let cut = |number: u64| rate && number > 0 && (number + 1).saturating_mul(self.length) > measured;
        let finished = open.into_iter().filter(|((number, _), _)| !cut(*number));
        let only = if measured > 0 { measured.min(self.length) } else { self.length };
        finished
            .map(|((number, direction), window)| {
                self.finished(number, direction, window, if number == 0 { only } else { self.length })
            })
            .collect()
    }

    fn finished(&self, number: u64, direction: usize, window: Window, length: u64) -> WindowValue {
        let end = (number + 1).saturating_mul(self.length);
        let seconds = length as f64 / 1e9;
        let value = match self.kind {
            LogKind::Bandwidth => (window.bytes as f64 / seconds / 1024.0).round() as u64,
            LogKind::Iops => (window.operations as f64 / seconds).round() as u64,
            _ if self.value == LogValue::Largest => window.largest,
            _ => (window.sum / u128::from(window.operations.max(1))) as u64,
        };
        let largest = (self.value == LogValue::Both).then_some(match self.kind {
            LogKind::Bandwidth | LogKind::Iops => value,
            _ => window.largest,
        });
        WindowValue { end, direction, value, largest, length: window.length, counts: window.counts }
    }
}
