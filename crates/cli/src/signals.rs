//! Signals that ask the program to stop.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Context;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::exit::Exit;

/// A flag that SIGINT (Ctrl-C), SIGTERM and SIGHUP set; a second one ends the program where it stands.
///
/// # Errors
/// The system does not allow a handler.
pub(crate) fn interrupt_flag() -> anyhow::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // In this order: the first signal finds the flag unset, a second one ends the program at once.
        signal_hook::flag::register_conditional_shutdown(signal, Exit::Interrupted as i32, flag.clone())
            .and_then(|_| signal_hook::flag::register(signal, flag.clone()))
            .context("cannot listen for signals")?;
    }
    Ok(flag)
}
