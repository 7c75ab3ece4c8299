//! Zoned devices: a simulated one, which refuses every write that is not at a write pointer, and files used as if they had zones.

// Helpers of tests may give up as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

#[path = "zoned/device.rs"]
mod device;
#[path = "zoned/files.rs"]
mod files;

use std::collections::BTreeSet;

use iolite_engine::Outcome;
use iolite_model::{
    Access, Bytes, Ending, ErrorCause, ErrorClass, FileTask, Mix, Nanos, OnError, OpKind, Regions, Stop,
    Target, ZoneResets, Zoned,
};

use device::{BLOCK, CAPACITY, Device, ZONE, ZONES};

fn blocks(count: u64) -> Stop {
    Stop { operations: Some(count), ..Stop::default() }
}

fn task(mix: Mix, access: Access, stop: Stop, zoned: Zoned) -> FileTask {
    FileTask {
        name: "zoned".into(),
        target: Target::Null { size: Bytes(ZONES * ZONE) },
        mix,
        access,
        regions: Regions::Shared,
        block: Bytes(BLOCK),
        stop,
        zoned: Some(zoned),
        interval: Nanos(20_000_000),
        ..FileTask::default()
    }
}

fn succeeds(outcome: &Outcome) {
    assert_eq!((&outcome.ending, outcome.errors.as_slice()), (&Ending::Completed, [].as_slice()));
}

#[test]
fn random_writes_of_many_workers_are_all_at_write_pointers() {
    for (max_open, per_worker) in [(0, 0), (3, 0), (0, 1), (2, 1), (1, 0)] {
        let device = Device::new();
        let zoned = Zoned { max_open, max_open_per_worker: per_worker, ..Zoned::default() };
        let mut task = task(Mix::Write, Access::Random, blocks(2000), zoned);
        (task.workers, task.concurrency) = (4, 16);
        let outcome = device.run(&task).unwrap();
        succeeds(&outcome);
        assert_eq!(outcome.totals.operations(OpKind::Write), 2000);
        let media = device.media();
        assert_eq!((media.refused, media.writes.len()), (0, 2000));
        // The device's own limit is 6.
        let limit = [max_open, per_worker * 4, 6].into_iter().filter(|limit| *limit > 0).min().unwrap();
        assert!(media.open <= limit as usize, "{} open, {limit} allowed", media.open);
        let used: BTreeSet<u64> = media.writes.iter().map(|(zone, _)| *zone).collect();
        assert!(used.len() == ZONES as usize || max_open == 1, "{used:?}");
        assert!(media.resets.iter().sum::<u64>() > 0, "2000 blocks do not fit without resets");
    }
}

/// Zones that hold some data before, in the region or not, count against what the device lets be active; those in the region are written
/// like others, first of all.
#[test]
fn zones_that_are_open_before_count() {
    let before = [0, 5, 0, 3, 0, 0, 0, 7].map(|blocks| blocks * BLOCK);
    for (access, zones, max_active, max_open, workers) in [
        (Access::Random, ZONES, 3, 0, 1),
        (Access::Random, ZONES, 3, 0, 4),
        (Access::Random, ZONES, 4, 1, 3),
        (Access::Random, 4, 3, 0, 4),
        (Access::Sequential, ZONES, 3, 0, 1),
        (Access::Sequential, ZONES, 4, 2, 1),
        (Access::Sequential, 4, 3, 0, 1),
    ] {
        let device = Device::new();
        (device.media().written, device.media().max_active) = (before.to_vec(), Some(max_active));
        let zoned = Zoned { max_open, ..Zoned::default() };
        let mut task = task(Mix::Write, access, blocks(400), zoned);
        task.target = Target::Null { size: Bytes(zones * ZONE) };
        (task.workers, task.concurrency) = (workers, 2 * workers);
        let outcome = device.run(&task).unwrap();
        let what = format!("{:?}, {zones} zones, {max_active} active, {max_open} open", task.access);
        succeeds(&outcome);
        let media = device.media();
        assert_eq!((media.refused, media.writes.len()), (0, 400), "{what}");
        assert!(media.open <= max_active as usize, "{what}: {} open", media.open);
        if zones < ZONES {
            assert_eq!(media.written[7], 7 * BLOCK, "{what}: not in the region");
        }
        // Three are open already: until one is full no other is begun.
        if task.access == Access::Random && zones == ZONES {
            let full = media.writes.iter().position(|(_, within)| *within + BLOCK == CAPACITY).unwrap();
            let first: BTreeSet<u64> = media.writes[..full].iter().map(|(zone, _)| *zone).collect();
            assert!(first.is_subset(&BTreeSet::from([1, 3, 7])), "{what}: {first:?}");
        }
    }
}

#[test]
fn a_device_whose_zones_are_all_open_elsewhere_is_refused() {
    let device = Device::new();
    device.media().written[6..].fill(BLOCK);
    device.media().max_active = Some(2);
    let mut task = task(Mix::Write, Access::Random, blocks(10), Zoned::default());
    task.target = Target::Null { size: Bytes(4 * ZONE) };
    let refused = device.run(&task).unwrap_err().to_string();
    assert!(refused.contains("2 zones") && refused.contains("blkzone"), "{refused}");
    // Who only reads needs none.
    succeeds(&device.run(&FileTask { mix: Mix::Read, ..task }).unwrap());
}

#[test]
fn writes_in_sequence_fill_one_zone_after_the_other_up_to_its_capacity() {
    let device = Device::new();
    let per_zone = CAPACITY / BLOCK;
    let task = task(Mix::Write, Access::Sequential, blocks(ZONES * per_zone + 5), Zoned::default());
    succeeds(&device.run(&task).unwrap());
    let media = device.media();
    let expected =
        (0..ZONES).chain([0]).flat_map(|zone| (0..per_zone).map(move |block| (zone, block * BLOCK)));
    let expected: Vec<_> = expected.take((ZONES * per_zone + 5) as usize).collect();
    assert_eq!(media.writes, expected);
    // The first was full when it was written again.
    assert_eq!((media.resets.iter().sum::<u64>(), media.resets[0], media.refused, media.open), (1, 1, 0, 1));
    drop(media);
    // With operations in flight a zone's last write and the first one of the next may overlap, and no others.
    let deep = FileTask { concurrency: 8, ..task };
    succeeds(&device.run(&deep).unwrap());
    let media = device.media();
    assert_eq!((media.refused, media.open), (0, 2));
}

/// Checks that the remedy of a cause is named. docs/errors.md lists each call as the test of that cause.
fn produced(cause: ErrorCause, text: &str) {
    assert!(text.contains(cause.remedy()), "{cause:?}: {text}");
}

#[test]
fn resets_that_are_refused_have_the_remedy_of_their_cause() {
    let refused = |error: i32| {
        let device = Device::new();
        device.media().no_resets = Some(error);
        let task =
            task(Mix::Write, Access::Sequential, blocks(ZONES * CAPACITY / BLOCK + 1), Zoned::default());
        let outcome = device.run(&task).unwrap();
        let Ending::Failed(text) = outcome.ending else { panic!("a zone that is full is written") };
        assert_eq!(device.media().writes.len() as u64, ZONES * CAPACITY / BLOCK);
        text
    };
    produced(ErrorCause::ZonesNotPermitted, &refused(13));
    produced(ErrorCause::ZonesUnsupported, &refused(95));
    produced(ErrorCause::Device, &refused(5));
}

#[test]
fn zones_may_be_left_out_and_what_is_written_is_gone_on_with() {
    let device = Device::new();
    device.media().written[2] = 3 * BLOCK;
    let zoned = Zoned { skip: Bytes(ZONE), ..Zoned::default() };
    succeeds(&device.run(&task(Mix::Write, Access::Sequential, blocks(15), zoned)).unwrap());
    let media = device.media();
    assert_eq!(media.writes[11..], [(0, 11 * BLOCK), (2, 3 * BLOCK), (2, 4 * BLOCK), (2, 5 * BLOCK)]);
    assert_eq!(media.resets.iter().sum::<u64>(), 0);
    drop(media);
    let odd = Zoned { skip: Bytes(BLOCK), ..Zoned::default() };
    let refused = device.run(&task(Mix::Write, Access::Sequential, blocks(1), odd)).unwrap_err().to_string();
    assert!(refused.contains("multiple of the size of a zone"), "{refused}");
}

#[test]
fn what_does_not_fit_finishes_its_zone_or_is_shortened() {
    // Three blocks of capacity 12 are 4 writes; of 5 blocks each there is a remainder of 2.
    for (write_remainder, finishes) in [(false, 1), (true, 0)] {
        let device = Device::new();
        let zoned = Zoned { write_remainder, ..Zoned::default() };
        let mut task = task(Mix::Write, Access::Sequential, blocks(4), zoned);
        task.block = Bytes(5 * BLOCK);
        let outcome = device.run(&task).unwrap();
        succeeds(&outcome);
        let media = device.media();
        let third = if write_remainder { (0, 10 * BLOCK) } else { (1, 0) };
        assert_eq!((media.writes[2], media.finishes, media.refused), (third, finishes, 0));
        let bytes = if write_remainder { 17 } else { 20 };
        assert_eq!(outcome.totals.bytes(OpKind::Write), bytes * BLOCK);
    }
    let mut large = task(
        Mix::Write,
        Access::Sequential,
        blocks(4),
        Zoned { size: Bytes(ZONE), capacity: Bytes(CAPACITY), ..Zoned::default() },
    );
    large.block = Bytes(13 * BLOCK);
    assert!(Device::new().run(&large).unwrap_err().to_string().contains("no operation fits into a zone"));
}

#[test]
fn reads_stay_below_write_pointers() {
    let device = Device::new();
    device.media().written = [12, 0, 5, 12, 0, 1, 0, 12].map(|blocks| blocks * BLOCK).to_vec();
    let mut random = task(Mix::Read, Access::Random, blocks(3000), Zoned::default());
    random.concurrency = 8;
    let outcome = device.run(&random).unwrap();
    succeeds(&outcome);
    assert_eq!(outcome.totals.operations(OpKind::Read), 3000);
    let read: BTreeSet<u64> = std::mem::take(&mut device.media().reads).into_iter().collect();
    assert_eq!(
        (device.media().beyond, read.len()),
        (0, 12 + 5 + 12 + 1 + 12),
        "each block with data is read"
    );

    // In sequence: once through the data, although the region is larger.
    let bytes = Stop { bytes: Some(Bytes(ZONES * ZONE)), ..Stop::default() };
    let outcome = device.run(&task(Mix::Read, Access::Sequential, bytes, Zoned::default())).unwrap();
    assert_eq!((outcome.totals.operations(OpKind::Read), device.media().beyond), (42, 0));
    let in_order = std::mem::take(&mut device.media().reads);
    assert!(in_order.is_sorted() && in_order.len() == 42, "{in_order:?}");

    let beyond = Zoned { read_beyond: true, ..Zoned::default() };
    device.run(&task(Mix::Read, Access::Random, blocks(500), beyond)).unwrap();
    assert!(device.media().beyond > 0);

    let empty = Device::new();
    let outcome = empty.run(&task(Mix::Read, Access::Random, blocks(10), Zoned::default())).unwrap();
    assert_eq!(outcome.totals.operations(OpKind::Read), 0, "there is nothing to read");
}

#[test]
fn a_mix_reads_what_it_has_written() {
    let device = Device::new();
    let mut task =
        task(Mix::ReadPercent(50), Access::Random, blocks(4000), Zoned { max_open: 4, ..Zoned::default() });
    (task.workers, task.concurrency) = (2, 8);
    let outcome = device.run(&task).unwrap();
    succeeds(&outcome);
    let (reads, writes) = (outcome.totals.operations(OpKind::Read), outcome.totals.operations(OpKind::Write));
    assert_eq!(reads + writes, 4000);
    assert!((1600..2400).contains(&reads), "{reads} reads");
    let media = device.media();
    assert_eq!(media.refused, 0);
    // A zone may be reset between the issue of a read and its execution, as on a real device.
    assert!(media.beyond < reads / 4, "{} of {reads} reads found nothing", media.beyond);
}

#[test]
fn trims_reset_the_zones_that_hold_data() {
    for access in [Access::Sequential, Access::Random] {
        let device = Device::new();
        device.media().written = [12, 0, 5, 12, 0, 1, 0, 12].map(|blocks| blocks * BLOCK).to_vec();
        let mut task = task(Mix::Trim, access, blocks(100), Zoned::default());
        task.concurrency = 4;
        let outcome = device.run(&task).unwrap();
        succeeds(&outcome);
        assert_eq!(device.media().resets, [1, 0, 1, 1, 0, 1, 0, 1]);
        assert_eq!(device.media().written, [0; 8]);
        assert_eq!(
            (outcome.totals.operations(OpKind::Trim), outcome.totals.bytes(OpKind::Trim)),
            (5, 5 * ZONE)
        );
    }
}

#[test]
fn zones_are_reset_as_often_as_asked_once_there_is_enough_data() {
    let resets = |threshold, frequency| {
        let device = Device::new();
        let zoned = Zoned { resets: Some(ZoneResets { threshold, frequency }), ..Zoned::default() };
        succeeds(&device.run(&task(Mix::Write, Access::Random, blocks(60), zoned)).unwrap());
        let media = device.media();
        assert_eq!(media.refused, 0);
        media.resets.iter().sum::<u64>()
    };
    // Sixty of 96 blocks fit without a reset, more than half and less than 0.9.
    let (never, seldom, often) = (resets(0.9, 1.0), resets(0.5, 0.1), resets(0.1, 0.5));
    assert_eq!(never, 0);
    assert!((1..=3).contains(&seldom) && (5..=30).contains(&often), "{seldom}, {often}");
}

#[test]
fn after_a_failed_write_the_write_pointer_is_read_again_where_that_is_asked_for() {
    for recover in [true, false] {
        let device = Device::new();
        device.media().fails = Some(3);
        let mut task =
            task(Mix::Write, Access::Sequential, blocks(10), Zoned { recover, ..Zoned::default() });
        task.errors = OnError::default();
        let outcome = device.run(&task).unwrap();
        let failed: u64 = outcome
            .errors
            .iter()
            .filter(|tally| tally.class == ErrorClass::Device)
            .map(|tally| tally.count)
            .sum();
        let media = device.media();
        if recover {
            // Half a block was written: the next write goes on there.
            assert_eq!((failed, media.refused, media.writes[3]), (1, 0, (0, 3 * BLOCK + BLOCK / 2)));
        } else {
            assert_eq!((failed, media.refused, media.writes.len()), (7, 6, 3));
        }
    }
}

#[test]
fn conventional_zones_are_written_anywhere() {
    let device = Device::new();
    device.media().conventional = true;
    succeeds(&device.run(&task(Mix::Write, Access::Random, blocks(800), Zoned::default())).unwrap());
    let first: BTreeSet<u64> = {
        let media = device.media();
        assert_eq!((media.refused, media.resets[0]), (0, 0));
        media.writes.iter().filter(|(zone, _)| *zone == 0).map(|(_, within)| *within).collect()
    };
    assert!(first.len() > 10 && first.iter().any(|within| *within >= CAPACITY), "{first:?}");
}

#[test]
fn what_cannot_be_is_refused() {
    let device = Device::new();
    let refused =
        |zoned| device.run(&task(Mix::Write, Access::Random, blocks(1), zoned)).unwrap_err().to_string();
    let many = refused(Zoned { max_open: 7, ..Zoned::default() });
    assert!(many.contains("lets 6 zones be open, not 7"), "{many}");
    device
        .run(&task(
            Mix::Write,
            Access::Random,
            blocks(1),
            Zoned { max_open: 7, ignore_limits: true, ..Zoned::default() },
        ))
        .unwrap();
    let resets = Some(ZoneResets { threshold: 2.0, frequency: 0.5 });
    assert!(refused(Zoned { resets, ..Zoned::default() }).contains("between 0 and 1"));
    let mut small = task(Mix::Write, Access::Random, blocks(1), Zoned::default());
    small.target = Target::Null { size: Bytes(ZONE / 2) };
    assert!(device.run(&small).unwrap_err().to_string().contains("no zone of"));
}
