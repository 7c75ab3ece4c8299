//! What the page cache does (/proc/vmstat, proc_vmstat(5)).

use iolite_model::ReadingValue;

use crate::probe::{HeldFile, Probe, ProbeError, Subject};

/// Reads the counters of paging. `pgpgin` and `pgpgout` count what goes to and from block devices, direct I/O included.
#[derive(Debug)]
pub struct PageCache {
    file: HeldFile,
    page: f64,
}

/// Line, name and unit of each value.
const LINES: [(&str, &str, Unit); 13] = [
    ("pgpgin", "paged_in_bytes", Unit::Kibibytes),
    ("pgpgout", "paged_out_bytes", Unit::Kibibytes),
    ("pgfault", "faults", Unit::Events),
    ("pgmajfault", "major_faults", Unit::Events),
    ("workingset_refault_file", "refaulted_bytes", Unit::Pages),
    ("workingset_refault", "refaulted_bytes", Unit::Pages),
    ("nr_dirtied", "dirtied_bytes", Unit::Pages),
    ("nr_written", "written_back_bytes", Unit::Pages),
    ("pgscan_kswapd", "scanned_by_kswapd_bytes", Unit::Pages),
    ("pgscan_direct", "scanned_directly_bytes", Unit::Pages),
    ("pgsteal_kswapd", "reclaimed_by_kswapd_bytes", Unit::Pages),
    ("pgsteal_direct", "reclaimed_directly_bytes", Unit::Pages),
    ("pswpout", "swapped_out_bytes", Unit::Pages),
];

#[derive(Debug, Clone, Copy)]
enum Unit {
    Events,
    Kibibytes,
    Pages,
}

impl PageCache {
    /// Of this host.
    ///
    /// # Errors
    /// /proc/vmstat can't be opened.
    pub fn open() -> Result<PageCache, ProbeError> {
        let page = iolite_sys::page_cache::page_size() as f64;
        Ok(PageCache { file: HeldFile::open("/proc/vmstat")?, page })
    }
}

impl Probe for PageCache {
    fn name(&self) -> &'static str {
        "page-cache"
    }

    fn read(&mut self) -> Result<Vec<Subject>, ProbeError> {
        let values = values(self.file.read()?, self.page);
        if values.is_empty() {
            return Err(self.file.malformed("proc_vmstat(5)"));
        }
        Ok(vec![Subject::host(values)])
    }
}

/// One pass over the text: it has some two hundred lines.
fn values(text: &str, page: f64) -> Vec<ReadingValue> {
    let value = |line: &str| {
        let (line, number) = line.split_once(' ')?;
        let &(_, name, unit) = LINES.iter().find(|(known, ..)| *known == line)?;
        let factor = match unit {
            Unit::Events => 1.0,
            Unit::Kibibytes => 1024.0,
            Unit::Pages => page,
        };
        Some(ReadingValue::counter(name, number.trim().parse::<f64>().ok()? * factor))
    };
    text.lines().filter_map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_and_kibibytes_become_bytes() {
        let text = "nr_free_pages 9\npgpgin 3\nworkingset_refault_file 2\npgmajfault 5\n";
        let expected = [
            ReadingValue::counter("paged_in_bytes", 3072.0),
            ReadingValue::counter("refaulted_bytes", 8192.0),
            ReadingValue::counter("major_faults", 5.0),
        ];
        assert_eq!(values(text, 4096.0), expected);
    }

    #[test]
    fn this_host_pages() {
        let subjects = PageCache::open().unwrap().read().unwrap();
        assert!(subjects[0].values.len() >= 8, "{subjects:?}");
    }
}
