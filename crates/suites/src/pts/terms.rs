//! The specification's times and sizes for a target.

use std::path::PathBuf;

use iolite_model::{Bytes, Nanos, PtsDevice, PtsTerms, PtsTest, Warning};

/// Smallest span: some blocks of the largest size for every outstanding operation.
const MIN: Bytes = Bytes(16 << 20);

/// Sizes are in multiples of this.
const UNIT: u64 = 1 << 20;

/// The specification's round, and its longest write saturation test.
const CELL: Nanos = Nanos(60_000_000_000);
const SATURATION: Nanos = Nanos(24 * 3_600_000_000_000);

/// Shortest cell: ten intervals.
const SHORTEST: u64 = 100_000_000;

/// Rounds of the measurement window.
const WINDOW: u32 = 5;

/// What is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct PtsRequest {
    /// The tests in their order; none for all.
    pub tests: Vec<PtsTest>,
    /// Share of the specification's times and sizes, above 0 and up to 1.
    pub scale: f64,
    /// Bytes that are used; `None` for all.
    pub size: Option<Bytes>,
    /// Threads of the tests that have more than one.
    pub threads: u32,
    /// Outstanding operations of each of these threads.
    pub depth: u32,
    /// Rounds at most.
    pub max_rounds: u32,
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
    /// Whether it can discard.
    pub purges: bool,
    /// Its serial number, where it has one.
    pub serial: Option<String>,
}

/// Why a target can't be tested.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PtsError {
    /// More was asked for than there is.
    #[error("--size {asked} is larger than the target ({size})")]
    Size {
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
}

/// The terms of a request for a target.
pub(super) fn terms(request: PtsRequest, target: &PtsTarget) -> Result<PtsTerms, PtsError> {
    if let Some(asked) = request.size.filter(|asked| *asked > target.size) {
        return Err(PtsError::Size { asked, size: target.size });
    }
    let size = request.size.unwrap_or(target.size);
    let span = size.round_down(UNIT);
    if span < MIN {
        return Err(PtsError::Small { size });
    }
    // In the order of the specification, each once.
    let asked = |test: &PtsTest| request.tests.is_empty() || request.tests.contains(test);
    let tests: Vec<PtsTest> = PtsTest::ALL.into_iter().filter(asked).collect();
    let scaled = |time: Nanos, min| Nanos(((time.0 as f64 * request.scale) as u64).max(min));
    let mut blocks: Vec<Bytes> = PtsTest::ALL.iter().flat_map(|test| test.blocks()).copied().collect();
    blocks.sort_unstable();
    blocks.dedup();
    blocks.retain(|block| block.0.is_multiple_of(target.logical_block.0.max(1)));
    blocks.reverse();
    Ok(PtsTerms {
        target: target.path.clone(),
        span,
        tests,
        scale: request.scale,
        cell: scaled(CELL, SHORTEST),
        max_rounds: request.max_rounds,
        window: WINDOW,
        blocks,
        threads: request.threads,
        depth: request.depth,
        purges: target.purges,
        saturation: scaled(SATURATION, SHORTEST),
        device: PtsDevice { serial: target.serial.clone(), size: target.size },
    })
}

/// What the tests leave out on this target, as warnings.
pub(super) fn left_out(terms: &PtsTerms, is_device: bool) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if !terms.purges {
        let why = "the device does not support discard: erase it with its own command before (nvme format, hdparm \
         --security-erase)";
        warnings.push(Warning::LeftOut { what: "purge".into(), why: why.into() });
    }
    if !is_device {
        let why = "the file system and other data on the device affect the figures: specify the device instead of a file";
        warnings.push(Warning::LeftOut { what: "the device itself".into(), why: why.into() });
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> PtsRequest {
        PtsRequest { tests: Vec::new(), scale: 1.0, size: None, threads: 2, depth: 16, max_rounds: 25 }
    }

    fn target(size: u64, block: u64) -> PtsTarget {
        PtsTarget {
            path: "/dev/x".into(),
            size: Bytes(size),
            logical_block: Bytes(block),
            purges: true,
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
        assert_eq!((whole.span, whole.cell, whole.tests.len()), (Bytes(1 << 30), CELL, PtsTest::ALL.len()));
        let scaled = terms(PtsRequest { scale: 1e-9, ..request() }, &target(1 << 30, 512)).unwrap();
        assert_eq!((scaled.cell, scaled.saturation), (Nanos(SHORTEST), Nanos(SHORTEST)));
    }

    #[test]
    fn blocks_are_those_that_the_target_takes() {
        let of = |block| terms(request(), &target(1 << 30, block)).unwrap().blocks;
        assert!(of(512).contains(&Bytes(512)) && of(512).is_sorted_by(|a, b| a > b));
        assert!(!of(4096).contains(&Bytes(512)) && of(4096).contains(&Bytes(4096)));
    }

    #[test]
    fn what_is_too_small_or_larger_than_the_target_is_refused() {
        let sized = |size| terms(PtsRequest { size, ..request() }, &target(32 << 20, 512));
        assert!(sized(None).is_ok());
        assert_eq!(sized(Some(Bytes(1 << 20))), Err(PtsError::Small { size: Bytes(1 << 20) }));
        let small = sized(Some(Bytes(64 << 10))).unwrap_err().to_string();
        assert!(
            small.starts_with("64 KiB is too small to test"),
            "the size that there is, not the rounded one: {small}"
        );
        let (asked, size) = (Bytes(64 << 20), Bytes(32 << 20));
        assert_eq!(sized(Some(asked)), Err(PtsError::Size { asked, size }));
    }
}
