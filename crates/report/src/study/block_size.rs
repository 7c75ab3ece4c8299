//! The windows of a study of block sizes as surfaces: sizes down, mixes across, the darker the more.

use iolite_model::{BlockPoint, Bytes, Iops};
use iolite_stats::PhaseResult;

use super::{StudyReport, rates, result, slowest};
use crate::styler::{Emphasis, Styler};
use crate::table::{NONE, mebibytes, nanos, stamp, uncertainty};

/// Shades from little to much.
const SHADES: [&str; 5] = [" ", "░", "▒", "▓", "█"];

/// The same where there is only ASCII.
const ASCII_SHADES: [&str; 5] = [" ", ".", "o", "O", "@"];

/// Columns of the sizes.
const LABEL: usize = 10;

/// A figure of a window.
type Figure = fn(&PhaseResult) -> Option<f64>;

/// A figure as users read it.
type Rendered = fn(f64) -> String;

pub(super) fn figures(report: &StudyReport<'_, BlockPoint>, styler: Styler) -> String {
    let surfaces: [(&str, Figure, Rendered); 3] = [
        ("operations per second (IOPS)", |result| Some(rates(result)?.0), |value| Iops(value).to_string()),
        ("MiB per second", |result| Some(rates(result)?.1), mebibytes),
        (
            "p99 of the response times, of reads or writes, whichever is longer",
            |result| slowest(result, 0.99),
            nanos,
        ),
    ];
    let drawn = surfaces.map(|(title, figure, rendered)| surface(report, title, figure, rendered, styler));
    let rest = [
        words(report, "±: 95 % interval of both rates, within this run", uncertainty, styler),
        words(report, "cache stamp", |result| stamp(result.end.cache.stamp()), styler),
    ];
    drawn.into_iter().chain(rest).collect::<Vec<_>>().join("\n")
        + &styler.item(
            "",
            0,
            "darker: larger, relative to the largest value of the table; -: too few operations",
        )
}

fn surface(
    report: &StudyReport<'_, BlockPoint>,
    title: &str,
    figure: Figure,
    rendered: Rendered,
    styler: Styler,
) -> String {
    let values = report.windows.iter().filter_map(|window| figure(result(report, window)?));
    let max = values.fold(0.0, f64::max);
    let cell = |result: Option<&PhaseResult>| {
        let value = result.and_then(figure);
        let text = styler.clean(value.map_or_else(|| NONE.to_owned(), rendered));
        format!("{text:>13} {}", shade(value, max, styler))
    };
    table(report, title, cell, styler)
}

/// A table of what is not larger or smaller.
fn words(
    report: &StudyReport<'_, BlockPoint>,
    title: &str,
    of: impl Fn(&PhaseResult) -> String,
    styler: Styler,
) -> String {
    let cell = |result: Option<&PhaseResult>| {
        let text = styler.clean(result.map_or_else(|| NONE.to_owned(), &of));
        format!("{text:>13}    ")
    };
    table(report, title, cell, styler)
}

/// Sizes down, mixes across.
fn table(
    report: &StudyReport<'_, BlockPoint>,
    title: &str,
    cell: impl Fn(Option<&PhaseResult>) -> String,
    styler: Styler,
) -> String {
    let points = || report.windows.iter().map(|window| window.circumstance);
    let mut blocks: Vec<Bytes> = points().map(|point| point.block).collect();
    blocks.sort_unstable();
    blocks.dedup();
    let mut percents: Vec<u8> = points().map(|point| point.read_percent).collect();
    percents.dedup();
    let at = |block, read_percent| {
        let point = BlockPoint { block, read_percent };
        result(report, report.windows.iter().find(|window| window.circumstance == point)?)
    };
    let mut out = styler.paint(Emphasis::Strong, &styler.clean(title)) + "\n";
    let heads = percents.iter().map(|percent| format!("{:>17}", mix(*percent)));
    out += &format!("{:<LABEL$}{}\n", "", heads.collect::<String>());
    for &block in &blocks {
        let cells = percents.iter().map(|&percent| cell(at(block, percent)));
        let line = format!("{:>LABEL$}{}", block.to_string(), cells.collect::<String>());
        out += line.trim_end();
        out.push('\n');
    }
    out
}

/// A mix as fio's users write it.
fn mix(read_percent: u8) -> String {
    match read_percent {
        100.. => "reads".to_owned(),
        0 => "writes".to_owned(),
        percent => format!("{percent}/{}", 100 - percent),
    }
}

fn shade(value: Option<f64>, max: f64, styler: Styler) -> String {
    let shades = if styler.0.unicode { SHADES } else { ASCII_SHADES };
    let share = value.filter(|_| max > 0.0).map_or(0.0, |value| value / max);
    // The cast saturates: what is not a number becomes the lightest.
    let level = ((share * shades.len() as f64) as usize).min(shades.len() - 1);
    shades[level].repeat(3)
}
