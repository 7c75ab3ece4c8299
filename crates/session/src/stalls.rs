//! Stall attribution beside a run: the operations of its phases and the requests of its devices are collected, and after each phase its
//! outliers are attributed.

use std::borrow::Cow;

use iolite_model::{Concluded, JobTask, Nanos, Reading, StallCause, Warning};
use iolite_observe::BlockTrace;
use iolite_suites::StalledPhase;

use crate::session::Session;
use crate::stall_watch::{Shared, StallWatch};

/// Name of the probe of a database's counters.
const DATABASE: &str = "database";
/// Name of the probe of what sessions wait for, and what its waits for locks begin with.
const WAITS: &str = "waits";
const LOCK: &str = "Lock:";
/// Counters of a database any growth of which is notable.
const COUNTED: [(StallCause, &str); 3] = [
    (StallCause::DataFileWrites, "data_writes"),
    (StallCause::FreePageWaits, "free_page_waits"),
    (StallCause::LogBufferWaits, "log_buffer_waits"),
];
/// Share of its maximum from which on InnoDB's checkpoint age is notable: beyond, its page cleaner writes as fast as it can.
const NEARLY_FULL: f64 = 7.0 / 8.0;
/// Share of the time from which on steal and memory pressure are noted.
const NOTABLE: f64 = 0.05;

/// Whether the redo log of a database had hardly any space left for changes of pages that have not been written.
fn is_nearly_full(reading: &Reading) -> bool {
    let (age, max) = (reading.value("checkpoint_age_bytes"), reading.value("max_checkpoint_age_bytes"));
    age.zip(max).is_some_and(|(age, max)| max > 0.0 && age >= NEARLY_FULL * max)
}

/// Times between readings in which sessions spent time in a wait. A wait has no reading before it was first seen: `all` has those of the
/// sampler. Its counter begins anew with each phase.
fn lock_waits(all: &[Reading], waits: &[Reading]) -> Vec<(Nanos, Nanos)> {
    let spent = |reading: &Reading| reading.value("session_seconds").unwrap_or(0.0);
    let (mut found, mut before) = (Vec::new(), None::<&Reading>);
    for reading in waits {
        let earlier = before.map_or(0.0, spent);
        let is_new = spent(reading) < earlier;
        if spent(reading) > if is_new { 0.0 } else { earlier } {
            let last = all.iter().rev().find(|other| other.at < reading.at).map(|other| other.at);
            let from = before.filter(|_| !is_new).map(|before| before.at).or(last);
            found.push((from.unwrap_or(reading.at), reading.at));
        }
        before = Some(reading);
    }
    found
}

impl Session<'_> {
    /// Attributes the outliers of each phase from here on: operations whose response time exceeds `bound`, or a percentile. Where
    /// the devices' requests can't be traced, that is a warning.
    pub fn watch_stalls(&mut self, bound: Option<Nanos>) {
        let seen = Shared::default();
        let requests = seen.clone();
        let devices = self.run().info.storage.devices.clone();
        let trace = match BlockTrace::start(&devices, move |request| requests.lock().stalls.request(request))
        {
            Ok(trace) => Some(trace),
            Err(reason) => {
                self.warn(Warning::RequestsNotTraced { reason: reason.to_string() });
                None
            }
        };
        self.control.report_operations();
        self.events.listen(Box::new(seen.clone()));
        self.stalls = Some(StallWatch { bound, trace, seen });
    }

    /// The tasks as they are run: with each operation reported, where outliers are to be attributed.
    pub(crate) fn watched<'t>(&mut self, tasks: Cow<'t, [JobTask]>) -> Cow<'t, [JobTask]> {
        if self.stalls.is_none() {
            return tasks;
        }
        self.expect_stalls();
        let mut tasks = tasks.into_owned();
        for task in &mut tasks {
            if let JobTask::Io(task) = task {
                task.watch.operations = true;
            }
        }
        Cow::Owned(tasks)
    }

    /// Other phases begin.
    pub(crate) fn expect_stalls(&mut self) {
        if let Some(watch) = &self.stalls {
            watch.seen.lock().released.clear();
        }
    }

    /// Attributes the outliers of phases that ran together and have ended.
    pub(crate) fn conclude_stalls(&mut self, phases: &[u32]) {
        let Some(watch) = self.stalls.take() else { return };
        self.events.pass_readings();
        let lost_events = watch.trace.as_ref().and_then(BlockTrace::catch_up);
        let mut seen = watch.seen.lock();
        for (cause, start, end) in self.notable() {
            seen.stalls.beside(cause, start, end, Nanos(0));
        }
        let devices = self.run().info.storage.devices.clone();
        let name = |number: (u32, u32)| {
            let device = devices.iter().find(|device| device.number == number);
            device.map_or_else(|| format!("{}:{}", number.0, number.1), |device| device.name.clone())
        };
        for phase in phases {
            let Some(result) = self.run().phases.iter().rev().find(|result| result.info.index == *phase)
            else {
                continue;
            };
            let Some(released) = seen.released.get(phase).copied() else { continue };
            let of = StalledPhase {
                phase: *phase,
                released,
                totals: &result.totals,
                bound: watch.bound,
                lost_events,
            };
            if let Some(found) = seen.stalls.found(of, name) {
                self.events.conclude(Concluded::of_phase(*phase, &found));
            }
        }
        seen.stalls.clear();
        drop(seen);
        self.stalls = Some(watch);
    }

    /// Times in which CPU time was stolen, tasks waited for memory, or a database wrote its data files, on CLOCK_MONOTONIC.
    fn notable(&self) -> Vec<(StallCause, Nanos, Nanos)> {
        let cpus = f64::from(self.run().info.host.cpus.max(1));
        let readings = &self.run().readings;
        let watched = [
            (StallCause::Steal, readings.of("cpu", ""), "steal_seconds", NOTABLE * cpus),
            (StallCause::MemoryPressure, readings.of("pressure", "memory"), "some_seconds", NOTABLE),
        ];
        let databases = readings.series().filter(|(probe, ..)| *probe == DATABASE);
        let databases: Vec<&[Reading]> = databases.map(|(.., readings)| readings).collect();
        // Of a count, any growth is notable.
        let written = databases
            .iter()
            .flat_map(|readings| COUNTED.map(|(cause, counter)| (cause, *readings, counter, 0.0)));
        let locks = readings.series().filter(|(probe, wait, _)| *probe == WAITS && wait.starts_with(LOCK));
        let locked = locks.flat_map(|(.., waits)| lock_waits(readings.of(WAITS, ""), waits));
        let locked =
            locked.map(|(from, to)| (StallCause::LockWaits, self.on_monotonic(from), self.on_monotonic(to)));
        let mut notable: Vec<(StallCause, Nanos, Nanos)> = locked.collect();
        for (cause, readings, counter, min) in watched.into_iter().chain(written) {
            let much = |pair: &&[Reading]| pair[1].rate(&pair[0], counter).is_some_and(|rate| rate > min);
            let span =
                |pair: &[Reading]| (cause, self.on_monotonic(pair[0].at), self.on_monotonic(pair[1].at));
            notable.extend(readings.windows(2).filter(much).map(span));
        }
        for readings in databases {
            let full =
                readings.windows(2).filter(|pair| is_nearly_full(&pair[0]) || is_nearly_full(&pair[1]));
            let span = |pair: &[Reading]| {
                (StallCause::CheckpointAge, self.on_monotonic(pair[0].at), self.on_monotonic(pair[1].at))
            };
            notable.extend(full.map(span));
        }
        notable
    }
}

#[cfg(test)]
mod tests {
    use iolite_model::ReadingValue;

    use super::*;

    #[test]
    fn waits_for_locks_are_seen_from_their_first_reading_on() {
        let second = |at: u64| Nanos(at * 1_000_000_000);
        let reading = |at, name: &'static str, value| Reading {
            probe: WAITS.into(),
            subject: "Lock:tuple".into(),
            at: second(at),
            values: vec![ReadingValue::counter(name, value)],
        };
        let all: Vec<Reading> = (1..9).map(|at| reading(at, "observed_seconds", at as f64)).collect();
        let spent = [(3, 0.5), (4, 0.5), (5, 0.7), (6, 0.2), (7, 0.2)];
        let waits: Vec<Reading> =
            spent.iter().map(|(at, spent)| reading(*at, "session_seconds", *spent)).collect();
        let expected = [(2, 3), (4, 5), (5, 6)].map(|(from, to)| (second(from), second(to)));
        assert_eq!(lock_waits(&all, &waits), expected);
    }

    #[test]
    fn a_redo_log_is_nearly_full_from_seven_eighths_of_its_maximum() {
        let reading = |values: &[(&'static str, f64)]| Reading {
            probe: DATABASE.into(),
            subject: "MariaDB".into(),
            at: Nanos(0),
            values: values.iter().map(|(name, value)| ReadingValue::gauge(*name, *value)).collect(),
        };
        let aged = |age| reading(&[("checkpoint_age_bytes", age), ("max_checkpoint_age_bytes", 800.0)]);
        assert!(is_nearly_full(&aged(700.0)) && !is_nearly_full(&aged(699.0)));
        assert!(!is_nearly_full(&reading(&[("checkpoint_age_bytes", 700.0)])), "MySQL reports no maximum");
    }
}
