//! Reads all that was written, and compares.

use std::io;
use std::time::Duration;

use iolite_model::{OpKind, Verified};
use iolite_stats::Completion;
use iolite_sys::memory;
use iolite_workers::WorkerLane;

use crate::backend::{Backend, Completions, IoOp, Op, Returned, Submission};
use crate::verify::checker::Judge;
use crate::verify::written::Known;
use crate::verify::written::Written;

/// The longest wait for a read, after which is asked whether to give up.
const WAIT: Duration = Duration::from_millis(100);

/// Reads every unit that somebody has written, with as many reads on their way as there are slots, and compares each with
/// what is known of it. `room` is the size of a slot's buffer. The reads are recorded in `lane`, until it is interrupted.
///
/// # Errors
/// The back end's queue is broken. Reads that fail count as unreadable units.
pub(crate) fn read_back<B: Backend>(
    backend: &mut B,
    slots: u32,
    room: usize,
    written: &Written,
    judge: &Judge,
    lane: &mut WorkerLane,
) -> io::Result<Verified> {
    let max = room / written.unit as usize;
    let in_flight = memory::filled(None, slots as usize)?;
    let mut reader = Reader { written, judge, lane, verified: Verified::default(), in_flight };
    let mut free: Vec<u32> = (0..slots).collect();
    let mut returned = Completions::new();
    let mut next = 0;
    loop {
        let interrupted = reader.lane.interrupted() || reader.has_failed();
        reader.verified.incomplete |= interrupted && written.next_run(next, max).is_some();
        while !interrupted
            && !reader.has_failed()
            && let Some(slot) = free.pop()
        {
            let Some(mut run) = written.next_run(next, max) else {
                free.push(slot);
                break;
            };
            run.end = run.end.min(reader.end_of_file(run.start));
            next = run.end;
            let op = reader.op(slot, run.start, run.len());
            reader.in_flight[slot as usize] = Some((op, reader.lane.now()));
            match backend.submit(&op) {
                Submission::Done(result) => {
                    reader.take(backend, slot, result);
                    free.push(slot);
                }
                Submission::Queued => {}
                Submission::Full => {
                    reader.in_flight[slot as usize] = None;
                    free.push(slot);
                    next = run.start;
                    break;
                }
            }
        }
        if reader.in_flight.iter().all(Option::is_none) {
            return Ok(reader.verified);
        }
        backend.reap(1, WAIT, &mut returned)?;
        if interrupted && returned.is_empty() {
            return Ok(reader.verified);
        }
        for Returned { slot, result, .. } in returned.drain(..) {
            reader.take(backend, slot, result);
            free.push(slot);
        }
    }
}

struct Reader<'a> {
    written: &'a Written,
    judge: &'a Judge,
    lane: &'a mut WorkerLane,
    verified: Verified,
    /// By slot: the read, and when it was issued.
    in_flight: Vec<Option<(Op, u64)>>,
}

impl Reader<'_> {
    /// The first wrong unit is the last to be looked for, and it was found.
    fn has_failed(&self) -> bool {
        self.judge.verify.fatal && self.verified.wrong + self.verified.unreadable > 0
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
        let (kind, completed) = (OpKind::Read, self.lane.now());
        match result {
            Ok(bytes) => {
                let bytes = u64::from(bytes);
                self.lane.record(Completion { kind, intended: issued, issued, completed, bytes });
            }
            Err(_) => self.lane.record_error(kind, completed),
        }
        let unit = self.written.unit as usize;
        let buffer = backend.buffer(slot);
        let got = result.map_or(0, |bytes| bytes as usize).min(buffer.len());
        for index in 0..op.length as usize / unit {
            let offset = op.offset + (index * unit) as u64;
            match buffer[..got].get(index * unit..(index + 1) * unit) {
                Some(chunk) => {
                    self.judge.compare(chunk, offset, self.written.known(offset), &mut self.verified);
                }
                None if self.written.known(offset) == Known::Anything => self.verified.unknown += 1,
                None => {
                    let why = || match result {
                        Ok(_) => "it cannot be read: it is beyond the end of the target".to_owned(),
                        Err(number) => {
                            format!("it cannot be read: {}", io::Error::from_raw_os_error(number))
                        }
                    };
                    self.verified.note_unreadable(offset, || self.judge.described(offset, &why()));
                }
            }
        }
    }
}
