//! Jumps to the places of another order, and operations in a row from each.

use iolite_model::{Access, Bytes, Jumps};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::Offsets;
use crate::error::WorkloadError;
use crate::random::below;

/// Where the next operation goes.
#[derive(Debug, Clone)]
pub(crate) struct JumpWalk {
    /// Where jumps lead.
    to: Offsets,
    /// Operations from one jump to the next; 0 where chance decides.
    run: u64,
    percent: u64,
    /// Bytes from the start of an operation to that of the next one; 0 for its own size.
    step: u64,
    /// The next one begins where this one does.
    repeat: bool,
    /// Operations left of this run.
    left: u64,
    /// Where an operation that does not jump begins; none before the first.
    next: Option<u64>,
    chance: Xoshiro256PlusPlus,
}

impl JumpWalk {
    /// Jumps to the places of `to`.
    pub(crate) fn new(jumps: &Jumps, to: Offsets, chance: Xoshiro256PlusPlus) -> JumpWalk {
        let percent = jumps.percent.into();
        let (run, step, repeat) = (jumps.run, jumps.step.0, jumps.repeat);
        JumpWalk { to, run, percent, step, repeat, left: 0, next: None, chance }
    }

    /// The place of an operation of so many bytes, of which `last` is the largest that is possible: a multiple of the alignment
    /// where `to` has such places.
    #[inline]
    pub(crate) fn next_place(&mut self, bytes: u64, last: u64, alignment: u64) -> u64 {
        let jumps = self.jumps();
        let place = match self.next {
            Some(next) if !jumps => {
                match next > last {
                    // Larger than the one that it repeats, at the end.
                    true if self.repeat => last - last % alignment,
                    true => 0,
                    false => next,
                }
            }
            _ => {
                self.left = self.run;
                let place = self.to.next_offset();
                // Larger operations may not fit where smaller ones do.
                if place > last { last - last % alignment } else { place }
            }
        };
        self.left = self.left.saturating_sub(1);
        if self.repeat {
            self.next = Some(place);
            return place;
        }
        let step = if self.step > 0 { self.step } else { bytes };
        let next = place.saturating_add(step);
        self.next = Some(if alignment > 1 {
            next.checked_next_multiple_of(alignment).unwrap_or(u64::MAX)
        } else {
            next
        });
        place
    }

    fn jumps(&mut self) -> bool {
        if self.run > 0 { self.left == 0 } else { below(&mut self.chance, 100) < self.percent }
    }
}

/// Checks the parameters.
///
/// # Errors
/// They make no order, or one that direct I/O can't do.
pub(super) fn check(jumps: &Jumps, span: Bytes, block: Bytes, direct: bool) -> Result<(), WorkloadError> {
    WorkloadError::unless(
        jumps.run > 0 || (1..=100).contains(&jumps.percent),
        || format!("{} % of the operations jump", jumps.percent),
        "without runs of a fixed length it has to be 1 to 100 percent",
        "specify `run` or `percent`",
    )?;
    let random = !jumps.to.is_sequential()
        && !matches!(
            jumps.to,
            Access::ZoneCycle(_)
                | Access::Runs { .. }
                | Access::Jumps(_)
                | Access::Precondition(_)
                | Access::ByKind(_)
                | Access::Mixture(_)
                | Access::Trace(_)
        );
    WorkloadError::unless(
        random,
        || "jumps lead to an order that is not random".to_owned(),
        "they go to random places",
        "specify random, zipf, pareto, normal, zoned or hot-spots",
    )?;
    let given = || format!("operations begin {} bytes after the one before", jumps.step.0);
    super::check_aligned(direct, jumps.step, given)?;
    super::check(&jumps.to, span, block, direct)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offsets(jumps: Jumps, count: usize) -> Vec<u64> {
        let mut offsets = Offsets::new(&Access::Jumps(Box::new(jumps)), 1 << 20, 4096, 0, 1, 7).unwrap();
        (0..count).map(|_| offsets.next_offset()).collect()
    }

    fn share_in_a_row(offsets: &[u64], step: u64) -> f64 {
        let follows = |pair: &&[u64]| pair[1] == (pair[0] + step) % (1 << 20);
        offsets.windows(2).filter(follows).count() as f64 / (offsets.len() - 1) as f64
    }

    #[test]
    fn a_share_of_the_operations_jumps() {
        let jumps = |percent| Jumps { to: Access::Random, percent, ..Jumps::default() };
        for (percent, expected) in [(1, 0.99), (30, 0.7), (75, 0.25)] {
            let found = share_in_a_row(&offsets(jumps(percent), 20_000), 4096);
            // Chance leads to the next block too; 5 standard deviations.
            assert!((found - expected).abs() < 0.02, "{percent} %: {found}");
        }
        assert!(offsets(jumps(30), 1000).iter().all(|offset| offset % 4096 == 0 && *offset < 1 << 20));
    }

    #[test]
    fn runs_have_their_length_and_step() {
        let jumps = Jumps {
            to: Access::Zipf { theta: 1.2, centre: None },
            run: 4,
            step: Bytes(16384),
            ..Jumps::default()
        };
        for run in offsets(jumps, 400).chunks(4) {
            let follows = |pair: &[u64]| pair[1] == pair[0] + 16384 || pair[1] == 0;
            assert!(run.windows(2).all(follows), "{run:?}");
        }
    }

    #[test]
    fn an_offset_is_repeated() {
        for to in [Access::Random, Access::Covering] {
            let jumps = Jumps { to, run: 4, repeat: true, ..Jumps::default() };
            let places: Vec<u64> = offsets(jumps, 1024)
                .chunks(4)
                .map(|run| {
                    assert!(run.iter().all(|offset| *offset == run[0]), "{run:?}");
                    run[0]
                })
                .collect();
            assert!(places.iter().collect::<std::collections::BTreeSet<_>>().len() > 100, "{places:?}");
        }
    }

    #[test]
    fn what_makes_no_jumps_is_refused() {
        let refused =
            |jumps: &Jumps, direct| check(jumps, Bytes::MIB, Bytes(4096), direct).unwrap_err().to_string();
        let good = Jumps { to: Access::Random, percent: 50, ..Jumps::default() };
        assert!(check(&good, Bytes::MIB, Bytes(4096), true).is_ok());
        assert!(refused(&Jumps { percent: 0, ..good.clone() }, false).contains("0 %"));
        assert!(refused(&Jumps { to: Access::Sequential, ..good.clone() }, false).contains("not random"));
        assert!(refused(&Jumps { step: Bytes(100), ..good }, true).contains("100 bytes"));
    }
}
