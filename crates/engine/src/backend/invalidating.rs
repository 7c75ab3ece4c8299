//! Drops what the page cache holds whenever a worker starts over.

use std::io;
use std::time::Duration;

use iolite_model::Usage;

use super::Backend;
use super::Completions;
use super::Op;
use super::Submission;
use crate::backend::files::Files;

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
        if op.io.moves() && self.left == 0 {
            self.files.drop_clean();
            self.left = self.round;
        }
        let submission = self.inner.submit(op);
        if op.io.moves() && submission != Submission::Full {
            self.left = self.left.saturating_sub(u64::from(op.length));
        }
        submission
    }

    fn hand_over(&mut self) -> io::Result<()> {
        self.inner.hand_over()
    }

    fn reap(&mut self, at_least: usize, timeout: Duration, out: &mut Completions) -> io::Result<()> {
        self.inner.reap(at_least, timeout, out)
    }

    fn prioritize(&mut self, priority: u16) {
        self.inner.prioritize(priority);
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
    use crate::backend::Sync;
    use crate::backend::files::FileSpan;
    use crate::backend::{IoOp, Null};
    use iolite_sys::page_cache;
    use std::os::unix::fs::FileExt;
    use std::sync::Arc;

    #[test]
    fn the_cache_is_dropped_when_a_round_is_over() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let file = Arc::new(std::fs::File::create_new(&path).unwrap());
        // A page at a time: a larger write may get a folio of many pages, which is only dropped as a whole.
        (0..256).for_each(|page| file.write_all_at(&[7; 4096], page * 4096).unwrap());
        file.sync_all().unwrap();
        let read = Arc::new(std::fs::File::open(&path).unwrap());
        let resident = || page_cache::resident_bytes(&read, 0, 1 << 20).unwrap();
        page_cache::evict(&read, 0, 1 << 20).unwrap();
        if resident() > 0 {
            eprintln!("skipped: the file system here drops nothing");
            return;
        }
        (0..256).for_each(|page| read.read_exact_at(&mut [0; 4096], page * 4096).unwrap());
        assert_eq!(resident(), 1 << 20);
        let span = FileSpan { file: read.clone(), start: 0, offset: 0, size: 1 << 20 };
        let files = Files::new(vec![span]).unwrap();
        let inner = Box::new(Null::new(4096).unwrap());
        let mut back_end = Invalidating::new(inner, files.clone(), 4 * 4096);
        let op = |io, length| Op { io, slot: 0, offset: 0, length };
        let mut submit = |io| {
            assert!(matches!(back_end.submit(&op(io, 4096)), Submission::Done(Ok(_))));
        };
        (0..4).for_each(|_| submit(IoOp::Read));
        submit(IoOp::Sync(iolite_model::SyncMethod::Fsync));
        assert_eq!(resident(), 1 << 20, "within a round nothing is dropped");
        submit(IoOp::Read);
        assert!(resident() < 1 << 19, "{}", resident());
        let mut real =
            Invalidating::new(Box::new(Sync::new(files, 4096).unwrap()), Files::from(read.clone()), 1);
        assert_eq!(real.submit(&op(IoOp::Read, 4096)), Submission::Done(Ok(4096)));
        assert!(real.blocks() && real.buffer(0) == [7; 4096]);
    }
}
