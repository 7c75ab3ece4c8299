//! Wrong units in files, to be looked at afterwards.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use iolite_model::{FileTask, Target};

/// The most units of a phase that are saved: a file that was replaced as a whole would be saved as a whole.
const MAX_SAVED: u32 = 64;

/// Saves wrong units in the working directory, as `NAME.OFFSET.received`, and what they should be as `NAME.OFFSET.expected`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Dump {
    saved: Arc<AtomicU32>,
    /// The file, if there is only one.
    alone: Option<PathBuf>,
}

impl Dump {
    /// Of what a task reads.
    pub(crate) fn of(task: &FileTask) -> Dump {
        let alone = match &task.target {
            Target::Files(target) => target.files.first().map(|named| named.path.clone()),
            Target::Existing(existing) => Some(existing.path.clone()),
            Target::Null { .. } | Target::File(_) => None,
        };
        Dump { saved: Arc::default(), alone }
    }

    /// The file of a task with one file.
    pub(crate) fn alone(&self) -> Option<&Path> {
        self.alone.as_deref()
    }

    /// Saves what was found at `offset` of a file, and what is right if that is known. Returns what to add to a message. A unit
    /// whose files exist or cannot be written is not saved: what was verified does not depend on it.
    pub(crate) fn save(
        &self,
        path: &Path,
        offset: u64,
        found: &[u8],
        right: Option<&[u8]>,
    ) -> Option<String> {
        if self.saved.fetch_add(1, Ordering::Relaxed) >= MAX_SAVED {
            return None;
        }
        let name = path.file_name()?.to_string_lossy();
        let received = format!("{name}.{offset}.received");
        let save = |name: &str, bytes: &[u8]| {
            iolite_sys::file::create_new(Path::new(name), false)
                .and_then(|mut file| file.write_all(bytes))
                .ok()
        };
        save(&received, found)?;
        right.and_then(|right| save(&format!("{name}.{offset}.expected"), right));
        Some(format!(" (saved in {received})"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_exists_is_not_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f");
        // The name is relative to the working directory, which tests share.
        let name = format!("iolite-dump-test-{}", std::process::id());
        let dump = Dump::default();
        let target = path.with_file_name(&name);
        let text = dump.save(&target, 512, b"found", Some(b"right")).unwrap();
        let (received, expected) = (format!("{name}.512.received"), format!("{name}.512.expected"));
        assert_eq!(text, format!(" (saved in {received})"));
        assert_eq!(dump.save(&target, 512, b"other", None), None);
        let saved = (std::fs::read(&received).unwrap(), std::fs::read(&expected).unwrap());
        std::fs::remove_file(received).unwrap();
        std::fs::remove_file(expected).unwrap();
        assert_eq!(saved, (b"found".to_vec(), b"right".to_vec()));
    }
}
