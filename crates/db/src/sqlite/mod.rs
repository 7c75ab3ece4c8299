//! SQLite as a database under test.
//!
//! One file of blocks to read (`RanRead.db`: a table of incompressible rows of one page each, and the catalogue of the
//! globals), and one file per global, so that as many workers write at once as there are globals. Blocks are pages of
//! 8 KiB; globals have pages of 4 KiB, SQLite's own choice, because a set writes its whole page to the log: a write-ahead
//! log that each commit syncs (full durability) or that is synced at checkpoints (relaxed). Block reads go by page number
//! through SQLite's own pager (the `sqlite_dbpage` virtual table) and our VFS, past the page cache.

mod catalogue;
mod counts;
mod create;
mod direct;
mod frames;
mod session;
#[cfg(test)]
mod tests;
mod vfs;

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use iolite_model::{Bytes, Durability, Physical};
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::adapter::{Database, Description, Error, Files, Progress, Result, Session, Settings, Within};
use counts::Counts;
use direct::Counters;

/// Size of a page, the block of a read: as the databases of PerfTools have it.
const PAGE: u64 = 8192;
/// Size of a global's page: SQLite's default, and the least that direct writes can have everywhere.
const GLOBAL_PAGE: u64 = 4096;
/// In the header of every file we make (bytes 68 to 71, "iolt"), from its first commit on.
const APPLICATION_ID: i64 = 0x696f_6c74;
/// The header's user version once a file is complete.
const COMPLETE: i64 = 1;
/// SQLite never stores anything in the page of byte 2^30, over which its locks lie (file format, 1.4).
const LOCK_PAGE: u64 = (1 << 30) / PAGE + 1;
/// Most pages in the log until the committing session checkpoints: 256 MiB. SQLite's own 1000 would write every page
/// back after a handful of transactions; databases under load checkpoint far less often.
const MOST_LOGGED: u64 = (256 << 20) / GLOBAL_PAGE;
/// Fewest: SQLite's own.
const FEWEST_LOGGED: u64 = 1000;
/// Most that a writing session caches of its global, in KiB: a global of a million subscripts fits.
const WRITE_CACHE_KIB: u32 = 128 << 10;
/// Pages that a reading session caches: the root page, which every statement looks at, and as little else as can be.
const READ_CACHE_PAGES: u32 = 2;
/// The file of the blocks to read and of the catalogue.
const BLOCKS: &str = "RanRead.db";
/// The files of the globals are this, their number from 1, and ".db".
const NAME: &str = "RanWriteGlobal";

/// SQLite databases in one directory.
#[derive(Debug)]
pub struct Sqlite {
    directory: PathBuf,
    cached: bool,
    durability: Durability,
    /// Files that this value made: they are removed even if they never got as far as carrying our mark.
    created: Mutex<Vec<PathBuf>>,
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

/// What a file's header says.
#[derive(Debug, Clone, Copy)]
struct Header {
    pages: u64,
    page: u64,
}

/// A connection with its counters.
struct Open {
    connection: Connection,
    counters: Arc<Counters>,
}

impl Sqlite {
    /// The databases in `directory`, which must exist before [`Database::create`]. Opens nothing yet.
    pub fn new(directory: PathBuf) -> Sqlite {
        Sqlite {
            directory,
            cached: false,
            durability: Durability::Full,
            created: Mutex::new(Vec::new()),
            counted: Arc::default(),
        }
    }

    /// The same, with sessions as `settings` ask.
    ///
    /// # Errors
    /// [`Error::Unsupported`].
    pub fn with(directory: PathBuf, settings: Settings) -> Result<Sqlite> {
        if settings.through_buffers {
            return Err(Error::Unsupported {
                database: "SQLite",
                what: "read blocks through buffers that it does not share between sessions",
                remedy: "leave --through-buffers out",
            });
        }
        Ok(Sqlite { durability: settings.durability, ..Sqlite::new(directory) })
    }

    /// The same, with block reads and writes through the page cache, for comparison and as a fallback.
    pub fn through_page_cache(self) -> Sqlite {
        Sqlite { cached: true, ..self }
    }

    fn file(&self, global: u32) -> PathBuf {
        self.directory.join(format!("{NAME}{}.db", global + 1))
    }

    fn vfs(&self) -> &'static std::ffi::CStr {
        if self.cached { vfs::CACHED } else { vfs::DIRECT }
    }

    fn blocks_file(&self) -> PathBuf {
        self.directory.join(BLOCKS)
    }

    /// What all connections of this value have counted so far.
    fn counts(&self) -> Counts {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner).now()
    }

    /// The file of the blocks, then those of the globals in order, all of them there and complete.
    fn existing(&self) -> Result<Vec<PathBuf>> {
        let blocks = self.blocks_file();
        let place = || self.directory.display().to_string();
        if !blocks.exists() {
            return Err(Error::Missing { place: place() });
        }
        block_header(&blocks)?;
        let globals = catalogue::sizes(&blocks)?.len() as u32;
        let mut files = vec![blocks];
        for global in 0..globals {
            let path = self.file(global);
            if !path.exists() {
                return Err(Error::GlobalMissing { global: format!("{NAME}{}", global + 1), place: place() });
            }
            files.push(path);
        }
        Ok(files)
    }

    fn synchronous(&self) -> &'static str {
        match self.durability {
            Durability::Full => "FULL",
            Durability::Relaxed => "NORMAL",
        }
    }

    /// Whether block reads bypass the page cache; `None` when there is nothing to try it on.
    fn reads_direct(&self) -> Option<bool> {
        let open = self.connect(Some(self.blocks_file()).filter(|path| path.exists())?.as_path()).ok()?;
        // Some file systems refuse at the first transfer, not at the opening.
        open.connection.pragma_query_value(None, "schema_version", |_| Ok(())).ok()?;
        Some(vfs::probe(&open.connection).direct)
    }

    /// Opens a complete file of ours for measuring.
    fn connect(&self, path: &Path) -> Result<Open> {
        header(path)?;
        let open = open(path, OpenFlags::SQLITE_OPEN_READ_WRITE, self.vfs())?;
        let batch = format!("PRAGMA synchronous={};", self.synchronous());
        open.connection.execute_batch(&batch).map_err(|e| engine("configure", path, e))?;
        self.counted.lock().unwrap_or_else(PoisonError::into_inner).open.push(open.counters.clone());
        Ok(open)
    }
}

impl Database for Sqlite {
    fn describe(&self) -> Result<Description> {
        // Before there is a file nothing has refused O_DIRECT yet.
        let direct = self.reads_direct().unwrap_or(!self.cached);
        let how = if direct { "past the page cache (O_DIRECT)" } else { "through the page cache" };
        let setting = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let durability = match self.durability {
            Durability::Full => "write-ahead log, one fdatasync of it per commit (synchronous=FULL)",
            Durability::Relaxed => "write-ahead log, synced at checkpoints only (synchronous=NORMAL)",
        };
        Ok(Description {
            engine: "SQLite".to_owned(),
            version: rusqlite::version().to_owned(),
            namespace: String::new(),
            block: Bytes(PAGE),
            read_path: format!("page by number through SQLite's pager (sqlite_dbpage), {how}"),
            write_path: "UPDATE by primary key, prepared".to_owned(),
            durability: durability.to_owned(),
            direct,
            settings: vec![
                setting("page_size", &format!("{PAGE} (blocks), {GLOBAL_PAGE} (globals)")),
                setting("journal_mode", "wal"),
                setting("synchronous", self.synchronous()),
                setting(
                    "wal_autocheckpoint",
                    &format!("twice the global's pages, {FEWEST_LOGGED} to {MOST_LOGGED}"),
                ),
                setting("cache_size for reads", &READ_CACHE_PAGES.to_string()),
                setting("cache_size for writes", &format!("-{WRITE_CACHE_KIB}")),
                setting("vfs", &self.vfs().to_string_lossy()),
                setting("files", "one for the blocks to read, one per global"),
            ],
        })
    }

    fn setup(&self, size: Bytes, progress: &mut Progress<'_>) -> Result<()> {
        create::setup(self, size, progress)
    }

    fn add_globals(&self, count: u32, subscripts: u64, progress: &mut Progress<'_>) -> Result<()> {
        create::add_globals(self, count, subscripts, progress)
    }

    fn drop_globals(&self) -> Result<()> {
        let blocks = self.blocks_file();
        let globals: Vec<_> =
            databases_in(&self.directory)?.into_iter().filter(|path| *path != blocks).collect();
        self.refuse_foreign(&globals)?;
        self.existing_blocks()?;
        catalogue::clear(&blocks)?;
        self.remove(&globals)
    }

    fn purge(&self) -> Result<()> {
        let ours = databases_in(&self.directory)?;
        self.refuse_foreign(&ours)?;
        self.remove(&ours)
    }

    fn size(&self) -> Result<Bytes> {
        let mut total = 0;
        for path in self.existing()? {
            let meta = fs::metadata(&path).map_err(|e| io("look at", &path, e, "check its permissions"))?;
            total += meta.len();
        }
        Ok(Bytes(total))
    }

    fn global_size(&self, subscripts: u64) -> Bytes {
        create::global_size(subscripts)
    }

    fn most_subscripts(&self) -> u64 {
        create::MOST_SUBSCRIPTS
    }

    fn sizes(&self) -> Result<Vec<u64>> {
        let files = self.existing()?;
        catalogue::sizes(&files[0])
    }

    fn count_subscripts(&self, progress: &mut Progress<'_>) -> Result<Vec<u64>> {
        let files = self.existing()?;
        let total = catalogue::sizes(&files[0])?.iter().sum();
        let mut counts = Vec::new();
        for path in &files[1..] {
            if progress(counts.iter().sum(), total).is_break() {
                return Err(Error::Cancelled);
            }
            counts.push(count(path)?);
        }
        let _: ControlFlow<()> = progress(counts.iter().sum(), total);
        Ok(counts)
    }

    fn blocks(&self) -> Result<u64> {
        Ok(block_header(&self.existing_blocks()?)?.blocks())
    }

    fn files(&self) -> Result<Files> {
        Ok(Files { here: true, data: Some(self.directory.clone()), log: None })
    }

    fn session(&self, worker: u32) -> Result<Box<dyn Session>> {
        let files = self.existing()?;
        Ok(Box::new(session::SqliteSession::open(self, &files, worker)?))
    }

    fn within(&self, _worker: u32) -> Result<Option<Box<dyn Within>>> {
        // It runs within this program: there is nothing to be saved by a batch.
        Ok(None)
    }

    fn physical(&self) -> Result<Physical> {
        Ok(self.counts().into())
    }

    fn settle(&self) -> Result<()> {
        for path in self.existing()? {
            let open = self.connect(&path)?;
            let failed = |e| engine("checkpoint", &path, e);
            let busy: bool = open
                .connection
                .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))
                .map_err(failed)?;
            if busy {
                let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY);
                return Err(failed(rusqlite::Error::SqliteFailure(code, None)));
            }
        }
        Ok(())
    }
}

impl Sqlite {
    /// # Errors
    /// There is no complete file of blocks.
    fn existing_blocks(&self) -> Result<PathBuf> {
        let blocks = self.blocks_file();
        if !blocks.exists() {
            return Err(Error::Missing { place: self.directory.display().to_string() });
        }
        block_header(&blocks)?;
        Ok(blocks)
    }

    /// # Errors
    /// [`Error::Foreign`] when one of these files is not ours.
    fn refuse_foreign(&self, files: &[PathBuf]) -> Result<()> {
        let created = self.created.lock().unwrap_or_else(PoisonError::into_inner);
        for path in files {
            if !created.contains(path) && mark(path)?.is_none() {
                return Err(Error::Foreign { path: path.clone() });
            }
        }
        Ok(())
    }

    /// Removes files of ours with what SQLite keeps beside them.
    fn remove(&self, files: &[PathBuf]) -> Result<()> {
        for path in files.iter().flat_map(|path| companions(path)) {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(io("remove", &path, error, "check that the directory may be written to"));
                }
                _ => {}
            }
        }
        let mut created = self.created.lock().unwrap_or_else(PoisonError::into_inner);
        created.retain(|path| !files.contains(path));
        Ok(())
    }
}

impl Header {
    /// Pages in the log that make the committing session checkpoint: twice those that it would write at most.
    fn checkpoint_pages(self) -> u64 {
        self.pages.saturating_mul(2).clamp(FEWEST_LOGGED, MOST_LOGGED)
    }

    /// Readable blocks: all pages but the first, which SQLite always holds in memory, and the lock page.
    fn blocks(self) -> u64 {
        self.pages.saturating_sub(1 + u64::from(self.pages >= LOCK_PAGE))
    }

    /// The page of a block, from 0.
    fn page(block: u64) -> u64 {
        let page = block + 2;
        page + u64::from(page >= LOCK_PAGE)
    }
}

/// The files SQLite keeps for a database.
fn companions(path: &Path) -> impl Iterator<Item = PathBuf> {
    ["", "-wal", "-shm", "-journal"].into_iter().map(|suffix| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        name.into()
    })
}

/// Whatever in the directory has the name of a file of ours, whoever made it.
fn databases_in(directory: &Path) -> Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(|e| io("list", directory, e, "check its permissions"))?,
    };
    let ours = |name: &str| {
        let number = name.strip_prefix(NAME).and_then(|rest| rest.strip_suffix(".db"));
        name == BLOCKS
            || number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
    };
    let names = entries.filter_map(|entry| Some(entry.ok()?.file_name()));
    Ok(names.filter(|name| name.to_str().is_some_and(ours)).map(|name| directory.join(name)).collect())
}

/// Opens a file that exists, through one of our VFSs.
fn open(path: &Path, flags: OpenFlags, vfs: &std::ffi::CStr) -> Result<Open> {
    vfs::register().map_err(|code| engine("register a VFS for", path, ffi_error(code)))?;
    let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection =
        Connection::open_with_flags_and_vfs(path, flags, vfs).map_err(|e| engine("open", path, e))?;
    let counters = vfs::probe(&connection).counters.unwrap_or_default();
    Ok(Open { connection, counters })
}

/// Opens a file without changing anything about it or beside it: no lock, no log, no shared memory. By SQLite, and not
/// by reading the header ourselves, because closing our own descriptor would drop the locks of open sessions.
fn open_unchanged(path: &Path) -> Result<Connection> {
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
    Ok(open(Path::new(&uri), flags, vfs::CACHED)?.connection)
}

/// The user version of a file that carries our mark, else `None`.
fn mark(path: &Path) -> Result<Option<i64>> {
    let connection = open_unchanged(path)?;
    let pragma = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    match pragma("application_id") {
        Ok(APPLICATION_ID) => {
            pragma("user_version").map(Some).map_err(|e| engine("read the header of", path, e))
        }
        // Not a database, or not readable as one: not ours.
        _ => Ok(None),
    }
}

/// The header of a complete file of ours.
fn header(path: &Path) -> Result<Header> {
    match mark(path)? {
        None => return Err(Error::Foreign { path: path.into() }),
        Some(COMPLETE) => {}
        Some(_) => return Err(Error::Incomplete { path: path.into() }),
    }
    let failed = |e| engine("read the header of", path, e);
    let connection = open_unchanged(path)?;
    let pages: i64 = connection.pragma_query_value(None, "page_count", |row| row.get(0)).map_err(failed)?;
    let size: i64 = connection.pragma_query_value(None, "page_size", |row| row.get(0)).map_err(failed)?;
    let pages = pages.unsigned_abs();
    // A file cut short still has the old count in its header.
    let length = fs::metadata(path).map_err(|e| io("look at", path, e, "check its permissions"))?.len();
    let page = size.unsigned_abs();
    if length < pages.saturating_mul(page) {
        return Err(damaged(path));
    }
    Ok(Header { pages, page })
}

/// The header of the file of the blocks, whose pages are as long as a block.
fn block_header(path: &Path) -> Result<Header> {
    header(path).and_then(|header| if header.page == PAGE { Ok(header) } else { Err(damaged(path)) })
}

fn damaged(path: &Path) -> Error {
    engine("read the header of", path, ffi_error(rusqlite::ffi::SQLITE_CORRUPT))
}

/// The subscripts of a global's file, counted.
fn count(path: &Path) -> Result<u64> {
    let count = |connection: &Connection| {
        connection.query_row("SELECT count(*) FROM global", [], |row| row.get::<_, i64>(0))
    };
    let connection = open(path, OpenFlags::SQLITE_OPEN_READ_WRITE, vfs::CACHED)?.connection;
    Ok(count(&connection).map_err(|e| engine("count the subscripts of", path, e))?.unsigned_abs())
}

fn ffi_error(code: i32) -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None)
}

fn io(doing: &'static str, path: &Path, source: std::io::Error, remedy: &'static str) -> Error {
    Error::Io { doing, path: path.into(), source, remedy }
}

/// SQLite's refusal, with what usually helps.
fn engine(doing: &'static str, path: &Path, error: rusqlite::Error) -> Error {
    let remedy = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "another process holds it: end that one or wait for it"
        }
        Some(ErrorCode::DiskFull) => "the file system is full: free some space or create a smaller database",
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            "its contents are damaged: purge the database and create it again"
        }
        Some(ErrorCode::CannotOpen) => "check its permissions and the limit of open files (ulimit -n)",
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => "make the file and its directory writable",
        Some(ErrorCode::SystemIoFailure) => "the storage failed: look at the kernel log (dmesg)",
        _ => "if it happens again, purge the database and create it again",
    };
    Error::Engine { doing, place: path.display().to_string(), cause: Box::new(error), remedy }
}
