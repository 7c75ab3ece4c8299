//! Average active sessions of a database by wait, over the time of the run.

use iolite_model::Reading;
use iolite_results::Run;

use super::readings::{Line, drawn, line};
use super::source::Drawn;

/// Waits drawn of each run, those with the most sessions; the others are drawn together.
const WAITS: usize = 7;

/// Name of the probe.
const PROBE: &str = "waits";

/// A line for each wait, and one for all.
pub(super) fn waits(runs: &[Run]) -> Drawn {
    let lines = runs.iter().flat_map(of_run).collect();
    let about = "Active sessions of the database on average between two readings, by what they waited for; CPU: no wait was reported";
    drawn("Active sessions by wait", about, &["sessions"], lines)
}

fn of_run(run: &Run) -> Vec<Line> {
    let observed = run.readings.of(PROBE, "");
    let mut waits: Vec<(&str, &[Reading])> = run
        .readings
        .series()
        .filter(|(probe, name, _)| *probe == PROBE && !name.is_empty())
        .map(|(_, name, readings)| (name, readings))
        .collect();
    let spent = |readings: &[Reading]| Reading::counted(readings, "session_seconds");
    waits.sort_by(|one, other| spent(other.1).total_cmp(&spent(one.1)));
    let all: Vec<&[Reading]> = waits.iter().map(|(_, readings)| *readings).collect();
    let mut lines = Vec::new();
    // Both counters begin at zero with each phase: a line ends there.
    for phase in observed.chunk_by(|earlier, later| later.growth(earlier, "observed_seconds").is_some()) {
        let mut draw = |name: &str, waits: &[&[Reading]]| {
            lines.push(line(run, 0, name.to_owned(), sessions(phase, waits)));
        };
        draw("all", &all);
        waits.iter().take(WAITS).for_each(|(name, readings)| draw(name, &[readings]));
        if let Some(others) = all.get(WAITS..).filter(|others| !others.is_empty()) {
            draw("other waits", others);
        }
    }
    lines
}

/// Sessions in any of these waits between each two instants of a phase.
fn sessions(phase: &[Reading], waits: &[&[Reading]]) -> Vec<(f64, f64)> {
    let between = phase.windows(2).filter_map(|pair| {
        let observed = pair[1].growth(&pair[0], "observed_seconds").filter(|seconds| *seconds > 0.0)?;
        let spent = |at: &Reading| waits.iter().map(|wait| spent_by(wait, &phase[0], at)).sum::<f64>();
        let middle = (pair[0].at.0 as f64 + pair[1].at.0 as f64) / 2e9;
        Some((middle, (spent(&pair[1]) - spent(&pair[0])).max(0.0) / observed))
    });
    between.collect()
}

/// Seconds in a wait up to an instant of a phase; zero before its first reading, which a wait has from when it is first seen.
fn spent_by(wait: &[Reading], begin: &Reading, at: &Reading) -> f64 {
    let until = wait.partition_point(|reading| reading.at <= at.at);
    let last = wait[..until].last().filter(|reading| reading.at >= begin.at);
    last.and_then(|reading| reading.value("session_seconds")).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use iolite_model::{Event, Nanos, ReadingValue, Sink};

    use super::*;
    use crate::synthetic;

    #[test]
    fn sessions_are_averaged_over_the_time_observed_of_each_phase() {
        let mut run = Run::new(synthetic::run());
        let mut read = |second: u64, subject: &str, name: &'static str, value: f64| {
            run.event(&Event::Reading(Reading {
                probe: PROBE.into(),
                subject: subject.into(),
                at: Nanos(second * Nanos::SECOND.0),
                values: vec![ReadingValue::counter(name, value)],
            }));
        };
        for (second, observed) in [(1, 0.5), (2, 1.5), (3, 2.5), (5, 1.0), (6, 2.0)] {
            read(second, "", "observed_seconds", observed);
        }
        // Seen from the second instant on; again in the second phase.
        for (second, spent) in [(2, 2.0), (3, 2.5), (5, 4.0), (6, 7.0)] {
            read(second, "IO:WALSync", "session_seconds", spent);
        }
        let drawn = waits(&[run]);
        let names: Vec<&str> = drawn.series.iter().map(|series| series.name.as_str()).collect();
        assert_eq!(names, ["all", "IO:WALSync"]);
        let expected = vec![vec![(1.5, 2.0), (2.5, 0.5)]];
        assert_eq!(drawn.panels[0].lines[1], expected, "a phase of one point has no line");
        assert_eq!(drawn.panels[0].lines[0], drawn.panels[0].lines[1]);
    }
}
