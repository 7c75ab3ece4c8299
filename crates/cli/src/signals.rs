//! Signals that ask the program to stop.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Context;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGXFSZ};

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
    survive_file_limits()?;
    Ok(flag)
}

/// Does what Ctrl-C does, for a view that has taken the keyboard.
pub(crate) fn interrupt() {
    // It can only fail for a signal that there is not.
    let _ = signal_hook::low_level::raise(SIGINT);
}

/// A flag as [`interrupt_flag`]'s, for a command that has to undo something at its end: further signals do not end the
/// program before.
///
/// # Errors
/// The system does not allow a handler.
pub(crate) fn undoing_interrupt_flag() -> anyhow::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
        signal_hook::flag::register(signal, flag.clone()).context("cannot listen for signals")?;
    }
    survive_file_limits()?;
    Ok(flag)
}

/// Makes a limit on the size of files (`ulimit -f`) an error of the operation, EFBIG, rather than the end of the program.
///
/// # Errors
/// The system does not allow a handler.
pub(crate) fn survive_file_limits() -> anyhow::Result<()> {
    let nobody = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGXFSZ, nobody).context("cannot listen for signals")?;
    Ok(())
}

/// A flag that SIGUSR1 sets: results so far are wanted.
///
/// # Errors
/// The system does not allow a handler.
pub(crate) fn status_flag() -> anyhow::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGUSR1, flag.clone()).context("cannot listen for signals")?;
    Ok(flag)
}
