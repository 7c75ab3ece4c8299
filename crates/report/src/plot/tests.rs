use super::{Chart, Panel, PlotKind, chart, svg, terminal};
use crate::synthetic;
use iolite_model::{
    Access, Bytes, Concluded, DatabaseUse, DeviceCounters, Event, Fitness, Mix, Nanos, OpKind, Physical,
    Quantile, Reading, ReadingValue, Reason, ReasonUnit, RunId, Sink as _, Statistic, Verdict,
};
use iolite_results::Run;
use iolite_stats::{Knee, KneeFound, LoadPoint};

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
    let points: Vec<LoadPoint> = [1, 2, 4, 8, 16].map(|depth| point(depth, faster)).to_vec();
    let knee = Knee::fit(&points, 1).unwrap();
    let found = KneeFound { name: "read 8 KiB".into(), phases: vec![0, 1, 2], knee };
    run.conclusions.push(Concluded::of(&found));
    run.database_use.insert(3, usage());
    (0..60).for_each(|second| sampled(&mut run, second));
    run
}

fn point(depth: u32, faster: f64) -> LoadPoint {
    let throughput = 8_000.0 * faster * f64::from(depth) / (1.0 + 0.2 * f64::from(depth));
    LoadPoint { concurrency: depth, throughput, throughput_se: 10.0, response: f64::from(depth) / throughput }
}

fn usage() -> DatabaseUse {
    let device =
        DeviceCounters { reads: 9_000, read: Bytes::MIB, writes: 4_000, written: Bytes::MIB, flushes: 700 };
    let database = Physical { data_reads: Some(9_100), log_syncs: Some(650), ..Physical::default() };
    DatabaseUse {
        phase: 3,
        data_device: Some(device),
        log_device: None,
        database,
        writer_active: None,
        observed: Nanos(10 * Nanos::SECOND.0),
        tool_cpu: Nanos(1),
        host_cpu: None,
    }
}

fn sampled(run: &mut Run, second: u64) {
    let at = second as f64;
    let mut read = |probe: &'static str, subject: &str, values: &[(&'static str, f64)]| {
        run.event(&Event::Reading(Reading {
            probe: probe.into(),
            subject: subject.into(),
            at: Nanos(second * Nanos::SECOND.0),
            values: values.iter().map(|(name, value)| ReadingValue::counter(*name, *value)).collect(),
        }));
    };
    read("waits", "", &[("observed_seconds", at)]);
    read("waits", "CPU", &[("session_seconds", 0.5 * at)]);
    read("waits", "IO:WALSync", &[("session_seconds", 0.2 * at * at)]);
    read("cpu", "", &[("user_seconds", at), ("system_seconds", 0.5 * at)]);
    read("pressure", "io", &[("some_seconds", 0.25 * at)]);
    read("memory", "", &[("dirty_bytes", 1e8 + 1e6 * at), ("available_bytes", 8e9)]);
    let device = [
        ("reads", 900.0 * at),
        ("read_seconds", 0.45 * at),
        ("writes", 0.0),
        ("read_bytes", 7e6 * at),
        ("busy_seconds", 0.5 * at),
    ];
    read("device", "vda", &device);
}

#[test]
fn a_knee_is_marked_and_its_model_is_drawn_through_the_points() {
    let chart = chart(&[run("20261123T060000-1", 0, 1.0)], PlotKind::Sweep).unwrap();
    assert!(chart.panels.iter().all(|panel| panel.marks.len() == 1), "{chart:?}");
    let place = chart.series.iter().position(|series| series.name == "read 8 KiB: model").unwrap();
    let model = &chart.panels[0].lines[place][0];
    assert!(model.len() > 20 && (model.last().unwrap().0 - 16.0).abs() < 1e-9, "{model:?}");
    let measured = point(16, 1.0).throughput;
    assert!((model.last().unwrap().1 / measured - 1.0).abs() < 0.1, "{model:?}");
}

#[test]
fn counters_become_rates_and_what_nothing_sampled_is_refused() {
    let devices = chart(&[run("20261123T060000-1", 0, 1.0)], PlotKind::Devices).unwrap();
    let labels: Vec<_> = devices.panels.iter().map(|panel| panel.y.label.as_str()).collect();
    let time = "mean time of an operation, ms";
    assert_eq!(labels, ["MiB per second", "operations per second", time, "% of the time busy"]);
    let read = devices.series.iter().position(|series| series.name == "vda read").unwrap();
    let rates = &devices.panels[1].lines[read][0];
    assert!(rates.len() == 59 && rates.iter().all(|point| (point.1 - 900.0).abs() < 1e-6), "{rates:?}");
    let times = &devices.panels[2].lines[read][0];
    assert!(times.len() == 59 && times.iter().all(|point| (point.1 - 0.5).abs() < 1e-9), "{times:?}");
    let threshold = devices.series.iter().position(|series| series.name == "threshold: 1 ms").unwrap();
    assert!(devices.panels[2].lines[threshold][0].iter().all(|point| point.1 == 1.0));
    let silent = Run::new(synthetic::run());
    let error = chart(&[silent], PlotKind::Devices).unwrap_err().to_string();
    assert!(error.contains("recorded no values for the chart `Devices`"), "{error}");
}

#[test]
fn the_database_is_compared_with_what_its_device_counted() {
    let chart = chart(&[run("20261123T060000-1", 0, 1.0)], PlotKind::Database).unwrap();
    let labels: Vec<_> = chart.panels.iter().map(|panel| panel.y.label.as_str()).collect();
    assert_eq!(labels, ["reads", "writes (asked for: sets)", "syncs (asked for: commits)"]);
    let value = |by: usize| chart.panels[0].lines[by].first().map(|bar| bar[1].1);
    assert_eq!((value(1), value(2), value(3)), (Some(9_100.0), Some(9_000.0), None));
}

/// Block sizes, mixes and queue depths, all with all; larger operations are fewer, deeper queues bring more.
fn matrix() -> Run {
    let mut run = Run::new(synthetic::run());
    let mut index = 0;
    for (size, factor) in [(4096, 1.0), (16384, 0.7), (65536, 0.3), (262_144, 0.1)] {
        for mix in [Mix::Read, Mix::ReadPercent(70)] {
            for depth in [1, 4, 16, 64] {
                let rate = 20_000.0 * factor * f64::from(depth) / (8.0 + f64::from(depth));
                let task = synthetic::file("load", mix, Access::Random, size, depth);
                let mut loads = vec![(OpKind::Read, rate, 90_000.0, size, 0)];
                if mix != Mix::Read {
                    loads[0].1 = 0.7 * rate;
                    loads.push((OpKind::Write, 0.3 * rate, 900_000.0, size, 0));
                }
                run.phases.push(synthetic::phase(index, task, &loads));
                index += 1;
            }
        }
    }
    run
}

#[test]
fn surfaces_are_drawn_in_three_dimensions() {
    let chart = chart(&[matrix()], PlotKind::Relief).unwrap();
    assert_eq!(chart.panels.len(), 3, "reads, reads of the mix, writes");
    for panel in &chart.panels {
        let height = panel.height.as_ref().unwrap();
        assert_eq!(panel.cells.len(), 16);
        for cell in &panel.cells {
            let value: f64 = cell.value.replace(',', "").parse().unwrap();
            assert!((cell.share * height.high - value).abs() <= 1.0, "{cell:?} {height:?}");
        }
    }
    let description = &chart.description;
    assert!(
        description.contains("highest ") && description.contains(" with 64 in flight, 4 KiB"),
        "{description}"
    );
    let picture = svg(&chart);
    // Nine fields between sixteen points, on each surface.
    assert_eq!((picture.matches("<circle").count(), picture.matches("Z\" fill").count()), (48, 27));
    insta::assert_snapshot!("surface_3d_matrix_svg", picture);
}

#[test]
fn surfaces_pool_repeats_and_separate_mixes() {
    let mut run = Run::new(synthetic::run());
    let mut index = 0;
    let mut measured = |mix: Mix, size: u64, depth: u32, rate: f64| {
        let task = synthetic::file("load", mix, Access::Random, size, depth);
        let mut loads = vec![(OpKind::Read, rate, 90_000.0, size, 0)];
        if mix != Mix::Read {
            loads.push((OpKind::Write, rate, 900_000.0, size, 0));
        }
        run.phases.push(synthetic::phase(index, task, &loads));
        index += 1;
    };
    for size in [4096, 8192] {
        for mix in [Mix::Read, Mix::ReadPercent(50)] {
            // Three windows of the same load.
            [900.0, 1000.0, 1100.0].into_iter().for_each(|rate| measured(mix, size, 1, rate));
            measured(mix, size, 4, 3000.0);
        }
    }
    let chart = chart(&[run], PlotKind::Surface).unwrap();
    let labels: Vec<_> =
        chart.panels.iter().map(|panel| panel.y.label.split(", run").next().unwrap()).collect();
    let label = |of: &str| format!("size; operations per second of {of}");
    assert_eq!(labels, [label("read, 100 % reads"), label("read, 50 % reads"), label("write")]);
    for panel in &chart.panels {
        let mut places: Vec<String> =
            panel.cells.iter().map(|cell| format!("{:?} {:?}", cell.x, cell.y)).collect();
        places.sort();
        places.dedup();
        assert_eq!((panel.cells.len(), places.len()), (4, 4), "{panel:?}");
        assert_eq!(panel.cells[0].value, "1,000", "the mean of its repeats");
    }
}

#[test]
fn every_kind_is_named_and_described_in_its_place() {
    for (place, kind) in PlotKind::ALL.iter().enumerate() {
        let described = strum::EnumMessage::get_documentation(kind).is_some_and(|text| !text.is_empty());
        assert!(*kind as usize == place && !kind.name().is_empty() && described, "{kind:?}");
    }
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
        ("surface-3d", PlotKind::Relief),
        ("compare", PlotKind::Compare),
        ("trend", PlotKind::Trend),
        ("percentiles", PlotKind::Percentiles),
        ("database", PlotKind::Database),
        ("cpu", PlotKind::Cpu),
        ("devices", PlotKind::Devices),
        ("pressure", PlotKind::Pressure),
        ("memory", PlotKind::Memory),
        ("waits", PlotKind::Waits),
    ] {
        let chart = chart(&runs, kind).unwrap();
        let drawn = chart.panels.iter().map(|panel| panel.lines.len() + panel.cells.len());
        assert!(drawn.sum::<usize>() > 0, "{name}");
        insta::assert_snapshot!(format!("{name}_svg"), svg(&chart));
        insta::assert_snapshot!(format!("{name}_terminal"), terminal(&chart, 100, false));
    }
}

#[test]
fn the_criteria_of_a_verdict_are_lines_over_the_phases_that_they_judged() {
    let mut judged = run("20261123T060000-1", 0, 1.0);
    let reason = |what: &str, statistic, bound, unit| {
        Reason::new(Fitness::Fit, what, "as measured", "as asked").with_figure(statistic, 1.0, bound, unit)
    };
    let times = ReasonUnit::Nanoseconds;
    // What a criterion is of is not in its name.
    let reasons = vec![
        reason("IOzone, mean of a random read", Statistic::Mean, 2e6, times).of_phase(1),
        reason("p99 of times above the mean", Statistic::Quantile(Quantile(0.99)), 9e6, times).of_phase(1),
        reason("longest of all, mean", Statistic::Longest, 9e7, times).of_phase(1),
        reason("rate", Statistic::Rate, 5_000.0, ReasonUnit::OperationsPerSecond).of_phase(1),
        reason("bandwidth", Statistic::Rate, 1e9, ReasonUnit::BytesPerSecond).of_phase(1),
        reason("of several phases", Statistic::Mean, 1.0, times),
    ];
    judged.verdict = Some(Verdict::of("oltp", reasons));
    let chart = chart(&[judged], PlotKind::Timeline).unwrap();
    let found = criteria(&chart);
    let [(time, of_time), (rate, of_rate), (bytes, of_bytes)] = &found[..] else { panic!("{found:?}") };
    assert_eq!(
        (&**of_time, &**of_rate),
        ("criterion: IOzone, mean of a random read: as asked", "criterion: rate: as asked")
    );
    assert_eq!(of_bytes, "criterion: bandwidth: as asked");
    let [rates, throughputs, means] = &chart.panels[..] else { panic!("three panels") };
    let is_only_in = |series: usize, own: &Panel, value: f64| {
        let others = chart.panels.iter().filter(|panel| !std::ptr::eq(*panel, own));
        others.into_iter().all(|panel| panel.lines[series].is_empty())
            && own.lines[series].iter().flatten().all(|point| point.1 == value)
            && !own.lines[series].is_empty()
    };
    assert!(is_only_in(*time, means, 2e6) && is_only_in(*rate, rates, 5_000.0));
    assert!(is_only_in(*bytes, throughputs, 1e9 / (1024.0 * 1024.0)));
    // The phase's own line lies beneath it.
    let own = &rates.lines[1][0];
    let line = &rates.lines[*rate][0];
    assert!(line[0].0 <= own[0].0 && own[own.len() - 1].0 <= line[1].0, "{line:?}");
}

/// The criteria among the series of a chart, with their places.
fn criteria(chart: &Chart) -> Vec<(usize, String)> {
    let named = chart.series.iter().map(|series| series.name.clone()).enumerate();
    let found: Vec<_> = named.filter(|(_, name)| name.starts_with("criterion: ")).collect();
    assert!(found.iter().all(|(place, _)| chart.series[*place].is_bound));
    found
}

#[test]
fn criteria_of_percentiles_are_lines_in_the_panel_of_their_kind_of_operation() {
    let mut judged = run("20261123T060000-1", 0, 1.0);
    // The mixed phase has reads of 90 us and writes of 900 us.
    let p99 = |kind| judged.phases[3].totals.response(kind).unwrap().quantile(Quantile(0.99)).0 as f64;
    let (reads, writes) = (p99(OpKind::Read), p99(OpKind::Write));
    let reason = |what: &str, statistic, value, bound| {
        Reason::new(Fitness::Fit, what, "as measured", "as asked")
            .with_figure(statistic, value, bound, ReasonUnit::Nanoseconds)
            .of_phase(3)
    };
    let p99 = Statistic::Quantile(Quantile(0.99));
    let reasons = vec![
        reason("mixed writes, p99", p99, writes, 9e6),
        reason("mixed reads, p99", p99, reads, 4e5),
        reason("mixed writes, longest", Statistic::Longest, 5.0 * writes, 2e7),
        reason("mixed reads, mean", Statistic::Mean, 9e4, 2e6),
        // Not judged: the main kind of the phase, which are reads.
        reason("mixed, p99.9", Statistic::Quantile(Quantile(0.999)), f64::NAN, 3e6),
    ];
    judged.verdict = Some(Verdict::of("oltp", reasons));
    let other = run("20261123T070000-2", 3_600_000_000_000, 1.2);
    let chart = chart(&[judged, other], PlotKind::Percentiles).unwrap();
    let found = criteria(&chart);
    let names: Vec<&str> = found.iter().map(|(_, name)| name.as_str()).collect();
    let drawn = |name: &str| -> Vec<(String, f64)> {
        let (place, _) = found.iter().find(|(_, own)| own.contains(name)).unwrap();
        let of_panel = |panel: &Panel| Some((panel.y.label.clone(), panel.lines[*place].first()?[0].1));
        chart.panels.iter().filter_map(of_panel).collect()
    };
    assert_eq!(names.len(), 4, "the mean belongs into another chart: {names:?}");
    for (name, kind, bound) in [
        ("mixed writes, p99", "write", 9e6),
        ("mixed reads, p99", "read", 4e5),
        ("mixed writes, longest", "write", 2e7),
        ("mixed, p99.9", "read", 3e6),
    ] {
        let drawn = drawn(name);
        assert_eq!(drawn.len(), 1, "{name}: {drawn:?}");
        let (label, value) = &drawn[0];
        assert!(
            label.contains(&format!(" {kind}")) && label.contains("20261123T060000-1"),
            "{name}: {label}"
        );
        assert_eq!(*value, bound);
    }
    // Neither a band nor a dot: of the measured percentiles alone.
    let picture = svg(&chart);
    assert_eq!(picture.matches("class=\"line bound\"").count(), 4 + 4 * chart.panels.len());
    assert!(!picture.contains("class=\"area f0\""), "the fifth colour is the last one of the bands");
}

#[test]
fn common_phases_of_runs_begin_at_the_same_place() {
    // The second run begins its phases later, and lacks one.
    let (before, mut after) = (run("20261123T060000-1", 0, 1.0), run("20261123T070000-2", 3600, 2.0));
    after.phases.remove(0);
    after.phases.iter_mut().for_each(|phase| phase.info.started.0 += 7 * Nanos::SECOND.0);
    let chart = chart(&[before, after], PlotKind::Overlay).unwrap();
    let names: Vec<&str> = chart.series.iter().map(|series| series.name.as_str()).collect();
    let expected =
        ["2. read 8 KiB x 4, read", "3. read 8 KiB x 16, read", "4. mixed, read", "4. mixed, write"];
    assert_eq!(names, expected.iter().flat_map(|name| [*name; 2]).collect::<Vec<_>>());
    let lines = &chart.panels[0].lines;
    for pair in lines.chunks(2) {
        let [before, after] = [&pair[0], &pair[1]].map(|lines| lines[0][0].0);
        assert!((before - after).abs() < 1e-9, "the first interval of both: {before} {after}");
        assert!(before < 2.0);
    }
    let (slow, fast) = (lines[0][0][1].1, lines[1][0][1].1);
    assert!(fast > 1.5 * slow, "{slow} {fast}");
}
