//! Does something to the files whenever a worker begins with a further part of its work.

use std::io;
use std::time::Duration;

use iolite_model::Usage;
use iolite_model::errno::EIO;

use super::files::Files;
use super::{Backend, Completions, Op, Submission};

/// What is done before a further part of the work begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PartStart {
    /// What the page cache holds of the files is dropped.
    DropCache,
    /// The regular files lose all that they hold, so that their blocks are allocated anew.
    Empty {
        /// They have their size again before they are used: a mapping cannot extend them.
        sized: bool,
    },
}

/// Another back end, and what is done before its operations that begin a part of the work (a loop); the first of these operations bears
/// the time.
pub(crate) struct InParts {
    inner: Box<dyn Backend>,
    files: Files,
    start: PartStart,
    /// Operations and bytes of a part.
    part: (u64, u64),
    /// What is left of this one.
    left: (u64, u64),
    /// What was written is being verified.
    verifies: bool,
}

impl InParts {
    /// `part` is how many operations or bytes, whichever come first, a part is; `u64::MAX` where they do not bound it.
    pub(crate) fn new(inner: Box<dyn Backend>, files: Files, start: PartStart, part: (u64, u64)) -> InParts {
        InParts { inner, files, start, part, left: part, verifies: false }
    }

    fn begin_part(&self) -> io::Result<()> {
        match self.start {
            PartStart::DropCache => self.files.drop_clean(),
            PartStart::Empty { sized } => self.empty(sized)?,
        }
        Ok(())
    }

    fn empty(&self, sized: bool) -> io::Result<()> {
        for span in self.files.spans() {
            let metadata = span.file.metadata()?;
            if metadata.is_file() {
                span.file.set_len(0)?;
                if sized {
                    span.file.set_len(metadata.len())?;
                }
            }
        }
        Ok(())
    }
}

impl Backend for InParts {
    fn submit(&mut self, op: &Op) -> Submission {
        if self.verifies || !op.io.moves() {
            return self.inner.submit(op);
        }
        if self.left.0 == 0 || self.left.1 == 0 {
            if let Err(error) = self.begin_part() {
                return Submission::Done(Err(error.raw_os_error().unwrap_or(EIO)));
            }
            self.left = self.part;
        }
        let submission = self.inner.submit(op);
        if submission != Submission::Full {
            let (operations, bytes) = self.left;
            let length = u64::from(op.length);
            let less = |left: u64, by: u64| if left == u64::MAX { left } else { left.saturating_sub(by) };
            self.left = (less(operations, 1), less(bytes, length));
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

    fn verifies(&mut self, on: bool) {
        self.verifies = on;
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
    use crate::backend::{FileSpan, IoOp, Null, Sync};
    use iolite_sys::page_cache;
    use std::os::unix::fs::FileExt;
    use std::sync::Arc;

    #[test]
    fn files_are_emptied_when_a_part_is_over() {
        let file = Arc::new(tempfile::tempfile().unwrap());
        let length = || file.metadata().unwrap().len();
        for (part, sized) in [((3, u64::MAX), false), ((u64::MAX, 3 * 4096), false), ((3, u64::MAX), true)] {
            let inner = Box::new(Null::new(4096).unwrap());
            let begins = PartStart::Empty { sized };
            let mut back_end = InParts::new(inner, Files::from(file.clone()), begins, part);
            file.write_all_at(&[7; 8192], 0).unwrap();
            let submit = |back_end: &mut InParts, io| {
                let done = back_end.submit(&Op { io, slot: 0, offset: 0, length: 4096 });
                assert!(matches!(done, Submission::Done(Ok(_))));
            };
            (0..3).for_each(|_| submit(&mut back_end, IoOp::Write));
            submit(&mut back_end, IoOp::Sync(iolite_model::SyncMethod::Fsync));
            // What verifies the part comes before the next one.
            back_end.verifies(true);
            submit(&mut back_end, IoOp::Read);
            back_end.verifies(false);
            assert_eq!(length(), 8192, "{part:?}");
            submit(&mut back_end, IoOp::Write);
            assert_eq!(length(), if sized { 8192 } else { 0 }, "{part:?}");
            let mut byte = [0];
            assert_eq!(file.read_at(&mut byte, 0).unwrap(), usize::from(sized), "{part:?}");
            assert_eq!(byte[0], 0, "what was there is not there any more");
            file.write_all_at(&[7; 8192], 0).unwrap();
            (0..2).for_each(|_| submit(&mut back_end, IoOp::Write));
            assert_eq!(length(), 8192, "{part:?}");
        }
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
        let mut back_end = InParts::new(inner, files.clone(), PartStart::DropCache, rounds(4 * 4096));
        let op = |io, length| Op { io, slot: 0, offset: 0, length };
        let submit = |back_end: &mut InParts, io| {
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
        let mut real = InParts::new(inner, Files::from(read.clone()), PartStart::DropCache, rounds(1));
        assert_eq!(real.submit(&op(IoOp::Read, 4096)), Submission::Done(Ok(4096)));
        assert!(real.blocks() && real.buffer(0) == [7; 4096]);
    }
}
