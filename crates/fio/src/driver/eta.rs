//! The line that shows how far the jobs are (`--eta`).

use std::collections::BTreeMap;
use std::io::Write;
use std::time::{Duration, Instant};

use iolite_model::{Event, Interval, JobTask, Mix, Nanos, OpKind, Sink, Stage, Target};

use super::status::ThreadOf;
use crate::language::command_line::Eta;
use crate::language::{Invocation, Thread};
use crate::output::number::Figures;
use crate::output::{Format, has_text};

/// Time between two lines, unless `--eta-interval` says otherwise.
const EVERY: Duration = Duration::from_secs(1);

/// Writes fio's progress line to standard output, as fio does: not where results in JSON alone go there, too.
pub struct EtaLine {
    every: Duration,
    /// Time after which a new line begins; otherwise the line is written over.
    new_line: Option<Duration>,
    /// How long the jobs take about; 0 where nobody knows.
    whole: Nanos,
    started: Instant,
    last: Instant,
    last_line: Instant,
    thread_of: ThreadOf,
    out: Box<dyn Write + Send>,
    /// By the number of the thread.
    jobs: BTreeMap<u32, Job>,
}

/// A thread that has started.
struct Job {
    /// As the line shows it: r, w, m, t in order of the offsets (upper case) or random (lower case); `_` once it is over.
    letter: char,
    files: u64,
    running: bool,
    /// Reads, writes, trims of the latest interval: operations and bytes a second.
    rates: [(f64, f64); 3],
}

impl EtaLine {
    /// The line that a command line asks for, if any; `terminal` says whether standard output is one, `whole` how long the
    /// jobs take about.
    pub fn of(
        invocation: &Invocation,
        formats: &[Format],
        terminal: bool,
        whole: Nanos,
        thread_of: ThreadOf,
        out: Box<dyn Write + Send>,
    ) -> Option<EtaLine> {
        let wanted = (has_text(formats) || invocation.output.is_some())
            && match invocation.eta {
                Eta::Never => false,
                Eta::Always => true,
                // The live view's bar is there already.
                Eta::Auto => {
                    terminal && (invocation.eta_newline.is_some() || invocation.eta_interval.is_some())
                }
            };
        let time = |time: Nanos| Duration::from_nanos(time.0);
        let new_line = invocation.eta_newline.map(time);
        let every = invocation.eta_interval.map_or(EVERY, time);
        let (started, jobs) = (Instant::now(), BTreeMap::new());
        wanted.then(|| EtaLine {
            every: new_line.map_or(every, |new_line| new_line.min(every)),
            new_line,
            whole,
            started,
            last: started,
            last_line: started,
            thread_of,
            out,
            jobs,
        })
    }

    fn released(&mut self, phase: u32) {
        if let Some(thread) = (self.thread_of)(phase) {
            self.jobs.insert(thread.number, Job::of(&thread));
        }
    }

    fn interval(&mut self, interval: &Interval) {
        let seconds = interval.length.0 as f64 / 1e9;
        let number = (self.thread_of)(interval.phase).map(|thread| thread.number);
        let Some(job) = number.and_then(|number| self.jobs.get_mut(&number)) else { return };
        if interval.stage != Stage::Measured || seconds == 0.0 {
            return;
        }
        job.rates = [OpKind::Read, OpKind::Write, OpKind::Trim].map(|kind| {
            let ops = interval.ops.iter().filter(|op| op.kind == kind);
            let sum = ops.fold((0, 0), |sum, op| (sum.0 + op.operations, sum.1 + op.bytes));
            (sum.0 as f64 / seconds, sum.1 as f64 / seconds)
        });
        if self.last.elapsed() >= self.every {
            self.last = Instant::now();
            self.write();
        }
    }

    fn write(&mut self) {
        let line = self.line(self.started.elapsed());
        let end = match self.new_line {
            Some(after) if self.last_line.elapsed() >= after => {
                self.last_line = Instant::now();
                "\r\n"
            }
            _ => "\r",
        };
        // The results say whether standard output can be written to.
        let _ = write!(self.out, "{line}{end}").and_then(|()| self.out.flush());
    }

    fn line(&self, elapsed: Duration) -> String {
        let running = || self.jobs.values().filter(|job| job.running);
        let files: u64 = running().map(|job| job.files).sum();
        let (done, left) = match self.whole.0 {
            0 => ("-.-%".to_owned(), 0),
            whole => {
                let share = (elapsed.as_nanos() as f64 / whole as f64).min(1.0);
                (format!("{:.1}%", share * 100.0), (whole as f64 * (1.0 - share) / 1e9).ceil() as u64)
            }
        };
        let mut sums = [(0.0, 0.0); 3];
        for job in running() {
            sums.iter_mut().zip(job.rates).for_each(|(sum, rate)| *sum = (sum.0 + rate.0, sum.1 + rate.1));
        }
        let figures = Figures::default();
        let column = |value: &dyn Fn((f64, f64)) -> String| {
            let named = ["r", "w", "t"].into_iter().zip(sums).filter(|(_, sum)| sum.0 > 0.0);
            named.map(|(name, sum)| format!("{name}={}", value(sum))).collect::<Vec<_>>().join(",")
        };
        let bytes = column(&|sum| format!("{}/s", figures.size(sum.1)));
        let operations = column(&|sum| figures.count(sum.0));
        let rates = match bytes.as_str() {
            "" => String::new(),
            _ => format!("[{bytes}][{operations} IOPS]"),
        };
        let letters = self.letters();
        format!("Jobs: {} (f={files}): [{letters}][{done}]{rates}[eta {}]", running().count(), time(left))
    }

    /// The threads' letters, those in a row that are alike as one.
    fn letters(&self) -> String {
        let letters: Vec<char> = self.jobs.values().map(|job| job.letter).collect();
        let alike = letters.chunk_by(|one, other| one == other);
        alike.map(|alike| format!("{}({})", alike[0], alike.len())).collect::<Vec<_>>().join(",")
    }
}

impl Job {
    fn of(thread: &Thread) -> Job {
        let (letter, files) = match &thread.task {
            JobTask::Io(task) => {
                let letter = match task.mix {
                    Mix::Read => 'R',
                    Mix::Write => 'W',
                    Mix::Trim => 'D',
                    _ => 'M',
                };
                let files = match &task.target {
                    Target::Files(files) => files.files.len() as u64,
                    _ => 1,
                };
                let sequential = task.access.is_sequential();
                (if sequential { letter } else { letter.to_ascii_lowercase() }, files)
            }
            JobTask::Metadata(_) => ('R', 1),
        };
        Job { letter, files, running: true, rates: [(0.0, 0.0); 3] }
    }
}

/// Minutes and seconds, hours and days where there are any.
fn time(seconds: u64) -> String {
    let (days, hours) = (seconds / 86_400, seconds / 3600 % 24);
    let mut text = String::new();
    if days > 0 {
        text += &format!("{days:02}d:");
    }
    if days + hours > 0 {
        text += &format!("{hours:02}h:");
    }
    text + &format!("{:02}m:{:02}s", seconds / 60 % 60, seconds % 60)
}

impl Sink for EtaLine {
    fn event(&mut self, event: &Event) {
        match event {
            Event::PhaseReleased(release) => self.released(release.phase),
            Event::Interval(interval) => self.interval(interval),
            Event::Worker(worker) => {
                let number = (self.thread_of)(worker.phase).map(|thread| thread.number);
                if let Some(job) = number.and_then(|number| self.jobs.get_mut(&number)) {
                    (job.letter, job.running) = ('_', false);
                }
            }
            Event::RunEnded(_) if !self.jobs.is_empty() => {
                let _ = writeln!(self.out);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line_of(invocation: &Invocation, formats: &[Format], terminal: bool) -> Option<EtaLine> {
        EtaLine::of(invocation, formats, terminal, Nanos(0), Box::new(|_| None), Box::new(std::io::sink()))
    }

    #[test]
    fn it_shows_what_all_jobs_did_lately_and_what_is_left() {
        let always = Invocation { eta: Eta::Always, ..Invocation::default() };
        let mut line = line_of(&always, &[Format::Normal], false).unwrap();
        let job = |letter, running, read: f64, write: f64| Job {
            letter,
            files: 1,
            running,
            rates: [(read, read * 4096.0), (write, write * 4096.0), (0.0, 0.0)],
        };
        line.jobs.insert(0, job('m', true, 10_950.0, 10_000.0));
        line.jobs.insert(1, job('m', true, 10_950.0, 10_000.0));
        line.jobs.insert(2, job('w', true, 0.0, 89_000.0));
        line.whole = Nanos(5_000_000_000);
        assert_eq!(
            line.line(Duration::from_secs(3)),
            "Jobs: 3 (f=3): [m(2),w(1)][60.0%][r=85.5MiB/s,w=426MiB/s][r=21.9k,w=109k IOPS][eta 00m:02s]"
        );
        line.jobs.insert(0, job('_', false, 1.0, 1.0));
        assert!(line.line(Duration::ZERO).starts_with("Jobs: 2 (f=2): [_(1),m(1),w(1)][0.0%]"));
        line.whole = Nanos(0);
        assert!(line.line(Duration::ZERO).ends_with("[eta 00m:00s]"));
        assert_eq!([time(61), time(3700), time(90_000)], ["01m:01s", "01h:01m:40s", "01d:01h:00m:00s"]);
    }

    #[test]
    fn it_is_written_where_it_is_wanted_only() {
        let wanted = |eta, newline: Option<u64>, terminal, format| {
            let invocation = Invocation { eta, eta_newline: newline.map(Nanos), ..Invocation::default() };
            line_of(&invocation, &[format], terminal).is_some()
        };
        assert!(!wanted(Eta::Never, Some(1), true, Format::Normal));
        assert!(wanted(Eta::Always, None, false, Format::Normal));
        assert!(!wanted(Eta::Always, None, true, Format::Json));
        let to_a_file = Invocation { eta: Eta::Always, output: Some("f".into()), ..Invocation::default() };
        assert!(line_of(&to_a_file, &[Format::Json], false).is_some());
        assert!(!wanted(Eta::Auto, None, true, Format::Normal));
        assert!(wanted(Eta::Auto, Some(1), true, Format::Normal));
        assert!(!wanted(Eta::Auto, Some(1), false, Format::Normal));
    }
}
