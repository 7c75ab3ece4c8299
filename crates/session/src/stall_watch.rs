//! What is collected beside a run for the attribution of its slowest operations.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use iolite_model::{Event, Nanos, OperationLog, PhaseRelease, Sink};
use iolite_observe::BlockTrace;
use iolite_suites::{Outlier, Stalls};
use iolite_sys::clock::time_of;

/// CLOCK_REALTIME and CLOCK_MONOTONIC, by their numbers for clock_gettime(2).
const REALTIME: i32 = 0;
const MONOTONIC: i32 = 1;

/// What collects beside a run.
pub(crate) struct StallWatch {
    /// Response time above which an operation is an outlier.
    pub(crate) bound: Option<Nanos>,
    /// The devices' requests, where they can be traced.
    pub(crate) trace: Option<BlockTrace>,
    pub(crate) seen: Shared,
}

/// What has been collected of the phases that run together.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) stalls: Stalls,
    /// When each phase was released, on CLOCK_MONOTONIC.
    pub(crate) released: BTreeMap<u32, Nanos>,
}

/// The same for all who collect.
#[derive(Clone, Default)]
pub(crate) struct Shared(Arc<Mutex<Seen>>);

impl Shared {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sink for Shared {
    fn event(&mut self, event: &Event) {
        match event {
            Event::PhaseReleased(release) => self.lock().released(release),
            Event::Operations(log) => self.lock().operations(log),
            _ => {}
        }
    }
}

impl Seen {
    fn released(&mut self, release: &PhaseRelease) {
        if self.released.is_empty() {
            // What came before has laid out files.
            self.stalls.clear();
        }
        let (now, unix) = (time_of(MONOTONIC).unwrap_or(0), time_of(REALTIME).unwrap_or(0));
        let at = now.saturating_add_signed(release.at_unix.0.wrapping_sub(unix) as i64);
        self.released.insert(release.phase, Nanos(at));
    }

    fn operations(&mut self, log: &OperationLog) {
        let Some(origin) = self.released.get(&log.phase).copied() else { return };
        let at = |instant: u64| Nanos(origin.0.saturating_add(instant));
        for operation in
            log.operations.iter().filter(|operation| operation.counted && operation.error.is_none())
        {
            let outlier = Outlier {
                kind: operation.kind,
                intended: at(operation.intended),
                issued: at(operation.issued),
                completed: at(operation.completed),
            };
            self.stalls.operation(log.phase, outlier);
        }
    }
}
