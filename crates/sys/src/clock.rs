//! The clock of every measurement: the processor's time stamp counter where it can be trusted, else CLOCK_MONOTONIC.

#[cfg(target_arch = "x86_64")]
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::time::{ClockId, clock_gettime};

/// How long the time stamp counter is compared with CLOCK_MONOTONIC: long enough for an error of a few parts per
/// million (each end is known to about 100 ns).
#[cfg(target_arch = "x86_64")]
const CALIBRATION: std::time::Duration = std::time::Duration::from_millis(25);

/// Nanoseconds since the clock was made. Cheap to copy: every worker holds the same clock.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    source: Source,
}

#[derive(Debug, Clone, Copy)]
enum Source {
    /// `(counter - origin) * scale / 2^32` nanoseconds; `monotonic` is CLOCK_MONOTONIC at the origin.
    #[cfg(target_arch = "x86_64")]
    Tsc { origin: u64, scale: u64, monotonic: u64 },
    /// CLOCK_MONOTONIC minus the origin.
    Monotonic { origin: u64 },
}

/// Whether the counter has begun anew while this program runs, as that of many processors does when the host is suspended: it can't be
/// trusted any more then, however far it has come since.
#[cfg(target_arch = "x86_64")]
static BEGAN_ANEW: AtomicBool = AtomicBool::new(false);

/// Cost and resolution of reading a clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClockCost {
    /// Cost of one reading, in nanoseconds: the fastest of several batches.
    pub nanos: f64,
    /// Smallest step seen between two readings that differ, in nanoseconds.
    pub resolution: u64,
}

/// Time that the calling thread has kept a processor busy, in nanoseconds.
pub fn thread_time() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The time of a system clock, in nanoseconds, by its number for clock_gettime(2).
///
/// # Errors
/// There is no such clock on this system.
pub fn time_of(clock: i32) -> std::io::Result<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes one timespec, which `time` is; it refuses numbers that are no clock.
    if unsafe { libc::clock_gettime(clock, &mut time) } != 0 {
        return Err(std::io::Error::last_os_error());
    }
    Ok(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// How far CLOCK_BOOTTIME is ahead of CLOCK_MONOTONIC, in nanoseconds: only the first goes on while the host is suspended. In a time
/// namespace (time_namespaces(7)) it begins anywhere; by as much as it grows, the host was suspended.
pub fn boot_ahead_of_monotonic() -> i64 {
    let boot = || {
        let now = clock_gettime(ClockId::Boottime);
        now.tv_sec * 1_000_000_000 + now.tv_nsec
    };
    // Of several tries the closest, should one be preempted in between.
    let tries = (0..9).map(|_| {
        let (before, boot, after) = (monotonic(), boot(), monotonic());
        let width = after.saturating_sub(before);
        (width, boot - (before + width / 2).cast_signed())
    });
    tries.min().map_or(0, |(_, ahead)| ahead)
}

impl Clock {
    /// The best clock of this machine. Takes about 25 ms where the time stamp counter has to be calibrated.
    ///
    /// The counter is used where the kernel itself keeps time by it (current_clocksource is `tsc`): the kernel then
    /// has found it invariant and the same on all processors, and goes on watching it.
    pub fn best() -> Clock {
        #[cfg(target_arch = "x86_64")]
        if kernel_trusts_tsc() {
            return Clock::tsc();
        }
        Clock::monotonic()
    }

    /// CLOCK_MONOTONIC.
    pub fn monotonic() -> Clock {
        Clock { source: Source::Monotonic { origin: monotonic() } }
    }

    #[cfg(target_arch = "x86_64")]
    fn tsc() -> Clock {
        let (first_time, origin) = both();
        std::thread::sleep(CALIBRATION);
        let (last_time, last) = both();
        let nanos = u128::from(last_time - first_time);
        let ticks = u128::from(last.wrapping_sub(origin)).max(1);
        let scale = u64::try_from((nanos << 32) / ticks).unwrap_or(0);
        let counter = Source::Tsc { origin, scale, monotonic: first_time };
        if scale == 0 { Clock::monotonic() } else { Clock { source: counter } }
    }

    /// Nanoseconds since the clock was made. A time in which the host was suspended counts only as far as the clock goes on meanwhile:
    /// CLOCK_MONOTONIC does not, and a counter may.
    #[inline(always)]
    pub fn now(&self) -> u64 {
        match self.source {
            #[cfg(target_arch = "x86_64")]
            Source::Tsc { origin, scale, monotonic } => match tsc().checked_sub(origin) {
                Some(ticks) if !BEGAN_ANEW.load(Ordering::Relaxed) => {
                    ((u128::from(ticks) * u128::from(scale)) >> 32) as u64
                }
                _ => instead_of_counter(monotonic),
            },
            Source::Monotonic { origin } => monotonic().saturating_sub(origin),
        }
    }

    /// The reading of this clock at an instant, past or future, of CLOCK_MONOTONIC, by which processes agree on one; zero
    /// before this clock was made.
    pub fn at_monotonic(&self, instant: u64) -> u64 {
        let (ours, theirs) = self.with_monotonic();
        ours.saturating_add(instant).saturating_sub(theirs)
    }

    /// The instant of CLOCK_MONOTONIC at which this clock reads `instant`.
    pub fn monotonic_at(&self, instant: u64) -> u64 {
        let (ours, theirs) = self.with_monotonic();
        theirs.saturating_add(instant).saturating_sub(ours)
    }

    /// This clock and CLOCK_MONOTONIC at one instant: of several tries the closest, should one be preempted in between.
    fn with_monotonic(&self) -> (u64, u64) {
        let tries = (0..9).map(|_| {
            let before = self.now();
            let theirs = monotonic();
            (self.now().saturating_sub(before), before, theirs)
        });
        tries.min().map_or((0, 0), |(width, before, theirs)| (before + width / 2, theirs))
    }

    /// `tsc` or `clock_monotonic`.
    pub fn name(&self) -> &'static str {
        match self.source {
            #[cfg(target_arch = "x86_64")]
            Source::Tsc { .. } => "tsc",
            Source::Monotonic { .. } => "clock_monotonic",
        }
    }

    /// Measures the clock itself; takes some milliseconds.
    pub fn cost(&self) -> ClockCost {
        const READINGS: u32 = 10_000;
        let mut cost = ClockCost { nanos: f64::INFINITY, resolution: u64::MAX };
        for _ in 0..8 {
            let first = self.now();
            let mut last = first;
            for _ in 0..READINGS {
                let now = self.now();
                if now > last {
                    cost.resolution = cost.resolution.min(now - last);
                }
                last = now;
            }
            cost.nanos = cost.nanos.min((last - first) as f64 / f64::from(READINGS));
        }
        cost
    }
}

fn monotonic() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The time since an instant of CLOCK_MONOTONIC, once the counter has begun anew.
#[cfg(target_arch = "x86_64")]
#[cold]
#[inline(never)]
fn instead_of_counter(since: u64) -> u64 {
    BEGAN_ANEW.store(true, Ordering::Relaxed);
    monotonic().saturating_sub(since)
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn tsc() -> u64 {
    // SAFETY: every x86-64 processor has the instruction, and the kernel, which uses it to give user space the time
    // (see `kernel_trusts_tsc`), has not forbidden it.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// The two clocks at one instant: of several tries the one that took least, so that being preempted in between does
/// not put them apart.
#[cfg(target_arch = "x86_64")]
fn both() -> (u64, u64) {
    let tries = (0..9).map(|_| {
        let before = tsc();
        let time = monotonic();
        (tsc().saturating_sub(before), time, before)
    });
    tries.min().map_or((0, 0), |(width, time, before)| (time, before + width / 2))
}

#[cfg(target_arch = "x86_64")]
fn kernel_trusts_tsc() -> bool {
    std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource")
        .is_ok_and(|name| name.trim() == "tsc")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Mutex, MutexGuard, PoisonError};
    use std::time::Duration;

    /// Held by each test that reads the counter: one of them lets it begin anew.
    fn counter() -> MutexGuard<'static, ()> {
        static COUNTER: Mutex<()> = Mutex::new(());
        COUNTER.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[test]
    fn the_clock_agrees_with_the_systems() {
        let _counter = counter();
        let clock = Clock::best();
        // Each reading of the system's clock lies between two of ours, however long the thread is preempted.
        let reading = || (clock.now(), monotonic(), clock.now());
        let first = reading();
        std::thread::sleep(Duration::from_millis(50));
        let last = reading();
        let theirs = (last.1 - first.1) as f64;
        let (min, max) = ((last.0 - first.2) as f64, (last.2 - first.0) as f64);
        // The calibration is exact to some parts per million; this is 0.1 %.
        let name = clock.name();
        assert!(min <= theirs * 1.001 && theirs <= max * 1.001, "{name}: {min} to {max} ns for {theirs} ns");
    }

    #[test]
    fn system_clocks_are_read_by_their_number() {
        let now = time_of(libc::CLOCK_REALTIME).unwrap();
        // International Atomic Time: the same without leap seconds, of which there are fewer than 100 (none where nobody has set them).
        let atomic = time_of(libc::CLOCK_TAI).unwrap();
        assert!(atomic >= now && (atomic - now) / 1_000_000_000 < 100, "{atomic} {now}");
        // Linux has none of the number 10, and none beyond 11.
        for none in [10, 12] {
            assert_eq!(time_of(none).unwrap_err().raw_os_error(), Some(libc::EINVAL), "{none}");
        }
    }

    /// It grows by nothing but suspensions: less than what any of them takes (1 ms) while this test runs.
    #[test]
    fn nothing_lies_between_the_clocks_but_suspensions() {
        let before = boot_ahead_of_monotonic();
        std::thread::sleep(Duration::from_millis(20));
        let grown = boot_ahead_of_monotonic() - before;
        assert!(grown.abs() < 1_000_000, "{grown}");
    }

    #[test]
    fn instants_go_from_clock_to_clock_and_back() {
        let _counter = counter();
        for clock in [Clock::best(), Clock::monotonic()] {
            let now = clock.now();
            let there_and_back = clock.at_monotonic(clock.monotonic_at(now));
            assert!(there_and_back.abs_diff(now) < 1_000_000, "{} {there_and_back} {now}", clock.name());
            assert_eq!(clock.at_monotonic(0), 0);
        }
    }

    /// As after a suspension: the counter is behind where it was when the clock was made, and no reading of it may be used any more.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn a_counter_that_began_anew_is_replaced_by_the_systems_clock() {
        let _counter = counter();
        let began = monotonic() - 5_000_000_000;
        let at = |origin| Clock { source: Source::Tsc { origin, scale: 1 << 32, monotonic: began } };
        for clock in [at(tsc() + (1 << 50)), at(0)] {
            let (before, now, after) = (monotonic(), clock.now(), monotonic());
            assert!((before - began..=after - began).contains(&now), "{now}");
            let later = clock.now();
            assert!(later >= now && later <= monotonic() - began, "{later} after {now}");
        }
        // A clock made before goes on, as any made afterwards.
        let clock = Clock::best();
        let first = (monotonic(), clock.now());
        std::thread::sleep(Duration::from_millis(5));
        let last = (clock.now(), monotonic());
        BEGAN_ANEW.store(false, Ordering::Relaxed);
        assert!(last.0 - first.1 >= 5_000_000 && last.0 - first.1 <= last.1 - first.0);
    }

    #[test]
    fn the_clock_never_goes_back() {
        let _counter = counter();
        for clock in [Clock::best(), Clock::monotonic()] {
            let mut last = clock.now();
            for _ in 0..100_000 {
                let now = clock.now();
                assert!(now >= last);
                last = now;
            }
            let cost = clock.cost();
            assert!(cost.nanos > 0.0 && cost.resolution > 0, "{cost:?}");
        }
    }
}
