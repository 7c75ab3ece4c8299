//! Where a database is in its cycles of checkpoints, from what it reports again and again.

use iolite_model::{CheckpointCycles, CheckpointReading, Nanos};

/// Starts of cycles that are kept.
const KEPT: usize = 1000;
/// The time of a checkpoint's start is as of a whole second before: one that is later than the known one by more is another one.
const GRAIN: f64 = 1.0;
/// Looks in a cycle, and the time between two.
const LOOKS: f64 = 50.0;
const MIN_PAUSE: Nanos = Nanos(20_000_000);
pub(super) const MAX_PAUSE: Nanos = Nanos(500_000_000);
/// So near, in cycles, to a whole number of them is one.
const NEAR: f64 = 0.02;

/// The cycles of a database since it was first asked.
#[derive(Debug)]
struct Cycles {
    latest: CheckpointReading,
    /// When the current cycle started, in seconds since the phase's release; negative before it.
    since: f64,
    /// The log's counter then.
    log: f64,
    /// Cycles that have started since the first reading.
    number: u64,
    /// How far the current one is: 1 where the next is due.
    passed: f64,
    started: Vec<Nanos>,
}

impl Cycles {
    /// A database that does not know its last checkpoint has been brought to one just before.
    fn new(at: Nanos, reading: CheckpointReading) -> Cycles {
        let (age, log) = reading.latest.unwrap_or_default();
        let mut cycles = Cycles {
            latest: reading,
            since: at.as_secs_f64() - age.as_secs_f64(),
            log: reading.log as f64 - log as f64,
            number: 0,
            passed: 0.0,
            started: Vec::new(),
        };
        cycles.passed = cycles.passed_at(at);
        cycles
    }

    fn look(&mut self, at: Nanos, reading: CheckpointReading) {
        let before = self.latest.started;
        self.latest = reading;
        match before.zip(reading.started) {
            // One that has gone back was reset: nothing is known of that time.
            Some((before, started)) if started > before => self.start(at, started - before),
            Some(_) => {}
            None => self.turn(at),
        }
        self.passed = self.passed_at(at);
    }

    /// So many checkpoints have started. One that is completed is known by its time, else it has started just now.
    fn start(&mut self, at: Nanos, count: u64) {
        let now = at.as_secs_f64();
        let completed = self.latest.latest.map(|(age, log)| (now - age.as_secs_f64(), log));
        let known = completed.filter(|(since, _)| *since > self.since + GRAIN);
        self.since = known.map_or(now, |(since, _)| since);
        self.log = self.latest.log as f64 - known.map_or(0.0, |(_, log)| log as f64);
        self.number += count;
        self.note(Nanos((self.since.max(0.0) * 1e9) as u64));
    }

    /// Of a database whose checkpoints have no start, each time that as much log was written as makes one due.
    fn turn(&mut self, at: Nanos) {
        let Some(due) = self.latest.due.log.map(|due| due.0 as f64).filter(|due| *due > 0.0) else { return };
        let turns = ((self.latest.log as f64 - self.log) / due).floor().max(0.0);
        if turns >= 1.0 {
            self.log += turns * due;
            self.number += turns as u64;
            self.note(at);
        }
    }

    fn note(&mut self, at: Nanos) {
        if self.started.len() < KEPT {
            self.started.push(at);
        }
    }

    fn passed_at(&self, at: Nanos) -> f64 {
        let due = self.latest.due;
        let time = due.time.map(|due| (at.as_secs_f64() - self.since) / due.as_secs_f64());
        let log = due.log.map(|due| (self.latest.log as f64 - self.log) / due.0 as f64);
        let passed = [time, log].into_iter().flatten().filter(|passed| passed.is_finite());
        passed.fold(0.0, f64::max).min(1.0)
    }

    fn position(&self) -> f64 {
        self.number as f64 + self.passed
    }
}

/// Where the database was at one end of the measured time.
#[derive(Debug, Clone, Copy)]
struct Edge {
    at: Nanos,
    position: f64,
    passed: f64,
    age: Option<f64>,
}

/// The cycles during a phase.
#[derive(Debug, Default)]
pub(super) struct PhaseCycles {
    cycles: Option<Cycles>,
    start: Option<Edge>,
    end: Option<Edge>,
    /// Cycles of the measured time at the last look, and at the one before.
    measured: (f64, f64),
    /// When the last look was.
    looked: Nanos,
}

impl PhaseCycles {
    /// What the database reports at an instant since the phase's release.
    pub(super) fn look(&mut self, at: Nanos, reading: CheckpointReading) {
        match &mut self.cycles {
            Some(cycles) => cycles.look(at, reading),
            None => self.cycles = Some(Cycles::new(at, reading)),
        }
        let position = self.cycles.as_ref().map_or(0.0, Cycles::position);
        let measured = self.start.map_or(0.0, |start| position - start.position);
        self.measured = (measured, self.measured.0);
        self.looked = at;
    }

    /// Time until the next look: short beside a cycle.
    pub(super) fn pause(&self) -> Nanos {
        let passed = self.start.map_or(Nanos(0), |start| self.looked.saturating_sub(start.at));
        let cycle = passed.as_secs_f64() / self.measured.0;
        let pause = if cycle.is_finite() { (cycle / LOOKS * 1e9) as u64 } else { MAX_PAUSE.0 };
        Nanos(pause.clamp(MIN_PAUSE.0, MAX_PAUSE.0))
    }

    /// Whether the database has reported anything.
    pub(super) fn is_known(&self) -> bool {
        self.cycles.is_some()
    }

    /// Whether it was known where the database was when the measured time began.
    pub(super) fn is_measured(&self) -> bool {
        self.start.is_some()
    }

    /// The measured time begins: as of the last look.
    pub(super) fn begin(&mut self, at: Nanos) {
        self.start = self.edge(at);
        self.measured = (0.0, 0.0);
    }

    /// It ends.
    pub(super) fn end(&mut self, at: Nanos) {
        self.end = self.edge(at);
    }

    fn edge(&self, at: Nanos) -> Option<Edge> {
        let cycles = self.cycles.as_ref()?;
        Some(Edge { at, position: cycles.position(), passed: cycles.passed, age: cycles.latest.age })
    }

    /// Whether the measured time until the last look is accepted as whole cycles.
    pub(super) fn are_accepted(&self) -> bool {
        CheckpointCycles::are_whole(self.measured.0)
    }

    /// Whether the measured time is a whole number of cycles just now: since the last look, one was completed.
    pub(super) fn are_whole(&self) -> bool {
        let (now, before) = self.measured;
        let is_near = now.round() >= 1.0 && (now - now.round()).abs() <= NEAR;
        is_near || now.floor() > before.floor()
    }

    /// What the measured time holds; `None` where that is not known.
    pub(super) fn found(self) -> Option<CheckpointCycles> {
        let (cycles, start, end) = (self.cycles?, self.start?, self.end?);
        Some(CheckpointCycles {
            cycles: (end.position - start.position).max(0.0),
            at: [start.passed, end.passed],
            measured: [start.at, end.at],
            started: cycles.started,
            has_starts: cycles.latest.started.is_some(),
            due: cycles.latest.due,
            age: start.age.zip(end.age).map(|(start, end)| [start, end]),
        })
    }
}

#[cfg(test)]
mod tests {
    use iolite_model::{Bytes, CheckpointDue};

    use super::*;

    const SECOND: u64 = 1_000_000_000;
    const MIB: u64 = 1 << 20;

    fn seconds(seconds: f64) -> Nanos {
        Nanos((seconds * 1e9) as u64)
    }

    /// A simulated server: a checkpoint each 30 s or 64 MiB of log, which takes ten seconds, at so many MiB of log per second; it
    /// was brought to a checkpoint ten seconds before the release.
    struct Server {
        rate: f64,
    }

    impl Server {
        fn period(&self) -> f64 {
            (64.0 / self.rate).min(30.0)
        }

        fn log(&self, at: f64) -> u64 {
            ((at + 10.0) * self.rate * MIB as f64) as u64
        }

        fn reading(&self, at: f64) -> CheckpointReading {
            let started = ((at + 10.0) / self.period()).floor();
            let begun = started * self.period() - 10.0;
            // The last that is completed; the first one was, when it returned.
            let completed = if at - begun >= 10.0 || started == 0.0 { begun } else { begun - self.period() };
            let age = at - completed.floor();
            CheckpointReading {
                started: Some(7 + started as u64),
                log: 5 * MIB + self.log(at),
                latest: Some((seconds(age), self.log(at) - self.log(completed))),
                due: CheckpointDue { time: Some(Nanos(30 * SECOND)), log: Some(Bytes(64 * MIB)) },
                age: None,
            }
        }

        /// Looked at each half second; the measured time is from 5 s on.
        fn watched(&self, measured: f64) -> CheckpointCycles {
            let mut cycles = PhaseCycles::default();
            for look in 0..=((5.0 + measured) * 2.0) as u64 {
                let at = look as f64 / 2.0;
                cycles.look(seconds(at), self.reading(at));
                if at == 5.0 {
                    cycles.begin(seconds(at));
                }
            }
            cycles.end(seconds(5.0 + measured));
            cycles.found().unwrap()
        }
    }

    #[test]
    fn cycles_are_counted_by_time_and_by_the_log() {
        // By time: 30 s each. By the log: 16 s each.
        for (rate, measured, expected) in
            [(0.1, 30.0, 1.0), (0.1, 12.0, 0.4), (0.1, 72.0, 2.4), (4.0, 16.0, 1.0), (4.0, 40.0, 2.5)]
        {
            let found = Server { rate }.watched(measured);
            assert!((found.cycles - expected).abs() < 0.1, "{rate} {measured}: {found:?}");
            let length = found.length().unwrap().as_secs_f64();
            let period = Server { rate }.period();
            assert!((length / period - 1.0).abs() < 0.15, "{length} s for {period} s");
        }
        let found = Server { rate: 0.1 }.watched(72.0);
        assert!((found.at[0] - 0.5).abs() < 0.05, "{found:?}");
        let starts: Vec<f64> = found.within().iter().map(|at| at.as_secs_f64()).collect();
        assert_eq!(starts.len(), 2, "{starts:?}");
        assert!((starts[0] - 20.0).abs() <= 1.0 && (starts[1] - 50.0).abs() <= 1.0, "{starts:?}");
    }

    /// A checkpoint that is not spread is counted when it has ended, and is known by the time of its start.
    #[test]
    fn a_checkpoint_counted_at_its_end_started_before() {
        let due = CheckpointDue { time: Some(Nanos(100 * SECOND)), log: None };
        let reading = |started, age: f64| CheckpointReading {
            started: Some(started),
            log: 0,
            latest: Some((seconds(age), 0)),
            due,
            age: None,
        };
        let mut cycles = PhaseCycles::default();
        cycles.look(seconds(0.0), reading(3, 10.0));
        cycles.begin(seconds(0.0));
        cycles.look(seconds(50.0), reading(4, 8.0));
        cycles.end(seconds(50.0));
        let found = cycles.found().unwrap();
        assert_eq!(found.started, [Nanos(42 * SECOND)]);
        assert!((found.at[1] - 0.08).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn a_database_without_starts_of_checkpoints_turns_its_log_over() {
        let reading = |log, age| CheckpointReading {
            started: None,
            log,
            latest: None,
            due: CheckpointDue { time: None, log: Some(Bytes(100)) },
            age: Some(age),
        };
        let mut cycles = PhaseCycles::default();
        for (at, log, age) in [(0, 1000, 0.0), (1, 1040, 0.1), (2, 1090, 0.2), (3, 1130, 0.3), (4, 1290, 0.5)]
        {
            cycles.look(Nanos(at * SECOND), reading(log, age));
            if at == 1 {
                cycles.begin(Nanos(SECOND));
            }
        }
        assert!(cycles.are_whole(), "it was turned over since the last look");
        assert_eq!(cycles.pause(), Nanos(24_000_000), "2.5 cycles in three seconds");
        cycles.end(Nanos(4 * SECOND));
        let found = cycles.found().unwrap();
        assert!((found.cycles - 2.5).abs() < 1e-9 && !found.has_starts, "{found:?}");
        assert_eq!(
            (found.started, found.age),
            (vec![Nanos(3 * SECOND), Nanos(4 * SECOND)], Some([0.1, 0.5]))
        );
    }

    /// A cycle that is whole but for a twentieth is not measured once more.
    #[test]
    fn what_is_reported_as_whole_is_accepted() {
        let server = Server { rate: 0.1 };
        for (measured, accepted) in [(10.0, false), (25.0, false), (28.5, true), (45.0, false)] {
            let mut cycles = PhaseCycles::default();
            cycles.look(seconds(5.0), server.reading(5.0));
            assert!(!cycles.is_measured());
            cycles.begin(seconds(5.0));
            cycles.look(seconds(5.0 + measured), server.reading(5.0 + measured));
            assert!(cycles.is_measured());
            assert_eq!(cycles.are_accepted(), accepted, "{measured}");
        }
    }

    #[test]
    fn whole_cycles_are_seen_when_they_are_completed() {
        let server = Server { rate: 0.1 };
        let mut cycles = PhaseCycles::default();
        let mut whole = Vec::new();
        for look in 0..200 {
            let at = f64::from(look) / 2.0;
            cycles.look(seconds(at), server.reading(at));
            if look == 10 {
                cycles.begin(seconds(at));
            }
            if look > 10 && cycles.are_whole() {
                whole.push(at - 5.0);
            }
        }
        assert!(whole.iter().all(|at| (at / 30.0 - (at / 30.0).round()).abs() < 0.05), "{whole:?}");
        for cycle in [30.0, 60.0, 90.0] {
            assert!(whole.iter().any(|at| (at - cycle).abs() <= 1.0), "{cycle}: {whole:?}");
        }
        assert!(PhaseCycles::default().found().is_none() && !PhaseCycles::default().is_known());
    }
}
