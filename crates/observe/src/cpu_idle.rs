//! How idle each CPU is while something runs (/proc/stat, proc_stat(5)).

use std::fs;
use std::hint::black_box;
use std::time::Instant;

/// How often the unit of work is timed.
const TIMES: u32 = 20;

/// Bytes that a unit of work goes through.
const UNIT: usize = 64 << 10;

/// Watches the CPUs: counts ticks between [resume](CpuIdle::resume) and [pause](CpuIdle::pause).
#[derive(Debug, Default)]
pub struct CpuIdle {
    /// What was counted when it last began; `None` while it does not count.
    before: Option<Vec<Ticks>>,
    counted: Vec<Ticks>,
}

/// Ticks of a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Ticks {
    /// Without work: idle, or waiting for I/O, in which time it could do something else.
    idle: u64,
    all: u64,
}

impl CpuIdle {
    /// Counts from now on, unless it does already.
    pub fn resume(&mut self) {
        self.resume_at(now());
    }

    /// Counts no more, until it is [resumed](CpuIdle::resume).
    pub fn pause(&mut self) {
        self.pause_at(&now());
    }

    /// The percentage of its time that each online CPU was idle while it counted; 0 where no tick passed. Empty where /proc/stat
    /// can't be read.
    pub fn finish(mut self) -> Vec<f64> {
        self.pause();
        self.percentages()
    }

    fn resume_at(&mut self, now: Vec<Ticks>) {
        self.before.get_or_insert(now);
    }

    fn pause_at(&mut self, now: &[Ticks]) {
        let Some(before) = self.before.take() else { return };
        self.counted.resize(now.len().max(self.counted.len()), Ticks::default());
        for ((counted, before), now) in self.counted.iter_mut().zip(before).zip(now) {
            // The kernel may correct an idle time downwards (proc_stat(5)).
            counted.idle += now.idle.saturating_sub(before.idle);
            counted.all += now.all.saturating_sub(before.all);
        }
    }

    fn percentages(&self) -> Vec<f64> {
        let percentage = |ticks: &Ticks| match ticks.all {
            0 => 0.0,
            all => (ticks.idle as f64 / all as f64 * 100.0).min(100.0),
        };
        self.counted.iter().map(percentage).collect()
    }
}

fn now() -> Vec<Ticks> {
    parse(&fs::read_to_string("/proc/stat").unwrap_or_default())
}

/// The lines `cpuN user nice system idle iowait irq softirq steal guest guest_nice`; time of guests is in user and nice already.
fn parse(text: &str) -> Vec<Ticks> {
    let of_cpu = |line: &str| {
        let (number, times) = line.strip_prefix("cpu")?.split_once(' ')?;
        number.parse::<u32>().ok()?;
        let times = times.split_whitespace().take(8).map(str::parse).collect::<Result<Vec<u64>, _>>().ok()?;
        let idle = times.get(3)? + times.get(4).copied().unwrap_or(0);
        Some(Ticks { idle, all: times.iter().sum() })
    };
    text.lines().filter_map(of_cpu).collect()
}

/// Mean and standard deviation of the time of a unit of work, in microseconds.
pub fn unit_work() -> (f64, f64) {
    let mut data = vec![0u64; UNIT / size_of::<u64>()];
    let mut once = || {
        let started = Instant::now();
        for (at, word) in black_box(&mut data).iter_mut().enumerate() {
            *word = word.rotate_left(7) ^ at as u64;
        }
        black_box(&data);
        started.elapsed().as_secs_f64() * 1e6
    };
    once();
    let times: Vec<f64> = (0..TIMES).map(|_| once()).collect();
    let mean = times.iter().sum::<f64>() / f64::from(TIMES);
    let variance = times.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / f64::from(TIMES - 1);
    (mean, variance.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cpu_is_counted_by_itself_while_it_counts() {
        let text = |idle: u64, busy: u64| {
            format!(
                "cpu  1 2 3 4\ncpu0 {busy} 0 0 {idle} 0 0 0 0 9 9\ncpu1 0 0 {busy} 0 5 0 0 0 0 0\nintr 7\n"
            )
        };
        let mut probe = CpuIdle::default();
        probe.resume_at(parse(&text(100, 100)));
        probe.resume_at(parse(&text(9_999, 100)));
        probe.pause_at(&parse(&text(130, 110)));
        probe.pause_at(&parse(&text(200, 200)));
        assert_eq!(probe.percentages(), [75.0, 0.0]);
        assert_eq!(CpuIdle::default().percentages(), [0.0; 0]);
    }

    #[test]
    fn this_host_has_cpus() {
        let mut probe = CpuIdle::default();
        probe.resume();
        let idle = probe.finish();
        assert!(!idle.is_empty() && idle.iter().all(|idle| (0.0..=100.0).contains(idle)), "{idle:?}");
    }
}
