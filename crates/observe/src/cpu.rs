//! How busy the host's CPUs are.

use std::fs;

use iolite_model::Nanos;

/// Ticks per second in /proc/stat: USER_HZ, which is 100 on every architecture that Linux has today (proc(5)).
const TICKS: u64 = 100;

/// CPU time that all CPUs of the host together have been busy since it started: in user mode, in the kernel and in
/// interrupts, neither idle nor waiting for I/O. `None` where /proc/stat can't be read.
pub fn busy_cpu() -> Option<Nanos> {
    parse(&fs::read_to_string("/proc/stat").ok()?)
}

/// The first line: `cpu user nice system idle iowait irq softirq steal guest guest_nice` (proc(5)).
fn parse(text: &str) -> Option<Nanos> {
    let line = text.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Vec<u64> = line.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    // Time of guests is in user and nice already.
    let busy = [0, 1, 2, 5, 6].into_iter().filter_map(|field| ticks.get(field)).sum::<u64>();
    (ticks.len() > 3).then_some(Nanos(busy.saturating_mul(1_000_000_000 / TICKS)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_is_neither_idle_nor_waiting() {
        let text = "cpu  100 20 30 4000 500 6 7 80 9 10\ncpu0 1 2 3 4\n";
        assert_eq!(parse(text), Some(Nanos(1_630_000_000)));
        assert_eq!(parse("cpu 1 2 x"), None);
        assert_eq!(parse("intr 5"), None);
    }

    #[test]
    fn time_passes() {
        let before = busy_cpu().unwrap();
        let started = std::time::Instant::now();
        while busy_cpu().unwrap() == before {
            assert!(started.elapsed().as_secs() < 10, "this loop is busy");
        }
    }
}
