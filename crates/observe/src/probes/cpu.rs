//! How busy the host's CPUs are (/proc/stat, proc_stat(5); /proc/loadavg, proc_loadavg(5)).

use std::fs;

use iolite_model::{Nanos, ReadingValue};

use crate::probe::{HeldFile, Probe, ProbeError, Subject, number_of};

/// Ticks per second in /proc/stat: USER_HZ, which is 100 on every architecture that Linux has today (proc(5)).
const TICKS: u64 = 100;

/// Times of all CPUs together since the host started, in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Ticks {
    user: u64,
    nice: u64,
    system: u64,
    idle: u64,
    iowait: u64,
    irq: u64,
    softirq: u64,
    steal: u64,
}

impl Ticks {
    /// The first line: `cpu user nice system idle iowait irq softirq steal guest guest_nice`. Time of guests is in user and nice
    /// already.
    fn parse(text: &str) -> Option<Ticks> {
        let line = text.lines().next()?.strip_prefix("cpu ")?;
        let ticks: Vec<u64> = line.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
        let &[user, nice, system, idle, ..] = ticks.as_slice() else { return None };
        let later = |index: usize| ticks.get(index).copied().unwrap_or(0);
        let (iowait, irq, softirq, steal) = (later(4), later(5), later(6), later(7));
        Some(Ticks { user, nice, system, idle, iowait, irq, softirq, steal })
    }

    fn busy(&self) -> u64 {
        self.user + self.nice + self.system + self.irq + self.softirq
    }
}

fn nanos(ticks: u64) -> Nanos {
    Nanos(ticks.saturating_mul(1_000_000_000 / TICKS))
}

fn now() -> Option<Ticks> {
    Ticks::parse(&fs::read_to_string("/proc/stat").ok()?)
}

/// CPU time that all CPUs of the host together have been busy since it started: in user mode, in the kernel and in
/// interrupts, neither idle nor waiting for I/O. `None` where /proc/stat can't be read.
pub fn busy_cpu() -> Option<Nanos> {
    now().map(|ticks| nanos(ticks.busy()))
}

/// CPU time that all programs and the kernel's threads together have used since the host started, over all CPUs: without interrupts,
/// which no program has asked for. `None` where /proc/stat can't be read.
pub fn programs_cpu() -> Option<Nanos> {
    now().map(|ticks| nanos(ticks.user + ticks.nice + ticks.system))
}

/// CPU time that the hypervisor gave to others while this host had work, over all CPUs since it started. `None` where /proc/stat
/// can't be read.
pub fn steal() -> Option<Nanos> {
    now().map(|ticks| nanos(ticks.steal))
}

/// Reads times of the CPUs and the length of the run queue.
#[derive(Debug)]
pub struct Cpu {
    stat: HeldFile,
    load: Option<HeldFile>,
}

impl Cpu {
    /// Of this host.
    ///
    /// # Errors
    /// /proc/stat can't be opened.
    pub fn open() -> Result<Cpu, ProbeError> {
        Ok(Cpu { stat: HeldFile::open("/proc/stat")?, load: HeldFile::open("/proc/loadavg").ok() })
    }
}

impl Probe for Cpu {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn read(&mut self) -> Result<Vec<Subject>, ProbeError> {
        let text = self.stat.read()?;
        let (ticks, switches, blocked) =
            (Ticks::parse(text), number_of(text, "ctxt"), number_of(text, "procs_blocked"));
        let ticks = ticks.ok_or_else(|| self.stat.malformed("proc_stat(5)"))?;
        let seconds = |name, ticks: u64| ReadingValue::counter(name, ticks as f64 / TICKS as f64);
        let mut values = vec![
            seconds("user_seconds", ticks.user + ticks.nice),
            seconds("system_seconds", ticks.system),
            seconds("interrupt_seconds", ticks.irq + ticks.softirq),
            seconds("idle_seconds", ticks.idle),
            seconds("iowait_seconds", ticks.iowait),
            seconds("steal_seconds", ticks.steal),
        ];
        values.extend(switches.map(|count| ReadingValue::counter("context_switches", count)));
        values.extend(blocked.map(|count| ReadingValue::gauge("blocked_threads", count)));
        if let Some(text) = self.load.as_mut().and_then(|load| load.read().ok()) {
            // The fourth field: runnable threads, the reading one included, and all threads.
            let runnable = text.split(' ').nth(3).and_then(|field| field.split('/').next()?.parse().ok());
            values.extend(runnable.map(|count: f64| ReadingValue::gauge("runnable_threads", count)));
        }
        Ok(vec![Subject::host(values)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_is_neither_idle_nor_waiting() {
        let text = "cpu  100 20 30 4000 500 6 7 80 9 10\ncpu0 1 2 3 4\n";
        let ticks = Ticks::parse(text).unwrap();
        assert_eq!((nanos(ticks.busy()), ticks.steal), (Nanos(1_630_000_000), 80));
        assert_eq!(Ticks::parse("cpu 1 2 x"), None);
        assert_eq!(Ticks::parse("intr 5"), None);
    }

    #[test]
    fn time_passes() {
        let before = busy_cpu().unwrap();
        // This loop is busy.
        while busy_cpu().unwrap() == before {}
    }

    #[test]
    fn this_host_has_idle_and_busy_time() {
        let subjects = Cpu::open().unwrap().read().unwrap();
        let value = |name: &str| subjects[0].values.iter().find(|value| value.name == name).map(|v| v.value);
        assert!(value("user_seconds").unwrap() > 0.0 && value("idle_seconds").is_some(), "{subjects:?}");
        assert!(value("runnable_threads").unwrap() >= 1.0 && value("context_switches").unwrap() > 0.0);
    }
}
