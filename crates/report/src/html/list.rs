//! The stored runs as the content of a page: filters, and ticks for a comparison.

use maud::{Markup, html};

use crate::run_filter::{RunFilter, encoded};
use crate::runs::RunLine;
use crate::styler::escaped;

/// Runs on a page.
const PER_PAGE: usize = 100;

/// Which runs are listed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListFilter {
    /// What is asked of them.
    pub runs: RunFilter,
    /// Number of the page, from 0.
    pub page: usize,
}

/// The list of runs, the latest first, in which runs are ticked to be shown together or compared.
pub fn listed(runs: &[RunLine], filter: &ListFilter) -> Markup {
    let found: Vec<&RunLine> = runs.iter().filter(|run| filter.runs.has(run)).collect();
    let pages = found.len().div_ceil(PER_PAGE).max(1);
    let page = filter.page.min(pages - 1);
    let shown: Vec<&RunLine> = found.iter().skip(page * PER_PAGE).take(PER_PAGE).copied().collect();
    html! {
        h1 { "Stored runs" }
        (filters(runs, filter))
        // One part, which is on every page: what is on the page that is open, but not on the newer one, would stay.
        div id="list" data-live {
            p { (found.len()) " of " (runs.len()) " runs" @if pages > 1 { ", page " (page + 1) " of " (pages) } }
            @if pages > 1 {
                nav aria-label="Pages" {
                    @if page > 0 { a rel="prev" href=(filter.runs.query(page)) { "Later runs" } " " }
                    @if page + 1 < pages { a rel="next" href=(filter.runs.query(page + 2)) { "Earlier runs" } }
                }
            }
            @if shown.is_empty() { p { "No run matches." } } @else { (table(&shown)) }
        }
    }
}

fn filters(runs: &[RunLine], filter: &ListFilter) -> Markup {
    let asked = &filter.runs;
    let mut tags: Vec<&String> = runs.iter().flat_map(|run| &run.tags).collect();
    tags.sort_unstable();
    tags.dedup();
    html! {
        form.filters method="get" action="/" role="search" {
            label { "Command, directory, host, note" input type="search" name="text" value=(escaped(&asked.text)); }
            label { "Command" input name="command" value=(escaped(&asked.command)); }
            label { "Target" input name="target" value=(escaped(&asked.target)); }
            label { "Database" input name="database" value=(escaped(&asked.database)); }
            label {
                "Tag"
                select name="tag" {
                    option value="" { "any" }
                    @for tag in tags { option value=(escaped(tag)) selected[*tag == asked.tag] { (escaped(tag)) } }
                }
            }
            label {
                "Result"
                select name="result" {
                    option value="" { "any" }
                    @for result in RunFilter::RESULTS {
                        option value=(result) selected[result == asked.result] { (result) }
                    }
                }
            }
            label { "Started since (UTC)" input type="date" name="since" value=(escaped(&asked.since)); }
            label { "Started until (UTC)" input type="date" name="until" value=(escaped(&asked.until)); }
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
            th scope="row" { a href=(format!("/run/{}", encoded(&run.id))) { (id) } }
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
            databases: Vec::new(),
            phases: 3,
            ending: (number > 0).then_some(Ending::Completed),
            verdict: match number {
                2 => Some(("etcd".into(), Fitness::Unfit)),
                3 => Some(("etcd".into(), Fitness::Fit)),
                _ => None,
            },
            tags: if number == 1 { vec!["base".into()] } else { Vec::new() },
            notes: vec![format!("note {number}")],
            is_rehearsal: false,
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
        assert_eq!(ids(&ListFilter { page: 99, ..all }), 50);
        let asked = |runs: RunFilter| ids(&ListFilter { runs, page: 0 });
        assert_eq!(asked(RunFilter { tag: "base".into(), ..RunFilter::default() }), 1);
        assert_eq!(asked(RunFilter { result: "running".into(), ..RunFilter::default() }), 1);
        assert_eq!(asked(RunFilter { result: "fit".into(), ..RunFilter::default() }), 1, "unfit is not fit");
        assert_eq!(asked(RunFilter { text: "NOTE 24".into(), ..RunFilter::default() }), 11);
        assert_eq!(asked(RunFilter { since: "2200".into(), ..RunFilter::default() }), 0);
    }

    /// The script replaces parts that are on both pages, so that nothing may be outside of them.
    #[test]
    fn all_that_depends_on_the_runs_is_in_one_part_of_every_page() {
        for runs in [Vec::new(), vec![run(1)], (0..250).map(run).collect()] {
            let page = listed(&runs, &ListFilter::default()).into_string();
            let (before, list) = page.split_once("<div id=\"list\" data-live>").unwrap();
            assert!(
                before.ends_with("</form>") && list.contains(&format!("of {} runs", runs.len())),
                "{page}"
            );
            assert_eq!(page.matches("data-live").count(), 1, "{page}");
        }
    }

    #[test]
    fn pages_are_linked_and_ids_are_text() {
        let mut runs: Vec<RunLine> = (0..250).map(run).collect();
        runs[249].id = "a?b/<i>%".into();
        let filter =
            |page| ListFilter { runs: RunFilter { text: "db1".into(), ..RunFilter::default() }, page };
        let page = |number| listed(&runs, &filter(number)).into_string();
        assert!(
            page(0).contains("rel=\"next\" href=\"/?text=db1&amp;page=2\"")
                && !page(0).contains("rel=\"prev\"")
        );
        assert!(
            page(2).contains("rel=\"prev\" href=\"/?text=db1&amp;page=2\"")
                && !page(2).contains("rel=\"next\"")
        );
        assert!(page(2).contains("href=\"/run/a%3Fb%2F%3Ci%3E%25\""), "{}", page(2));
    }
}
