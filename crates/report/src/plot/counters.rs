//! What a database counts of its operations on files, over the time of the run.

use iolite_model::Reading;
use iolite_results::Run;

use super::readings::{Line, drawn, line};
use super::source::{Drawn, MIB};

/// Name of the probe, and of its counter of the time in which it was read.
const PROBE: (&str, &str) = ("database", "observed_seconds");

/// Panel, counter, name and unit of each line.
const LINES: [(usize, &str, &str, f64); 8] = [
    (0, "data_reads", "data read", 1.0),
    (0, "data_writes", "data written", 1.0),
    (0, "log_writes", "log written", 1.0),
    (0, "data_syncs", "data synchronised", 1.0),
    (0, "log_syncs", "log synchronised", 1.0),
    (1, "data_read_bytes", "data read", MIB),
    (1, "data_written_bytes", "data written", MIB),
    (1, "log_written_bytes", "log written", MIB),
];

/// Operations per second, and MiB per second.
pub(super) fn counters(runs: &[Run]) -> Drawn {
    let lines = runs.iter().flat_map(of_run).collect();
    let about =
        "Operations of the database on its files per second, by its own counters, between two readings";
    drawn("Counters of the database", about, &["operations per second", "MiB per second"], lines)
}

fn of_run(run: &Run) -> Vec<Line> {
    let mut lines = Vec::new();
    for (_, database, readings) in run.readings.series().filter(|(probe, ..)| *probe == PROBE.0) {
        // All counters begin at zero with each phase, and when a server is reached again: a line ends there.
        for part in readings.chunk_by(|earlier, later| later.growth(earlier, PROBE.1).is_some()) {
            for (panel, counter, name, unit) in LINES {
                lines.push(line(run, panel, format!("{database} {name}"), rates(part, counter, unit)));
            }
        }
    }
    lines
}

/// What a counter grew by per second observed, in units of this size.
fn rates(readings: &[Reading], counter: &str, unit: f64) -> Vec<(f64, f64)> {
    let between = readings.windows(2).filter_map(|pair| {
        let observed = pair[1].growth(&pair[0], PROBE.1).filter(|seconds| *seconds > 0.0)?;
        let middle = (pair[0].at.0 as f64 + pair[1].at.0 as f64) / 2e9;
        Some((middle, pair[1].growth(&pair[0], counter)? / observed / unit))
    });
    between.collect()
}

#[cfg(test)]
mod tests {
    use iolite_model::{Event, Nanos, ReadingValue, Sink};

    use super::*;

    #[test]
    fn a_line_ends_where_the_counters_begin_anew() {
        let mut run = Run::new(crate::synthetic::run());
        let read =
            [(1, 1.0, 10.0), (2, 2.0, 30.0), (3, 3.0, 30.0), (9, 0.0, 0.0), (10, 1.0, 7.0), (11, 2.0, 9.0)];
        for (at, observed, writes) in read {
            run.event(&Event::Reading(Reading {
                probe: PROBE.0.into(),
                subject: "MariaDB".into(),
                at: Nanos(at * Nanos::SECOND.0),
                values: vec![
                    ReadingValue::counter("log_writes", writes),
                    ReadingValue::counter(PROBE.1, observed),
                ],
            }));
        }
        let drawn = counters(&[run]);
        let names: Vec<&str> = drawn.series.iter().map(|series| series.name.as_str()).collect();
        assert_eq!((names, drawn.panels.len()), (vec!["MariaDB log written"], 1), "nothing else was counted");
        let expected = vec![vec![(1.5, 20.0), (2.5, 0.0)], vec![(9.5, 7.0), (10.5, 2.0)]];
        assert_eq!(drawn.panels[0].lines[0], expected);
    }
}
