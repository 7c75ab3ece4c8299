//! A chart on the page: the picture, its data for the script, its description, its values as a table.

use maud::{Markup, PreEscaped, html};

use super::values;
use crate::plot::{Chart, PlotKind, data, svg};
use crate::styler::escaped;

/// The chart with what belongs to it; `number` makes its identifiers unique.
pub(super) fn figure(kind: PlotKind, chart: &Chart, number: usize) -> Markup {
    let title = escaped(&chart.title);
    let described = format!("description-{number}");
    // A surface in three dimensions is a fixed picture: there is no axis to zoom along, and its values are at its points.
    let is_fixed = chart.panels.iter().any(|panel| panel.height.is_some());
    html! {
        figure.chart.fixed[is_fixed] id=(format!("chart-{number}")) data-kind=(kind.name()) {
            h3 { (title) }
            div.tools hidden {}
            div.picture.scroll tabindex="0" role="group" aria-label=(format!("Chart: {title}")) aria-describedby=(described) {
                (PreEscaped(numbered(&svg(chart), number)))
            }
            output aria-live="polite" {}
            div.legend {}
            figcaption id=(described) { (escaped(&chart.description)) }
            @if let Some(note) = &chart.note { p.note { (escaped(note)) } }
            details {
                summary { "Values of the chart as a table: " (title) }
                (values::tables(chart))
            }
            @if !is_fixed { script type="application/json" { (PreEscaped(embedded(chart))) } }
        }
    }
}

/// The data as it may stand in a page: no markup ends the element.
fn embedded(chart: &Chart) -> String {
    data(chart).to_string().replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

/// The picture with identifiers of its own: a page has each only once. In texts of the picture quotes are escaped.
fn numbered(picture: &str, number: usize) -> String {
    picture
        .replacen("\"title desc\"", &format!("\"title{number} desc{number}\""), 1)
        .replacen("id=\"title\"", &format!("id=\"title{number}\""), 1)
        .replacen("id=\"desc\"", &format!("id=\"desc{number}\""), 1)
}
