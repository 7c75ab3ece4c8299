//! What tests of times share, those of other crates too.

// Each test program takes what it needs.
#![allow(dead_code)]

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Attempts of a test of times.
const ATTEMPTS: usize = 3;

/// A flag that is raised after a time, by a thread that returns when that was.
pub(crate) fn raised_after(time: Duration) -> (Arc<AtomicBool>, JoinHandle<Instant>) {
    let flag = Arc::new(AtomicBool::new(false));
    let raised = flag.clone();
    let raiser = std::thread::spawn(move || {
        std::thread::sleep(time);
        raised.store(true, Ordering::Relaxed);
        Instant::now()
    });
    (flag, raiser)
}

/// A share of the time above which the machine counts as disturbed: of CPU time taken by the hypervisor, of time in which something
/// runnable had no CPU, or of time by which a thread woke up late.
const DISTURBED: f64 = 0.05;

/// Set by `.ci/run_tests` where a test program that failed beside others is run once more, alone.
const ALONE: &str = "IOLITE_TESTS_ALONE";

/// One test of times at a time in each test program: they would disturb one another.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A test of times, rates or a device's counters: others may use the machine as well, and disturb what is measured. What is wrong
/// is wrong every time, so that one attempt in which all is right is enough. Where all attempts fail and the machine was disturbed
/// in each of them, they say nothing: the test is skipped if it was alone already (beside other tests it fails, and is repeated
/// alone). An attempt that fails on an undisturbed machine counts.
pub(crate) fn undisturbed(attempt: impl Fn()) {
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let mut always_disturbed = true;
    for left in (0..ATTEMPTS).rev() {
        let witness = Witness::start();
        let outcome = catch_unwind(AssertUnwindSafe(&attempt));
        let share = witness.stop();
        let Err(failure) = outcome else { return };
        always_disturbed &= share > DISTURBED;
        eprintln!(
            "the machine was disturbed for {:.1} % of the attempt, {left} attempts left",
            share * 100.0
        );
        if left > 0 {
            continue;
        }
        if always_disturbed && std::env::var_os(ALONE).is_some() {
            eprintln!("SKIPPED: other load disturbed all {ATTEMPTS} attempts, so that they show nothing");
            return;
        }
        resume_unwind(failure);
    }
}

/// Watches how much the machine is disturbed by others while an attempt runs.
struct Witness {
    started: Instant,
    stolen: f64,
    waiting: f64,
    end: Arc<AtomicBool>,
    sleeper: JoinHandle<Duration>,
}

impl Witness {
    fn start() -> Self {
        let end = Arc::new(AtomicBool::new(false));
        let ended = end.clone();
        let sleeper = std::thread::spawn(move || {
            let (nap, mut late) = (Duration::from_millis(2), Duration::ZERO);
            while !ended.load(Ordering::Relaxed) {
                let before = Instant::now();
                std::thread::sleep(nap);
                // Timers are late by some tens of microseconds everywhere.
                late += before.elapsed().saturating_sub(nap + Duration::from_micros(200));
            }
            late
        });
        Self { started: Instant::now(), stolen: stolen_time(), waiting: waiting_time(), end, sleeper }
    }

    /// The largest of the three shares of the time (see [`DISTURBED`]).
    fn stop(self) -> f64 {
        self.end.store(true, Ordering::Relaxed);
        let late = self.sleeper.join().map_or(0.0, |late| late.as_secs_f64());
        let elapsed = self.started.elapsed().as_secs_f64();
        let stolen = stolen_time() - self.stolen;
        let waiting = waiting_time() - self.waiting;
        late.max(stolen).max(waiting) / elapsed
    }
}

/// Seconds that the hypervisor has taken, as a mean over the CPUs (/proc/stat, in ticks of 10 ms; proc_stat(5)).
fn stolen_time() -> f64 {
    let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let cpus = text.lines().filter(|line| line.starts_with("cpu")).count().saturating_sub(1).max(1);
    let ticks = text.lines().next().and_then(|line| line.split_whitespace().nth(8)?.parse::<f64>().ok());
    ticks.unwrap_or(0.0) / 100.0 / cpus as f64
}

/// Seconds in which something runnable waited for a CPU (/proc/pressure/cpu; 0 where the kernel does not say).
fn waiting_time() -> f64 {
    let text = std::fs::read_to_string("/proc/pressure/cpu").unwrap_or_default();
    let total = text.lines().next().and_then(|line| line.rsplit("total=").next()?.trim().parse::<f64>().ok());
    total.unwrap_or(0.0) / 1e6
}
