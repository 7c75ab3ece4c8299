//! Does something whenever a worker begins with a further part of its work.

use std::fmt;
use std::io;
use std::time::Duration;

use iolite_model::Usage;
use iolite_model::errno::EIO;

use super::files::Files;
use super::{Backend, Completions, Op, Submission};

/// Makes a back end on files that take the place of the last one's, and returns it.
pub(crate) type Renew<'a> = Box<dyn FnMut() -> io::Result<Box<dyn Backend>> + 'a>;

/// What is done before a further part of the work begins.
pub(crate) enum PartStart<'a> {
    /// What the page cache holds of the files is dropped.
    DropCache(Files),
    /// The back end is replaced by one on other files, when nothing is in flight; both have this number of slots.
    Renew(Renew<'a>, u32),
}

impl fmt::Debug for PartStart<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            PartStart::DropCache(_) => "DropCache",
            PartStart::Renew(..) => "Renew",
        })
    }
}

/// Another back end, and what is done before its operations that begin a part of the work (a loop); the first of these operations bears
/// the time.
pub(crate) struct InParts<'a> {
    inner: Box<dyn Backend>,
    start: PartStart<'a>,
    /// Operations and bytes of a part.
    part: (u64, u64),
    /// What is left of this one.
    left: (u64, u64),
    /// Operations that have not come back.
    in_flight: usize,
    /// What was written is being verified.
    verifies: bool,
    /// What replaced back ends have used.
    usage: Usage,
}

impl<'a> InParts<'a> {
    /// `part` is how many operations or bytes, whichever come first, a part is; `u64::MAX` where they do not bound it.
    pub(crate) fn new(inner: Box<dyn Backend>, start: PartStart<'a>, part: (u64, u64)) -> InParts<'a> {
        let (in_flight, usage) = (0, Usage::default());
        InParts { inner, start, part, left: part, in_flight, verifies: false, usage }
    }

    /// Whether an operation begins a part.
    fn begins(&self, op: &Op) -> bool {
        !self.verifies && op.io.moves() && (self.left.0 == 0 || self.left.1 == 0)
    }

    fn begin_part(&mut self) -> io::Result<()> {
        match &mut self.start {
            PartStart::DropCache(files) => files.drop_clean(),
            PartStart::Renew(renew, slots) => {
                let mut next = renew()?;
                for slot in 0..(*slots).max(1) {
                    // What is to be written was made up for the last one.
                    let (from, to) = (self.inner.buffer(slot), next.buffer(slot));
                    let length = from.len().min(to.len());
                    to[..length].copy_from_slice(&from[..length]);
                }
                self.usage.add(self.inner.finish());
                self.inner = next;
            }
        }
        self.left = self.part;
        Ok(())
    }

    fn count(&mut self, op: &Op) {
        let (operations, bytes) = self.left;
        let less = |left: u64, by: u64| if left == u64::MAX { left } else { left.saturating_sub(by) };
        self.left = (less(operations, 1), less(bytes, u64::from(op.length)));
    }
}

impl Backend for InParts<'_> {
    fn submit(&mut self, op: &Op) -> Submission {
        if self.begins(op) {
            if self.in_flight > 0 && matches!(self.start, PartStart::Renew(..)) {
                return Submission::Full;
            }
            if let Err(error) = self.begin_part() {
                return Submission::Done(Err(error.raw_os_error().unwrap_or(EIO)));
            }
        }
        let submission = self.inner.submit(op);
        if !self.verifies && op.io.moves() && submission != Submission::Full {
            self.count(op);
        }
        self.in_flight += usize::from(submission == Submission::Queued);
        submission
    }

    fn hand_over(&mut self) -> io::Result<()> {
        self.inner.hand_over()
    }

    fn reap(&mut self, at_least: usize, timeout: Duration, out: &mut Completions) -> io::Result<()> {
        let before = out.len();
        let reaped = self.inner.reap(at_least, timeout, out);
        // The first of two that are linked leaves its slot to the second.
        let over = out[before..].iter().filter(|returned| !returned.more).count();
        self.in_flight = self.in_flight.saturating_sub(over);
        reaped
    }

    fn prioritize(&mut self, priority: u16) {
        self.inner.prioritize(priority);
    }

    fn verifies(&mut self, on: bool) {
        self.verifies = on;
        self.inner.verifies(on);
    }

    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        self.inner.buffer(slot)
    }

    fn finish(&mut self) -> Usage {
        self.usage.add(self.inner.finish());
        std::mem::take(&mut self.usage)
    }

    fn blocks(&self) -> bool {
        self.inner.blocks()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::{FileSpan, IoOp, Null, Returned, Sync};
    use iolite_sys::page_cache;
    use std::cell::Cell;
    use std::os::unix::fs::FileExt;
    use std::sync::Arc;

    /// Operations that come back when they are reaped.
    struct Later(Vec<u32>, Vec<u8>);

    impl Backend for Later {
        fn submit(&mut self, op: &Op) -> Submission {
            self.0.push(op.slot);
            Submission::Queued
        }

        fn reap(&mut self, _at_least: usize, _timeout: Duration, out: &mut Completions) -> io::Result<()> {
            let back = self.0.drain(..).map(|slot| Returned { slot, result: Ok(4096), more: false });
            out.extend(back);
            Ok(())
        }

        fn buffer(&mut self, _slot: u32) -> &mut [u8] {
            &mut self.1
        }
    }

    fn op(io: IoOp) -> Op {
        Op { io, slot: 0, offset: 0, length: 4096 }
    }

    #[test]
    fn a_part_begins_with_files_of_its_own() {
        for part in [(3, u64::MAX), (u64::MAX, 3 * 4096)] {
            let renewed = Cell::new(0);
            let null = || Box::new(Null::new(4096).unwrap());
            let mut first = null();
            first.buffer(0).fill(7);
            let renew = || -> io::Result<Box<dyn Backend>> {
                renewed.set(renewed.get() + 1);
                Ok(null())
            };
            let mut back_end = InParts::new(first, PartStart::Renew(Box::new(renew), 1), part);
            let mut submit = |io| {
                let done = back_end.submit(&op(io));
                assert!(matches!(done, Submission::Done(Ok(_))));
            };
            (0..3).for_each(|_| submit(IoOp::Write));
            submit(IoOp::Sync(iolite_model::SyncMethod::Fsync));
            assert_eq!(renewed.get(), 0, "{part:?}");
            // What verifies the part comes before the next one.
            back_end.verifies(true);
            assert!(matches!(back_end.submit(&op(IoOp::Read)), Submission::Done(Ok(_))));
            back_end.verifies(false);
            assert_eq!(renewed.get(), 0, "{part:?}");
            for writes in 1..=4 {
                assert!(matches!(back_end.submit(&op(IoOp::Write)), Submission::Done(Ok(_))));
                assert_eq!(renewed.get(), if writes < 4 { 1 } else { 2 }, "{part:?}");
            }
            assert!(back_end.buffer(0).iter().all(|byte| *byte == 7), "data that was made up goes along");
        }
    }

    #[test]
    fn a_part_waits_for_the_last_one_and_reports_why_it_cannot_begin() {
        let renew = || -> io::Result<Box<dyn Backend>> { Err(io::Error::from_raw_os_error(2)) };
        let later = Box::new(Later(Vec::new(), vec![0; 4096]));
        let mut back_end = InParts::new(later, PartStart::Renew(Box::new(renew), 1), (2, u64::MAX));
        assert_eq!(back_end.submit(&op(IoOp::Write)), Submission::Queued);
        assert_eq!(back_end.submit(&op(IoOp::Write)), Submission::Queued);
        assert_eq!(back_end.submit(&op(IoOp::Write)), Submission::Full);
        let mut out = Completions::new();
        back_end.reap(1, Duration::ZERO, &mut out).unwrap();
        assert_eq!(out.len(), 2);
        assert_eq!(back_end.submit(&op(IoOp::Write)), Submission::Done(Err(2)));
    }

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
        let rounds = |round| (u64::MAX, round);
        let mut back_end = InParts::new(inner, PartStart::DropCache(files.clone()), rounds(4 * 4096));
        let op = |io, length| Op { io, slot: 0, offset: 0, length };
        let submit = |back_end: &mut InParts<'_>, io| {
            assert!(matches!(back_end.submit(&op(io, 4096)), Submission::Done(Ok(_))));
        };
        (0..4).for_each(|_| submit(&mut back_end, IoOp::Read));
        submit(&mut back_end, IoOp::Sync(iolite_model::SyncMethod::Fsync));
        // Nor what verifies a part of the round.
        back_end.verifies(true);
        submit(&mut back_end, IoOp::Read);
        back_end.verifies(false);
        assert_eq!(resident(), 1 << 20, "within a round nothing is dropped");
        submit(&mut back_end, IoOp::Read);
        assert!(resident() < 1 << 19, "{}", resident());
        let inner = Box::new(Sync::new(files, 4096).unwrap());
        let mut real = InParts::new(inner, PartStart::DropCache(Files::from(read.clone())), rounds(1));
        assert_eq!(real.submit(&op(IoOp::Read, 4096)), Submission::Done(Ok(4096)));
        assert!(real.blocks() && real.buffer(0) == [7; 4096]);
    }
}
