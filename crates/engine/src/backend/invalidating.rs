//! Drops what the page cache holds whenever a worker starts over.

use std::io;
use std::time::Duration;

use super::{Backend, Completions, Files, Op, Submission};

/// Another back end, before whose operations that start over the page cache is dropped; the first of them bears the time.
pub(crate) struct Invalidating {
    inner: Box<dyn Backend>,
    files: Files,
    /// Bytes of a round.
    round: u64,
    /// What is left of this one.
    left: u64,
}

impl Invalidating {
    /// `round` is how many bytes the worker does before it starts over.
    pub(crate) fn new(inner: Box<dyn Backend>, files: Files, round: u64) -> Invalidating {
        let round = round.max(1);
        Invalidating { inner, files, round, left: round }
    }
}

impl Backend for Invalidating {
    fn submit(&mut self, op: &Op) -> Submission {
        if self.left == 0 {
            self.files.drop_clean();
            self.left = self.round;
        }
        let submission = self.inner.submit(op);
        if op.io.moves() && submission != Submission::Full {
            self.left = self.left.saturating_sub(u64::from(op.length));
        }
        submission
    }

    fn reap(&mut self, at_least: usize, timeout: Duration, out: &mut Completions) -> io::Result<()> {
        self.inner.reap(at_least, timeout, out)
    }

    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        self.inner.buffer(slot)
    }

    fn blocks(&self) -> bool {
        self.inner.blocks()
    }
}
