//! What this program uses of the host itself, its ended threads and awaited children included where the kernel counts them
//! (/proc/self/io, proc_pid_io(5); getrusage(2)).

use iolite_model::{Bytes, ReadingValue};
use iolite_sys::usage;

use crate::probe::{HeldFile, Probe, ProbeError, Subject, number_of};

/// Reads CPU time and block I/O of this process.
#[derive(Debug)]
pub struct OwnProcess {
    io: HeldFile,
}

impl OwnProcess {
    /// Of this process.
    ///
    /// # Errors
    /// /proc/self/io can't be opened: the kernel was built without accounting of tasks' I/O.
    pub fn open() -> Result<OwnProcess, ProbeError> {
        Ok(OwnProcess { io: HeldFile::open("/proc/self/io")? })
    }

    /// Bytes that this process has had read from block devices, and bytes that it has sent to be written, directly or by way
    /// of dirty pages.
    ///
    /// # Errors
    /// The kernel does not report them.
    pub fn io(&mut self) -> Result<(Bytes, Bytes), ProbeError> {
        let text = self.io.read()?;
        let of = |name| number_of(text, name).map(|bytes| Bytes(bytes as u64));
        let both = of("read_bytes").zip(of("write_bytes"));
        both.ok_or_else(|| self.io.malformed("proc_pid_io(5)"))
    }
}

impl Probe for OwnProcess {
    fn name(&self) -> &'static str {
        "process"
    }

    fn read(&mut self) -> Result<Vec<Subject>, ProbeError> {
        let (read, written) = self.io()?;
        let cpu = usage::of_this_process().map_err(|error| ProbeError::Other(Box::new(error)))?;
        Ok(vec![Subject::host(vec![
            ReadingValue::counter("cpu_seconds", cpu.as_secs_f64()),
            ReadingValue::counter("device_read_bytes", read.0 as f64),
            ReadingValue::counter("device_written_bytes", written.0 as f64),
        ])])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_used_the_cpu() {
        let subjects = OwnProcess::open().unwrap().read().unwrap();
        assert_eq!(subjects[0].values.len(), 3, "{subjects:?}");
    }
}
