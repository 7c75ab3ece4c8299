//! Which numbers of jobs, and in which order.

use iolite_model::SweepEnd;

use super::{SweepError, SweepOptions};

/// Where the default list begins; from there on it doubles.
const FIRST: [u32; 3] = [1, 5, 10];

/// A last step at the limit is worth running when it is so much more than the one before.
const WORTH: f64 = 1.25;

/// The numbers of jobs to try, and why they end where they do.
pub(super) fn list(options: &SweepOptions) -> Result<(Vec<u32>, SweepEnd), SweepError> {
    // Only who writes needs a global of its own.
    let globals = options.terms.operation.writes().then_some(options.globals);
    let given = &options.terms.jobs;
    if given.is_empty() {
        return by_default(options.max_jobs, globals);
    }
    let ascending = given.windows(2).all(|pair| pair[0] < pair[1]);
    let max = given.iter().copied().max().unwrap_or(0);
    if !ascending || given.contains(&0) {
        return Err(SweepError::Jobs(given.clone()));
    }
    if let Some(globals) = globals.filter(|&globals| max > globals) {
        return Err(SweepError::Globals { jobs: max, globals });
    }
    if max > options.max_jobs {
        return Err(SweepError::MaxJobs { jobs: max, max: options.max_jobs });
    }
    Ok((given.clone(), SweepEnd::ListDone))
}

fn by_default(max_jobs: u32, globals: Option<u32>) -> Result<(Vec<u32>, SweepEnd), SweepError> {
    let max = globals.map_or(max_jobs, |globals| globals.min(max_jobs));
    if max == 0 {
        return Err(match globals {
            Some(0) => SweepError::Globals { jobs: 1, globals: 0 },
            _ => SweepError::MaxJobs { jobs: 1, max: max_jobs },
        });
    }
    let end = match globals {
        Some(globals) if globals <= max_jobs => SweepEnd::Globals { globals },
        _ => SweepEnd::MaxJobs { max: max_jobs },
    };
    let doubled = std::iter::successors(Some(FIRST[2]), |jobs| jobs.checked_mul(2)).skip(1);
    let mut list: Vec<u32> = FIRST.into_iter().chain(doubled).take_while(|&jobs| jobs <= max).collect();
    let last = list.last().copied().unwrap_or(1);
    if f64::from(max) >= f64::from(last) * WORTH {
        list.push(max);
    }
    Ok((list, end))
}

/// In which order a pass runs so many steps, as positions in the ascending list.
///
/// Two passes make a pair, the second running the first one's order backwards: what changes steadily with time, as a cache that
/// warms or a device that fills, then adds the same to every step. Each pair begins elsewhere in the list, so that no step
/// always follows the same one.
pub(crate) fn pass(steps: usize, pass: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..steps).collect();
    if steps > 0 {
        order.rotate_left(pass / 2 * (steps / 2).max(1) % steps);
    }
    if pass % 2 == 1 {
        order.reverse();
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_list_doubles_up_to_what_is_allowed() {
        let list = |max, globals| by_default(max, globals);
        let (all, end) = list(1280, None).unwrap();
        assert_eq!(all, [1, 5, 10, 20, 40, 80, 160, 320, 640, 1280]);
        assert_eq!(end, SweepEnd::MaxJobs { max: 1280 });
        assert_eq!(list(1280, Some(14)).unwrap(), (vec![1, 5, 10, 14], SweepEnd::Globals { globals: 14 }));
        assert_eq!(list(1280, Some(12)).unwrap().0, [1, 5, 10]);
        assert_eq!(list(8, Some(100)).unwrap(), (vec![1, 5, 8], SweepEnd::MaxJobs { max: 8 }));
        assert_eq!(list(3, None).unwrap().0, [1, 3]);
        assert_eq!(list(1, None).unwrap().0, [1]);
        assert_eq!(list(9, Some(0)), Err(SweepError::Globals { jobs: 1, globals: 0 }));
        assert!(list(u32::MAX, None).unwrap().0.len() < 40);
    }

    #[test]
    fn a_pair_of_passes_puts_every_step_at_the_same_mean_time() {
        for steps in 1..9 {
            for pair in 0..5 {
                let (there, back) = (pass(steps, 2 * pair), pass(steps, 2 * pair + 1));
                for step in 0..steps {
                    let at = |order: &[usize]| order.iter().position(|&other| other == step).unwrap();
                    assert_eq!(at(&there) + at(&back), steps - 1);
                }
            }
        }
        assert_eq!(pass(5, 0), [0, 1, 2, 3, 4]);
        assert_eq!(pass(5, 1), [4, 3, 2, 1, 0]);
        assert_eq!(pass(5, 2), [2, 3, 4, 0, 1]);
        assert_eq!(pass(0, 3), [0; 0]);
    }
}
