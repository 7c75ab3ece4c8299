//! Who else uses a file or device: locks, open descriptors, loop devices.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, StatxFlags};

/// `LOOP_GET_STATUS64` of linux/loop.h.
const LOOP_GET_STATUS64: u64 = 0x4C05;

/// `F_SETSIG` of asm-generic/fcntl.h, which libc leaves out.
const F_SETSIG: libc::c_int = 10;

/// The start of `struct loop_info64` of linux/loop.h, and space for the rest of it.
#[repr(C)]
struct LoopInfo {
    device: u64,
    inode: u64,
    rdevice: u64,
    rest: [u64; 26],
}

/// What a loop device is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Backing {
    /// A regular file, by device and inode.
    File(u64, u64),
    /// A block device, by its number (`dev_t`).
    Device(u64),
}

/// What the loop device of this name is made of; `None` where it is none, is free, or may not be opened.
pub(crate) fn loop_backing(name: &str) -> Option<Backing> {
    if !name.starts_with("loop") {
        return None;
    }
    // A free one is not opened.
    let path = fs::read_to_string(format!("/sys/block/{name}/loop/backing_file")).ok()?;
    backing_by_number(name).or_else(|| {
        let metadata = fs::metadata(path.trim_end_matches('\n')).ok()?;
        Some(backing_of(&metadata))
    })
}

fn backing_by_number(name: &str) -> Option<Backing> {
    let file = File::open(Path::new("/dev").join(name)).ok()?;
    let mut info = LoopInfo { device: 0, inode: 0, rdevice: 0, rest: [0; 26] };
    // SAFETY: LOOP_GET_STATUS64 writes one struct loop_info64 (232 bytes, as `LoopInfo`) to the pointer, and keeps none.
    let done = unsafe { libc::ioctl(file.as_raw_fd(), LOOP_GET_STATUS64 as _, &raw mut info) };
    let found = if info.rdevice != 0 {
        Backing::Device(info.rdevice)
    } else {
        Backing::File(info.device, info.inode)
    };
    (done == 0).then_some(found)
}

/// What another process has open, by a link in /proc, without waiting for a file system that does not respond: type and number are known
/// without asking it (statx(2), AT_STATX_DONT_SYNC).
pub(crate) fn held(link: &Path) -> Option<Backing> {
    let found = rustix::fs::statx(
        rustix::fs::CWD,
        link,
        AtFlags::STATX_DONT_SYNC,
        StatxFlags::TYPE | StatxFlags::INO,
    );
    let found = found.ok()?;
    Some(match FileType::from_raw_mode(found.stx_mode.into()) {
        FileType::BlockDevice => {
            Backing::Device(rustix::fs::makedev(found.stx_rdev_major, found.stx_rdev_minor))
        }
        _ => Backing::File(rustix::fs::makedev(found.stx_dev_major, found.stx_dev_minor), found.stx_ino),
    })
}

/// A file or device as a loop device would be made of it.
pub(crate) fn backing_of(metadata: &fs::Metadata) -> Backing {
    use std::os::unix::fs::FileTypeExt;
    if metadata.file_type().is_block_device() {
        Backing::Device(metadata.rdev())
    } else {
        Backing::File(metadata.dev(), metadata.ino())
    }
}

/// Names of the loop devices that are made of this.
pub(crate) fn loops_over(backing: Backing) -> Vec<String> {
    let devices = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let names = devices.filter_map(|device| device.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| loop_backing(name) == Some(backing)).collect();
    names.sort_unstable();
    names
}

/// Who holds a lock (of POSIX, or of an open file description) against writing to the file; `None` where nobody does, or where
/// the file system has no locks. Asked through `file`, which is open for writing.
pub fn locked_by(file: &File) -> Option<String> {
    // SAFETY: a flock is plain integers, for which zero is a value.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = libc::F_WRLCK as _;
    lock.l_whence = libc::SEEK_SET as _;
    // SAFETY: F_OFD_GETLK reads and writes one flock at the pointer, and keeps none.
    let done = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &raw mut lock) };
    if done != 0 || lock.l_type == libc::F_UNLCK as libc::c_short {
        return None;
    }
    // The lock of an open file description has no process.
    let holder = u32::try_from(lock.l_pid).ok().filter(|pid| *pid > 0).map(named);
    Some(holder.or_else(|| open_elsewhere(file, false)).unwrap_or_else(unseen))
}

/// Which other process may write to a regular file that it has open; `None` where none does: readers (a backup, an indexer)
/// are no obstacle. `file` is open for reading only, and this process has not opened it for writing before.
pub fn opened_by(file: &File) -> Option<String> {
    if leased(file) {
        return None;
    }
    let written = lease_is_refused_for_writers(file);
    open_elsewhere(file, true).or_else(|| (written && !is_written_here(file)).then(unseen))
}

/// Whether a lease for reading is granted, and given back: then nobody has the file open for writing, whoever may be seen in /proc
/// (fcntl(2), F_SETLEASE; the kernel counts writers by file). Otherwise errno says why not.
fn leased(file: &File) -> bool {
    // Its break, should someone open the file meanwhile, is a signal that is ignored: by itself it would be SIGIO, which ends the program.
    // SAFETY: the commands take an integer and touch no memory of ours.
    unsafe {
        libc::fcntl(file.as_raw_fd(), F_SETSIG, libc::SIGURG);
        let granted = libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, libc::F_RDLCK) == 0;
        if granted {
            libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, libc::F_UNLCK);
        }
        granted
    }
}

/// Whether a lease that was just refused was so because the file is open for writing, and not because it is another user's or the file
/// system has no leases.
fn lease_is_refused_for_writers(file: &File) -> bool {
    let refusal = io::Error::last_os_error().raw_os_error();
    let kind = rustix::fs::fstatfs(file).map_or(0, |found| found.f_type as u64);
    refusal == Some(libc::EAGAIN) && !refuses_for_want_of_a_server(kind)
}

/// Whether everybody was looked at who may have a file or device open: [`opened_by`] and [`devices_opened_by`] do not see the processes of
/// other users, nor, from within a container, those outside of it. Of a regular file the kernel may say itself how many write to it.
pub fn everybody_is_seen(file: &File) -> bool {
    let is_regular = file.metadata().is_ok_and(|metadata| metadata.is_file());
    is_regular && (leased(file) || lease_is_refused_for_writers(file)) || sees_all_processes()
}

fn sees_all_processes() -> bool {
    /// The first namespace of processes: PROC_PID_INIT_INO of linux/proc_ns.h.
    const WHOLE_HOST: &str = "pid:[4026531836]";
    let whole = fs::read_link("/proc/self/ns/pid").is_ok_and(|name| name == Path::new(WHOLE_HOST));
    // With the option hidepid of the mount, others are not even listed.
    let first = Path::new("/proc/1").exists();
    // One that ends meanwhile has nothing open any more.
    let refuses = |pid: u32| {
        fs::read_dir(format!("/proc/{pid}/fd"))
            .is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
    };
    whole && first && !others().any(refuses)
}

/// Whether a file system, by its number in statfs(2), also refuses leases with EAGAIN where nobody writes: NFS without a delegation of
/// its server, SMB without an oplock.
fn refuses_for_want_of_a_server(kind: u64) -> bool {
    // NFS_SUPER_MAGIC and SMB_SUPER_MAGIC of linux/magic.h; CIFS_SUPER_MAGIC and SMB2_SUPER_MAGIC likewise. A magic is 32 bits.
    [0x6969, 0x517B, 0xFF53_4D42, 0xFE53_4D42].contains(&(kind & 0xFFFF_FFFF))
}

/// Which other process has one of these block devices open for writing, or the file (by device and inode) that they rest on; `None`
/// where none is seen.
pub fn devices_opened_by(numbers: &[(u32, u32)], beneath: Option<(u64, u64)>) -> Option<String> {
    let device = |&(major, minor)| Backing::Device(rustix::fs::makedev(major, minor));
    let file = beneath.map(|(device, inode)| Backing::File(device, inode));
    let data: Vec<Backing> = numbers.iter().map(device).chain(file).collect();
    others().find(|pid| holds(*pid, &data, true) || data.iter().any(|data| maps(*pid, *data))).map(named)
}

fn unseen() -> String {
    "a process that this user cannot see".to_owned()
}

/// A process as users know it.
pub(crate) fn named(pid: u32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let name: String = name.trim_end().chars().filter(|c| !c.is_control()).collect();
    if name.is_empty() { format!("process {pid}") } else { format!("{name} (process {pid})") }
}

/// Numbers of processes other than this one.
pub(crate) fn others() -> impl Iterator<Item = u32> {
    let own = std::process::id();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter(move |number| *number != own)
}

/// The descriptors of a process that are one of these files or devices.
fn descriptors(pid: u32, what: &[Backing]) -> Vec<String> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let is = |entry: &fs::DirEntry| {
        // Only what leads to a path: a pipe or a socket is never waited for.
        fs::read_link(entry.path()).is_ok_and(|target| target.is_absolute())
            && held(&entry.path()).is_some_and(|held| what.contains(&held))
    };
    entries.filter(is).filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// Whether a process has one of these open, or, with `writing`, open for writing.
fn holds(pid: u32, what: &[Backing], writing: bool) -> bool {
    let writes = |descriptor: &String| {
        let info = fs::read_to_string(format!("/proc/{pid}/fdinfo/{descriptor}")).unwrap_or_default();
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
        let flags = flags.and_then(|flags| i32::from_str_radix(flags.trim(), 8).ok());
        flags.is_some_and(|flags| flags & libc::O_ACCMODE != libc::O_RDONLY)
    };
    descriptors(pid, what).iter().any(|descriptor| !writing || writes(descriptor))
}

fn open_elsewhere(file: &File, writing: bool) -> Option<String> {
    let what = backing_of(&file.metadata().ok()?);
    others().find(|pid| holds(*pid, &[what], writing) || writing && maps(*pid, what)).map(named)
}

/// Whether a process writes to a regular file that it has mapped, also without a descriptor. Columns as in proc_pid_maps(5).
fn maps(pid: u32, what: Backing) -> bool {
    let Backing::File(device, inode) = what else { return false };
    let device = format!("{:02x}:{:02x}", rustix::fs::major(device), rustix::fs::minor(device));
    let inode = inode.to_string();
    let text = fs::read(format!("/proc/{pid}/maps")).unwrap_or_default();
    String::from_utf8_lossy(&text).lines().any(|line| {
        let columns: Vec<&str> = line.split_whitespace().take(5).collect();
        let [_, permissions, _, number, node] = columns[..] else { return false };
        permissions.contains('w') && permissions.ends_with('s') && number == device && node == inode
    })
}

/// Whether this process itself has the file open for writing.
fn is_written_here(file: &File) -> bool {
    file.metadata().is_ok_and(|metadata| holds(std::process::id(), &[backing_of(&metadata)], true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_ones_own_is_free() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let written = File::create(&path).unwrap();
        let file = File::open(&path).unwrap();
        assert_eq!((locked_by(&written), opened_by(&file)), (None, None));
        drop(written);
        assert_eq!(opened_by(&file), None);
    }

    #[test]
    fn another_process_that_may_write_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, "x").unwrap();
        let file = File::open(&path).unwrap();
        let held_as = |descriptor: File| {
            let mut child = std::process::Command::new("sleep").arg("60").stdin(descriptor).spawn().unwrap();
            let holder = opened_by(&file);
            child.kill().unwrap();
            child.wait().unwrap();
            (holder, format!("process {}", child.id()))
        };
        let (writer, process) = held_as(File::options().write(true).open(&path).unwrap());
        assert!(writer.as_ref().is_some_and(|writer| writer.contains(&process)), "{writer:?}");
        let (reader, _) = held_as(File::open(&path).unwrap());
        assert_eq!(reader, None, "who only reads is no obstacle");
    }

    #[test]
    fn a_lease_that_a_server_elsewhere_does_not_grant_is_no_writer() {
        assert!(refuses_for_want_of_a_server(0x6969) && refuses_for_want_of_a_server(0xFE53_4D42));
        // A signed magic is extended.
        assert!(refuses_for_want_of_a_server(0xFFFF_FFFF_FF53_4D42));
        // ext4, tmpfs.
        assert!(!refuses_for_want_of_a_server(0xEF53) && !refuses_for_want_of_a_server(0x0102_1994));
    }

    #[test]
    fn another_process_that_has_it_mapped_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, [0; 4096]).unwrap();
        // Python's own module would keep a descriptor.
        let script = "import ctypes, os, sys; fd = os.open(sys.argv[1], os.O_RDWR); \
                      ctypes.CDLL(None).mmap(None, ctypes.c_size_t(4096), 3, 1, fd, ctypes.c_long(0)); os.close(fd); \
                      print('ready', flush=True); sys.stdin.read()";
        let mut command = std::process::Command::new("python3");
        command.args(["-c", script]).arg(&path);
        command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let Ok(mut child) = command.spawn() else { return println!("skipped: no python3") };
        let mut line = String::new();
        std::io::BufRead::read_line(&mut io::BufReader::new(child.stdout.take().unwrap()), &mut line)
            .unwrap();
        let found = opened_by(&File::open(&path).unwrap());
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(line, "ready\n");
        assert!(
            found.as_ref().is_some_and(|found| found.contains(&format!("process {}", child.id()))),
            "{found:?}"
        );
    }

    /// A mapping counts as a writer, and nobody has a descriptor for it that could be seen.
    #[test]
    fn a_writer_that_cannot_be_seen_is_found_beside_a_reader() {
        use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, [0; 4096]).unwrap();
        let (writer, file) =
            (File::options().read(true).write(true).open(&path).unwrap(), File::open(&path).unwrap());
        let mut reader =
            std::process::Command::new("sleep").arg("60").stdin(File::open(&path).unwrap()).spawn().unwrap();
        // SAFETY: a new mapping that nothing refers to.
        let mapped =
            unsafe { mmap(std::ptr::null_mut(), 4096, ProtFlags::WRITE, MapFlags::SHARED, &writer, 0) }
                .unwrap();
        drop(writer);
        let found = opened_by(&file);
        // SAFETY: the range is the whole mapping, which nothing refers to.
        unsafe { munmap(mapped, 4096) }.unwrap();
        let then = opened_by(&file);
        reader.kill().unwrap();
        reader.wait().unwrap();
        assert_eq!((found, then), (Some(unseen()), None));
    }
}
