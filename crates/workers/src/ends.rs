//! What the ends of workers add up to.

use iolite_model::{ErrorTally, Outstanding, Stuck, Usage, Verified};
use iolite_stats::{Collector, Detail, PhaseTotals};

use crate::transport::WorkerReport;

/// How far a worker is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It may still report.
    Running,
    /// It has reported its end.
    Reported,
    /// It ended without a report.
    Dead,
}

/// What the workers' ends add up to.
#[derive(Debug, Default)]
pub(crate) struct Ends {
    /// By worker.
    pub(crate) standing: Vec<Standing>,
    pub(crate) failure: Option<String>,
    pub(crate) errors: Vec<ErrorTally>,
    pub(crate) stuck: Vec<Stuck>,
    pub(crate) verified: Option<Verified>,
    pub(crate) read_back: Option<PhaseTotals>,
    pub(crate) outstanding: Outstanding,
    pub(crate) usage: Usage,
    pub(crate) detail: Option<Detail>,
    /// The latest instant at which a worker ended its measured part.
    pub(crate) closed: Option<u64>,
    pub(crate) interrupted_at: Option<u64>,
    /// When the phase was asked to end before its time.
    pub(crate) stopped_at: Option<u64>,
}

impl Ends {
    pub(crate) fn new(workers: u32) -> Ends {
        Ends { standing: vec![Standing::Running; workers as usize], ..Ends::default() }
    }

    /// When the last worker ends at the latest, in nanoseconds since the phase's start: at the phase's `end`, which is as much later
    /// for a worker as its time has stood still, or where the phase was asked to end. One whose time stood still then, last
    /// at `stood_until`, learns of it only afterwards.
    pub(crate) fn latest(&self, end: u64, stood_still: u64, stood_until: u64) -> u64 {
        let end = end.saturating_add(stood_still);
        self.stopped_at.map_or(end, |at| at.min(end)).max(stood_until)
    }

    /// Workers of this standing.
    pub(crate) fn count(&self, standing: Standing) -> usize {
        self.standing.iter().filter(|of| **of == standing).count()
    }

    /// The first failure is the phase's.
    pub(crate) fn fail(&mut self, failure: impl ToString) {
        self.failure.get_or_insert_with(|| failure.to_string());
    }

    pub(crate) fn take(&mut self, worker: usize, report: WorkerReport, collector: &mut Collector) {
        debug_assert!(self.standing[worker] == Standing::Running, "a worker reports once");
        self.standing[worker] = Standing::Reported;
        self.closed = self.closed.max(report.closed);
        report.left.iter().for_each(|snapshot| collector.absorb(worker, snapshot));
        let end = report.end;
        self.outstanding.add(end.outstanding);
        self.usage.add(end.usage);
        if let Some(detail) = end.detail {
            detail.add_to(self.detail.get_or_insert_default());
        }
        end.errors.into_iter().for_each(|tally| ErrorTally::add(&mut self.errors, tally));
        self.stuck.extend(end.stuck);
        if let Some(verified) = end.verified {
            self.verified.get_or_insert_default().add(verified);
        }
        if let Some(read) = end.read_back {
            // Workers stand still side by side.
            self.read_back = Some(self.read_back.take().map_or(*read.clone(), |others| others.merge(&read)));
        }
        end.failure.into_iter().for_each(|failure| self.fail(failure));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A phase that is asked to end while workers stand still to verify is waited for from when they go on.
    #[test]
    fn patience_begins_when_time_goes_on() {
        let ends = |stopped_at| Ends { stopped_at, ..Ends::new(1) };
        assert_eq!(ends(None).latest(1000, 0, 0), 1000);
        assert_eq!(ends(None).latest(1000, 500, 700), 1500);
        assert_eq!(ends(Some(300)).latest(1000, 0, 0), 300);
        assert_eq!(ends(Some(300)).latest(1000, 600, 900), 900);
        assert_eq!(ends(Some(800)).latest(u64::MAX, 100, 500), 800);
    }
}
