//! What the disks and the CPUs of the host do while phases run: neither while files are laid out nor between the phases.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use iolite_model::{DiskUse, Event, Sink};
use iolite_observe::{CpuIdle, DiskProbe};

/// Counts while at least one phase runs. Clones are the same counters: one listens to the run's events, one has the result.
#[derive(Debug, Clone)]
pub struct HostCounters(Arc<Mutex<Counters>>);

#[derive(Debug)]
struct Counters {
    /// Both until the result is taken.
    disks: Option<DiskProbe>,
    cpus: Option<CpuIdle>,
    /// Phases that have begun and not ended.
    running: usize,
}

impl HostCounters {
    /// Of the disks beneath these paths, and of all CPUs; nothing is counted until the first phase is released.
    pub fn of<'a>(paths: impl IntoIterator<Item = &'a Path>) -> HostCounters {
        let (disks, cpus) = (Some(DiskProbe::find(paths)), Some(CpuIdle::default()));
        let counters = Counters { disks, cpus, running: 0 };
        HostCounters(Arc::new(Mutex::new(counters)))
    }

    /// What the disks did, and how idle each CPU was (percent).
    pub fn finish(&self) -> (Vec<DiskUse>, Vec<f64>) {
        let mut counters = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let disks = counters.disks.take().map(DiskProbe::finish).unwrap_or_default();
        (disks, counters.cpus.take().map(CpuIdle::finish).unwrap_or_default())
    }
}

impl Sink for HostCounters {
    fn event(&mut self, event: &Event) {
        let mut counters = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::PhaseStarted(_) => counters.running += 1,
            Event::PhaseReleased(_) => {
                counters.disks.iter_mut().for_each(DiskProbe::resume);
                counters.cpus.iter_mut().for_each(CpuIdle::resume);
            }
            Event::PhaseEnded(_) => {
                counters.running = counters.running.saturating_sub(1);
                if counters.running == 0 {
                    counters.cpus.iter_mut().for_each(CpuIdle::pause);
                    counters.disks.iter_mut().for_each(DiskProbe::pause);
                }
            }
            _ => {}
        }
    }
}
