//! A database that is read without locks, because its directory can't be written to.

use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The file of a database without writers, as it is at an instant: it can be read without locks as long as it stays so.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unlocked {
    path: PathBuf,
    inode: u64,
    length: u64,
    modified: SystemTime,
}

impl Unlocked {
    /// `None` where changes wait in the write-ahead log, and where there is no such file.
    pub(crate) fn of(path: &Path) -> Option<Unlocked> {
        let path = path.canonicalize().ok()?;
        let found = std::fs::metadata(&path).ok().filter(Metadata::is_file)?;
        let mut log = path.clone().into_os_string();
        log.push("-wal");
        if std::fs::metadata(log).is_ok_and(|log| log.len() > 0) {
            return None;
        }
        Some(Unlocked { path, inode: found.ino(), length: found.len(), modified: found.modified().ok()? })
    }

    /// The URI under which SQLite reads it without locks.
    pub(crate) fn uri(&self) -> String {
        format!("file://{}?immutable=1", percent_encode(self.path.as_os_str().as_bytes()))
    }
}

/// A path in a URI: all but the bytes that stand for themselves there.
fn percent_encode(path: &[u8]) -> String {
    let encode = |byte: &u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => {
            char::from(*byte).to_string()
        }
        byte => format!("%{byte:02X}"),
    };
    path.iter().map(encode).collect()
}
