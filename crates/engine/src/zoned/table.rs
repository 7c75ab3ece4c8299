//! The zones of a device, as the workers of a set of tasks share them.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::ops::Range;
use std::sync::Arc;

use iolite_sys::zoned::{Zone, ZoneKind};

use super::device::ZoneDevice;

/// In place of a seat that was given up; others have numbers from 1 on.
const NOBODY: u64 = 0;

/// A zone, and who uses it.
#[derive(Debug, Clone, Copy)]
pub(super) struct ZoneState {
    pub(super) zone: Zone,
    /// A write or a reset of it is in flight.
    pub(super) busy: bool,
    /// The seat that opened it, while it is open.
    opened_by: Option<u64>,
    /// It was active before, lies in a task's region, and no seat has opened it.
    left_over: bool,
}

impl ZoneState {
    /// Bytes that hold data.
    pub(super) fn data(&self) -> u64 {
        self.zone.write_pointer.saturating_sub(self.zone.start)
    }

    /// Bytes that can still be written before it is full.
    pub(super) fn left(&self) -> u64 {
        self.zone.capacity.saturating_sub(self.data())
    }

    pub(super) fn is_open(&self) -> bool {
        self.opened_by.is_some()
    }

    pub(super) fn is_sequential(&self) -> bool {
        self.zone.kind == ZoneKind::Sequential
    }
}

/// The zones of a device.
#[derive(Debug)]
pub(crate) struct ZoneTable {
    device: Arc<dyn ZoneDevice>,
    /// Distance from the start of one zone to that of the next.
    size: u64,
    /// First byte of the first zone.
    origin: u64,
    zones: Vec<ZoneState>,
    /// Maximum number of zones that are open at once.
    max_open: Option<u32>,
    /// Maximum number of zones of the device that are active at once.
    max_active: Option<u32>,
    /// Zones that are.
    active: u32,
    /// Zones that were active before in the tasks' regions, and that no seat has opened.
    left_over: u32,
    /// Open zones by the seat that opened them.
    open: BTreeMap<u64, u32>,
    /// Seats that wait until they may open a zone, in order: whoever fills a zone does not get the next turn before them.
    waiting: VecDeque<u64>,
    seats: u64,
    /// Zones that were reset before a write.
    resets: u64,
}

impl ZoneTable {
    /// The zones of a device from `from` to `to`, which have this size.
    ///
    /// # Errors
    /// The device's.
    pub(super) fn new(
        device: Arc<dyn ZoneDevice>,
        size: u64,
        (from, to): (u64, u64),
    ) -> io::Result<ZoneTable> {
        let zones: Vec<ZoneState> = device
            .report(from, to)?
            .into_iter()
            .map(|zone| ZoneState { zone, busy: false, opened_by: None, left_over: false })
            .collect();
        let origin = zones.first().map_or(0, |first| first.zone.start);
        let (open, waiting) = (BTreeMap::new(), VecDeque::new());
        let active = zones.iter().filter(|state| state.zone.active).count() as u32;
        Ok(ZoneTable {
            max_active: device.max_active(),
            active,
            left_over: 0,
            device,
            size: size.max(1),
            origin,
            zones,
            max_open: None,
            open,
            waiting,
            seats: 0,
            resets: 0,
        })
    }

    /// The device's number of active zones does not count.
    pub(super) fn ignore_active(&mut self) {
        self.max_active = None;
    }

    /// Sets the limit of open zones, where it is smaller than that of others.
    pub(super) fn limit(&mut self, max_open: Option<u32>) {
        self.max_open = [self.max_open, max_open].into_iter().flatten().min();
    }

    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Takes over the zones of another table of the same device, and its limit. Nobody has a seat at either, or has claimed a region,
    /// yet.
    pub(super) fn join(&mut self, other: &ZoneTable) {
        let mine = self.zones.len();
        self.zones.extend(other.zones.iter().skip(mine));
        self.active = self.zones.iter().filter(|state| state.zone.active).count() as u32;
        self.limit(other.max_open);
    }

    /// A task is going to write in these zones: those that are active already count as open, for whoever writes there.
    pub(super) fn claim(&mut self, region: Range<usize>) {
        for state in &mut self.zones[region] {
            if state.zone.active && !state.left_over {
                state.left_over = true;
                self.left_over += 1;
            }
        }
    }

    /// How many zones outside of all claimed regions are active, where the device lets no more be so: nothing can be written.
    pub(super) fn blocked(&self) -> Option<u32> {
        let outside = self.active - self.left_over;
        self.max_active.is_some_and(|max| outside >= max).then_some(outside)
    }

    /// The zones that lie within a range of bytes as a whole.
    pub(super) fn within(&self, from: u64, to: u64) -> Range<usize> {
        let first = self.zones.partition_point(|state| state.zone.start < from);
        let behind =
            self.zones.partition_point(|state| state.zone.start.saturating_add(state.zone.length) <= to);
        first..behind.max(first)
    }

    /// The zone of a byte.
    pub(super) fn index_of(&self, offset: u64) -> usize {
        (offset.saturating_sub(self.origin) / self.size) as usize
    }

    pub(super) fn state(&self, index: usize) -> Option<ZoneState> {
        self.zones.get(index).copied()
    }

    /// Data, and bytes that can hold data, of the sequential zones of a range.
    pub(super) fn filled(&self, region: Range<usize>) -> (u64, u64) {
        let zones = self.zones[region].iter().filter(|state| state.is_sequential());
        zones.fold((0, 0), |(data, all), state| (data + state.data(), all + state.zone.capacity))
    }

    /// A number for a new seat.
    pub(super) fn seat(&mut self) -> u64 {
        self.seats += 1;
        self.seats
    }

    /// Whether a seat may open a zone; if not because of the others, it is in the queue from now on.
    pub(super) fn may_open(&mut self, index: usize, seat: u64, per_seat: u32) -> bool {
        if per_seat > 0 && self.open.get(&seat).is_some_and(|own| *own >= per_seat) {
            return false;
        }
        if self.max_open.is_none() && self.max_active.is_none() {
            return true;
        }
        let first = self.waiting.front().is_none_or(|first| *first == seat);
        let may = first && self.has_room_for(index);
        if !may && !self.waiting.contains(&seat) {
            self.waiting.push_back(seat);
        }
        may
    }

    /// Whether one more zone may be open, and active unless this one is so already.
    fn has_room_for(&self, index: usize) -> bool {
        let was_active = self.zones.get(index).is_some_and(|state| state.left_over);
        // One that was open before takes its own place.
        let others = self.open.values().sum::<u32>() + if was_active { 0 } else { self.left_over };
        let below = |count: u32, max: Option<u32>| max.is_none_or(|max| count < max);
        below(others, self.max_open) && (was_active || below(self.active, self.max_active))
    }

    /// A write of a seat to a zone is about to be issued.
    pub(super) fn begin_write(&mut self, index: usize, seat: u64) {
        self.waiting.retain(|waiting| *waiting != seat);
        let state = &mut self.zones[index];
        state.busy = true;
        if state.opened_by.is_none() {
            state.opened_by = Some(seat);
            *self.open.entry(seat).or_default() += 1;
        }
        self.left_over -= u32::from(std::mem::take(&mut state.left_over));
        self.active += u32::from(!std::mem::replace(&mut state.zone.active, true));
    }

    /// A reset of a zone is about to be issued.
    pub(super) fn begin_reset(&mut self, index: usize) {
        self.zones[index].busy = true;
    }

    /// A write is over, which was successful up to here.
    pub(super) fn written(&mut self, index: usize, up_to: Option<u64>) {
        let Some(state) = self.zones.get_mut(index) else { return };
        state.busy = false;
        if let Some(up_to) = up_to {
            state.zone.write_pointer = up_to;
        }
        if state.left() == 0 {
            self.close(index);
        }
    }

    /// The reset of a zone is over.
    pub(super) fn was_reset(&mut self, index: usize, done: bool) {
        let Some(state) = self.zones.get_mut(index) else { return };
        state.busy = false;
        if done {
            state.zone.write_pointer = state.zone.start;
            self.close(index);
        }
    }

    /// Resets a zone now, before it is written.
    pub(super) fn reset(&mut self, index: usize) -> io::Result<()> {
        let zone = &mut self.zones[index].zone;
        self.device.reset(zone.start, zone.length)?;
        zone.write_pointer = zone.start;
        self.resets += 1;
        Ok(())
    }

    /// Finishes a zone that the next write does not fit into.
    pub(super) fn finish(&mut self, index: usize) -> io::Result<()> {
        let zone = &mut self.zones[index].zone;
        self.device.finish(zone.start, zone.length)?;
        zone.write_pointer = zone.start + zone.capacity;
        self.close(index);
        Ok(())
    }

    /// Reads a zone's write pointer from the device.
    pub(super) fn ask(&self, index: usize) -> io::Result<Option<u64>> {
        let zone = &self.zones[index].zone;
        let report = self.device.report(zone.start, zone.start + 1)?;
        Ok(report.first().map(|zone| zone.write_pointer))
    }

    fn close(&mut self, index: usize) {
        let state = &mut self.zones[index];
        self.left_over -= u32::from(std::mem::take(&mut state.left_over));
        self.active -= u32::from(std::mem::take(&mut state.zone.active));
        if let Some(seat) = self.zones[index].opened_by.take()
            && let Some(own) = self.open.get_mut(&seat)
        {
            *own = own.saturating_sub(1);
        }
    }

    /// A seat is given up. The zones that it has opened stay open, for whoever writes to them.
    pub(super) fn leave(&mut self, seat: u64) {
        self.waiting.retain(|waiting| *waiting != seat);
        let own = self.open.remove(&seat).unwrap_or(0);
        *self.open.entry(NOBODY).or_default() += own;
        for state in self.zones.iter_mut().filter(|state| state.opened_by == Some(seat)) {
            state.opened_by = Some(NOBODY);
        }
    }

    /// Finishes a zone whose seat was given up, or that was open before, where the first one that waits has no other to open: it may
    /// be one that nobody is going to fill.
    pub(super) fn finish_abandoned(&mut self, seat: u64) -> io::Result<()> {
        if self.waiting.front() != Some(&seat) {
            return Ok(());
        }
        let abandoned =
            |state: &ZoneState| (state.opened_by == Some(NOBODY) || state.left_over) && !state.busy;
        match self.zones.iter().position(abandoned) {
            Some(index) => self.finish(index),
            None => Ok(()),
        }
    }

    /// Number of zones that were reset before a write.
    #[cfg(test)]
    pub(super) fn resets(&self) -> u64 {
        self.resets
    }

    /// Number of zones that are open.
    #[cfg(test)]
    pub(super) fn open(&self) -> u32 {
        self.open.values().sum()
    }
}
