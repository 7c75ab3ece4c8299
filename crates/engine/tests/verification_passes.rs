//! Verification during a phase, on a back end that does what each test says, in an order that does not depend on time.

// Helpers of tests may give up as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use iolite_engine::{
    Backend, Completions, Control, IoOp, Op, Outcome, Returned, SimImage, Submission, run_file_task_on,
};
use iolite_model::{
    Access, Bytes, Checksum, Ending, FileTask, Mix, Nanos, NullSink, OnError, OpKind, Stop, Target, Verify,
};
use iolite_sys::clock::Clock;
use iolite_sys::usage;

const BLOCK: u64 = 4096;
const BLOCKS: u64 = 64;

/// What the back ends of a test do, and what has happened to them.
#[derive(Default)]
struct Script {
    /// Operations are done within their submission.
    blocks: bool,
    /// The reads, counted from 0 within a back end, of the worker's and of the one after the phase that return wrong data.
    wrong: [Vec<u64>; 2],
    /// Before this read, counted from 0 over all, the run is interrupted.
    interrupts: Option<(u64, Control)>,
    /// Back ends made.
    made: AtomicU32,
    reads: AtomicU64,
    /// Submissions with a slot that is in use.
    in_use: AtomicU32,
    /// Offsets that the back end after the phase has read.
    read_after: Mutex<Vec<u64>>,
    interrupted: AtomicBool,
    /// CPU time that each read takes.
    slow: Duration,
}

/// Brings back one operation at a time, the last submitted first, and nothing at every other look.
struct Scripted {
    script: Arc<Script>,
    image: SimImage,
    /// 0 in the phase, 1 after it.
    stage: usize,
    reads: u64,
    buffers: Vec<Vec<u8>>,
    pending: VecDeque<Op>,
    looks: u64,
}

impl Scripted {
    fn perform(&mut self, op: &Op) -> Returned {
        let buffer = &mut self.buffers[op.slot as usize][..op.length as usize];
        match op.io {
            IoOp::Read => {
                let used = || usage::of_this_thread().map(|used| used.user + used.system).unwrap();
                let before = used();
                while used() - before < self.script.slow {
                    std::hint::spin_loop();
                }
                self.image.read(op.offset, buffer);
                buffer[1000] ^= u8::from(self.script.wrong[self.stage].contains(&self.reads));
                self.reads += 1;
            }
            _ => drop(self.image.write(op.offset, buffer)),
        }
        Returned { slot: op.slot, result: Ok(op.length), more: false }
    }
}

impl Backend for Scripted {
    fn submit(&mut self, op: &Op) -> Submission {
        let script = self.script.clone();
        if op.io == IoOp::Read {
            let number = script.reads.fetch_add(1, Ordering::Relaxed);
            if self.stage == 1 {
                script.read_after.lock().unwrap().push(op.offset);
            }
            if let Some((_, control)) = script.interrupts.as_ref().filter(|(at, _)| *at == number) {
                control.interrupt_run();
                script.interrupted.store(true, Ordering::Relaxed);
            }
        }
        if self.pending.iter().any(|pending| pending.slot == op.slot) {
            script.in_use.fetch_add(1, Ordering::Relaxed);
        }
        if script.blocks {
            return Submission::Done(self.perform(op).result);
        }
        self.pending.push_back(*op);
        Submission::Queued
    }

    fn reap(&mut self, _at_least: usize, _timeout: Duration, out: &mut Completions) -> io::Result<()> {
        self.looks += 1;
        if self.looks.is_multiple_of(2)
            && let Some(op) = self.pending.pop_back()
        {
            out.push(self.perform(&op));
        }
        Ok(())
    }

    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        &mut self.buffers[slot as usize]
    }

    fn blocks(&self) -> bool {
        self.script.blocks
    }
}

/// Writes all blocks once, in order, by one worker, with a backlog of eight writes.
fn task() -> FileTask {
    let verify =
        Verify { check: Checksum::Crc32c, after: true, block: Bytes(BLOCK), backlog: 8, ..Verify::default() };
    FileTask {
        name: "verified".into(),
        target: Target::Null { size: Bytes(BLOCKS * BLOCK) },
        mix: Mix::Write,
        access: Access::Sequential,
        concurrency: 4,
        direct: true,
        verify: Some(verify),
        errors: OnError { stop: Vec::new(), ..OnError::default() },
        stop: Stop { loops: Some(1), ..Stop::default() },
        interval: Nanos(50_000_000),
        ..FileTask::default()
    }
}

fn with(task: FileTask, change: impl FnOnce(&mut Verify)) -> FileTask {
    let mut task = task;
    change(task.verify.as_mut().unwrap());
    task
}

fn run(task: &FileTask, control: &Control, script: Script) -> (Outcome, Arc<Script>) {
    let script = Arc::new(script);
    let (image, shared) = (SimImage::new((BLOCKS * BLOCK) as usize), script.clone());
    let make = move |_worker: u32, depth: u32| {
        Ok(Scripted {
            stage: shared.made.fetch_add(1, Ordering::Relaxed).min(1) as usize,
            script: shared.clone(),
            image: image.clone(),
            reads: 0,
            buffers: vec![vec![0; BLOCK as usize]; depth as usize],
            pending: VecDeque::new(),
            looks: 0,
        })
    };
    let outcome = run_file_task_on(task, 0, Clock::best(), control, &mut NullSink, make).unwrap();
    (outcome, script)
}

fn wrong(during: &[u64], after: &[u64]) -> Script {
    Script { wrong: [during.to_vec(), after.to_vec()], ..Script::default() }
}

/// A backlog is read from the page cache: what the device holds is only seen when all is read after it was dropped.
#[test]
fn a_backlog_that_is_not_direct_is_verified_again_after_the_phase() {
    let (outcome, script) = run(&FileTask { direct: false, ..task() }, &Control::default(), wrong(&[], &[5]));
    assert_eq!(script.read_after.lock().unwrap().len() as u64, BLOCKS);
    assert_eq!(outcome.verified.unwrap().wrong, 1);
    // What was read from the device is not read again.
    let (outcome, script) = run(&task(), &Control::default(), wrong(&[], &[]));
    assert_eq!(outcome.read_back.unwrap().operations(OpKind::Read), BLOCKS);
    let after = script.read_after.lock().unwrap().clone();
    assert_eq!(after, ((BLOCKS - 8)..BLOCKS).map(|block| block * BLOCK).collect::<Vec<_>>());
}

/// The first pass ends with its first read, which is wrong: the others of it are read after the phase, with all that follows.
#[test]
fn what_a_pass_leaves_out_is_verified_after_the_phase() {
    let fatal = with(FileTask { concurrency: 1, ..task() }, |verify| verify.fatal = true);
    let (outcome, script) = run(&fatal, &Control::default(), wrong(&[0], &[5]));
    let verified = outcome.verified.unwrap();
    assert_eq!((verified.wrong, verified.incomplete), (2, true));
    assert_eq!(*script.read_after.lock().unwrap(), (0..6).map(|block| block * BLOCK).collect::<Vec<_>>());
    // A part of the work reads all that passes before it have left out.
    let parts = with(fatal, |verify| verify.passes = 2);
    let parts = FileTask { stop: Stop { loops: Some(2), ..Stop::default() }, ..parts };
    let (outcome, script) = run(&parts, &Control::default(), wrong(&[0], &[]));
    assert_eq!(outcome.verified.unwrap().wrong, 1);
    assert_eq!(script.read_after.lock().unwrap().len(), 8);
}

/// Writes would be filled into buffers that a read still on its way fills as well.
#[test]
fn no_read_is_left_on_its_way_when_the_phase_goes_on() {
    let fatal = with(task(), |verify| verify.fatal = true);
    let (outcome, script) = run(&fatal, &Control::default(), wrong(&[0, 1, 9], &[]));
    assert_eq!(outcome.totals.operations(OpKind::Write), BLOCKS);
    assert!(outcome.verified.unwrap().wrong >= 2);
    assert_eq!(script.in_use.load(Ordering::Relaxed), 0);
}

/// An interruption ends a pass before its next read, with what it has found.
#[test]
fn an_interruption_ends_a_pass_of_a_back_end_that_blocks() {
    let loops =
        with(FileTask { concurrency: 1, ..task() }, |verify| (verify.passes, verify.backlog) = (2, 0));
    let loops = FileTask { stop: Stop { loops: Some(2), ..Stop::default() }, ..loops };
    for (task, at) in [(loops, 3), (FileTask { concurrency: 1, ..task() }, 3), (task(), 3)] {
        let control = Control::default();
        let interrupts = Some((at, control.clone()));
        let blocks = task.concurrency == 1;
        let (outcome, script) = run(&task, &control, Script { blocks, interrupts, ..wrong(&[1], &[]) });
        assert!(script.interrupted.load(Ordering::Relaxed));
        assert_eq!((&outcome.ending, outcome.outstanding.lost), (&Ending::Interrupted, 0));
        let verified = outcome.verified.unwrap();
        assert!(verified.incomplete, "{verified:?}");
        if blocks {
            assert_eq!((verified.wrong, script.reads.load(Ordering::Relaxed)), (1, at + 1));
        }
    }
}

/// The time of the reads counts as theirs and not as measured: all that was timed fits into the time that has passed. Nor does what
/// they use of the CPU.
#[test]
fn measured_time_stands_still_while_a_backlog_is_read() {
    let slow = Duration::from_millis(5);
    let begun = Instant::now();
    let blocking = FileTask { concurrency: 1, ..task() };
    let (outcome, _) = run(&blocking, &Control::default(), Script { blocks: true, slow, ..wrong(&[], &[]) });
    let elapsed = begun.elapsed().as_nanos() as u64;
    let read_back = outcome.read_back.unwrap();
    assert_eq!(read_back.operations(OpKind::Read), BLOCKS);
    assert_eq!(outcome.totals.operations(OpKind::Write), BLOCKS);
    assert!(read_back.measured >= BLOCKS * slow.as_nanos() as u64);
    let timed = outcome.totals.measured + read_back.measured;
    assert!(timed <= elapsed, "{} and {} of {elapsed}", outcome.totals.measured, read_back.measured);
    let (used, reads) =
        (outcome.usage.user.0 + outcome.usage.system.0, (BLOCKS - 8) * slow.as_nanos() as u64);
    assert!(used < reads, "{:?}, where the reads alone took {reads}", outcome.usage);
}
