//! The storage under a directory: its file system, and the block devices beneath down to the leaves.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use iolite_model::{Bytes, Device, Filesystem, Storage};

use crate::chain::chain;
use crate::error::Error;
use crate::mounts::{Identity, Mount, upper_directory};
use crate::sysfs::{Number, Sysfs};

/// Overlays that may lie on each other before the search for a device is given up; the kernel allows two.
const OVERLAYS: u32 = 4;

/// What the storage under `directory` is: the file system, and every block device beneath that the kernel shows.
///
/// The devices are empty for file systems in memory and on the network, and for an overlay whose upper directory is
/// not visible, as in most containers.
///
/// # Errors
///
/// Only where the directory does not exist, is not a directory or cannot be reached.
pub fn storage(directory: &Path) -> Result<Storage, Error> {
    let failed = |source| Error::new(directory, source);
    let path = fs::canonicalize(directory).map_err(failed)?;
    if !fs::metadata(&path).map_err(failed)?.is_dir() {
        return Err(failed(io::ErrorKind::NotADirectory.into()));
    }
    let identity = Identity::of(&path).map_err(failed)?;
    let room = rustix::fs::statvfs(&path).map_err(|errno| failed(io::Error::from(errno)))?;
    let machine = Machine::this();
    let mut filesystem = machine.filesystem(&path, identity);
    filesystem.size = Bytes(room.f_blocks.saturating_mul(room.f_frsize));
    filesystem.free = Bytes(room.f_bavail.saturating_mul(room.f_frsize));
    filesystem.block_size = Bytes(room.f_bsize);
    let devices = machine.devices(&machine.beneath(&path));
    Ok(Storage { directory: path, filesystem, devices })
}

/// What the storage under an existing file or block device is. A block device has no file system: its own path stands for the
/// directory, `block device` for the file system's type.
///
/// # Errors
///
/// Only where it does not exist or cannot be reached.
pub fn storage_of_target(target: &Path) -> Result<Storage, Error> {
    let failed = |source| Error::new(target, source);
    let path = fs::canonicalize(target).map_err(failed)?;
    if special(&path).is_none() {
        return storage(path.parent().unwrap_or(&path));
    }
    let machine = Machine::this();
    let devices = machine.devices(&machine.beneath(&path));
    let size = devices.first().map(|device| device.size).unwrap_or_default();
    let filesystem = Filesystem {
        kind: "block device".into(),
        source: path.to_string_lossy().into_owned(),
        mount_point: path.clone(),
        size,
        ..Filesystem::default()
    };
    Ok(Storage { directory: path, filesystem, devices })
}

/// Every block device beneath an existing path, each before the ones it rests on.
pub(crate) fn beneath(path: &Path) -> Vec<Device> {
    let machine = Machine::this();
    let absolute = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    machine.devices(&machine.beneath(&absolute))
}

/// The name of the medium where it is memory and not storage: `tmpfs`, `ramfs`, or the RAM disks and zram devices
/// that everything rests on.
///
/// Looks through an overlay to the file system it writes to, and through a loop device to that of its file, as far
/// as they are visible.
pub fn volatile(storage: &Storage) -> Option<String> {
    let filesystem = &storage.filesystem;
    if in_memory(&filesystem.kind) {
        return Some(filesystem.kind.clone());
    }
    if filesystem.kind == "overlay" && storage.devices.is_empty() {
        return Machine::this().memory_under(upper_directory(&filesystem.options)?);
    }
    let mut names: Vec<String> = storage.leaves().map(volatile_leaf).collect::<Option<_>>()?;
    names.sort();
    names.dedup();
    (!names.is_empty()).then(|| names.join(", "))
}

/// Size of the leaf devices that rotate, where one does. Devices that are not what they rest on (loop, virtio, zram) may report
/// so without reason.
pub fn rotational(storage: &Storage) -> Option<Bytes> {
    let rotates = |device: &&Device| {
        device.rotational == Some(true) && !matches!(device.kind.as_str(), "loop" | "virtio" | "zram")
    };
    storage.leaves().filter(rotates).map(|device| device.size).reduce(|sum, size| Bytes(sum.0 + size.0))
}

/// The name of a leaf's medium where that is memory.
fn volatile_leaf(leaf: &Device) -> Option<String> {
    /// RAM disks, the brd driver (Linux, Documentation/admin-guide/devices.txt).
    const RAMDISK_MAJOR: u32 = 1;
    match leaf.kind.as_str() {
        "zram" => Some(leaf.name.clone()),
        "loop" => Machine::this().memory_under(Path::new(leaf.model.as_deref()?)),
        _ => (leaf.number.0 == RAMDISK_MAJOR).then(|| leaf.name.clone()),
    }
}

fn in_memory(kind: &str) -> bool {
    matches!(kind, "tmpfs" | "ramfs")
}

/// What this process sees of the machine: its block devices and its mounts.
struct Machine {
    sysfs: Sysfs,
    mounts: Vec<Mount>,
}

impl Machine {
    fn this() -> Machine {
        Machine { sysfs: Sysfs::system(), mounts: Mount::all() }
    }

    /// The file system that `path` is on, its sizes left empty.
    fn filesystem(&self, path: &Path, identity: Identity) -> Filesystem {
        match Mount::of_path(&self.mounts, path, identity) {
            Some(mount) => Filesystem {
                kind: mount.kind.clone(),
                source: mount.source.clone(),
                mount_point: mount.mount_point.clone(),
                options: mount.options.clone(),
                ..Filesystem::default()
            },
            // No /proc, or a changed root whose own mount is not shown.
            None => Filesystem {
                kind: "unknown".into(),
                mount_point: PathBuf::from("/"),
                ..Filesystem::default()
            },
        }
    }

    fn devices(&self, tops: &[Number]) -> Vec<Device> {
        chain(&self.sysfs, tops, &|file| self.beneath(file))
    }

    /// The block devices directly under what is at `path`: itself if it is one, else those of its file system.
    fn beneath(&self, path: &Path) -> Vec<Number> {
        self.beneath_overlays(path, OVERLAYS)
    }

    fn beneath_overlays(&self, path: &Path, overlays: u32) -> Vec<Number> {
        if let Some(number) = special(path) {
            return vec![number];
        }
        let Ok(path) = fs::canonicalize(path) else { return Vec::new() };
        let Ok(identity) = Identity::of(&path) else { return Vec::new() };
        match Mount::of_path(&self.mounts, &path, identity) {
            Some(mount) => self.under_mount(mount, overlays),
            // Without a mount to ask there is the device number; an anonymous one leads to no device.
            None => vec![identity.number],
        }
    }

    /// The block devices directly under a mount, or under the directory it writes to if it is an overlay.
    fn under_mount(&self, mount: &Mount, overlays: u32) -> Vec<Number> {
        match mount.upper_directory() {
            None => self.mounted(mount),
            Some(upper) if overlays > 0 => self.beneath_overlays(upper, overlays - 1),
            Some(_) => Vec::new(),
        }
    }

    /// The block devices of a mounted file system.
    fn mounted(&self, mount: &Mount) -> Vec<Number> {
        // Major number 0 is for file systems without one block device of their own: tmpfs, NFS, but also btrfs and
        // others that span several.
        if mount.number.0 != 0 {
            return vec![mount.number];
        }
        // A bcachefs source names all its devices, with colons between.
        let sources = mount.source.split(':').filter_map(|source| special(Path::new(source)));
        match mount.kind.as_str() {
            "btrfs" => sources.take(1).flat_map(|source| self.sysfs.btrfs_members(source)).collect(),
            _ => sources.collect(),
        }
    }

    /// The kind of the file system at `path` where that is memory.
    fn memory_under(&self, path: &Path) -> Option<String> {
        let path = fs::canonicalize(path).ok()?;
        let mount = Mount::of_path(&self.mounts, &path, Identity::of(&path).ok()?)?;
        in_memory(&mount.kind).then(|| mount.kind.clone())
    }
}

/// The number of the block device whose special file this is.
fn special(path: &Path) -> Option<Number> {
    let metadata = fs::metadata(path).ok().filter(|_| path.is_absolute())?;
    let number = metadata.rdev();
    metadata.file_type().is_block_device().then(|| (rustix::fs::major(number), rustix::fs::minor(number)))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use iolite_model::ErrorCause;

    use super::*;

    #[test]
    fn the_storage_here_makes_sense() {
        let directory = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let storage = storage(directory.path()).unwrap();
        assert!(storage.directory.is_absolute());
        let filesystem = &storage.filesystem;
        assert!(!filesystem.kind.is_empty() && !filesystem.options.is_empty(), "{filesystem:?}");
        assert!(storage.directory.starts_with(&filesystem.mount_point), "{filesystem:?}");
        assert!(
            filesystem.free <= filesystem.size && filesystem.block_size.0.is_power_of_two(),
            "{filesystem:?}"
        );
        for (index, device) in storage.devices.iter().enumerate() {
            for name in &device.rests_on {
                assert!(storage.devices[index + 1..].iter().any(|below| below.name == *name), "{storage:?}");
            }
        }
        if storage.devices.is_empty() {
            return eprintln!("skipped: {} has no device", filesystem.kind);
        }
        assert!(storage.leaves().count() > 0);
        for leaf in storage.leaves() {
            assert!(leaf.size.0 > 0 && leaf.logical_block.unwrap().0 >= 512, "{leaf:?}");
        }
    }

    #[test]
    fn a_relative_path_is_made_absolute() {
        assert_eq!(storage(Path::new(".")).unwrap().directory, std::env::current_dir().unwrap());
    }

    #[test]
    fn an_unusable_directory_is_said() {
        let missing = storage(Path::new("/no/such/directory")).unwrap_err().to_string();
        assert!(missing.starts_with("cannot examine the storage of `/no/such/directory`: "), "{missing}");
        produced(ErrorCause::Missing, &missing);
        let file = tempfile::NamedTempFile::new().unwrap();
        for path in [file.path(), &file.path().join("x")] {
            produced(ErrorCause::NotADirectory, &storage(path).unwrap_err().to_string());
        }
        let denied = Error::new(Path::new("/x"), io::ErrorKind::PermissionDenied.into());
        produced(ErrorCause::NotPermitted, &denied.to_string());
    }

    /// Checks that the remedy of a cause is named. docs/errors.md lists each call as the test of that cause.
    fn produced(cause: ErrorCause, text: &str) {
        assert!(text.contains(cause.remedy()), "{cause:?}: {text}");
    }

    #[test]
    fn memory_is_volatile() {
        let leaf = |name: &str, kind: &str, major| Device {
            name: name.into(),
            kind: kind.into(),
            number: (major, 0),
            ..Device::default()
        };
        let on = |kind: &str, devices: Vec<Device>| {
            let filesystem = Filesystem { kind: kind.into(), ..Filesystem::default() };
            volatile(&Storage { filesystem, devices, ..Storage::default() })
        };
        assert_eq!(on("tmpfs", Vec::new()).as_deref(), Some("tmpfs"));
        assert_eq!(on("ext4", vec![leaf("zram1", "zram", 253)]).as_deref(), Some("zram1"));
        assert_eq!(on("ext4", vec![leaf("ram0", "disk", 1)]).as_deref(), Some("ram0"));
        assert_eq!(on("ext4", vec![leaf("zram1", "zram", 253), leaf("sda", "scsi", 8)]), None);
        assert_eq!(on("ext4", vec![leaf("loop0", "loop", 7)]), None);
        assert_eq!(on("nfs4", Vec::new()), None);
        assert_eq!(on("overlay", Vec::new()), None);
    }

    #[test]
    fn shared_memory_is_recognised() {
        let Ok(storage) = storage(Path::new("/dev/shm")) else { return eprintln!("skipped: no /dev/shm") };
        if storage.filesystem.kind != "tmpfs" {
            return eprintln!("skipped: /dev/shm is {}", storage.filesystem.kind);
        }
        assert_eq!((storage.devices.len(), volatile(&storage)), (0, Some("tmpfs".to_string())));
    }

    #[test]
    fn an_overlay_lies_on_the_devices_of_its_upper_directory() {
        let upper = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let machine = Machine::this();
        let under = |upper: &Path, overlays| {
            let options = format!("lowerdir=/,upperdir={}", upper.display());
            let line = format!("9 1 0:99 / /merged rw - overlay overlay rw,{options}");
            machine.under_mount(&Mount::parse(&line)[0], overlays)
        };
        assert_eq!(under(upper.path(), OVERLAYS), machine.beneath(upper.path()));
        assert_eq!(under(Path::new("/no/such/directory"), OVERLAYS), []);
        assert_eq!(under(upper.path(), 0), []);
    }

    /// A loop device on a file, detached when dropped.
    struct Attached(String);

    impl Drop for Attached {
        fn drop(&mut self) {
            let _ = Command::new("losetup").args(["--detach", &self.0]).status();
        }
    }

    fn attach(file: &Path) -> Result<Attached, String> {
        let output = Command::new("losetup").args(["--find", "--show"]).arg(file).output();
        let output = output.map_err(|error| format!("cannot run losetup: {error}"))?;
        if !output.status.success() {
            return Err(format!("losetup refuses: {}", String::from_utf8_lossy(&output.stderr).trim()));
        }
        Ok(Attached(String::from_utf8_lossy(&output.stdout).trim().to_string()))
    }

    #[test]
    fn a_loop_device_rests_on_the_storage_of_its_file() {
        let directory = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let file = directory.path().join("image");
        fs::File::create(&file).unwrap().set_len(8 << 20).unwrap();
        let attached = match attach(&file) {
            Ok(attached) => attached,
            Err(reason) => return eprintln!("skipped: {reason}"),
        };
        let machine = Machine::this();
        let devices = machine.devices(&machine.beneath(Path::new(&attached.0)));
        assert_eq!((devices[0].kind.as_str(), devices[0].size), ("loop", Bytes(8 << 20)));
        assert_eq!(devices[0].model.as_deref(), file.canonicalize().unwrap().to_str());
        assert_eq!(devices[1..], storage(directory.path()).unwrap().devices);
    }
}
