//! Operations at a rate, with think time in between.

use iolite_model::{Arrival, FileTask, RatedThinkTime};

use super::Arrivals;
use crate::planned::IoKind;

/// The arrivals of a worker that has a rate and think time.
#[derive(Debug, Clone)]
pub struct Paused {
    /// When the rate has operations start.
    paced: Arrivals,
    /// When the pauses are.
    pauses: Arrivals,
    /// Whether the rate catches up with what a pause has cost it.
    catch_up: bool,
    /// Length of a pause, in nanoseconds.
    pause: u64,
    /// How far the pauses have moved the rate's instants, in nanoseconds.
    moved: u64,
    /// End of the last pause: no operation is meant to start before.
    earliest: u64,
}

impl Paused {
    /// The arrivals of a worker of the task.
    pub(super) fn new(rated: RatedThinkTime, task: &FileTask, worker: u32) -> Paused {
        let RatedThinkTime { pause, operations, io_time, spin, schedule, catch_up } = rated;
        let think = Arrival::ThinkTime { pause, operations, io_time, spin };
        let of = |arrival| Arrivals::of(arrival, task.mean_size(), task, worker, task.seed);
        let (paced, pauses) = (of(schedule.into()), of(think));
        Paused { paced, pauses, catch_up, pause: pause.0, moved: 0, earliest: 0 }
    }

    pub(super) fn choose(&mut self, now: u64) {
        self.paced.choose(now.saturating_sub(self.moved));
    }

    pub(super) fn kind(&self) -> Option<IoKind> {
        self.paced.kind()
    }

    pub(super) fn next(&self) -> Option<u64> {
        let resumed = self.pauses.next();
        if resumed == Some(u64::MAX) {
            return resumed;
        }
        match self.paced.next() {
            Some(due) => Some(due.saturating_add(self.moved).max(self.earliest)),
            None => resumed,
        }
    }

    pub(super) fn spin_until(&self) -> Option<u64> {
        self.pauses.spin_until()
    }

    pub(super) fn advance(&mut self, length: u32) {
        self.paced.advance(length);
        self.pauses.advance(length);
    }

    pub(super) fn completed(&mut self, at: u64) {
        self.pauses.completed(at);
        if let Arrivals::ThinkTime { resume: Some(resume), .. } = self.pauses
            && resume > self.earliest
        {
            self.earliest = resume;
            self.moved = self.moved.saturating_add(if self.catch_up { 0 } else { self.pause });
        }
    }

    /// Operations that the rate had meant to start before `until`, if that is not within a pause.
    pub(super) fn backlog(&mut self, until: u64) -> u64 {
        if until < self.earliest || self.pauses.next() == Some(u64::MAX) {
            return 0;
        }
        self.paced.backlog(until.saturating_sub(self.moved))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolite_model::{Iops, KindRates, Mix, Nanos, Pace, Schedule};

    const MS: u64 = 1_000_000;

    fn rated(schedule: Schedule, catch_up: bool) -> RatedThinkTime {
        let (pause, io_time) = (Nanos(5 * MS), Nanos(0));
        RatedThinkTime { pause, operations: 2, io_time, spin: Nanos(0), schedule, catch_up }
    }

    /// Instants at which operations that take no time are meant to start.
    fn instants(rated: RatedThinkTime, mix: Mix, count: usize) -> Vec<(u64, Option<IoKind>)> {
        let task = FileTask { arrival: Arrival::RatedThinkTime(rated), mix, ..FileTask::default() };
        let mut arrivals = Arrivals::new(&task, 0);
        let (mut now, mut all) = (0, Vec::new());
        while all.len() < count {
            arrivals.choose(now);
            if let Some(due) = arrivals.next().filter(|due| *due > now) {
                now = due;
                continue;
            }
            all.push((arrivals.next().unwrap_or(now) / MS, arrivals.kind()));
            arrivals.advance(4096);
            arrivals.completed(now);
        }
        all
    }

    #[test]
    fn a_rate_catches_up_with_its_pauses() {
        let every_two = Schedule::Constant(Iops(500.0));
        let found: Vec<u64> =
            instants(rated(every_two, true), Mix::Read, 7).iter().map(|(at, _)| *at).collect();
        // Due at 0, 2, 4, 6, 8, 10, 12; pauses of 5 ms after the second, fourth and sixth.
        assert_eq!(found, [0, 2, 7, 7, 12, 12, 17]);
    }

    #[test]
    fn or_it_goes_on_from_their_ends() {
        let every_two = Schedule::Constant(Iops(500.0));
        let found: Vec<u64> =
            instants(rated(every_two, false), Mix::Read, 7).iter().map(|(at, _)| *at).collect();
        assert_eq!(found, [0, 2, 9, 11, 18, 20, 27]);
    }

    #[test]
    fn kinds_keep_their_rates() {
        let pace = |rate| Some(Pace::Operations(Iops(rate)));
        let rates = KindRates { reads: pace(500.0), writes: pace(250.0), ..KindRates::default() };
        let found = instants(rated(Schedule::ByKind(rates), true), Mix::ReadPercent(50), 300);
        let reads = found.iter().filter(|(_, kind)| *kind == Some(IoKind::Read)).count();
        assert!((199..=201).contains(&reads), "{reads}");
    }

    #[test]
    fn nothing_is_due_within_a_pause() {
        let every_two = Schedule::Constant(Iops(500.0));
        let arrival = Arrival::RatedThinkTime(rated(every_two, true));
        let mut arrivals = Arrivals::new(&FileTask { arrival, ..FileTask::default() }, 0);
        (0..2).for_each(|_| arrivals.advance(4096));
        assert_eq!((arrivals.next(), arrivals.backlog(MS * 100)), (Some(u64::MAX), 0));
        (0..2).for_each(|_| arrivals.completed(3 * MS));
        assert_eq!((arrivals.next(), arrivals.backlog(7 * MS)), (Some(8 * MS), 0));
        assert_eq!(arrivals.backlog(11 * MS), 4);
    }
}
