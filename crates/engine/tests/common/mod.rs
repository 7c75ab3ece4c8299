//! What tests of times share, those of other crates too.

// Each test program takes what it needs.
#![allow(dead_code)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Attempts of a test of times.
const ATTEMPTS: usize = 3;

/// A flag that is raised after a time, by a thread that tells when that was.
pub(crate) fn raised_after(time: Duration) -> (Arc<AtomicBool>, JoinHandle<Instant>) {
    let flag = Arc::new(AtomicBool::new(false));
    let raised = flag.clone();
    let raiser = std::thread::spawn(move || {
        std::thread::sleep(time);
        raised.store(true, Ordering::Relaxed);
        Instant::now()
    });
    (flag, raiser)
}

/// A test of times, rates or a device's counters: others may use the machine as well, and disturb what is measured. What is wrong
/// is wrong every time, so that one attempt in which all is right is enough.
pub(crate) fn undisturbed(attempt: impl Fn()) {
    for left in (1..ATTEMPTS).rev() {
        if catch_unwind(AssertUnwindSafe(&attempt)).is_ok() {
            return;
        }
        eprintln!("perhaps something else has used the machine meanwhile: once more, {left} left");
    }
    attempt();
}
