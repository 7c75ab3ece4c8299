//! Reads all that was written, and compares.

use std::io;
use std::ops::Range;
use std::time::Duration;

use iolite_model::errno::EILSEQ;
use iolite_model::{ErrorClass, OpKind, Verified};
use iolite_stats::{Completion, PhaseTotals};
use iolite_sys::memory;
use iolite_workers::{DRAIN_INTERRUPTED, WorkerLane};

use crate::backend::{Backend, Completions, IoOp, Op, Returned, Submission};
use crate::errors::Errors;
use crate::verify::judge::Judge;
use crate::verify::written::Known;
use crate::verify::written::Written;

/// The longest wait for a read, after which is asked whether to give up.
const WAIT: Duration = Duration::from_millis(100);

/// Where what is read back is counted.
pub(crate) trait Record {
    /// Nanoseconds since the phase's start.
    fn now(&self) -> u64;

    /// Whether the user wants to stop.
    fn interrupted(&self) -> bool;

    /// A read has succeeded.
    fn succeeded(&mut self, op: Completion);

    /// A read has failed.
    fn failed(&mut self, completed: u64);
}

impl Record for WorkerLane {
    fn now(&self) -> u64 {
        self.now()
    }

    fn interrupted(&self) -> bool {
        self.interrupted()
    }

    fn succeeded(&mut self, op: Completion) {
        self.record(op);
    }

    fn failed(&mut self, completed: u64) {
        self.record_error(OpKind::Read, completed);
    }
}

/// Counts what is read during the phase, apart from what is measured.
pub(crate) struct Apart<'a> {
    pub(crate) lane: &'a WorkerLane,
    pub(crate) counts: &'a mut PhaseTotals,
}

impl Record for Apart<'_> {
    fn now(&self) -> u64 {
        self.lane.now()
    }

    fn interrupted(&self) -> bool {
        self.lane.interrupted()
    }

    fn succeeded(&mut self, op: Completion) {
        self.counts.count(&op);
    }

    fn failed(&mut self, _completed: u64) {
        self.counts.count_error(OpKind::Read);
    }
}

/// What is to be read back, in order, without units that were found wrong before and not written again.
pub(crate) enum Left<'a> {
    /// All that was written and not verified since, from this unit on.
    All(usize),
    /// These writes: offset, length and number of each.
    Writes(&'a [(u64, u32, u32)]),
}

impl Left<'_> {
    /// The units that are read next, at most `max`; none of a write that was overwritten since.
    fn first(&mut self, written: &Written, max: usize, by_write: bool) -> Option<Range<usize>> {
        match self {
            Left::All(next) => written.next_run(*next, max, by_write),
            Left::Writes(writes) => {
                while let [(offset, length, number), rest @ ..] = *writes {
                    if written.holds(*offset, *length, *number) {
                        return Some(written.of(*offset, *length));
                    }
                    *writes = rest;
                }
                None
            }
        }
    }

    /// Goes on after units that end here.
    fn advance(&mut self, end: usize) {
        match self {
            Left::All(next) => *next = end,
            Left::Writes(writes) => *writes = writes.get(1..).unwrap_or_default(),
        }
    }
}

/// What reading back has found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// By units.
    pub(crate) verified: Verified,
    /// By reads: those that have failed, and those of which a unit is wrong.
    pub(crate) errors: Errors,
}

/// Reads what is left to verify, with as many reads on their way as there are slots, and compares each with what is known of it.
/// `room` is the size of a slot's buffer. The reads are recorded in `record`, until it is interrupted: what was not read then, or
/// after the first wrong unit where that is the last to be looked for, makes what was found incomplete. Nothing is left in flight
/// but by an interruption or an error, which end the phase.
///
/// # Errors
/// The back end's queue is broken. Reads that fail are among the errors found, and their units unreadable.
pub(crate) fn read_back<B: Backend, R: Record>(
    backend: &mut B,
    (slots, room): (u32, usize),
    (written, mut left): (&mut Written, Left<'_>),
    judge: &Judge,
    record: &mut R,
) -> io::Result<Found> {
    let (max, by_write) = (room / written.unit as usize, judge.verify.by_write);
    let in_flight = memory::filled(None, slots as usize)?;
    let mut reader = Reader { written, judge, record, found: Found::default(), in_flight };
    let mut free: Vec<u32> = (0..slots).collect();
    let (mut returned, mut interrupted_at) = (Completions::new(), None);
    loop {
        // Looked at before each read: a back end that blocks never gets out of here otherwise.
        while !reader.is_over()
            && let Some(slot) = free.pop()
        {
            let Some(mut run) = left.first(reader.written, max, by_write) else {
                free.push(slot);
                break;
            };
            run.end = run.end.min(reader.end_of_file(run.start));
            let op = reader.op(slot, run.start, run.len());
            reader.in_flight[slot as usize] = Some((op, reader.record.now()));
            match backend.submit(&op) {
                Submission::Done(result) => {
                    reader.take(backend, slot, result);
                    free.push(slot);
                }
                Submission::Queued => {}
                Submission::Full => {
                    reader.in_flight[slot as usize] = None;
                    free.push(slot);
                    break;
                }
            }
            left.advance(run.end);
        }
        if reader.is_idle() {
            reader.found.verified.incomplete |= left.first(reader.written, max, by_write).is_some();
            return Ok(reader.found);
        }
        backend.reap(1, WAIT, &mut returned)?;
        let silent = returned.is_empty();
        for Returned { slot, result, .. } in returned.drain(..) {
            reader.take(backend, slot, result);
            free.push(slot);
        }
        // Reads are only given up on where that ends the phase: whoever goes on would write from buffers that they still fill.
        if reader.record.interrupted() && !reader.is_idle() {
            let now = reader.record.now();
            let since = now.saturating_sub(*interrupted_at.get_or_insert(now));
            if silent || u128::from(since) > DRAIN_INTERRUPTED.as_nanos() {
                reader.found.verified.incomplete = true;
                return Ok(reader.found);
            }
        }
    }
}

struct Reader<'a, R> {
    written: &'a mut Written,
    judge: &'a Judge,
    record: &'a mut R,
    found: Found,
    /// By slot: the read, and when it was issued.
    in_flight: Vec<Option<(Op, u64)>>,
}

impl<R: Record> Reader<'_, R> {
    /// Whether nothing more is to be read.
    fn is_over(&self) -> bool {
        self.record.interrupted() || self.has_failed()
    }

    /// Whether no read is on its way.
    fn is_idle(&self) -> bool {
        self.in_flight.iter().all(Option::is_none)
    }

    /// The first wrong unit is the last to be looked for, and it was found.
    fn has_failed(&self) -> bool {
        self.judge.verify.fatal && self.found.verified.wrong + self.found.verified.unreadable > 0
    }

    /// The first unit that lies in another file than this one.
    fn end_of_file(&self, unit: usize) -> usize {
        let offset = self.written.first + unit as u64 * u64::from(self.written.unit);
        let left = self.judge.targets.left_in_file(offset) / u64::from(self.written.unit);
        unit.saturating_add(usize::try_from(left).unwrap_or(usize::MAX)).max(unit + 1)
    }

    fn op(&self, slot: u32, unit: usize, units: usize) -> Op {
        let offset = self.written.first + unit as u64 * u64::from(self.written.unit);
        Op { io: IoOp::Read, slot, offset, length: units as u32 * self.written.unit }
    }

    fn take<B: Backend>(&mut self, backend: &mut B, slot: u32, result: Result<u32, i32>) {
        let Some((op, issued)) = self.in_flight.get_mut(slot as usize).and_then(Option::take) else { return };
        let (kind, completed) = (OpKind::Read, self.record.now());
        match result {
            Ok(bytes) => {
                let bytes = u64::from(bytes);
                self.record.succeeded(Completion { kind, intended: issued, issued, completed, bytes });
            }
            Err(_) => self.record.failed(completed),
        }
        let before = (self.found.verified.wrong, self.found.verified.unreadable);
        self.compare(&op, backend.buffer(slot), result);
        self.note_error(&op, result, before);
    }

    /// Compares what a read has brought with what is known of it, and remembers what of it is not to be read again.
    fn compare(&mut self, op: &Op, buffer: &[u8], result: Result<u32, i32>) {
        let (unit, verified) = (self.written.unit as usize, &mut self.found.verified);
        let got = result.map_or(0, |bytes| bytes as usize).min(buffer.len());
        for index in 0..op.length as usize / unit {
            let offset = op.offset + (index * unit) as u64;
            let before = verified.wrong + verified.unreadable;
            match buffer[..got].get(index * unit..(index + 1) * unit) {
                Some(chunk) => self.judge.compare(chunk, offset, self.written.known(offset), verified),
                None if self.written.known(offset) == Known::Anything => verified.unknown += 1,
                None => {
                    let why =
                        || self.judge.described(offset, &format!("it cannot be read: {}", reason(result)));
                    verified.note_unreadable(offset, why);
                }
            }
            if verified.wrong + verified.unreadable > before {
                self.written.report(offset);
            }
        }
    }

    /// Notes a read as an error where units of it have been found wrong or unreadable: one error, however many they are.
    fn note_error(&mut self, op: &Op, result: Result<u32, i32>, (wrong, unreadable): (u64, u64)) {
        let Found { verified, errors } = &mut self.found;
        let unreadable = verified.unreadable > unreadable;
        if !unreadable && verified.wrong == wrong {
            return;
        }
        let (class, number) = match result {
            Err(number) => (ErrorClass::of(number), Some(number)),
            Ok(_) if unreadable => (ErrorClass::Short, None),
            Ok(_) => (ErrorClass::Verify, Some(EILSEQ)),
        };
        errors.note(OpKind::Read, class, op.offset, || match class {
            ErrorClass::Verify => {
                let found =
                    verified.first.last().map(|found| format!(": {}", found.what)).unwrap_or_default();
                (format!("a read at byte {} differs from the data written{found}", op.offset), number)
            }
            _ => (format!("read: {}", reason(result)), number),
        });
    }
}

/// Why a read has not brought all that it was to bring.
fn reason(result: Result<u32, i32>) -> String {
    match result {
        Ok(_) => "it is beyond the end of the target".to_owned(),
        Err(number) => io::Error::from_raw_os_error(number).to_string(),
    }
}
