//! SQLite VFS shims over the `unix` VFS: the only file of this crate that binds C.
//!
//! A database file additionally gets a direct descriptor (`Lease`) for its page reads and writes; the writes to a
//! write-ahead log are counted, and joined up to the commit (`Frames`); all else (locks, shared memory, truncation,
//! temporary files) is the `unix` VFS's own work. There is no memory mapping: methods of version 2 have none. See
//! <https://sqlite.org/vfs.html> and sqlite3.h.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};

use rusqlite::Connection;
use rusqlite::ffi::{self, sqlite3_file, sqlite3_io_methods, sqlite3_vfs};
use rustix::io::Errno;

use super::direct::{Batch, Bounce, Counted, Counters, Lease, Part};
use super::frames::Frames;
use super::log_index::LogIndex;

/// Bypasses the page cache for database files where the file system allows it.
pub const DIRECT: &CStr = c"iolite-direct";
/// The same with the page cache: counts only.
pub const CACHED: &CStr = c"iolite-cached";

/// File control that fills in a [`Probe`]. SQLite keeps the numbers below 100 for itself.
const PROBE: c_int = 0x696f_6c69;

/// Most that the `unix` VFS is given to write at once, a page of SQLite's largest: it takes less than 128 KiB.
const INNER_MOST: usize = 64 << 10;

/// What a connection's database file says about itself.
#[derive(Debug, Default)]
pub(super) struct Probe {
    /// The connection's counters; `None` on another VFS.
    pub(super) counters: Option<Arc<Counters>>,
    /// Whether reads bypass the page cache.
    pub(super) direct: bool,
}

/// An open file as SQLite passes it.
type File = *mut sqlite3_file;

/// What a registered VFS knows: its `pAppData`, never freed.
struct Shim {
    inner: *mut sqlite3_vfs,
    direct: bool,
}

/// An open file as SQLite sees it: this, then the inner VFS's file.
#[repr(C)]
struct Handle {
    base: sqlite3_file,
    /// From `Box::into_raw`; owned by this handle from a successful `x_open` to `x_close`.
    state: *mut State,
}

struct State {
    part: Part,
    lease: Option<Lease>,
    bounce: Bounce,
    batch: Batch,
    frames: Frames,
    counters: Arc<Counters>,
    /// The connection's, of the database file and of its log.
    index: Arc<LogIndex>,
}

impl State {
    /// Whether a write goes through the batch, which gets the time that it may stay there.
    fn gathers(&mut self, offset: u64, data: &[u8]) -> bool {
        match self.part {
            Part::Data => {
                let direct = self.lease.as_ref().and_then(Lease::get);
                direct.is_some_and(|direct| direct.takes(offset, data.len()))
            }
            Part::Log => {
                let waits = self.frames.may_wait(data);
                self.batch.gather(waits);
                true
            }
        }
    }
}

static METHODS: sqlite3_io_methods = sqlite3_io_methods {
    iVersion: 2,
    xClose: Some(x_close),
    xRead: Some(x_read),
    xWrite: Some(x_write),
    xTruncate: Some(x_truncate),
    xSync: Some(x_sync),
    xFileSize: Some(x_file_size),
    xLock: Some(x_lock),
    xUnlock: Some(x_unlock),
    xCheckReservedLock: Some(x_check_reserved_lock),
    xFileControl: Some(x_file_control),
    xSectorSize: Some(x_sector_size),
    xDeviceCharacteristics: Some(x_device_characteristics),
    xShmMap: Some(x_shm_map),
    xShmLock: Some(x_shm_lock),
    xShmBarrier: Some(x_shm_barrier),
    xShmUnmap: Some(x_shm_unmap),
    xFetch: None,
    xUnfetch: None,
};

/// Registers both VFSs, once per process; SQLite's error code when it would not have them.
pub(super) fn register() -> Result<(), c_int> {
    static REGISTERED: OnceLock<Result<(), c_int>> = OnceLock::new();
    *REGISTERED.get_or_init(|| {
        // SAFETY: the name is a C string; the answer is null or a VFS that stays registered.
        let inner = unsafe { ffi::sqlite3_vfs_find(c"unix".as_ptr()) };
        if inner.is_null() {
            return Err(ffi::SQLITE_NOTFOUND);
        }
        register_one(inner, DIRECT, true)?;
        register_one(inner, CACHED, false)
    })
}

fn register_one(inner: *mut sqlite3_vfs, name: &'static CStr, direct: bool) -> Result<(), c_int> {
    // SAFETY: `inner` is a registered VFS (see `register`).
    let (file_size, path_size) = unsafe { ((*inner).szOsFile, (*inner).mxPathname) };
    let vfs = Box::new(sqlite3_vfs {
        iVersion: 2,
        szOsFile: size_of::<Handle>() as c_int + file_size,
        mxPathname: path_size,
        pNext: std::ptr::null_mut(),
        zName: name.as_ptr(),
        pAppData: Box::into_raw(Box::new(Shim { inner, direct })).cast(),
        xOpen: Some(x_open),
        xDelete: Some(v_delete),
        xAccess: Some(v_access),
        xFullPathname: Some(v_full_pathname),
        // No extension is ever loaded through these connections.
        xDlOpen: None,
        xDlError: None,
        xDlSym: None,
        xDlClose: None,
        xRandomness: Some(v_randomness),
        xSleep: Some(v_sleep),
        xCurrentTime: None,
        xGetLastError: Some(v_get_last_error),
        xCurrentTimeInt64: Some(v_current_time_int64),
        xSetSystemCall: None,
        xGetSystemCall: None,
        xNextSystemCall: None,
    });
    // SAFETY: the structure is leaked, hence valid for as long as SQLite may use it; 0 leaves the default VFS alone.
    match unsafe { ffi::sqlite3_vfs_register(Box::into_raw(vfs), 0) } {
        ffi::SQLITE_OK => Ok(()),
        code => Err(code),
    }
}

/// What the database file of `connection` says about itself.
pub(super) fn probe(connection: &Connection) -> Probe {
    let mut probe = Probe::default();
    // SAFETY: the connection is open; a VFS that knows this opcode writes to a `Probe`, another one answers
    // SQLITE_NOTFOUND and leaves it as it is.
    unsafe {
        let argument: *mut c_void = (&raw mut probe).cast();
        ffi::sqlite3_file_control(connection.handle(), c"main".as_ptr(), PROBE, argument);
    }
    probe
}

/// Runs `work`; a panic, which must not unwind into C, becomes `failure`.
fn guarded(failure: c_int, work: impl FnOnce() -> c_int) -> c_int {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(failure)
}

/// The inner VFS's file behind one of ours.
///
/// # Safety
/// `file` must have the `szOsFile` bytes of one of our VFSs.
unsafe fn inner_of(file: File) -> File {
    // SAFETY: by the caller, the inner file follows the handle in the same allocation; the handle's size is a multiple
    // of SQLite's alignment of 8.
    unsafe { file.cast::<Handle>().add(1).cast() }
}

/// Calls a method of the inner file.
macro_rules! inner_call {
    ($file:expr, $method:ident $(, $argument:expr)*) => {{
        let inner = inner_of($file);
        match (*(*inner).pMethods).$method {
            Some(method) => method(inner $(, $argument)*),
            None => ffi::SQLITE_IOERR,
        }
    }};
}

/// Defines a file method that is the inner file's.
macro_rules! forward {
    ($name:ident, $method:ident $(, $argument:ident: $type:ty)*) => {
        unsafe extern "C" fn $name(file: File $(, $argument: $type)*) -> c_int {
            // SAFETY: SQLite calls methods on files between `x_open` and `x_close` only, so the inner file is open (of
            // version 2 at least, see `open`); the arguments satisfy its contract as they satisfy ours.
            unsafe { inner_call!(file, $method $(, $argument)*) }
        }
    };
}

forward!(x_lock, xLock, level: c_int);
forward!(x_unlock, xUnlock, level: c_int);
forward!(x_check_reserved_lock, xCheckReservedLock, out: *mut c_int);
forward!(x_sector_size, xSectorSize);
forward!(x_device_characteristics, xDeviceCharacteristics);

unsafe extern "C" fn x_shm_map(
    file: File,
    page: c_int,
    size: c_int,
    extend: c_int,
    out: *mut *mut c_void,
) -> c_int {
    // SAFETY: as for the forwarded methods; `out` is there to be written, and null where the region does not exist.
    guarded(ffi::SQLITE_IOERR_SHMMAP, || unsafe {
        let code = inner_call!(file, xShmMap, page, size, extend, out);
        // A region may be mapped for reading alone.
        if !matches!(code & 0xff, ffi::SQLITE_OK | ffi::SQLITE_READONLY) || (*out).is_null() {
            return code;
        }
        let watched = state_of(file).index.watch((*out).addr(), size as usize);
        if watched { code } else { ffi::SQLITE_IOERR_SHMMAP }
    })
}

unsafe extern "C" fn x_shm_lock(file: File, offset: c_int, n: c_int, flags: c_int) -> c_int {
    // SAFETY: as for the forwarded methods.
    guarded(ffi::SQLITE_IOERR_SHMLOCK, || unsafe {
        // Locks are given up in any case.
        if flags & ffi::SQLITE_SHM_LOCK != 0 && state_of(file).index.is_lost() {
            return ffi::SQLITE_IOERR_SHMMAP;
        }
        inner_call!(file, xShmLock, offset, n, flags)
    })
}

unsafe extern "C" fn x_shm_unmap(file: File, delete: c_int) -> c_int {
    // SAFETY: as for the forwarded methods. What is no longer watched is unmapped after that.
    guarded(ffi::SQLITE_IOERR, || unsafe {
        state_of(file).index.forget();
        inner_call!(file, xShmUnmap, delete)
    })
}

unsafe extern "C" fn x_shm_barrier(file: File) {
    // SAFETY: as for the forwarded methods.
    unsafe {
        let inner = inner_of(file);
        // It stands between the two copies of the index's header.
        if state_of(file).index.is_lost() {
            state_of(file).index.keep_to_this_process();
        }
        if let Some(barrier) = (*(*inner).pMethods).xShmBarrier {
            barrier(inner);
        }
    }
}

/// Defines a VFS method that is the inner VFS's.
macro_rules! forward_vfs {
    ($name:ident, $method:ident $(, $argument:ident: $type:ty)*) => {
        unsafe extern "C" fn $name(vfs: *mut sqlite3_vfs $(, $argument: $type)*) -> c_int {
            // SAFETY: SQLite passes the VFS that it was given at registration, whose `pAppData` is a `Shim` that is
            // never freed; the arguments satisfy the inner VFS's contract as they satisfy ours.
            unsafe {
                let inner = (*(*vfs).pAppData.cast::<Shim>()).inner;
                match (*inner).$method {
                    Some(method) => method(inner $(, $argument)*),
                    None => ffi::SQLITE_ERROR,
                }
            }
        }
    };
}

forward_vfs!(v_delete, xDelete, name: *const c_char, sync_directory: c_int);
forward_vfs!(v_access, xAccess, name: *const c_char, flags: c_int, out: *mut c_int);
forward_vfs!(v_full_pathname, xFullPathname, name: *const c_char, size: c_int, out: *mut c_char);
forward_vfs!(v_randomness, xRandomness, size: c_int, out: *mut c_char);
forward_vfs!(v_sleep, xSleep, microseconds: c_int);
forward_vfs!(v_get_last_error, xGetLastError, size: c_int, out: *mut c_char);
forward_vfs!(v_current_time_int64, xCurrentTimeInt64, out: *mut i64);

unsafe extern "C" fn x_open(
    vfs: *mut sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: File,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    // SAFETY: SQLite passes `szOsFile` bytes. Null says that there is nothing to close, should we fail.
    unsafe { (*file).pMethods = std::ptr::null() };
    // SAFETY: SQLite's contract for xOpen is `open`'s.
    guarded(ffi::SQLITE_CANTOPEN, || unsafe { open(vfs, name, file, flags, out_flags) })
}

/// Opens the inner file, then what is ours. `file`'s methods are set last: until then it is not open.
///
/// # Safety
/// As SQLite calls xOpen: `vfs` one of ours, `name` null or a `sqlite3_filename`, `file` of `szOsFile` bytes.
unsafe fn open(
    vfs: *mut sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: File,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    // SAFETY: `pAppData` is a `Shim` that is never freed.
    let shim = unsafe { &*(*vfs).pAppData.cast::<Shim>() };
    // SAFETY: the inner VFS stays registered.
    let Some(inner_open) = (unsafe { (*shim.inner).xOpen }) else { return ffi::SQLITE_CANTOPEN };
    let part = match flags {
        flags if flags & ffi::SQLITE_OPEN_MAIN_DB != 0 => Part::Data,
        flags if flags & ffi::SQLITE_OPEN_WAL != 0 => Part::Log,
        // Journals and temporary files become the inner VFS's own files: the space suffices, it has ours on top.
        // SAFETY: as called.
        _ => return unsafe { inner_open(shim.inner, name, file, flags, out_flags) },
    };
    // SAFETY: `file` has the inner file's bytes behind ours; `name` and `out_flags` are passed on as they came. A file
    // that failed to open but has methods is to be closed, by SQLite's contract.
    unsafe {
        let inner = inner_of(file);
        (*inner).pMethods = std::ptr::null();
        let code = inner_open(shim.inner, name, inner, flags, out_flags);
        let methods = (*inner).pMethods;
        if code != ffi::SQLITE_OK || methods.is_null() || (*methods).iVersion < 2 {
            if !methods.is_null() {
                inner_call!(file, xClose);
            }
            return if code == ffi::SQLITE_OK { ffi::SQLITE_CANTOPEN } else { code };
        }
    }
    let (mut lease, mut of_database) = (None, None);
    match part {
        Part::Data if shim.direct && !name.is_null() => {
            // SAFETY: a `sqlite3_filename` is a C string.
            let path = unsafe { CStr::from_ptr(name) };
            // SAFETY: the inner file was opened above.
            lease = Lease::open(path, || unsafe { unmoved(file) });
        }
        Part::Data => {}
        // SAFETY: the name of a log comes from the pager.
        Part::Log => of_database = unsafe { shared_with_database(name) },
    }
    let (counters, index) = of_database.unwrap_or_default();
    let (bounce, batch, frames) = (Bounce::default(), Batch::default(), Frames::default());
    let state = State { part, lease, bounce, batch, frames, counters, index };
    // SAFETY: `file` has room for a handle, and its inner file is open.
    unsafe {
        (*file.cast::<Handle>()).state = Box::into_raw(Box::new(state));
        (*file).pMethods = &raw const METHODS;
    }
    ffi::SQLITE_OK
}

/// Whether the path of the inner file still names the file that it has open.
///
/// # Safety
/// The inner file of `file` must be open.
unsafe fn unmoved(file: File) -> bool {
    let mut moved: c_int = 0;
    // SAFETY: by the caller; this opcode takes an int to write to (sqlite3.h).
    let code = unsafe {
        let argument: *mut c_void = (&raw mut moved).cast();
        inner_call!(file, xFileControl, ffi::SQLITE_FCNTL_HAS_MOVED, argument)
    };
    code == ffi::SQLITE_OK && moved == 0
}

/// What a log shares with the database that it belongs to.
///
/// # Safety
/// `name` must be null or the name that the pager opens a log by.
unsafe fn shared_with_database(name: ffi::sqlite3_filename) -> Option<(Arc<Counters>, Arc<LogIndex>)> {
    if name.is_null() {
        return None;
    }
    // SAFETY: for such a name, the answer is the pager's database file, opened through the same VFS before its log;
    // its methods show whether it is one of ours, and no method of it is running, so its state is not borrowed.
    unsafe {
        let database = ffi::sqlite3_database_file_object(name);
        let ours = !database.is_null() && std::ptr::eq((*database).pMethods, &raw const METHODS);
        if !ours {
            return None;
        }
        let state = &*(*database.cast::<Handle>()).state;
        Some((Arc::clone(&state.counters), Arc::clone(&state.index)))
    }
}

/// The state of an open file.
///
/// # Safety
/// `file` must be open, and no other reference to its state may live: SQLite serialises the calls on a file.
unsafe fn state_of<'a>(file: File) -> &'a mut State {
    // SAFETY: by the caller; `x_open` put a state there.
    unsafe { &mut *(*file.cast::<Handle>()).state }
}

unsafe extern "C" fn x_close(file: File) -> c_int {
    // SAFETY: SQLite closes an open file once. The inner file goes first: its locks must be given up before the direct
    // descriptor, which the state holds, may be closed.
    guarded(ffi::SQLITE_IOERR_CLOSE, || unsafe {
        let flushed = flush(file);
        let code = inner_call!(file, xClose);
        (*file).pMethods = std::ptr::null();
        drop(Box::from_raw((*file.cast::<Handle>()).state));
        if flushed == ffi::SQLITE_OK { code } else { flushed }
    })
}

/// Writes out what is pending. Nothing is pending afterwards, even if it could not be written.
///
/// # Safety
/// As for [`state_of`].
unsafe fn flush(file: File) -> c_int {
    // SAFETY: by the caller.
    let state = unsafe { state_of(file) };
    if state.lease.as_ref().is_some_and(Lease::is_broken) || state.index.is_lost() {
        return ffi::SQLITE_IOERR_WRITE;
    }
    let Some((offset, length, memory)) = state.batch.take() else { return ffi::SQLITE_OK };
    if let Some(direct) = state.lease.as_ref().and_then(Lease::get) {
        match direct.write(memory, offset, length) {
            Ok(counted) => {
                state.counters.write(state.part, counted);
                return ffi::SQLITE_OK;
            }
            Err(Errno::INVAL) => {}
            Err(Errno::NOSPC | Errno::DQUOT) => return ffi::SQLITE_FULL,
            Err(_) => return ffi::SQLITE_IOERR_WRITE,
        }
    }
    let Ok(data) = memory.get(length) else { return ffi::SQLITE_IOERR_NOMEM };
    for (piece, at) in data.chunks(INNER_MOST).zip((offset..).step_by(INNER_MOST)) {
        state.counters.write(state.part, Counted::one(piece.len()));
        // SAFETY: the inner file is open; `piece` is as long as it is said to be.
        let code =
            unsafe { inner_call!(file, xWrite, piece.as_ptr().cast(), piece.len() as c_int, at as i64) };
        if code != ffi::SQLITE_OK {
            return code;
        }
    }
    ffi::SQLITE_OK
}

/// Defines a file method that is the inner file's once nothing is pending.
macro_rules! forward_flushed {
    ($name:ident, $method:ident, $argument:ident: $type:ty) => {
        unsafe extern "C" fn $name(file: File, $argument: $type) -> c_int {
            // SAFETY: as for the forwarded methods.
            guarded(ffi::SQLITE_IOERR, || unsafe {
                match flush(file) {
                    ffi::SQLITE_OK => inner_call!(file, $method, $argument),
                    code => code,
                }
            })
        }
    };
}

forward_flushed!(x_truncate, xTruncate, size: i64);
forward_flushed!(x_file_size, xFileSize, size: *mut i64);

unsafe extern "C" fn x_read(file: File, buffer: *mut c_void, amount: c_int, offset: i64) -> c_int {
    // SAFETY: SQLite passes an open file and `amount` bytes to write to.
    guarded(ffi::SQLITE_IOERR_READ, || unsafe {
        if flush(file) != ffi::SQLITE_OK {
            return ffi::SQLITE_IOERR_READ;
        }
        let state = state_of(file);
        let (Ok(length), Ok(at)) = (usize::try_from(amount), u64::try_from(offset)) else {
            return ffi::SQLITE_IOERR_READ;
        };
        if let Some(direct) = state.lease.as_ref().and_then(Lease::get) {
            match direct.read(&mut state.bounce, at, length) {
                Ok((data, counted)) => {
                    state.counters.direct_read(counted);
                    std::ptr::copy_nonoverlapping(data.as_ptr(), buffer.cast(), data.len());
                    if data.len() == length {
                        return ffi::SQLITE_OK;
                    }
                    // "it must also fill in the unread portions of the buffer with zeros" (sqlite3.h).
                    std::ptr::write_bytes(buffer.cast::<u8>().add(data.len()), 0, length - data.len());
                    return ffi::SQLITE_IOERR_SHORT_READ;
                }
                Err(Errno::INVAL) => {}
                Err(Errno::NOMEM) => return ffi::SQLITE_IOERR_NOMEM,
                Err(_) => return ffi::SQLITE_IOERR_READ,
            }
        }
        state.counters.cached_read(state.part);
        inner_call!(file, xRead, buffer, amount, offset)
    })
}

unsafe extern "C" fn x_write(file: File, buffer: *const c_void, amount: c_int, offset: i64) -> c_int {
    // SAFETY: SQLite passes an open file and `amount` bytes to read from; no reference to the state is held over a
    // call that makes another.
    guarded(ffi::SQLITE_IOERR_WRITE, || unsafe {
        let (Ok(length), Ok(at)) = (usize::try_from(amount), u64::try_from(offset)) else {
            return ffi::SQLITE_IOERR_WRITE;
        };
        let follows = state_of(file).batch.takes(at, length) && !state_of(file).index.is_lost();
        let code = if follows { ffi::SQLITE_OK } else { flush(file) };
        if code != ffi::SQLITE_OK {
            return code;
        }
        let state = state_of(file);
        let data = std::slice::from_raw_parts(buffer.cast::<u8>(), length);
        if !state.gathers(at, data) || !state.batch.takes(at, length) {
            state.counters.write(state.part, Counted::one(length));
            return inner_call!(file, xWrite, buffer, amount, offset);
        }
        let Ok(room) = state.batch.add(at, length) else { return ffi::SQLITE_IOERR_NOMEM };
        room.copy_from_slice(data);
        if !state.batch.is_due() {
            return ffi::SQLITE_OK;
        }
        // An error fails the checkpoint, or the commit: the log keeps the pages of the one, and loses the other whole.
        flush(file)
    })
}

unsafe extern "C" fn x_sync(file: File, flags: c_int) -> c_int {
    // SAFETY: SQLite passes an open file. A sync of the inner descriptor covers direct writes too: it is the inode's.
    guarded(ffi::SQLITE_IOERR_FSYNC, || unsafe {
        let code = flush(file);
        if code != ffi::SQLITE_OK {
            return code;
        }
        let state = state_of(file);
        state.counters.sync(state.part);
        inner_call!(file, xSync, flags)
    })
}

unsafe extern "C" fn x_file_control(file: File, op: c_int, argument: *mut c_void) -> c_int {
    // SAFETY: SQLite passes an open file; with our opcode, `probe` passes a `Probe`.
    guarded(ffi::SQLITE_ERROR, || unsafe {
        if op == PROBE {
            let state = state_of(file);
            let direct = state.lease.as_ref().is_some_and(|lease| lease.get().is_some());
            *argument.cast::<Probe>() = Probe { counters: Some(Arc::clone(&state.counters)), direct };
            return ffi::SQLITE_OK;
        }
        if op == ffi::SQLITE_FCNTL_CKPT_START || op == ffi::SQLITE_FCNTL_CKPT_DONE {
            state_of(file).batch.gather(op == ffi::SQLITE_FCNTL_CKPT_START);
        }
        let code = flush(file);
        if code == ffi::SQLITE_OK {
            return inner_call!(file, xFileControl, op, argument);
        }
        // Nobody looks at what SQLITE_FCNTL_CKPT_DONE returns: the pages would count as written.
        if let Some(lease) = &state_of(file).lease {
            lease.set_broken();
        }
        code
    })
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt;

    use proptest::prelude::*;

    use super::*;

    /// A database file opened by calling the VFS as SQLite does.
    struct Raw {
        vfs: *mut sqlite3_vfs,
        name: ffi::sqlite3_filename,
        file: Vec<u64>,
    }

    impl Raw {
        fn open(path: &std::path::Path, vfs: &CStr) -> Result<Raw, c_int> {
            register().unwrap();
            let path = CString::new(path.as_os_str().as_bytes()).unwrap();
            let flags = ffi::SQLITE_OPEN_MAIN_DB | ffi::SQLITE_OPEN_READWRITE;
            // SAFETY: all as SQLite does it; the file's memory is on the heap and so stays where it is.
            unsafe {
                let vfs = ffi::sqlite3_vfs_find(vfs.as_ptr());
                let (none, parameters) = (c"".as_ptr(), std::ptr::null_mut());
                let name = ffi::sqlite3_create_filename(path.as_ptr(), none, none, 0, parameters);
                let mut raw = Raw { vfs, name, file: vec![u64::MAX; (*vfs).szOsFile as usize / 8 + 1] };
                let open = (*raw.vfs).xOpen.unwrap();
                match open(vfs, name, raw.file(), flags, std::ptr::null_mut()) {
                    ffi::SQLITE_OK => Ok(raw),
                    code => {
                        assert!((*raw.file()).pMethods.is_null(), "nothing to close after a failure");
                        Err(code)
                    }
                }
            }
        }

        fn file(&mut self) -> File {
            self.file.as_mut_ptr().cast()
        }

        fn read(&mut self, offset: usize, length: usize) -> (c_int, Vec<u8>) {
            let mut data = vec![0xee; length];
            let file = self.file();
            // SAFETY: the file is open and `data` has `length` bytes.
            let code = unsafe { x_read(file, data.as_mut_ptr().cast(), length as c_int, offset as i64) };
            (code, data)
        }

        fn write(&mut self, offset: usize, data: &[u8]) -> c_int {
            let file = self.file();
            // SAFETY: the file is open.
            unsafe { x_write(file, data.as_ptr().cast(), data.len() as c_int, offset as i64) }
        }

        fn control(&mut self, op: c_int) -> c_int {
            let file = self.file();
            // SAFETY: the file is open; the opcodes used here take no argument.
            unsafe { x_file_control(file, op, std::ptr::null_mut()) }
        }

        fn truncate(&mut self, size: usize) -> c_int {
            let file = self.file();
            // SAFETY: the file is open.
            unsafe { x_truncate(file, size as i64) }
        }

        fn size(&mut self) -> usize {
            let (file, mut size) = (self.file(), 0);
            // SAFETY: the file is open.
            assert_eq!(unsafe { x_file_size(file, &raw mut size) }, ffi::SQLITE_OK);
            size as usize
        }
    }

    impl Drop for Raw {
        fn drop(&mut self) {
            let file = self.file();
            // SAFETY: a file that failed to open has no methods and is not closed; the name is freed once.
            unsafe {
                if !(*file).pMethods.is_null() {
                    x_close(file);
                }
                ffi::sqlite3_free_filename(self.name);
            }
        }
    }

    #[derive(Debug, Clone)]
    enum Step {
        Read(usize, usize),
        Write(usize, usize, u8),
        Truncate(usize),
        Checkpoint(bool),
        Size,
        Refuse,
    }

    fn step() -> impl Strategy<Value = Step> {
        let place = || prop_oneof![(0usize..40).prop_map(|page| page * 4096), 0usize..160_000];
        let length = || prop_oneof![Just(8192usize), Just(4096), 1usize..20_000, Just(65_536)];
        prop_oneof![
            4 => (place(), length()).prop_map(|(at, n)| Step::Read(at, n)),
            6 => (place(), length(), any::<u8>()).prop_map(|(at, n, byte)| Step::Write(at, n, byte)),
            1 => place().prop_map(Step::Truncate),
            1 => any::<bool>().prop_map(Step::Checkpoint),
            1 => Just(Step::Size),
            1 => prop::bool::weighted(0.2).prop_map(|refuse| if refuse { Step::Refuse } else { Step::Size }),
        ]
    }

    /// Does a step on the file and on the model, and compares.
    fn apply(raw: &mut Raw, model: &mut Vec<u8>, step: Step) -> Result<(), TestCaseError> {
        match step {
            Step::Read(at, n) => {
                let (code, data) = raw.read(at, n);
                let there = model.get(at..model.len().min(at + n)).unwrap_or(&[]);
                let whole = if there.len() == n { ffi::SQLITE_OK } else { ffi::SQLITE_IOERR_SHORT_READ };
                prop_assert_eq!(code, whole);
                prop_assert!(data[..there.len()] == *there && data[there.len()..].iter().all(|&b| b == 0));
            }
            Step::Write(at, n, byte) => {
                let data: Vec<u8> = (0..n).map(|i| byte.wrapping_add((i / 512) as u8)).collect();
                prop_assert_eq!(raw.write(at, &data), ffi::SQLITE_OK);
                model.resize(model.len().max(at + n), 0);
                model[at..at + n].copy_from_slice(&data);
            }
            Step::Truncate(size) => {
                let size = size.min(model.len());
                prop_assert_eq!(raw.truncate(size), ffi::SQLITE_OK);
                model.truncate(size);
            }
            Step::Checkpoint(start) => {
                raw.control(if start { ffi::SQLITE_FCNTL_CKPT_START } else { ffi::SQLITE_FCNTL_CKPT_DONE });
            }
            Step::Refuse => {
                // SAFETY: the file is open, and the reference is gone before the next call.
                let state = unsafe { state_of(raw.file()) };
                state.lease.as_ref().and_then(Lease::get).map(|direct| direct.refusal(Errno::INVAL));
            }
            Step::Size => prop_assert_eq!(raw.size(), model.len()),
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]
        #[test]
        fn a_file_behaves_as_memory_does(direct in any::<bool>(), steps in prop::collection::vec(step(), 1..80)) {
            let place = tempfile::NamedTempFile::new().unwrap();
            let mut raw = Raw::open(place.path(), if direct { DIRECT } else { CACHED }).unwrap();
            let mut model = Vec::new();
            for step in steps {
                apply(&mut raw, &mut model, step)?;
            }
            drop(raw);
            prop_assert!(std::fs::read(place.path()).unwrap() == model);
        }
    }

    #[test]
    fn a_file_that_is_not_there_fails_to_open_and_leaves_nothing_to_close() {
        let directory = tempfile::tempdir().unwrap();
        for vfs in [DIRECT, CACHED] {
            assert_eq!(Raw::open(&directory.path().join("missing"), vfs).err(), Some(ffi::SQLITE_CANTOPEN));
            assert!(Raw::open(directory.path(), vfs).is_err(), "a directory");
        }
    }

    #[test]
    fn a_panic_stays_on_this_side() {
        assert_eq!(guarded(ffi::SQLITE_IOERR, || panic!("expected by the test")), ffi::SQLITE_IOERR);
    }

    #[test]
    fn writes_that_were_lost_after_the_fact_break_the_file_for_everyone() {
        let place = tempfile::NamedTempFile::new().unwrap();
        let mut first = Raw::open(place.path(), DIRECT).unwrap();
        let mut second = Raw::open(place.path(), DIRECT).unwrap();
        let file = first.file();
        // SAFETY: the file is open, and the reference is gone before the next call.
        let Some(lease) = (unsafe { &state_of(file).lease }) else {
            return println!("skipped: no O_DIRECT here");
        };
        lease.set_broken();
        for raw in [&mut first, &mut second] {
            assert_ne!(raw.read(0, 4096).0, ffi::SQLITE_OK);
            assert_ne!(raw.read(0, 4096).0, ffi::SQLITE_IOERR_SHORT_READ);
            assert_eq!(raw.write(0, &[0; 8192]), ffi::SQLITE_IOERR_WRITE);
        }
    }
}
