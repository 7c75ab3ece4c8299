//! The files that a back end's operations go to.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use iolite_sys::file::{FileOffset, SYNC_RANGE};
use iolite_sys::{descriptors, page_cache};

/// An open file and the part of it that operations may go to.
#[derive(Debug, Clone)]
pub struct FileSpan {
    /// The file.
    pub file: Arc<File>,
    /// Which offset of operations is the part's first byte.
    pub start: u64,
    /// The part's first byte in the file.
    pub offset: u64,
    /// Bytes of the part.
    pub size: u64,
}

/// One file, in which an operation's offset is the file's own; or several, over which the offsets of operations count
/// through.
#[derive(Debug, Clone)]
pub struct Files {
    /// At least one, in the order of their starts.
    spans: Arc<[FileSpan]>,
    /// What sync_file_range(2) does of what it can.
    range_flags: u32,
}

impl From<Arc<File>> for Files {
    /// The whole of a file.
    fn from(file: Arc<File>) -> Files {
        Files::of(Arc::new([FileSpan { file, start: 0, offset: 0, size: 0 }]))
    }
}

impl Files {
    fn of(spans: Arc<[FileSpan]>) -> Files {
        Files { spans, range_flags: SYNC_RANGE }
    }

    /// The same, on which sync_file_range(2) does what these flags say.
    pub(crate) fn with_range_flags(self, range_flags: u32) -> Files {
        Files { range_flags, ..self }
    }

    /// What sync_file_range(2) does of what it can.
    pub(super) fn range_flags(&self) -> u32 {
        self.range_flags
    }

    /// Of these files, the first of which starts at 0 where there are several; `None` where there are none.
    pub fn new(spans: Vec<FileSpan>) -> Option<Files> {
        (!spans.is_empty()).then(|| Files::of(spans.into()))
    }

    /// Of one file, `size` bytes from `offset` on.
    pub(crate) fn one(file: File, offset: u64, size: u64) -> Files {
        Files::of(Arc::new([FileSpan { file: Arc::new(file), start: offset, offset, size }]))
    }

    /// The file that an operation of this offset goes to, by its position, and the offset within it.
    #[inline]
    pub fn locate(&self, offset: u64) -> (u32, u64) {
        if self.spans.len() == 1 { (0, offset) } else { self.among_several(offset) }
    }

    fn among_several(&self, offset: u64) -> (u32, u64) {
        let index = self.spans.partition_point(|span| span.start <= offset).saturating_sub(1);
        let span = &self.spans[index];
        (index as u32, offset.wrapping_sub(span.start).wrapping_add(span.offset))
    }

    /// As [`locate`](Files::locate), for rings.
    #[inline]
    pub(super) fn place(&self, offset: u64) -> FileOffset {
        let (file, offset) = self.locate(offset);
        FileOffset { file, offset }
    }

    /// The file itself, and the offset within it.
    #[inline]
    pub(super) fn at(&self, offset: u64) -> (usize, &File, u64) {
        let (index, offset) = self.locate(offset);
        (index as usize, &self.spans[index as usize].file, offset)
    }

    /// Number of bytes from this offset on in the same file; without end where there is only one.
    pub(crate) fn left_in_file(&self, offset: u64) -> u64 {
        if self.spans.len() == 1 {
            return u64::MAX;
        }
        let span = &self.spans[self.locate(offset).0 as usize];
        span.start.saturating_add(span.size).saturating_sub(offset)
    }

    /// All of them.
    pub(crate) fn spans(&self) -> &[FileSpan] {
        &self.spans
    }

    /// All of them, without their spans.
    pub(super) fn handles(&self) -> Vec<Arc<File>> {
        self.spans.iter().map(|span| span.file.clone()).collect()
    }

    /// The same in a table of descriptors of the calling thread's own, where the kernel supports it: [`descriptors::own`] says what the
    /// thread must not use any more. Call [`descriptors::close_left_behind`] when it has ended.
    pub(crate) fn own(self) -> Files {
        let range_flags = self.range_flags;
        let places: Vec<_> = self.spans.iter().map(|span| (span.start, span.offset, span.size)).collect();
        let own = descriptors::own(self.spans, |spans| spans.iter().map(|span| span.file.as_fd()).collect());
        let spans = match own {
            Ok(own) => {
                let span = |((start, offset, size), own): (_, OwnedFd)| FileSpan {
                    file: Arc::new(own.into()),
                    start,
                    offset,
                    size,
                };
                places.into_iter().zip(own).map(span).collect()
            }
            Err(shared) => shared,
        };
        Files { spans, range_flags }
    }

    /// Calls `each` with the part of every file that a range has a share of, until one fails: file, offset within it, length.
    /// A length of 0 is all to the end, of the range as of a file.
    pub(super) fn in_range(
        &self,
        offset: u64,
        length: u32,
        mut each: impl FnMut(&File, u64, u64) -> io::Result<()>,
    ) -> io::Result<()> {
        if let [only] = &*self.spans {
            return each(&only.file, offset, u64::from(length));
        }
        let end = if length == 0 { u64::MAX } else { offset.saturating_add(u64::from(length)) };
        let touched = |span: &&FileSpan| span.start < end && span.start.saturating_add(span.size) > offset;
        for span in self.spans.iter().filter(touched) {
            let from = offset.saturating_sub(span.start);
            let to = end - span.start;
            let length = if to >= span.size { 0 } else { to - from };
            each(&span.file, span.offset + from, length)?;
        }
        Ok(())
    }

    /// Whether a range has a share of one file only; a length of 0 is all to the end.
    #[inline]
    pub(super) fn is_in_one(&self, offset: u64, length: u32) -> bool {
        self.spans.len() == 1 || length > 0 && u64::from(length) <= self.left_in_file(offset)
    }

    /// Drops from the page cache what is clean of all spans; as far as the kernel follows the advice.
    pub(super) fn drop_clean(&self) {
        for span in &*self.spans {
            let _ = page_cache::drop_clean(&span.file, span.offset, span.size);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn several() -> Files {
        let span = |(start, offset, size)| FileSpan {
            file: Arc::new(tempfile::tempfile().unwrap()),
            start,
            offset,
            size,
        };
        Files::new([(0, 500, 100), (100, 0, 50), (160, 7, 40)].map(span).to_vec()).unwrap()
    }

    #[test]
    fn offsets_count_through_the_files() {
        let files = several();
        for (offset, expected) in
            [(0, (0, 500)), (99, (0, 599)), (100, (1, 0)), (149, (1, 49)), (160, (2, 7)), (199, (2, 46))]
        {
            assert_eq!(files.locate(offset), expected);
        }
        assert_eq!((files.left_in_file(0), files.left_in_file(120)), (100, 30));
        let one = Files::from(Arc::new(tempfile::tempfile().unwrap()));
        assert_eq!((one.locate(77), one.left_in_file(77)), ((0, 77), u64::MAX));
        assert!(Files::new(Vec::new()).is_none());
    }

    #[test]
    fn a_range_is_divided_among_its_files() {
        let files = several();
        let parts = |offset, length| {
            let mut parts = Vec::new();
            let each = |_: &File, offset, length| {
                parts.push((offset, length));
                Ok(())
            };
            files.in_range(offset, length, each).unwrap();
            parts
        };
        assert_eq!(parts(10, 20), [(510, 20)]);
        assert_eq!(parts(90, 20), [(590, 0), (0, 10)]);
        assert_eq!(parts(120, 0), [(20, 0), (7, 0)]);
        assert_eq!(parts(0, 0), [(500, 0), (0, 0), (7, 0)]);
        assert!(files.is_in_one(10, 90) && !files.is_in_one(10, 91) && !files.is_in_one(10, 0));
    }
}
