//! The specification's times and sizes for a target.

use std::path::PathBuf;

use iolite_model::{Bytes, Nanos, PtsClass, PtsDevice, PtsPurge, PtsTerms, PtsTest, Warning};

/// Smallest span: some blocks of the largest size for every outstanding operation.
const MIN: Bytes = Bytes(16 << 20);

/// Sizes are in multiples of this.
const UNIT: u64 = 1 << 20;

/// The specification's round, and its longest write saturation test.
const CELL: Nanos = Nanos(60_000_000_000);
const SATURATION: Nanos = Nanos(24 * 3_600_000_000_000);

/// Largest logical block: the largest operation of the composite workload is as large.
const LARGEST_BLOCK: Bytes = Bytes(64 << 10);

/// What partitions are aligned to at least: the physical block of nearly all drives.
const ALIGNMENT: u64 = 4096;

/// Shortest cell: ten intervals.
const SHORTEST: u64 = 100_000_000;

/// Rounds of the measurement window.
const WINDOW: u32 = 5;

/// The specification's numbers of threads, and queue depths of each.
const DEMAND: [u32; 7] = [1, 2, 4, 6, 8, 16, 32];

/// Zones of a hard disk: outer, middle, inner.
const ZONES: u32 = 3;

/// What is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct PtsRequest {
    /// The tests in their order; none for all.
    pub tests: Vec<PtsTest>,
    /// Share of the specification's times and sizes, above 0 and up to 1.
    pub scale: f64,
    /// What the target is tested for; `None` to change nothing of it.
    pub class: Option<PtsClass>,
    /// What of it is used; `None` for the class's part, otherwise all.
    pub range: Option<PtsRange>,
    /// Threads of the tests that have more than one.
    pub threads: u32,
    /// Outstanding operations of each of these threads.
    pub depth: u32,
    /// Rounds at most.
    pub max_rounds: u32,
    /// Numbers of threads, and queue depths of each, of the tests that vary them; `None` for the specification's.
    pub demand: Option<Vec<u32>>,
    /// Zones of a hard disk; `None` for three.
    pub zones: Option<u32>,
    /// How the target is purged.
    pub purge: PtsPurgeRequest,
    /// State of the write cache.
    pub write_cache: PtsWriteCacheRequest,
}

/// State of a drive's write cache as asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PtsWriteCacheRequest {
    /// That of the class; unchanged without one.
    OfClass,
    /// As it is.
    Unchanged,
    /// On, or off.
    Switch(bool),
}

/// The part of a target that is used, from its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PtsRange {
    /// A percentage of it.
    Percent(u64),
    /// So many bytes.
    Size(Bytes),
}

/// How a target is to be purged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PtsPurgeRequest {
    /// By discard where it can be.
    IfPossible,
    /// Not at all.
    Never,
    /// This way.
    By(PtsPurge),
}

/// What is tested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PtsTarget {
    /// The device or file.
    pub path: PathBuf,
    /// Its size.
    pub size: Bytes,
    /// Its smallest block.
    pub logical_block: Bytes,
    /// What it reads and writes at once; `None` where that is not known.
    pub physical_block: Option<Bytes>,
    /// Where it begins on its disk; `None` of what is no partition.
    pub partition_start: Option<Bytes>,
    /// Whether it can discard.
    pub discards: bool,
    /// Its serial number, where it has one, and which part of the drive it is.
    pub serial: Option<String>,
}

/// Why a target can't be tested.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PtsError {
    /// More was asked for than there is.
    #[error("--active-range {asked} is larger than the target ({size})")]
    Range {
        /// What was asked for.
        asked: Bytes,
        /// What there is.
        size: Bytes,
    },
    /// There is too little.
    #[error("{size} is too small to test: at least {MIN} is needed")]
    Small {
        /// What was asked for, or there is.
        size: Bytes,
    },
    /// Its blocks are larger than the operations of some tests.
    #[error(
        "its logical block is {block}: sizes of the tests must be powers of two up to {LARGEST_BLOCK} and multiples of it; test a \
         device with smaller blocks, or format this one with smaller ones (`nvme id-ns` lists what an NVMe drive supports)"
    )]
    Block {
        /// The logical block.
        block: Bytes,
    },
    /// A zone is too small.
    #[error("{zones} zones of {size} are too small to test: specify fewer --zones (at least {MIN} each)")]
    Zones {
        /// Number of zones.
        zones: u32,
        /// Size of all of them.
        size: Bytes,
    },
    /// An option that no test uses.
    #[error("{option}: none of the selected tests uses it; omit it, or select {tests}")]
    Unused {
        /// The option.
        option: &'static str,
        /// Tests that use it.
        tests: &'static str,
    },
    /// It cannot be purged as asked for.
    #[error(
        "--purge discard: the device does not support discard; specify another --purge, or `none` and erase it with its own \
         command before"
    )]
    Discard,
}

pub(super) fn terms(request: PtsRequest, target: &PtsTarget) -> Result<PtsTerms, PtsError> {
    let block = target.logical_block;
    if !block.0.is_power_of_two() || block > LARGEST_BLOCK {
        return Err(PtsError::Block { block });
    }
    let size = range(&request, target.size)?;
    let span = size.round_down(UNIT);
    if span < MIN {
        return Err(PtsError::Small { size });
    }
    let scaled = |time: Nanos, min| Nanos(((time.0 as f64 * request.scale) as u64).max(min));
    let tests = tests(&request);
    check_use(&request, &tests)?;
    let mut demand = request.demand.clone().unwrap_or_else(|| DEMAND.to_vec());
    demand.sort_unstable();
    demand.dedup();
    demand.reverse();
    let purge = purge(&request, target)?.filter(|_| tests.iter().any(|test| test.is_purged()));
    let terms = PtsTerms {
        target: target.path.clone(),
        class: request.class,
        span,
        // Of a class its amounts are those of the specification: multiples of the user capacity.
        capacity: if request.class.is_some() { target.size.round_down(UNIT) } else { span },
        tests,
        scale: request.scale,
        cell: scaled(CELL, SHORTEST),
        max_rounds: request.max_rounds,
        window: WINDOW,
        blocks: blocks(block),
        threads: request.threads,
        depth: request.depth,
        demand,
        zones: request.zones.unwrap_or(ZONES),
        purge,
        write_cache: match request.write_cache {
            PtsWriteCacheRequest::OfClass => request.class.and_then(PtsClass::write_cache),
            PtsWriteCacheRequest::Unchanged => None,
            PtsWriteCacheRequest::Switch(on) => Some(on),
        },
        saturation: scaled(SATURATION, SHORTEST),
        logical_block: block,
        physical_block: target.physical_block.map_or(block, |physical| physical.max(block)),
        device: PtsDevice { serial: target.serial.clone(), size: target.size },
    };
    let zoned = terms.tests.iter().any(|test| test.is_by_zone());
    if zoned && terms.zone_length() < MIN {
        return Err(PtsError::Zones { zones: terms.zones, size: span });
    }
    Ok(terms)
}

/// Refuses options that none of the tests uses.
fn check_use(request: &PtsRequest, tests: &[PtsTest]) -> Result<(), PtsError> {
    let has = |uses: fn(PtsTest) -> bool| tests.iter().any(|test| uses(*test));
    let unused = |option, tests| Err(PtsError::Unused { option, tests });
    if request.demand.is_some() && !has(PtsTest::is_by_demand) {
        return unused("--demand", "demand-variation or demand-intensity");
    }
    if request.zones.is_some() && !has(PtsTest::is_by_zone) {
        return unused("--zones", "zone-iops or zone-throughput");
    }
    if matches!(request.purge, PtsPurgeRequest::By(_)) && !has(PtsTest::is_purged) {
        return unused("--purge", "tests that are not by zone");
    }
    Ok(())
}

/// Bytes of a target that are used.
fn range(request: &PtsRequest, size: Bytes) -> Result<Bytes, PtsError> {
    let percent = |percent: u64| Bytes((u128::from(size.0) * u128::from(percent) / 100) as u64);
    match request.range {
        Some(PtsRange::Size(asked)) if asked > size => Err(PtsError::Range { asked, size }),
        Some(PtsRange::Size(asked)) => Ok(asked),
        Some(PtsRange::Percent(asked)) => Ok(percent(asked)),
        None => Ok(percent(request.class.map_or(100, PtsClass::range_percent))),
    }
}

/// The tests in the order of the specification, each once: those that were asked for, otherwise those of the class.
fn tests(request: &PtsRequest) -> Vec<PtsTest> {
    let is_disk = request.class == Some(PtsClass::HardDisk);
    let asked = |test: &PtsTest| {
        if request.tests.is_empty() { test.is_by_zone() == is_disk } else { request.tests.contains(test) }
    };
    PtsTest::ALL.iter().copied().filter(asked).collect()
}

/// All block sizes that a target takes, the largest first; smaller ones than its logical block are replaced by that.
fn blocks(logical_block: Bytes) -> Vec<Bytes> {
    let all = PtsTest::ALL.iter().flat_map(|test| test.blocks());
    let mut blocks: Vec<Bytes> = all.map(|block| (*block).max(logical_block)).collect();
    blocks.sort_unstable();
    blocks.dedup();
    blocks.reverse();
    blocks
}

/// How the target is purged.
fn purge(request: &PtsRequest, target: &PtsTarget) -> Result<Option<PtsPurge>, PtsError> {
    match request.purge {
        PtsPurgeRequest::Never => Ok(None),
        PtsPurgeRequest::IfPossible => Ok(target.discards.then_some(PtsPurge::Discard)),
        PtsPurgeRequest::By(PtsPurge::Discard) if !target.discards => Err(PtsError::Discard),
        PtsPurgeRequest::By(purge) => Ok(Some(purge)),
    }
}

/// What the tests leave out on this target, as warnings.
pub(super) fn left_out(terms: &PtsTerms, target: &PtsTarget, is_device: bool) -> Vec<Warning> {
    let mut warnings = Vec::from_iter(misaligned(terms, target));
    warnings.extend(replaced(terms));
    if terms.is_rehearsal() {
        let why = format!(
            "this is a rehearsal at scale {}: its figures do not conform to the specification; omit --scale to measure",
            terms.scale
        );
        warnings.push(Warning::LeftOut { what: "the times and amounts of the specification".into(), why });
    }
    let is_purged = terms.tests.iter().any(|test| test.is_purged());
    if terms.purge.is_none() && is_purged {
        let why = "the device does not support discard, or --purge is `none`: erase it with its own command before (nvme format, \
                   hdparm --security-erase)";
        warnings.push(Warning::LeftOut { what: "purge".into(), why: why.into() });
    }
    if !is_device {
        let why = "the file system and other data on the device affect the figures: specify the device instead of a file";
        warnings.push(Warning::LeftOut { what: "the device itself".into(), why: why.into() });
    }
    warnings
}

/// Names the tests whose smallest operations are larger than in the specification.
fn replaced(terms: &PtsTerms) -> Option<Warning> {
    let (block, tests) = (terms.logical_block, terms.replaced());
    let names: Vec<&str> = tests.iter().map(|test| test.name()).collect();
    let composite = match tests.iter().any(|test| test.is_composite()) {
        true => "; the composite workload omits them, and its other sizes keep their ratios",
        false => "",
    };
    (!names.is_empty()).then(|| Warning::LeftOut {
        what: format!("operations smaller than {block}"),
        why: format!(
            "this is the logical block of the device, which refuses smaller ones: {} use {block} instead{composite}. Compare these \
             figures with those of devices with the same logical block",
            names.join(", ")
        ),
    })
}

/// Whether a partition begins within a physical block, so that operations at multiples of 4 KiB are not aligned to the device's blocks.
fn misaligned(terms: &PtsTerms, target: &PtsTarget) -> Option<Warning> {
    let (start, unit) = (target.partition_start?, terms.physical_block.0.max(ALIGNMENT));
    (!start.0.is_multiple_of(unit)).then(|| Warning::Misaligned {
        target: target.path.clone(),
        start: start.0,
        unit: Bytes(unit),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> PtsRequest {
        PtsRequest {
            tests: Vec::new(),
            scale: 1.0,
            class: None,
            range: None,
            threads: 2,
            depth: 16,
            max_rounds: 25,
            demand: None,
            zones: None,
            purge: PtsPurgeRequest::IfPossible,
            write_cache: PtsWriteCacheRequest::OfClass,
        }
    }

    fn target(size: u64, block: u64) -> PtsTarget {
        PtsTarget {
            path: "/dev/x".into(),
            size: Bytes(size),
            logical_block: Bytes(block),
            physical_block: Some(Bytes(4096)),
            partition_start: None,
            discards: true,
            serial: Some("S1".into()),
        }
    }

    #[test]
    fn tests_run_once_each_in_the_order_of_the_specification() {
        use PtsTest::{Iops, Latency, WriteSaturation};
        let asked = vec![Latency, Iops, WriteSaturation, Iops, Latency];
        let terms = terms(PtsRequest { tests: asked, ..request() }, &target(1 << 30, 512)).unwrap();
        assert_eq!(terms.tests, [Iops, Latency, WriteSaturation]);
        assert_eq!(terms.device.to_string(), "serial number S1, 1 GiB");
    }

    #[test]
    fn a_rehearsal_scales_the_times_down_to_ten_intervals() {
        let whole = terms(request(), &target((1 << 30) + 17, 512)).unwrap();
        assert_eq!((whole.span, whole.cell, whole.tests.len()), (Bytes(1 << 30), CELL, 9));
        let scaled = terms(PtsRequest { scale: 1e-9, ..request() }, &target(1 << 30, 512)).unwrap();
        assert_eq!((scaled.cell, scaled.saturation), (Nanos(SHORTEST), Nanos(SHORTEST)));
    }

    #[test]
    fn a_class_is_range_amounts_write_cache_and_tests() {
        let of =
            |class| terms(PtsRequest { class: Some(class), ..request() }, &target(4 << 30, 512)).unwrap();
        let (enterprise, client, disk) =
            (of(PtsClass::Enterprise), of(PtsClass::Client), of(PtsClass::HardDisk));
        assert_eq!((enterprise.span, enterprise.write_cache), (Bytes(4 << 30), Some(false)));
        assert_eq!((client.span, client.write_cache), (Bytes(3 << 30), Some(true)));
        assert_eq!((client.precondition(), client.saturated()), (Bytes(8 << 30), Bytes(16 << 30)));
        assert_eq!((disk.purge, client.purge), (None, Some(PtsPurge::Discard)));
        assert_eq!((disk.tests, disk.write_cache), (vec![PtsTest::ZoneIops, PtsTest::ZoneThroughput], None));
        // What is asked for comes before the class.
        let asked = PtsRequest {
            class: Some(PtsClass::Client),
            range: Some(PtsRange::Percent(50)),
            write_cache: PtsWriteCacheRequest::Switch(false),
            ..request()
        };
        let terms = terms(asked, &target(4 << 30, 512)).unwrap();
        assert_eq!((terms.span, terms.write_cache), (Bytes(2 << 30), Some(false)));
    }

    #[test]
    fn a_purge_that_the_device_lacks_is_refused_or_left_out() {
        let of = |purge, discards| {
            let target = PtsTarget { discards, ..target(1 << 30, 512) };
            terms(PtsRequest { purge, ..request() }, &target).map(|terms| terms.purge)
        };
        let discard = PtsPurge::Discard;
        assert_eq!(of(PtsPurgeRequest::IfPossible, true), Ok(Some(discard)));
        assert_eq!(of(PtsPurgeRequest::IfPossible, false), Ok(None));
        assert_eq!(of(PtsPurgeRequest::Never, true), Ok(None));
        assert_eq!(of(PtsPurgeRequest::By(discard), false), Err(PtsError::Discard));
        assert_eq!(of(PtsPurgeRequest::By(PtsPurge::Format), false), Ok(Some(PtsPurge::Format)));
    }

    #[test]
    fn an_option_that_no_test_uses_is_refused() {
        let of = |request| terms(request, &target(1 << 30, 512)).map_err(|error| error.to_string());
        let latency = || PtsRequest { tests: vec![PtsTest::Latency], ..request() };
        let zoned = || PtsRequest { tests: vec![PtsTest::ZoneIops], ..request() };
        let (demand, zones, purge) =
            (Some(vec![1, 32, 4, 32]), Some(5), PtsPurgeRequest::By(PtsPurge::Discard));
        for (refused, option) in [
            (PtsRequest { demand: demand.clone(), ..latency() }, "--demand"),
            (PtsRequest { zones, ..latency() }, "--zones"),
            (PtsRequest { purge, ..zoned() }, "--purge"),
        ] {
            let error = of(refused).unwrap_err();
            assert!(error.starts_with(&format!("{option}: none of the selected tests uses it")), "{error}");
        }
        assert_eq!(of(PtsRequest { zones, ..zoned() }).unwrap().zones, 5);
        assert_eq!(of(PtsRequest { purge, ..latency() }).unwrap().purge, Some(PtsPurge::Discard));
        // Each level once, the largest first; otherwise those of the specification.
        assert_eq!(of(PtsRequest { demand, ..request() }).unwrap().demand, [32, 4, 1]);
        assert_eq!(of(request()).unwrap().demand, [32, 16, 8, 6, 4, 2, 1]);
    }

    #[test]
    fn zones_are_equal_parts_that_are_large_enough() {
        let of = |zones| {
            let class = Some(PtsClass::HardDisk);
            terms(PtsRequest { class, zones: Some(zones), ..request() }, &target(100 << 20, 512))
        };
        assert_eq!(of(3).unwrap().zone_length(), Bytes(33 << 20));
        let error = of(7).unwrap_err().to_string();
        assert!(
            error.starts_with("7 zones of 100 MiB are too small to test: specify fewer --zones"),
            "{error}"
        );
    }

    #[test]
    fn blocks_are_those_that_the_target_takes() {
        let of = |block| terms(request(), &target(1 << 30, block)).unwrap().blocks;
        assert!(of(512).contains(&Bytes(512)) && of(512).is_sorted_by(|a, b| a > b));
        assert!(!of(4096).contains(&Bytes(512)) && of(4096).contains(&Bytes(4096)));
        assert_eq!(of(65_536), [1 << 20, 128 << 10, 64 << 10].map(Bytes));
        for block in [0, 520, 128 << 10] {
            let error = terms(request(), &target(1 << 30, block)).unwrap_err();
            assert_eq!(error, PtsError::Block { block: Bytes(block) });
        }
    }

    #[test]
    fn operations_that_are_replaced_and_partitions_that_are_not_aligned_are_named() {
        let warnings = |tests: &[PtsTest], target: PtsTarget| {
            let terms = terms(PtsRequest { tests: tests.to_vec(), ..request() }, &target).unwrap();
            left_out(&terms, &target, true).iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let all = PtsTest::ALL;
        assert!(warnings(all, target(1 << 30, 512)).is_empty());
        let native = warnings(&[PtsTest::Iops, PtsTest::WriteSaturation], target(1 << 30, 4096));
        assert_eq!(native.len(), 1);
        assert!(native[0].starts_with("skipped: operations smaller than 4 KiB: "), "{native:?}");
        assert!(native[0].contains("refuses smaller ones: iops use 4 KiB instead. Compare"), "{native:?}");
        let large = warnings(all, target(1 << 30, 16_384));
        for test in all {
            assert!(large[0].contains(test.name()), "{test:?}: {large:?}");
        }
        assert!(large[0].contains("the composite workload omits them"), "{large:?}");
        let partition = |start| PtsTarget { partition_start: Some(Bytes(start)), ..target(1 << 30, 512) };
        assert!(
            warnings(all, partition(1 << 20)).is_empty() && warnings(all, partition(34 * 4096)).is_empty()
        );
        let misaligned = warnings(all, partition(63 * 512));
        assert!(
            misaligned[0]
                .starts_with("/dev/x begins at byte 32256 of its disk, which is no multiple of 4 KiB"),
            "{misaligned:?}"
        );
        // Beyond 4 KiB by the physical block.
        let coarse = PtsTarget { physical_block: Some(Bytes(16_384)), ..partition(34 * 4096) };
        assert!(warnings(all, coarse)[0].contains("no multiple of 16 KiB"));
    }

    #[test]
    fn what_is_too_small_or_larger_than_the_target_is_refused() {
        let sized = |size: Option<Bytes>| {
            terms(PtsRequest { range: size.map(PtsRange::Size), ..request() }, &target(32 << 20, 512))
        };
        assert!(sized(None).is_ok());
        assert_eq!(sized(Some(Bytes(1 << 20))), Err(PtsError::Small { size: Bytes(1 << 20) }));
        let small = sized(Some(Bytes(64 << 10))).unwrap_err().to_string();
        assert!(
            small.starts_with("64 KiB is too small to test"),
            "the size that there is, not the rounded one: {small}"
        );
        let (asked, size) = (Bytes(64 << 20), Bytes(32 << 20));
        assert_eq!(sized(Some(asked)), Err(PtsError::Range { asked, size }));
    }
}
