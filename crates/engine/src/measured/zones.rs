//! Operations that wait for the zones of a device.

use iolite_workload::PlannedOp;

use super::Loop;
use crate::backend::Backend;
use crate::error::EngineError;
use crate::verify::Checks;
use crate::watch::Watches;
use crate::zoned::Placement;

/// Nanoseconds until a worker without operations in flight asks again for a zone that others use.
pub(super) const PAUSE: u64 = 20_000;

/// Operations that are left out in a row because there is no data for them yet, before the worker looks at its time again.
const SKIPPED: u32 = 1000;

impl<B: Backend, V: Checks, W: Watches> Loop<'_, B, V, W> {
    /// The next operation, where its zone lets it go; `None` where it has to wait, or there is none left.
    #[inline(never)]
    pub(super) fn place_in_zone(&mut self) -> Option<PlannedOp> {
        for _ in 0..SKIPPED {
            let pending = self.plan.zones.as_mut().and_then(|zones| zones.take_pending());
            let planned = pending.unwrap_or_else(|| self.draw());
            let zones = self.plan.zones.as_mut()?;
            match zones.place(planned) {
                Ok(Placement::Now(planned)) => return Some(planned),
                Ok(Placement::Later) => {
                    zones.keep(planned);
                    return None;
                }
                Ok(Placement::Skip) => {}
                Ok(Placement::Over) => {
                    self.plan.share.operations = 0;
                    return None;
                }
                Err(source) => {
                    let task = zones.task().to_owned();
                    self.failure.get_or_insert(EngineError::Zones { task, source });
                    self.lane.cut(self.lane.now());
                    return None;
                }
            }
        }
        None
    }
}
