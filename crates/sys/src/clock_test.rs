//! Whether a clock reads the same on all processors.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;

use crate::clock::Clock;
use crate::placement;

/// Readings that each processor contributes.
const READINGS: usize = 50_000;

/// What comparing the readings of all processors has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agreement {
    /// The processors that this process may run on, which were compared: their numbers, and the first reading of each.
    pub cpus: Vec<(usize, u64)>,
    /// Readings of each processor.
    pub readings: usize,
    /// Readings that are before the one that was made before them.
    pub backwards: usize,
    /// The largest of these steps, in nanoseconds.
    pub largest: u64,
}

/// Reads a clock on all processors at the same time, with a thread on each. The readings have an order: each is made after the one
/// before it and before the next, whatever processors they are from, so that the clock must never go back.
///
/// # Errors
/// A thread can't be started, or not on its processor.
pub fn compare(clock: Clock) -> io::Result<Agreement> {
    let cpus = placement::cpus()?;
    let group =
        Group { clock, turn: AtomicU64::new(0), ready: AtomicUsize::new(0), stop: AtomicBool::new(false) };
    let of_each = thread::scope(|scope| {
        let start = |cpu: &usize| {
            let (group, cpu, all) = (&group, *cpu, cpus.len());
            thread::Builder::new().spawn_scoped(scope, move || group.read(cpu, all))
        };
        let started: Vec<_> = cpus.iter().map(start).collect();
        if started.iter().any(Result::is_err) {
            group.stop.store(true, Ordering::Relaxed);
        }
        let panicked = |_| io::Error::other("a thread that reads the clock panicked");
        started.into_iter().map(|thread| thread?.join().map_err(panicked)?).collect::<io::Result<Vec<_>>>()
    })?;
    let first = |readings: &Vec<(u64, u64)>| readings.first().map_or(0, |(_, time)| *time);
    let cpus = cpus.into_iter().zip(&of_each).map(|(cpu, readings)| (cpu, first(readings))).collect();
    let mut readings: Vec<(u64, u64)> = of_each.into_iter().flatten().collect();
    readings.sort_unstable();
    let times: Vec<u64> = readings.into_iter().map(|(_, time)| time).collect();
    Ok(Agreement::of(cpus, &times))
}

impl Agreement {
    /// Of readings in the order in which they were made.
    fn of(cpus: Vec<(usize, u64)>, times: &[u64]) -> Agreement {
        let steps = times.windows(2).filter_map(|pair| pair[0].checked_sub(pair[1]));
        let backwards: Vec<u64> = steps.filter(|step| *step > 0).collect();
        let largest = backwards.iter().copied().max().unwrap_or(0);
        let readings = times.len() / cpus.len().max(1);
        Agreement { cpus, readings, backwards: backwards.len(), largest }
    }
}

/// Threads that read a clock in turns.
struct Group {
    clock: Clock,
    /// Number of the next reading.
    turn: AtomicU64,
    /// Threads that are where they are to read it.
    ready: AtomicUsize,
    stop: AtomicBool,
}

impl Group {
    /// The readings on a processor, with their numbers, when all threads are ready.
    fn read(&self, cpu: usize, threads: usize) -> io::Result<Vec<(u64, u64)>> {
        let placed = placement::run_on(&[cpu]);
        if placed.is_err() {
            self.stop.store(true, Ordering::Relaxed);
        }
        self.ready.fetch_add(1, Ordering::Relaxed);
        placed?;
        while self.ready.load(Ordering::Relaxed) < threads && !self.stop.load(Ordering::Relaxed) {
            thread::yield_now();
        }
        let mut readings = Vec::with_capacity(READINGS);
        while readings.len() < READINGS && !self.stop.load(Ordering::Relaxed) {
            let number = self.turn.load(Ordering::SeqCst);
            in_order();
            let time = self.clock.now();
            in_order();
            // No other thread took the reading of this number meanwhile.
            let mine = self.turn.compare_exchange(number, number + 1, Ordering::SeqCst, Ordering::Relaxed);
            if mine.is_ok() {
                readings.push((number, time));
            }
        }
        Ok(readings)
    }
}

/// The processor begins nothing that follows before all that precedes is done.
#[inline(always)]
fn in_order() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has the instruction (SSE2).
    unsafe {
        core::arch::x86_64::_mm_lfence();
    }
    #[cfg(not(target_arch = "x86_64"))]
    std::sync::atomic::fence(Ordering::SeqCst);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_back_are_counted() {
        let of = |times: &[u64]| {
            let Agreement { readings, backwards, largest, .. } = Agreement::of(vec![(0, 1), (1, 2)], times);
            (readings, backwards, largest)
        };
        assert_eq!(of(&[1, 2, 2, 5]), (2, 0, 0));
        assert_eq!(of(&[1, 9, 2, 5, 4, 6]), (3, 2, 7));
        assert_eq!(of(&[]), (0, 0, 0));
    }

    /// The kernel keeps CLOCK_MONOTONIC the same on all processors.
    #[test]
    fn the_systems_clock_agrees_with_itself() {
        let found = compare(Clock::monotonic()).unwrap();
        let cpus: Vec<usize> = found.cpus.iter().map(|(cpu, _)| *cpu).collect();
        assert_eq!(cpus, placement::cpus().unwrap());
        assert_eq!((found.readings, found.backwards), (READINGS, 0));
    }
}
