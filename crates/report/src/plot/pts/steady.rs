//! Steady state: convergence to it, its verification, and what comes before it while a device is filled.

use iolite_model::{Bytes, OpKind, PtsCell, PtsPhase, PtsSection, PtsTerms, PtsTest};
use iolite_results::{PtsProgress, Run};

use super::{Line, drawn, named, of_runs, series};
use crate::plot::chart::Series;
use crate::plot::source::{Drawn, MIB};

/// The figure of every block size, writes only, by round: a panel for each test.
pub(in crate::plot) fn convergence(runs: &[Run]) -> Drawn {
    const AXES: [(&str, bool); 4] = [
        ("IOPS test: writes per second", false),
        ("latency test: mean response time of writes", true),
        ("throughput test: MiB written per second", false),
        ("tracked figure of the other tests: operations per second", false),
    ];
    let found = of_runs(runs);
    let mut lines = Vec::new();
    for (run, terms) in &found {
        let progress = PtsProgress::of(run, terms);
        for section in terms.sections() {
            let Some(panel) = panel_of(section.test) else {
                lines.extend(tracked(run, &progress, section));
                continue;
            };
            let mut blocks: Vec<Bytes> = terms.cells(section, 1).iter().map(|cell| cell.block).collect();
            blocks.dedup_by_key(|block| block.0);
            blocks.sort_unstable();
            blocks.dedup();
            for block in blocks {
                let name = format!("{}, writes of {block}", section.test.name());
                let points = by_round(&progress, terms, section, block);
                lines.push(Line::new(panel, series(run, name), points));
            }
        }
    }
    let about = "Figure of every block size in each round, writes only, and the tracked figures of the other tests: convergence to steady state";
    drawn("Steady-state convergence", about, &AXES, "round", lines)
}

/// The panel of a test whose block sizes are drawn.
fn panel_of(test: PtsTest) -> Option<usize> {
    [PtsTest::Iops, PtsTest::Latency, PtsTest::Throughput].iter().position(|of| *of == test)
}

/// The tracked figure of a test with one, by round.
fn tracked(run: &Run, progress: &PtsProgress<'_>, section: PtsSection) -> Option<Line> {
    if !section.test.needs_steady_state() {
        return None;
    }
    let values = progress.rounds(section).values.into_iter().enumerate();
    let points = values.filter_map(|(index, value)| Some((index as f64 + 1.0, value?))).collect();
    Some(Line::new(3, series(run, section.name()), points))
}

fn by_round(
    progress: &PtsProgress<'_>,
    terms: &PtsTerms,
    section: PtsSection,
    block: Bytes,
) -> Vec<(f64, f64)> {
    let scale = if section.test == PtsTest::Throughput { MIB } else { 1.0 };
    let of = |round| {
        let value = progress.figure(section, PtsCell { round, read_percent: 0, block, demand: None })?;
        Some((f64::from(round), value / scale))
    };
    (1..=terms.max_rounds).filter_map(of).collect()
}

/// The tracked figures of each measurement window and their least squares line, in percent of their mean, with the bounds: a panel for
/// each run.
pub(in crate::plot) fn verification(runs: &[Run]) -> Drawn {
    let found = of_runs(runs);
    let mut lines = Vec::new();
    let mut axes = Vec::new();
    for (run, terms) in &found {
        let own = windows(run, terms, axes.len());
        if !own.is_empty() {
            lines.extend(own);
            axes.push(match found.len() {
                1 => "% of the mean".to_owned(),
                _ => format!("% of the mean, run {}", named(run)),
            });
        }
    }
    let length = lines.iter().flat_map(Line::points).map(|point| point.0).fold(0.0, f64::max);
    if let (true, Some((run, _))) = (length > 0.0, found.first()) {
        let bound = |(percent, name): (f64, &str)| {
            let points = vec![(1.0, percent), (length, percent)];
            let lines = (0..axes.len()).map(|panel| (panel, points.clone())).collect();
            Line { series: Series::bound(named(run), name), lines }
        };
        // First: where there are more series than can be drawn, the last ones are left out.
        lines.splice(..0, [(110.0, "mean + 10 %"), (100.0, "mean"), (90.0, "mean - 10 %")].map(bound));
    }
    let about = "Tracked figures of the measurement windows and their least squares lines, in percent of their means, with the range \
                 of 10 % above and below";
    let axes: Vec<(&str, bool)> = axes.iter().map(|label| (label.as_str(), false)).collect();
    drawn("Steady-state verification", about, &axes, "round of the window", lines)
}

/// The measurement windows of a run, each with its least squares line, in a panel.
fn windows(run: &Run, terms: &PtsTerms, panel: usize) -> Vec<Line> {
    let progress = PtsProgress::of(run, terms);
    let mut lines = Vec::new();
    for section in terms.sections() {
        let rounds = progress.rounds(section);
        let criteria = rounds.window.and_then(|window| Some((window, window.criteria?)));
        let Some((window, criteria)) = criteria.filter(|(_, criteria)| criteria.mean > 0.0) else { continue };
        let share = |value: f64| 100.0 * value / criteria.mean;
        let last = rounds.values.len();
        let length = progress.rounds_of(window).count().min(last);
        let values = rounds.values.iter().skip(last - length).enumerate();
        let points =
            values.filter_map(|(index, value)| Some((index as f64 + 1.0, share((*value)?)))).collect();
        lines.push(Line::new(panel, series(run, section.name()), points));
        let (first, end) = criteria.line;
        let line = vec![(1.0, share(first)), (length as f64, share(end))];
        let name = format!("{}, least squares line", section.name());
        lines.push(Line::new(panel, series(run, name), line));
    }
    lines
}

/// Operations per second, mean and longest response time over the time that was written.
pub(in crate::plot) fn saturation(runs: &[Run]) -> Drawn {
    let found = of_runs(runs);
    let mut lines = Vec::new();
    for (run, terms) in &found {
        let progress = PtsProgress::of(run, terms);
        let test = PtsTest::WriteSaturation;
        for section in terms.sections().into_iter().filter(|section| section.test == test) {
            let mut panels: [Vec<(f64, f64)>; 2] = Default::default();
            let mut longest = Vec::new();
            for (index, rate) in progress.rounds(section).values.iter().enumerate() {
                let minutes = (index as f64 + 1.0) * terms.cell.as_secs_f64() / 60.0;
                panels[0].extend(rate.map(|rate| (minutes, rate)));
                let cell = terms.tracked(section, u32::try_from(index + 1).unwrap_or(u32::MAX));
                let result = cell.and_then(|cell| progress.phase(section, PtsPhase::Cell(cell)));
                if let Some(summary) = result.and_then(|result| result.summary(OpKind::Write)) {
                    panels[1].push((minutes, summary.mean.value));
                    longest.extend(summary.max.map(|max| (minutes, max.0 as f64)));
                }
            }
            let [rates, means] = panels;
            for (panel, name, points) in
                [(0, "writes per second", rates), (1, "mean", means), (1, "longest", longest)]
            {
                lines.push(Line::new(panel, series(run, name.to_owned()), points));
            }
        }
    }
    let axes = [("writes per second", false), ("response time", true)];
    let about =
        "Random writes over the time that was written: operations per second, mean and longest response time";
    drawn("Write saturation", about, &axes, "minutes of writing", lines)
}
