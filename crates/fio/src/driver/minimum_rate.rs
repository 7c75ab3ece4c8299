//! Rates that must not be missed (`rate_min`, `rate_iops_min`).

use iolite_model::{Interval, JobTask, Nanos, OpKind};

use crate::language::Thread;

/// What the rates of a thread are of, in their order.
pub(super) const DIRECTIONS: [OpKind; 3] = [OpKind::Read, OpKind::Write, OpKind::Trim];

/// A rate that must not be missed over any cycle in which the job's own rate allowed it.
pub(super) struct MinimumRate {
    kind: OpKind,
    bound: f64,
    /// In bytes, rather than operations, per second.
    bytes: bool,
    cycle: Nanos,
    time: Nanos,
    amount: f64,
    /// What the job's own rate allows; `None` without one.
    schedule: Option<Schedule>,
}

/// What a rate has allowed so far, and what was done of it.
#[derive(Debug, Clone, Copy)]
struct Schedule {
    /// In bytes, rather than operations, per second.
    bytes: bool,
    rate: f64,
    /// The largest operation, in the unit of the rate.
    operation: f64,
    /// Since the start, when the cycle began.
    opened: Nanos,
    done: f64,
}

impl Schedule {
    /// What is due before this time, but for the operation that is due last.
    fn due(&self, at: Nanos) -> f64 {
        (self.rate * at.0 as f64 / 1e9 / self.operation).floor() * self.operation
    }

    /// Whether the job is behind at `now`: it has not done what was due when the cycle began, or misses more than the last
    /// operation that became due since.
    fn is_behind(&self, now: Nanos) -> bool {
        let before = self.due(self.opened) + self.operation;
        self.done < before.max(self.due(now))
    }
}

impl MinimumRate {
    /// The rates that a thread must not miss.
    pub(super) fn all(thread: &Thread) -> Vec<MinimumRate> {
        let mins = [(thread.rate_min, true), (thread.rate_iops_min, false)];
        let of = |(bounds, bytes): ([Option<f64>; 3], bool)| {
            (0..bounds.len()).filter_map(move |at| {
                Some(MinimumRate {
                    kind: DIRECTIONS[at],
                    bound: bounds[at]?,
                    bytes,
                    cycle: thread.rate_cycle,
                    time: Nanos(0),
                    amount: 0.0,
                    schedule: schedule(thread, at),
                })
            })
        };
        mins.into_iter().flat_map(of).collect()
    }

    /// Takes an interval; returns, at a cycle's end, how the rate was missed, if it was.
    pub(super) fn interval(&mut self, interval: &Interval) -> Option<String> {
        self.time.0 += interval.length.0;
        for op in interval.ops.iter().filter(|op| op.kind == self.kind) {
            let count = |bytes| if bytes { op.bytes } else { op.operations } as f64;
            self.amount += count(self.bytes);
            if let Some(schedule) = &mut self.schedule {
                schedule.done += count(schedule.bytes);
            }
        }
        if self.time < self.cycle || self.time.0 == 0 {
            return None;
        }
        let rate = self.amount * 1e9 / self.time.0 as f64;
        let behind = self.schedule.as_mut().is_none_or(|schedule| {
            let now = Nanos(schedule.opened.0 + self.time.0);
            let behind = schedule.is_behind(now);
            schedule.opened = now;
            behind
        });
        (self.time, self.amount) = (Nanos(0), 0.0);
        let (unit, name) = if self.bytes { ("bytes/s", "rate_min") } else { ("IOPS", "rate_iops_min") };
        let kind = self.kind.name();
        let missed = behind && rate < self.bound;
        missed.then(|| format!("{kind}s at {rate:.0} {unit}, below {name}={:.0}", self.bound))
    }
}

/// What the thread's own rate allows one direction.
fn schedule(thread: &Thread, at: usize) -> Option<Schedule> {
    let (rate, bytes) = match (thread.rate[at], thread.rate_iops[at]) {
        (Some(rate), _) => (rate, true),
        (None, Some(rate)) => (rate, false),
        (None, None) => return None,
    };
    let JobTask::Io(task) = &thread.task else { return None };
    let largest = task
        .sizes
        .as_ref()
        .map_or(task.block, |sizes| [&sizes.reads, &sizes.writes, &sizes.trims][at].largest());
    let operation = if bytes { largest.0.max(1) as f64 } else { 1.0 };
    Some(Schedule { bytes, rate, operation, opened: Nanos(0), done: 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::watchers::tests::interval;
    use iolite_model::{Bytes, FileTask};

    fn min(rate: Option<f64>) -> MinimumRate {
        let task = FileTask { block: Bytes(16384), ..FileTask::default() };
        let thread = Thread {
            task: JobTask::Io(Box::new(task)),
            rate: [rate; 3],
            rate_min: [Some(3000.0), None, None],
            rate_cycle: Nanos::SECOND,
            ..Thread::default()
        };
        MinimumRate::all(&thread).remove(0)
    }

    #[test]
    fn a_rate_is_missed_over_a_whole_cycle_only() {
        let mut min = MinimumRate { bound: 1000.0, ..min(None) };
        assert_eq!(min.interval(&interval(0, 1, 0)), None);
        assert_eq!(min.interval(&interval(0, 1, 1000)), None);
        assert_eq!(min.interval(&interval(0, 1, 500)), None);
        let missed = min.interval(&interval(0, 1, 400)).unwrap();
        assert!(missed.contains("900 bytes/s") && missed.contains("rate_min=1000"), "{missed}");
    }

    /// An operation of 16 KiB every four seconds.
    #[test]
    fn a_cycle_in_which_the_rate_allows_nothing_is_not_judged() {
        let done = |at: u64| u64::from(at.is_multiple_of(8));
        let mut kept = min(Some(4096.0));
        assert!((0..16).all(|at| kept.interval(&interval(0, done(at), done(at) * 16384)).is_none()));
        // The operation that is due after four seconds is missing: the cycle after that one misses it.
        let mut stalled = min(Some(4096.0));
        let missed: Vec<bool> = (0..12)
            .map(|at| {
                stalled.interval(&interval(0, u64::from(at == 0), 16384 * u64::from(at == 0))).is_some()
            })
            .collect();
        assert_eq!(missed.iter().position(|missed| *missed), Some(9), "{missed:?}");
        // Behind by many operations it is missed at once.
        let mut slow = min(Some(1_048_576.0));
        assert!(
            slow.interval(&interval(0, 1, 1000)).is_none() && slow.interval(&interval(0, 1, 1000)).is_some()
        );
    }
}
