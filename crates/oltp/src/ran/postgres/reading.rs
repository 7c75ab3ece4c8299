//! How a block is read: a page of the server, or a range of consecutive pages.
//!
//! What the server does with a range (contrib/pg_prewarm of each version): up to 16 it reads page by page, whatever the mode; the kernel,
//! which takes that for a sequence, would read ahead far beyond the range unless it is asked for the pages beforehand. From 17
//! on mode `buffer` is a stream of reads that combines pages which are not among the shared buffers into one read of up to
//! `io_combine_limit`; mode `read` still reads page by page.

use iolite_db::Result;
use iolite_db::postgres::{Build, Target};
use iolite_model::Bytes;
use postgres::Client;

use super::extension;

/// The first version that reads several pages with one call (its release notes, "I/O").
const COMBINES_READS: u32 = 17;
/// Most pages of a range: `io_combine_limit` is as many by default.
pub(super) const MAX_PAGES: u64 = 16;

/// How the blocks of a database are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reading {
    way: Way,
    /// Consecutive pages that are a block.
    pub(super) pages: u64,
    /// Size of a page in bytes.
    pub(super) page: u64,
    /// Major version of the server.
    major: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// pg_prewarm, mode `read`: past the buffers, one read for each page. Of a range, the kernel is asked for all pages beforehand
    /// (mode `prefetch`), as the server itself does where it knows what it will read.
    Past,
    /// pg_prewarm, mode `buffer`: what of a range is not among the buffers. Where the server reads page by page, the kernel is asked for
    /// these beforehand, too: mode `prefetch` leaves out what is among the buffers.
    Range,
    /// pageinspect: one page through the buffers.
    Page,
}

impl Reading {
    /// Of blocks of so many pages, on a server built so.
    pub(super) fn new(build: Build, pages: u64, through_buffers: bool) -> Reading {
        let way = match (pages, through_buffers) {
            (..=1, false) => Way::Past,
            (..=1, true) => Way::Page,
            (_, false) if build.major < COMBINES_READS => Way::Past,
            _ => Way::Range,
        };
        Reading { way, pages: pages.max(1), page: build.block, major: build.major }
    }

    /// Size of a block in bytes.
    pub(super) fn block(&self) -> u64 {
        self.pages * self.page
    }

    /// The extension that reads so.
    pub(super) fn extension(&self) -> &'static str {
        if self.way == Way::Page { extension::INSPECT } else { extension::PREWARM }
    }

    /// Whether they go past the server's shared buffers.
    pub(super) fn passes_buffers(&self) -> bool {
        self.way == Way::Past
    }

    /// Whether the server's statistics count these reads: nothing of mode `read` is in them.
    pub(super) fn is_counted(&self) -> bool {
        self.way != Way::Past
    }

    /// What the expression is when it has read a block.
    pub(super) fn answer(&self) -> i64 {
        if self.way == Way::Page { self.page.cast_signed() } else { self.pages.cast_signed() }
    }

    /// The expression that reads a block and is [`answer`](Reading::answer) then: `table` an oid, `first` the number of its first page, a
    /// bigint.
    ///
    /// # Errors
    /// [`Error::Unsupported`](iolite_db::Error::Unsupported) without the extension.
    pub(super) fn expression(
        &self,
        target: &Target,
        client: &mut Client,
        table: &str,
        first: &str,
    ) -> Result<String> {
        let schema = extension::needed_schema(target, client, self.extension())?;
        Ok(self.call(&schema, table, first))
    }

    /// The same, with the extension in this schema.
    fn call(&self, schema: &str, table: &str, first: &str) -> String {
        let last = if self.pages == 1 { first.to_owned() } else { format!("{first} + {}", self.pages - 1) };
        let prewarm =
            |mode: &str| format!("{schema}.pg_prewarm({table}::regclass, '{mode}', 'main', {first}, {last})");
        let mode = if self.way == Way::Past { "read" } else { "buffer" };
        match self.way {
            Way::Past | Way::Range if self.asks_beforehand() => format!(
                "CASE WHEN {} = {} THEN {} ELSE -1 END",
                prewarm("prefetch"),
                self.pages,
                prewarm(mode)
            ),
            Way::Past | Way::Range => prewarm(mode),
            // As int: before 1.9 the extension knew no more, and our tables have no more blocks than that.
            Way::Page => format!(
                "octet_length({schema}.get_raw_page({table}::regclass::text, 'main', ({first})::int))::bigint"
            ),
        }
    }

    /// Whether the kernel is asked for all pages of a range before they are read one by one.
    fn asks_beforehand(&self) -> bool {
        self.pages > 1 && self.major < COMBINES_READS
    }

    /// How a block is read, in words; `combined` is what the server reads at once (`io_combine_limit`), where it has such a limit.
    /// With `direct` I/O (`debug_io_direct`) the server asks the kernel for nothing beforehand.
    pub(super) fn describe(&self, combined: Option<Bytes>, direct: bool) -> String {
        let asked = |pages: &str| match direct {
            true => String::new(),
            false => format!(", after it has asked the kernel for {pages} (mode prefetch)"),
        };
        let (pages, page, major, name) = (self.pages, Bytes(self.page), self.major, self.extension());
        match self.way {
            Way::Past if pages == 1 => format!("block by number past the shared buffers ({name}, mode read)"),
            Way::Past => format!(
                "ranges of {pages} blocks of {page} by number past the shared buffers ({name}, mode read): PostgreSQL {major} reads \
                 {pages} times {page}{}",
                asked("all of them")
            ),
            Way::Range if major < COMBINES_READS => format!(
                "ranges of {pages} blocks of {page} by number through the shared buffers ({name}, mode buffer): PostgreSQL {major} reads \
                 {page} for each that is not there{}",
                asked("these")
            ),
            Way::Range => format!(
                "ranges of {pages} blocks of {page} by number through the shared buffers ({name}, mode buffer): PostgreSQL {major} \
                 combines those that are not there into reads of up to {} (io_combine_limit)",
                combined.unwrap_or(Bytes(MAX_PAGES * self.page))
            ),
            Way::Page => format!("block by number through the shared buffers ({name}, get_raw_page)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_read_as_its_version_does() {
        let reading = |major, pages, through| {
            Reading::new(Build { block: 8192, segment: 131_072, major }, pages, through)
        };
        let words = |major, pages, through| reading(major, pages, through).describe(None, false);
        assert!(words(15, 8, false).contains("PostgreSQL 15 reads 8 times 8 KiB"), "{}", words(15, 8, false));
        assert!(words(15, 8, true).contains("for each that is not there"), "{}", words(15, 8, true));
        for through in [false, true] {
            let words = words(17, 8, through);
            assert!(words.contains("up to 128 KiB") && words.contains("mode buffer"), "{words}");
        }
        for major in [15, 17] {
            assert!(words(major, 1, false).contains("past the shared buffers (pg_prewarm, mode read)"));
            assert!(words(major, 1, true).contains("get_raw_page"));
            assert!(!reading(major, 1, false).is_counted() && reading(major, 1, true).is_counted());
        }
        assert_eq!((reading(15, 8, false).block(), reading(15, 8, false).answer()), (65_536, 8));
        assert_eq!((reading(15, 1, true).block(), reading(15, 1, true).answer()), (8192, 8192));
        assert!(!reading(15, 8, false).is_counted() && reading(17, 8, false).is_counted());
        assert!(reading(16, 8, false).passes_buffers() && !reading(17, 8, false).passes_buffers());
        // With direct I/O the kernel is asked for nothing.
        for through in [false, true] {
            assert!(words(16, 8, through).contains("asked the kernel"), "{}", words(16, 8, through));
            let direct = reading(16, 8, through).describe(None, true);
            assert!(!direct.contains("kernel") && direct.contains("PostgreSQL 16 reads"), "{direct}");
        }
    }

    /// Without it the kernel's read-ahead makes it four times as much, and what the buffers gave looks as if it came from the device.
    #[test]
    fn the_kernel_is_asked_for_ranges_that_are_read_page_by_page() {
        let call = |major, pages, through| {
            let build = Build { block: 8192, segment: 131_072, major };
            Reading::new(build, pages, through).call("s", "t", "9")
        };
        for (through, mode) in [(false, "read"), (true, "buffer")] {
            let asked = format!(
                "CASE WHEN s.pg_prewarm(t::regclass, 'prefetch', 'main', 9, 9 + 7) = 8 \
                 THEN s.pg_prewarm(t::regclass, '{mode}', 'main', 9, 9 + 7) ELSE -1 END"
            );
            assert_eq!(call(16, 8, through), asked);
            assert_eq!(call(17, 8, through), "s.pg_prewarm(t::regclass, 'buffer', 'main', 9, 9 + 7)");
        }
        assert_eq!(call(16, 1, false), "s.pg_prewarm(t::regclass, 'read', 'main', 9, 9)");
        assert!(call(16, 1, true).contains("get_raw_page"));
    }
}
