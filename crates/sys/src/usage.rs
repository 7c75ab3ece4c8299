//! What a thread, or this process, has used of the machine.

use std::io;
use std::mem::MaybeUninit;
use std::time::Duration;

/// What a thread has used since it began, or between two instants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ThreadUsage {
    /// CPU time in user mode.
    pub user: Duration,
    /// CPU time in the kernel.
    pub system: Duration,
    /// Context switches, voluntary and not.
    pub context_switches: u64,
    /// Page faults that needed I/O.
    pub major_faults: u64,
    /// Page faults that needed none.
    pub minor_faults: u64,
    /// Time that it was ready to run but waited for a CPU; zero where the kernel does not count it.
    pub run_delay: Duration,
}

/// What the calling thread has used since it began.
///
/// # Errors
/// The kernel does not report it; every Linux since 2.6.26 does.
pub fn of_this_thread() -> io::Result<ThreadUsage> {
    let run_delay = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let run_delay = run_delay.as_deref().and_then(run_delay_of).unwrap_or_default();
    Ok(ThreadUsage { run_delay, ..of(libc::RUSAGE_THREAD)? })
}

/// The second field of schedstat (Linux, Documentation/scheduler/sched-stats.rst): time on a run queue, in nanoseconds.
fn run_delay_of(text: &str) -> Option<Duration> {
    text.split_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
}

/// CPU time of all threads of this process since it began, those that have ended included; its children's not.
///
/// # Errors
/// The kernel does not report it.
pub fn of_this_process() -> io::Result<Duration> {
    of(libc::RUSAGE_SELF).map(|usage| usage.user + usage.system)
}

fn of(whom: libc::c_int) -> io::Result<ThreadUsage> {
    let mut usage = MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: the pointer is to memory of the size that the call fills, and lives until it returns.
    let reported = unsafe { libc::getrusage(whom, usage.as_mut_ptr()) };
    if reported != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call has succeeded, so that it has filled all of it.
    let usage = unsafe { usage.assume_init() };
    let duration = |time: libc::timeval| {
        Duration::from_secs(time.tv_sec.unsigned_abs()) + Duration::from_micros(time.tv_usec.unsigned_abs())
    };
    Ok(ThreadUsage {
        user: duration(usage.ru_utime),
        system: duration(usage.ru_stime),
        context_switches: usage.ru_nvcsw.unsigned_abs() + usage.ru_nivcsw.unsigned_abs(),
        major_faults: usage.ru_majflt.unsigned_abs(),
        minor_faults: usage.ru_minflt.unsigned_abs(),
        run_delay: Duration::ZERO,
    })
}

impl ThreadUsage {
    /// This and more.
    #[must_use]
    pub fn and(self, more: ThreadUsage) -> ThreadUsage {
        ThreadUsage {
            user: self.user.saturating_add(more.user),
            system: self.system.saturating_add(more.system),
            context_switches: self.context_switches.saturating_add(more.context_switches),
            major_faults: self.major_faults.saturating_add(more.major_faults),
            minor_faults: self.minor_faults.saturating_add(more.minor_faults),
            run_delay: self.run_delay.saturating_add(more.run_delay),
        }
    }

    /// What was used since `before`, of the same thread.
    #[must_use]
    pub fn since(self, before: ThreadUsage) -> ThreadUsage {
        ThreadUsage {
            user: self.user.saturating_sub(before.user),
            system: self.system.saturating_sub(before.system),
            context_switches: self.context_switches.saturating_sub(before.context_switches),
            major_faults: self.major_faults.saturating_sub(before.major_faults),
            minor_faults: self.minor_faults.saturating_sub(before.minor_faults),
            run_delay: self.run_delay.saturating_sub(before.run_delay),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;
    use std::time::Instant;

    #[test]
    fn the_second_field_is_the_time_on_the_run_queue() {
        assert_eq!(run_delay_of("5000 700 3\n"), Some(Duration::from_nanos(700)));
        assert_eq!(run_delay_of("5000"), None);
        assert_eq!(run_delay_of("5000 x 3"), None);
    }

    /// Works until the thread has used CPU time, which another thread's work does not give it.
    #[test]
    fn a_thread_reports_what_it_has_used_itself() {
        let before = of_this_thread().unwrap();
        let other = std::thread::spawn(|| {
            while of_this_thread().unwrap().user + of_this_thread().unwrap().system
                < Duration::from_millis(30)
            {
                black_box((0..black_box(10_000u64)).sum::<u64>());
            }
            of_this_thread().unwrap()
        });
        let used = other.join().unwrap();
        let waited = of_this_thread().unwrap().since(before);
        assert!(waited.user + waited.system < used.user + used.system, "{waited:?} {used:?}");
        assert!(waited.context_switches > 0, "joining has waited: {waited:?}");
        let memory = vec![1u8; 8 << 20];
        assert!(of_this_thread().unwrap().since(before).minor_faults > 0, "{}", black_box(memory).len());
        let patience = Instant::now();
        while of_this_thread().unwrap().since(before).user.is_zero() {
            assert!(patience.elapsed() < Duration::from_secs(30));
        }
    }
}
