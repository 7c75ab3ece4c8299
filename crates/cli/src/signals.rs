//! Signals that ask the program to stop.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Context;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// A flag that SIGINT (Ctrl-C), SIGTERM and SIGHUP set.
///
/// # Errors
/// The system does not allow a handler.
pub(crate) fn interrupt_flag() -> anyhow::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, flag.clone()).context("cannot listen for signals")?;
    }
    Ok(flag)
}
