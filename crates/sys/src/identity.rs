//! Who the calling thread is to the system: user, group, name.

use std::ffi::CString;
use std::io::{self, ErrorKind};

/// Bytes of a thread's name that Linux keeps.
const NAME: usize = 15;

/// Makes the calling thread, and no other of the process, run as this user: its real, effective and saved user
/// (setresuid(2)). That drops its privileges for good.
///
/// # Errors
/// `PermissionDenied` without the right to (CAP_SETUID).
pub fn be_user(user: u32) -> io::Result<()> {
    set(libc::SYS_setresuid, user, "user")
}

/// Makes the calling thread, and no other of the process, run as this group (setresgid(2)).
///
/// # Errors
/// `PermissionDenied` without the right to (CAP_SETGID).
pub fn be_group(group: u32) -> io::Result<()> {
    set(libc::SYS_setresgid, group, "group")
}

/// Names the calling thread, as ps(1) and top(1) show it; of a longer name 15 bytes are kept.
///
/// # Errors
/// The name holds a NUL byte.
pub fn name_thread(name: &str) -> io::Result<()> {
    let kept = &name.as_bytes()[..name.len().min(NAME)];
    let name = CString::new(kept).map_err(|error| io::Error::new(ErrorKind::InvalidInput, error))?;
    Ok(rustix::thread::set_name(&name)?)
}

/// The C library's own calls change all threads of the process; the system calls change one.
fn set(call: libc::c_long, id: u32, what: &str) -> io::Result<()> {
    // SAFETY: no pointer is passed; the kernel refuses what this thread may not become.
    let done = unsafe { libc::syscall(call, id, id, id) };
    if done == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    match error.kind() {
        ErrorKind::PermissionDenied => {
            let text = format!("this process may not become {what} {id}: run as root, or remove it");
            Err(io::Error::new(ErrorKind::PermissionDenied, text))
        }
        _ => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn a_thread_has_its_name_and_no_other_has() {
        let named = || {
            name_thread("a-name-of-some-length").unwrap();
            fs::read_to_string("/proc/thread-self/comm").unwrap()
        };
        assert_eq!(std::thread::spawn(named).join().unwrap(), "a-name-of-some-\n");
        assert!(!fs::read_to_string("/proc/self/comm").unwrap().starts_with("a-name"));
        assert_eq!(name_thread("a\0b").unwrap_err().kind(), ErrorKind::InvalidInput);
    }

    #[test]
    fn a_thread_becomes_another_user_alone() {
        let directory = tempfile::tempdir().unwrap();
        let user = fs::metadata(directory.path()).unwrap().uid();
        if user != 0 {
            eprintln!("skipped: this user may not become another");
            return;
        }
        let path = directory.path().join("f");
        let open = fs::set_permissions(directory.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777));
        open.unwrap();
        let made = path.clone();
        let become_other = move || {
            be_group(65_534).unwrap();
            be_user(65_534).unwrap();
            fs::write(&made, "x").unwrap();
            be_user(0).unwrap_err().kind()
        };
        assert_eq!(std::thread::spawn(become_other).join().unwrap(), ErrorKind::PermissionDenied);
        let found = fs::metadata(&path).unwrap();
        assert_eq!((found.uid(), found.gid()), (65_534, 65_534));
        fs::write(directory.path().join("g"), "x").unwrap();
        assert_eq!(fs::metadata(directory.path().join("g")).unwrap().uid(), 0);
    }
}
