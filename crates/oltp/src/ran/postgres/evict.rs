//! Giving back what the server's block reads leave in the page cache of this host, so that the next reading of a block is one
//! of the device again: pg_prewarm reads files as they are, through the page cache.

use std::fs::File;
use std::path::PathBuf;
use std::sync::OnceLock;

use iolite_sys::page_cache;

/// The files of the tables of blocks, one each, opened when first needed.
#[derive(Debug)]
pub(super) struct Evictor {
    files: Vec<(PathBuf, OnceLock<Option<File>>)>,
    length: u64,
}

impl Evictor {
    /// Of these files, of so many bytes each, in the order of the tables; none of them where they are not on this host.
    pub(super) fn new(paths: Vec<PathBuf>, length: u64) -> Evictor {
        Evictor { files: paths.into_iter().map(|path| (path, OnceLock::new())).collect(), length }
    }

    /// Whether it can do anything.
    pub(super) fn works(&self) -> bool {
        (0..self.files.len()).next().is_some_and(|table| self.file(table).is_some())
    }

    /// Gives back all that is held of a table: with the blocks that were read goes what the kernel has read ahead, and pages that
    /// it holds in one piece with them. Advice: where it does not help, the device's counters tell.
    pub(super) fn evict(&self, table: usize) {
        if let Some(file) = self.file(table) {
            let _ = page_cache::drop_clean(file, 0, self.length);
        }
    }

    fn file(&self, table: usize) -> Option<&File> {
        let (path, file) = self.files.get(table)?;
        file.get_or_init(|| File::open(path).ok()).as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_files_it_does_nothing() {
        let evictor = Evictor::new(Vec::new(), 8192);
        assert!(!evictor.works());
        evictor.evict(3);
        let evictor = Evictor::new(vec!["/nonexistent/16384".into()], 8192);
        assert!(!evictor.works());
        evictor.evict(0);
    }
}
