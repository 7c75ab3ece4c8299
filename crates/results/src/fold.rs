//! A phase that has begun: its intervals added up as they come.

use iolite_model::{
    Bytes, Cache, Ending, Interval, Nanos, OpKind, Outstanding, PhaseEnd, PhaseInfo, Ramp, Stage,
};
use iolite_stats::{Merger, PhaseResult, PhaseTotals, Timetable};

/// A phase between its start and its end.
#[derive(Debug, Clone)]
pub(crate) struct OpenPhase {
    info: PhaseInfo,
    merger: Merger,
    read: Bytes,
    written: Bytes,
    /// End of its last measured interval so far, in nanoseconds since its start.
    reached: u64,
}

impl OpenPhase {
    pub(crate) fn new(info: PhaseInfo) -> OpenPhase {
        let (ramp, interval) = (info.task.ramp().known_time().0, info.task.interval().0.max(1));
        let merger = Merger::new(Timetable { ramp_end: ramp, interval, end: u64::MAX });
        OpenPhase { info, merger, read: Bytes(0), written: Bytes(0), reached: 0 }
    }

    pub(crate) fn interval(&mut self, interval: &Interval) {
        for op in &interval.ops {
            match op.kind {
                OpKind::Read => self.read.0 = self.read.0.saturating_add(op.bytes),
                OpKind::Write => self.written.0 = self.written.0.saturating_add(op.bytes),
                _ => {}
            }
        }
        if interval.stage == Stage::Measured {
            let end = interval.start.0.saturating_add(interval.length.0);
            self.reached = self.reached.max(end);
        }
        // Whoever measured has encoded it; a row that was damaged since adds nothing.
        let _ = self.merger.absorb(interval);
    }

    /// When its measured part began, in nanoseconds since its start, as far as that is known.
    fn ramp_end(&self) -> u64 {
        match self.info.task.ramp() {
            Ramp::Time(ramp) => ramp.0,
            Ramp::Amount(_) => self.merger.began(),
        }
    }

    /// Measured time that its intervals reach to.
    pub(crate) fn measured(&self) -> Nanos {
        Nanos(self.reached.saturating_sub(self.ramp_end()))
    }

    /// Bytes read and written so far, ramp and drain included.
    pub(crate) fn requested(&self) -> (Bytes, Bytes) {
        (self.read, self.written)
    }

    pub(crate) fn end(self, end: PhaseEnd) -> PhaseResult {
        let Nanos(measured) = end.measured;
        let ramp_end = self.ramp_end();
        let totals = self.merger.finish(ramp_end, measured);
        PhaseResult { info: self.info, end, totals }
    }
}

impl OpenPhase {
    /// The phase as far as its intervals go.
    pub(crate) fn interrupted(self) -> PhaseResult {
        let (requested_read, requested_written) = self.requested();
        let end = PhaseEnd {
            phase: self.info.index,
            ending: Ending::Interrupted,
            measured: self.measured(),
            outstanding: Outstanding::default(),
            cache: Cache { requested_read, requested_written, ..Cache::default() },
            errors: Vec::new(),
            stuck: Vec::new(),
            rate: None,
            verified: None,
        };
        self.end(end)
    }

    /// What its intervals have counted over the measured part.
    pub(crate) fn totals(&self) -> PhaseTotals {
        self.merger.clone().finish(self.ramp_end(), self.measured().0)
    }
}

impl PartialEq for OpenPhase {
    fn eq(&self, other: &OpenPhase) -> bool {
        let parts = |phase: &OpenPhase| (phase.info.clone(), phase.requested(), phase.totals());
        parts(self) == parts(other)
    }
}
