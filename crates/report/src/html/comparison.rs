//! A comparison as the content of a page: the answer, the figures, and both sides in the same charts.

use iolite_results::Run;
use iolite_results::comparison::{Comparison, FigureComparison, Finding, PartComparison};
use maud::{Markup, html};

use super::charts::charts;
use crate::comparison::{answered, percent, sentence};
use crate::styler::escaped;

/// What the comparison says, then the charts of the runs on both sides.
pub fn compared(comparison: &Comparison, runs: &[Run]) -> Markup {
    let (_, sentences) = answered(comparison);
    html! {
        h1 { "Comparison" }
        table.facts {
            tbody {
                tr { th scope="row" { "Before" } td { (escaped(comparison.before.join(", "))) } }
                tr { th scope="row" { "After" } td { (escaped(comparison.after.join(", "))) } }
            }
        }
        @for sentence in sentences { p { (escaped(sentence)) } }
        @if !comparison.caveats.is_empty() {
            h2 { "Caveats" }
            ul { @for caveat in &comparison.caveats { li { (escaped(caveat)) } } }
        }
        h2 { "Figures" }
        @for part in &comparison.parts { (table(part)) }
        section id="charts" { h2 { "Charts" } (charts(runs)) }
    }
}

fn table(part: &PartComparison) -> Markup {
    let name = escaped(&part.name);
    let pair = |before: &str, after: &str| {
        if before == after { before.to_owned() } else { format!("{before} → {after}") }
    };
    let (before, after) = part.concurrency;
    html! {
        h3 { (name) }
        p.note {
            "In flight: " (pair(&before.to_string(), &after.to_string())) "; source of the data: " (pair(&part.stamps.0, &part.stamps.1))
        }
        div.scroll tabindex="0" role="region" aria-label=(format!("Figures of {name}")) {
            table {
                thead {
                    tr {
                        @for heading in ["Operation", "Figure", "Before", "After", "Change", "95 % interval", "Finding"] {
                            th scope="col" { (heading) }
                        }
                    }
                }
                tbody { @for figure in &part.figures { (row(figure)) } }
            }
        }
    }
}

fn row(figure: &FigureComparison) -> Markup {
    let difference = &figure.difference;
    let class = match figure.finding {
        Finding::Better => "fit",
        Finding::Worse => "unfit",
        Finding::NoDifferenceShown => "",
    };
    html! {
        tr {
            td { (figure.kind.name()) }
            td { (figure.figure) }
            td.number { (figure.figure.describe(difference.before)) }
            td.number { (figure.figure.describe(difference.after)) }
            td.number { (percent(difference.change())) }
            td.number { (percent(difference.low - 1.0)) " to " (percent(difference.high - 1.0)) }
            td class=(class) { (sentence(figure)) }
        }
    }
}
