//! What studies print.

use iolite_model::{Access, Bytes, CacheWay, Concluded, DeviceCounters, Ending, Mix, Order};
use iolite_results::RunRequest;
use proptest::prelude::*;

use super::*;
use crate::synthetic;

const PLAIN: Style = Style { color: false, unicode: true, width: 110 };

fn study<C: Serialize + DeserializeOwned>(windows: Vec<(C, PhaseResult)>) -> Run {
    let (circumstances, phases): (Vec<_>, Vec<_>) = windows.into_iter().unzip();
    let windows = circumstances.into_iter().zip(0..).map(|(circumstance, phase)| StudyWindow {
        circumstance,
        phase,
        device: Some(DeviceCounters { reads: 100, read: Bytes(8192 * 100), ..DeviceCounters::default() }),
        resident_before: Some(f64::from(phase % 2)),
        resident_after: Some(1.0),
    });
    let findings = [StudyFinding::NotCold { resident: 0.25 }, StudyFinding::ReadAheadHarmless];
    let mut run = synthetic::of_phases(phases);
    run.conclusions = vec![Concluded::of(&RunRequest::new("study", "/data/file"))];
    run.conclusions.extend(windows.map(|window| Concluded::of(&window)));
    run.conclusions.extend(findings.iter().map(Concluded::of));
    run
}

fn phase(index: u32, block: u64, rate: f64) -> PhaseResult {
    let task = synthetic::file("study", Mix::Read, Access::Random, block, 1);
    let mut result = synthetic::phase(index, task, &[(OpKind::Read, rate, 1e9 / rate, block, 0)]);
    result.end.cache.requested_read = Bytes(block * (rate / 4.0) as u64);
    result
}

fn cache() -> Run {
    let point = |way, order| CachePoint { way, order };
    study(vec![
        (point(CacheWay::Cold, Order::Random), phase(0, 8192, 8_000.0)),
        (point(CacheWay::Warm, Order::Random), phase(1, 8192, 400_000.0)),
        (point(CacheWay::Direct, Order::Sequential), phase(2, 8192, 9_000.0)),
    ])
}

/// The text without its header, which is the machine's.
fn body(text: &str) -> &str {
    text.split_once("\n\n").unwrap().1
}

#[test]
fn ways_stand_side_by_side() {
    insta::assert_snapshot!(body(&text::<CachePoint>(&cache(), PLAIN)), @r"
                         reads  requests     asked  on device     IOPS      ±     mean      p99  resident   cache
    random, 8 KiB
      buffered, cold     2,000       100  15.6 MiB    800 KiB    8,000  7.6 %   123 µs   175 µs       0 %  device
      buffered, warm   100,000       100   781 MiB    800 KiB  400,000  7.2 %  2.46 µs  3.50 µs     100 %  device
    sequential, 8 KiB
      direct             2,250       100  17.6 MiB    800 KiB    9,000  6.9 %   109 µs   156 µs       0 %  device
    queue depth 1; reads and bytes requested, and the requests and bytes counted by the underlying devices,
    including other programs; ±: 95 % interval of the rate, within this run; resident: share that was in the page
    cache before; cache: cache stamp; -: not available

    interpretation
      1. 25 % of the region remained in the page cache although it was dropped (mapped, locked or used by another
         program): the cold figures are too good
      2. none of these settings slows down random reads: the kernel detects the random access, and the device
         reads no more than requested
    ");
}

#[test]
fn settings_stand_below_each_other() {
    let point = |kib: u64, order| ReadAheadPoint { read_ahead: Bytes(kib << 10), order };
    let mut report = study(vec![
        (point(0, Order::Sequential), phase(0, 8192, 8_000.0)),
        (point(0, Order::Random), phase(1, 8192, 4_000.0)),
        (point(128, Order::Sequential), phase(2, 8192, 90_000.0)),
    ]);
    let setting = StudySetting { device: "sda".into(), original: Bytes(128 << 10) };
    report.conclusions.push(Concluded::of(&setting));
    insta::assert_snapshot!(body(&text::<ReadAheadPoint>(&report, PLAIN)), @r"
                    sequential                                      random
    read-ahead           MiB/s      ±  requests     of   cache        IOPS      ±     p99  read per byte   cache
    0 B         ▁▁        62.5  7.6 %       100  8 KiB  device  ██   4,000  7.5 %  350 µs           0.10  device
    128 KiB *   ██         703  7.2 %       100  8 KiB  device           -      -       -              -       -
    queue depth 1, through the page cache, which is dropped before each window; requests and their mean size as
    counted by the underlying devices, including other programs; read per byte: bytes read by the devices per byte
    requested; ±: 95 % interval of the rate, within this run; cache: cache stamp; *: the current setting

    interpretation
      1. 25 % of the region remained in the page cache although it was dropped (mapped, locked or used by another
         program): the cold figures are too good
      2. none of these settings slows down random reads: the kernel detects the random access, and the device
         reads no more than requested
    ");
    let document = json::<ReadAheadPoint>(&report);
    assert_eq!(document["setting"], serde_json::json!({ "device": "sda", "original_bytes": 131_072 }));
}

#[test]
fn surfaces_are_shaded() {
    let point = |block, read_percent| BlockPoint { block: Bytes(block), read_percent };
    let report = study(vec![
        (point(512, 100), phase(0, 512, 40_000.0)),
        (point(65_536, 100), phase(1, 65_536, 4_000.0)),
        (point(512, 70), phase(2, 512, 20_000.0)),
        (point(65_536, 70), phase(3, 65_536, 2_000.0)),
    ]);
    insta::assert_snapshot!(body(&text::<BlockPoint>(&report, PLAIN)), @r"
    operations per second (IOPS)
                          reads            70/30
         512 B       40,000 ███       20,000 ▒▒▒
        64 KiB        4,000            2,000

    MiB per second
                          reads            70/30
         512 B         19.5              9.8
        64 KiB          250 ███          125 ▒▒▒

    p99 of the response times, of reads or writes, whichever is longer
                          reads            70/30
         512 B      35.0 µs          70.0 µs
        64 KiB       350 µs ▒▒▒       700 µs ███

    ±: 95 % interval of both rates, within this run
                          reads            70/30
         512 B        7.1 %            7.1 %
        64 KiB        7.5 %            2.1 %

    cache stamp
                          reads            70/30
         512 B       device           device
        64 KiB       device           device
    darker: larger, relative to the largest value of the table; -: too few operations

    interpretation
      1. 25 % of the region remained in the page cache although it was dropped (mapped, locked or used by another
         program): the cold figures are too good
      2. none of these settings slows down random reads: the kernel detects the random access, and the device
         reads no more than requested
    ");
    let ascii = text::<BlockPoint>(&report, Style { unicode: false, ..PLAIN });
    assert!(ascii.is_ascii(), "{ascii}");
}

#[test]
fn the_document_has_windows_and_findings() {
    let document = json::<CachePoint>(&cache());
    assert_eq!((&document["format"], &document["study"]), (&"iolite-study/1".into(), &"cache".into()));
    let window = &document["windows"][1];
    assert_eq!(
        (&window["way"], &window["order"], &window["phase"]),
        (&"warm".into(), &"random".into(), &1.into())
    );
    assert_eq!(window["requested_operations"], 100_000);
    assert_eq!(window["requested_bytes"], 100_000u64 * 8192);
    assert_eq!(window["device"]["reads"], 100);
    assert_eq!(document["findings"][0]["kind"], "not-cold");
    assert_eq!(document["findings"][0]["data"]["resident"], 0.25);
    assert_eq!(document["phases"].as_array().unwrap().len(), 3);
}

#[test]
fn without_windows_there_is_no_table() {
    let mut report = cache();
    report.conclusions.clear();
    report.ending = Some(Ending::Failed("the device is gone".into()));
    let text = text::<CachePoint>(&report, PLAIN);
    assert!(text.ends_with("FAILED: the device is gone\n"), "{text}");
    assert!(!text.contains("IOPS"), "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn no_figures_make_it_panic(rates in prop::collection::vec((1u32..30, 4.0f64..3_000.0), 1..6), width in 0usize..200) {
        let windows = rates.iter().zip(0..).map(|((shift, rate), index)| {
            (BlockPoint { block: Bytes(1 << shift), read_percent: (index % 3 * 50) as u8 }, phase(index, 1 << shift, *rate))
        });
        let report = study(windows.collect());
        text::<BlockPoint>(&report, Style { width, ..PLAIN });
        json::<BlockPoint>(&report);
    }
}
