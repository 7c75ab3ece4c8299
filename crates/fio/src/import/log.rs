//! One log file of fio's.

use std::path::Path;

use super::ImportError;
use crate::output::bins;

/// Endings of compressed logs: iolite's and fio's.
const COMPRESSED: [&str; 2] = [".gz", ".fz"];

/// The largest `log_hist_coarseness`.
const MAX_COARSENESS: u32 = 6;

/// Milliseconds since 1970 rather than since a job's start: those of 1973 and later. No job runs for three years.
const EPOCH: u64 = 100_000_000_000;

/// The last time, in milliseconds: later ones have no u64 in nanoseconds.
const MAX_MILLISECONDS: u64 = u64::MAX / 1_000_000;

/// The largest value, size or count: whole numbers up to 2^53 have an exact f64. In nanoseconds, it is a hundred days.
const MAX_VALUE: u64 = 1 << 53;

/// Length of a window where no log has two.
const ONE_WINDOW: u64 = 1000;

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
    /// The largest value of the window, where it is logged beside the average (`log_window_value=both`).
    pub largest: Option<f64>,
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
        let lines = || text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let with_largest = quantity != Quantity::Histogram && has_largest(lines().map(|(_, line)| line));
        let mut entries = Vec::new();
        for (number, line) in lines() {
            let entry = match quantity {
                Quantity::Histogram => histogram(line),
                _ => value(line, with_largest),
            };
            entries.push(entry.ok_or_else(|| ImportError::Line { file: file.clone(), line: number + 1 })?);
        }
        Ok(Log { file, prefix, thread, quantity, entries })
    }

    /// Whether a file's name is that of a log.
    pub fn is_named(path: &Path) -> bool {
        named(path).is_some()
    }

    /// Whether its times are counted from 1970.
    fn is_since_epoch(&self) -> bool {
        self.entries.iter().any(|entry| entry.milliseconds >= EPOCH)
    }

    /// The longest distance between its times, in milliseconds; `None` where there is only one.
    fn window(&self) -> Option<u64> {
        let mut times: Vec<u64> = self.entries.iter().map(|entry| entry.milliseconds).collect();
        times.sort_unstable();
        times.windows(2).map(|pair| pair[1] - pair[0]).max().filter(|window| *window > 0)
    }

    /// Whether its entries are averages over a window, rather than one for each operation.
    pub fn is_averaged(&self) -> bool {
        self.quantity == Quantity::Histogram || self.entries.iter().all(|entry| entry.block == 0)
    }
}

/// Counts the times of logs from the start of the first of them, where they are counted from 1970 (`log_unix_epoch`); returns that
/// start, in milliseconds since 1970.
pub fn from_start(logs: &mut [Log]) -> Option<u64> {
    let since_epoch: Vec<&Log> = logs.iter().filter(|log| log.is_since_epoch()).collect();
    let averaged = since_epoch.iter().filter(|log| log.is_averaged());
    let usual = averaged.filter_map(|log| log.window()).min().unwrap_or(ONE_WINDOW);
    let begun = |log: &&Log| {
        let first = log.entries.iter().map(|entry| entry.milliseconds).min()?;
        // The time of an average is the end of its window.
        Some(if log.is_averaged() { first.saturating_sub(log.window().unwrap_or(usual)) } else { first })
    };
    let start = since_epoch.iter().filter_map(begun).min()?;
    for entry in logs.iter_mut().flat_map(|log| &mut log.entries).filter(|entry| entry.milliseconds >= EPOCH)
    {
        entry.milliseconds = entry.milliseconds.saturating_sub(start);
    }
    Some(start)
}

/// Prefix, thread and quantity of a log by its file's name: `PREFIX_bw.1.log`, without the number where there is one log of all,
/// and with a further ending where it is compressed.
fn named(path: &Path) -> Option<(String, Option<u32>, Quantity)> {
    let name = path.file_name()?.to_str()?;
    let name =
        COMPRESSED.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name).strip_suffix(".log")?;
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

/// Whether every line has the largest value of its window behind the average: `ms, average, largest, direction, 0, priority,
/// issued`. A line with an offset has as many fields; its fourth is the size of the operation, which is no direction, or 0 in a
/// window. A log in which neither form is impossible is read without.
fn has_largest<'a>(lines: impl Iterator<Item = &'a str>) -> bool {
    let mut shown = false;
    for line in lines {
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        let [_, average, largest, direction_of, "0", _, _, ..] = fields[..] else { return false };
        let (Ok(average), Ok(largest)) = (average.parse::<f64>(), largest.parse::<f64>()) else {
            return false;
        };
        if direction(direction_of).is_none() || average > largest {
            return false;
        }
        shown |= largest > 2.0 || direction_of != "0";
    }
    shown
}

fn value(line: &str, with_largest: bool) -> Option<Entry> {
    let mut fields = line.split(',').map(str::trim);
    let milliseconds = whole(fields.next()?, MAX_MILLISECONDS)?;
    let value = amount(fields.next()?)?;
    let largest = if with_largest { Some(amount(fields.next()?)?) } else { None };
    let direction = direction(fields.next()?)?;
    // A log of a fio before 2.0 ends here.
    let block = fields.next().map_or(Some(0), |block| whole(block, MAX_VALUE))?;
    Some(Entry { milliseconds, value, largest, direction, block, buckets: Vec::new() })
}

fn amount(text: &str) -> Option<f64> {
    text.parse().ok().filter(|value: &f64| (0.0..=MAX_VALUE as f64).contains(value))
}

fn whole(text: &str, max: u64) -> Option<u64> {
    text.parse().ok().filter(|value| *value <= max)
}

fn histogram(line: &str) -> Option<Entry> {
    let mut fields = line.split(',').map(str::trim);
    let milliseconds = whole(fields.next()?, MAX_MILLISECONDS)?;
    let direction = direction(fields.next()?)?;
    let block = whole(fields.next()?, MAX_VALUE)?;
    let counts = fields.map(|count| whole(count, MAX_VALUE)).collect::<Option<Vec<u64>>>()?;
    let merged = merged(counts.len());
    let mut buckets = Vec::new();
    for (column, &count) in counts.iter().enumerate().take(bins::COLUMNS).filter(|(_, count)| **count > 0) {
        let (first, last) = (column * merged, (column + 1) * merged - 1);
        buckets.push((bins::middle(first).midpoint(bins::middle(last)), count));
    }
    let value = buckets.iter().map(|(_, count)| *count as f64).sum();
    Some(Entry { milliseconds, value, largest: None, direction, block, buckets })
}

/// The buckets that each of so many columns counts: with each step of `log_hist_coarseness` twice as many.
fn merged(columns: usize) -> usize {
    (0..=MAX_COARSENESS).map(|step| 1 << step).find(|merged| bins::COLUMNS / merged == columns).unwrap_or(1)
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
            ("a_lat.1.log.gz", "a", Some(1), Quantity::Latency),
            ("a_slat.1.log.fz", "a", Some(1), Quantity::Submission),
        ] {
            let found = named(Path::new(name)).unwrap();
            assert_eq!((found.0.as_str(), found.1, found.2), (prefix, thread, quantity), "{name}");
        }
        for name in ["a.log", "a_bw.1.txt", "a_bw", "bw.log", "a_bw.1.gz", "a_bw.1.log.xz", ""] {
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

    #[test]
    fn the_largest_value_beside_the_average_is_distinguished_from_an_offset() {
        let read = |text: &str| Log::read(Path::new("a_lat.1.log"), text).unwrap().entries;
        let both = read("500, 784, 90000, 0, 0, 0, 0\n500, 1, 2, 1, 0, 0, 0\n");
        assert_eq!((both[0].value, both[0].largest, both[0].direction), (784.0, Some(90000.0), 0));
        assert_eq!((both[1].value, both[1].largest, both[1].direction), (1.0, Some(2.0), 1));
        let offset = read("500, 784, 1, 4096, 0, 0, 0\n500, 784, 0, 4096, 8192, 0, 0\n");
        assert_eq!((offset[0].value, offset[0].largest, offset[0].direction), (784.0, None, 1));
        let window = read("500, 784, 1, 0, 0, 0, 0\n1000, 784, 0, 0, 0, 0, 0\n");
        assert_eq!((window[0].largest, window[0].direction), (None, 1));
    }

    #[test]
    fn columns_of_a_coarse_histogram_count_several_buckets() {
        let read = |coarseness: u32, column: usize| {
            let mut counts = vec!["0"; bins::COLUMNS >> coarseness];
            counts[column] = "5";
            let text = format!("500, 0, 4096, {}", counts.join(", "));
            Log::read(Path::new("a_clat_hist.log"), &text).unwrap().entries[0].buckets.clone()
        };
        for coarseness in 0..=MAX_COARSENESS {
            let merged = 1 << coarseness;
            let fine = bins::bucket(1_000_000);
            let [(nanos, 5)] = read(coarseness, fine / merged)[..] else { panic!("{coarseness}") };
            let (low, high) =
                (bins::middle(fine / merged * merged), bins::middle(fine / merged * merged + merged - 1));
            assert!(low <= nanos && nanos <= high, "{coarseness}: {nanos} of {low} to {high}");
        }
    }

    #[test]
    fn times_since_1970_are_counted_from_the_start() {
        let read = |name: &str, text: &str| Log::read(Path::new(name), text).unwrap();
        let text = "1795577415600, 10, 0, 0\n1795577416100, 20, 0, 0\n1795577416600, 20, 0, 0\n";
        let mut logs = [
            read("a_iops.1.log", text),
            read("a_lat.1.log", "1795577415300, 10, 0, 4096\n"),
            read("b_bw.1.log", "500, 10, 0, 0\n"),
        ];
        assert_eq!(from_start(&mut logs), Some(1_795_577_415_100));
        let times = logs.map(|log| log.entries.iter().map(|entry| entry.milliseconds).collect::<Vec<_>>());
        assert_eq!(times, [vec![500, 1000, 1500], vec![200], vec![500]]);
        assert_eq!(from_start(&mut [read("b_bw.1.log", "500, 10, 0, 0\n")]), None);
    }
}
