//! The mounted file systems, from `/proc/self/mountinfo` (Linux, Documentation/filesystems/proc.rst, section 3.5).
//!
//! Parsed here and not by the procfs crate, whose maps of options lose their order.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, StatxFlags};

use crate::sysfs::{Number, parse_number};

/// One line of mountinfo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mount {
    /// Identity of the mount, as reported by statx(2).
    pub(crate) id: u64,
    /// Device number of the file system: a block device's own, or one with major number 0.
    pub(crate) number: Number,
    /// Where it is mounted.
    pub(crate) mount_point: PathBuf,
    /// Type, for example `ext4`.
    pub(crate) kind: String,
    /// What is mounted.
    pub(crate) source: String,
    /// Options of the mount, then those of the file system, each once.
    pub(crate) options: Vec<String>,
}

/// Identifies the mount that a path is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    /// Identity of the mount; `None` before Linux 5.8.
    pub(crate) mount: Option<u64>,
    /// `st_dev`.
    pub(crate) number: Number,
}

impl Identity {
    /// Of an existing path.
    pub(crate) fn of(path: &Path) -> io::Result<Identity> {
        let device = std::fs::metadata(path)?.dev();
        let mount = rustix::fs::statx(CWD, path, AtFlags::empty(), StatxFlags::MNT_ID)
            .ok()
            .filter(|answer| answer.stx_mask & StatxFlags::MNT_ID.bits() != 0)
            .map(|answer| answer.stx_mnt_id);
        Ok(Identity { mount, number: (rustix::fs::major(device), rustix::fs::minor(device)) })
    }
}

impl Mount {
    /// Every mount that this process sees; none where `/proc` is not mounted.
    pub(crate) fn all() -> Vec<Mount> {
        let text = std::fs::read("/proc/self/mountinfo").unwrap_or_default();
        Mount::parse(&String::from_utf8_lossy(&text))
    }

    /// The mounts in the text of a mountinfo file; lines of an unknown shape are left out.
    pub(crate) fn parse(text: &str) -> Vec<Mount> {
        text.lines().filter_map(Mount::parse_line).collect()
    }

    fn parse_line(line: &str) -> Option<Mount> {
        // The optional fields in the middle end with a lone hyphen.
        let (mount, filesystem) = line.split_once(" - ")?;
        let mut mount = mount.split(' ');
        let id = mount.next()?.parse().ok()?;
        let number = parse_number(mount.nth(1)?)?;
        let mount_point = PathBuf::from(unescape(mount.nth(1)?));
        let mount_options = mount.next()?;
        let mut filesystem = filesystem.split(' ');
        let kind = unescape(filesystem.next()?);
        let source = unescape(filesystem.next()?);
        let options = merge_options(mount_options, filesystem.next().unwrap_or_default());
        Some(Mount { id, number, mount_point, kind, source, options })
    }

    /// The mount that `path` (absolute, without symbolic links) is on.
    ///
    /// The mount's identity decides where the kernel reports it. Else `st_dev` does, and among several mounts of one
    /// file system (bind mounts) the longest mount point above the path, the latest of equals. A `st_dev` that no
    /// mount has (a btrfs subvolume's) leaves the mount point alone to decide.
    pub(crate) fn of_path<'a>(mounts: &'a [Mount], path: &Path, identity: Identity) -> Option<&'a Mount> {
        let deepest = |admit: &dyn Fn(&Mount) -> bool| {
            mounts
                .iter()
                .filter(|mount| path.starts_with(&mount.mount_point) && admit(mount))
                .max_by_key(|mount| mount.mount_point.components().count())
        };
        mounts
            .iter()
            .find(|mount| Some(mount.id) == identity.mount)
            .or_else(|| deepest(&|mount| mount.number == identity.number))
            .or_else(|| deepest(&|_| true))
    }

    /// The directory that an overlay writes to.
    pub(crate) fn upper_directory(&self) -> Option<&Path> {
        if self.kind != "overlay" {
            return None;
        }
        upper_directory(&self.options)
    }
}

/// The directory that an overlay with these options writes to; `None` if it has none or it is not absolute.
pub(crate) fn upper_directory(options: &[String]) -> Option<&Path> {
    options
        .iter()
        .find_map(|option| option.strip_prefix("upperdir="))
        .map(Path::new)
        .filter(|path| path.is_absolute())
}

/// The options of the mount, then those of the file system that are not among them. Where either says `ro`, nothing
/// can be written, so that an `rw` of the other is left out.
fn merge_options(mount: &str, filesystem: &str) -> Vec<String> {
    let mut options: Vec<String> = Vec::new();
    let both = || mount.split(',').chain(filesystem.split(','));
    let read_only = both().any(|option| option == "ro");
    for option in both().filter(|option| !option.is_empty()) {
        let option = if option == "rw" && read_only { "ro".to_string() } else { unescape(option) };
        if !options.contains(&option) {
            options.push(option);
        }
    }
    options
}

/// Undoes the kernel's escapes: a backslash and three octal digits stand for a space, tab, newline or backslash.
fn unescape(text: &str) -> String {
    let mut parts = text.split('\\');
    let mut plain = parts.next().unwrap_or_default().to_string();
    for part in parts {
        match part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) if byte.is_ascii() => {
                plain.push(char::from(byte));
                plain.push_str(&part[3..]);
            }
            _ => {
                plain.push('\\');
                plain.push_str(part);
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw,discard
40 27 259:4 / /srv/db rw,noatime shared:7 master:2 - xfs /dev/nvme0n1p1 rw,attr2,logbufs=8
41 27 259:4 /inner /mnt/my\\040disk ro,noatime - xfs /dev/nvme0n1p1 rw,attr2
42 40 0:50 / /srv/db/tmp rw - tmpfs tmpfs rw,size=1024k
43 27 0:60 /@data /data rw,relatime - btrfs /dev/sdb1 rw,subvol=/@data
44 27 0:61 / /merged rw - overlay overlay rw,lowerdir=/l,upperdir=/var/up\\040per,workdir=/w
45 42 0:51 / /srv/db/tmp rw - tmpfs second rw
a line of an unknown shape
";

    fn chosen(path: &str, mount: Option<u64>, number: Number) -> (PathBuf, String) {
        let mounts = Mount::parse(TEXT);
        let chosen = Mount::of_path(&mounts, Path::new(path), Identity { mount, number }).unwrap();
        (chosen.mount_point.clone(), chosen.source.clone())
    }

    #[test]
    fn lines_are_parsed() {
        let mounts = Mount::parse(TEXT);
        assert_eq!(mounts.len(), 8);
        let xfs = &mounts[2];
        assert_eq!((xfs.id, xfs.number, xfs.kind.as_str()), (40, (259, 4), "xfs"));
        assert_eq!(xfs.options, ["rw", "noatime", "attr2", "logbufs=8"]);
        assert_eq!(mounts[3].mount_point, Path::new("/mnt/my disk"));
        assert_eq!(mounts[3].options, ["ro", "noatime", "attr2"]);
        assert_eq!(mounts[6].upper_directory(), Some(Path::new("/var/up per")));
        assert_eq!(mounts[2].upper_directory(), None);
    }

    #[test]
    fn the_device_number_beats_the_longest_prefix() {
        // A path beneath /srv/db/tmp that still is on the file system mounted at /srv/db.
        assert_eq!(chosen("/srv/db/tmp/x", None, (259, 4)).0, Path::new("/srv/db"));
        assert_eq!(chosen("/mnt/my disk/x", None, (259, 4)).0, Path::new("/mnt/my disk"));
        assert_eq!(chosen("/srv/dbother", None, (254, 1)).0, Path::new("/"));
    }

    #[test]
    fn the_mount_identity_beats_all() {
        assert_eq!(chosen("/srv/db/tmp", Some(42), (0, 51)).1, "tmpfs");
        assert_eq!(chosen("/srv/db/tmp", Some(45), (0, 51)).1, "second");
    }

    #[test]
    fn a_number_that_no_mount_has_falls_back_to_the_mount_point() {
        assert_eq!(chosen("/data/subvolume/x", None, (0, 77)).0, Path::new("/data"));
    }

    #[test]
    fn escapes_are_undone() {
        assert_eq!(unescape("a\\040b\\134c"), "a b\\c");
        assert_eq!(unescape("a\\,b\\"), "a\\,b\\");
    }
}
