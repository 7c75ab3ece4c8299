//! Verification: what is written wrong is found, what is right is not called wrong.

// Helpers of tests may give up as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod sim;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use iolite_engine::{Control, Outcome, SavedState, Scratch, run_file_task, run_file_task_on};
use iolite_model::{
    Access, Arrival, BackendKind, Bytes, Checksum, Damage, Ending, ErrorClass, ExistingTarget, FileTask, Mix,
    Nanos, NullSink, OnError, OpKind, Overwrite, Regions, RingOptions, RunId, SizeLaw, Sizes, Stop, Target,
    Verified, Verify,
};
use iolite_sys::clock::Clock;
use iolite_workload::Seal;
use sim::{Sim, SimDamage, SimFaults, SimImage, SimLatency, SimParameters};

const BLOCK: u64 = 4096;
const CHECKS: [Checksum; 5] =
    [Checksum::Crc32c, Checksum::Xxh3, Checksum::Sha256, Checksum::Pattern, Checksum::Header];

fn verify(check: Checksum) -> Verify {
    Verify {
        check,
        unit: Bytes(0),
        reads: true,
        anyone: false,
        after: true,
        block: Bytes(0),
        ..Verify::default()
    }
}

/// Reads and writes of a small span, by two workers, each in a slice of its own.
fn task(check: Checksum, operations: u64) -> FileTask {
    FileTask {
        name: "verified".into(),
        target: Target::Null { size: Bytes(256 * BLOCK) },
        mix: Mix::ReadPercent(40),
        regions: Regions::Slices,
        workers: 2,
        concurrency: 8,
        verify: Some(verify(check)),
        stop: Stop { operations: Some(operations), ..Stop::default() },
        interval: Nanos(50_000_000),
        ..FileTask::default()
    }
}

fn simulate(task: &FileTask, faults: SimFaults) -> Outcome {
    let image = SimImage::new(task.target.size().0 as usize);
    let (latency, block) =
        (SimLatency::Exponential { mean: Duration::from_micros(20) }, task.largest().0 as usize);
    let make = move |worker: u32, depth: u32| {
        let seed = u64::from(worker) + 5;
        let parameters = SimParameters { seed, depth, block, latency, channels: None, faults, stall: None };
        Ok(Sim::new(parameters, image.clone()))
    };
    run_file_task_on(task, 0, Clock::best(), &Control::default(), &mut NullSink, make).unwrap()
}

#[test]
fn a_device_that_keeps_its_word_is_not_blamed() {
    for check in CHECKS {
        let outcome = simulate(&task(check, 4000), SimFaults::default());
        let verified = outcome.verified.unwrap();
        assert_eq!((verified.wrong, verified.unreadable, verified.incomplete), (0, 0, false), "{check:?}");
        // All 256 blocks were written with near certainty, and read at the end.
        assert!(verified.units > 1000, "{check:?}: {verified:?}");
        assert_eq!((outcome.ending, outcome.errors.len()), (Ending::Completed, 0));
    }
}

/// Writes everything `rounds` times, from the end to the start, one write at a time to each place, and reads it back.
fn written_over(check: Checksum, rounds: u32) -> FileTask {
    let stop = Stop { loops: Some(rounds), ..Stop::default() };
    FileTask { mix: Mix::Write, access: Access::Backwards, stop, concurrency: 2, ..task(check, 0) }
}

/// On a device that does one thing wrong, that is what is found.
#[test]
fn each_fault_alone_is_found_as_its_kind_and_no_other() {
    let other = |damage| SimFaults { damage: Some((damage, 0.05)), ..SimFaults::default() };
    for (faults, rounds, kinds) in [
        (SimFaults { lost: 0.05, ..SimFaults::default() }, 1, &[Damage::Lost][..]),
        (SimFaults { torn: 0.05, ..SimFaults::default() }, 1, &[Damage::Torn]),
        (SimFaults { torn: 0.05, ..SimFaults::default() }, 3, &[Damage::Torn]),
        (other(SimDamage::Stale), 3, &[Damage::Stale]),
        (other(SimDamage::Misread), 1, &[Damage::Misplaced]),
        // Where it belongs, the write before is left.
        (other(SimDamage::Misplaced), 3, &[Damage::Stale, Damage::Misplaced]),
        (other(SimDamage::Corrupt), 2, &[Damage::Corrupt]),
        (other(SimDamage::Foreign), 2, &[Damage::Foreign]),
    ] {
        for check in CHECKS {
            let verified = simulate(&written_over(check, rounds), faults).verified.unwrap();
            let found: Vec<_> = verified.damage.keys().copied().collect();
            // Without a checksum a flipped bit is only seen in headers and marks.
            let blind = check == Checksum::Header && found.is_empty() && kinds == [Damage::Corrupt];
            assert!(found == kinds || blind, "{check:?} {faults:?}: {verified:?}");
            assert_eq!(verified.damage.values().sum::<u64>(), verified.wrong);
            assert!(
                verified.first.iter().all(|finding| finding.damage.is_some_and(|kind| kinds.contains(&kind)))
            );
        }
    }
}

#[test]
fn damage_is_found_as_reads_come_back() {
    for faults in
        [SimFaults { lost: 0.02, ..SimFaults::default() }, SimFaults { torn: 0.02, ..SimFaults::default() }]
    {
        for check in CHECKS {
            let outcome = simulate(&task(check, 6000), faults);
            let verified = outcome.verified.unwrap();
            assert!(verified.wrong > 0, "{check:?} {faults:?}: {verified:?}");
            let tally = outcome.errors.iter().find(|tally| tally.class == ErrorClass::Verify);
            assert!(tally.is_some_and(|tally| tally.kind == OpKind::Read), "{:?}", outcome.errors);
        }
    }
}

#[test]
fn what_is_found_wrong_can_end_the_phase() {
    let faults = SimFaults { lost: 0.05, ..SimFaults::default() };
    let on_error = OnError { stop: vec![ErrorClass::Verify], ..OnError::default() };
    let outcome = simulate(&FileTask { errors: on_error, ..task(Checksum::Crc32c, 1_000_000) }, faults);
    let Ending::Failed(reason) = &outcome.ending else { panic!("{:?}", outcome.ending) };
    assert!(reason.contains("differs from the data written"), "{reason}");
    assert!(outcome.totals.operations(OpKind::Read) < 500_000);
}

#[test]
fn writes_that_failed_are_not_compared() {
    let faults = SimFaults { error: 0.1, short: 0.1, ..SimFaults::default() };
    let verified = simulate(&task(Checksum::Xxh3, 4000), faults).verified.unwrap();
    assert_eq!(verified.wrong, 0, "{verified:?}");
    assert!(verified.unknown > 0 && verified.unreadable > 0, "{verified:?}");
}

#[test]
fn mixed_sizes_are_verified_unit_by_unit() {
    let range = SizeLaw::Range { min: Bytes(1024), max: Bytes(8192), multiple: Bytes(1024) };
    let mut task = task(Checksum::Crc32c, 3000);
    task.sizes = Some(Sizes::alike(range, Bytes(1024)));
    task.verify.as_mut().unwrap().unit = Bytes(1024);
    let verified = simulate(&task, SimFaults::default()).verified.unwrap();
    assert_eq!(verified.wrong, 0, "{verified:?}");
    assert!(verified.units >= 1024, "{verified:?}");
    let torn = simulate(&task, SimFaults { torn: 0.05, ..SimFaults::default() }).verified.unwrap();
    assert!(torn.wrong > 0);
}

fn backends() -> Vec<BackendKind> {
    let mut kinds = vec![BackendKind::Sync, BackendKind::Mmap, BackendKind::Threads];
    match iolite_sys::ring::available() {
        Ok(()) => kinds.push(BackendKind::IoUring(RingOptions::default())),
        Err(error) => eprintln!("skipped: io_uring is not available here: {error}"),
    }
    if iolite_sys::aio::available().is_ok() {
        kinds.push(BackendKind::Libaio);
    }
    kinds
}

struct Fixture {
    dir: tempfile::TempDir,
    scratch: Scratch,
}

impl Fixture {
    fn new() -> Fixture {
        let dir = tempfile::tempdir().unwrap();
        let scratch = Scratch::create(dir.path(), &RunId("test".into())).unwrap();
        Fixture { dir, scratch }
    }

    fn file(&self) -> PathBuf {
        let path = self.dir.path().join("data");
        File::create(&path).unwrap().set_len(256 * BLOCK).unwrap();
        path
    }

    fn run(&mut self, task: &FileTask) -> Outcome {
        let control = Control::default();
        run_file_task(task, 0, &mut self.scratch, Clock::best(), &control, &mut NullSink).unwrap()
    }
}

fn on_file(path: &Path, backend: BackendKind, check: Checksum) -> FileTask {
    let (path, size, offset) = (path.to_owned(), Bytes(0), Bytes(0));
    let concurrency = if backend.is_synchronous() { 2 } else { 8 };
    FileTask {
        target: Target::Existing(ExistingTarget { path, offset, size, overwrite: Overwrite::Anything }),
        backend,
        concurrency,
        ..task(check, 3000)
    }
}

fn later(state: &Path) -> Verified {
    SavedState::load(state).unwrap().verify(Clock::best(), &Control::default()).unwrap()
}

#[test]
fn a_state_reports_later_what_has_changed_on_any_back_end() {
    for backend in backends() {
        let mut place = Fixture::new();
        let (path, state) = (place.file(), place.dir.path().join("state"));
        let mut task = on_file(&path, backend, Checksum::Crc32c);
        task.verify.as_mut().unwrap().state = Some(state.clone());
        let now = place.run(&task).verified.unwrap();
        assert_eq!((now.wrong, now.unreadable), (0, 0), "{backend:?}: {now:?}");
        let good = later(&state);
        assert!(good.units > 200 && good.wrong == 0, "{backend:?}: {good:?}");

        let file = File::options().read(true).write(true).open(&path).unwrap();
        let mut blocks = [[0u8; BLOCK as usize]; 2];
        file.read_exact_at(&mut blocks[0], 10 * BLOCK).unwrap();
        file.read_exact_at(&mut blocks[1], 11 * BLOCK).unwrap();
        // One block in the place of another, one bit, one block of zeros, and the end cut off.
        file.write_all_at(&blocks[0], 11 * BLOCK).unwrap();
        file.read_exact_at(&mut blocks[1], 20 * BLOCK).unwrap();
        blocks[1][3000] ^= 8;
        file.write_all_at(&blocks[1], 20 * BLOCK).unwrap();
        file.write_all_at(&[0; BLOCK as usize], 30 * BLOCK).unwrap();
        file.set_len(250 * BLOCK + 10).unwrap();
        let found = SavedState::load(&state).unwrap().verify(Clock::best(), &Control::default());
        // The span no longer exists as a whole: said, rather than compared in part.
        assert!(found.unwrap_err().to_string().contains("offset"), "{backend:?}");
        file.set_len(256 * BLOCK).unwrap();
        let bad = later(&state);
        let places: Vec<_> = bad.first.iter().map(|finding| finding.offset / BLOCK).collect();
        for block in [11, 20, 30] {
            assert!(places.contains(&block), "{backend:?}: {bad:?}");
        }
        assert!((8..=9).contains(&bad.wrong), "{backend:?}: {bad:?}");
        let kind = |block| bad.first.iter().find(|finding| finding.offset == block * BLOCK).unwrap().damage;
        let kinds = [kind(11), kind(20), kind(30)];
        let expected = [Damage::Misplaced, Damage::Corrupt, Damage::Lost].map(Some);
        assert_eq!(kinds, expected, "{backend:?}: {bad:?}");
        newer(&path, &state, &file);
    }
}

/// A write that the state does not know is newer than what it knows.
fn newer(path: &Path, state: &Path, file: &File) {
    let text = std::fs::read(state).unwrap();
    let head = text.split(|byte| *byte == b'\n').nth(1).unwrap();
    let head: serde_json::Value = serde_json::from_slice(head).unwrap();
    let mut unit = vec![7; BLOCK as usize];
    let seal = Seal::new(Checksum::Crc32c, BLOCK as u32, head["run"].as_u64().unwrap()).unwrap();
    seal.stamp(&mut unit, 20 * BLOCK, 1_000_000);
    file.write_all_at(&unit, 20 * BLOCK).unwrap();
    let found = later(state);
    let finding = found.first.iter().find(|finding| finding.offset == 20 * BLOCK).unwrap();
    assert_eq!(finding.damage, Some(Damage::Newer), "{}: {found:?}", path.display());
}

#[test]
fn data_of_an_earlier_run_is_not_taken_for_this_ones() {
    let mut place = Fixture::new();
    let (path, states) = (place.file(), [1, 2].map(|run| place.dir.path().join(format!("state{run}"))));
    for state in &states {
        let mut task = on_file(&path, BackendKind::Sync, Checksum::Xxh3);
        task.mix = Mix::Write;
        task.access = Access::Sequential;
        task.stop = Stop { loops: Some(1), ..Stop::default() };
        task.verify.as_mut().unwrap().state = Some(state.clone());
        place.run(&task);
    }
    assert_eq!(later(&states[1]).wrong, 0);
    let first = later(&states[0]);
    assert_eq!((first.wrong, first.units), (256, 256), "{first:?}");
    assert!(first.first[0].what.contains("run"), "{first:?}");
}

#[test]
fn an_open_loop_can_be_verified() {
    let mut task = task(Checksum::Crc32c, 0);
    task.arrival = Arrival::Constant(iolite_model::Iops(5000.0));
    task.stop = Stop { runtime: Some(Nanos(400_000_000)), ..Stop::default() };
    let verified = simulate(&task, SimFaults::default()).verified.unwrap();
    assert!(verified.units > 100 && verified.wrong == 0, "{verified:?}");
}

/// Writes in three rounds, or with a backlog, are read back meanwhile: each once, by its size, and none of that is measured.
#[test]
fn what_was_written_is_verified_during_the_phase() {
    let during = |passes, backlog| {
        let backlog_batch = backlog / 2;
        let verify =
            Verify { passes, backlog, backlog_batch, block: Bytes(BLOCK), ..verify(Checksum::Crc32c) };
        FileTask { verify: Some(verify), direct: true, ..written_over(Checksum::Crc32c, 3) }
    };
    for (passes, backlog, expected) in [(0, 0, 256), (3, 0, 3 * 256), (0, 7, 3 * 256), (3, 7, 3 * 256)] {
        let outcome = simulate(&during(passes, backlog), SimFaults::default());
        let what = format!("{passes} passes, a backlog of {backlog}");
        assert_eq!(outcome.ending, Ending::Completed, "{what}");
        let (read, verified) = (outcome.read_back.unwrap(), outcome.verified.unwrap());
        assert_eq!((verified.wrong, verified.unreadable, verified.unknown), (0, 0, 0), "{what}");
        assert_eq!((read.operations(OpKind::Read), verified.units), (expected, expected), "{what}");
        assert_eq!(read.bytes(OpKind::Read), expected * BLOCK, "{what}");
        assert_eq!(outcome.totals.operations(OpKind::Read), 0, "{what}");
        assert_eq!(outcome.totals.operations(OpKind::Write), 3 * 256, "{what}");
        assert!(read.measured > 0, "{what}");
    }
}

/// The first round's damage ends the phase before the second.
#[test]
fn damage_that_is_found_during_the_phase_ends_it() {
    let faults = SimFaults { damage: Some((SimDamage::Corrupt, 0.05)), ..SimFaults::default() };
    let verify = Verify { passes: 4, ..verify(Checksum::Crc32c) };
    let ends = OnError { stop: vec![ErrorClass::Verify], ..OnError::default() };
    let task = FileTask { verify: Some(verify), errors: ends, ..written_over(Checksum::Crc32c, 4) };
    let outcome = simulate(&task, faults);
    let Ending::Failed(reason) = &outcome.ending else { panic!("{:?}", outcome.ending) };
    assert!(reason.contains("verification"), "{reason}");
    assert!(outcome.verified.unwrap().wrong > 0);
    assert_eq!(outcome.totals.operations(OpKind::Write), 256);
    // Otherwise it goes on.
    let outcome =
        simulate(&FileTask { errors: OnError { stop: Vec::new(), ..task.errors.clone() }, ..task }, faults);
    assert_eq!((outcome.ending, outcome.totals.operations(OpKind::Write)), (Ending::Completed, 1024));
}

/// A write of several units is read back as one, also where writes of other sizes are beside it.
#[test]
fn writes_of_several_sizes_are_read_back_by_their_sizes() {
    let law = SizeLaw::Range { min: Bytes(BLOCK), max: Bytes(4 * BLOCK), multiple: Bytes(BLOCK) };
    let by_write = |by_write| {
        let verify =
            Verify { unit: Bytes(BLOCK), block: Bytes(4 * BLOCK), by_write, ..verify(Checksum::Crc32c) };
        let sizes = Some(Sizes::alike(law.clone(), Bytes(BLOCK)));
        let task = FileTask { verify: Some(verify), sizes, ..written_over(Checksum::Crc32c, 1) };
        simulate(&FileTask { access: Access::Sequential, ..task }, SimFaults::default())
    };
    let (apart, joined) = (by_write(true), by_write(false));
    let reads = |outcome: &Outcome| outcome.read_back.as_ref().unwrap().operations(OpKind::Read);
    assert_eq!(reads(&apart), apart.totals.operations(OpKind::Write));
    assert!(reads(&joined) < reads(&apart), "{} of {}", reads(&joined), reads(&apart));
}
