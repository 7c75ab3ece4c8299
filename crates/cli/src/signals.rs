//! Signals that ask the program to stop.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::{fs, io, thread};

use anyhow::Context;
use signal_hook::SigId;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGXCPU, SIGXFSZ};
use signal_hook::iterator::Signals;

use crate::exit::Exit;
use crate::output;

/// Set by the signals that ask the program to stop.
static INTERRUPTED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// What the first signal does, one of the values below.
static RESPONSE: AtomicU8 = AtomicU8::new(ENDS);
/// It ends the program with a message: no command checks the flag yet.
const ENDS: u8 = 0;
/// It only sets the flag, which a command checks.
const IS_NOTED: u8 = 1;
/// Its default action: shells then end their loops too.
const IS_DEFAULT: u8 = 2;
/// The program is ending.
const ENDING_NOW: u8 = 3;

/// What ends the program where it stands at a second signal.
static SECOND: Mutex<Vec<SigId>> = Mutex::new(Vec::new());

/// Those signals: SIGHUP only where it was not ignored when the program started, as `nohup` has it.
static ENDING: LazyLock<Vec<i32>> = LazyLock::new(|| {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let is_ignored = |signal: &i32| *signal == SIGHUP && ignores(&status, SIGHUP);
    // SIGXCPU: the soft limit of CPU time, until the hard one ends the process (ulimit -S -t, batch systems).
    [SIGINT, SIGTERM, SIGHUP, SIGXCPU].into_iter().filter(|signal| !is_ignored(signal)).collect()
});

/// Whether a process ignores a signal, by its `/proc/PID/status` (proc_pid_status(5)).
fn ignores(status: &str, signal: i32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Begins to listen for the signals that ask the program to stop, so that Ctrl-C has a response however early it comes: until a
/// command takes the flag, they end the program, under the name that it was called by and with this exit code.
pub(crate) fn listen(name: &'static str, status: u8) {
    let Ok(mut signals) = Signals::new(&*ENDING) else { return };
    let respond = move || {
        for signal in signals.forever() {
            INTERRUPTED.store(true, Ordering::SeqCst);
            match RESPONSE.compare_exchange(ENDS, ENDING_NOW, Ordering::SeqCst, Ordering::SeqCst) {
                Ok(_) => {
                    output::complain_at_once(name, "interrupted before anything was measured");
                    signal_hook::low_level::exit(status.into());
                }
                Err(IS_DEFAULT) => {
                    let _ = signal_hook::low_level::emulate_default_handler(signal);
                }
                Err(_) => {}
            }
        }
    };
    if thread::Builder::new().name("signals".into()).spawn(respond).is_err() {
        // Handlers that nobody reads would keep the signals from ending the program.
        for signal in ENDING.iter() {
            let _ = signal_hook::flag::register_conditional_default(*signal, Arc::new(AtomicBool::new(true)));
        }
    }
    let _ = end_at_second(status.into());
}

/// Has signals end the program as they end others: for commands that neither measure nor check the flag.
pub(crate) fn leave_to_default() {
    RESPONSE.store(IS_DEFAULT, Ordering::SeqCst);
}

/// Has a second signal end the program at once, also where the first could not be reported.
fn end_at_second(status: i32) -> io::Result<()> {
    let mut second = SECOND.lock().unwrap_or_else(PoisonError::into_inner);
    if !second.is_empty() {
        return Ok(());
    }
    let had_one = Arc::new(AtomicBool::new(false));
    // Beyond its soft limit of CPU time, a process has SIGXCPU again after each second of CPU time, however few milliseconds several
    // busy threads take for it: nobody asks for haste.
    for signal in ENDING.iter().filter(|signal| **signal != SIGXCPU) {
        // In this order: the first signal finds it unset.
        second.push(signal_hook::flag::register_conditional_shutdown(*signal, status, had_one.clone())?);
        second.push(signal_hook::flag::register(*signal, had_one.clone())?);
    }
    Ok(())
}

/// The flag, for a command that checks it from here on. Does not return where a signal is ending the program already.
fn checked_flag() -> Arc<AtomicBool> {
    if RESPONSE.swap(IS_NOTED, Ordering::SeqCst) == ENDING_NOW {
        loop {
            thread::park();
        }
    }
    INTERRUPTED.clone()
}

/// A flag that SIGINT (Ctrl-C), SIGTERM, SIGHUP and SIGXCPU set; a second one, but for SIGXCPU, ends the program where it stands.
///
/// # Errors
/// The system does not allow a handler.
pub(crate) fn interrupt_flag() -> anyhow::Result<Arc<AtomicBool>> {
    let flag = checked_flag();
    end_at_second(Exit::Interrupted as i32).context("cannot listen for signals")?;
    for signal in ENDING.iter() {
        signal_hook::flag::register(*signal, flag.clone()).context("cannot listen for signals")?;
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
    let flag = checked_flag();
    for id in SECOND.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        signal_hook::low_level::unregister(id);
    }
    for signal in ENDING.iter().chain(&[SIGQUIT]) {
        signal_hook::flag::register(*signal, flag.clone()).context("cannot listen for signals")?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_process_ignores_is_read_from_its_status() {
        let status =
            "Name:\tcat\nSigBlk:\t0000000000000001\nSigIgn:\t0000000000001001\nSigCgt:\t0000000000000002\n";
        assert!(ignores(status, SIGHUP));
        assert!(!ignores(status, SIGINT));
        assert!(!ignores("Name:\tcat\n", SIGHUP));
    }

    /// A second one that ended the program would end this test's, too.
    #[test]
    fn a_limit_on_cpu_time_may_be_exceeded_for_several_seconds() {
        let flag = interrupt_flag().unwrap();
        for _ in 0..3 {
            signal_hook::low_level::raise(SIGXCPU).unwrap();
        }
        assert!(flag.load(Ordering::SeqCst));
    }
}
