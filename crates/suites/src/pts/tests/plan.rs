//! What is planned to be written, and for how long.

use super::*;

#[test]
fn the_plan_takes_the_time_of_purging_and_preconditioning_too() {
    let size = Bytes(100 << 30);
    let tests = [PtsTest::Iops, PtsTest::WriteSaturation];
    let terms = PtsTerms { span: size, capacity: size, ..terms(&tests) };
    // Of a device with 150 GiB.
    let plan = Pts::writes(&terms, Bytes(150 << 30), None);
    // 200 GiB before the IOPS test and 400 GiB of saturation; both tests begin with a purge.
    assert_eq!(plan.bytes, Bytes(600 << 30));
    let preconditioned = 200.0 * 1024.0 / 500.0;
    let purged = 2.0 * 150.0 / 2.0;
    let rounds: f64 = terms.sections().iter().map(|section| terms.longest(*section).as_secs_f64()).sum();
    assert!((plan.duration.as_secs_f64() - rounds - preconditioned - purged).abs() < 1e-6, "{plan:?}");
}

#[test]
fn the_plan_of_a_run_that_goes_on_is_without_what_is_done() {
    let terms = terms(&[PtsTest::Iops, PtsTest::Latency, PtsTest::WriteSaturation]);
    let is_saturation = |task: &Task| task.name().starts_with("write-saturation");
    let rate = |task: &Task| (if is_saturation(task) { 20_000 } else { 100 }, 1000);
    let (whole, _) = on_device(&terms, nothing_yet(), rate);
    let plan = |count: usize| {
        let mut run = nothing_yet();
        run.phases = whole.phases[..count].to_vec();
        let plan = Pts::writes(&terms, Bytes(0), Some(&run));
        (plan.bytes.0 >> 20, plan.timed.0 > 0)
    };
    // Twice 64 MiB before each of two tests, and four times in the third.
    assert_eq!(plan(0), (128 + 128 + 256, true));
    assert_eq!(plan(0).0, Pts::writes(&terms, Bytes(0), None).bytes.0 >> 20);
    let after = |name: &str| names(&whole).iter().position(|found| *found == name).unwrap() + 1;
    assert_eq!(plan(after("iops: precondition")).0, 128 + 256);
    // A round of write saturation writes 20,000 times 4 KiB.
    let round = after("write-saturation, round 1: 0 % reads of 4 KiB");
    assert_eq!(plan(round), (256 - 79, false));
    assert_eq!(plan(whole.phases.len()), (0, false));
}

#[test]
fn stages_count_as_writes_by_their_time() {
    let terms = PtsTerms { cell: Nanos(60 * CELL), ..terms(&[PtsTest::CrossStimulusRecovery]) };
    let plan = Pts::writes(&terms, terms.span, None);
    assert_eq!((plan.bytes, plan.timed), (Bytes(0), Nanos(22 * 3600 * CELL)));
    let demand = PtsTerms { tests: vec![PtsTest::DemandIntensity], max_rounds: 10, ..terms };
    let plan = Pts::writes(&demand, demand.span, None);
    // 10 rounds of 9 minutes and three histograms of 10 minutes, a third of which (35 %) writes; 10 half hours, 10 times 5 minutes and
    // three hours of writes before them.
    let before = 10 * 1800 + 10 * 300 + 3 * 3600;
    assert_eq!((plan.bytes, plan.timed), (Bytes(2 * (64 << 20)), Nanos((7200 * 35 / 100 + before) * CELL)));
}
