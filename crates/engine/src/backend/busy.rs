//! No I/O: keeps the processor busy for a share of the time, spinning or sorting.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use iolite_model::{BusyOptions, BusyWork};
use iolite_sys::clock::thread_time;

use super::{Backend, Completions, Op, Submission};

/// The longest sleep within a submission, so that an interruption is noticed in time.
const LONGEST: Duration = Duration::from_millis(100);

/// How often a busy thread spins before it looks at its time again: about a microsecond.
const SPINS: u32 = 100;

/// Numbers that are sorted before a busy thread looks at its time again: some tens of microseconds, and 32 KiB, which a first
/// level of caches holds.
const NUMBERS: usize = 4096;

/// Each operation is a pause, as long as the share of the time asks for after the one before, and then so much time of the
/// processor.
#[derive(Debug)]
pub struct Busy {
    /// It does nothing.
    idle: bool,
    /// What an operation takes of the processor, in nanoseconds.
    chunk: u64,
    /// Between two operations.
    pause: Duration,
    /// When the pause is over.
    until: Option<Instant>,
    /// What is sorted; empty where the thread spins.
    numbers: Vec<u64>,
    /// State of the generator that they come from.
    state: u64,
}

impl Busy {
    /// A back end without files.
    pub fn new(options: BusyOptions) -> Busy {
        let percent = u64::from(options.percent.clamp(1, 100));
        let pause = Duration::from_nanos(options.chunk.0.saturating_mul(100 - percent) / percent);
        let numbers = match options.work {
            BusyWork::Spin => Vec::new(),
            BusyWork::Sort => vec![0; NUMBERS],
        };
        let idle = options.percent == 0;
        Busy { idle, chunk: options.chunk.0, pause, until: None, numbers, state: 1 }
    }

    /// Keeps the processor busy for a moment.
    fn work(&mut self) {
        if self.numbers.is_empty() {
            (0..SPINS).for_each(|_| std::hint::spin_loop());
            return;
        }
        for number in &mut self.numbers {
            // Marsaglia's xorshift: any order will do that has to be sorted again.
            self.state ^= self.state << 13;
            self.state ^= self.state >> 7;
            self.state ^= self.state << 17;
            *number = self.state;
        }
        self.numbers.sort_unstable();
        std::hint::black_box(&self.numbers);
    }
}

impl Backend for Busy {
    fn submit(&mut self, op: &Op) -> Submission {
        if !op.io.moves() {
            return Submission::Done(Ok(0));
        }
        if self.idle {
            return Submission::Full;
        }
        let left = self.until.map_or(Duration::ZERO, |until| until.saturating_duration_since(Instant::now()));
        if left > LONGEST {
            // The loop checks whether it is to end, waits a while, and comes back.
            return Submission::Full;
        }
        thread::sleep(left);
        let start = thread_time();
        while thread_time() - start < self.chunk {
            self.work();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::IoOp;
    use iolite_model::Nanos;

    #[test]
    fn each_operation_takes_its_time_of_the_processor() {
        for work in [BusyWork::Spin, BusyWork::Sort] {
            let mut busy = Busy::new(BusyOptions { percent: 100, chunk: Nanos(2_000_000), work });
            let start = thread_time();
            for _ in 0..3 {
                let op = Op { io: IoOp::Read, slot: 0, offset: 0, length: 512 };
                assert_eq!(busy.submit(&op), Submission::Done(Ok(512)));
            }
            assert!(thread_time() - start >= 6_000_000, "{work:?}");
            assert!(busy.numbers.is_sorted() && busy.numbers.iter().all(|number| *number != 0), "{work:?}");
            assert_eq!(busy.numbers.is_empty(), work == BusyWork::Spin);
        }
    }

    #[test]
    fn without_load_it_only_waits() {
        let work = BusyWork::Spin;
        let mut busy = Busy::new(BusyOptions { percent: 0, chunk: Nanos(2_000_000), work });
        let op = Op { io: IoOp::Read, slot: 0, offset: 0, length: 512 };
        assert_eq!(busy.submit(&op), Submission::Full);
    }
}
