//! What a job file depends on besides its text, looked up on this machine.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use iolite_fio::language::HostContext;
use iolite_fio::language::job_file::LARGEST_FILE;
use iolite_fio::language::thread::Clock;
use iolite_model::{ErrorCause, ErrorOrigin};
use iolite_sys::input;

use crate::exit::UsageError;

/// Calls `with` with this machine's context.
pub(crate) fn host_context<T>(with: impl FnOnce(&HostContext<'_>) -> T) -> T {
    let host = iolite_observe::host();
    let variable = |name: &str| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
    with(&HostContext {
        variable: &variable,
        page_size: iolite_sys::page_cache::page_size(),
        memory_mib: host.memory.0 >> 20,
        cpus: u64::from(host.cpus),
        read_file: &read_file,
        open_trace: &open_trace,
    })
}

/// Notes how far a clock is ahead of the real time.
///
/// # Errors
/// This system has no such clock.
pub(crate) fn read_clock(clock: &mut Clock) -> Result<(), UsageError> {
    let time = iolite_sys::clock::time_of(clock.id as i32).map_err(|error| {
        UsageError::new(format!(
            "cannot read clock {} of this system: {error}; specify another job_start_clock_id or log_alternate_epoch_clock_id, for \
             example 0 (the real time) or 1 (monotonic)",
            clock.id
        ))
    })?;
    let ahead = i128::from(time) - i128::from(iolite_session::unix_now().0);
    clock.ahead = i64::try_from(ahead).unwrap_or(0);
    Ok(())
}

/// Reads a job file, or standard input for `-`; no more than a job file may have, and one byte.
///
/// # Errors
/// It can't be read.
pub(crate) fn read(name: &str) -> Result<Vec<u8>, UsageError> {
    let read = if name == "-" { up_to_limit(io::stdin()) } else { read_file(Path::new(name)) };
    read.map_err(|error| {
        let advice = ErrorCause::advice(&error, ErrorOrigin::Path(Path::new(name)));
        UsageError::new(format!("cannot read the job file {name}: {error}{advice}"))
    })
}

fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    up_to_limit(input::open(path)?)
}

fn open_trace(path: &Path) -> io::Result<Box<dyn BufRead>> {
    if path == Path::new("-") {
        return Ok(Box::new(io::stdin().lock()));
    }
    Ok(Box::new(BufReader::new(input::open(path)?)))
}

fn up_to_limit(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(LARGEST_FILE as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
