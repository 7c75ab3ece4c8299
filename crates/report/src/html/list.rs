//! The stored runs as the content of a page: filters, and ticks for a comparison.

use maud::{Markup, html};

use crate::runs::RunLine;
use crate::styler::escaped;

/// Runs on a page.
const PER_PAGE: usize = 100;

/// Which runs are listed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListFilter {
    /// In the command line, the directory or the name of the host.
    pub text: String,
    /// A tag.
    pub tag: String,
    /// In the result: `fit`, `running`.
    pub result: String,
    /// Started on this day or later, as `2026-11-23` (UTC).
    pub since: String,
    /// Number of the page, from 0.
    pub page: usize,
}

impl ListFilter {
    /// Whether a run is listed.
    fn has(&self, run: &RunLine) -> bool {
        let contains = |text: &str| text.to_lowercase().contains(&self.text.to_lowercase());
        let found = self.text.is_empty()
            || contains(&run.called())
            || contains(&run.directory)
            || contains(&run.host)
            || contains(&run.id)
            || run.notes.iter().any(|note| contains(note));
        // Days are in the order of their names.
        found
            && (self.tag.is_empty() || run.tags.contains(&self.tag))
            && (self.result.is_empty() || run.result().split(' ').next() == Some(&self.result))
            && (self.since.is_empty() || run.started().as_str() >= self.since.as_str())
    }
}

/// The list of runs, the latest first, in which runs are ticked to be shown together or compared.
pub fn listed(runs: &[RunLine], filter: &ListFilter) -> Markup {
    let found: Vec<&RunLine> = runs.iter().filter(|run| filter.has(run)).collect();
    let pages = found.len().div_ceil(PER_PAGE).max(1);
    let page = filter.page.min(pages - 1);
    let shown: Vec<&RunLine> = found.iter().skip(page * PER_PAGE).take(PER_PAGE).copied().collect();
    html! {
        h1 { "Stored runs" }
        (filters(runs, filter))
        p { (found.len()) " of " (runs.len()) " runs" @if pages > 1 { ", page " (page + 1) " of " (pages) } }
        @if shown.is_empty() { p { "No run matches." } } @else { (table(&shown)) }
    }
}

fn filters(runs: &[RunLine], filter: &ListFilter) -> Markup {
    let mut tags: Vec<&String> = runs.iter().flat_map(|run| &run.tags).collect();
    tags.sort_unstable();
    tags.dedup();
    let results = ["fit", "marginal", "unfit", "completed", "interrupted", "failed", "running"];
    html! {
        form.filters method="get" action="/" role="search" {
            label { "Command, directory, host, note" input type="search" name="text" value=(escaped(&filter.text)); }
            label {
                "Tag"
                select name="tag" {
                    option value="" { "any" }
                    @for tag in tags { option value=(escaped(tag)) selected[*tag == filter.tag] { (escaped(tag)) } }
                }
            }
            label {
                "Result"
                select name="result" {
                    option value="" { "any" }
                    @for result in results { option value=(result) selected[result == filter.result] { (result) } }
                }
            }
            label { "Started since (UTC)" input type="date" name="since" value=(escaped(&filter.since)); }
            label { "Page" input type="number" name="page" min="1" value=(filter.page + 1); }
            button type="submit" { "Filter" }
        }
    }
}

fn table(runs: &[&RunLine]) -> Markup {
    html! {
        form method="get" action="/compare" {
            p {
                button type="submit" { "Compare" } " "
                button type="submit" formaction="/runs" { "Show in the same charts" }
                span.note { " the runs that are ticked below" }
            }
            div.scroll tabindex="0" role="region" aria-label="Runs" {
                table.runs {
                    thead {
                        tr {
                            @for heading in
                                ["Before", "After", "Run", "Started (UTC)", "Host", "Command", "Phases", "Result", "Tags"] {
                                th scope="col" { (heading) }
                            }
                        }
                    }
                    tbody { @for run in runs { (row(run)) } }
                }
            }
        }
    }
}

fn row(run: &RunLine) -> Markup {
    let id = escaped(&run.id);
    let tick = |side: &str| {
        html! { input type="checkbox" name=(side) value=(id) aria-label=(format!("{side}: run {id}")); }
    };
    html! {
        tr {
            td { (tick("before")) }
            td { (tick("after")) }
            th scope="row" { a href=(format!("/run/{id}")) { (id) } }
            td { (run.started()) }
            td { (escaped(&run.host)) }
            td {
                (escaped(run.called()))
                @for note in &run.notes { p.note { (escaped(note)) } }
            }
            td.number { (run.phases) }
            td class=[run.verdict.as_ref().map(|(_, fitness)| fitness.to_string())] { (escaped(run.result())) }
            td { (escaped(run.tags.join(", "))) }
        }
    }
}

#[cfg(test)]
mod tests {
    use iolite_model::{Ending, Fitness, Nanos};

    use super::*;

    fn run(number: u64) -> RunLine {
        RunLine {
            id: format!("20261123T06{number:04}-1"),
            started_unix: Nanos(1_795_000_000_000_000_000 + number * 86_400_000_000_000),
            host: "db1".into(),
            directory: "/srv/<b>data".into(),
            command: vec!["iolite".into(), "check".into(), "/srv/<b>data".into()],
            phases: 3,
            ending: (number > 0).then_some(Ending::Completed),
            verdict: match number {
                2 => Some(("etcd".into(), Fitness::Unfit)),
                3 => Some(("etcd".into(), Fitness::Fit)),
                _ => None,
            },
            tags: if number == 1 { vec!["base".into()] } else { Vec::new() },
            notes: vec![format!("note {number}")],
        }
    }

    fn ids(filter: &ListFilter) -> usize {
        let runs: Vec<RunLine> = (0..250).map(run).collect();
        let page = listed(&runs, filter).into_string();
        assert!(
            !page.contains("<b>") && page.contains("&lt;b&gt;") || page.contains("No run matches"),
            "{page}"
        );
        page.matches("name=\"before\"").count()
    }

    #[test]
    fn runs_are_filtered_and_in_pages() {
        let all = ListFilter::default();
        assert_eq!(ids(&all), PER_PAGE);
        assert_eq!(ids(&ListFilter { page: 2, ..all.clone() }), 50);
        assert_eq!(ids(&ListFilter { page: 99, ..all.clone() }), 50);
        assert_eq!(ids(&ListFilter { tag: "base".into(), ..all.clone() }), 1);
        assert_eq!(ids(&ListFilter { result: "running".into(), ..all.clone() }), 1);
        assert_eq!(ids(&ListFilter { result: "fit".into(), ..all.clone() }), 1, "unfit is not fit");
        assert_eq!(ids(&ListFilter { text: "NOTE 24".into(), ..all.clone() }), 11);
        assert_eq!(ids(&ListFilter { since: "2200".into(), ..all }), 0);
    }
}
