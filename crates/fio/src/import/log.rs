//! One log file of fio's.

use std::path::Path;

use super::ImportError;
use crate::output::bins;

/// What a log holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Quantity {
    /// Bandwidth in KiB per second.
    Bandwidth,
    /// Operations per second; of every operation: one.
    Iops,
    /// Total latency in nanoseconds.
    Latency,
    /// From submission to completion, in nanoseconds.
    Completion,
    /// Time to submit, in nanoseconds.
    Submission,
    /// Counts of completion latencies by bucket.
    Histogram,
}

impl Quantity {
    /// All, with the end of a file's name that each has.
    pub const ALL: [(Quantity, &'static str); 6] = [
        (Quantity::Histogram, "_clat_hist"),
        (Quantity::Completion, "_clat"),
        (Quantity::Submission, "_slat"),
        (Quantity::Latency, "_lat"),
        (Quantity::Bandwidth, "_bw"),
        (Quantity::Iops, "_iops"),
    ];
}

/// An entry of a log.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Milliseconds since the job's start.
    pub milliseconds: u64,
    /// The value in the log's unit; of a histogram the number of operations.
    pub value: f64,
    /// 0 read, 1 write, 2 trim.
    pub direction: usize,
    /// Size of the operation; 0 in an average over a window.
    pub block: u64,
    /// Of a histogram: latency in nanoseconds and count of each bucket that is not empty.
    pub buckets: Vec<(u64, u64)>,
}

/// A log.
#[derive(Debug, Clone, PartialEq)]
pub struct Log {
    /// Its file.
    pub file: String,
    /// Name of the log without quantity and thread: the same for all logs of a job.
    pub prefix: String,
    /// Number of the thread; `None` in a log of all jobs.
    pub thread: Option<u32>,
    /// What it holds.
    pub quantity: Quantity,
    /// Its entries, in the order of the file.
    pub entries: Vec<Entry>,
}

impl Log {
    /// Reads a log; what it holds follows from the file's name.
    ///
    /// # Errors
    /// The name does not say what it holds, or a line is none of a log.
    pub fn read(path: &Path, text: &str) -> Result<Log, ImportError> {
        let file = path.display().to_string();
        let (prefix, thread, quantity) =
            named(path).ok_or_else(|| ImportError::Name { file: file.clone() })?;
        let mut entries = Vec::new();
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let entry = entry(line, quantity);
            entries.push(entry.ok_or_else(|| ImportError::Line { file: file.clone(), line: number + 1 })?);
        }
        Ok(Log { file, prefix, thread, quantity, entries })
    }

    /// Whether a file's name is that of a log.
    pub fn is_named(path: &Path) -> bool {
        named(path).is_some()
    }

    /// Whether its entries are averages over a window, rather than one for each operation.
    pub fn is_averaged(&self) -> bool {
        self.quantity == Quantity::Histogram || self.entries.iter().all(|entry| entry.block == 0)
    }
}

/// Prefix, thread and quantity of a log by its file's name: `PREFIX_bw.1.log`, without the number where there is one log of all.
fn named(path: &Path) -> Option<(String, Option<u32>, Quantity)> {
    let name = path.file_name()?.to_str()?.strip_suffix(".log")?;
    let (stem, thread) = match name.rsplit_once('.') {
        Some((stem, number)) if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) => {
            (stem, number.parse().ok())
        }
        _ => (name, None),
    };
    let found = Quantity::ALL.iter().find_map(|(quantity, end)| Some((stem.strip_suffix(end)?, *quantity)));
    let (prefix, quantity) = found?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let prefix = folder.map_or(prefix.to_owned(), |folder| folder.join(prefix).display().to_string());
    Some((prefix, thread, quantity))
}

fn entry(line: &str, quantity: Quantity) -> Option<Entry> {
    let mut fields = line.split(',').map(str::trim);
    let milliseconds = fields.next()?.parse().ok()?;
    if quantity != Quantity::Histogram {
        let value: f64 = fields.next()?.parse().ok()?;
        let direction = direction(fields.next()?)?;
        // A log of a fio before 2.0 ends here.
        let block = fields.next().map_or(Some(0), |block| block.parse().ok())?;
        let usable = value.is_finite() && value >= 0.0;
        return usable.then_some(Entry { milliseconds, value, direction, block, buckets: Vec::new() });
    }
    let direction = direction(fields.next()?)?;
    let block = fields.next()?.parse().ok()?;
    let mut buckets = Vec::new();
    for (bucket, count) in fields.take(bins::COLUMNS).enumerate() {
        let count: u64 = count.parse().ok()?;
        if count > 0 {
            buckets.push((bins::middle(bucket), count));
        }
    }
    let value = buckets.iter().map(|(_, count)| *count as f64).sum();
    Some(Entry { milliseconds, value, direction, block, buckets })
}

fn direction(text: &str) -> Option<usize> {
    text.parse().ok().filter(|direction| *direction <= 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_a_log_holds() {
        for (name, prefix, thread, quantity) in [
            ("a_bw.1.log", "a", Some(1), Quantity::Bandwidth),
            ("x/fio_generic_iops.log", "x/fio_generic", None, Quantity::Iops),
            ("a_clat_hist.12.log", "a", Some(12), Quantity::Histogram),
            ("a_lat.results_clat.2.log", "a_lat.results", Some(2), Quantity::Completion),
        ] {
            let found = named(Path::new(name)).unwrap();
            assert_eq!((found.0.as_str(), found.1, found.2), (prefix, thread, quantity), "{name}");
        }
        for name in ["a.log", "a_bw.1.txt", "a_bw", "bw.log", ""] {
            assert!(!Log::is_named(Path::new(name)), "{name}");
        }
    }

    #[test]
    fn lines_of_both_forms_are_read_and_others_named() {
        let read = |text: &str| Log::read(Path::new("a_lat.1.log"), text);
        let log = read("100, 784, 0, 4096, 0\n200,90,1,4096, 0, 0x0000, 17\n").unwrap();
        assert_eq!((log.entries.len(), log.entries[1].value, log.is_averaged()), (2, 90.0, false));
        for wrong in ["100, 784, 0, 0\nx", "1, 2, 3, 4", "-1, 2, 0, 0", "1, NaN, 0, 0", "1"] {
            assert!(matches!(read(wrong), Err(ImportError::Line { .. })), "{wrong}");
        }
        let histogram = Log::read(Path::new("a_clat_hist.log"), "500, 1, 4096, 0, 3, 0, 7").unwrap();
        assert_eq!(histogram.entries[0].buckets, [(1, 3), (3, 7)]);
        assert_eq!(histogram.entries[0].value, 10.0);
    }
}
