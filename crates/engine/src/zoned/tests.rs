//! Whose turn it is to open a zone.

use std::io;
use std::sync::{Arc, Mutex};

use iolite_model::{Bytes, FileTask, Mix, Target, Zoned};
use iolite_sys::zoned::{Zone, ZoneKind};
use iolite_workload::{IoKind, PlannedOp};

use super::ZonesOfTask;
use super::device::{AssumedZones, ZoneDevice};
use super::seat::{Placement, ZoneOrder, ZoneSeat, lock};
use super::table::ZoneTable;
use crate::backend::IoOp;
use crate::error::EngineError;

/// Four zones of 8 KiB, of which one may be open.
fn table() -> Arc<Mutex<ZoneTable>> {
    let device = AssumedZones { whole: 32 << 10, size: 8 << 10, capacity: 8 << 10 };
    let mut table = ZoneTable::new(Arc::new(device), 8 << 10, (0, 32 << 10)).unwrap();
    table.limit(Some(1));
    table.limit(Some(3));
    Arc::new(Mutex::new(table))
}

fn seat(table: &Arc<Mutex<ZoneTable>>, region: std::ops::Range<usize>) -> ZoneSeat {
    let (terms, task) = (Zoned::default(), "t".to_owned());
    let base = region.start as u64 * (8 << 10);
    let order = ZoneOrder { terms, sequential: true, fills: false, real: false, passes: 1, base, task };
    ZoneSeat::new(table.clone(), region, order)
}

const WRITE: PlannedOp = PlannedOp { kind: IoKind::Write, offset: 0, length: 4096 };

/// Where a write goes, in bytes from the seat's base, when it is over at once.
fn write(seat: &mut ZoneSeat, base: u64) -> Option<u64> {
    match seat.place(WRITE).unwrap() {
        Placement::Now(op) => {
            seat.back(IoOp::Write, op.offset + base, op.length, true);
            Some(op.offset)
        }
        Placement::Later => None,
        other => panic!("{other:?}"),
    }
}

#[test]
fn whoever_waits_for_a_zone_gets_the_next_one() {
    let table = table();
    let (mut one, mut other) = (seat(&table, 0..2), seat(&table, 2..4));
    let open = || lock(&table).open();
    assert_eq!((write(&mut one, 0), write(&mut other, 16 << 10)), (Some(0), None));
    assert_eq!(open(), 1);
    // The first zone is full; the one who has filled it does not open the next before the other.
    assert_eq!(write(&mut one, 0), Some(4096));
    assert_eq!(open(), 0);
    assert_eq!((write(&mut one, 0), write(&mut other, 16 << 10), write(&mut one, 0)), (None, Some(0), None));
    // The zone of one that is gone is finished for the next one that waits.
    drop(other);
    assert_eq!(open(), 1);
    assert_eq!((write(&mut one, 0), write(&mut one, 0)), (None, Some(8192)));
    assert_eq!(open(), 1);
    assert_eq!(lock(&table).resets(), 0);
}

#[test]
fn a_zone_has_one_write_in_flight() {
    let table = table();
    let mut seat = seat(&table, 0..4);
    assert!(matches!(seat.place(WRITE), Ok(Placement::Now(PlannedOp { offset: 0, .. }))));
    assert_eq!(seat.place(WRITE).unwrap(), Placement::Later);
    seat.back(IoOp::Write, 0, 4096, true);
    assert!(matches!(seat.place(WRITE), Ok(Placement::Now(PlannedOp { offset: 4096, .. }))));
    // What failed has not been written.
    seat.back(IoOp::Write, 4096, 4096, false);
    assert_eq!(
        seat.place(PlannedOp { kind: IoKind::Read, ..WRITE }).unwrap(),
        Placement::Now(PlannedOp { kind: IoKind::Read, ..WRITE })
    );
    assert_eq!(seat.place(PlannedOp { kind: IoKind::Read, ..WRITE }).unwrap(), Placement::Over);
}

/// Four zones of 8 KiB, of which two may be active; the first two are, each with a block.
#[derive(Debug)]
struct HalfActive;

impl ZoneDevice for HalfActive {
    fn report(&self, _from: u64, _to: u64) -> io::Result<Vec<Zone>> {
        let zone = |number: u64| {
            let (start, active) = (number * (8 << 10), number < 2);
            let write_pointer = start + if active { 4096 } else { 0 };
            let (length, capacity) = (8 << 10, 8 << 10);
            Zone { start, length, capacity, write_pointer, kind: ZoneKind::Sequential, active }
        };
        Ok((0..4).map(zone).collect())
    }

    fn reset(&self, _start: u64, _length: u64) -> io::Result<()> {
        Ok(())
    }

    fn finish(&self, _start: u64, _length: u64) -> io::Result<()> {
        Ok(())
    }

    fn max_open(&self) -> Option<u32> {
        None
    }

    fn max_active(&self) -> Option<u32> {
        Some(2)
    }
}

/// Tasks with these zones (the first, and the one after the last) and mixes start together on the device.
fn start_together(tasks: &[(u64, u64, Mix)]) -> Result<Vec<ZonesOfTask>, EngineError> {
    let zone = 8 << 10;
    let mut members = Vec::new();
    for (first, end, mix) in tasks {
        let (offset, size) = (first * zone, (end - first) * zone);
        let target = Target::Null { size: Bytes(size) };
        let task = FileTask { name: "t".into(), mix: *mix, target, ..FileTask::default() };
        let (device, identity) = (Arc::new(HalfActive), Some((1, 1)));
        let zones = ZonesOfTask::over(&task, Zoned::default(), device, zone, (offset, size), true, identity)?;
        members.push((task, zones));
    }
    ZonesOfTask::share(members.iter_mut().map(|(task, zones)| (&*task, zones)))?;
    Ok(members.into_iter().map(|(_, zones)| zones).collect())
}

/// Zones that are active in the region of a task that writes are its own, for the others as well.
#[test]
fn tasks_on_one_device_are_judged_together() {
    let refused = |tasks: &[(u64, u64, Mix)]| start_together(tasks).unwrap_err().to_string();
    assert!(refused(&[(2, 4, Mix::Write)]).contains("2 zones of the device outside its region"));
    assert!(refused(&[(0, 2, Mix::Read), (2, 4, Mix::Write)]).contains("2 zones"), "nobody finishes them");
    for tasks in [[(0, 2, Mix::Write), (2, 4, Mix::Write)], [(2, 4, Mix::Write), (0, 2, Mix::Write)]] {
        let zones = start_together(&tasks).unwrap();
        assert!(zones.iter().all(|own| Arc::ptr_eq(&own.table, &zones[0].table)));
    }
    start_together(&[(2, 4, Mix::Trim)]).unwrap();
}
