//! The way to end a run or a phase from outside.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Asks a run, and a phase of it, to end; cheap to look at from the measured loop.
#[derive(Debug, Clone, Default)]
pub struct Control {
    run: Arc<AtomicBool>,
    phase: Arc<AtomicBool>,
}

impl Control {
    /// A control over a flag that someone else sets, for example a signal handler.
    pub fn new(run: Arc<AtomicBool>) -> Control {
        Control { run, phase: Arc::default() }
    }

    /// A control for one phase, which ends with the run but can also be ended alone.
    pub(crate) fn for_phase(&self) -> Control {
        Control { run: self.run.clone(), phase: Arc::default() }
    }

    /// Asks the phase, or a run that has no phases, to end.
    pub fn interrupt(&self) {
        self.phase.store(true, Ordering::Relaxed);
    }

    /// Asks the whole run to end.
    pub(crate) fn interrupt_run(&self) {
        self.run.store(true, Ordering::Relaxed);
    }

    /// Whether to end.
    #[inline]
    pub fn interrupted(&self) -> bool {
        self.run.load(Ordering::Relaxed) || self.phase.load(Ordering::Relaxed)
    }
}
