//! What the machine did over time: each reading as a line with its mean, its extremes, and its course.

use iolite_model::{Bytes, ObservationGap, ObservedDatabase, Reading, WaitsFound};
use iolite_results::Run;
use serde_json::{Value, json};

use crate::chart::course;
use crate::document::document;
use crate::grid::aligned;
use crate::styler::{Style, Styler, filled};
use crate::{answer, machine, waits};

/// Name and version of the document of `iolite observe`.
pub const JSON_FORMAT: &str = "iolite-observe/1";
/// Columns of a course at most.
const COURSE: usize = 40;

/// What a figure is made of.
#[derive(Debug, Clone, Copy)]
enum Figure {
    /// A counter's growth per second.
    Rate(&'static str),
    /// A counter of seconds, as a share of the time of all CPUs, in percent.
    CpuShare(&'static str),
    /// A counter of seconds, as a share of the time, in percent.
    Share(&'static str),
    /// Bytes per second.
    Bytes(&'static str),
    /// A counter of seconds over another that counts operations: the mean time of each, in milliseconds.
    Each(&'static str, &'static str),
    /// A state, in bytes.
    State(&'static str),
    /// What a database counted per second of the time in which it was read.
    Counted(&'static str),
    /// The same in bytes.
    CountedBytes(&'static str),
}

/// Probe, subject (empty: each there is), label and unit, and what it is made of.
const FIGURES: [(&str, &str, &str, Figure); 31] = [
    ("cpu", "", "user, %", Figure::CpuShare("user_seconds")),
    ("cpu", "", "system, %", Figure::CpuShare("system_seconds")),
    ("cpu", "", "I/O wait, %", Figure::CpuShare("iowait_seconds")),
    ("cpu", "", "stolen, %", Figure::CpuShare("steal_seconds")),
    ("cpu", "", "context switches/s", Figure::Rate("context_switches")),
    ("pressure", "cpu", "stalled, some, %", Figure::Share("some_seconds")),
    ("pressure", "memory", "stalled, some, %", Figure::Share("some_seconds")),
    ("pressure", "io", "stalled, some, %", Figure::Share("some_seconds")),
    ("pressure", "io", "stalled, all, %", Figure::Share("full_seconds")),
    ("device", "", "reads/s", Figure::Rate("reads")),
    ("device", "", "read/s", Figure::Bytes("read_bytes")),
    ("device", "", "mean read, ms", Figure::Each("read_seconds", "reads")),
    ("device", "", "writes/s", Figure::Rate("writes")),
    ("device", "", "written/s", Figure::Bytes("written_bytes")),
    ("device", "", "mean write, ms", Figure::Each("write_seconds", "writes")),
    ("device", "", "flushes/s", Figure::Rate("flushes")),
    ("device", "", "busy, %", Figure::Share("busy_seconds")),
    ("page-cache", "", "major faults/s", Figure::Rate("major_faults")),
    ("page-cache", "", "refaulted/s", Figure::Bytes("refaulted_bytes")),
    ("page-cache", "", "dirtied/s", Figure::Bytes("dirtied_bytes")),
    ("page-cache", "", "written back/s", Figure::Bytes("written_back_bytes")),
    ("memory", "", "available", Figure::State("available_bytes")),
    ("memory", "", "dirty", Figure::State("dirty_bytes")),
    ("database", "", "data reads/s", Figure::Counted("data_reads")),
    ("database", "", "data read/s", Figure::CountedBytes("data_read_bytes")),
    ("database", "", "data writes/s", Figure::Counted("data_writes")),
    ("database", "", "data written/s", Figure::CountedBytes("data_written_bytes")),
    ("database", "", "data syncs/s", Figure::Counted("data_syncs")),
    ("database", "", "log writes/s", Figure::Counted("log_writes")),
    ("database", "", "log written/s", Figure::CountedBytes("log_written_bytes")),
    ("database", "", "log syncs/s", Figure::Counted("log_syncs")),
];

/// A figure over time.
struct Line {
    subject: String,
    label: &'static str,
    figure: Figure,
    /// Length in seconds, and the value over that.
    points: Vec<(f64, f64)>,
}

/// The figures of all that was read.
fn lines(run: &Run) -> Vec<Line> {
    let mut lines = Vec::new();
    let cpus = f64::from(run.info.host.cpus.max(1));
    for (probe, subject, readings) in run.readings.series() {
        for &(of, only, label, figure) in &FIGURES {
            if of != probe || !(only.is_empty() || only == subject) {
                continue;
            }
            let subject = if subject.is_empty() { probe } else { subject };
            let subject = if probe == "pressure" { format!("{probe} {subject}") } else { subject.to_owned() };
            let points: Vec<_> =
                readings.windows(2).filter_map(|pair| figure.between(&pair[0], &pair[1], cpus)).collect();
            if !points.is_empty() {
                lines.push(Line { subject, label, figure, points });
            }
        }
    }
    lines
}

impl Figure {
    /// The value between two readings, with the seconds that it is of.
    fn between(self, before: &Reading, after: &Reading, cpus: f64) -> Option<(f64, f64)> {
        let mut seconds = after.at.saturating_sub(before.at).as_secs_f64();
        let value = match self {
            Figure::Counted(name) | Figure::CountedBytes(name) => {
                // Counters begin anew when a database is reached again.
                seconds = after.growth(before, "observed_seconds").filter(|seconds| *seconds > 0.0)?;
                after.growth(before, name)? / seconds
            }
            Figure::Rate(name) | Figure::Bytes(name) => after.rate(before, name)?,
            Figure::CpuShare(name) => after.rate(before, name)? * 100.0 / cpus,
            Figure::Share(name) => after.rate(before, name)? * 100.0,
            Figure::Each(time, count) => {
                let operations = after.growth(before, count).filter(|count| *count > 0.0)?;
                after.growth(before, time)? * 1e3 / operations
            }
            Figure::State(name) => after.value(name)?,
        };
        (seconds > 0.0).then_some((seconds, value))
    }

    fn write(self, value: f64) -> String {
        match self {
            Figure::Bytes(_) | Figure::State(_) | Figure::CountedBytes(_) => Bytes(value as u64).to_string(),
            _ if value >= 100.0 => format!("{value:.0}"),
            _ => format!("{value:.2}"),
        }
    }
}

impl Line {
    fn mean(&self) -> f64 {
        let seconds: f64 = self.points.iter().map(|point| point.0).sum();
        self.points.iter().map(|(seconds, value)| seconds * value).sum::<f64>() / seconds
    }

    /// The value that so large a share of the readings does not exceed.
    fn quantile(&self, share: f64) -> f64 {
        let mut values: Vec<f64> = self.points.iter().map(|point| point.1).collect();
        values.sort_by(f64::total_cmp);
        let at = (share * values.len() as f64).ceil() as usize;
        values.get(at.saturating_sub(1)).copied().unwrap_or(0.0)
    }
}

/// The complete terminal output.
pub fn text(run: &Run, style: Style) -> String {
    let styler = Styler(style);
    let database: Option<ObservedDatabase> = run.concluded().last();
    let what = format!("observed {}", run.info.storage.directory.display());
    filled([
        machine::header(run, what, styler)
            + &database.map_or(String::new(), |database| of_database(&database, styler)),
        table(&lines(run), styler),
        filled(run.concluded().map(|found| waits::section(&found, styler))),
        answer::closing(run, "this", styler),
    ])
}

/// Which database was observed, and when it could not be read.
fn of_database(database: &ObservedDatabase, styler: Styler) -> String {
    let engine = database.engine.as_deref().unwrap_or("a database that did not respond");
    let mut out = machine::line(styler, "database", format!("{engine}, {}", database.url));
    for ObservationGap { from, to, what, why } in &database.gaps {
        let (from, to) = (from.as_secs_f64(), to.as_secs_f64());
        out += &machine::line(styler, "", format!("no {what} from {from:.1} s to {to:.1} s: {why}"));
    }
    out
}

fn table(lines: &[Line], styler: Styler) -> String {
    if lines.is_empty() {
        return "no readings: observe for a time longer than the interval\n".to_owned();
    }
    let cells = |line: &Line| [line.mean(), line.quantile(0.5), line.quantile(0.95), line.quantile(1.0)];
    let rows: Vec<[String; 6]> = std::iter::once(["", "", "mean", "p50", "p95", "max"].map(str::to_owned))
        .chain(lines.iter().map(|line| {
            let [mean, median, p95, max] = cells(line).map(|value| styler.clean(line.figure.write(value)));
            [styler.clean(&line.subject), line.label.to_owned(), mean, median, p95, max]
        }))
        .collect();
    let mut out = String::new();
    for (number, text) in aligned(rows, 0, |column| column > 1).into_iter().enumerate() {
        let line = number.checked_sub(1).and_then(|number| lines.get(number));
        let over_time = line.and_then(|line| {
            let series: Vec<_> =
                line.points.iter().map(|(seconds, value)| (*seconds, seconds * value)).collect();
            course(&series, COURSE, styler)
        });
        let marks = over_time.map_or(String::new(), |over_time| format!("  {}", over_time.marks));
        out += &format!("{}\n", (text + &marks).trim_end());
    }
    out
}

/// The document, `"format": "iolite-observe/1"`: `run`, `configuration` (as of a check), `figures` (list: `subject`, `figure` with its unit, `mean`, `p50`, `p95`,
/// `max`; times in milliseconds, amounts in bytes), `database` (null, or as in SQL the conclusion `observed-database`), `waits` (list of conclusions
/// `waits`, one for each time in which the database could be read), `warnings`, `ending`. All readings are in SQL.
pub fn json(run: &Run) -> Value {
    let figure = |line: &Line| {
        json!({
            "subject": line.subject,
            "figure": line.label,
            "mean": line.mean(),
            "p50": line.quantile(0.5),
            "p95": line.quantile(0.95),
            "max": line.quantile(1.0),
        })
    };
    let members = json!({
        "figures": lines(run).iter().map(figure).collect::<Vec<_>>(),
        "database": run.concluded::<ObservedDatabase>().last(),
        "waits": run.concluded::<WaitsFound>().collect::<Vec<_>>(),
    });
    document(JSON_FORMAT, run, members)
}

#[cfg(test)]
mod tests {
    use iolite_model::{Concluded, Event, Nanos, ReadingValue, Sink};

    use super::*;

    #[test]
    fn counters_are_rates_over_time() {
        let mut run = Run::new(crate::synthetic::run());
        for second in 0..5_u64 {
            run.event(&Event::Reading(Reading {
                probe: "device".into(),
                subject: "vda".into(),
                at: Nanos(second * Nanos::SECOND.0),
                values: vec![
                    ReadingValue::counter("reads", 100.0 * second as f64),
                    ReadingValue::counter("read_seconds", 0.05 * second as f64),
                    ReadingValue::counter("busy_seconds", 0.5 * second as f64),
                ],
            }));
        }
        let document = json(&run);
        let figures = document["figures"].as_array().unwrap();
        let mean = |name: &str| {
            let figure = figures.iter().find(|figure| figure["figure"] == name);
            figure.and_then(|figure| figure["mean"].as_f64()).unwrap()
        };
        assert!((mean("reads/s") - 100.0).abs() < 1e-9);
        assert!((mean("mean read, ms") - 0.5).abs() < 1e-9);
        assert!((mean("busy, %") - 50.0).abs() < 1e-9);
        assert_eq!(figures.len(), 3);
        let text = text(&run, Style { color: false, unicode: true, width: 110 });
        assert!(text.contains("vda") && text.contains("reads/s"), "{text}");
    }

    #[test]
    fn a_database_is_averaged_over_the_time_in_which_it_was_read() {
        let mut run = Run::new(crate::synthetic::run());
        // Read for two seconds, away for ten, and read again for two, from zero.
        for (at, observed, reads) in [(0, 0.0, 0.0), (2, 2.0, 40.0), (12, 0.0, 0.0), (14, 2.0, 80.0)] {
            run.event(&Event::Reading(Reading {
                probe: "database".into(),
                subject: "PostgreSQL".into(),
                at: Nanos(at * Nanos::SECOND.0),
                values: vec![
                    ReadingValue::counter("data_reads", reads),
                    ReadingValue::counter("observed_seconds", observed),
                ],
            }));
        }
        let gap = ObservationGap {
            from: Nanos(2 * Nanos::SECOND.0),
            to: Nanos(12 * Nanos::SECOND.0),
            what: "counters and waits".into(),
            why: "connection refused".into(),
        };
        let database = ObservedDatabase {
            url: "postgres://h/d".into(),
            engine: Some("PostgreSQL 15".into()),
            gaps: vec![gap],
        };
        run.event(&Event::Concluded(Box::new(Concluded::of(&database))));
        let document = json(&run);
        assert_eq!(document["figures"][0]["mean"], 30.0, "{document:#}");
        assert_eq!(document["database"]["gaps"][0]["to"], 12 * Nanos::SECOND.0);
        let text = text(&run, Style { color: false, unicode: true, width: 110 });
        assert!(text.contains("PostgreSQL 15, postgres://h/d"), "{text}");
        assert!(text.contains("no counters and waits from 2.0 s to 12.0 s: connection refused"), "{text}");
    }
}
