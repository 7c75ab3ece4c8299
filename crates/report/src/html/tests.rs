use super::*;
use crate::synthetic;
use iolite_model::{Fitness, OpKind, Quantile, Reason, ReasonUnit, Statistic};

fn run(name: &str) -> Run {
    let mut run = Run::new(synthetic::run());
    run.info.command = vec!["iolite".to_owned(), name.to_owned()];
    let loads = [(OpKind::Read, 20_000.0, 150_000.0, 8192, 0)];
    run.phases.push(synthetic::phase(0, synthetic::read(name, 8192, 8), &loads));
    let reason = |fitness, what: &str| {
        Reason::new(fitness, what, name, "1 ms").with_figure(
            Statistic::Quantile(Quantile(0.99)),
            1.0,
            1.0,
            ReasonUnit::Nanoseconds,
        )
    };
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
    let kinds = ["timeline", "percentiles", "heatmap", "histogram", "cdf", "compare", "trend"];
    for kind in kinds {
        assert_eq!(page.matches(&format!("data-kind=\"{kind}\"")).count(), 1, "{kind}");
    }
    assert_eq!(page.matches("<svg ").count(), kinds.len());
    assert_eq!(page.matches("<summary>Values of the chart").count(), kinds.len());
    for series in ["1. reads, read, run", "1. others, read, run"] {
        assert!(page.matches(series).count() >= 4, "{series}");
    }
    assert!((0..kinds.len()).all(|number| page.matches(&format!("id=\"title{number}\"")).count() == 1));
    assert!(page.contains("iolite reads</pre>") && page.contains("content=\"default-src 'none';"));
}

#[test]
fn hostile_names_stay_text_and_nothing_is_loaded() {
    let hostile = format!("</pre></title><script>alert(\"1\")</script>'\n\u{202e}{}", "x".repeat(10_000));
    let page = page(&[run(&hostile)]);
    // The data of each chart, and the one script, whose hash is in the policy.
    assert_eq!(page.matches("<script").count(), page.matches("<figure").count() + 1);
    assert!(
        !page.contains("\u{202e}") && !page.contains("<script>alert") && page.contains("script-src 'sha256-")
    );
    assert!(page.contains("&lt;script&gt;alert(") && page.contains("\\u003cscript\\u003ealert("));
    for loads in [" src=", " href=\"/", " href=\"http", "url(", "@import", "fetch(", "XMLHttpRequest"] {
        assert!(!page.contains(loads), "{loads}");
    }
    let schemes = page.matches("http://www.w3.org/2000/svg").count() + page.matches("http-equiv").count();
    assert_eq!(page.matches("http").count(), schemes);
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
