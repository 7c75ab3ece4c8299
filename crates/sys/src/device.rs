//! Block devices and files that the user names: opened without surprises, and what speaks against writing to them.

mod related;

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, major, minor, openat, openat2};
use rustix::ioctl::{self, Getter};

use crate::file::Access;
use crate::holders::{Backing, loops_over};

pub use related::{file_beneath, partition_contents, related};

/// `BLKGETSIZE64` of linux/fs.h: defined with a size_t, but a u64 is what is written.
const BLKGETSIZE64: ioctl::Opcode = ioctl::opcode::read::<usize>(0x12, 114);

/// Most loop devices below one another that are followed.
const CHAIN: usize = 16;

/// A device's major and minor number.
pub type Number = (u32, u32);

/// A file or block device that was there before.
#[derive(Debug)]
pub struct Existing {
    /// Opened as asked for.
    pub file: File,
    /// Its path without links.
    pub path: PathBuf,
    /// The device's number; `None` for a regular file.
    pub device: Option<Number>,
}

/// Opens a regular file, a block device or one of the [endless](is_endless) devices that exists, and nothing else: no pipe is
/// waited for, no other device touched.
///
/// Links are followed once; what is opened is what the path without links then led to. `exclusive` keeps block devices
/// from others who ask so, as the kernel does for mounted ones (O_EXCL); it means nothing for regular files.
///
/// # Errors
/// `InvalidInput` for a file of another kind, or where O_DIRECT is not possible; `ResourceBusy` where `exclusive` and the
/// device is mounted or otherwise held; else as open(2).
pub fn open_existing(path: &Path, access: Access, exclusive: bool) -> io::Result<Existing> {
    let path = fs::canonicalize(path)?;
    // With O_PATH nothing is really opened: no driver hears of it.
    let found = File::from(find(&path)?);
    let number = |file: &File| if is_endless(file)? { Ok(None) } else { device_number(file) };
    let device = number(&found)?;
    let mut flags = access.flags();
    if exclusive && device.is_some() {
        flags |= libc::O_EXCL;
    }
    // The very file that was looked at, whatever is at the path by now.
    let by_number = format!("/proc/self/fd/{}", found.as_raw_fd());
    let opened = OpenOptions::new().read(true).write(access.write).custom_flags(flags).open(&by_number);
    let file = opened.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound if !Path::new("/proc/self").exists() => io::Error::other(
            "/proc is not mounted here, without which what exists is not opened: mount it (mount -t proc proc /proc)",
        ),
        _ => error,
    })?;
    let same = |one: fs::Metadata, other: fs::Metadata| {
        (one.dev(), one.ino(), one.rdev()) == (other.dev(), other.ino(), other.rdev())
    };
    if same(found.metadata()?, file.metadata()?) && number(&file)? == device {
        Ok(Existing { file, path, device })
    } else {
        Err(io::Error::other(format!("{} became another file while it was opened", path.display())))
    }
}

/// What is at a path, to be looked at only: nothing is opened, and links are followed once.
///
/// # Errors
/// As openat2(2).
pub fn look_at(path: &Path) -> io::Result<File> {
    Ok(File::from(find(&fs::canonicalize(path)?)?))
}

/// A descriptor to look at what is at a path without links.
fn find(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let found = openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS);
    match found {
        // Before Linux 5.6, or a container's filter of system calls.
        Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM) => {
            Ok(openat(CWD, path, flags, Mode::empty())?)
        }
        found => Ok(found?),
    }
}

/// Major number of the devices that are memory, and minor numbers of those of them that have neither an end nor data to lose:
/// null, zero, full, random, urandom (Linux, Documentation/admin-guide/devices.txt).
const MEMORY: u32 = 1;
const ENDLESS: [u32; 5] = [3, 5, 7, 8, 9];

/// Whether it is a character device that has neither an end nor data to lose, such as /dev/null.
///
/// # Errors
/// As fstat(2).
pub fn is_endless(file: &File) -> io::Result<bool> {
    let metadata = file.metadata()?;
    let number = metadata.rdev();
    let endless = major(number) == MEMORY && ENDLESS.contains(&minor(number));
    Ok(metadata.file_type().is_char_device() && endless)
}

/// The number of the block device that was opened; `None` for a regular file.
///
/// # Errors
/// `InvalidInput` for anything else; as fstat(2).
pub fn device_number(file: &File) -> io::Result<Option<Number>> {
    let metadata = file.metadata()?;
    let kind = metadata.file_type();
    if kind.is_file() {
        return Ok(None);
    }
    if kind.is_block_device() {
        return Ok(Some((major(metadata.rdev()), minor(metadata.rdev()))));
    }
    let what = match kind {
        kind if kind.is_dir() => "a directory",
        kind if kind.is_char_device() => "a character device",
        kind if kind.is_fifo() => "a pipe",
        kind if kind.is_socket() => "a socket",
        _ => "a link",
    };
    let text = format!("this is {what}: name a regular file or a block device");
    Err(io::Error::new(ErrorKind::InvalidInput, text))
}

/// Whether it is a block device.
///
/// # Errors
/// As fstat(2).
pub fn is_block_device(file: &File) -> io::Result<bool> {
    Ok(file.metadata()?.file_type().is_block_device())
}

/// Size in bytes of a regular file or block device; of an [endless](is_endless) device the largest offset that there is.
///
/// # Errors
/// `InvalidInput` for anything else; the kernel's.
pub fn size_of(file: &File) -> io::Result<u64> {
    if is_endless(file)? {
        return Ok(i64::MAX as u64);
    }
    if device_number(file)?.is_none() {
        return Ok(file.metadata()?.len());
    }
    // SAFETY: BLKGETSIZE64 writes a u64 (block/ioctl.c) to the pointer it is given, and keeps none.
    Ok(unsafe { ioctl::ioctl(file, Getter::<BLKGETSIZE64, u64>::new()) }?)
}

/// Size in bytes of a block device's logical blocks (BLKSSZGET): direct I/O is in multiples of it.
///
/// # Errors
/// The kernel's: `ENOTTY` for what is not a block device.
pub fn logical_block(file: &File) -> io::Result<u32> {
    Ok(rustix::fs::ioctl_blksszget(file)?)
}

/// The physical block of a block device in bytes: what it reads and writes at once; `None` where the kernel doesn't say.
pub fn physical_block(file: &File) -> Option<u32> {
    rustix::fs::ioctl_blkpbszget(file).ok().filter(|size| *size > 0)
}

/// Where a partition begins on its disk, in bytes; `None` of what is no partition.
pub fn partition_start(number: Number) -> Option<u64> {
    start_of(&sys_directory(number).ok()?)
}

/// The same of its directory in /sys.
fn start_of(directory: &Path) -> Option<u64> {
    /// Unit of `start` in /sys, whatever the logical block is.
    const SECTOR: u64 = 512;
    let text = fs::read_to_string(directory.join("start")).ok()?;
    text.trim().parse::<u64>().ok()?.checked_mul(SECTOR)
}

/// The directory of a block device in /sys.
fn sys_directory((major, minor): Number) -> io::Result<PathBuf> {
    let path = format!("/sys/dev/block/{major}:{minor}");
    fs::canonicalize(&path).map_err(|error| {
        let text = format!("{path}: {error}; is there a block device of that number, and is /sys mounted?");
        io::Error::new(error.kind(), text)
    })
}

/// A number that a block device's request queue reports; `None` where it doesn't.
pub(crate) fn queue(number: Number, name: &str) -> Option<u64> {
    let directory = sys_directory(number).ok()?;
    // A partition has no queue of its own.
    let owners = [Some(directory.as_path()), directory.parent()];
    let mut queues = owners.into_iter().flatten().map(|owner| owner.join("queue"));
    let text = fs::read_to_string(queues.find(|queue| queue.is_dir())?.join(name)).ok()?;
    text.trim().parse().ok()
}

/// Whether a block device can discard.
pub fn discards(number: Number) -> bool {
    queue(number, "discard_max_bytes").is_some_and(|largest| largest > 0)
}

/// Whether it is a namespace of an NVMe drive itself: no partition of it, and nothing that rests on it. Device mapper passes admin
/// commands of a device with a single target on to the drive beneath, so that whoever sends one has to know this before.
pub fn is_nvme_namespace(number: Number) -> bool {
    sys_directory(number).is_ok_and(|directory| is_namespace(&directory))
}

/// By the device's directory in /sys: its bus, and what it must not have.
fn is_namespace(directory: &Path) -> bool {
    let bus = fs::read_link(directory.join("device/subsystem")).unwrap_or_default();
    let is_nvme = bus.file_name().is_some_and(|bus| bus == "nvme" || bus == "nvme-subsystem");
    let is_part = ["partition", "dm", "md", "loop"].iter().any(|mark| directory.join(mark).exists());
    let rests = fs::read_dir(directory.join("slaves")).is_ok_and(|mut slaves| slaves.next().is_some());
    is_nvme && !is_part && !rests
}

/// Whether completions of this file's device can be polled for; `None` where that is not reported, as with file systems over
/// several devices.
pub(crate) fn polls(file: &File) -> io::Result<Option<bool>> {
    let device = file.metadata()?.dev();
    let number = device_number(file)?.unwrap_or((major(device), minor(device)));
    Ok(queue(number, "io_poll").map(|polls| polls != 0))
}

/// A block device or one of its partitions.
struct Part {
    name: String,
    number: Number,
    directory: PathBuf,
}

impl Part {
    fn at(directory: PathBuf) -> io::Result<Part> {
        let path = directory.join("dev");
        let text = fs::read_to_string(&path)?;
        let number = parse_number(text.trim())
            .ok_or_else(|| io::Error::new(ErrorKind::InvalidData, format!("{}: {text}", path.display())))?;
        let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Part { name, number, directory })
    }

    /// The device and its partitions.
    fn all(number: Number) -> io::Result<Vec<Part>> {
        let directory = sys_directory(number)?;
        let mut parts = vec![Part::at(directory.clone())?];
        for entry in fs::read_dir(&directory)? {
            let path = entry?.path();
            if path.join("partition").exists() {
                parts.push(Part::at(path)?);
            }
        }
        parts.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(parts)
    }
}

/// Why nothing should be written to a block device, a sentence for each reason; empty where none is known. Partitions
/// count with their device: mounted, swap, member of another device (LVM, RAID, encryption).
///
/// Mounts are those that this process can see: another container's are not. Opening the device with `exclusive` finds
/// these, too.
///
/// # Errors
/// There is no such device, or /proc or /sys can't be read: then nothing is known either.
pub fn in_use(number: Number) -> io::Result<Vec<String>> {
    let mut reasons = used(number)?;
    reasons.extend(related::used(number)?);
    Ok(reasons)
}

/// What is known of the device itself and its partitions.
fn used(number: Number) -> io::Result<Vec<String>> {
    let parts = Part::all(number)?;
    let mounts = fs::read("/proc/self/mountinfo")?;
    let mut reasons = mounted(&parts, &mounts, number_at);
    // A kernel without swap has no such file.
    let swaps = fs::read("/proc/swaps").or_else(|error| match error.kind() {
        ErrorKind::NotFound => Ok(Vec::new()),
        _ => Err(error),
    })?;
    reasons.extend(swapped(&parts, &swaps, number_at));
    for part in &parts {
        reasons.extend(held(part)?);
        reasons.extend(in_btrfs(part));
    }
    Ok(reasons)
}

/// Why nothing should be written to a regular file, a sentence for each reason; empty where none is known: a loop device
/// rests on it, or it is swap space. What programs have open is not looked for.
///
/// # Errors
/// As fstat(2).
pub fn file_in_use(file: &File) -> io::Result<Vec<String>> {
    let identity = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    let this = identity(file.metadata()?);
    let is = |path: &Path| fs::metadata(path).is_ok_and(|metadata| identity(metadata) == this);
    // By device and inode: a name of the file may be gone. Without /sys or /proc nothing is known, and nothing refused for it.
    let loops = loops_over(Backing::File(this.0, this.1));
    let mut reasons: Vec<String> = loops.into_iter().map(|name| format!("{name} rests on it")).collect();
    let swaps = fs::read("/proc/swaps").unwrap_or_default();
    let lines = swaps.split(|&byte| byte == b'\n').skip(1);
    let mut paths = lines.filter_map(|line| line.split(|&byte| byte == b' ' || byte == b'\t').next());
    if paths.any(|path| is(&unescaped(path))) {
        reasons.push("it is swap space".to_owned());
    }
    Ok(reasons)
}

/// The serial number of a block device, or of the disk that it is a partition of, as its driver reports it; `None` where it
/// doesn't.
pub fn serial(number: Number) -> Option<String> {
    let directory = sys_directory(number).ok()?;
    let disks = [Some(directory.as_path()), directory.parent()].into_iter().flatten();
    let mut places =
        disks.flat_map(|disk| ["serial", "device/serial", "device/wwid"].map(|name| disk.join(name)));
    let found = places.find_map(|path| fs::read_to_string(path).ok().filter(|text| !text.trim().is_empty()));
    found.map(|text| text.trim().to_owned())
}

/// What a block device is, whatever its name: its serial number, with its number and beginning where it is a partition, or with its
/// number where it is one of several namespaces of an NVMe drive, which share it; `None` where its driver reports no serial number.
pub fn identity(number: Number) -> Option<String> {
    let directory = sys_directory(number).ok()?;
    Some(serial(number)? + &part_of(&directory))
}

/// Which part of a drive is at a directory in /sys; empty of all of it.
fn part_of(directory: &Path) -> String {
    let read = |path: PathBuf| fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
    let partition = read(directory.join("partition"));
    let disk = directory.parent().filter(|_| partition.is_some()).unwrap_or(directory);
    let namespace = read(disk.join("nsid")).filter(|number| number != "1");
    let named = |(what, number): (&str, Option<String>)| number.map(|number| format!(", {what} {number}"));
    let start =
        start_of(directory).filter(|_| partition.is_some()).map(|start| format!(" from byte {start}"));
    let parts = [("namespace", namespace), ("partition", partition)];
    parts.into_iter().filter_map(named).chain(start).collect()
}

/// The number of the block device at a path.
fn number_at(path: &Path) -> Option<Number> {
    let metadata = fs::metadata(path).ok()?;
    let device = metadata.rdev();
    metadata.file_type().is_block_device().then(|| (major(device), minor(device)))
}

/// Mounts of these devices, by number, or by source where a file system has a number of its own (btrfs, bcachefs). Columns
/// as in proc_pid_mountinfo(5).
fn mounted(parts: &[Part], mounts: &[u8], number_at: impl Fn(&Path) -> Option<Number>) -> Vec<String> {
    let mut reasons = Vec::new();
    for line in mounts.split(|&byte| byte == b'\n') {
        let columns: Vec<&[u8]> = line.split(|&byte| byte == b' ').collect();
        let Some(dash) = columns.iter().position(|column| column == b"-") else { continue };
        let (Some(number), Some(place)) = (columns.get(2), columns.get(4)) else { continue };
        let mut numbers = Vec::from_iter(std::str::from_utf8(number).ok().and_then(parse_number));
        // bcachefs names all its devices, with colons between.
        let sources = columns.get(dash + 2).copied().unwrap_or_default().split(|&byte| byte == b':');
        // A share's source may look like a path, and asking for it may take forever.
        numbers.extend(
            sources
                .filter(|source| source.starts_with(b"/dev/"))
                .filter_map(|source| number_at(&unescaped(source))),
        );
        if let Some(part) = parts.iter().find(|part| numbers.contains(&part.number)) {
            reasons.push(format!("{} is mounted at {}", part.name, unescaped(place).display()));
        }
    }
    reasons
}

/// Which of these devices is swap space. Columns as in proc_swaps(5).
fn swapped(parts: &[Part], swaps: &[u8], number_at: impl Fn(&Path) -> Option<Number>) -> Vec<String> {
    let lines = swaps.split(|&byte| byte == b'\n').skip(1);
    let paths = lines.filter_map(|line| {
        line.split(|&byte| byte == b' ' || byte == b'\t').next().filter(|path| !path.is_empty())
    });
    let mut reasons = Vec::new();
    for path in paths.map(unescaped) {
        let number = number_at(&path);
        // The name counts where the path is another container's.
        let is = |part: &&Part| match number {
            Some(number) => part.number == number,
            None => path.file_name() == Some(part.name.as_ref()),
        };
        reasons.extend(parts.iter().find(is).map(|part| format!("{} is swap space", part.name)));
    }
    reasons
}

/// The devices made of this one.
fn held(part: &Part) -> io::Result<Vec<String>> {
    let mut reasons = Vec::new();
    for entry in fs::read_dir(part.directory.join("holders"))? {
        let entry = entry?;
        let mut holder = entry.file_name().to_string_lossy().into_owned();
        // The device mapper's numbered devices have names, which are clearer.
        if let Ok(name) = fs::read_to_string(entry.path().join("dm/name")) {
            holder = format!("{holder} ({})", name.trim());
        }
        reasons.push(format!("{} is part of {holder}", part.name));
    }
    reasons.sort_unstable();
    Ok(reasons)
}

/// A mounted btrfs of several devices names one of them as its source; here are all.
fn in_btrfs(part: &Part) -> Option<String> {
    let systems = fs::read_dir("/sys/fs/btrfs").ok()?.flatten();
    let mut systems = systems.filter(|system| system.path().join("devices").join(&part.name).exists());
    let system = systems.next()?.file_name();
    Some(format!("{} is part of the mounted btrfs {}", part.name, system.to_string_lossy()))
}

fn parse_number(text: &str) -> Option<Number> {
    let (major, minor) = text.split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// A path of /proc, where spaces and their like are octal numbers after a backslash.
pub(crate) fn unescaped(text: &[u8]) -> PathBuf {
    let mut path = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, tail)) = rest.split_first() {
        let digits = tail.get(..3).filter(|_| byte == b'\\');
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(meant) => {
                path.push(meant);
                rest = &tail[3..];
            }
            None => {
                path.push(byte);
                rest = tail;
            }
        }
    }
    PathBuf::from(OsString::from_vec(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{LoopDevice, run};
    use std::os::unix::ffi::OsStrExt;
    use std::time::Duration;

    const READ: Access =
        Access { write: false, direct: false, append: false, durability: crate::file::Durability::None };
    const WRITE: Access = Access { write: true, ..READ };

    fn parts() -> Vec<Part> {
        let part = |name: &str, number| Part { name: name.to_owned(), number, directory: PathBuf::new() };
        vec![part("sda", (8, 0)), part("sda1", (8, 1))]
    }

    #[test]
    fn partitions_and_namespaces_of_a_drive_are_distinguished() {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str, files: &[(&str, &str)]| {
            let directory = root.path().join(path);
            fs::create_dir_all(&directory).unwrap();
            files.iter().for_each(|(name, text)| fs::write(directory.join(name), text).unwrap());
            part_of(&directory)
        };
        assert_eq!(at("sda", &[("size", "1\n")]), "");
        assert_eq!(at("sda/sda2", &[("partition", "2\n")]), ", partition 2");
        let with_start = [("partition", "2\n"), ("start", "2048\n")];
        assert_eq!(at("sda/sda3", &with_start), ", partition 2 from byte 1048576");
        assert_eq!(at("nvme0n1", &[("nsid", "1\n")]), "");
        assert_eq!(at("nvme0n2", &[("nsid", "2\n")]), ", namespace 2");
        assert_eq!(at("nvme0n2/nvme0n2p1", &[("partition", "1\n")]), ", namespace 2, partition 1");
    }

    #[test]
    fn only_an_nvme_drive_itself_is_its_namespace() {
        let root = tempfile::tempdir().unwrap();
        let device = |name: &str, bus: Option<&str>, marks: &[&str]| {
            let directory = root.path().join(name);
            fs::create_dir_all(directory.join("device")).unwrap();
            for mark in marks {
                fs::create_dir_all(directory.join(mark)).unwrap();
            }
            if let Some(bus) = bus {
                std::os::unix::fs::symlink(format!("/sys/bus/{bus}"), directory.join("device/subsystem"))
                    .unwrap();
            }
            is_namespace(&directory)
        };
        assert!(device("nvme0n1", Some("nvme"), &["slaves", "queue"]));
        assert!(device("nvme1n1", Some("nvme-subsystem"), &[]));
        assert!(!device("nvme0n1p1", None, &["partition"]));
        // The kernel would pass the command on to the drive beneath.
        assert!(!device("dm-0", None, &["dm", "slaves/nvme0n1"]));
        assert!(!device("nvme2n1", Some("nvme"), &["slaves/nvme0n1"]));
        assert!(!device("sda", Some("scsi"), &["queue"]));
        assert!(!is_namespace(&root.path().join("none")));
    }

    #[test]
    fn a_file_is_opened_through_links_and_named_without() {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().canonicalize().unwrap().join("real file");
        fs::write(&real, "12345").unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let existing = open_existing(&link, WRITE, true).unwrap();
        assert_eq!((existing.path, existing.device), (real, None));
        assert_eq!(size_of(&existing.file).unwrap(), 5);
        assert!(!is_block_device(&existing.file).unwrap());
        assert_eq!(logical_block(&existing.file).unwrap_err().raw_os_error(), Some(libc::ENOTTY));
        std::os::unix::fs::FileExt::write_all_at(&existing.file, b"abc", 0).unwrap();
        assert_eq!(fs::read_to_string(&link).unwrap(), "abc45");
        // What was looked at is opened without links, so that none can be put there meanwhile.
        assert!(find(&link).is_err() || !File::from(find(&link).unwrap()).metadata().unwrap().is_file());
    }

    #[test]
    fn nothing_else_is_opened() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        rustix::fs::mknodat(CWD, &pipe, rustix::fs::FileType::Fifo, Mode::RWXU, 0).unwrap();
        // The pipe has no writer: opening it would wait forever.
        for path in [dir.path(), Path::new("/dev/tty"), Path::new("/dev/kmsg"), &pipe] {
            let error = open_existing(path, READ, true).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{}: {error}", path.display());
            assert!(error.to_string().contains("name a regular file or a block device"), "{error}");
        }
        let missing = open_existing(&dir.path().join("missing"), WRITE, false);
        assert_eq!(missing.unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn devices_without_an_end_are_opened() {
        let existing = open_existing(Path::new("/dev/zero"), WRITE, true).unwrap();
        assert!(existing.device.is_none() && is_endless(&existing.file).unwrap());
        assert_eq!(size_of(&existing.file).unwrap(), i64::MAX as u64);
        assert!(!is_endless(&tempfile::tempfile().unwrap()).unwrap());
    }

    #[test]
    fn mounts_are_found_by_number_and_by_source() {
        let mounts = b"22 27 0:21 / /proc rw - proc proc rw\n\
            30 1 8:1 / /mnt/a\\040b rw,relatime shared:1 - ext4 /dev/sda1 rw\n\
            31 1 8:2 / /other rw - ext4 /dev/sda2 rw\n\
            32 1 0:55 /sub /btrfs rw - btrfs /dev/mapper/one rw\n\
            33 1 0:56 / /bcachefs rw - bcachefs /dev/x:/dev/mapper/one rw\n\
            34 1 0:57 / /share rw - nfs /mapper/one rw\n\
            garbage\n - \n35 1 8:1\n";
        let number_at = |path: &Path| (path == Path::new("/dev/mapper/one")).then_some((8, 0));
        let expected =
            ["sda1 is mounted at /mnt/a b", "sda is mounted at /btrfs", "sda is mounted at /bcachefs"];
        assert_eq!(mounted(&parts(), mounts, number_at), expected);
    }

    #[test]
    fn swap_is_found() {
        let swaps = b"Filename\t\t\t\tType\t\tSize\n/dev/sda1   partition\t65532\n/swap\\040file file 1\n/dev/dm-1 partition 1\n";
        assert_eq!(swapped(&parts(), swaps, |_| None), ["sda1 is swap space"]);
        let number_at = |path: &Path| (path == Path::new("/dev/dm-1")).then_some((8, 0));
        assert_eq!(swapped(&parts(), swaps, number_at), ["sda1 is swap space", "sda is swap space"]);
        assert!(swapped(&parts(), b"", number_at).is_empty());
    }

    #[test]
    fn paths_of_proc_are_unescaped() {
        for (text, expected) in [
            ("a\\040b\\134", "a b\\"),
            ("\\", "\\"),
            ("\\04", "\\04"),
            ("\\999", "\\999"),
            ("\\777x", "\\777x"),
        ] {
            assert_eq!(unescaped(text.as_bytes()), Path::new(expected));
        }
        assert_eq!(unescaped(b"\\377").as_os_str().as_bytes(), [255]);
    }

    #[test]
    fn a_device_that_is_not_there() {
        assert_eq!(in_use((4095, 77)).unwrap_err().kind(), ErrorKind::NotFound);
    }

    #[test]
    fn a_free_device_is_opened() {
        let Some(device) = LoopDevice::new(8 << 20) else { return };
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("by-id");
        std::os::unix::fs::symlink(device.path(), &link).unwrap();
        let existing = open_existing(&link, WRITE, true).unwrap();
        assert_eq!(existing.path, device.path());
        assert!(is_block_device(&existing.file).unwrap());
        assert_eq!(size_of(&existing.file).unwrap(), 8 << 20);
        assert!(matches!(logical_block(&existing.file).unwrap(), 512 | 4096));
        let number = existing.device.unwrap();
        assert_eq!(number_at(device.path()), Some(number));
        assert!(discards(number));
        assert_eq!(in_use(number).unwrap(), Vec::<String>::new());
        let second = open_existing(device.path(), WRITE, true).unwrap_err();
        assert_eq!(second.kind(), ErrorKind::ResourceBusy);
        open_existing(device.path(), WRITE, false).unwrap();
    }

    #[test]
    fn a_mounted_device_is_in_use() {
        let Some(device) = LoopDevice::new(16 << 20) else { return };
        let path = device.path().to_str().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().canonicalize().unwrap().join("a b");
        fs::create_dir(&place).unwrap();
        let place = place.to_str().unwrap();
        if !run("mkfs.ext4", &["-q", path]) || !run("mount", &[path, place]) {
            return;
        }
        let (reasons, opened) = (in_use(device.number()), open_existing(device.path(), WRITE, true));
        assert!(run("umount", &[place]));
        assert_eq!(reasons.unwrap(), [format!("{} is mounted at {place}", device.name())]);
        assert_eq!(opened.unwrap_err().kind(), ErrorKind::ResourceBusy);
        assert!(in_use(device.number()).unwrap().is_empty());
    }

    #[test]
    fn a_mounted_partition_is_its_devices_matter() {
        let Some(device) = LoopDevice::with_partitions(16 << 20) else { return };
        let path = device.path().to_str().unwrap();
        let [first, second] = [1, 2].map(|index| format!("{path}p{index}"));
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().canonicalize().unwrap();
        let place = place.to_str().unwrap();
        if !run("mkfs.ext4", &["-q", &first]) || !run("mount", &[&first, place]) {
            return;
        }
        let [whole, own, other] =
            [path, &first, &second].map(|path| in_use(number_at(Path::new(path)).unwrap()));
        let discards = discards(number_at(Path::new(&second)).unwrap());
        assert!(run("umount", &[place]));
        let expected = [format!("{}p1 is mounted at {place}", device.name())];
        assert_eq!(whole.unwrap(), expected);
        assert_eq!(own.unwrap(), expected);
        assert_eq!(other.unwrap(), Vec::<String>::new());
        assert!(discards);
    }

    #[test]
    fn swap_space_is_in_use() {
        let Some(device) = LoopDevice::new(1 << 20) else { return };
        let path = device.path().to_str().unwrap();
        if !run("mkswap", &[path]) || !run("swapon", &[path]) {
            return;
        }
        let (reasons, opened) = (in_use(device.number()), open_existing(device.path(), WRITE, true));
        assert!(run("swapoff", &[path]));
        assert_eq!(reasons.unwrap(), [format!("{} is swap space", device.name())]);
        assert_eq!(opened.unwrap_err().kind(), ErrorKind::ResourceBusy);
    }

    #[test]
    fn a_device_under_another_is_in_use() {
        let Some(device) = LoopDevice::new(1 << 20) else { return };
        let mapped = format!("iolite-test-{}", std::process::id());
        let table = format!("0 2048 linear {} 0", device.path().display());
        if !run("dmsetup", &["create", &mapped, "--table", &table]) {
            return;
        }
        let reasons = in_use(device.number());
        // Whoever watches new devices may still be looking at it.
        let gone = (0..50).any(|_| {
            std::thread::sleep(Duration::from_millis(20));
            run("dmsetup", &["remove", &mapped])
        });
        assert!(gone);
        let reasons = reasons.unwrap();
        assert!(reasons.len() == 1 && reasons[0].starts_with(&format!("{} is part of dm-", device.name())));
        assert!(reasons[0].ends_with(&format!("({mapped})")), "{reasons:?}");
    }

    #[test]
    fn holders_are_reported_by_name() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("holders/dm-7/dm")).unwrap();
        fs::write(dir.path().join("holders/dm-7/dm/name"), "vg-data\n").unwrap();
        fs::create_dir(dir.path().join("holders/md0")).unwrap();
        let part = Part { name: "sda1".to_owned(), number: (8, 1), directory: dir.path().to_owned() };
        assert_eq!(held(&part).unwrap(), ["sda1 is part of dm-7 (vg-data)", "sda1 is part of md0"]);
        fs::remove_dir_all(dir.path().join("holders")).unwrap();
        assert!(held(&part).is_err(), "what cannot be read is not free");
    }

    #[test]
    fn a_mounted_btrfs_is_in_use() {
        let Some(device) = LoopDevice::new(128 << 20) else { return };
        let path = device.path().to_str().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().canonicalize().unwrap();
        let place = place.to_str().unwrap();
        if !run("mkfs.btrfs", &["-q", path]) || !run("mount", &[path, place]) {
            return;
        }
        let reasons = in_use(device.number());
        assert!(run("umount", &[place]));
        let reasons = reasons.unwrap();
        assert_eq!(reasons[0], format!("{} is mounted at {place}", device.name()));
        assert!(reasons[1].contains("is part of the mounted btrfs"), "{reasons:?}");
    }
}
