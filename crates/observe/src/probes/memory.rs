//! Memory, and what of it waits to be written (/proc/meminfo, proc_meminfo(5)).

use iolite_model::ReadingValue;

use crate::probe::{HeldFile, Probe, ProbeError, Subject, number_of};

/// Name of each value, and the line that it is read from.
const LINES: [(&str, &str); 8] = [
    ("available_bytes", "MemAvailable"),
    ("free_bytes", "MemFree"),
    ("page_cache_bytes", "Cached"),
    ("buffers_bytes", "Buffers"),
    ("dirty_bytes", "Dirty"),
    ("writeback_bytes", "Writeback"),
    ("anonymous_bytes", "AnonPages"),
    ("swap_free_bytes", "SwapFree"),
];

/// Reads how memory is used.
#[derive(Debug)]
pub struct Memory {
    file: HeldFile,
}

impl Memory {
    /// Of this host.
    ///
    /// # Errors
    /// /proc/meminfo can't be opened.
    pub fn open() -> Result<Memory, ProbeError> {
        Ok(Memory { file: HeldFile::open("/proc/meminfo")? })
    }
}

impl Probe for Memory {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn read(&mut self) -> Result<Vec<Subject>, ProbeError> {
        let values = values(self.file.read()?);
        if values.is_empty() {
            return Err(self.file.malformed("proc_meminfo(5)"));
        }
        Ok(vec![Subject::host(values)])
    }
}

fn values(text: &str) -> Vec<ReadingValue> {
    let value = |&(name, line): &(&'static str, &str)| {
        Some(ReadingValue::gauge(name, number_of(text, line)? * 1024.0))
    };
    LINES.iter().filter_map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found_by_their_whole_name() {
        let text = "MemFree:  5 kB\nCached:  7 kB\nSwapCached:  9 kB\nWritebackTmp: 3 kB\nDirty:\t 2 kB\n";
        let values: Vec<_> =
            values(text).into_iter().map(|value| (value.name.into_owned(), value.value)).collect();
        let expected = [("free_bytes", 5120.0), ("page_cache_bytes", 7168.0), ("dirty_bytes", 2048.0)];
        assert_eq!(values, expected.map(|(name, value)| (name.to_string(), value)));
    }

    #[test]
    fn this_host_has_memory() {
        let subjects = Memory::open().unwrap().read().unwrap();
        assert!(subjects[0].values.len() >= 6, "{subjects:?}");
    }
}
