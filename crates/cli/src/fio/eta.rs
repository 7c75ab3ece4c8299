//! The line that tells how far the jobs are, for people who watch (`--eta`).

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use iolite_fio::language::Invocation;
use iolite_fio::language::command_line::Eta;
use iolite_model::{Bandwidth, Event, Interval, Iops, Nanos, OpKind, Sink, Stage};

/// How often the line is told, unless said otherwise.
const EVERY: Duration = Duration::from_secs(1);

/// Tells a line on standard error every so often: results are never mixed with it.
pub(super) struct EtaLine {
    every: Duration,
    /// A line of its own each time, rather than one that is written over.
    own_lines: bool,
    /// How long the jobs take about; 0 where nobody knows.
    whole: Nanos,
    started: Instant,
    last: Instant,
    /// By phase: what its latest interval did in a second, in operations and bytes, of reads and writes.
    running: BTreeMap<u32, [f64; 4]>,
}

impl EtaLine {
    /// The line that a command line asks for, if any; `terminal` tells whether standard error is one.
    pub(super) fn of(invocation: &Invocation, terminal: bool, whole: Nanos) -> Option<EtaLine> {
        let wanted = match invocation.eta {
            Eta::Never => false,
            Eta::Always => true,
            // The live view's bar is there already.
            Eta::Auto => terminal && (invocation.eta_newline.is_some() || invocation.eta_interval.is_some()),
        };
        let every = invocation.eta_newline.or(invocation.eta_interval);
        let every = every.map_or(EVERY, |every| Duration::from_nanos(every.0));
        let own_lines = !terminal || invocation.eta_newline.is_some();
        let (started, last, running) = (Instant::now(), Instant::now(), BTreeMap::new());
        wanted.then_some(EtaLine { every, own_lines, whole, started, last, running })
    }

    fn interval(&mut self, interval: &Interval) {
        let seconds = interval.length.0 as f64 / 1e9;
        if interval.stage != Stage::Measured || seconds == 0.0 {
            return;
        }
        let mut rates = [0.0; 4];
        for op in &interval.ops {
            let at = match op.kind {
                OpKind::Read => 0,
                OpKind::Write => 2,
                _ => continue,
            };
            rates[at] += op.operations as f64 / seconds;
            rates[at + 1] += op.bytes as f64 / seconds;
        }
        self.running.insert(interval.phase, rates);
        if self.last.elapsed() >= self.every {
            self.last = Instant::now();
            self.tell();
        }
    }

    fn tell(&self) {
        let line = self.line(self.started.elapsed());
        let mut out = io::stderr().lock();
        // Without a standard error there is nobody to tell.
        let _ = if self.own_lines { writeln!(out, "{line}") } else { write!(out, "\r{line}\x1b[K") };
    }

    fn line(&self, elapsed: Duration) -> String {
        let mut sums = [0.0; 4];
        for rates in self.running.values() {
            sums.iter_mut().zip(rates).for_each(|(sum, rate)| *sum += rate);
        }
        let [reads, read, writes, written] = sums;
        let jobs = self.running.len();
        let (done, left) = match self.whole.0 {
            0 => ("-.-%".to_owned(), "unknown".to_owned()),
            whole => {
                let share = (elapsed.as_nanos() as f64 / whole as f64).min(1.0);
                let left = (whole as f64 * (1.0 - share) / 1e9).ceil() as u64;
                (format!("{:.1}%", share * 100.0), format!("{:02}m:{:02}s", left / 60, left % 60))
            }
        };
        format!(
            "Jobs: {jobs}: [{done}][r={},w={}][r={},w={} IOPS][eta {left}]",
            Bandwidth(read),
            Bandwidth(written),
            Iops(reads),
            Iops(writes)
        )
    }
}

impl Sink for EtaLine {
    fn event(&mut self, event: &Event) {
        match event {
            Event::Interval(interval) => self.interval(interval),
            Event::Worker(worker) => {
                self.running.remove(&worker.phase);
            }
            Event::RunEnded(_) if !self.own_lines => {
                let _ = write!(io::stderr(), "\r\x1b[K");
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_tells_what_all_jobs_did_lately_and_what_is_left() {
        let mut line = EtaLine {
            every: EVERY,
            own_lines: true,
            whole: Nanos(100_000_000_000),
            started: Instant::now(),
            last: Instant::now(),
            running: BTreeMap::new(),
        };
        line.running.insert(0, [1000.0, 4_096_000.0, 0.0, 0.0]);
        line.running.insert(3, [500.0, 2_048_000.0, 10.0, 40_960.0]);
        let told = line.line(Duration::from_secs(25));
        assert!(told.starts_with("Jobs: 2: [25.0%]") && told.ends_with("[eta 01m:15s]"), "{told}");
        assert!(told.contains("1,500"), "{told}");
        line.whole = Nanos(0);
        assert!(line.line(Duration::ZERO).ends_with("[eta unknown]"));
    }

    #[test]
    fn it_is_told_when_wanted_only() {
        let wanted = |eta, newline: Option<u64>, terminal| {
            let invocation = Invocation { eta, eta_newline: newline.map(Nanos), ..Invocation::default() };
            EtaLine::of(&invocation, terminal, Nanos(0)).map(|line| line.own_lines)
        };
        assert_eq!(wanted(Eta::Never, Some(1), true), None);
        assert_eq!(wanted(Eta::Always, None, false), Some(true));
        assert_eq!(wanted(Eta::Always, None, true), Some(false));
        assert_eq!(wanted(Eta::Auto, None, true), None);
        assert_eq!(wanted(Eta::Auto, Some(1), true), Some(true));
        assert_eq!(wanted(Eta::Auto, Some(1), false), None);
    }
}
