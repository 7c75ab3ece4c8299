//! What tests of times share, those of other crates too.

// Each test program takes what it needs.
#![allow(dead_code)]

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Attempts of a test of times.
const ATTEMPTS: usize = 3;

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
