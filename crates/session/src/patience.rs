//! Work that the user need not wait for.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use iolite_engine::Control;

/// How often to check whether the user wants to stop.
pub(crate) const TICK: Duration = Duration::from_millis(20);

/// How long work may still take when the user wants to stop: all of it together stays within a second.
pub const GRACE: Duration = Duration::from_millis(250);

/// Why work was given up on. Its thread is left to itself and ends with the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GaveUp {
    /// The user wants to stop.
    Interrupted,
    /// It took too long.
    Late,
    /// No thread could be started for it.
    NoThread,
    /// It has died.
    Failed,
}

/// Does `work` on a thread of its own, for as long as the user wants and `limit` allows.
///
/// # Errors
/// Why it was given up on.
pub fn patiently<T: Send + 'static>(
    control: &Control,
    limit: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, GaveUp> {
    wait_for(control, limit, work, || ())
}

/// As [`patiently`]; `meanwhile` is called every [`TICK`] until the work is done or given up on.
pub(crate) fn wait_for<T: Send + 'static>(
    control: &Control,
    limit: Duration,
    work: impl FnOnce() -> T + Send + 'static,
    mut meanwhile: impl FnMut(),
) -> Result<T, GaveUp> {
    let (sender, receiver) = mpsc::channel();
    let spawned = thread::Builder::new().spawn(move || {
        // Nobody listens once it has been given up on.
        let _ = sender.send(work());
    });
    spawned.map_err(|_| GaveUp::NoThread)?;
    let started = Instant::now();
    let mut interrupted: Option<Instant> = None;
    loop {
        match receiver.recv_timeout(TICK) {
            Ok(done) => return Ok(done),
            Err(RecvTimeoutError::Disconnected) => return Err(GaveUp::Failed),
            Err(RecvTimeoutError::Timeout) if started.elapsed() > limit => return Err(GaveUp::Late),
            Err(RecvTimeoutError::Timeout) => meanwhile(),
        }
        if control.interrupted() && interrupted.get_or_insert_with(Instant::now).elapsed() > GRACE {
            return Err(GaveUp::Interrupted);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_waited_for_until_the_user_has_had_enough() {
        let control = Control::default();
        assert_eq!(patiently(&control, Duration::MAX, || 7), Ok(7));
        let forever = || thread::sleep(Duration::from_secs(3600));
        assert_eq!(patiently(&control, Duration::from_millis(50), forever), Err(GaveUp::Late));
        control.interrupt();
        assert_eq!(patiently(&control, Duration::MAX, forever), Err(GaveUp::Interrupted));
    }
}
