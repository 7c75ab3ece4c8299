use iolite_model::{
    Access, Concluded, Ending, Mix, OpKind, PtsCell, PtsClass, PtsDevice, PtsPhase, PtsPoint, PtsStage,
    PtsStep, RunId,
};
use iolite_results::RunRequest;

use super::*;
use crate::plot::{PlotKind, chart};
use crate::synthetic;

pub(crate) fn terms(scale: f64) -> PtsTerms {
    PtsTerms {
        target: "/dev/nvme0n1".into(),
        class: None,
        span: Bytes::GIB,
        capacity: Bytes::GIB,
        tests: PtsTest::ALL[..4].to_vec(),
        scale,
        cell: Nanos(60_000_000_000),
        max_rounds: 6,
        window: 5,
        blocks: vec![Bytes(65_536), Bytes(4096)],
        threads: 2,
        depth: 16,
        demand: vec![4, 1],
        zones: 3,
        purge: Some(PtsPurge::Discard),
        write_cache: None,
        saturation: Nanos(300_000_000_000),
        logical_block: Bytes(4096),
        physical_block: Bytes(4096),
        device: PtsDevice::default(),
    }
}

/// Six rounds of a device whose IOPS fall by a fifth from round to round, and whose other figures are steady after five.
fn run(scale: f64) -> Run {
    let terms = terms(scale);
    let mut run = Run::new(synthetic::run());
    run.conclusions.push(Concluded::of(&RunRequest::new("pts", "/dev/nvme0n1")));
    run.conclusions.push(Concluded::of(&terms));
    for section in terms.sections() {
        for round in 1..=if section.test == PtsTest::Iops { 6 } else { 5 } {
            for cell in terms.cells(section, round) {
                let index = u32::try_from(run.phases.len()).unwrap();
                run.phases.push(measured(section, cell, index));
            }
        }
    }
    run.ending = Some(Ending::Completed);
    run
}

fn measured(section: PtsSection, cell: PtsCell, index: u32) -> iolite_stats::PhaseResult {
    let kind = if cell.read_percent > 0 { OpKind::Read } else { OpKind::Write };
    let falling = 20_000.0 * 0.8f64.powi(cell.round as i32);
    let (rate, mean) = match section.test {
        PtsTest::Iops => (falling, 1e6),
        _ => (2000.0 + 100.0 * f64::from(cell.round % 2), 2e5 + 1e4 * f64::from(cell.round % 2)),
    };
    let name = section.phase(PtsPhase::Cell(cell));
    let task = synthetic::file(&name, Mix::ReadPercent(cell.read_percent), Access::Random, cell.block.0, 32);
    synthetic::phase(index, task, &[(kind, rate, mean, cell.block.0, 0)])
}

fn style() -> Style {
    Style { unicode: true, color: false, width: 120 }
}

/// The section of a test.
fn of_test<'t>(text: &'t str, from: &str, to: &str) -> &'t str {
    let begin = text.find(&format!("\n{from}\n")).unwrap() + 1;
    let end = text[begin..].find(&format!("\n{to}")).unwrap() + begin;
    &text[begin..end]
}

#[test]
fn a_window_has_intervals_longest_responses_and_the_cache() {
    let text = text(&run(1.0), &terms(1.0), style());
    insta::assert_snapshot!(of_test(&text, "latency", "throughput"));
}

#[test]
fn a_test_that_is_not_steady_is_named_in_one_line() {
    let run = run(1.0);
    let shown = text(&run, &terms(1.0), style());
    assert!(shown.contains("RESULT: NOT STEADY: iops: these figures do not conform"), "{shown}");
    let document = json(&run, &terms(1.0));
    assert_eq!((document["steady"].as_bool(), &document["not_steady"]), (Some(false), &json!(["iops"])));
    let cell = &document["sections"][1]["cells"][0];
    assert!(cell["interval"]["low"].as_f64().unwrap() < cell["value"].as_f64().unwrap());
    assert!(cell["max_response_ns"].as_u64().unwrap() > 200_000 && cell["cache"][0] == "device", "{cell}");
    let other = PtsTerms { tests: vec![PtsTest::Latency], ..terms(1.0) };
    assert!(text(&run, &other, style()).contains("RESULT: steady state reached"));
}

#[test]
fn the_settings_say_which_part_of_a_round_of_host_idle_recovery_counts() {
    let of = |tests: &[PtsTest]| {
        let shown = settings(&PtsTerms { tests: tests.to_vec(), ..terms(1.0) }, Styler(style()));
        shown.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let shown = of(&[PtsTest::Iops, PtsTest::HostIdleRecovery]);
    assert!(shown.contains("60.0 s per cell and round"), "{shown}");
    let rounds = "host-idle-recovery: rounds of 1800 s, of which the last 60.0 s count";
    assert!(shown.contains(rounds), "{shown}");
    assert!(!of(&[PtsTest::Iops]).contains("host-idle-recovery"));
}

#[test]
fn the_settings_and_plots_have_the_blocks_of_the_device() {
    let of = |logical: u64, physical| {
        let terms = PtsTerms { logical_block: Bytes(logical), physical_block: Bytes(physical), ..terms(1.0) };
        let shown = settings(&terms, Styler(style()));
        (shown.split_whitespace().collect::<Vec<_>>().join(" "), terms)
    };
    let (emulated, _) = of(512, 4096);
    assert!(
        emulated.contains("logical block 512 B, physical block 4 KiB: the drive reads before it writes"),
        "{emulated}"
    );
    let (native, _) = of(4096, 4096);
    assert!(native.contains("logical block 4 KiB, no operations below it; purged by"), "{native}");
    let (large, terms) = of(16_384, 16_384);
    assert!(large.contains("logical block 16 KiB, no operations below it"), "{large}");
    let mut run = run(1.0);
    run.conclusions.push(Concluded::of(&PtsTerms { logical_block: Bytes(512), ..terms.clone() }));
    assert_eq!(chart(&[run.clone()], PlotKind::PtsConvergence).unwrap().note, None);
    run.conclusions.push(Concluded::of(&PtsTerms { blocks: vec![Bytes(65_536), Bytes(16_384)], ..terms }));
    let note = chart(&[run], PlotKind::Timeline).unwrap().note.unwrap();
    assert!(note.contains("no operations below 16 KiB, the logical block of the device"), "{note}");
}

#[test]
fn a_resumed_run_names_the_one_that_it_continues() {
    let mut run = run(1.0);
    let idle = Nanos(3_600_000_000_000);
    run.conclusions.push(Concluded::of(&PtsResumed { run: RunId("earlier".into()), phases: 7, idle }));
    let text = text(&run, &terms(1.0), style());
    assert!(text.contains("from run earlier: 7 phases are from that run; then 3600 s without I/O"), "{text}");
    assert_eq!(json(&run, &terms(1.0))["resumed_from"]["run"], "earlier");
}

#[test]
fn the_plots_of_the_specification_have_their_panels_and_series() {
    let runs = [run(1.0)];
    let drawn = |kind| chart(&runs, kind).unwrap();
    let convergence = drawn(PlotKind::PtsConvergence);
    // Two block sizes of the IOPS test, one of the latency test, two of the throughput test.
    assert_eq!((convergence.panels.len(), convergence.series.len()), (3, 5));
    assert_eq!(convergence.series[0].name, "iops, writes of 4 KiB");
    assert_eq!(convergence.panels[0].lines[0][0].len(), 6);
    let verification = drawn(PlotKind::PtsVerification);
    // Four sections with their lines, and the mean with its bounds.
    assert_eq!((verification.panels.len(), verification.series.len()), (1, 4 * 2 + 3));
    let line = |name: &str| {
        let at = verification.series.iter().position(|series| series.name == name).unwrap();
        verification.panels[0].lines[at][0].clone()
    };
    assert_eq!(line("mean + 10 %"), [(1.0, 110.0), (5.0, 110.0)]);
    let (values, fit) = (line("iops"), line("iops, least squares line"));
    assert_eq!((values.len(), fit.len()), (5, 2));
    let mean = values.iter().map(|value| value.1).sum::<f64>() / 5.0;
    assert!((mean - 100.0).abs() < 1e-9 && fit[0].1 > 110.0 && fit[1].1 < 90.0, "{values:?} {fit:?}");
    let saturation = drawn(PlotKind::PtsSaturation);
    assert_eq!((saturation.panels.len(), saturation.series.len()), (2, 3));
    assert_eq!(saturation.panels[0].lines[0][0].len(), 5);
    assert!(chart(&[Run::new(synthetic::run())], PlotKind::PtsConvergence).is_err());
}

#[test]
fn several_devices_have_all_their_series_with_the_bounds() {
    let of = |name: &str| {
        let mut run = run(1.0);
        run.info.id = RunId(name.into());
        let target = format!("/dev/{name}").into();
        run.conclusions.push(Concluded::of(&PtsTerms { target, ..terms(1.0) }));
        run
    };
    let runs: Vec<Run> = ["a", "b", "c", "d", "e"].map(of).into();
    // A panel for each device: each with the mean, its bounds, four sections and their lines.
    let many = chart(&runs, PlotKind::PtsVerification).unwrap();
    assert_eq!((many.panels.len(), many.series.len()), (5, 3 + 5 * 8));
    for (number, panel) in many.panels.iter().enumerate() {
        assert_eq!(panel.lines[2][0], [(1.0, 90.0), (5.0, 90.0)]);
        assert_eq!(panel.lines.iter().filter(|lines| !lines.is_empty()).count(), 3 + 8);
        assert!(panel.y.label.contains(&runs[number].info.id.0), "{}", panel.y.label);
    }
    assert_eq!((many.note, &*many.series[42].run), (None, "e (/dev/e)"));
    // More than can be distinguished in a panel: its first ones, and all of the panels with fewer.
    let convergence = chart(&[&runs[..]; 4].concat(), PlotKind::PtsConvergence).unwrap();
    let drawn = |panel: usize| convergence.panels[panel].lines.iter().filter(|of| !of.is_empty()).count();
    assert_eq!((drawn(0), drawn(1), drawn(2)), (32, 20, 32));
    assert_eq!(convergence.note.as_deref(), Some("84 of 100 series are drawn: the first 32 of each panel."));
    // Surfaces of the same figure follow one another, with one height.
    let mut faster = of("f");
    faster.phases.iter_mut().for_each(|phase| phase.totals.measured /= 2);
    let relief = chart(&[of("a"), faster], PlotKind::PtsRelief).unwrap();
    let highest = |panel: usize| relief.panels[panel].cells.iter().map(|cell| cell.share).fold(0.0, f64::max);
    assert_eq!(relief.panels[0].height, relief.panels[1].height);
    assert!((highest(1) / highest(0) - 2.0).abs() < 1e-6, "{} {}", highest(0), highest(1));
}

#[test]
fn a_run_that_was_ended_early_is_not_complete() {
    let mut run = run(1.0);
    let tests = vec![PtsTest::Latency, PtsTest::WriteSaturation, PtsTest::CrossStimulusRecovery];
    let terms = PtsTerms { tests, saturation: Nanos(86_400_000_000_000), ..terms(1.0) };
    run.ending = Some(Ending::Interrupted);
    let missing = ["write-saturation", "cross-stimulus-recovery"];
    assert_eq!(json(&run, &terms)["not_complete"], json!(missing));
    let expected = format!("RESULT: NOT COMPLETE: {}: these figures do not conform", missing.join(", "));
    let shown = text(&run, &terms, style());
    let remedy = format!("the same command with --resume {}", run.info.id.0);
    assert!(shown.contains(&expected) && shown.contains(&remedy), "{shown}");
    run.ending = Some(Ending::Completed);
    assert!(!text(&run, &terms, style()).contains("--resume"));
}

#[test]
fn the_page_has_the_result_and_the_tables_before_the_charts() {
    let page = crate::html::page(&[run(1.0)]);
    let places =
        ["RESULT: NOT STEADY: iops", "What was measured", "means of the window", "Figures of run", "<figure"];
    let found: Vec<usize> = places.iter().map(|text| page.find(text).unwrap()).collect();
    assert!(found.is_sorted(), "{found:?}");
    assert_eq!(page.matches("means of the window").count(), 4);
}

#[test]
fn the_figures_of_the_window_are_drawn_by_block_size_and_mix() {
    let runs = [run(1.0)];
    let document = json(&runs[0], &terms(1.0));
    let section =
        document["sections"].as_array().unwrap().iter().find(|section| section["name"] == "iops").unwrap();
    let cells = section["cells"].as_array().unwrap();
    let window = chart(&runs, PlotKind::PtsWindow).unwrap();
    let labels: Vec<&str> = window.panels.iter().map(|panel| panel.y.label.as_str()).collect();
    assert_eq!(labels[0], "IOPS test: operations per second", "{labels:?}");
    assert_eq!(labels.len(), 4, "{labels:?}");
    for cell in cells {
        let (mix, block) =
            (cell["read_percent"].as_u64().unwrap(), Bytes(cell["block_bytes"].as_u64().unwrap()));
        let name = format!("{mix}/{} % reads/writes", 100 - mix);
        let series = window.series.iter().position(|series| series.name == name).unwrap();
        let place = window.panels[0].x.ticks.iter().find(|tick| tick.label == block.to_string()).unwrap().at;
        let drawn = window.panels[0].lines[series][0].iter().find(|point| point.0 == place).unwrap().1;
        assert_eq!(drawn, cell["value"].as_f64().unwrap(), "{name}, {block}");
    }
    let relief = chart(&[run(1.0), run(1.0)], PlotKind::PtsRelief).unwrap();
    assert_eq!(relief.panels.len(), 2 * 4);
    assert_eq!(relief.panels[0].cells.len(), cells.len());
    // The highest reaches as far up as the scale says.
    let (panel, highest) =
        (&relief.panels[0], cells.iter().map(|cell| cell["value"].as_f64().unwrap()).fold(0.0, f64::max));
    let share = panel.cells.iter().map(|cell| cell.share).fold(0.0, f64::max);
    assert!((share - highest / panel.height.as_ref().unwrap().high).abs() < 1e-9 && share <= 1.0, "{share}");
    assert!(
        relief.description.contains("% ") && !relief.description.contains("in flight"),
        "{}",
        relief.description
    );
    // Pools of all rounds and tests by their load are no figures of the specification.
    let page = crate::html::page(&runs);
    assert!(page.contains("data-kind=\"pts-window-3d\"") && !page.contains("data-kind=\"surface\""));
}

#[test]
fn the_rounds_of_the_window_are_drawn_as_boxes() {
    let drawn = chart(&[run(1.0)], PlotKind::PtsBoxes).unwrap();
    // The IOPS, the latency and the throughput test; seven mixes, of which the others have three and two.
    assert_eq!((drawn.panels.len(), drawn.series.len()), (3, 7));
    assert_eq!(drawn.series[0].name, "100/0 % reads/writes");
    let boxes = &drawn.panels[0].lines[0];
    // Two block sizes with a box, a median and two whiskers each.
    assert_eq!(boxes.len(), 2 * 4);
    // Rounds 2 to 6, of which each is four fifths of the one before: in percent of their mean.
    let rounds: Vec<f64> = (0..5).map(|round| 0.8f64.powi(round)).collect();
    let shares: Vec<f64> = rounds.iter().map(|rate| 500.0 * rate / rounds.iter().sum::<f64>()).collect();
    let heights = |line: usize| boxes[line].iter().map(|point| point.1).collect::<Vec<_>>();
    let near = |found: Vec<f64>, expected: &[f64]| {
        assert_eq!(found.len(), expected.len());
        // Rates of a quarter of a second are whole operations.
        assert!(
            found.iter().zip(expected).all(|(one, other)| (one - other).abs() < 0.1),
            "{found:?} {expected:?}"
        );
    };
    near(heights(0), &[shares[3], shares[1], shares[1], shares[3], shares[3]]);
    near(heights(1), &[shares[2], shares[2]]);
    near(heights(2), &[shares[4], shares[3]]);
    near(heights(3), &[shares[1], shares[0]]);
    // The boxes of the mixes stand next to each other, within the space of their block size, the larger one.
    let middles: Vec<f64> = drawn.panels[0].lines.iter().map(|lines| lines[2][0].0).collect();
    assert!(
        middles.is_sorted_by(|one, next| one < next) && middles[0] > 0.5 && middles[6] < 1.5,
        "{middles:?}"
    );
    let page = crate::html::page(&[run(1.0)]);
    assert!(page.contains("data-kind=\"pts-boxes\""));
}

#[test]
fn a_rehearsal_is_marked_in_text_plots_and_page() {
    let runs = [run(0.01)];
    let mark = "do not conform to the specification";
    assert!(text(&runs[0], &terms(0.01), style()).contains("REHEARSAL at scale 0.01"));
    for kind in
        [PlotKind::PtsConvergence, PlotKind::PtsVerification, PlotKind::PtsSaturation, PlotKind::PtsWindow]
    {
        assert!(chart(&runs, kind).unwrap().note.unwrap().contains(mark), "{kind:?}");
    }
    for kind in [PlotKind::PtsRelief, PlotKind::PtsBoxes] {
        assert!(chart(&runs, kind).unwrap().note.unwrap().contains(mark), "{kind:?}");
    }
    let page = crate::html::page(&runs);
    assert!(page.contains("Rehearsal at scale 0.01: these figures do not conform"));
    for kind in ["pts-convergence", "pts-verification", "pts-saturation"] {
        assert!(page.contains(&format!("data-kind=\"{kind}\"")), "{kind}");
    }
    assert!(!crate::html::page(&[run(1.0)]).contains("Rehearsal at scale"));
}

/// Recovery, demand and composite tests, of which each figure is known: 1000 a second for each thread, and twice that in bursts
/// after waits; large writes of 1000 MiB a second before the small ones and of 500 MiB a second after them.
fn recovered(class: Option<PtsClass>) -> (Run, PtsTerms) {
    use PtsTest::{
        Composite, CrossStimulusRecovery, DemandIntensity, DemandVariation, HostIdleRecovery, ZoneIops,
        ZoneThroughput,
    };
    let tests = [
        HostIdleRecovery,
        CrossStimulusRecovery,
        Composite,
        DemandVariation,
        DemandIntensity,
        ZoneIops,
        ZoneThroughput,
    ];
    // Half an hour for a cell, so that stages are short.
    let cell = Nanos(1800 * Nanos::SECOND.0);
    let terms = PtsTerms {
        tests: tests.to_vec(),
        class,
        cell,
        max_rounds: 5,
        blocks: [1 << 20, 65_536, 8192, 4096].map(Bytes).to_vec(),
        ..terms(1.0)
    };
    let mut run = Run::new(synthetic::run());
    run.conclusions.push(Concluded::of(&RunRequest::new("pts", "/dev/nvme0n1")));
    run.conclusions.push(Concluded::of(&terms));
    let mut push = |name: &str, rate: f64, bytes: u64| {
        let index = u32::try_from(run.phases.len()).unwrap();
        let task = synthetic::file(name, Mix::Write, Access::Random, bytes, 32);
        run.phases.push(synthetic::phase(index, task, &[(OpKind::Write, rate, 1e6, bytes, 0)]));
    };
    for section in terms.sections() {
        for round in 1..=terms.rounds(section) {
            for cell in terms.cells(section, round) {
                let threads = cell.demand.map_or(1.0, |demand| f64::from(demand.threads));
                let zone = if section.test.is_by_zone() { 4.0 - f64::from(round) } else { 1.0 };
                push(&section.phase(PtsPhase::Cell(cell)), 1000.0 * threads * zone, cell.block.0);
            }
        }
        for (stage, steps) in terms.stages(section) {
            for number in 1..=steps.min(3) {
                let (rate, bytes) = match stage {
                    PtsStage::Bursts(_) => (2000.0, 4096),
                    PtsStage::SequentialBefore => (1000.0, 1 << 20),
                    PtsStage::SequentialAfter => (500.0, 1 << 20),
                    _ => (1000.0, 4096),
                };
                push(&section.phase(PtsPhase::Step(PtsStep { stage, number })), rate, bytes);
            }
        }
    }
    run.ending = Some(Ending::Completed);
    (run, terms)
}

#[test]
fn recovery_and_demand_are_compared_with_what_was_before() {
    let (run, terms) = recovered(Some(PtsClass::Client));
    let shown = text(&run, &terms, style());
    assert!(shown.contains("class client, active range 1 GiB"), "{shown}");
    for (from, to) in [
        ("host-idle-recovery", "cross-stimulus-recovery"),
        ("cross-stimulus-recovery", "composite"),
        ("composite", "demand-variation"),
        ("demand-intensity", "zone-iops"),
        ("zone-iops", "zone-throughput"),
    ] {
        insta::assert_snapshot!(from, of_test(&shown, from, to));
    }
}

#[test]
fn stages_points_and_zones_are_in_the_document() {
    let (run, terms) = recovered(None);
    let document = json(&run, &terms);
    let section = |name: &str| {
        let sections = document["sections"].as_array().unwrap();
        sections.iter().find(|section| section["name"] == name).unwrap().clone()
    };
    let near = |value: &Value, expected: f64| {
        let value = value.as_f64().unwrap();
        assert!((value / expected - 1.0).abs() < 0.02, "{value}, not {expected}");
    };
    let idle = section("host-idle-recovery");
    assert_eq!(idle["stages"].as_array().unwrap().len(), 10);
    let burst = &idle["stages"][0];
    near(&burst["ratio"], 2.0);
    assert_eq!((burst["wait_ns"].as_u64(), burst["steps"].as_u64()), (Some(5_000_000_000), Some(3)));
    near(&section("cross-stimulus-recovery")["stages"][2]["ratio"], 0.5);
    let demand = section("demand-intensity");
    assert_eq!(demand["cells"].as_array().unwrap().len(), 4);
    let points = demand["operating_points"].as_array().unwrap();
    // The highest rate takes 4 threads; of equal rates, the smaller queue depth.
    assert_eq!(
        (points[0]["name"].as_str(), points[0]["threads"].as_u64(), points[0]["depth"].as_u64()),
        (Some(PtsPoint::Max.name()), Some(4), Some(1))
    );
    let zones = section("zone-iops");
    assert_eq!(zones["zones"][2]["name"], "inner");
    near(&zones["zones"][0]["cells"][0]["value"], 3000.0);
    near(&zones["zones"][2]["cells"][0]["value"], 1000.0);
    assert_eq!(section("composite")["stages"], json!([]));
}

#[test]
fn recovery_demand_and_zones_have_their_plots() {
    let runs = [recovered(None).0];
    let drawn = |kind| chart(&runs, kind).unwrap();
    let recovery = drawn(PlotKind::PtsRecovery);
    // Five waits with bursts and continuous writes; three stages.
    assert_eq!((recovery.panels.len(), recovery.series.len()), (4, 2 * 5 + 3));
    let demand = drawn(PlotKind::PtsDemand);
    assert_eq!((demand.panels.len(), demand.series.len()), (4, 2 * 2));
    assert_eq!(demand.series[0].name, "demand-variation, 4 threads");
    // Queue depths 1 and 4 of 4 threads.
    let flight: Vec<f64> = demand.panels[0].lines[0][0].iter().map(|point| point.0).collect();
    assert_eq!(flight, [4.0, 16.0]);
    let histogram = drawn(PlotKind::PtsHistogram);
    assert_eq!((histogram.panels.len(), histogram.series.len()), (2, 2 * 3));
    let steps = histogram.panels[0].lines[0][0].windows(2).filter(|ends| ends[0].0 < ends[1].0);
    let shares: f64 = steps.map(|ends| ends[0].1).sum();
    assert!((shares - 100.0).abs() < 1e-6, "{shares}");
    let zones = drawn(PlotKind::PtsZones);
    assert_eq!((zones.panels.len(), zones.series.len()), (2, 2 * 3 + 2 * 2));
    let convergence = drawn(PlotKind::PtsConvergence);
    assert_eq!((convergence.panels.len(), convergence.series.len()), (1, 4));
    assert!(chart(&[run(1.0)], PlotKind::PtsRecovery).is_err(), "none was measured");
    let page = crate::html::page(&runs);
    for kind in ["pts-recovery", "pts-demand", "pts-histogram", "pts-zones"] {
        assert!(page.contains(&format!("data-kind=\"{kind}\"")), "{kind}");
    }
}

#[test]
fn measurements_without_an_operation_have_no_figure_in_any_output() {
    let mut run = run(1.0);
    let terms = PtsTerms { tests: vec![PtsTest::Latency], ..terms(1.0) };
    run.conclusions.push(Concluded::of(&terms));
    // A tracked cell of the window, and another one.
    let empty = ["latency, round 3: 0 % reads of 4 KiB", "latency, round 4: 100 % reads of 4 KiB"];
    for phase in &mut run.phases {
        if empty.contains(&phase.info.task.name()) {
            let (index, task) = (phase.info.index, phase.info.task.clone());
            *phase = synthetic::phase(index, task, &[]);
        }
    }
    let shown = text(&run, &terms, style());
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "round 3 -",
        "rounds 1 to 5: NOT STEADY; no operation completed in a round of it",
        "NO FIGURE: no operation completed in 2 measurements, the first of them `latency, round 3: 0 % reads of 4 KiB`",
        "RESULT: NOT STEADY: latency; NO FIGURE: latency: these figures do not conform to the specification",
    ] {
        assert!(words.contains(part), "{part}: {shown}");
    }
    assert!(!words.contains("inf") && !words.contains("NaN"), "{shown}");
    let document = json(&run, &terms);
    assert_eq!((&document["no_figure"], &document["steady"]), (&json!(empty), &json!(false)));
    let section = &document["sections"][0];
    assert_eq!((&section["rounds"][2], &section["window"]["mean"]), (&Value::Null, &Value::Null));
    let cells = section["cells"].as_array().unwrap();
    let values: Vec<bool> = cells.iter().map(|cell| cell["value"].is_null()).collect();
    // Reads only, 65 % reads, writes only, of 4 KiB.
    assert_eq!(values, [true, false, true], "{cells:?}");
    let runs = [run];
    let convergence = chart(&runs, PlotKind::PtsConvergence).unwrap();
    let rounds: Vec<f64> = convergence.panels[0].lines[0][0].iter().map(|point| point.0).collect();
    assert_eq!(rounds, [1.0, 2.0, 4.0, 5.0]);
    let page = crate::html::page(&runs);
    assert!(page.contains("NO FIGURE: latency") && page.contains("round 4: 100 % reads of 4 KiB"));
}
