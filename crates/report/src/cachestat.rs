//! Hits and misses of the page cache: a line for each interval, as they come or afterwards, and the whole time in one.

use std::io::Write;

use iolite_model::{Bytes, Event, Nanos, Reading, Sink, View};
use iolite_results::Run;
use serde_json::{Value, json};

use crate::document::document;
use crate::styler::{Style, Styler, filled};
use crate::{answer, machine};

/// Name and version of the document of `iolite observe cachestat`.
pub const JSON_FORMAT: &str = "iolite-cachestat/1";

/// The probe whose readings are shown.
const PROBE: &str = "cachestat";

/// Lines between two headings.
const PAGE: usize = 20;

/// What the page cache did between two readings, per second.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Row {
    /// End of the interval, since the run's start.
    at: Nanos,
    /// Hits and misses; `None` where nothing could be traced.
    lookups: Option<Lookups>,
    /// Bytes that became dirty.
    dirtied: f64,
    /// Bytes read from devices, direct I/O included.
    paged_in: f64,
    /// Bytes that were read again soon after they had been dropped.
    refaulted: f64,
    /// Size of the page cache in bytes.
    cached: f64,
}

/// Pages per second.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Lookups {
    hits: f64,
    misses: f64,
    /// Pages added to be written.
    created: f64,
}

impl Lookups {
    /// Share of hits in percent.
    fn ratio(self) -> Option<f64> {
        let all = self.hits + self.misses;
        (all > 0.0).then(|| 100.0 * self.hits / all)
    }
}

impl Row {
    fn between(before: &Reading, after: &Reading) -> Option<Row> {
        let rate = |name: &str| after.rate(before, name);
        let lookups =
            rate("looked_up_pages").zip(rate("added_for_reads_pages")).map(|(looked_up, misses)| Lookups {
                hits: (looked_up - misses).max(0.0),
                misses,
                created: rate("added_for_writes_pages").unwrap_or(0.0),
            });
        Some(Row {
            at: after.at,
            lookups,
            dirtied: rate("dirtied_bytes")?,
            paged_in: rate("paged_in_bytes")?,
            refaulted: rate("refaulted_bytes").unwrap_or(0.0),
            cached: after.value("page_cache_bytes").unwrap_or(0.0),
        })
    }

    /// The line of this number, from 0, with the heading above the first of a page.
    fn printed(&self, number: usize, styler: Styler) -> String {
        let heading = if !number.is_multiple_of(PAGE) {
            ""
        } else if self.lookups.is_some() {
            "  time, s     hits/s   misses/s  hit ratio  created/s   dirtied/s   from devices/s      cached\n"
        } else {
            "  time, s   dirtied/s   from devices/s   refaulted/s      cached\n"
        };
        format!("{heading}{}\n", styler.clean(self.line()))
    }

    fn line(&self) -> String {
        let bytes = |value: f64| Bytes(value as u64).to_string();
        let (dirtied, paged_in, cached) = (bytes(self.dirtied), bytes(self.paged_in), bytes(self.cached));
        let time = self.at.as_secs_f64();
        match self.lookups {
            Some(lookups) => {
                let ratio = lookups.ratio().map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.1} %"));
                let Lookups { hits, misses, created } = lookups;
                format!(
                    "{time:>9.1} {hits:>10.0} {misses:>10.0} {ratio:>10} {created:>10.0} {dirtied:>11} {paged_in:>16} {cached:>11}"
                )
            }
            None => {
                let refaulted = bytes(self.refaulted);
                format!("{time:>9.1} {dirtied:>11} {paged_in:>16} {refaulted:>13} {cached:>11}")
            }
        }
    }
}

/// The intervals, without what was left over at the end.
fn rows(run: &Run) -> Vec<Row> {
    let mut intervals = Intervals::default();
    run.readings.of(PROBE, "").iter().filter_map(|reading| intervals.next(reading)).collect()
}

/// Readings in turn, each with the one before.
#[derive(Debug, Default)]
struct Intervals {
    before: Option<Reading>,
    longest: Nanos,
}

impl Intervals {
    /// What happened since the reading before; `None` where too little time has passed for a line of its own, as at the end of a
    /// run.
    fn next(&mut self, reading: &Reading) -> Option<Row> {
        let before = self.before.replace(reading.clone())?;
        let length = reading.at.saturating_sub(before.at);
        self.longest = self.longest.max(length);
        Row::between(&before, reading).filter(|_| length.0 >= self.longest.0 / 2)
    }
}

/// The whole time as one interval.
fn total(run: &Run) -> Option<Row> {
    let readings = run.readings.of(PROBE, "");
    Row::between(readings.first()?, readings.last()?)
}

/// The complete terminal output: the machine, each interval, the whole.
pub fn text(run: &Run, style: Style) -> String {
    let styler = Styler(style);
    let lines = rows(run).iter().enumerate().map(|(number, row)| row.printed(number, styler)).collect();
    filled([machine::header(run, "the page cache", styler), lines, summary(run, style)])
}

/// What follows the lines of the intervals.
pub fn summary(run: &Run, style: Style) -> String {
    let styler = Styler(style);
    let total = match total(run) {
        None => "no readings: observe for a time longer than the interval\n".to_owned(),
        Some(total) => styler.item("", 0, sentence(&total)),
    };
    filled([total, answer::closing(run, "this", styler)])
}

fn sentence(total: &Row) -> String {
    let bytes = |value: f64| Bytes(value as u64);
    let devices = format!(
        "{}/s became dirty, {}/s were read from devices (direct I/O included), {}/s were read again soon after they were dropped",
        bytes(total.dirtied),
        bytes(total.paged_in),
        bytes(total.refaulted)
    );
    let Some(lookups) = total.lookups else { return format!("whole time: {devices}") };
    let ratio = lookups.ratio().map_or_else(
        || "no page was looked up".to_owned(),
        |ratio| {
            format!("hit ratio {ratio:.1} % ({:.0} hits/s, {:.0} misses/s)", lookups.hits, lookups.misses)
        },
    );
    format!("whole time: {ratio}; {devices}")
}

/// The document, `"format": "iolite-cachestat/1"`: what every document has, `total` and `intervals` (list), both with `at_ns` (their end), `hits_per_second`,
/// `misses_per_second`, `created_per_second` (pages; null where not traced), `hit_ratio_percent`, `dirtied_bytes_per_second`,
/// `device_read_bytes_per_second`, `refaulted_bytes_per_second`, `cached_bytes`.
pub fn json(run: &Run) -> Value {
    let row = |row: &Row| {
        json!({
            "at_ns": row.at.0,
            "hits_per_second": row.lookups.map(|lookups| lookups.hits),
            "misses_per_second": row.lookups.map(|lookups| lookups.misses),
            "created_per_second": row.lookups.map(|lookups| lookups.created),
            "hit_ratio_percent": row.lookups.and_then(Lookups::ratio),
            "dirtied_bytes_per_second": row.dirtied,
            "device_read_bytes_per_second": row.paged_in,
            "refaulted_bytes_per_second": row.refaulted,
            "cached_bytes": row.cached,
        })
    };
    let members = json!({
        "total": total(run).as_ref().map(row),
        "intervals": rows(run).iter().map(row).collect::<Vec<_>>(),
    });
    document(JSON_FORMAT, run, members)
}

/// A view that prints a line for each interval when it is over, as vmstat does.
pub struct CacheLines {
    /// Until nobody reads it any more.
    out: Option<Box<dyn Write + Send>>,
    intervals: Intervals,
    printed: usize,
    style: Style,
    /// Ends the run.
    stop: fn(),
}

impl CacheLines {
    /// Prints there; calls `stop` where nobody reads it any more.
    pub fn new(out: Box<dyn Write + Send>, style: Style, stop: fn()) -> CacheLines {
        CacheLines { out: Some(out), intervals: Intervals::default(), printed: 0, style, stop }
    }

    fn print(&mut self, row: &Row) {
        let text = row.printed(self.printed, Styler(self.style));
        self.printed += 1;
        let Some(out) = &mut self.out else { return };
        let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        if written.is_err() {
            self.out = None;
            (self.stop)();
        }
    }
}

impl Sink for CacheLines {
    fn event(&mut self, event: &Event) {
        let Event::Reading(reading) = event else { return };
        if reading.probe != PROBE {
            return;
        }
        if let Some(row) = self.intervals.next(reading) {
            self.print(&row);
        }
    }
}

impl View for CacheLines {
    fn message(&mut self, _text: &str) {}

    fn finish(&mut self) {}
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use iolite_model::ReadingValue;

    use super::*;

    const STYLE: Style = Style { color: false, unicode: true, width: 110 };

    fn reading(second: u64, values: &[(&'static str, f64)]) -> Event {
        let counters = [("dirtied_bytes", 4096.0 * second as f64), ("paged_in_bytes", 0.0)];
        let values = counters.iter().chain(values).map(|(name, value)| ReadingValue::counter(*name, *value));
        let values = values.chain([ReadingValue::gauge("page_cache_bytes", 1048576.0)]).collect();
        Event::Reading(Reading {
            probe: PROBE.into(),
            subject: String::new(),
            at: Nanos(second * Nanos::SECOND.0),
            values,
        })
    }

    /// A second of misses, then one of hits.
    fn traced() -> Vec<Event> {
        [(0, 0.0, 0.0), (1, 1000.0, 1000.0), (2, 2000.0, 1000.0)]
            .map(|(second, looked_up, added)| {
                reading(second, &[("looked_up_pages", looked_up), ("added_for_reads_pages", added)])
            })
            .to_vec()
    }

    fn run(events: &[Event]) -> Run {
        let mut run = Run::new(crate::synthetic::run());
        events.iter().for_each(|event| run.event(event));
        run
    }

    #[test]
    fn hits_are_lookups_that_added_nothing() {
        let document = json(&run(&traced()));
        let intervals = document["intervals"].as_array().unwrap();
        assert_eq!(
            (intervals[0]["hits_per_second"].as_f64(), intervals[0]["misses_per_second"].as_f64()),
            (Some(0.0), Some(1000.0))
        );
        assert_eq!(intervals[1]["hit_ratio_percent"], 100.0);
        assert_eq!(document["total"]["hit_ratio_percent"], 50.0);
        let text = text(&run(&traced()), STYLE);
        assert!(text.contains("hit ratio 50.0 % (500 hits/s, 500 misses/s)"), "{text}");
    }

    #[test]
    fn without_tracing_no_hits_are_claimed() {
        let run = run(&[reading(0, &[]), reading(1, &[])]);
        assert_eq!(json(&run)["total"]["hits_per_second"], Value::Null);
        let text = text(&run, STYLE);
        assert!(!text.contains("hit") && text.contains("refaulted/s"), "{text}");
    }

    #[test]
    fn lines_are_printed_as_they_come() {
        #[derive(Clone, Default)]
        struct Shared(Arc<Mutex<Vec<u8>>>);
        impl Write for Shared {
            fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
                self.0.lock().unwrap().write(bytes)
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let out = Shared::default();
        let mut lines = CacheLines::new(Box::new(out.clone()), STYLE, || panic!("somebody reads"));
        let printed = || String::from_utf8(out.0.lock().unwrap().clone()).unwrap().lines().count();
        let counts: Vec<usize> = traced()
            .iter()
            .map(|event| {
                lines.event(event);
                printed()
            })
            .collect();
        assert_eq!(counts, [0, 2, 3], "a heading and a line, then a line");
    }
}
