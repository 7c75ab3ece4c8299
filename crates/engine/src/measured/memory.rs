//! Memory of the measured loop.

use std::io;

use iolite_sys::memory;

use super::plan::Plan;
use super::{Data, InFlight};
use crate::backend::{Completions, Op};

/// What the loop keeps of its slots: allocated before the workers start together, where it can still be reported that there is
/// not that much.
#[derive(Debug)]
pub(crate) struct LoopMemory {
    pub(super) slots: Vec<Option<InFlight>>,
    pub(super) held_data: Vec<Data>,
    pub(super) free: Vec<u32>,
    pub(super) returned: Completions,
    pub(super) followers: Vec<(Op, InFlight)>,
}

impl LoopMemory {
    /// For a plan whose buffers hold data already, or not, from now on.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(crate) fn new(plan: &Plan) -> io::Result<LoopMemory> {
        let depth = plan.depth.max(1);
        let slots = depth as usize;
        let mut free = memory::with_capacity(slots)?;
        free.extend((0..depth).rev());
        Ok(LoopMemory {
            slots: memory::filled(None, slots)?,
            held_data: memory::filled(if plan.filled { Data::Ready } else { Data::None }, slots)?,
            free,
            returned: memory::with_capacity(slots.saturating_mul(2))?,
            followers: memory::with_capacity(slots)?,
        })
    }
}
