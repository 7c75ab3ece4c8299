//! Stored runs as one HTML page, which needs no network; its own script zooms the charts, and without it they are fixed pictures.

mod comparison;
mod figure;
mod frame;
mod list;
mod tables;
mod values;

use iolite_model::Verdict;
use iolite_results::Run;
use iolite_stats::PhaseResult;
use maud::{Markup, html};

use crate::plot::{Axis, Chart, PlotKind, Unit, chart};
use crate::show::{Format, show};
use crate::styler::{Style, escaped, harmless};
pub use comparison::compared;
pub use frame::{Frame, framed};
pub use list::{ListFilter, listed};

/// Characters of a line of the command's output.
const WIDTH: usize = 110;

/// Charts of all runs together, in the order of the page. What has not been measured has none.
const OF_OPERATIONS: [PlotKind; 8] = [
    PlotKind::Timeline,
    PlotKind::Percentiles,
    PlotKind::Heatmap,
    PlotKind::Histogram,
    PlotKind::Cdf,
    PlotKind::Sweep,
    PlotKind::Surface,
    PlotKind::Database,
];

/// Charts of several runs.
const OF_RUNS: [PlotKind; 2] = [PlotKind::Compare, PlotKind::Trend];

/// Charts of what was sampled meanwhile.
const SAMPLED: [PlotKind; 4] = [PlotKind::Cpu, PlotKind::Devices, PlotKind::Pressure, PlotKind::Memory];

/// Runs of any command as a page: verdicts, what was measured on what, charts with all runs overlaid, what the commands printed,
/// settings, command lines.
pub fn page(runs: &[Run]) -> String {
    framed(&Frame::default(), &title(runs), &content(runs))
}

/// The heading of a page about runs.
pub fn title(runs: &[Run]) -> String {
    let ids: Vec<&str> = runs.iter().map(|run| run.info.id.0.as_str()).collect();
    format!("iolite report: {}", escaped(ids.join(", ")))
}

/// The page about runs without its frame.
pub fn content(runs: &[Run]) -> Markup {
    html! {
        h1 { (title(runs)) }
        nav aria-label="Sections" {
            @for (number, run) in runs.iter().enumerate() {
                a href=(format!("#run-{number}")) { "Run " (escaped(&run.info.id.0)) } " "
            }
            a href="#charts" { "Charts" } " "
            @for (number, run) in runs.iter().enumerate() {
                a href=(format!("#output-{number}")) { "Output and settings of " (escaped(&run.info.id.0)) } " "
            }
        }
        @for (number, run) in runs.iter().enumerate() {
            section id=(format!("run-{number}")) {
                (verdict(run))
                (tables::facts(run))
                (tables::warnings(run))
                (tables::figures(run))
            }
        }
        section id="charts" { h2 { "Charts" } (charts(runs)) }
        @for (number, run) in runs.iter().enumerate() {
            section id=(format!("output-{number}")) { (details(run)) }
        }
    }
}

/// The verdict of a run, the worst reasons first; without one, the run's name.
fn verdict(run: &Run) -> Markup {
    let id = escaped(&run.info.id.0);
    let Some(Verdict { profile, fitness, reasons }) = &run.verdict else {
        return html! { h2 { "Run " (id) } };
    };
    let mut reasons: Vec<_> = reasons.iter().collect();
    reasons.sort_by_key(|reason| std::cmp::Reverse(reason.fitness));
    html! {
        h2 { "Verdict of run " (id) ": " span class=(fitness) { (fitness) } " for profile " (escaped(profile)) }
        div.scroll tabindex="0" role="region" aria-label=(format!("Reasons of the verdict of run {id}")) {
            table {
                thead { tr { th scope="col" { "Outcome" } th scope="col" { "Criterion" }
                    th scope="col" { "Measured" } th scope="col" { "Required" } } }
                tbody {
                    @for reason in reasons {
                        tr { td class=(reason.fitness) { (reason.fitness) } td { (escaped(&reason.what)) }
                            td { (escaped(&reason.measured))
                                @for reservation in &reason.reservations { br; small { (escaped(reservation)) } } } td { (escaped(&reason.asked)) } }
                    }
                }
            }
        }
    }
}

/// The charts of all runs; the reason where nothing can be drawn.
fn charts(runs: &[Run]) -> Markup {
    let several = if runs.len() > 1 { &OF_RUNS[..] } else { &[] };
    let mut drawn: Vec<_> =
        OF_OPERATIONS.iter().chain(several).map(|kind| (*kind, chart(runs, *kind))).collect();
    // Of several runs each has its own: curves of different runs would hide each other.
    for run in runs {
        drawn.extend(SAMPLED.iter().map(|kind| (*kind, chart(std::slice::from_ref(run), *kind))));
    }
    let first_error = drawn.iter().find_map(|(_, chart)| chart.as_ref().err()).map(ToString::to_string);
    let charts = drawn.into_iter().filter_map(|(kind, chart)| Some((kind, chart.ok()?)));
    let mut charts: Vec<_> = charts.filter(|(kind, chart)| is_worthwhile(*kind, chart)).collect();
    share_time(&mut charts);
    html! {
        @if let Some(error) = first_error.filter(|_| charts.is_empty()) { p { (escaped(error)) } } @else {
            p.with-script hidden {
                "Drag across a chart to zoom, double-click to show all of it. With the keyboard: arrow keys move through the values, "
                kbd { "+" } " and " kbd { "-" } " zoom, " kbd { "0" } " shows all. The names below a chart switch its series on and off."
            }
            p.with-script hidden {
                label { input id="link-time" type="checkbox" checked; " Zoom all time axes together" }
            }
            @for (number, (kind, chart)) in charts.iter().enumerate() { (figure::figure(*kind, chart, number)) }
        }
    }
}

/// Whether a chart shows more than the others do: of a single load there is no curve, and of a single size no surface.
fn is_worthwhile(kind: PlotKind, chart: &Chart) -> bool {
    match kind {
        PlotKind::Sweep => {
            chart.panels.iter().any(|panel| panel.lines.iter().flatten().any(|line| line.len() > 1))
        }
        PlotKind::Surface => {
            chart.panels.iter().any(|panel| panel.x.ticks.len() > 1 && panel.y.ticks.len() > 1)
        }
        _ => true,
    }
}

/// Gives all axes of time the same range, so that what is above one another happened at the same time.
fn share_time(charts: &mut [(PlotKind, Chart)]) {
    let panels = charts.iter_mut().flat_map(|(_, chart)| &mut chart.panels);
    let mut axes: Vec<&mut Axis> =
        panels.map(|panel| &mut panel.x).filter(|axis| axis.unit == Unit::RunTime).collect();
    let end = axes.iter().map(|axis| axis.high).fold(0.0, f64::max);
    for axis in &mut axes {
        **axis = Axis::run_time([0.0, end].into_iter());
    }
}

/// What the run's command printed, its settings and its command line.
fn details(run: &Run) -> Markup {
    let printed = show(run, Format::Text, Style { color: false, unicode: true, width: WIDTH });
    let id = escaped(&run.info.id.0);
    html! {
        h2 { "Output of run " (id) }
        div.scroll tabindex="0" role="region" aria-label=(format!("Output of run {id}")) { pre { (printed) } }
        h3 { "Settings of run " (id) }
        @for phase in &run.phases {
            @let name = escaped(phase.info.task.name());
            details {
                summary { (u64::from(phase.info.index) + 1) ". " (name) }
                pre.long { (settings(phase)) }
            }
        }
        h3 { "Command line that repeats run " (id) }
        pre.long { (command(&run.info.command)) }
    }
}

/// The task of a phase as JSON; names in it are escaped as everywhere.
fn settings(phase: &PhaseResult) -> String {
    harmless(&serde_json::to_string_pretty(&phase.info.task).unwrap_or_default(), true)
}

/// A command line as a shell reads it.
fn command(words: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    let quoted = words.iter().map(|word| match word {
        word if !word.is_empty() && word.chars().all(plain) => word.clone(),
        word => format!("'{}'", escaped(word).replace('\'', "'\\''")),
    });
    quoted.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
