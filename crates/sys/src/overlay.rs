//! Files under other names: in an overlay, and in the directory that it writes to.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags, openat, openat2};

use crate::device::unescaped;
use crate::holders::others;

/// A file's data under another name.
#[derive(Debug)]
pub struct OtherSide {
    /// Its path; in another mount namespace, one beneath `/proc/PID/root`.
    pub path: PathBuf,
    /// It, open for reading.
    pub file: File,
}

/// The overlays that are mounted, in this mount namespace and in others (containers').
#[derive(Debug)]
pub struct Overlays(Vec<Mounted>);

#[derive(Debug)]
struct Mounted {
    /// The root directory of its mount namespace.
    root: PathBuf,
    is_own: bool,
    overlay: Overlay,
}

impl Overlays {
    /// Those of now, as far as this user may see them.
    pub fn now() -> Overlays {
        let mounted = |(process, is_own): (String, bool)| {
            let root = if is_own { "/".into() } else { format!("/proc/{process}/root") };
            let mounts = fs::read(format!("/proc/{process}/mountinfo")).unwrap_or_default();
            let lines = mounts.split(|&byte| byte == b'\n');
            let overlay = |overlay| Mounted { root: PathBuf::from(&root), is_own, overlay };
            lines.filter_map(of_line).map(overlay).collect::<Vec<_>>()
        };
        Overlays(namespaces().into_iter().flat_map(mounted).collect())
    }

    /// The other files of a file's data: that in the upper directory of one seen through an overlay, and the reverse. The kernel has them
    /// as different files, with locks of their own.
    pub fn other_sides(&self, path: &Path) -> Vec<OtherSide> {
        let Ok(path) = fs::canonicalize(path) else { return Vec::new() };
        self.0.iter().filter_map(|mounted| mounted.open(&mounted.other(&path)?).ok()).collect()
    }
}

/// This program's process, and one of each other mount namespace.
fn namespaces() -> Vec<(String, bool)> {
    let namespace = |process: &str| fs::read_link(format!("/proc/{process}/ns/mnt")).ok();
    let own = namespace("self");
    let mut found = BTreeMap::new();
    for process in others().map(|process| process.to_string()) {
        if let Some(name) = namespace(&process).filter(|name| Some(name) != own.as_ref()) {
            found.entry(name).or_insert((process, false));
        }
    }
    std::iter::once(("self".to_owned(), true)).chain(found.into_values()).collect()
}

impl Mounted {
    /// Only what belongs to the overlay is looked at: another mount may not respond.
    fn other(&self, path: &Path) -> Option<PathBuf> {
        // In another namespace no path of this one means anything but that of the upper directory, which whoever mounted it has given.
        if self.is_own {
            self.overlay.other(path)
        } else {
            moved(&self.overlay.upper, &self.overlay.merged, path)
        }
    }

    /// Opens what is at a path of this namespace, without links, to be looked at.
    fn open(&self, path: &Path) -> io::Result<OtherSide> {
        let root = File::open(&self.root)?;
        let relative = path.strip_prefix("/").unwrap_or(path);
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = match openat2(&root, relative, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
            // Before Linux 5.6, or a container's filter of system calls.
            Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM) => {
                openat(&root, relative, flags, Mode::empty())?
            }
            other => other?,
        };
        Ok(OtherSide { path: self.root.join(relative), file: File::from(file) })
    }
}

/// A path below one directory, below another.
fn moved(from: &Path, to: &Path, path: &Path) -> Option<PathBuf> {
    Some(to.join(path.strip_prefix(from).ok()?))
}

/// Where an overlay is, and what it writes to.
#[derive(Debug, PartialEq, Eq)]
struct Overlay {
    merged: PathBuf,
    upper: PathBuf,
}

impl Overlay {
    fn other(&self, path: &Path) -> Option<PathBuf> {
        moved(&self.merged, &self.upper, path).or_else(|| moved(&self.upper, &self.merged, path))
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
