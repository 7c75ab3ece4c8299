//! Each search's knee in words, and its curves in a line of bars.

use iolite_model::{Layer, Nanos};
use iolite_stats::{Estimate, Knee, PhaseResult};

use crate::pen::{Ink, Pen};
use crate::{KneeResult, Report};

/// Columns of the text under the knee's name.
const INDENT: usize = 6;

/// Above this residual neither model describes the storage (see [`Knee::relative_residual`]).
const POOR_FIT: f64 = 0.1;

/// Bars from low to high.
const BARS: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

/// The same where there is only ASCII: darker is more.
const ASCII_BARS: [&str; 8] = [".", ":", "-", "=", "+", "*", "#", "@"];

/// What so many of are outstanding in a layer.
pub(crate) fn load_word(layer: Layer, count: u32) -> &'static str {
    match (layer, count) {
        (Layer::Database, 1) => "job",
        (Layer::Database, _) => "jobs",
        _ => "outstanding",
    }
}

/// The knees; empty without any.
pub(crate) fn knees(report: &Report, pen: Pen) -> String {
    report.knees.iter().map(|result| knee(report, result, pen)).collect()
}

fn knee(report: &Report, result: &KneeResult, pen: Pen) -> String {
    let mut tested: Vec<&PhaseResult> =
        report.phases.iter().filter(|phase| result.phases.contains(&phase.info.index)).collect();
    tested.sort_by_key(|phase| (phase.info.task.concurrency(), phase.info.index));
    let layer = tested.first().map_or(Layer::File, |phase| phase.info.task.layer());
    let word = load_word(layer, result.knee.concurrency);
    let mut out = pen.item(&pen.paint(Ink::Strong, "knee  "), INDENT, sentence(result, word));
    let indent = " ".repeat(INDENT);
    out += &pen.item(&indent, INDENT, model(&result.knee));
    // Not wrapped and not cleaned: every character is ours.
    out += &picture(&tested, &result.knee, load_word(layer, 2), pen)
        .map_or(String::new(), |line| format!("{indent}{line}\n"));
    out
}

fn sentence(result: &KneeResult, word: &str) -> String {
    let knee = &result.knee;
    let plateau = range(&knee.plateau);
    let limit = if knee.saturated {
        format!("plateau {plateau}")
    } else {
        format!("no plateau yet, most seen {plateau}")
    };
    format!(
        "{}: {} {word} ({} to {}, 95 %), {}; {limit}",
        result.name,
        knee.concurrency,
        knee.low,
        knee.high,
        rate(knee.throughput)
    )
}

fn model(knee: &Knee) -> String {
    let poor = if knee.relative_residual > POOR_FIT { ": a poor fit, the knee is a guess" } else { "" };
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
fn picture(tested: &[&PhaseResult], knee: &Knee, word: &str, pen: Pen) -> Option<String> {
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
    let most = points.iter().map(|point| point.2).fold(0.0, f64::max);
    let throughput = bars(points.iter().map(|point| point.1).collect(), pen);
    let response = bars(points.iter().map(|point| point.2).collect(), pen);
    let most = pen.clean(Nanos(most as u64));
    Some(format!("IOPS {throughput}  mean {response} up to {most}  at {} {word}", loads.join(" ")))
}

/// Two columns a value, a gap between; the largest fills its cell.
fn bars(values: Vec<f64>, pen: Pen) -> String {
    let levels = if pen.0.unicode { BARS } else { ASCII_BARS };
    let most = values.iter().copied().fold(0.0, f64::max);
    let bar = |value: f64| {
        // A ratio that is not a number becomes the lowest bar: the cast saturates.
        let level = ((value / most * 8.0).ceil() as usize).clamp(1, 8);
        levels[level - 1].repeat(2)
    };
    values.into_iter().map(bar).collect::<Vec<_>>().join(" ")
}
