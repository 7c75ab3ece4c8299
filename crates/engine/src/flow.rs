//! Tasks that keep a ratio of their operations (fio's `flow`).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use iolite_model::Flow;

/// The shortest pause before asking again, in nanoseconds: what the others do in the meantime is worth a look.
const SHORTEST_PAUSE: u64 = 1000;

/// What the members of a group have done together, and their weights.
#[derive(Debug, Default)]
pub(crate) struct FlowGroup {
    operations: AtomicU64,
    weights: AtomicU64,
}

/// A worker's seat in a group; leaves it when dropped, so that the others don't wait for it.
#[derive(Debug)]
pub(crate) struct FlowSeat {
    group: Arc<FlowGroup>,
    weight: u64,
    operations: u64,
    pause: u64,
}

impl FlowSeat {
    /// Joins a group. All members join before the first one begins.
    pub(crate) fn new(group: Arc<FlowGroup>, flow: Flow) -> FlowSeat {
        let weight = u64::from(flow.weight.max(1));
        group.weights.fetch_add(weight, Ordering::Relaxed);
        FlowSeat { group, weight, operations: 0, pause: flow.pause.0.max(SHORTEST_PAUSE) }
    }

    /// Whether the next operation keeps the ratio: this worker is not ahead of what is its share by more than a round, in
    /// which each member does its weight.
    pub(crate) fn may_go(&self) -> bool {
        let all = u128::from(self.group.operations.load(Ordering::Relaxed));
        let weights = u128::from(self.group.weights.load(Ordering::Relaxed));
        u128::from(self.operations) * weights <= (all + weights) * u128::from(self.weight)
    }

    /// Counts an operation.
    pub(crate) fn went(&mut self) {
        self.operations += 1;
        self.group.operations.fetch_add(1, Ordering::Relaxed);
    }

    /// How long to wait before asking again, in nanoseconds.
    pub(crate) fn pause(&self) -> u64 {
        self.pause
    }
}

impl Drop for FlowSeat {
    fn drop(&mut self) {
        self.group.weights.fetch_sub(self.weight, Ordering::Relaxed);
        self.group.operations.fetch_sub(self.operations, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolite_model::Nanos;

    fn seats(weights: &[u32]) -> Vec<FlowSeat> {
        let group = Arc::new(FlowGroup::default());
        let seat =
            |weight: &u32| FlowSeat::new(group.clone(), Flow { group: 1, weight: *weight, pause: Nanos(0) });
        weights.iter().map(seat).collect()
    }

    /// Lets each that may go do an operation, so many rounds.
    fn run(seats: &mut [FlowSeat], rounds: usize) -> Vec<u64> {
        for _ in 0..rounds {
            for seat in seats.iter_mut() {
                if seat.may_go() {
                    seat.went();
                }
            }
        }
        seats.iter().map(|seat| seat.operations).collect()
    }

    #[test]
    fn members_keep_the_ratio_of_their_weights() {
        let done = run(&mut seats(&[1, 3]), 3000);
        assert!(done[1].abs_diff(3 * done[0]) <= 8, "{done:?}");
        let done = run(&mut seats(&[8, 1, 1]), 1000);
        assert!(done[0].abs_diff(8 * done[1]) <= 20 && done[1].abs_diff(done[2]) <= 2, "{done:?}");
    }

    #[test]
    fn one_that_does_nothing_holds_the_others_until_it_leaves() {
        let mut seats = seats(&[1, 1]);
        let idle = seats.remove(1);
        let held = run(&mut seats, 100)[0];
        assert!(held < 5, "{held}");
        drop(idle);
        assert!(run(&mut seats, 100)[0] > 90);
    }
}
