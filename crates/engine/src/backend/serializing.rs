//! Keeps operations of a worker that overlap from being in flight together.

use std::io;
use std::time::Duration;

use iolite_model::Usage;

use super::{Backend, Completions, IoOp, Op, Submission};

/// Another back end, whose operations wait until those in flight that overlap them have come back: without that, what storage holds
/// after two writes to the same place is not determined.
pub(crate) struct Serializing {
    inner: Box<dyn Backend>,
    /// By slot: start and end of the operation in flight.
    in_flight: Vec<Option<(u64, u64)>>,
}

impl Serializing {
    /// For a back end of this depth.
    pub(crate) fn new(inner: Box<dyn Backend>, depth: u32) -> Serializing {
        Serializing { inner, in_flight: vec![None; depth.max(1) as usize] }
    }
}

impl Backend for Serializing {
    fn submit(&mut self, op: &Op) -> Submission {
        // A sync is of what has come back.
        let range = (!matches!(op.io, IoOp::Sync(_)))
            .then(|| (op.offset, op.offset.saturating_add(u64::from(op.length))));
        let overlaps = |range: (u64, u64)| {
            self.in_flight.iter().flatten().any(|other| other.0 < range.1 && range.0 < other.1)
        };
        if range.is_some_and(overlaps) {
            return Submission::Full;
        }
        let submission = self.inner.submit(op);
        if submission == Submission::Queued {
            self.in_flight[op.slot as usize] = range;
        }
        submission
    }

    fn hand_over(&mut self) -> io::Result<()> {
        self.inner.hand_over()
    }

    fn reap(&mut self, at_least: usize, timeout: Duration, out: &mut Completions) -> io::Result<()> {
        let before = out.len();
        self.inner.reap(at_least, timeout, out)?;
        for returned in &out[before..] {
            self.in_flight[returned.slot as usize] = None;
        }
        Ok(())
    }

    fn prioritize(&mut self, priority: u16) {
        self.inner.prioritize(priority);
    }

    fn verifies(&mut self, on: bool) {
        self.inner.verifies(on);
    }

    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        self.inner.buffer(slot)
    }

    fn finish(&mut self) -> Usage {
        self.inner.finish()
    }

    fn blocks(&self) -> bool {
        self.inner.blocks()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Returned;

    /// A back end whose operations come back when it is reaped.
    #[derive(Default)]
    struct Queue(Vec<u32>);

    impl Backend for Queue {
        fn submit(&mut self, op: &Op) -> Submission {
            self.0.push(op.slot);
            Submission::Queued
        }

        fn reap(&mut self, at_least: usize, _: Duration, out: &mut Completions) -> io::Result<()> {
            let returned = |slot| Returned { slot, result: Ok(1), more: false };
            out.extend(self.0.drain(..at_least).map(returned));
            Ok(())
        }

        fn buffer(&mut self, _: u32) -> &mut [u8] {
            &mut []
        }
    }

    #[test]
    fn what_overlaps_waits() {
        let mut back_end = Serializing::new(Box::<Queue>::default(), 4);
        let op = |io, slot, offset| Op { io, slot, offset, length: 4096 };
        assert_eq!(back_end.submit(&op(IoOp::Write, 0, 0)), Submission::Queued);
        assert_eq!(back_end.submit(&op(IoOp::Write, 1, 4096)), Submission::Queued);
        for (io, offset) in [(IoOp::Write, 0), (IoOp::Read, 512), (IoOp::Trim, 4096), (IoOp::Write, 8191)] {
            assert_eq!(back_end.submit(&op(io, 2, offset)), Submission::Full, "{io:?} {offset}");
        }
        assert_eq!(back_end.submit(&op(IoOp::Write, 2, 8192)), Submission::Queued);
        let mut out = Vec::new();
        back_end.reap(1, Duration::ZERO, &mut out).unwrap();
        assert_eq!(back_end.submit(&op(IoOp::Write, 0, 0)), Submission::Queued, "the first has come back");
        let sync = IoOp::Sync(iolite_model::SyncMethod::Fsync);
        assert_eq!(back_end.submit(&op(sync, 3, 0)), Submission::Queued);
    }
}
