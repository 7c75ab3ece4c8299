//! Recovery: host idle recovery and cross-stimulus recovery over the time of writing.

use iolite_model::{Nanos, OpKind, PtsSection, PtsTerms, PtsTest};
use iolite_results::{PtsProgress, Run};

use super::{Line, by_panel, linear, of_runs, series};
use crate::plot::source::{Drawn, MIB};

/// Writes per second, MiB per second, and response times of each stage over the time that was written.
pub(in crate::plot) fn recovery(runs: &[Run]) -> Drawn {
    const AXES: [(&str, &str, bool); 4] = [
        ("minutes of writing", "host idle recovery: writes per second", false),
        ("minutes of writing", "host idle recovery: mean response time", true),
        ("minutes of writing", "cross-stimulus recovery: MiB written per second", false),
        ("minutes of writing", "cross-stimulus recovery: mean response time", true),
    ];
    let found = of_runs(runs);
    let mut lines = Vec::new();
    for (run, terms) in &found {
        let progress = PtsProgress::of(run, terms);
        for section in terms.sections() {
            match section.test {
                PtsTest::HostIdleRecovery => lines.extend(of_section(run, &progress, terms, section, 0)),
                PtsTest::CrossStimulusRecovery => lines.extend(of_section(run, &progress, terms, section, 2)),
                _ => {}
            }
        }
    }
    let about = "Bursts of writes after waits and continuous writes after them; sequential writes before and after random ones, over \
                 the time that was written";
    by_panel("Recovery", about, &AXES, linear, lines)
}

/// A series for the bursts, and for the writes without waits; or for each stage of the other test.
fn of_section(
    run: &Run,
    progress: &PtsProgress<'_>,
    terms: &PtsTerms,
    section: PtsSection,
    panel: usize,
) -> Vec<Line> {
    let mut clock = 0.0;
    let mut lines = Vec::new();
    let scale = if section.test.is_throughput() { MIB } else { 1.0 };
    for (stage, _) in terms.stages(section) {
        let (mut rates, mut means) = (Vec::new(), Vec::new());
        let figures = progress.step_figures(section, stage);
        for (result, figure) in progress.steps(section, stage).into_iter().zip(figures) {
            clock += minutes(terms.length(stage));
            rates.extend(figure.map(|figure| (clock, figure / scale)));
            let mean = result.summary(OpKind::Write).map(|summary| summary.mean.value.max(1.0));
            means.extend(mean.map(|mean| (clock, mean)));
        }
        let name = format!("{}: {}", section.test.name(), stage.name());
        lines.push(Line { series: series(run, name), lines: vec![(panel, rates), (panel + 1, means)] });
    }
    lines
}

fn minutes(time: Nanos) -> f64 {
    time.as_secs_f64() / 60.0
}
