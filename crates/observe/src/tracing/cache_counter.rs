//! Counts lookups in the page cache, and pages added to it, from tracepoints of the kernel.

use std::collections::HashMap;

use super::line::{TraceLine, TracedEvent};

/// The tracepoints that are counted.
pub(crate) const EVENTS: [&str; 5] = [
    "filemap/mm_filemap_get_pages",
    "filemap/mm_filemap_fault",
    "filemap/mm_filemap_map_pages",
    "filemap/mm_filemap_add_to_page_cache",
    "writeback/writeback_dirty_folio",
];

/// What was counted; pages unless said otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct CacheCounts {
    /// Looked up by reads through the page cache.
    pub(crate) read: u64,
    /// Looked up by faults on mapped files: one page for each fault.
    pub(crate) faulted: u64,
    /// Added to the page cache to be read, read-ahead included.
    pub(crate) added_for_reads: u64,
    /// Added to the page cache to be written.
    pub(crate) added_for_writes: u64,
    /// Events that were lost, because they came faster than they were read.
    pub(crate) lost: u64,
}

/// Counts events, in the order in which they happened.
#[derive(Debug)]
pub(crate) struct CacheCounter {
    counts: CacheCounts,
    threads: HashMap<u32, Pending>,
    page: u64,
}

/// What a thread did last, of which the next event says more.
#[derive(Debug, Default)]
struct Pending {
    /// A read that goes on where the next lookup has the same end.
    read: Option<Pages>,
    /// A page that was added for a write where it becomes dirty next.
    added: Option<Pages>,
    /// Pages that were mapped around a fault: if the wanted one was not there, a fault on it follows.
    mapped: Option<Pages>,
}

/// Pages of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pages {
    inode: u64,
    first: u64,
    last: u64,
}

impl Pages {
    fn count(self) -> u64 {
        (self.last + 1).saturating_sub(self.first)
    }

    fn contains(self, inode: u64, page: u64) -> bool {
        self.inode == inode && (self.first..=self.last).contains(&page)
    }
}

impl CacheCounter {
    /// Of a host whose pages have this size in bytes.
    pub(crate) fn new(page: u64) -> CacheCounter {
        CacheCounter { counts: CacheCounts::default(), threads: HashMap::new(), page: page.max(1) }
    }

    /// What has been counted so far.
    pub(crate) fn counts(&mut self) -> CacheCounts {
        for pending in std::mem::take(&mut self.threads).into_values() {
            self.counts.read += pending.read.map_or(0, Pages::count);
            self.counts.added_for_reads += pending.added.map_or(0, Pages::count);
        }
        self.counts
    }

    /// Counts a line of the trace.
    pub(crate) fn line(&mut self, line: &str) {
        match TraceLine::parse(line) {
            Some(TraceLine::Lost(events)) => self.counts.lost += events,
            Some(TraceLine::Event(event)) => {
                self.event(&event);
            }
            None => {}
        }
    }

    fn event(&mut self, event: &TracedEvent<'_>) -> Option<()> {
        let TracedEvent { thread, fields, .. } = *event;
        match event.name {
            "mm_filemap_get_pages" => self.lookup(thread, range(fields, self.page)?),
            "mm_filemap_map_pages" => {
                self.counts.faulted += 1;
                self.pending(thread).mapped = Some(range(fields, self.page)?);
            }
            "mm_filemap_fault" => {
                let (inode, page) = (inode(fields)?, number(fields, "ofs=")? / self.page);
                let mapped = self.pending(thread).mapped.take();
                // Otherwise it is the fault that was counted when pages were mapped around it.
                if !mapped.is_some_and(|mapped| mapped.contains(inode, page)) {
                    self.counts.faulted += 1;
                }
            }
            "mm_filemap_add_to_page_cache" => {
                let (inode, first) = (inode(fields)?, number(fields, "ofs=")? / self.page);
                let order = number(fields, "order=").unwrap_or(0).min(32);
                let added = Pages { inode, first, last: first + (1 << order) - 1 };
                let before = self.pending(thread).added.replace(added);
                self.counts.added_for_reads += before.map_or(0, Pages::count);
            }
            "writeback_dirty_folio" => {
                let (inode, page) = (number(fields, "ino=")?, number(fields, "index=")?);
                let dirtied = self.pending(thread).added.take_if(|added| added.contains(inode, page));
                self.counts.added_for_writes += dirtied.map_or(0, Pages::count);
            }
            _ => {}
        }
        Some(())
    }

    /// A read looks up some pages at a time, and each time all that are left of it are reported.
    fn lookup(&mut self, thread: u32, left: Pages) {
        let before = self.pending(thread).read.replace(left);
        self.counts.read += before.map_or(0, |before| {
            let goes_on = (before.inode, before.last) == (left.inode, left.last) && before.first < left.first;
            if goes_on { left.first - before.first } else { before.count() }
        });
    }

    fn pending(&mut self, thread: u32) -> &mut Pending {
        self.threads.entry(thread).or_default()
    }
}

/// `ino=1f` or `ino 1f`, in hexadecimal.
fn inode(fields: &str) -> Option<u64> {
    let text = fields.split_once("ino")?.1.get(1..)?;
    u64::from_str_radix(text.split(' ').next()?, 16).ok()
}

/// The decimal number after a name.
fn number(fields: &str, name: &str) -> Option<u64> {
    let text = fields.split_once(name)?.1;
    text.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// `dev=254:0 ino=1f ofs=4096-8191`: the pages from the first byte to the last.
fn range(fields: &str, page: u64) -> Option<Pages> {
    let (first, last) = fields.split_once("ofs=")?.1.split_once('-')?;
    let (first, last): (u64, u64) = (first.parse().ok()?, last.trim_end().parse().ok()?);
    Some(Pages { inode: inode(fields)?, first: first / page, last: last / page })
}

#[cfg(test)]
mod tests {
    use super::super::instance::TraceInstance;
    use super::*;

    fn counted(lines: &[&str]) -> CacheCounts {
        let mut counter = CacheCounter::new(4096);
        lines.iter().for_each(|line| counter.line(&format!("  a-7 [000] ..... 1.000001: {line}")));
        counter.counts()
    }

    #[test]
    fn a_read_in_parts_is_counted_once() {
        let counts = counted(&[
            "mm_filemap_get_pages: dev=254:0 ino=1f ofs=0-262143",
            "mm_filemap_get_pages: dev=254:0 ino=1f ofs=61440-262143",
            "mm_filemap_get_pages: dev=254:0 ino=1f ofs=122880-262143",
            "mm_filemap_get_pages: dev=254:0 ino=1f ofs=262144-266239",
            "mm_filemap_get_pages: dev=254:0 ino=20 ofs=262144-266239",
        ]);
        assert_eq!(counts, CacheCounts { read: 64 + 1 + 1, ..CacheCounts::default() });
    }

    #[test]
    fn the_same_block_read_again_is_read_again() {
        let block = "mm_filemap_get_pages: dev=254:0 ino=1f ofs=8192-16383";
        assert_eq!(counted(&[block, block, block]).read, 6);
    }

    #[test]
    fn pages_that_become_dirty_at_once_were_added_for_writes() {
        let counts = counted(&[
            "mm_filemap_add_to_page_cache: dev 254:0 ino 1f pfn=0x1 ofs=4096 order=0",
            "writeback_dirty_folio: bdi 254:0: ino=31 index=1",
            "mm_filemap_add_to_page_cache: dev 254:0 ino 1f pfn=0x1 ofs=16384 order=2",
            "writeback_dirty_folio: bdi 254:0: ino=31 index=5",
            "mm_filemap_add_to_page_cache: dev 254:0 ino 1f pfn=0x1 ofs=65536 order=4",
            "mm_filemap_add_to_page_cache: dev 254:0 ino 1f pfn=0x1 ofs=0",
            "writeback_dirty_folio: bdi 254:0: ino=31 index=99",
        ]);
        let expected =
            CacheCounts { added_for_writes: 1 + 4, added_for_reads: 16 + 1, ..CacheCounts::default() };
        assert_eq!(counts, expected);
    }

    #[test]
    fn a_fault_is_one_lookup() {
        let counts = counted(&[
            "mm_filemap_map_pages: dev=254:0 ino=1f ofs=0-65535",
            "mm_filemap_map_pages: dev=254:0 ino=1f ofs=65536-131071",
            "mm_filemap_fault: dev=254:0 ino=1f ofs=69632",
            "mm_filemap_fault: dev=254:0 ino=1f ofs=0",
        ]);
        assert_eq!(counts, CacheCounts { faulted: 3, ..CacheCounts::default() });
    }

    #[test]
    fn what_was_lost_is_known_and_nonsense_is_nothing() {
        let mut counter = CacheCounter::new(4096);
        for line in [
            "CPU:0 [LOST 7 EVENTS]",
            "x",
            "a-7 [000] ..... 1.0: mm_filemap_get_pages: ofs=-",
            "a-7 [000] ..... 1.0: mm_filemap_fault: ino",
        ] {
            counter.line(line);
        }
        assert_eq!(counter.counts(), CacheCounts { lost: 7, ..CacheCounts::default() });
    }

    #[test]
    fn a_file_read_twice_is_missed_and_then_hit() {
        use std::os::unix::fs::MetadataExt;

        const PAGES: u64 = 512;
        let page = iolite_sys::page_cache::page_size();
        let directory = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, vec![7; (PAGES * page) as usize]).unwrap();
        let file = std::fs::File::open(&path).unwrap();
        file.sync_all().unwrap();
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
        let filter = format!("i_ino == {}", file.metadata().unwrap().ino());
        // Only these have the field of the filter.
        let mut trace = match TraceInstance::start(&EVENTS[..4], &filter) {
            Ok(trace) => trace,
            Err(reason) => return eprintln!("skipped: {reason}"),
        };
        let mut counter = CacheCounter::new(page);
        let mut counted = || {
            std::fs::read(&path).unwrap();
            trace.read(|line| counter.line(line)).unwrap();
            counter.counts()
        };
        let cold = counted();
        if cold == CacheCounts::default() {
            return eprintln!(
                "skipped: the file system of {} does not use the kernel's read path",
                path.display()
            );
        }
        let expected = CacheCounts { read: PAGES, added_for_reads: PAGES, ..CacheCounts::default() };
        assert_eq!(cold, expected, "the first time, each page is missed");
        let warm = counted();
        assert_eq!(warm, CacheCounts { read: 2 * PAGES, ..expected }, "the second time, none is");
    }
}
