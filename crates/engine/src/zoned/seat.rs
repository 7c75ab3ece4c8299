//! Where a worker's operations go on a device with zones.

use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use iolite_model::Zoned;
use iolite_workload::{IoKind, PlannedOp};

use super::table::{ZoneState, ZoneTable};
use crate::backend::IoOp;

/// What becomes of a planned operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Placement {
    /// It goes here.
    Now(PlannedOp),
    /// All zones that it could go to are in use: ask again.
    Later,
    /// There is no data for it yet: another kind of operation comes first.
    Skip,
    /// There is nothing left for it.
    Over,
}

/// The zone, and the offset within it, at which a sequential order goes on.
#[derive(Debug, Clone, Copy)]
struct Cursor {
    zone: usize,
    offset: u64,
}

/// What a worker is to do with zones.
#[derive(Debug, Clone)]
pub(crate) struct ZoneOrder {
    pub(crate) terms: Zoned,
    /// Zones follow one another, whatever offsets are planned.
    pub(crate) sequential: bool,
    /// Writes come along with its reads and trims, so that there will be data.
    pub(crate) fills: bool,
    /// The zones are the device's own; of others it is not known what they hold, and trims are for all of them.
    pub(crate) real: bool,
    /// Times that reads in sequence go through the region.
    pub(crate) passes: u64,
    /// First byte of the region, which planned offsets count from.
    pub(crate) base: u64,
    /// Name of the task.
    pub(crate) task: String,
}

/// A worker's seat at the zones of a device. The zones that it has opened are for others when it is dropped.
#[derive(Debug)]
pub(crate) struct ZoneSeat {
    table: Arc<Mutex<ZoneTable>>,
    number: u64,
    order: ZoneOrder,
    region: Range<usize>,
    /// Zones from one to the next in sequential orders.
    step: usize,
    reads: Cursor,
    writes: Cursor,
    trims: Cursor,
    passes_left: u64,
    /// Resets that are due, of which the fraction is kept.
    due: f64,
    /// An operation that has to wait.
    pending: Option<PlannedOp>,
}

impl ZoneSeat {
    /// A seat for these zones of the table, at least one.
    pub(crate) fn new(table: Arc<Mutex<ZoneTable>>, region: Range<usize>, order: ZoneOrder) -> ZoneSeat {
        let (number, size) = {
            let mut table = lock(&table);
            (table.seat(), table.size())
        };
        let step = 1 + (order.terms.skip.0 / size) as usize;
        let start = Cursor { zone: region.start, offset: 0 };
        let passes_left = order.passes;
        let (reads, writes, trims) = (start, start, start);
        ZoneSeat {
            table,
            number,
            order,
            region,
            step,
            reads,
            writes,
            trims,
            passes_left,
            due: 0.0,
            pending: None,
        }
    }

    /// Name of the task.
    pub(crate) fn task(&self) -> &str {
        &self.order.task
    }

    /// The operation that waits.
    pub(crate) fn take_pending(&mut self) -> Option<PlannedOp> {
        self.pending.take()
    }

    /// An operation has to wait.
    pub(crate) fn keep(&mut self, planned: PlannedOp) {
        self.pending = Some(planned);
    }

    /// Where an operation goes. What goes somewhere now is to be reported when it is [`back`](ZoneSeat::back).
    ///
    /// # Errors
    /// A zone could not be reset or finished.
    pub(crate) fn place(&mut self, planned: PlannedOp) -> io::Result<Placement> {
        let table = self.table.clone();
        let mut table = lock(&table);
        match planned.kind {
            IoKind::Sync(_) => Ok(Placement::Now(planned)),
            IoKind::Write => self.write(&mut table, planned),
            IoKind::Read => Ok(self.read(&table, planned)),
            IoKind::Trim => Ok(self.trim(&mut table, planned)),
        }
    }

    /// An operation that was placed is over; its offset is the file's.
    pub(crate) fn back(&mut self, io: IoOp, offset: u64, length: u32, done: bool) {
        let mut table = lock(&self.table);
        let index = table.index_of(offset);
        if table.state(index).is_none_or(|state| !state.is_sequential()) {
            return;
        }
        match io {
            IoOp::Write | IoOp::LinkedWrite => {
                let up_to = if done {
                    Some(offset + u64::from(length))
                } else if self.order.terms.recover {
                    // Where that fails as well, the next write fails.
                    table.ask(index).unwrap_or(None)
                } else {
                    None
                };
                table.written(index, up_to);
            }
            IoOp::Trim => table.was_reset(index, done),
            IoOp::Read | IoOp::Sync(_) => {}
        }
    }

    fn write(&mut self, table: &mut ZoneTable, planned: PlannedOp) -> io::Result<Placement> {
        let length = u64::from(planned.length);
        let mut index = if self.order.sequential { self.writes.zone } else { self.zone_of(table, &planned) };
        let mut later = false;
        for _ in 0..self.region.len() {
            let state = table.state(index).filter(|state| self.fits(state, length));
            match state {
                Some(state) if !state.is_sequential() => {
                    if let Some(placed) = self.anywhere(&state, index, planned) {
                        return Ok(placed);
                    }
                }
                Some(state) if state.busy => later = true,
                Some(state)
                    if state.left() > 0 && state.left() < length && !self.order.terms.write_remainder =>
                {
                    table.finish(index)?;
                    self.writes.zone = self.next(index).0;
                }
                Some(state)
                    if state.is_open()
                        || table.may_open(index, self.number, self.order.terms.max_open_per_worker) =>
                {
                    return self.write_to(table, index, state, planned);
                }
                Some(_) => later = true,
                None => {}
            }
            if later && self.order.sequential {
                break;
            }
            index = self.next(index).0;
        }
        if later {
            table.finish_abandoned(self.number)?;
        }
        Ok(if later { Placement::Later } else { Placement::Over })
    }

    /// Whether a zone is of use for writes of this length.
    fn fits(&self, state: &ZoneState, length: u64) -> bool {
        use iolite_sys::zoned::ZoneKind;
        let capacity = state.zone.capacity;
        let large = capacity >= length || (self.order.terms.write_remainder && capacity > 0);
        state.zone.kind != ZoneKind::Unusable && large
    }

    /// Writes at the write pointer of a zone that is open, or may be opened.
    fn write_to(
        &mut self,
        table: &mut ZoneTable,
        index: usize,
        state: ZoneState,
        planned: PlannedOp,
    ) -> io::Result<Placement> {
        let due = self.reset_is_due(table);
        if state.left() == 0 || (due && state.data() > 0) {
            table.reset(index)?;
        }
        let Some(state) = table.state(index) else { return Ok(Placement::Over) };
        let length = u64::from(planned.length).min(state.left());
        table.begin_write(index, self.number);
        if length == state.left() {
            self.writes = Cursor { zone: self.next(index).0, offset: 0 };
        } else {
            self.writes.zone = index;
        }
        Ok(self.now(planned, state.zone.write_pointer, length))
    }

    /// A write or read of a conventional zone; `None` where the order has reached the end of the zone.
    fn anywhere(&mut self, state: &ZoneState, index: usize, planned: PlannedOp) -> Option<Placement> {
        let (length, zone) = (u64::from(planned.length), state.zone);
        let last = zone.length.checked_sub(length)?;
        if !self.order.sequential {
            let within =
                self.file_offset(&planned).checked_sub(zone.start).filter(|within| *within < zone.length);
            return Some(self.now(planned, zone.start + within.unwrap_or(0).min(last), length));
        }
        let offset = if self.writes.zone == index { self.writes.offset } else { 0 };
        if offset > last {
            return None;
        }
        self.writes = Cursor { zone: index, offset: offset + length };
        Some(self.now(planned, zone.start + offset, length))
    }

    /// Whether a zone is to be reset before this write, as garbage collection does.
    fn reset_is_due(&mut self, table: &ZoneTable) -> bool {
        let Some(resets) = self.order.terms.resets else { return false };
        self.due += resets.frequency;
        if self.due < 1.0 {
            return false;
        }
        self.due -= 1.0;
        let (data, all) = table.filled(self.region.clone());
        data as f64 >= resets.threshold * all as f64
    }

    fn read(&mut self, table: &ZoneTable, planned: PlannedOp) -> Placement {
        if self.order.terms.read_beyond {
            return Placement::Now(planned);
        }
        let found =
            if self.order.sequential { self.read_next(table, planned) } else { self.read_at(table, planned) };
        found.unwrap_or(if self.order.fills { Placement::Skip } else { Placement::Over })
    }

    /// Reads at random where there is data: at the planned offset, or else in its zone, or else in the next one with enough.
    fn read_at(&self, table: &ZoneTable, planned: PlannedOp) -> Option<Placement> {
        let length = u64::from(planned.length).max(1);
        let first = self.zone_of(table, &planned);
        let mut index = first;
        for _ in 0..self.region.len() {
            if let Some(state) = table.state(index).filter(|state| state.data() >= length) {
                let within = self.file_offset(&planned).saturating_sub(state.zone.start);
                let within = match index == first && within + length <= state.data() {
                    true => within,
                    false => within / length % (state.data() / length) * length,
                };
                return Some(self.now(planned, state.zone.start + within, length));
            }
            index = self.following(index, 1).0;
        }
        None
    }

    /// Reads what comes after the last read in the data of the zones; `None` where there is no (more) data.
    fn read_next(&mut self, table: &ZoneTable, planned: PlannedOp) -> Option<Placement> {
        let length = u64::from(planned.length);
        for _ in 0..=self.region.len() {
            let Cursor { zone, offset } = self.reads;
            if let Some(state) = table.state(zone).filter(|state| offset + length <= state.data()) {
                self.reads.offset += length;
                return Some(self.now(planned, state.zone.start + offset, length));
            }
            let (next, over) = self.next(zone);
            if over {
                self.passes_left = self.passes_left.saturating_sub(1);
                if self.passes_left == 0 {
                    return None;
                }
            }
            self.reads = Cursor { zone: next, offset: 0 };
        }
        None
    }

    /// Resets the planned zone, or the next one that holds data.
    fn trim(&mut self, table: &mut ZoneTable, planned: PlannedOp) -> Placement {
        let mut index = if self.order.sequential { self.trims.zone } else { self.zone_of(table, &planned) };
        let mut later = false;
        for _ in 0..self.region.len() {
            let holds = |state: &ZoneState| state.is_sequential() && (state.data() > 0 || !self.order.real);
            if let Some(state) = table.state(index).filter(holds) {
                if !state.busy {
                    table.begin_reset(index);
                    self.trims.zone = self.next(index).0;
                    return self.now(planned, state.zone.start, state.zone.length);
                }
                later = true;
            }
            index = self.next(index).0;
        }
        match (later, self.order.fills) {
            (true, _) => Placement::Later,
            (false, true) => Placement::Skip,
            (false, false) => Placement::Over,
        }
    }

    /// The operation, at an offset of the file.
    fn now(&self, planned: PlannedOp, offset: u64, length: u64) -> Placement {
        let length = u32::try_from(length).unwrap_or(planned.length);
        Placement::Now(PlannedOp { offset: offset.saturating_sub(self.order.base), length, ..planned })
    }

    fn file_offset(&self, planned: &PlannedOp) -> u64 {
        planned.offset.saturating_add(self.order.base)
    }

    /// The zone that was planned, within the region.
    fn zone_of(&self, table: &ZoneTable, planned: &PlannedOp) -> usize {
        table.index_of(self.file_offset(planned)).clamp(self.region.start, self.region.end - 1)
    }

    /// The zone after this one, and whether the region begins anew with it. Only sequential orders leave zones out.
    fn next(&self, index: usize) -> (usize, bool) {
        self.following(index, if self.order.sequential { self.step } else { 1 })
    }

    fn following(&self, index: usize, step: usize) -> (usize, bool) {
        let next = index.saturating_add(step);
        if next < self.region.end { (next, false) } else { (self.region.start, true) }
    }
}

impl Drop for ZoneSeat {
    fn drop(&mut self) {
        lock(&self.table).leave(self.number);
    }
}

pub(super) fn lock(table: &Mutex<ZoneTable>) -> MutexGuard<'_, ZoneTable> {
    table.lock().unwrap_or_else(PoisonError::into_inner)
}
