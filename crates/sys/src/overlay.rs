//! Files under other names: in an overlay, and in the directory that it writes to.

use std::fs;
use std::path::{Path, PathBuf};

use crate::device::unescaped;

/// The other paths of a file's data that overlays of this mount namespace make: the file in the upper directory of one seen through the
/// overlay, and the reverse. The kernel has them as different files, with locks of their own.
pub fn other_names(path: &Path) -> Vec<PathBuf> {
    let Ok(path) = fs::canonicalize(path) else { return Vec::new() };
    let mounts = fs::read("/proc/self/mountinfo").unwrap_or_default();
    let found = mounts.split(|&byte| byte == b'\n').filter_map(of_line);
    // Only what belongs to it is looked at: another mount may not respond.
    found
        .filter_map(|overlay| overlay.other(&path))
        .filter(|other| other.symlink_metadata().is_ok())
        .collect()
}

/// Where an overlay is, and what it writes to.
#[derive(Debug, PartialEq, Eq)]
struct Overlay {
    merged: PathBuf,
    upper: PathBuf,
}

impl Overlay {
    fn other(&self, path: &Path) -> Option<PathBuf> {
        let moved = |from: &Path, to: &Path| Some(to.join(path.strip_prefix(from).ok()?));
        moved(&self.merged, &self.upper).or_else(|| moved(&self.upper, &self.merged))
    }
}

/// A line of proc_pid_mountinfo(5), if it is of an overlay that writes to a directory with an absolute path.
fn of_line(line: &[u8]) -> Option<Overlay> {
    let words: Vec<&[u8]> = line.split(|&byte| byte == b' ').collect();
    let separator = words.iter().position(|word| *word == b"-")?;
    let [kind, _, options] = words.get(separator + 1..separator + 4)? else { return None };
    if *kind != b"overlay" {
        return None;
    }
    let mut options = options.split(|&byte| byte == b',');
    let upper = options.find_map(|option| option.strip_prefix(b"upperdir="))?;
    let [merged, upper] = [*words.get(4)?, upper].map(unescaped);
    upper.is_absolute().then_some(Overlay { merged, upper })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_another_name_on_the_other_side_of_an_overlay() {
        let line = b"44 27 0:61 / /mer\\040ged rw - overlay overlay rw,lowerdir=/l,upperdir=/var/up\\040per,workdir=/w";
        let overlay = of_line(line).unwrap();
        assert_eq!(overlay, Overlay { merged: "/mer ged".into(), upper: "/var/up per".into() });
        assert_eq!(overlay.other(Path::new("/mer ged/a/b")), Some("/var/up per/a/b".into()));
        assert_eq!(overlay.other(Path::new("/var/up per/a")), Some("/mer ged/a".into()));
        assert_eq!(overlay.other(Path::new("/var/up pers/a")), None);
        for other in [
            &b"44 27 0:61 / /m rw - overlay overlay ro,lowerdir=/a:/b"[..],
            b"44 27 0:61 / /m rw - overlay overlay rw,upperdir=relative,workdir=w",
            b"44 27 0:61 / /m rw - ext4 /dev/vda rw,upperdir=/x",
            b"",
        ] {
            assert_eq!(of_line(other), None);
        }
    }
}
