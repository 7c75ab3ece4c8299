use super::{PlotKind, chart, svg, terminal};
use crate::synthetic;
use iolite_model::{Access, Mix, Nanos, OpKind, RunId};
use iolite_results::Run;

/// A sweep with a mixed phase at its end, so much faster than usual.
fn run(id: &str, started: u64, faster: f64) -> Run {
    let mut info = synthetic::run();
    info.id = RunId(id.to_owned());
    info.started_unix = Nanos(info.started_unix.0 + started);
    let mut run = Run::new(info);
    for (index, depth) in (0..).zip([1, 4, 16]) {
        let (rate, mean) = (4_000.0 * f64::from(depth).sqrt() * faster, 120_000.0 * f64::from(depth).sqrt());
        let task = synthetic::read(&format!("read 8 KiB x {depth}"), 8192, depth);
        run.phases.push(synthetic::phase(index, task, &[(OpKind::Read, rate, mean, 8192, 0)]));
    }
    let task = synthetic::file("mixed", Mix::ReadPercent(70), Access::Random, 16384, 4);
    let loads = [(OpKind::Read, 7_000.0, 90_000.0, 16384, 0), (OpKind::Write, 3_000.0, 900_000.0, 16384, 0)];
    run.phases.push(synthetic::phase(3, task, &loads));
    run
}

#[test]
fn every_kind_is_drawn_as_before() {
    let runs = [run("20261123T060000-1", 0, 1.0), run("20261123T070000-2", 3_600_000_000_000, 1.2)];
    for (name, kind) in [
        ("timeline", PlotKind::Timeline),
        ("histogram", PlotKind::Histogram),
        ("cdf", PlotKind::Cdf),
        ("heatmap", PlotKind::Heatmap),
        ("sweep", PlotKind::Sweep),
        ("surface", PlotKind::Surface),
        ("compare", PlotKind::Compare),
        ("trend", PlotKind::Trend),
    ] {
        let chart = chart(&runs, kind).unwrap();
        let drawn = chart.panels.iter().map(|panel| panel.lines.len() + panel.cells.len());
        assert!(drawn.sum::<usize>() > 0, "{name}");
        insta::assert_snapshot!(format!("{name}_svg"), svg(&chart));
        insta::assert_snapshot!(format!("{name}_terminal"), terminal(&chart, 100, false));
    }
}
