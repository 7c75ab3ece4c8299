//! One thread that reads all probes at regular instants of the run's clock.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use std::{io, mem};

use iolite_model::{Event, Nanos, Reading, ReadingValue, Sink, Warning};
use iolite_sys::clock::{Clock, boot_ahead_of_monotonic, thread_time};

use crate::probe::{Probe, ProbeError, Subject};

/// How long the last reading may take before the sampler is left behind: a probe may wait for a server that hangs.
const PATIENCE: Duration = Duration::from_secs(5);

/// A wait that ends so much later than it was to is one in which the program was not run.
const SUSPENDED: u64 = 1_000_000_000;

/// A growth of the distance between the clocks that is a suspension of the host, and no error of reading them.
const HOST_SUSPENDED: u64 = 10_000_000;

/// When probes are read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Schedule {
    /// Time from one reading to the next.
    pub interval: Nanos,
    /// Largest share of one CPU that reading may use (0 to 1): instants are left out while it would be more. `None` to read at
    /// every instant at any cost.
    pub max_cpu: Option<f64>,
}

impl Default for Schedule {
    /// Once per second, at most 0.1 % of one CPU.
    fn default() -> Schedule {
        Schedule { interval: Nanos::SECOND, max_cpu: Some(0.001) }
    }
}

/// The clock of a run: readings carry the time since `origin`, an instant of `clock`.
#[derive(Debug, Clone, Copy)]
pub struct RunClock {
    /// The clock.
    pub clock: Clock,
    /// The run's start.
    pub origin: u64,
}

/// A thread that reads probes into a sink until it is finished. What it used of the CPU is a reading too, of the probe
/// `sampler`: `cpu_seconds`, and `skipped`, the instants left out.
///
/// A probe that fails is one [`Warning::ProbeFailed`] per run, and is tried again at each instant.
#[derive(Debug)]
pub struct Sampler {
    orders: Sender<Order>,
    ended: Receiver<()>,
    thread: JoinHandle<()>,
}

/// What the thread is asked for while it waits for the next instant.
enum Order {
    /// Reads this probe too, now for the first time.
    Add(Box<dyn Probe>),
    /// Reads the probe of this name for the last time.
    Remove(&'static str),
    /// Ends.
    End,
}

impl Sampler {
    /// Reads all probes for the first time before it returns, then at each multiple of the interval since the clock's origin.
    ///
    /// The sink is called by the sampler's thread only.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn start(
        probes: Vec<Box<dyn Probe>>,
        schedule: Schedule,
        clock: RunClock,
        sink: impl Sink + 'static,
    ) -> io::Result<Sampler> {
        assert!(schedule.interval.0 > 0, "an interval of no length has no next instant");
        let (orders, called) = mpsc::channel();
        let (at_end, ended) = mpsc::channel();
        let (ready, is_ready) = mpsc::channel();
        let thread = thread::Builder::new().name("sampler".into()).spawn(move || {
            let mut sampling = Sampling::new(probes, schedule, clock, sink, boot_ahead_of_monotonic);
            sampling.sample();
            // Nobody waits any more when the run was given up.
            let _ = ready.send(());
            loop {
                match called.recv_timeout(sampling.wait()) {
                    Err(RecvTimeoutError::Timeout) => sampling.tick(),
                    Ok(Order::Add(probe)) => sampling.add(probe),
                    Ok(Order::Remove(name)) => sampling.remove(name),
                    Ok(Order::End) | Err(RecvTimeoutError::Disconnected) => break,
                }
            }
            sampling.note_pauses(sampling.clock.elapsed(), 0);
            sampling.sample();
            drop(sampling);
            let _ = at_end.send(());
        })?;
        // A probe that hangs at once holds up neither the run nor its readings' consumers.
        let _ = is_ready.recv_timeout(PATIENCE);
        Ok(Sampler { orders, ended, thread })
    }

    /// Reads another probe from now on: for example the counters of a database while a phase runs in it.
    pub fn add(&self, probe: Box<dyn Probe>) {
        // It has died already where this is not heard.
        let _ = self.orders.send(Order::Add(probe));
    }

    /// Reads the probe of this name for the last time.
    pub fn remove(&self, name: &'static str) {
        let _ = self.orders.send(Order::Remove(name));
    }

    /// Reads the probes for the last time and ends the thread. A warning where a probe hangs: the thread is then left behind.
    pub fn finish(self) -> Option<Warning> {
        // It has died already where this is not heard.
        let _ = self.orders.send(Order::End);
        match self.ended.recv_timeout(PATIENCE) {
            Err(RecvTimeoutError::Timeout) => Some(Warning::ProbeFailed {
                probe: "sampler".into(),
                reason: format!("a probe has not responded for {} s", PATIENCE.as_secs()),
            }),
            Ok(()) | Err(RecvTimeoutError::Disconnected) => self.thread.join().err().map(|_| {
                let reason = "its thread has panicked, which is a bug".into();
                Warning::ProbeFailed { probe: "sampler".into(), reason }
            }),
        }
    }
}

/// What the thread works with.
struct Sampling<S> {
    probes: Vec<Watched>,
    schedule: Schedule,
    clock: RunClock,
    sink: S,
    /// Instant of the next reading, since the clock's origin.
    next: u64,
    /// Until when it waits, since the clock's origin.
    awake: u64,
    /// CPU time of this thread when it began.
    cpu_before: u64,
    /// Since when CPU time is compared with time, since the clock's origin.
    since: u64,
    skipped: u64,
    /// How far the clock that goes on while the host is suspended is ahead of the one that does not.
    ahead: fn() -> i64,
    /// The same as last seen.
    last_ahead: i64,
}

struct Watched {
    probe: Box<dyn Probe>,
    failed: bool,
}

impl Watched {
    fn new(probe: Box<dyn Probe>) -> Watched {
        Watched { probe, failed: false }
    }

    fn read(&mut self, clock: RunClock, sink: &mut impl Sink) {
        let name = self.probe.name();
        match self.probe.read() {
            Ok(subjects) => {
                let at = clock.at();
                subjects.into_iter().for_each(|subject| emit(sink, name, at, subject));
            }
            Err(error) => {
                if !self.failed {
                    sink.event(&Event::Warning(failure(name, &error)));
                }
                self.failed = true;
            }
        }
    }
}

impl<S: Sink> Sampling<S> {
    fn new(
        probes: Vec<Box<dyn Probe>>,
        schedule: Schedule,
        clock: RunClock,
        sink: S,
        ahead: fn() -> i64,
    ) -> Sampling<S> {
        let probes = probes.into_iter().map(Watched::new).collect();
        let now = clock.elapsed();
        let next = following(now, schedule.interval.0);
        Sampling {
            probes,
            schedule,
            clock,
            sink,
            next,
            awake: next,
            cpu_before: thread_time(),
            since: now,
            skipped: 0,
            ahead,
            last_ahead: ahead(),
        }
    }

    /// Time until the next instant.
    fn wait(&mut self) -> Duration {
        let now = self.clock.elapsed();
        self.awake = self.next.max(now);
        Duration::from_nanos(self.awake - now)
    }

    /// An instant has come: reads, unless that has been too expensive so far. An instant that was slept through is left out.
    fn tick(&mut self) {
        let now = self.clock.elapsed();
        if now < self.next {
            return;
        }
        self.note_pauses(now, now - self.awake.min(now));
        let passed = following(now, self.schedule.interval.0) - self.next;
        self.skipped += passed / self.schedule.interval.0 - 1;
        self.next += passed;
        let allowed = self.schedule.max_cpu.map(|share| now.saturating_sub(self.since) as f64 * share);
        // The first instants are read in any case: what is read first is the slowest, and is paid back later.
        let paid = allowed.is_none_or(|allowed| self.cpu() as f64 <= allowed);
        if paid {
            self.sample();
        } else {
            self.skipped += 1;
        }
    }

    /// Warns of a time in which the program, or the host, did not run; the wait before ended `late`.
    fn note_pauses(&mut self, now: u64, late: u64) {
        let ahead = (self.ahead)();
        let suspended = u64::try_from(ahead - mem::replace(&mut self.last_ahead, ahead)).unwrap_or(0);
        if let Some(warning) = not_run(Nanos(self.awake.min(now)), late, suspended) {
            self.sink.event(&Event::Warning(warning));
        }
    }

    fn cpu(&self) -> u64 {
        thread_time().saturating_sub(self.cpu_before)
    }

    fn add(&mut self, probe: Box<dyn Probe>) {
        let mut watched = Watched::new(probe);
        watched.read(self.clock, &mut self.sink);
        self.probes.push(watched);
    }

    fn remove(&mut self, name: &str) {
        let (mut removed, kept) =
            mem::take(&mut self.probes).into_iter().partition::<Vec<_>, _>(|one| one.probe.name() == name);
        removed.iter_mut().for_each(|watched| watched.read(self.clock, &mut self.sink));
        self.probes = kept;
    }

    fn sample(&mut self) {
        for watched in &mut self.probes {
            watched.read(self.clock, &mut self.sink);
        }
        let values = vec![
            ReadingValue::counter("cpu_seconds", self.cpu() as f64 / 1e9),
            ReadingValue::counter("skipped", self.skipped as f64),
        ];
        emit(&mut self.sink, "sampler", self.clock.at(), Subject::host(values));
    }
}

/// What is said of a wait that ended so late, in which the host was suspended for so long: the run's clock may have gone on
/// meanwhile or not.
fn not_run(at: Nanos, late: u64, suspended: u64) -> Option<Warning> {
    if suspended >= HOST_SUSPENDED {
        return Some(Warning::HostSuspended { at, length: Nanos(suspended) });
    }
    (late >= SUSPENDED).then_some(Warning::Suspended { at, length: Nanos(late) })
}

fn emit(sink: &mut impl Sink, probe: &'static str, at: Nanos, subject: Subject) {
    let Subject { name, values } = subject;
    sink.event(&Event::Reading(Reading { probe: probe.into(), subject: name, at, values }));
}

fn failure(probe: &str, error: &ProbeError) -> Warning {
    Warning::ProbeFailed { probe: probe.into(), reason: error.to_string() }
}

/// The first multiple of `interval` after `now`.
fn following(now: u64, interval: u64) -> u64 {
    (now / interval + 1) * interval
}

impl RunClock {
    /// A clock whose origin is now.
    pub fn starting_now() -> RunClock {
        let clock = Clock::best();
        RunClock { clock, origin: clock.now() }
    }

    fn elapsed(&self) -> u64 {
        self.clock.now().saturating_sub(self.origin)
    }

    fn at(&self) -> Nanos {
        Nanos(self.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::probe::probe_from;

    /// Passes events on to a channel.
    struct Passed(Sender<Event>);

    impl Sink for Passed {
        fn event(&mut self, event: &Event) {
            let _ = self.0.send(event.clone());
        }
    }

    const OFTEN: Schedule = Schedule { interval: Nanos(1_000_000), max_cpu: None };

    fn counting() -> Box<dyn Probe> {
        let mut count = 0.0;
        probe_from("counting", move || {
            count += 1.0;
            Ok(vec![Subject::host(vec![ReadingValue::counter("reads", count)])])
        })
    }

    fn failing() -> Box<dyn Probe> {
        probe_from("failing", || Err(ProbeError::Other("no such counter".into())))
    }

    #[test]
    fn probes_are_read_until_the_end_and_failures_are_reported_once() {
        let (sender, events) = mpsc::channel();
        let probes = vec![failing(), counting()];
        let sampler = Sampler::start(probes, OFTEN, RunClock::starting_now(), Passed(sender)).unwrap();
        let (mut readings, mut warnings) = (Vec::new(), Vec::new());
        let mut sort = |event| match event {
            Event::Reading(reading) if reading.probe == "counting" => readings.push(reading),
            Event::Reading(_) => {}
            Event::Warning(warning) => warnings.push(warning),
            other => panic!("{other:?}"),
        };
        for _ in 0..10 {
            sort(events.recv_timeout(Duration::from_secs(60)).unwrap());
        }
        assert_eq!(sampler.finish(), None);
        events.into_iter().for_each(&mut sort);
        let values: Vec<_> = readings.iter().map(|reading| reading.value("reads").unwrap()).collect();
        let expected: Vec<_> = (1..=values.len()).map(|count| count as f64).collect();
        assert_eq!(values, expected);
        assert!(values.len() >= 4 && readings.is_sorted_by(|one, next| one.at < next.at), "{readings:?}");
        let [Warning::ProbeFailed { probe, reason }] = warnings.as_slice() else { panic!("{warnings:?}") };
        assert_eq!((probe.as_str(), reason.as_str()), ("failing", "no such counter"));
    }

    #[test]
    fn a_probe_is_added_and_removed_while_others_are_read() {
        let (sender, events) = mpsc::channel();
        let (read, was_read) = mpsc::channel();
        let schedule = Schedule { interval: Nanos(3_600 * Nanos::SECOND.0), max_cpu: None };
        let clock = RunClock::starting_now();
        let sampler = Sampler::start(vec![counting()], schedule, clock, Passed(sender)).unwrap();
        let mut count = 0.0;
        sampler.add(probe_from("added", move || {
            count += 1.0;
            let _ = read.send(());
            Ok(vec![Subject::host(vec![ReadingValue::counter("reads", count)])])
        }));
        was_read.recv_timeout(Duration::from_secs(60)).unwrap();
        sampler.remove("added");
        was_read.recv_timeout(Duration::from_secs(60)).unwrap();
        assert_eq!(sampler.finish(), None);
        let readings: Vec<Reading> = events
            .into_iter()
            .filter_map(|event| if let Event::Reading(reading) = event { Some(reading) } else { None })
            .collect();
        let of = |probe: &str| -> Vec<f64> {
            readings.iter().filter(|one| one.probe == probe).filter_map(|one| one.value("reads")).collect()
        };
        assert_eq!(of("added"), [1.0, 2.0], "once when added, once when removed, and not after that");
        assert_eq!(of("counting"), [1.0, 2.0], "at the start and at the end");
    }

    #[test]
    fn an_expensive_probe_is_read_less_often() {
        let read = Arc::new(AtomicU32::new(0));
        let counted = read.clone();
        let expensive = probe_from("expensive", move || {
            counted.fetch_add(1, Ordering::Relaxed);
            let started = thread_time();
            while thread_time() - started < 2_000_000 {}
            Ok(Vec::new())
        });
        let collected = Arc::new(Mutex::new(Vec::new()));
        let schedule = Schedule { max_cpu: Some(0.001), ..OFTEN };
        let sink = Collected(collected.clone());
        let mut sampling = Sampling::new(vec![expensive], schedule, RunClock::starting_now(), sink, || 0);
        sampling.sample();
        for _ in 0..20 {
            thread::sleep(sampling.wait());
            sampling.tick();
        }
        // A reading of two milliseconds is paid for by two seconds: twenty readings in twenty instants take 40 s.
        assert!(read.load(Ordering::Relaxed) < 20, "{read:?}");
        assert!(sampling.skipped > 0);
    }

    /// A host that is suspended is simulated by clocks that drift apart.
    #[test]
    fn a_suspended_host_is_reported_once_with_the_time_it_took() {
        static AHEAD: AtomicI64 = AtomicI64::new(3_000_000_000);
        let collected = Arc::new(Mutex::new(Vec::new()));
        let sink = Collected(collected.clone());
        let clock = RunClock::starting_now();
        let mut sampling = Sampling::new(vec![], OFTEN, clock, sink, || AHEAD.load(Ordering::Relaxed));
        // What lay between them before the run, and what reading them one after the other adds, is none.
        for more in [0, 9_000_000, -9_000_000, 7_500_000_000, 0] {
            AHEAD.fetch_add(more, Ordering::Relaxed);
            thread::sleep(sampling.wait());
            sampling.tick();
        }
        let warnings: Vec<Warning> = collected.lock().unwrap().iter().filter_map(warning_of).collect();
        let [Warning::HostSuspended { at, length }] = warnings[..] else { panic!("{warnings:?}") };
        assert_eq!(length, Nanos(7_500_000_000));
        assert!(at.0 <= clock.elapsed());
        // The run's clock may have gone on meanwhile: that is not a stop of the program as well.
        let said = not_run(Nanos(1), 7_500_000_000, 7_500_000_000);
        assert!(matches!(said, Some(Warning::HostSuspended { .. })), "{said:?}");
        assert!(matches!(not_run(Nanos(1), SUSPENDED, 0), Some(Warning::Suspended { .. })));
        assert_eq!(not_run(Nanos(1), SUSPENDED - 1, HOST_SUSPENDED - 1), None);
    }

    fn warning_of(event: &Event) -> Option<Warning> {
        if let Event::Warning(warning) = event { Some(warning.clone()) } else { None }
    }

    /// Keeps events.
    struct Collected(Arc<Mutex<Vec<Event>>>);

    impl Sink for Collected {
        fn event(&mut self, event: &Event) {
            self.0.lock().unwrap().push(event.clone());
        }
    }

    #[test]
    fn instants_are_multiples_of_the_interval() {
        assert_eq!([following(0, 10), following(9, 10), following(10, 10)], [10, 10, 20]);
    }

    /// Prints what once a second costs here; the bound itself is the schedule's, and holds by construction.
    #[test]
    fn all_probes_of_this_host_are_read() {
        let storage = crate::storage(std::path::Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        let mut probes = crate::host_probes(Some(&storage));
        let mut values = 0;
        let started = thread_time();
        const TIMES: u32 = 20;
        for _ in 0..TIMES {
            values = probes
                .iter_mut()
                .map(|p| p.read().unwrap().iter().map(|s| s.values.len()).sum::<usize>())
                .sum();
        }
        let cost = (thread_time() - started) / u64::from(TIMES);
        eprintln!("{} probes, {values} values: {:.1} us of CPU per reading", probes.len(), cost as f64 / 1e3);
        assert!(probes.len() >= 4 && values >= 30, "{} probes, {values} values", probes.len());
    }
}
