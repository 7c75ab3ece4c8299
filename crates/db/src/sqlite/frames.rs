//! Which writes to a write-ahead log may wait for the next one.
//!
//! SQLite writes a page to its log in two calls, the frame's header and the page, and a transaction of fifty pages in a
//! hundred. Until the last frame, that of the commit, is there, nobody but the writer looks at the ones before it: they
//! may be joined into few large writes. The commit's own page is written out at once, with all before it, so that the
//! log is complete when SQLite goes on to sync it and to notify other connections of it.

/// Length of a frame's header, in bytes (file format, 4.1: the WAL file format).
const HEADER: usize = 24;

/// What the writes to a log were so far.
#[derive(Debug, Default)]
pub(super) struct Frames {
    /// Whether the latest header was one of a frame in mid-transaction.
    more_to_come: bool,
}

impl Frames {
    /// Whether this write may wait for the next: it is a frame's header, or a page (or a part of one) of a frame that
    /// does not end its transaction. Whatever looks different is to be written at once.
    pub(super) fn may_wait(&mut self, data: &[u8]) -> bool {
        if data.len() != HEADER {
            return self.more_to_come;
        }
        // "For commit records, the size of the database file in pages after the commit. For all other records, zero."
        self.more_to_come = data[4..8] == [0; 4];
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_wait_until_the_page_of_the_commit() {
        let (mut header, page) = ([7; HEADER], [0; 4096]);
        let mut frames = Frames::default();
        assert!(!frames.may_wait(&[0; 32]), "the log's own header");
        header[4..8].fill(0);
        assert!(frames.may_wait(&header) && frames.may_wait(&page) && frames.may_wait(&page[..100]));
        header[4..8].copy_from_slice(&300u32.to_be_bytes());
        assert!(frames.may_wait(&header), "a header alone is no frame");
        assert!(!frames.may_wait(&page) && !frames.may_wait(&page));
    }
}
