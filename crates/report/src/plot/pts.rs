//! The plots of SNIA's specification: convergence, steady-state verification, write saturation.

use iolite_model::{Bytes, OpKind, PtsCell, PtsPhase, PtsSection, PtsTerms, PtsTest};
use iolite_results::{PtsProgress, Run};

use super::axis::Axis;
use super::chart::{Panel, Series};
use super::source::{Drawn, Lines, MAX_SERIES, values};

const MIB: f64 = 1024.0 * 1024.0;

/// A line of a panel.
struct Line {
    panel: usize,
    series: Series,
    points: Vec<(f64, f64)>,
}

/// The runs of the specification's tests.
fn of_runs(runs: &[Run]) -> Vec<(&Run, PtsTerms)> {
    runs.iter().filter_map(|run| Some((run, run.concluded::<PtsTerms>().last()?))).collect()
}

fn series(run: &Run, name: String) -> Series {
    Series { run: run.info.id.0.clone(), name }
}

/// Marks what is no figure of the specification.
fn note(runs: &[(&Run, PtsTerms)], cut: Option<String>) -> Option<String> {
    let rehearsals = runs.iter().filter(|(_, terms)| terms.is_rehearsal());
    let names: Vec<&str> = rehearsals.map(|(run, _)| run.info.id.0.as_str()).collect();
    let rehearsal = (!names.is_empty()).then(|| {
        format!("Rehearsal: the figures of {} do not conform to the specification.", names.join(", "))
    });
    match (rehearsal, cut) {
        (Some(rehearsal), Some(cut)) => Some(format!("{rehearsal} {cut}")),
        (one, other) => one.or(other),
    }
}

/// The figure of every block size, writes only, by round: a panel for each test.
pub(super) fn convergence(runs: &[Run]) -> Drawn {
    const TESTS: [(PtsTest, &str); 3] = [
        (PtsTest::Iops, "IOPS test: writes per second"),
        (PtsTest::Latency, "latency test: mean response time of writes"),
        (PtsTest::Throughput, "throughput test: MiB written per second"),
    ];
    let found = of_runs(runs);
    let mut lines = Vec::new();
    for (run, terms) in &found {
        let progress = PtsProgress::of(run, terms);
        for section in terms.sections() {
            let Some(panel) = TESTS.iter().position(|(test, _)| *test == section.test) else { continue };
            let mut blocks: Vec<Bytes> = terms.cells(section, 1).iter().map(|cell| cell.block).collect();
            blocks.dedup_by_key(|block| block.0);
            blocks.sort_unstable();
            blocks.dedup();
            for block in blocks {
                let name = format!("{}, writes of {block}", section.test.name());
                let points = by_round(&progress, terms, section, block);
                lines.push(Line { panel, series: series(run, name), points });
            }
        }
    }
    let axes = TESTS.map(|(test, label)| (label, test == PtsTest::Latency));
    let about = "Figure of every block size in each round, writes only: convergence to steady state";
    drawn("Steady-state convergence", about, &axes, "round", lines, &found)
}

fn by_round(
    progress: &PtsProgress<'_>,
    terms: &PtsTerms,
    section: PtsSection,
    block: Bytes,
) -> Vec<(f64, f64)> {
    let scale = if section.test == PtsTest::Throughput { MIB } else { 1.0 };
    let of = |round| {
        let value = progress.figure(section, PtsCell { round, read_percent: 0, block })?;
        Some((f64::from(round), value / scale))
    };
    (1..=terms.max_rounds).filter_map(of).collect()
}

/// The tracked figures of each measurement window and their least squares line, in percent of their mean, with the bounds.
pub(super) fn verification(runs: &[Run]) -> Drawn {
    let found = of_runs(runs);
    let mut lines = Vec::new();
    for (run, terms) in &found {
        let progress = PtsProgress::of(run, terms);
        for section in terms.sections() {
            let rounds = progress.rounds(section);
            let Some(window) = rounds.window.filter(|window| window.mean > 0.0) else { continue };
            let share = |value: f64| 100.0 * value / window.mean;
            let last = rounds.values.len();
            let length = progress.rounds_of(window).count().min(last);
            let values = rounds.values.iter().skip(last - length).enumerate();
            let points = values.map(|(index, value)| (index as f64 + 1.0, share(*value))).collect();
            lines.push(Line { panel: 0, series: series(run, section.name()), points });
            let (first, end) = window.line;
            let line = vec![(1.0, share(first)), (length as f64, share(end))];
            let name = format!("{}, least squares line", section.name());
            lines.push(Line { panel: 0, series: series(run, name), points: line });
        }
    }
    let length = lines.iter().flat_map(|line| &line.points).map(|point| point.0).fold(0.0, f64::max);
    if let (true, Some((run, _))) = (length > 0.0, found.first()) {
        let bound = |(percent, name): (f64, &str)| {
            let points = vec![(1.0, percent), (length, percent)];
            Line { panel: 0, series: series(run, name.to_owned()), points }
        };
        // First: where there are more series than can be drawn, the last ones are left out.
        lines.splice(..0, [(110.0, "mean + 10 %"), (100.0, "mean"), (90.0, "mean - 10 %")].map(bound));
    }
    let about = "Tracked figures of the measurement windows and their least squares lines, in percent of their means, with the range \
                 of 10 % above and below";
    drawn(
        "Steady-state verification",
        about,
        &[("% of the mean", false)],
        "round of the window",
        lines,
        &found,
    )
}

/// Operations per second, mean and longest response time over the time that was written.
pub(super) fn saturation(runs: &[Run]) -> Drawn {
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
                panels[0].push((minutes, *rate));
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
                lines.push(Line { panel, series: series(run, name.to_owned()), points });
            }
        }
    }
    let axes = [("writes per second", false), ("response time", true)];
    let about = "Random writes of 4 KiB over the time that was written: operations per second, mean and longest response time";
    drawn("Write saturation", about, &axes, "minutes of writing", lines, &found)
}

/// The lines in their panels; panels without any are left out. `axes` are labels, and whether the values are times.
fn drawn(
    title: &'static str,
    about: &'static str,
    axes: &[(&str, bool)],
    x: &str,
    mut lines: Vec<Line>,
    runs: &[(&Run, PtsTerms)],
) -> Drawn {
    lines.retain(|line| !line.points.is_empty());
    let cut = super::source::cut(&mut lines, MAX_SERIES);
    let x = Axis::linear(x, None, lines.iter().flat_map(|line| &line.points).map(|point| point.0));
    let panel = |(number, (label, is_time)): (usize, &(&str, bool))| {
        let own = |line: &Line| if line.panel == number { vec![line.points.clone()] } else { Vec::new() };
        let own: Vec<Lines> = lines.iter().map(own).collect();
        if own.iter().all(Vec::is_empty) {
            return None;
        }
        let upwards = values(&own, |point| point.1);
        let y = if *is_time { Axis::log_time(label, upwards) } else { Axis::linear(label, None, upwards) };
        Some(Panel::of_lines(x.clone(), y, own))
    };
    let panels = axes.iter().enumerate().filter_map(panel).collect();
    let series = lines.iter().map(|line| line.series.clone()).collect();
    Drawn { title, about, series, panels, note: note(runs, cut) }
}
