//! Stored runs as one HTML page, which needs neither network nor scripts.

use iolite_model::Verdict;
use iolite_results::Run;
use iolite_stats::PhaseResult;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::plot::{PlotKind, chart, svg};
use crate::show::{Format, show};
use crate::styler::{Style, escaped, harmless};

const STYLE: &str = include_str!("style.css");

/// What the page may load: nothing but its own style.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// Characters of a line of the command's output.
const WIDTH: usize = 110;

/// Runs of any command as a page: verdicts, charts with all runs overlaid, what the commands printed, settings, command lines.
pub fn page(runs: &[Run]) -> String {
    let ids: Vec<&str> = runs.iter().map(|run| run.info.id.0.as_str()).collect();
    let title = format!("iolite report: {}", escaped(ids.join(", ")));
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                main {
                    h1 { (title) }
                    @for run in runs { (verdict(run)) }
                    h2 { "Charts" }
                    (charts(runs))
                    @for run in runs { (details(run)) }
                }
            }
        }
    };
    page.into_string()
}

/// The verdict of a run, the worst reasons first; nothing where it has none.
fn verdict(run: &Run) -> Markup {
    let Some(Verdict { profile, fitness, reasons }) = &run.verdict else { return html! {} };
    let mut reasons: Vec<_> = reasons.iter().collect();
    reasons.sort_by_key(|reason| std::cmp::Reverse(reason.fitness));
    html! {
        h2 { "Verdict of run " (escaped(&run.info.id.0)) ": "
            span class=(fitness) { (fitness) } " for profile " (escaped(profile)) }
        div.scroll tabindex="0" role="region" aria-label="Reasons of the verdict" {
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
    let mut figures = Vec::new();
    for (number, kind) in [PlotKind::Timeline, PlotKind::Histogram, PlotKind::Cdf].into_iter().enumerate() {
        match chart(runs, kind) {
            Ok(chart) => figures.push((numbered(&svg(&chart), number), chart.title, chart.description)),
            Err(error) => return html! { p { (escaped(error)) } },
        }
    }
    html! {
        @for (picture, title, description) in figures {
            figure {
                div.scroll tabindex="0" role="region" aria-label=(title) { (PreEscaped(picture)) }
                figcaption { (escaped(description)) }
            }
        }
    }
}

/// The picture with identifiers of its own: a page has each only once. In texts of the picture quotes are escaped.
fn numbered(picture: &str, number: usize) -> String {
    picture
        .replacen("\"title desc\"", &format!("\"title{number} desc{number}\""), 1)
        .replacen("id=\"title\"", &format!("id=\"title{number}\""), 1)
        .replacen("id=\"desc\"", &format!("id=\"desc{number}\""), 1)
}

/// What the run's command printed, its settings and its command line.
fn details(run: &Run) -> Markup {
    let printed = show(run, Format::Text, Style { color: false, unicode: true, width: WIDTH });
    let id = escaped(&run.info.id.0);
    html! {
        h2 { "Run " (id) }
        div.scroll tabindex="0" role="region" aria-label=(format!("Output of run {id}")) { pre { (printed) } }
        h3 { "Settings" }
        @for phase in &run.phases {
            @let name = escaped(phase.info.task.name());
            details {
                summary { (u64::from(phase.info.index) + 1) ". " (name) }
                pre.long { (settings(phase)) }
            }
        }
        h3 { "Command line" }
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
mod tests {
    use super::*;
    use crate::synthetic;
    use iolite_model::{Fitness, OpKind, Reason};

    fn run(name: &str) -> Run {
        let mut run = Run::new(synthetic::run());
        run.info.command = vec!["iolite".to_owned(), name.to_owned()];
        let loads = [(OpKind::Read, 20_000.0, 150_000.0, 8192, 0)];
        run.phases.push(synthetic::phase(0, synthetic::read(name, 8192, 8), &loads));
        let reason = |fitness, what: &str| Reason::new(fitness, what, name, "1 ms").with_figure(1.0, 1.0);
        let reasons = vec![reason(Fitness::Fit, "good"), reason(Fitness::Unfit, "bad")];
        run.verdict = Some(Verdict::of(name, reasons));
        run
    }

    #[test]
    fn the_verdict_is_first_with_its_worst_reason_and_each_chart_has_points() {
        let page = page(&[run("reads"), run("others")]);
        let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("no {text} in {page}"));
        assert!(at("unfit</span> for profile reads") < at("<svg "));
        assert!(at("<td>bad</td>") < at("<td>good</td>"));
        assert_eq!(page.matches("<svg ").count(), 3);
        for series in ["1. reads, read, run", "1. others, read, run"] {
            assert_eq!(page.matches(series).count(), 4, "{series}");
        }
        assert!((0..3).all(|number| page.matches(&format!("id=\"title{number}\"")).count() == 1));
        assert!(page.contains("iolite reads</pre>") && page.contains("content=\"default-src 'none';"));
    }

    #[test]
    fn hostile_names_stay_text_and_nothing_is_loaded() {
        let hostile = format!("</pre></title><script>alert(\"1\")</script>'\n\u{202e}{}", "x".repeat(10_000));
        let page = page(&[run(&hostile)]);
        assert!(!page.contains("<script") && !page.contains("\u{202e}"));
        assert!(page.contains("&lt;script&gt;alert("));
        for loads in [" src=", " href=", "url(", "@import"] {
            assert!(!page.contains(loads), "{loads}");
        }
        assert_eq!(page.matches("http").count(), page.matches("http://www.w3.org/2000/svg").count() + 1);
    }

    #[test]
    fn a_run_that_measured_nothing_says_so() {
        let page = page(&[Run::new(synthetic::run())]);
        assert!(page.contains("nothing to draw") && !page.contains("<svg "));
    }

    #[test]
    fn the_command_line_is_quoted_for_a_shell() {
        let words = ["iolite", "run", "a b", "it's", ""].map(str::to_owned);
        assert_eq!(command(&words), "iolite run 'a b' 'it'\\''s' ''");
    }
}
