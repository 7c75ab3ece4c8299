//! The barrier: opens when every party is ready, or is called off when one is not.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often the thread that opens the barrier checks whether to give up.
const LOOK: Duration = Duration::from_millis(50);

/// A barrier that opens at an instant which all its parties learn.
#[derive(Debug, Default)]
pub struct Barrier {
    state: Mutex<State>,
    /// Notified of each party: only whoever opens the barrier waits for that, so that a thousand parties do not wake each other a
    /// thousand times.
    arrived: Condvar,
    /// Notified of the decision.
    opened: Condvar,
}

#[derive(Debug, Default)]
struct State {
    ready: u32,
    gone: u32,
    /// `Some(Some(origin))` when opened at that instant, `Some(None)` when called off.
    decided: Option<Option<u64>>,
}

impl Barrier {
    /// Reports that a party is ready, and waits for the decision: the instant that time counts from, or `None` when it is
    /// called off.
    pub fn pass(&self) -> Option<u64> {
        let mut state = self.lock();
        state.ready += 1;
        self.arrived.notify_all();
        while state.decided.is_none() {
            state = self.opened.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.decided.flatten()
    }

    /// Reports that a party will never be ready: the barrier stays shut.
    pub fn leave(&self) {
        self.lock().gone += 1;
        self.arrived.notify_all();
    }

    /// Waits until `parties` are ready. False when one has left, or `give_up` says so, which is asked now and then.
    pub fn await_parties(&self, parties: u32, give_up: &dyn Fn() -> bool) -> bool {
        let mut state = self.lock();
        while state.ready < parties {
            if state.gone > 0 || give_up() {
                return false;
            }
            state = self.arrived.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.gone == 0 && !give_up()
    }

    /// Opens the barrier with the instant that time counts from, or calls it off with `None`. What was decided first holds.
    pub fn decide(&self, origin: Option<u64>) {
        self.lock().decided.get_or_insert(origin);
        self.opened.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where a group, its workers being ready, waits for whatever starts together with it.
pub trait StartLine: Send + Sync {
    /// The instant that time counts from, on the phase's clock; `None` when it is called off. `give_up` says that the
    /// user wants to stop.
    fn wait(&self, give_up: &dyn Fn() -> bool) -> Option<u64>;

    /// Reports that this group will never be ready.
    fn leave(&self);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn all_parties_learn_the_same_instant() {
        let barrier = Arc::new(Barrier::default());
        let parties: Vec<_> = (0..4)
            .map(|_| {
                let barrier = barrier.clone();
                std::thread::spawn(move || barrier.pass())
            })
            .collect();
        assert!(barrier.await_parties(4, &|| false));
        barrier.decide(Some(7));
        barrier.decide(None);
        assert!(parties.into_iter().all(|party| party.join().unwrap() == Some(7)));
    }

    #[test]
    fn one_that_leaves_shuts_it_for_all() {
        let barrier = Arc::new(Barrier::default());
        let party = std::thread::spawn({
            let barrier = barrier.clone();
            move || barrier.pass()
        });
        barrier.leave();
        assert!(!barrier.await_parties(2, &|| false));
        barrier.decide(None);
        assert_eq!(party.join().unwrap(), None);
        assert!(!Barrier::default().await_parties(1, &|| true), "the opener may give up");
    }
}
