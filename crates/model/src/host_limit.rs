//! Whether the load generator, and not the storage, was at its limit.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::units::Nanos;

/// What the threads that generate load used of the host over a phase. Derived values are shares of time (0 to 1).
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct GeneratorUse {
    /// Time that the threads were looked at: the measured part of the phase.
    pub observed: Nanos,
    /// Threads that generate load.
    pub threads: u32,
    /// CPU time of all of them.
    pub cpu: Nanos,
    /// CPU time of the busiest thread.
    pub busiest_cpu: Nanos,
    /// Longest time that one thread was ready to run but waited for a CPU (/proc/PID/task/TID/schedstat, second field).
    pub longest_run_delay: Nanos,
    /// Time that the hypervisor ran something else while this host's CPUs had work, summed over CPUs (/proc/stat, `steal`);
    /// `None` where it is not known.
    pub steal: Option<Nanos>,
    /// CPU time of all other programs and of the kernel's threads, over all CPUs; `None` where it is not known.
    #[serde(default)]
    pub others: Option<Nanos>,
    /// CPUs of the host.
    pub cpus: u32,
    /// Whether the threads poll for completions, so that they use all of a CPU by design.
    pub polls: bool,
}

/// A limit of the host that the load generator had met: what was measured is no longer the storage alone.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case", tag = "limit", content = "share")]
#[strum(serialize_all = "kebab-case")]
pub enum HostLimit {
    /// A thread that generates load was running for this share of the time.
    CpuBound(f64),
    /// A thread that generates load was ready to run but waited for a CPU for this share of the time.
    RunQueue(f64),
    /// The hypervisor took this share of the CPUs' time.
    Steal(f64),
}

impl GeneratorUse {
    /// Running for this share of the time, a thread has no time left to issue more. A single outstanding operation on a device
    /// that is served by the calling CPU (zram, page cache) is above it too: that is CPU work, not storage.
    const CPU_BOUND: f64 = 0.95;
    /// A thread that is always running or ready to run, and runs for this share, is bound by its CPU rather than by others.
    const MOSTLY: f64 = 0.75;
    /// A thread that waits this much for a CPU adds as much to its response times, and far more to the longest of them.
    const RUN_QUEUE: f64 = 0.05;
    /// Threads that use less than this share of all CPUs wait because they wake together, where they outnumber the CPUs or nobody else
    /// is there to wait for; a CPU is to be had soon after.
    const LIGHT: f64 = 0.5;
    /// Share of one CPU that a host uses for itself, whatever runs on it.
    const IDLE: f64 = 0.1;
    /// In shorter phases ticks of the counters and the start of the threads would show.
    const SHORTEST: Nanos = Nanos::SECOND;
    /// The time of waiting for a CPU is exact: only a few turns of the scheduler would show in shorter phases.
    const SHORTEST_DELAY: Nanos = Nanos(200_000_000);
    /// Above this share, stolen time is seen in the upper percentiles.
    const STEAL: f64 = 0.05;

    /// The use over this phase and another one: windows of the same load, of which each is too short by itself.
    #[must_use]
    pub fn and(self, other: GeneratorUse) -> GeneratorUse {
        let sum = |one: Nanos, other: Nanos| Nanos(one.0.saturating_add(other.0));
        let both = |one: Option<Nanos>, other: Option<Nanos>| Some(sum(one?, other?));
        GeneratorUse {
            observed: sum(self.observed, other.observed),
            threads: self.threads.max(other.threads),
            cpu: sum(self.cpu, other.cpu),
            busiest_cpu: sum(self.busiest_cpu, other.busiest_cpu),
            longest_run_delay: sum(self.longest_run_delay, other.longest_run_delay),
            steal: both(self.steal, other.steal),
            others: both(self.others, other.others),
            cpus: self.cpus.max(other.cpus),
            polls: self.polls || other.polls,
        }
    }

    /// The factor by which waits for CPUs, and what the hypervisor took, can have made the mean response time longer and the rate
    /// lower, at most: infinite where they can explain all of it. On its way an operation may wait for a thread of the kernel, and
    /// for one of the server or of the device beneath, each about as long as the thread that issued it did.
    pub fn slower(&self) -> f64 {
        const HANDOVERS: f64 = 3.0;
        let observed = self.observed.0 as f64;
        let stolen = self.steal.map_or(0.0, |steal| steal.0 as f64 / f64::from(self.cpus.max(1)));
        let left = 1.0 - HANDOVERS * (self.longest_run_delay.0 as f64 + stolen) / observed;
        if left > 0.0 { 1.0 / left } else { f64::INFINITY }
    }

    /// The limits that were met, the most direct first.
    pub fn limits(&self) -> Vec<HostLimit> {
        if self.observed < Self::SHORTEST_DELAY {
            return Vec::new();
        }
        let long = self.observed >= Self::SHORTEST;
        let observed = self.observed.0 as f64;
        let share = |time: Nanos| (time.0 as f64 / observed).min(1.0);
        // Next to others, a thread that never sleeps is seen by what it waited for its CPU.
        let awake = share(Nanos(self.busiest_cpu.0.saturating_add(self.longest_run_delay.0)));
        let bound =
            long && !self.polls && awake >= Self::CPU_BOUND && share(self.busiest_cpu) >= Self::MOSTLY;
        let cpu = bound.then(|| share(self.busiest_cpu));
        let cpus = f64::from(self.cpus.max(1));
        let alone = self.others.is_some_and(|others| (others.0 as f64) < Self::IDLE * observed);
        let light = (alone || self.threads > self.cpus) && self.cpu.0 as f64 / observed / cpus < Self::LIGHT;
        let delay = (!light).then(|| share(self.longest_run_delay)).filter(|&share| share >= Self::RUN_QUEUE);
        let steal = self.steal.map(|steal| (steal.0 as f64 / observed / cpus).min(1.0));
        let steal = steal.filter(|_| long).and_then(HostLimit::of_steal);
        [cpu.map(HostLimit::CpuBound), delay.map(HostLimit::RunQueue), steal].into_iter().flatten().collect()
    }
}

impl HostLimit {
    /// Stolen time that is seen in the upper percentiles: `share` (0 to 1) of the CPUs' time.
    pub fn of_steal(share: f64) -> Option<HostLimit> {
        (share >= GeneratorUse::STEAL).then_some(HostLimit::Steal(share))
    }

    /// As stored: `cpu-bound`, `run-queue`, `steal`.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// What to do about it.
    pub const fn remedy(self) -> &'static str {
        match self {
            HostLimit::CpuBound(_) => {
                "spread the load over more threads (--workers, numjobs=) or use larger blocks, if the storage is to be \
                 measured and not this CPU"
            }
            HostLimit::RunQueue(_) => "stop other programs, use fewer threads than CPUs, or add CPUs",
            HostLimit::Steal(_) => {
                "the host of this virtual machine is overcommitted: repeat when it is idle, or use a dedicated CPU"
            }
        }
    }
}

impl fmt::Display for HostLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HostLimit::CpuBound(share) => {
                write!(f, "a thread that issues operations used {:.0} % of a CPU", share * 100.0)
            }
            HostLimit::RunQueue(share) => {
                write!(
                    f,
                    "a thread that issues operations waited for a CPU for {:.0} % of the time",
                    share * 100.0
                )
            }
            HostLimit::Steal(share) => {
                write!(f, "the hypervisor took {:.0} % of the CPU time", share * 100.0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_of_the_time_observed() {
        let second = Nanos::SECOND;
        let idle = GeneratorUse { observed: second, cpus: 2, ..GeneratorUse::default() };
        assert_eq!(idle.limits(), []);
        let busy = GeneratorUse { busiest_cpu: Nanos(980_000_000), ..idle };
        assert_eq!(busy.limits(), [HostLimit::CpuBound(0.98)]);
        assert_eq!(GeneratorUse { polls: true, ..busy }.limits(), []);
        let late = GeneratorUse { longest_run_delay: Nanos(250_000_000), ..idle };
        assert_eq!(late.limits(), [HostLimit::RunQueue(0.25)]);
        // A tenth of each of two CPUs.
        let stolen = GeneratorUse { steal: Some(Nanos(200_000_000)), ..idle };
        let slower = |delay, steal| GeneratorUse { longest_run_delay: Nanos(delay), steal, ..idle }.slower();
        assert!((slower(100_000_000, None) - 1.0 / 0.7).abs() < 1e-9);
        assert!((slower(100_000_000, Some(Nanos(200_000_000))) - 2.5).abs() < 1e-9);
        assert_eq!(slower(400_000_000, None), f64::INFINITY);
        assert_eq!(GeneratorUse::default().slower(), f64::INFINITY);
        assert_eq!(stolen.limits(), [HostLimit::Steal(0.1)]);
        assert_eq!(GeneratorUse { steal: Some(Nanos(80_000_000)), ..idle }.limits(), []);
        assert_eq!(GeneratorUse::default().limits(), []);
        let short = GeneratorUse { observed: Nanos(10_000_000), busiest_cpu: Nanos(10_000_000), ..idle };
        assert_eq!(short.limits(), []);
        // A window of a check: its counters of CPU time are coarse, that of the run queue is not.
        let window = GeneratorUse { observed: Nanos(300_000_000), ..busy };
        let late =
            GeneratorUse { longest_run_delay: Nanos(60_000_000), steal: Some(Nanos(100_000_000)), ..window };
        assert_eq!((window.limits(), late.limits()), (vec![], vec![HostLimit::RunQueue(0.2)]));
    }

    #[test]
    fn windows_too_short_by_themselves_show_a_limit_together() {
        let window = GeneratorUse {
            observed: Nanos(670_000_000),
            busiest_cpu: Nanos(660_000_000),
            cpus: 2,
            ..GeneratorUse::default()
        };
        let idle = GeneratorUse { busiest_cpu: Nanos(60_000_000), ..window };
        assert_eq!((window.limits(), window.and(idle).limits()), (vec![], vec![]));
        assert!(matches!(window.and(window).limits()[..], [HostLimit::CpuBound(share)] if share > 0.98));
    }

    #[test]
    fn many_threads_that_wake_together_are_no_limit() {
        let late = GeneratorUse {
            observed: Nanos::SECOND,
            threads: 16,
            cpus: 2,
            cpu: Nanos(400_000_000),
            longest_run_delay: Nanos(250_000_000),
            ..GeneratorUse::default()
        };
        assert_eq!(late.limits(), []);
        let busy = GeneratorUse { cpu: Nanos(1_600_000_000), ..late };
        assert_eq!(busy.limits(), [HostLimit::RunQueue(0.25)]);
        // With a CPU for each of them, somebody else has it.
        assert_eq!(GeneratorUse { threads: 2, ..late }.limits(), [HostLimit::RunQueue(0.25)]);
    }

    #[test]
    fn on_an_idle_host_no_wait_for_a_cpu_is_somebody_elses() {
        let waits = GeneratorUse {
            observed: Nanos::SECOND,
            threads: 1,
            cpus: 2,
            cpu: Nanos(600_000_000),
            longest_run_delay: Nanos(80_000_000),
            others: Some(Nanos(40_000_000)),
            ..GeneratorUse::default()
        };
        assert_eq!(waits.limits(), [], "the host's own threads are no other load");
        let limit = [HostLimit::RunQueue(0.08)];
        assert_eq!(GeneratorUse { others: Some(Nanos(500_000_000)), ..waits }.limits(), limit);
        assert_eq!(GeneratorUse { others: None, ..waits }.limits(), limit);
        // Its own threads leave each other no CPU.
        assert_eq!(GeneratorUse { cpu: Nanos(1_200_000_000), ..waits }.limits(), limit);
    }

    #[test]
    fn limits_are_printed_with_their_share() {
        let text = HostLimit::RunQueue(0.254).to_string();
        assert_eq!(text, "a thread that issues operations waited for a CPU for 25 % of the time");
    }
}
