//! The values of a chart as tables, a table for each panel.

use maud::{Markup, html};

use crate::plot::{Chart, Panel};
use crate::styler::escaped;

/// Rows of a table of lines: of more points, as many are shown, evenly spaced.
const MAX_ROWS: usize = 40;

/// Rows of a table of fields, the largest first.
const MAX_FIELDS: usize = 200;

/// All panels.
pub(super) fn tables(chart: &Chart) -> Markup {
    html! {
        @for panel in &chart.panels {
            @let label = escaped(&panel.y.label);
            div.scroll tabindex="0" role="region" aria-label=(format!("Values: {label}")) {
                table {
                    caption { (label) }
                    @if panel.lines.is_empty() { (fields(panel)) } @else { (lines(chart, panel)) }
                }
            }
            @for mark in &panel.marks { p { (escaped(&mark.label)) } }
        }
    }
}

/// A row for each value of the horizontal axis, a column for each series.
fn lines(chart: &Chart, panel: &Panel) -> Markup {
    let columns: Vec<_> = chart
        .series
        .iter()
        .zip(&panel.lines)
        .filter(|(_, lines)| lines.iter().any(|line| !line.is_empty()))
        .collect();
    let several_runs = chart.series.iter().any(|series| series.run != chart.series[0].run);
    let rows = rows(panel);
    html! {
        thead {
            tr {
                th scope="col" { (escaped(&panel.x.label)) }
                @for (series, _) in &columns {
                    th scope="col" { (escaped(&series.name)) @if several_runs { ", " (escaped(&series.run)) } }
                }
            }
        }
        tbody {
            @for x in &rows {
                tr {
                    th scope="row" { (panel.x.describe(*x)) }
                    @for (_, lines) in &columns { td { (at(panel, lines, *x, &rows)) } }
                }
            }
        }
    }
}

/// The values of the horizontal axis that have a row.
fn rows(panel: &Panel) -> Vec<f64> {
    let mut all: Vec<f64> = panel.lines.iter().flatten().flatten().map(|point| point.0).collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    if all.len() <= MAX_ROWS {
        return all;
    }
    let (first, last) = (0, all.len() - 1);
    let place = |row: usize| first + (last - first) * row / (MAX_ROWS - 1);
    (0..MAX_ROWS).map(|row| all[place(row)]).collect()
}

/// The value of a series at a row: of its nearest point, where that is nearer to this row than to others.
fn at(panel: &Panel, lines: &[Vec<(f64, f64)>], x: f64, rows: &[f64]) -> String {
    let distance = |point: &(f64, f64)| (point.0 - x).abs();
    let nearest = lines.iter().filter_map(|line| {
        let after = line.partition_point(|point| point.0 < x);
        let around = [after.checked_sub(1), Some(after)].into_iter().flatten().filter_map(|at| line.get(at));
        around.min_by(|one, other| distance(one).total_cmp(&distance(other)))
    });
    // Of a bar both ends are as near: its value is the upper one.
    let nearest = nearest.reduce(|best, point| if distance(point) < distance(best) { point } else { best });
    let Some(point) = nearest else { return String::new() };
    let others = rows.iter().map(|row| (row - point.0).abs()).fold(f64::INFINITY, f64::min);
    if distance(point) > others {
        return String::new();
    }
    let same = lines.iter().flatten().filter(|other| other.0 == point.0);
    let values: Vec<f64> = same.map(|point| point.1).collect();
    let (low, high) = values
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(*value), high.max(*value)));
    match panel.marking {
        crate::plot::Marking::Bars => panel.y.describe(high),
        _ if low < high => format!("{} to {}", panel.y.describe(low), panel.y.describe(high)),
        _ => panel.y.describe(point.1),
    }
}

/// A row for each coloured field.
fn fields(panel: &Panel) -> Markup {
    let mut cells: Vec<_> = panel.cells.iter().collect();
    let is_cut = cells.len() > MAX_FIELDS;
    if is_cut {
        cells.sort_by(|one, other| other.share.total_cmp(&one.share));
        cells.truncate(MAX_FIELDS);
        cells.sort_by(|one, other| one.x.0.total_cmp(&other.x.0).then(one.y.0.total_cmp(&other.y.0)));
    }
    let middle = |ends: (f64, f64)| (ends.0 + ends.1) / 2.0;
    let place = |axis: &crate::plot::Axis, ends: (f64, f64)| match axis.unit {
        crate::plot::Unit::Names => axis.describe(middle(ends)),
        _ => format!("{} to {}", axis.describe(ends.0), axis.describe(ends.1)),
    };
    html! {
        thead {
            tr {
                th scope="col" { (escaped(&panel.x.label)) }
                th scope="col" { "range" }
                th scope="col" { "value" @if is_cut { " (the largest)" } }
            }
        }
        tbody {
            @for cell in cells {
                tr {
                    th scope="row" { (escaped(place(&panel.x, cell.x))) }
                    td { (escaped(place(&panel.y, cell.y))) }
                    td { (escaped(&cell.value)) }
                }
            }
        }
    }
}
