//! No I/O: keeps the processor busy for a share of the time.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use iolite_model::BusyOptions;
use iolite_sys::clock::thread_time;

use super::{Backend, Completions, Op, Submission};

/// The longest sleep within a submission, so that an interruption is noticed in time.
const LONGEST: Duration = Duration::from_millis(100);

/// How often a busy thread spins before it looks at its time again: about a microsecond.
const SPINS: u32 = 100;

/// Each operation is a pause, as long as the share of the time asks for after the one before, and then so much time of the
/// processor.
#[derive(Debug)]
pub struct Busy {
    /// What an operation takes of the processor, in nanoseconds.
    chunk: u64,
    /// Between two operations.
    pause: Duration,
    /// When the pause is over.
    until: Option<Instant>,
}

impl Busy {
    /// A back end without files.
    pub fn new(options: BusyOptions) -> Busy {
        let percent = u64::from(options.percent.clamp(1, 100));
        let pause = Duration::from_nanos(options.chunk.0.saturating_mul(100 - percent) / percent);
        Busy { chunk: options.chunk.0, pause, until: None }
    }
}

impl Backend for Busy {
    fn submit(&mut self, op: &Op) -> Submission {
        if !op.io.moves() {
            return Submission::Done(Ok(0));
        }
        let left = self.until.map_or(Duration::ZERO, |until| until.saturating_duration_since(Instant::now()));
        if left > LONGEST {
            // The loop looks whether it is to end, waits a while, and comes back.
            return Submission::Full;
        }
        thread::sleep(left);
        let start = thread_time();
        while thread_time() - start < self.chunk {
            (0..SPINS).for_each(|_| std::hint::spin_loop());
        }
        self.until = Some(Instant::now() + self.pause);
        Submission::Done(Ok(op.length))
    }

    fn reap(&mut self, _at_least: usize, _timeout: Duration, _out: &mut Completions) -> io::Result<()> {
        Ok(())
    }

    fn buffer(&mut self, _slot: u32) -> &mut [u8] {
        &mut []
    }
}
