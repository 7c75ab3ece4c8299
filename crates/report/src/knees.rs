//! Each search's knee in words, and its curves as bars over the loads.

use iolite_model::{Layer, Nanos};
use iolite_results::Run;
use iolite_stats::{Estimate, Knee, KneeFound, PhaseResult};

use crate::chart::bars;
use crate::styler::{Emphasis, Styler};
use unicode_width::UnicodeWidthStr;

/// Columns of the text under the knee's name.
const INDENT: usize = 6;

/// Above this residual neither model describes the storage (see [`Knee::relative_residual`]).
const POOR_FIT: f64 = 0.1;

/// Parameters of the models at most.
const PARAMETERS: usize = 3;

/// What so many of are outstanding in a layer.
pub(crate) fn load_word(layer: Layer, count: u32) -> &'static str {
    match (layer, count) {
        (Layer::Database, 1) => "job",
        (Layer::Database, _) => "jobs",
        (Layer::Metadata, 1) => "thread",
        (Layer::Metadata, _) => "threads",
        _ => "outstanding",
    }
}

/// The knees; empty without any.
pub(crate) fn knees(run: &Run, styler: Styler) -> String {
    run.concluded().map(|found| knee(run, &found, styler)).collect()
}

fn knee(run: &Run, result: &KneeFound, styler: Styler) -> String {
    let mut tested: Vec<&PhaseResult> =
        run.phases.iter().filter(|phase| result.phases.contains(&phase.info.index)).collect();
    tested.sort_by_key(|phase| (phase.info.task.concurrency(), phase.info.index));
    let layer = tested.first().map_or(Layer::File, |phase| phase.info.task.layer());
    let mut out = rendered(&result.name, &result.knee, layer, tested.len(), styler);
    let indent = " ".repeat(INDENT);
    // Not wrapped and not cleaned: every character is ours.
    for line in picture(&tested, &result.knee, load_word(layer, 2), styler).into_iter().flatten() {
        out += &format!("{indent}{line}\n");
    }
    out
}

/// A knee that so many points have shown, in words.
pub(crate) fn rendered(name: &str, knee: &Knee, layer: Layer, points: usize, styler: Styler) -> String {
    let word = load_word(layer, knee.concurrency);
    styler.item(&styler.paint(Emphasis::Strong, "knee  "), INDENT, sentence(name, knee, word))
        + &styler.item(&" ".repeat(INDENT), INDENT, model(knee, points))
}

fn sentence(name: &str, knee: &Knee, word: &str) -> String {
    let plateau = range(&knee.plateau);
    let limit = if knee.saturated {
        format!("plateau {plateau}")
    } else {
        format!("no plateau yet, maximum measured {plateau}")
    };
    format!(
        "{name}: {} {word} ({} to {}, 95 %), {}; {limit}",
        knee.concurrency,
        knee.low,
        knee.high,
        rate(knee.throughput)
    )
}

fn model(knee: &Knee, points: usize) -> String {
    if points <= PARAMETERS {
        // So few points fit any model.
        return format!("model: {}", knee.model);
    }
    let poor = if knee.relative_residual > POOR_FIT { ": a poor fit, the knee is uncertain" } else { "" };
    format!("model: {}, off by {:.1} %{poor}", knee.model, knee.relative_residual * 100.0)
}

fn rate(value: f64) -> String {
    format!("{} IOPS", iolite_model::Iops(value))
}

fn range(estimate: &Estimate) -> String {
    let Estimate { value, low, high, .. } = *estimate;
    let (low, high) = (iolite_model::Iops(low), iolite_model::Iops(high));
    format!("{} ({low} to {high})", rate(value))
}

/// Throughput and response over concurrency, as bars scaled to the largest; `None` where fewer than two were tested.
fn picture(tested: &[&PhaseResult], knee: &Knee, word: &str, styler: Styler) -> Option<[String; 3]> {
    let summaries = tested.iter().filter_map(|phase| {
        phase.summary(phase.main_kind()).map(|summary| (phase.info.task.concurrency(), summary))
    });
    let points: Vec<(u32, f64, f64)> =
        summaries.map(|(concurrency, s)| (concurrency, s.rate.value, s.mean.value)).collect();
    if points.len() < 2 {
        return None;
    }
    let loads: Vec<String> = points
        .iter()
        .map(|point| if point.0 == knee.concurrency { format!("[{}]", point.0) } else { point.0.to_string() })
        .collect();
    let max = |value: fn(&(u32, f64, f64)) -> f64| points.iter().map(value).fold(0.0, f64::max);
    let (max_rate, max_mean) = (rate(max(|point| point.1)), styler.clean(Nanos(max(|point| point.2) as u64)));
    let throughput = bars(points.iter().map(|point| point.1).collect(), styler);
    let response = bars(points.iter().map(|point| point.2).collect(), styler);
    Some([
        format!("at    {}{word}", columns(&loads, &loads)),
        format!("rate  {}up to {max_rate}", columns(&throughput, &loads)),
        format!("mean  {}up to {max_mean}", columns(&response, &loads)),
    ])
}

/// The cells right-aligned in columns as wide as the loads above them.
fn columns(cells: &[String], loads: &[String]) -> String {
    let column = |(cell, load): (&String, &String)| format!("{cell:>width$} ", width = load.width().max(2));
    cells.iter().zip(loads).map(column).collect()
}
