//! Measurements in which no operation completes.

use super::*;

/// The warnings of it, and the sections that it is about.
fn lacking(terms: &PtsTerms, run: &Run, conclusions: &Conclusions) -> (Vec<String>, Vec<String>) {
    let of = |warning: &Warning| match warning {
        Warning::NoOperation { .. } => Some(warning.to_string()),
        _ => None,
    };
    let progress = PtsProgress::of(run, terms);
    let names = progress.lacking().into_iter().map(PtsSection::name).collect();
    (conclusions.warnings.iter().filter_map(of).collect(), names)
}

#[test]
fn a_tracked_cell_without_an_operation_is_never_in_a_steady_window() {
    for test in [PtsTest::Iops, PtsTest::Latency] {
        let terms = terms(&[test]);
        let tracked = "round 2: 0 % reads of 4 KiB";
        let device = |task: &Task| (if task.name().contains(tracked) { 0 } else { 100 }, 1000);
        let (run, conclusions) = on_device(&terms, nothing_yet(), device);
        let section = terms.sections()[0];
        let progress = PtsProgress::of(&run, &terms);
        let found = progress.rounds(section);
        // Rounds 3 to 7 are the first five with a figure; what was before them affects nothing.
        assert_eq!(
            (found.values[1], found.values.len(), found.window.unwrap().last),
            (None, 7, 7),
            "{test:?}"
        );
        assert!(progress.conforms() && lacking(&terms, &run, &conclusions).1.is_empty());
    }
}

#[test]
fn a_device_that_does_nothing_is_not_steady_and_the_warning_has_the_remedy() {
    for test in [PtsTest::Iops, PtsTest::Latency, PtsTest::HostIdleRecovery, PtsTest::DemandIntensity] {
        // Five rounds at most.
        let terms = PtsTerms { max_rounds: 5, scale: 0.002, ..terms(&[test]) };
        let (run, conclusions) = on_device(&terms, nothing_yet(), |_| (0, 1000));
        let progress = PtsProgress::of(&run, &terms);
        let section = terms.sections()[0];
        let window = progress.rounds(section).window.unwrap();
        assert_eq!((window.steady, window.criteria), (false, None), "{test:?}");
        assert_eq!((progress.unsteady(), progress.conforms()), (vec![section], false));
        // Without any operating point there is nothing to measure at it.
        assert_eq!(progress.operating_point(section, PtsPoint::Max), None);
        let (warnings, names) = lacking(&terms, &run, &conclusions);
        assert_eq!((warnings.len(), names), (1, vec![test.name().to_owned()]));
        assert!(
            warnings[0].contains("a larger --scale, or fewer of them (--threads, --depth)"),
            "{warnings:?}"
        );
    }
}

#[test]
fn a_cell_with_a_round_without_an_operation_has_no_mean_and_is_named() {
    let terms = terms(&[PtsTest::Iops]);
    let empty = "iops, round 4: 65 % reads of 1 MiB";
    let device = |task: &Task| (if task.name() == empty { 0 } else { 100 }, 1000);
    let (run, conclusions) = on_device(&terms, nothing_yet(), device);
    let progress = PtsProgress::of(&run, &terms);
    let section = terms.sections()[0];
    let window = progress.rounds(section).window.unwrap();
    // The tracked figure is steady; the mean of the other four rounds is not that of the window.
    assert!(window.steady && progress.unsteady().is_empty() && !progress.conforms());
    let cell =
        |block| iolite_model::PtsCell { round: 4, read_percent: 65, block: Bytes(block), demand: None };
    assert_eq!(
        (progress.figure(section, cell(1 << 20)), progress.figures(section, window, cell(1 << 20))),
        (None, None)
    );
    assert_eq!(progress.figures(section, window, cell(65_536)).unwrap().mean, 100.0);
    let (warnings, names) = lacking(&terms, &run, &conclusions);
    assert_eq!(names, ["iops"]);
    let expected = format!("no operation completed in `{empty}`: it has no figure");
    assert!(warnings[0].starts_with(&expected) && !warnings[0].contains("--scale"), "{warnings:?}");
}

#[test]
fn a_run_that_is_cut_short_names_them_and_a_purge_that_failed() {
    let terms = terms(&[PtsTest::Iops]);
    let device =
        |task: &Task| (if task.name().contains("round 1: 65 % reads of 1 MiB") { 0 } else { 100 }, 1000);
    let (whole, _) = on_device(&terms, nothing_yet(), device);
    let warnings = |phases: &[PhaseResult]| {
        let mut run = nothing_yet();
        run.phases = phases.to_vec();
        let conclusions = Pts::new(terms.clone(), ACCESS).cut_short(&run, CutShort::Interrupted);
        conclusions.warnings.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert!(warnings(&whole.phases[..3]).is_empty());
    let named = warnings(&whole.phases[..30]);
    assert!(named.len() == 1 && named[0].contains("`iops, round 1: 65 % reads of 1 MiB`"), "{named:?}");
    let mut purge = whole.phases[0].clone();
    assert!(warnings(std::slice::from_ref(&purge)).is_empty());
    purge.end.ending = Ending::Failed("trim: Operation not supported".into());
    let failed = warnings(&[purge]);
    assert!(failed.len() == 1 && failed[0].contains("the purge before iops: a discard failed"), "{failed:?}");
    assert!(failed[0].contains("specify --purge none"), "{failed:?}");
}

#[test]
fn a_burst_or_zone_or_preconditioning_without_an_operation_is_named() {
    let empty = |test: PtsTest, name: &'static str| {
        let terms = PtsTerms { scale: 0.002, cell: Nanos(6 * CELL / 5), ..terms(&[test]) };
        let device = |task: &Task| (if task.name() == name { 0 } else { 100 }, 1000);
        let (run, conclusions) = on_device(&terms, nothing_yet(), device);
        let (warnings, names) = lacking(&terms, &run, &conclusions);
        assert_eq!(names, [test.name()], "{name}");
        assert!(warnings[0].contains(&format!("`{name}`: it has no figure")), "{warnings:?}");
        (terms, run)
    };
    let (terms, run) = empty(PtsTest::HostIdleRecovery, "host-idle-recovery, bursts after waits of 10 s, 3");
    let progress = PtsProgress::of(&run, &terms);
    let stage = |seconds| progress.stage(terms.sections()[0], PtsStage::Bursts(seconds)).unwrap();
    assert_eq!((stage(5).mean, stage(10).mean, stage(10).ends.0), (Some(100.0), None, Some(100.0)));
    let (terms, run) = empty(PtsTest::ZoneIops, "zone-iops, zone 2: 0 % reads of 4 KiB");
    assert_eq!(PtsProgress::of(&run, &terms).rounds(terms.sections()[0]).values[1], None);
    empty(PtsTest::CrossStimulusRecovery, "cross-stimulus-recovery, random writes, 1");
    empty(PtsTest::WriteSaturation, "write-saturation, round 3: 0 % reads of 4 KiB");
    empty(PtsTest::DemandIntensity, "demand-intensity, round 2: writes before it");
    empty(PtsTest::DemandIntensity, "demand-intensity: response times at min IOPS");
    // The preconditioning is not steady with a round without a figure: five more follow it.
    let terms = super::terms(&[PtsTest::Composite]);
    let nothing = "composite: precondition by the same writes, 3";
    let device = |task: &Task| (if task.name() == nothing { 0 } else { 100 }, 1000);
    let (run, _) = on_device(&terms, nothing_yet(), device);
    let writes = PtsProgress::of(&run, &terms).pre_writes(terms.sections()[0]);
    assert_eq!(
        (writes.values[2], writes.window.unwrap().last, writes.window.unwrap().steady),
        (None, 8, true)
    );
}
