//! SQLite as a database instance: databases in a directory, opened through a VFS of ours that reads and writes past the page
//! cache and counts what it does.

mod counts;
mod direct;
mod frames;
mod locks;
mod log_index;
pub mod vfs;

use std::ffi::CStr;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use iolite_model::{Bytes, Durability, ErrorCause, Physical};
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::error::{Error, Result};
use crate::instance::{Description, Files, Instance, LockWait};
pub use counts::Counts;
use direct::Counters;

/// In the header of every file that this program creates (bytes 68 to 71, "iolt"), from its first commit on.
pub const APPLICATION_ID: i64 = 0x696f_6c74;
/// Size of a page of SQLite's own choice.
const DEFAULT_PAGE: u64 = 4096;

/// SQLite databases in one directory.
#[derive(Debug)]
pub struct Sqlite {
    directory: PathBuf,
    cached: bool,
    counted: Arc<Mutex<Counted>>,
}

/// What all connections of a database have counted.
#[derive(Debug, Default)]
struct Counted {
    open: Vec<Arc<Counters>>,
    closed: Counts,
}

impl Counted {
    fn now(&mut self) -> Counts {
        // Nobody else holds the counters of a connection that is closed.
        for index in (0..self.open.len()).rev() {
            if Arc::strong_count(&self.open[index]) == 1 {
                self.closed += self.open.swap_remove(index).counts();
            }
        }
        let mut total = self.closed;
        self.open.iter().for_each(|counters| total += counters.counts());
        total
    }
}

/// A connection with its counters.
struct Open {
    connection: Connection,
    counters: Arc<Counters>,
}

impl Sqlite {
    /// The databases in `directory`. Opens nothing yet.
    pub fn new(directory: PathBuf) -> Sqlite {
        Sqlite { directory, cached: false, counted: Arc::default() }
    }

    /// The same, with reads and writes through the page cache, for comparison and as a fallback.
    pub fn through_page_cache(self) -> Sqlite {
        Sqlite { cached: true, ..self }
    }

    /// Whether reads and writes go through the page cache by choice.
    pub fn is_cached(&self) -> bool {
        self.cached
    }

    /// The directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The VFS of connections.
    pub fn vfs(&self) -> &'static CStr {
        if self.cached { vfs::CACHED } else { vfs::DIRECT }
    }

    /// What all connections of this value have counted so far.
    pub fn counts(&self) -> Counts {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner).now()
    }

    /// Opens a file that exists, to read and write; what the connection does is counted.
    ///
    /// # Errors
    /// [`Error::Engine`].
    pub fn connect(&self, path: &Path) -> Result<Connection> {
        let open = open_counted(path, OpenFlags::SQLITE_OPEN_READ_WRITE, self.vfs())?;
        self.counted.lock().unwrap_or_else(PoisonError::into_inner).open.push(open.counters);
        Ok(open.connection)
    }

    /// Whether a file is read past the page cache; `None` when it can't be tried.
    pub fn reads_direct(&self, path: &Path) -> Option<bool> {
        let connection = self.connect(Some(path).filter(|path| path.exists())?).ok()?;
        // Some file systems refuse at the first transfer, not at the opening.
        connection.pragma_query_value(None, "schema_version", |_| Ok(())).ok()?;
        Some(vfs::probe(&connection).direct)
    }

    /// Brings everything committed from a database's log into the database.
    ///
    /// # Errors
    /// [`Error::Engine`], also when a session holds it.
    pub fn checkpoint(&self, path: &Path) -> Result<()> {
        let connection = self.connect(path)?;
        let failed = |e| engine("checkpoint", path, e);
        let busy: bool =
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0)).map_err(failed)?;
        if busy {
            return Err(failed(ffi_error(rusqlite::ffi::SQLITE_BUSY)));
        }
        Ok(())
    }
}

impl Instance for Sqlite {
    fn describe(&self, durability: Durability) -> Result<Description> {
        let setting = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let durable_by = match durability {
            Durability::Full | Durability::AsConfigured => {
                "write-ahead log, one fdatasync of it per commit (synchronous=FULL)"
            }
            Durability::Relaxed => "write-ahead log, synced at checkpoints only (synchronous=NORMAL)",
        };
        Ok(Description {
            engine: "SQLite".to_owned(),
            version: rusqlite::version().to_owned(),
            namespace: String::new(),
            block: Bytes(DEFAULT_PAGE),
            durability: durable_by.to_owned(),
            settings: vec![
                setting("journal_mode", "wal"),
                setting("synchronous", synchronous(durability)),
                setting("vfs", &self.vfs().to_string_lossy()),
            ],
        })
    }

    fn files(&self) -> Result<Files> {
        let process = Some(std::process::id());
        Ok(Files { here: true, data: Some(self.directory.clone()), process, ..Files::default() })
    }

    /// All databases in the directory that carry this program's mark.
    fn settle(&self) -> Result<()> {
        let entries = match fs::read_dir(&self.directory) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            entries => entries.map_err(|e| Error::io("list", &self.directory, e))?,
        };
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            if path.extension().is_some_and(|extension| extension == "db") && mark(&path)?.is_some() {
                self.checkpoint(&path)?;
            }
        }
        Ok(())
    }

    fn counters(&self) -> Result<Physical> {
        Ok(self.counts().into())
    }

    /// A writer of this program waits, or fails, while another process holds the lock.
    fn lock_waits(&self) -> Result<Vec<LockWait>> {
        Ok(locks::held_by_others(&self.directory))
    }
}

/// The value of `PRAGMA synchronous` that makes commits as durable as this.
pub fn synchronous(durability: Durability) -> &'static str {
    match durability {
        // SQLite's own default.
        Durability::Full | Durability::AsConfigured => "FULL",
        Durability::Relaxed => "NORMAL",
    }
}

/// Opens a file that exists, through one of our VFSs.
///
/// # Errors
/// [`Error::Engine`].
pub fn open(path: &Path, flags: OpenFlags, vfs: &CStr) -> Result<Connection> {
    Ok(open_counted(path, flags, vfs)?.connection)
}

/// Opens a database of another purpose than to be measured, through the page cache, where the loss of a page of the index of its log
/// (its `-shm` file was cut short, or cannot be read) is an I/O error of this connection.
///
/// # Errors
/// SQLite's.
pub fn open_guarded(path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    vfs::register().map_err(ffi_error)?;
    Connection::open_with_flags_and_vfs(path, flags, vfs::CACHED)
}

fn open_counted(path: &Path, flags: OpenFlags, vfs: &CStr) -> Result<Open> {
    vfs::register().map_err(|code| engine("register a VFS for", path, ffi_error(code)))?;
    let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection =
        Connection::open_with_flags_and_vfs(path, flags, vfs).map_err(|e| engine("open", path, e))?;
    let counters = vfs::probe(&connection).counters.unwrap_or_default();
    Ok(Open { connection, counters })
}

/// Opens a file without changing anything about it or beside it: no lock, no log, no shared memory. By SQLite, and not
/// by reading the header ourselves, because closing our own descriptor would drop the locks of open sessions.
///
/// # Errors
/// [`Error::Engine`].
pub fn open_unchanged(path: &Path) -> Result<Connection> {
    use std::os::unix::ffi::OsStrExt;
    let mut uri = String::from("file:");
    for &byte in std::path::absolute(path).unwrap_or_else(|_| path.into()).as_os_str().as_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' => uri.push(byte.into()),
            byte if byte.is_ascii_alphanumeric() => uri.push(byte.into()),
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri.push_str("?immutable=1");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    open(Path::new(&uri), flags, vfs::CACHED)
}

/// The user version of a file that carries our mark, else `None`.
///
/// # Errors
/// [`Error::Engine`].
pub fn mark(path: &Path) -> Result<Option<i64>> {
    let connection = open_unchanged(path)?;
    let pragma = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    match pragma("application_id") {
        Ok(APPLICATION_ID) => {
            pragma("user_version").map(Some).map_err(|e| engine("read the header of", path, e))
        }
        // Cut short, for example. Nobody has it open: the descriptor that is closed here takes no session's locks along.
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) => {
            Ok(mark_in_header(path))
        }
        // Not a database, or not readable as one: not ours.
        _ => Ok(None),
    }
}

/// The same from the header of a file that SQLite does not read (the SQLite documentation, "Database File Format", 1.3).
fn mark_in_header(path: &Path) -> Option<i64> {
    let mut header = [0; 100];
    fs::File::open(path).and_then(|mut file| file.read_exact(&mut header)).ok()?;
    let number = |at: usize| {
        i64::from(u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]))
    };
    (number(68) == APPLICATION_ID).then(|| number(60))
}

/// Has a database for this connection alone, for as long as that is: before its file is removed. `None` where the file is not one that
/// SQLite reads, which nobody uses.
///
/// # Errors
/// [`Error::Busy`] where another session, of this process or another one, has it open.
pub fn alone(path: &Path) -> Result<Option<Connection>> {
    let connection = open(path, OpenFlags::SQLITE_OPEN_READ_WRITE, vfs::CACHED)?;
    // Set before the first read, it requires that nobody else has the database open; nothing of it stays in the file.
    let taken = connection.busy_timeout(std::time::Duration::ZERO).and_then(|()| {
        connection.pragma_update_and_check(None, "locking_mode", "exclusive", |_| Ok(()))?;
        connection.execute_batch("BEGIN EXCLUSIVE")
    });
    match taken {
        Ok(()) => Ok(Some(connection)),
        Err(error)
            if matches!(
                error.sqlite_error_code(),
                Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
            ) =>
        {
            Err(Error::Busy { what: path.display().to_string() })
        }
        Err(_) => Ok(None),
    }
}

/// SQLite's error of a code.
pub fn ffi_error(code: i32) -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None)
}

/// SQLite's refusal, with what usually helps.
pub fn engine(doing: &'static str, path: &Path, error: rusqlite::Error) -> Error {
    let likely = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => ErrorCause::SqliteLocked,
        Some(ErrorCode::DiskFull) => ErrorCause::SqliteFull,
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => ErrorCause::SqliteDamaged,
        Some(ErrorCode::CannotOpen) => ErrorCause::SqliteUnopened,
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => ErrorCause::SqliteNotWritable,
        Some(ErrorCode::SystemIoFailure) => ErrorCause::SqliteStorage,
        _ => ErrorCause::SqliteOther,
    };
    Error::engine(doing, path.display(), error, likely)
}
