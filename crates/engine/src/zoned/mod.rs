//! Zoned block devices: where the operations of a set of tasks go, by the write pointers of the zones.
//!
//! The [table](table) holds the zones of one device. Each worker has a [seat](seat) at it, which turns planned operations into
//! ones that the zones allow before they are issued, and learns of their end.

mod device;
mod seat;
mod table;
#[cfg(test)]
mod tests;
pub(crate) mod validate;

use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex};

use iolite_model::{Bytes, FileTask, Zoned};
use iolite_sys::zoned;

use crate::backend::FileSpan;
use crate::error::EngineError;
use crate::target::{Targets, changes};
pub use device::ZoneDevice;
use device::{AssumedZones, KernelZones};
use seat::lock;
pub(crate) use seat::{Placement, ZoneOrder, ZoneSeat};
pub(crate) use table::ZoneTable;

/// The smallest zone of what has none of its own.
const SMALLEST: u64 = 512;

/// The zones of a task's device.
#[derive(Debug, Clone)]
pub(crate) struct ZonesOfTask {
    table: Arc<Mutex<ZoneTable>>,
    /// Device and inode, by which tasks with the same file recognise each other.
    identity: Option<(u64, u64)>,
    /// Whether the zones are the device's own.
    real: bool,
    /// First byte and end of the task's region.
    span: (u64, u64),
    terms: Zoned,
}

impl ZonesOfTask {
    /// The zones that a task works in; `None` where it does not care for zones.
    ///
    /// # Errors
    /// The zones of its device cannot be read, or are not as the task describes them.
    pub(crate) fn open(task: &FileTask, targets: &Targets) -> Result<Option<ZonesOfTask>, EngineError> {
        let Some(terms) = task.zoned else { return Ok(None) };
        let refuse = |reason: String| Err(EngineError::Task { task: task.name.clone(), reason });
        let spans = targets.spans();
        let [FileSpan { file, offset, size, .. }] = spans.as_slice() else {
            return refuse("`zoned` needs one file or device: remove `zoned`, or name one target".into());
        };
        let failed = |source| EngineError::Zones { task: task.name.clone(), source };
        let metadata = file.metadata().map_err(failed)?;
        let own = zoned::zone_size(file).map_err(failed)?;
        let (device, zone): (Arc<dyn ZoneDevice>, u64) = match own {
            Some(own) if terms.size.0 != 0 && terms.size.0 != own => {
                let (own, given) = (Bytes(own), terms.size);
                return refuse(format!(
                    "the zones of the device have {own}, not {given}: correct the size, or remove it"
                ));
            }
            Some(_) if changes(task.mix) && !task.direct => {
                return refuse("a zoned block device is written with direct I/O only: set `direct`".into());
            }
            Some(own) => (Arc::new(KernelZones(file.clone())), own),
            None if terms.size.0 < SMALLEST => {
                return refuse(format!(
                    "its target has no zones of its own: specify their size, at least {SMALLEST} bytes"
                ));
            }
            None => {
                let capacity =
                    if terms.capacity.0 == 0 { terms.size.0 } else { terms.capacity.0.min(terms.size.0) };
                let whole = offset.saturating_add(*size);
                (Arc::new(AssumedZones { whole, size: terms.size.0, capacity }), terms.size.0)
            }
        };
        let identity =
            Some(if own.is_some() { (u64::MAX, metadata.rdev()) } else { (metadata.dev(), metadata.ino()) });
        ZonesOfTask::over(task, terms, device, zone, (*offset, *size), own.is_some(), identity).map(Some)
    }

    /// The same for a device of the caller's making, whose zones have this size.
    ///
    /// # Errors
    /// As for [`open`](ZonesOfTask::open).
    pub(crate) fn of_device(
        task: &FileTask,
        device: Arc<dyn ZoneDevice>,
        zone: u64,
    ) -> Result<Option<ZonesOfTask>, EngineError> {
        let Some(terms) = task.zoned else { return Ok(None) };
        ZonesOfTask::over(task, terms, device, zone, (0, task.target.size().0), true, None).map(Some)
    }

    fn over(
        task: &FileTask,
        terms: Zoned,
        device: Arc<dyn ZoneDevice>,
        zone: u64,
        (offset, size): (u64, u64),
        real: bool,
        identity: Option<(u64, u64)>,
    ) -> Result<ZonesOfTask, EngineError> {
        let refuse = |reason: String| Err(EngineError::Task { task: task.name.clone(), reason });
        let own = device.max_open().filter(|_| !terms.ignore_limits);
        let given = (terms.max_open > 0).then_some(terms.max_open);
        if let (Some(given), Some(own)) = (given, own)
            && given > own
        {
            return refuse(format!(
                "the device lets {own} zones be open, not {given}: lower `max_open`, or set `ignore_limits`"
            ));
        }
        if !terms.skip.0.is_multiple_of(zone) {
            return refuse(format!("`skip` must be a multiple of the size of a zone, {}", Bytes(zone)));
        }
        let failed = |source| EngineError::Zones { task: task.name.clone(), source };
        let end = offset.saturating_add(size);
        // Zones behind the region count as well.
        let mut table = ZoneTable::new(device, zone, (0, u64::MAX)).map_err(failed)?;
        table.limit(given.or(own));
        if terms.ignore_limits {
            table.ignore_active();
        }
        let region = table.within(offset, end);
        if region.is_empty() {
            return refuse(format!(
                "no zone of {} lies within its region of {} from byte {offset} on: make it larger, or the zones smaller",
                Bytes(zone),
                Bytes(size)
            ));
        }
        Ok(ZonesOfTask { table: Arc::new(Mutex::new(table)), identity, real, span: (offset, end), terms })
    }

    /// Lets tasks that start together and use the same device share its zones, whose limit is the smallest of theirs.
    ///
    /// # Errors
    /// They don't agree on the size of the zones, or zones outside of all their regions keep them from writing.
    pub(crate) fn share<'a>(
        members: impl Iterator<Item = (&'a FileTask, &'a mut ZonesOfTask)>,
    ) -> Result<(), EngineError> {
        let mut groups: Vec<(&FileTask, ZonesOfTask)> = Vec::new();
        let mut writers: Vec<(&FileTask, &ZonesOfTask)> = Vec::new();
        for (task, zones) in members {
            let same =
                |(_, first): &&(_, ZonesOfTask)| first.identity.is_some() && first.identity == zones.identity;
            match groups.iter().find(same) {
                Some((other, first)) => zones.join(task, other, first)?,
                None => groups.push((task, zones.clone())),
            }
            // A reset needs no zone that is active.
            if task.mix.writes() {
                writers.push((task, zones));
            }
        }
        // Only now that each knows the others' regions.
        writers.iter().for_each(|(_, zones)| zones.claim());
        writers.iter().try_for_each(|(task, zones)| zones.refuse_blocked(task))
    }

    /// Uses the zones of another task with the same device.
    fn join(&mut self, task: &FileTask, other: &FileTask, first: &ZonesOfTask) -> Result<(), EngineError> {
        let differ = (first.terms.size, first.terms.capacity) != (self.terms.size, self.terms.capacity);
        if differ && !self.real {
            let reason = format!(
                "`{}` uses the same file with other zones: use the same size and capacity",
                other.name
            );
            return Err(EngineError::Task { task: task.name.clone(), reason });
        }
        // Both begin with the first zone of the file.
        lock(&first.table).join(&lock(&self.table));
        self.table = first.table.clone();
        Ok(())
    }

    /// The task is going to write in its region.
    fn claim(&self) {
        let mut table = lock(&self.table);
        let region = table.within(self.span.0, self.span.1);
        table.claim(region);
    }

    /// Refuses a task that could not write in any zone.
    fn refuse_blocked(&self, task: &FileTask) -> Result<(), EngineError> {
        let Some(outside) = lock(&self.table).blocked() else { return Ok(()) };
        let reason = format!(
            "{outside} zones of the device outside its region are open or closed, as many as it lets be active, so that no other can \
             be written: finish or reset them with blkzone(8)"
        );
        Err(EngineError::Task { task: task.name.clone(), reason })
    }

    /// A worker's seat at the zones.
    pub(crate) fn seat(&self, task: &FileTask) -> ZoneSeat {
        let region = lock(&self.table).within(self.span.0, self.span.1);
        let (fills, size) = (task.mix.writes() && changes_or_reads(task), self.span.1 - self.span.0);
        let bytes = task.stop.worker_bytes.or(task.stop.bytes);
        let passes = match (bytes, task.stop.loops) {
            _ if fills => u64::MAX,
            (Some(bytes), _) => bytes.0.div_ceil(size.max(1)).max(1),
            (None, Some(loops)) => u64::from(loops.max(1)),
            (None, None) => u64::MAX,
        };
        let (terms, sequential, base) = (self.terms, task.access.is_sequential(), self.span.0);
        ZoneSeat::new(
            self.table.clone(),
            region,
            ZoneOrder { terms, sequential, fills, real: self.real, passes, base, task: task.name.clone() },
        )
    }
}

/// Whether a task that writes also does something else.
fn changes_or_reads(task: &FileTask) -> bool {
    task.mix.reads() || task.mix.trims()
}
