//! Verification during a phase, on a back end that does what each test says, in an order that does not depend on time.

// Helpers of tests may give up as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod sim;

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use iolite_engine::{
    Backend, Completions, Control, IoOp, Op, Outcome, Returned, Submission, run_file_task_on,
};
use iolite_model::{
    Access, Arrival, Bytes, Checksum, Ending, ErrorClass, FileTask, Iops, Mix, Nanos, NullSink, OnError,
    OpKind, Stop, Target, Verify,
};
use iolite_sys::clock::Clock;
use iolite_sys::usage;
use sim::SimImage;

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
    /// Wrong reads are wrong in each sector.
    tears: bool,
    /// Wrong reads fail with this error number instead.
    fails: Option<i32>,
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
                let wrong = self.script.wrong[self.stage].contains(&self.reads);
                self.reads += 1;
                if let Some(number) = self.script.fails.filter(|_| wrong) {
                    return Returned { slot: op.slot, result: Err(number), more: false };
                }
                let sectors = if self.script.tears { 8 } else { 1 };
                (0..sectors).for_each(|sector| buffer[sector * 512 + 100] ^= u8::from(wrong));
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
    // But for the wrong one, which is known.
    assert_eq!(*script.read_after.lock().unwrap(), (1..7).map(|block| block * BLOCK).collect::<Vec<_>>());
    // A part of the work reads all that passes before it have left out.
    let parts = with(fatal, |verify| verify.passes = 2);
    let parts = FileTask { stop: Stop { loops: Some(2), ..Stop::default() }, ..parts };
    let (outcome, script) = run(&parts, &Control::default(), wrong(&[0], &[]));
    assert_eq!(outcome.verified.unwrap().wrong, 1);
    assert_eq!(script.read_after.lock().unwrap().len(), 8);
}

/// What a backlog finds wrong is wrong once, though what it has read may have come from the page cache.
#[test]
fn what_a_backlog_finds_wrong_is_not_counted_again() {
    let buffered = FileTask { direct: false, concurrency: 1, ..task() };
    let (outcome, script) = run(&buffered, &Control::default(), wrong(&[3, 20], &[4]));
    let read_after = script.read_after.lock().unwrap();
    assert!(
        read_after.len() as u64 == BLOCKS - 2
            && [3, 20].iter().all(|block| !read_after.contains(&(block * BLOCK)))
    );
    assert_eq!(outcome.verified.unwrap().wrong, 3);
    let errors: Vec<_> = outcome.errors.iter().map(|tally| (tally.kind, tally.class, tally.count)).collect();
    assert_eq!(errors, [(OpKind::Read, ErrorClass::Verify, 3)]);
    // Where it is written again it is read again.
    let twice = with(buffered, |verify| verify.passes = 2);
    let twice = FileTask { stop: Stop { loops: Some(2), ..Stop::default() }, ..twice };
    let (outcome, script) = run(&twice, &Control::default(), wrong(&[3], &[]));
    assert_eq!(outcome.verified.unwrap().wrong, 1);
    assert_eq!(script.read_after.lock().unwrap().len() as u64, BLOCKS);
}

/// Of several units of a read that are wrong, or cannot be read, the read is one error.
#[test]
fn an_error_is_a_read() {
    let units = with(FileTask { concurrency: 1, ..task() }, |verify| verify.unit = Bytes(512));
    let script = || Script { tears: true, ..wrong(&[3], &[]) };
    let (outcome, _) = run(&units, &Control::default(), script());
    let (tally, verified) = (&outcome.errors[..], outcome.verified.as_ref().unwrap());
    assert_eq!((tally.len(), tally[0].count, verified.wrong), (1, 1, 8), "{tally:?}");
    let (outcome, _) = run(&units, &Control::default(), Script { fails: Some(5), ..script() });
    let (tally, verified) = (&outcome.errors[..], outcome.verified.as_ref().unwrap());
    assert_eq!((tally.len(), tally[0].class, tally[0].number), (1, ErrorClass::Device, Some(5)), "{tally:?}");
    assert_eq!((tally[0].count, tally[0].first_offsets[0], verified.unreadable), (1, 3 * BLOCK, 8));
    // Each ends the phase where errors like it do, at the first pass.
    for (stop, fails, ends) in [
        (ErrorClass::Verify, None, true),
        (ErrorClass::Verify, Some(5), false),
        (ErrorClass::Device, None, false),
        (ErrorClass::Device, Some(5), true),
    ] {
        let errors = OnError { stop: vec![stop], ..OnError::default() };
        let task = FileTask { errors, ..units.clone() };
        let (outcome, _) = run(&task, &Control::default(), Script { fails, ..script() });
        let written = outcome.totals.operations(OpKind::Write);
        assert_eq!(written, if ends { 8 } else { BLOCKS }, "{stop:?} {fails:?}");
        assert_eq!(matches!(&outcome.ending, Ending::Failed(why) if why.contains("verification")), ends);
    }
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

/// Wherever an interruption comes, in a pass of a backlog or after the phase: nothing is written after it, what was read is
/// right, and that not all was read is said.
#[test]
fn an_interruption_anywhere_in_a_backlog_leaves_nothing_unsaid() {
    for concurrency in [1, 4] {
        for at in 0..BLOCKS {
            let control = Control::default();
            let blocks = concurrency == 1;
            let script = Script { blocks, interrupts: Some((at, control.clone())), ..wrong(&[], &[]) };
            let (outcome, script) = run(&FileTask { concurrency, ..task() }, &control, script);
            let what = format!("{concurrency} outstanding, read {at}");
            let during = at < BLOCKS - 8;
            let ending = if during { Ending::Interrupted } else { Ending::Completed };
            assert_eq!(outcome.ending, ending, "{what}");
            let written = if during { 8 * (at / 8 + 1) } else { BLOCKS };
            assert_eq!(outcome.totals.operations(OpKind::Write), written, "{what}");
            assert_eq!((outcome.outstanding.lost, script.in_use.load(Ordering::Relaxed)), (0, 0), "{what}");
            let verified = outcome.verified.unwrap();
            assert_eq!((verified.wrong, verified.unreadable, verified.unknown), (0, 0, 0), "{what}");
            // The last one leaves nothing to be read.
            assert_eq!(verified.incomplete, !blocks || at + 1 < BLOCKS, "{what}");
            let read = outcome.read_back.map_or(0, |read| read.operations(OpKind::Read));
            assert_eq!(read, verified.units, "{what}");
            assert!(if blocks { read == at + 1 } else { read <= at + 4 }, "{what}: {read}");
        }
    }
}

/// Time that ends while a backlog is full, half full or being read: all that was written is read once.
#[test]
fn all_is_verified_of_a_phase_whose_time_ends_amid_a_backlog() {
    for (backlog, batch, slow) in [(8, 0, 3), (8, 3, 3), (60, 0, 1), (1, 0, 2)] {
        let stop = Stop { runtime: Some(Nanos(200_000_000)), ..Stop::default() };
        let timed = with(FileTask { stop, concurrency: 1, ..task() }, |verify| {
            (verify.backlog, verify.backlog_batch) = (backlog, batch);
        });
        let timed = FileTask { arrival: Arrival::Constant(Iops(100.0)), ..timed };
        let script = Script { blocks: true, slow: Duration::from_millis(slow), ..wrong(&[], &[]) };
        let (outcome, _) = run(&timed, &Control::default(), script);
        let what = format!("backlog {backlog}, batches of {batch}");
        assert_eq!(outcome.ending, Ending::Completed, "{what}");
        let (written, verified) = (outcome.totals.operations(OpKind::Write), outcome.verified.unwrap());
        assert!(written > 0 && written < BLOCKS, "{what}: {written}");
        assert_eq!((verified.wrong, verified.incomplete), (0, false), "{what}");
        // A write that returns after the end is verified and not counted.
        assert!((written..=written + 1).contains(&verified.units), "{what}: {written} {}", verified.units);
        assert_eq!(outcome.read_back.unwrap().operations(OpKind::Read), verified.units, "{what}");
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
