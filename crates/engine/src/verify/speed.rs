//! How fast checksums of verified data are made.

use std::hint::black_box;
use std::time::{Duration, Instant};

use iolite_model::{Checksum, FioChecksum};
use iolite_workload::Seal;

/// Bytes of a checksum's data.
const UNIT: u32 = 128 << 10;

/// Bytes a second for which one thread makes checksums of this kind, as for writes of verified blocks of 128 KiB in fio's format:
/// measured over `time` at least. `None` for what has no checksum.
pub fn checksum_speed(check: FioChecksum, time: Duration) -> Option<f64> {
    let without = [FioChecksum::Meta, FioChecksum::Pattern, FioChecksum::PatternHeader, FioChecksum::Null];
    if without.contains(&check) {
        return None;
    }
    let seal = Seal::new(Checksum::Fio(check), UNIT, 0).ok()?;
    let mut data: Vec<u8> = (0..UNIT).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let mut once = |number: u32| seal.stamp(black_box(&mut data), 0, number);
    // The first one finds nothing in the caches.
    once(0);
    let started = Instant::now();
    for number in 1.. {
        once(number);
        let took = started.elapsed();
        if took >= time {
            return Some(f64::from(number) * f64::from(UNIT) / took.as_secs_f64());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_checksum_has_a_speed() {
        for &check in FioChecksum::ALL {
            let speed = checksum_speed(check, Duration::from_nanos(1));
            assert_eq!(
                speed.is_some_and(|speed| speed > 0.0),
                !matches!(
                    check,
                    FioChecksum::Meta | FioChecksum::Pattern | FioChecksum::PatternHeader | FioChecksum::Null
                ),
                "{check:?}"
            );
        }
    }
}
