use std::collections::BTreeSet;

use super::*;
use crate::load::SizeLaw;

const MINUTE: u64 = 60 * Nanos::SECOND.0;

const ALL: [u64; 8] = [1 << 20, 131_072, 65_536, 32_768, 16_384, 8192, 4096, 512];

fn terms(blocks: &[u64]) -> PtsTerms {
    PtsTerms {
        target: "/dev/null".into(),
        class: None,
        span: Bytes::GIB,
        capacity: Bytes::GIB,
        tests: PtsTest::ALL.to_vec(),
        scale: 1.0,
        cell: Nanos(MINUTE),
        max_rounds: 25,
        window: 5,
        blocks: blocks.iter().map(|&block| Bytes(block)).collect(),
        threads: 2,
        depth: 16,
        demand: vec![32, 16, 8, 6, 4, 2, 1],
        zones: 3,
        purge: Some(PtsPurge::Discard),
        write_cache: None,
        saturation: Nanos(24 * 60 * MINUTE),
        logical_block: Bytes(512),
        physical_block: Bytes(4096),
        device: PtsDevice::default(),
    }
}

/// The only section of a test.
fn section(test: PtsTest) -> PtsSection {
    PtsSection { test, block: None }
}

#[test]
fn a_rehearsal_writes_its_share_of_the_sizes_too() {
    let scaled = |scale| PtsTerms { scale, tests: vec![PtsTest::Iops, PtsTest::Latency], ..terms(&ALL) };
    assert_eq!((scaled(1.0).precondition(), scaled(1.0).saturated()), (Bytes(2 << 30), Bytes(4 << 30)));
    assert_eq!((scaled(0.5).precondition(), scaled(0.25).saturated()), (Bytes::GIB, Bytes::GIB));
    assert_eq!(scaled(1e-9).precondition(), Bytes::MIB);
    // A class writes multiples of the device, whatever part of it is the active range.
    let client = PtsTerms { capacity: Bytes(4 << 30), span: Bytes(3 << 30), ..scaled(1.0) };
    assert_eq!((client.precondition(), client.saturated()), (Bytes(8 << 30), Bytes(16 << 30)));
}

#[test]
fn the_grid_is_that_of_the_specification() {
    let all = terms(&ALL);
    assert_eq!(all.sections().len(), PtsTest::ALL.len() - 1 + 5);
    let cells = |test| all.cells(section(test), 1).len();
    assert_eq!((cells(PtsTest::Iops), cells(PtsTest::Latency)), (7 * 8, 3 * 3));
    assert_eq!((cells(PtsTest::DemandVariation), cells(PtsTest::DemandIntensity)), (7 * 7, 7 * 7));
    assert_eq!((cells(PtsTest::ZoneIops), cells(PtsTest::ZoneThroughput)), (3 * 3, 2 * 2));
    assert_eq!((cells(PtsTest::Composite), cells(PtsTest::CrossStimulusRecovery)), (1, 0));
    assert_eq!((all.precondition(), all.saturated()), (Bytes(2 << 30), Bytes(4 << 30)));
    let sequentially = PtsTest::ALL.iter().filter(|test| test.is_preconditioned()).map(|test| test.name());
    let expected = ["iops", "latency", "composite", "demand-variation", "demand-intensity"];
    assert_eq!(sequentially.collect::<Vec<_>>(), expected);
}

/// Reads in percent, and sizes of operations in units of 512 bytes.
#[test]
fn the_mixes_and_sizes_are_those_of_the_specification() {
    let expected: [(PtsTest, &[u8], &[u64]); 11] = [
        (PtsTest::Iops, &[100, 95, 65, 50, 35, 5, 0], &[2048, 256, 128, 64, 32, 16, 8, 1]),
        (PtsTest::Latency, &[100, 65, 0], &[16, 8, 1]),
        (PtsTest::Throughput, &[100, 0], &[2048, 128, 16, 8, 1]),
        (PtsTest::WriteSaturation, &[0], &[8]),
        (PtsTest::HostIdleRecovery, &[0], &[8]),
        (PtsTest::CrossStimulusRecovery, &[0], &[2048, 16]),
        (PtsTest::Composite, &[40], &[128]),
        (PtsTest::DemandVariation, &[40], &[128]),
        (PtsTest::DemandIntensity, &[65], &[16]),
        (PtsTest::ZoneIops, &[100, 50, 0], &[128, 32, 8]),
        (PtsTest::ZoneThroughput, &[100, 0], &[2048, 8]),
    ];
    assert_eq!(expected.map(|(test, ..)| test), PtsTest::ALL, "the order of the tests");
    for (test, mixes, sizes) in expected {
        let found: Vec<u64> = test.blocks().iter().map(|block| block.0 / 512).collect();
        assert_eq!((test.mixes(), found.as_slice()), (mixes, sizes), "{test:?}");
    }
    let classes = [PtsClass::Enterprise, PtsClass::Client, PtsClass::HardDisk];
    let found = classes.map(|class| (class.range_percent(), class.write_cache()));
    assert_eq!(found, [(100, Some(false)), (75, Some(true)), (100, None)]);
}

#[test]
fn the_times_are_those_of_the_specification() {
    let minutes = |tests: &[PtsTest]| {
        let terms = PtsTerms { tests: tests.to_vec(), ..terms(&ALL) };
        terms.sections().iter().map(|section| terms.longest(*section).0).sum::<u64>() as f64 / MINUTE as f64
    };
    // 25 rounds of 56, 9 and 5 times 2 minutes, and a day.
    assert_eq!(minutes(&PtsTest::ALL[..4]), f64::from(25 * (56 + 9 + 10) + 24 * 60));
    assert_eq!(minutes(&[PtsTest::CrossStimulusRecovery]), f64::from((8 + 6 + 8) * 60));
    // 25 rounds of half an hour; half an hour of bursts of 5 s with waits of 1, 2, 3, 5 and 10 times that, and half an hour after each.
    let waits = f64::from(30 * (1 + 2 + 3 + 5 + 10));
    assert_eq!(minutes(&[PtsTest::HostIdleRecovery]), 25.0 * 30.0 + 5.0 * (30.0 + 30.0) + waits);
    // Half hours of writes until they are steady; rounds of 49 minutes after 5 minutes of writes; an hour of writes before each
    // histogram.
    assert_eq!(minutes(&[PtsTest::DemandIntensity]), f64::from(25 * 30 + 25 * (5 + 49) + 3 * (60 + 10)));
    assert_eq!(minutes(&[PtsTest::Composite]), f64::from(25 * (30 + 1)));
    assert_eq!(minutes(&[PtsTest::ZoneIops, PtsTest::ZoneThroughput]), f64::from(3 * (9 + 4)));
}

#[test]
fn a_rehearsal_keeps_the_ratio_of_waits_and_bursts() {
    let rehearsal = PtsTerms { scale: 0.0001, cell: Nanos(100_000_000), ..terms(&ALL) };
    let stages = rehearsal.stages(section(PtsTest::HostIdleRecovery));
    assert_eq!(stages[0], (PtsStage::Bursts(5), 2));
    let (burst, wait) = (rehearsal.length(stages[0].0), |stage| rehearsal.wait(stage).0);
    assert_eq!(
        (burst.0, wait(PtsStage::Bursts(5)), wait(PtsStage::Bursts(50))),
        (100_000_000, burst.0, 10 * burst.0)
    );
    let whole = terms(&ALL);
    let stages = whole.stages(section(PtsTest::HostIdleRecovery));
    assert_eq!(
        (stages.len(), stages[0], stages[9]),
        (10, (PtsStage::Bursts(5), 360), (PtsStage::Continuous(50), 30))
    );
    assert_eq!(whole.wait(PtsStage::Bursts(25)), Nanos(25 * Nanos::SECOND.0));
}

#[test]
fn without_blocks_of_512_bytes_the_same_cell_is_tracked() {
    for blocks in [&ALL[..], &ALL[..7]] {
        let terms = terms(blocks);
        let tracked = |test| terms.tracked(section(test), 3).unwrap();
        let four = PtsCell { round: 3, read_percent: 0, block: Bytes(4096), demand: None };
        assert_eq!((tracked(PtsTest::Iops), tracked(PtsTest::ZoneIops)), (four, four));
        assert_eq!(tracked(PtsTest::ZoneThroughput), PtsCell { block: Bytes(1 << 20), ..four });
        let demand = Some(PtsDemand { threads: 32, depth: 32 });
        assert_eq!(
            (tracked(PtsTest::DemandIntensity).demand, tracked(PtsTest::DemandIntensity).read_percent),
            (demand, 65)
        );
    }
    let large = terms(&ALL[..5]);
    assert_eq!(large.tracked(section(PtsTest::Iops), 1).unwrap().block, Bytes(16_384));
    assert_eq!(large.tracked(section(PtsTest::CrossStimulusRecovery), 1), None);
}

/// Sizes in KiB; 0 are 512 bytes.
#[test]
fn on_larger_logical_blocks_every_test_has_cells_of_the_smallest_block() {
    let of = |logical: u64, test| {
        let blocks: Vec<u64> = ALL.into_iter().chain([logical]).filter(|size| *size >= logical).collect();
        let terms = PtsTerms { logical_block: Bytes(logical), ..terms(&blocks) };
        assert_eq!(terms.replaced().contains(&test), test.smallest() < Bytes(logical), "{test:?} {logical}");
        let sizes: Vec<u64> = terms.blocks_of(test).map(|block| block.0 >> 10).collect();
        assert!(test == PtsTest::CrossStimulusRecovery || !terms.cells(terms.sections()[0], 1).is_empty());
        (sizes, terms.tracked(section(test), 1).map_or(0, |cell| cell.block.0 >> 10))
    };
    for (logical, test, sizes, tracked) in [
        (512, PtsTest::Latency, vec![8, 4, 0], 4),
        (4096, PtsTest::Iops, vec![1024, 128, 64, 32, 16, 8, 4], 4),
        (4096, PtsTest::Latency, vec![8, 4], 4),
        (16_384, PtsTest::Iops, vec![1024, 128, 64, 32, 16], 16),
        (16_384, PtsTest::Latency, vec![16], 16),
        (16_384, PtsTest::WriteSaturation, vec![16], 16),
        (16_384, PtsTest::HostIdleRecovery, vec![16], 16),
        (16_384, PtsTest::CrossStimulusRecovery, vec![1024, 16], 0),
        (16_384, PtsTest::DemandIntensity, vec![16], 16),
        (16_384, PtsTest::DemandVariation, vec![64], 64),
        (16_384, PtsTest::Composite, vec![64], 64),
        (16_384, PtsTest::ZoneIops, vec![64, 16], 16),
        (65_536, PtsTest::ZoneIops, vec![64], 64),
        (65_536, PtsTest::ZoneThroughput, vec![1024, 64], 1024),
    ] {
        assert_eq!(of(logical, test), (sizes, tracked), "{test:?} {logical}");
    }
    let terms = PtsTerms { logical_block: Bytes(16_384), ..terms(&ALL[..5]) };
    let sections = terms.sections().into_iter().filter(|section| section.test == PtsTest::Throughput);
    let named: Vec<String> = sections.map(PtsSection::name).collect();
    assert_eq!(named, ["throughput of 1 MiB", "throughput of 64 KiB", "throughput of 16 KiB"]);
}

#[test]
fn composite_sizes_are_those_that_the_device_takes() {
    let of = |block| match composite_sizes(Bytes(block)) {
        SizeLaw::Split(sizes) => sizes,
        other => panic!("{other:?}"),
    };
    let (all, large) = (of(512), of(4096));
    assert_eq!((all.len(), large.len()), (12, 5));
    for sizes in [&all, &large] {
        assert!((sizes.iter().map(|size| size.percent).sum::<f64>() - 100.0).abs() < 1e-9, "{sizes:?}");
    }
    // 67 of the 90 percent that are left.
    assert!((large[0].percent - 6700.0 / 90.0).abs() < 1e-9, "{large:?}");
}

#[test]
fn every_phase_has_a_name_of_its_own() {
    let terms = terms(&ALL);
    let mut names = Vec::new();
    for section in terms.sections() {
        names.push(section.phase(PtsPhase::Purge));
        names.push(section.phase(PtsPhase::Precondition));
        let points = PtsPoint::ALL.map(PtsPreWrite::Point).into_iter();
        let numbered =
            (1..=25).flat_map(|number| [PtsPreWrite::Precondition(number), PtsPreWrite::Round(number)]);
        names.extend(points.chain(numbered).map(|pre_write| section.phase(PtsPhase::PreWrite(pre_write))));
        for round in 1..=25 {
            let cells = terms.cells(section, round).into_iter();
            names.extend(cells.map(|cell| section.phase(PtsPhase::Cell(cell))));
        }
        for (stage, steps) in terms.stages(section) {
            let step = |number| section.phase(PtsPhase::Step(PtsStep { stage, number }));
            names.extend((1..=steps).map(step));
        }
    }
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
}
