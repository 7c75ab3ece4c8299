//! What the measured loop asks of verification.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use iolite_model::Verified;
use iolite_stats::PhaseTotals;
use iolite_sys::memory;
use iolite_workers::{WorkerEnd, WorkerLane};

use crate::backend::{Backend, IoOp, Op};
use crate::error::EngineError;
use crate::errors::Errors;
use crate::verify::journal::Journal;
use crate::verify::judge::Judge;
use crate::verify::passes::{Pass, Passes};
use crate::verify::read_back::{Apart, Left, read_back};
use crate::verify::written::Known;
use crate::verify::written::Written;

/// What the measured loop asks of verification; chosen once a run, so that a loop without it pays nothing. By default, all is right.
pub(crate) trait Checks: Sized {
    /// Whether there is any.
    const ON: bool;

    /// An operation has been drawn and is about to be issued; a write's data is in `buffer`.
    fn issue(&mut self, _op: &Op, _buffer: &mut [u8]) {}

    /// An operation has come back. False where what was read is not what was written.
    fn back(&mut self, _op: &Op, _done: bool, _buffer: &[u8]) -> bool {
        true
    }

    /// What was found last, as text.
    fn finding(&self) -> Option<&str> {
        None
    }

    /// Whether what was written is to be read back and verified before anything else is issued.
    #[inline(always)]
    fn is_due(&self) -> bool {
        false
    }

    /// Reads back and verifies what is due, when nothing is in flight. Returns the reads that have failed, and those that differ from
    /// what was written.
    ///
    /// # Errors
    /// The target or the queue is lost.
    fn read_back<B: Backend>(
        &mut self,
        _backend: &mut B,
        _room: (u32, usize),
        _lane: &WorkerLane,
    ) -> Result<Errors, EngineError> {
        Ok(Errors::default())
    }

    /// The loop has ended.
    fn finish(self, _end: &mut WorkerEnd) {}
}

/// No verification.
pub(crate) struct Unchecked;

impl Checks for Unchecked {
    const ON: bool = false;
}

/// Stamps what is written and compares what is read.
pub(crate) struct Checker {
    judge: Judge,
    written: Written,
    /// The same in a file, where it is to outlive the program.
    journal: Option<Journal>,
    /// When data is read back during the phase.
    passes: Passes,
    /// What was read back so.
    read_back: PhaseTotals,
    /// By slot: the operation on its way.
    in_flight: Vec<Option<InFlight>>,
    verified: Verified,
    /// What is read comes from the device, not from the page cache.
    direct: bool,
    /// A pass has not read all that it was to read.
    skipped: bool,
    /// Where what was written is left at the end.
    kept: Kept,
}

/// What the workers of a phase have written, left by each at its end.
pub(crate) type Kept = Arc<Mutex<Vec<Written>>>;

/// A read or a write on its way.
#[derive(Debug, Clone, Copy)]
struct InFlight {
    offset: u64,
    length: u32,
    /// For a write, its number.
    number: Option<u32>,
    /// It is a trim.
    trim: bool,
    /// At least one of this and another operation on its way to the same units writes: which is first is unknown.
    contested: bool,
}

impl InFlight {
    fn overlaps(&self, other: &InFlight) -> bool {
        let end = |one: &InFlight| one.offset + u64::from(one.length);
        self.offset < end(other) && other.offset < end(self)
    }

    fn changes(&self) -> bool {
        self.number.is_some() || self.trim
    }
}

impl Checker {
    /// For a worker with so many slots, whose I/O may be direct.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(crate) fn new(
        judge: Judge,
        (written, journal): (Written, Option<Journal>),
        kept: Kept,
        (passes, direct): (Passes, bool),
        slots: u32,
    ) -> io::Result<Checker> {
        Ok(Checker {
            judge,
            written,
            journal,
            passes,
            read_back: PhaseTotals::default(),
            in_flight: memory::filled(None, slots.max(1) as usize)?,
            verified: Verified::default(),
            direct,
            skipped: false,
            kept,
        })
    }

    /// Notes an operation as in flight, and which others it contests with.
    fn depart(&mut self, op: &Op, number: Option<u32>) {
        let (offset, length, trim) = (op.offset, op.length, matches!(op.io, IoOp::Trim));
        let mut new = InFlight { offset, length, number, trim, contested: false };
        for other in self.in_flight.iter_mut().flatten() {
            if other.overlaps(&new) && (new.changes() || other.changes()) {
                other.contested = true;
                new.contested = true;
            }
        }
        self.in_flight[op.slot as usize] = Some(new);
        if let (Some(journal), Some(number)) = (&mut self.journal, number) {
            journal.begin(&self.written, op.offset, op.length, number);
        }
    }

    /// Notes a write as over, and again those that are still in flight to the same units.
    fn settle(&mut self, write: &InFlight) {
        let Some(journal) = &mut self.journal else { return };
        journal.settle(&self.written, write.offset, write.length);
        if write.contested {
            for other in self.in_flight.iter().flatten().filter(|other| other.overlaps(write)) {
                if let Some(number) = other.number {
                    journal.begin(&self.written, other.offset, other.length, number);
                }
            }
        }
    }

    /// A pass was made. What it has read from the device, and nothing else, is left out by later ones.
    fn passed(&mut self, pass: Pass, incomplete: bool) {
        let to = self.passes.end();
        // What one has not reached is only reached by one that reads all.
        self.skipped = incomplete || (self.skipped && pass == Pass::Backlog);
        // A part was dropped from the page cache. A backlog was not: there the cache may have been compared with itself.
        if !self.skipped && (pass == Pass::Part || self.direct) {
            self.written.verified_to(to);
        }
    }

    fn compare(&mut self, read: &InFlight, buffer: &[u8]) -> bool {
        let unit = self.written.unit as usize;
        let wrong_before = self.verified.wrong;
        for (index, chunk) in buffer.chunks_exact(unit).enumerate() {
            let offset = read.offset + (index * unit) as u64;
            let known = if read.contested { Known::Anything } else { self.written.known(offset) };
            self.judge.compare(chunk, offset, known, &mut self.verified);
        }
        self.verified.wrong == wrong_before
    }
}

impl Checks for Checker {
    const ON: bool = true;

    fn issue(&mut self, op: &Op, buffer: &mut [u8]) {
        let number = op.io.writes().then(|| self.written.next_number());
        if let Some(number) = number {
            let unit = self.written.unit as usize;
            let (_, place) = self.judge.targets.locate(op.offset);
            for (index, chunk) in buffer.chunks_exact_mut(unit).enumerate() {
                self.judge.seal.stamp(chunk, place + (index * unit) as u64, number);
            }
        }
        if op.io.moves() || op.io == IoOp::Trim {
            self.passes.issued(op, number);
            self.depart(op, number);
        }
    }

    fn back(&mut self, op: &Op, done: bool, buffer: &[u8]) -> bool {
        if !op.io.moves() && op.io != IoOp::Trim {
            return true;
        }
        let Some(in_flight) = self.in_flight.get_mut(op.slot as usize).and_then(Option::take) else {
            return true;
        };
        match in_flight.number {
            _ if in_flight.trim && done && !in_flight.contested => {
                self.written.trimmed(op.offset, op.length);
            }
            _ if in_flight.trim => self.written.failed(op.offset, op.length),
            Some(_) if !done => self.written.failed(op.offset, op.length),
            Some(_) if in_flight.contested => self.written.wrote_contested(op.offset, op.length),
            Some(number) => self.written.wrote(op.offset, op.length, number),
            None if done && self.judge.verify.reads => return self.compare(&in_flight, buffer),
            None => {}
        }
        if in_flight.changes() {
            self.settle(&in_flight);
        }
        if in_flight.number.is_some() && done {
            self.written.came_back(op.offset, self.in_flight.len());
        }
        true
    }

    fn finding(&self) -> Option<&str> {
        self.verified.first.last().map(|finding| finding.what.as_str())
    }

    #[inline(always)]
    fn is_due(&self) -> bool {
        self.passes.is_due()
    }

    fn read_back<B: Backend>(
        &mut self,
        backend: &mut B,
        room: (u32, usize),
        lane: &WorkerLane,
    ) -> Result<Errors, EngineError> {
        let begun = lane.now();
        let (pass, writes) = self.passes.pass();
        let left = match pass {
            Pass::Part => {
                // Comparing what is in memory with itself would say nothing. Who is interrupted compares nothing, and need not
                // wait for what is dirty.
                if !lane.interrupted() {
                    self.judge.targets.forget_cached(&self.judge.task)?;
                }
                Left::All(0)
            }
            Pass::Backlog => Left::Writes(writes),
        };
        let mut record = Apart { lane, counts: &mut self.read_back };
        let found = read_back(backend, room, (&mut self.written, left), &self.judge, &mut record)
            .map_err(EngineError::Queue)?;
        self.passed(pass, found.verified.incomplete);
        self.verified.add(found.verified);
        self.read_back.measured += lane.now().saturating_sub(begun);
        Ok(found.errors)
    }

    fn finish(mut self, end: &mut WorkerEnd) {
        // What was given up on may still be written.
        for lost in self.in_flight.iter().flatten().filter(|lost| lost.changes()) {
            self.written.failed(lost.offset, lost.length);
            if let Some(journal) = &mut self.journal {
                journal.settle(&self.written, lost.offset, lost.length);
            }
        }
        if let Some(error) = self.journal.and_then(Journal::finish) {
            end.failure = end.failure.take().or(Some(error.into()));
        }
        end.verified = Some(self.verified);
        end.read_back = (!self.read_back.is_empty()).then(|| Box::new(self.read_back));
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).push(self.written);
    }
}
