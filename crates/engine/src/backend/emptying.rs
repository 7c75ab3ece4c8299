//! Empties the files whenever a worker begins with a further part of its work.

use std::io;
use std::time::Duration;

use iolite_model::Usage;
use iolite_model::errno::EIO;

use super::Backend;
use super::Completions;
use super::Op;
use super::Submission;
use crate::backend::files::Files;

/// Another back end, before whose operations that begin a part of the work (a loop) the regular files lose all that they hold, so that
/// their blocks are allocated anew; the first of these operations bears the time.
pub(crate) struct Emptying {
    inner: Box<dyn Backend>,
    files: Files,
    /// Files have their size again before they are used: a mapping cannot extend them.
    sized: bool,
    /// Operations and bytes of a part.
    part: (u64, u64),
    /// What is left of this one.
    left: (u64, u64),
    /// What was written is being verified.
    verifies: bool,
}

impl Emptying {
    /// `part` is how many operations or bytes, whichever come first, a part is; `u64::MAX` where they do not bound it.
    pub(crate) fn new(inner: Box<dyn Backend>, files: Files, part: (u64, u64), sized: bool) -> Emptying {
        Emptying { inner, files, sized, part, left: part, verifies: false }
    }

    fn empty(&self) -> io::Result<()> {
        for span in self.files.spans() {
            let metadata = span.file.metadata()?;
            if metadata.is_file() {
                span.file.set_len(0)?;
                if self.sized {
                    span.file.set_len(metadata.len())?;
                }
            }
        }
        Ok(())
    }
}

impl Backend for Emptying {
    fn submit(&mut self, op: &Op) -> Submission {
        if self.verifies {
            return self.inner.submit(op);
        }
        if op.io.moves() && (self.left.0 == 0 || self.left.1 == 0) {
            if let Err(error) = self.empty() {
                return Submission::Done(Err(error.raw_os_error().unwrap_or(EIO)));
            }
            self.left = self.part;
        }
        let submission = self.inner.submit(op);
        if op.io.moves() && submission != Submission::Full {
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
    use crate::backend::{IoOp, Null};
    use std::os::unix::fs::FileExt;
    use std::sync::Arc;

    #[test]
    fn files_are_emptied_when_a_part_is_over() {
        let file = Arc::new(tempfile::tempfile().unwrap());
        let length = || file.metadata().unwrap().len();
        for (part, sized) in [((3, u64::MAX), false), ((u64::MAX, 3 * 4096), false), ((3, u64::MAX), true)] {
            let inner = Box::new(Null::new(4096).unwrap());
            let mut back_end = Emptying::new(inner, Files::from(file.clone()), part, sized);
            file.write_all_at(&[7; 8192], 0).unwrap();
            let submit = |back_end: &mut Emptying, io| {
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
}
