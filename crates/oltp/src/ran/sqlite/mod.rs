//! RanRead, RanWrite and RanIO in SQLite.
//!
//! One file of blocks to read (`RanRead.db`: a table of incompressible rows of one page each, and the catalogue of the
//! globals), and one file per global, so that as many workers write at once as there are globals. Blocks are pages of
//! 8 KiB, or another size; globals have pages of 4 KiB, SQLite's own choice, because a set writes its whole page to the log: a write-ahead
//! log that each commit syncs (full durability) or that is synced at checkpoints (relaxed). Block reads go by page number
//! through SQLite's own pager (the `sqlite_dbpage` virtual table) and our VFS, past the page cache.

mod catalogue;
mod create;
mod session;
#[cfg(test)]
mod tests;

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use iolite_db::sqlite::{alone, engine, ffi_error, mark, open, open_unchanged, vfs};
use iolite_db::{Error, Instance, Result, Sqlite};
use iolite_model::{Bytes, Durability, ErrorCause};
use rusqlite::{Connection, OpenFlags};

use super::contract::{Adapter, Description, NewBlocks, Progress, Session, Settings, Within};

/// Size of a page, the block of a read, where no other is asked for: as the databases of PerfTools have it.
const PAGE: u64 = 8192;
/// Size of a global's page: SQLite's default, and the least that direct writes can have everywhere.
const GLOBAL_PAGE: u64 = 4096;
/// The header's user version once a file is complete.
const COMPLETE: i64 = 1;
/// Sizes of a page that blocks may have: powers of two up to SQLite's largest, and not less than direct reads can have
/// everywhere.
const PAGES: std::ops::RangeInclusive<u64> = 4096..=65_536;
/// SQLite never stores anything in the page of this byte, over which its locks lie (file format, 1.4).
const LOCK_BYTE: u64 = 1 << 30;
/// Most pages in the log until the committing session checkpoints: 256 MiB. SQLite's own 1000 would write every page
/// back after a handful of transactions; databases under load checkpoint far less often.
const MAX_LOGGED: u64 = (256 << 20) / GLOBAL_PAGE;
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

/// RanRead, RanWrite and RanIO in SQLite databases in one directory.
#[derive(Debug)]
pub struct RanSqlite {
    instance: Arc<Sqlite>,
    directory: PathBuf,
    durability: Durability,
    /// Files that this value made: they are removed even if they never got as far as carrying our mark.
    created: Mutex<Vec<PathBuf>>,
}

/// What a file's header says.
#[derive(Debug, Clone, Copy)]
struct Header {
    pages: u64,
    page: u64,
}

impl RanSqlite {
    /// In `directory`, which must exist before [`Adapter::setup`]. Opens nothing yet.
    pub fn new(directory: PathBuf) -> RanSqlite {
        RanSqlite::of(Sqlite::new(directory))
    }

    fn of(instance: Sqlite) -> RanSqlite {
        RanSqlite {
            directory: instance.directory().to_owned(),
            instance: Arc::new(instance),
            durability: Durability::Full,
            created: Mutex::new(Vec::new()),
        }
    }

    /// The same, with sessions as `settings` ask.
    ///
    /// # Errors
    /// [`Error::Unsupported`].
    pub fn with(directory: PathBuf, settings: Settings) -> Result<RanSqlite> {
        if settings.through_buffers {
            return Err(Error::Unsupported {
                database: "SQLite",
                what: "read blocks through buffers that it does not share between sessions",
                remedy: ErrorCause::OwnBuffersOnly,
            });
        }
        Ok(RanSqlite { durability: settings.durability, ..RanSqlite::new(directory) })
    }

    /// The same, with block reads and writes through the page cache, for comparison and as a fallback.
    pub fn through_page_cache(self) -> RanSqlite {
        RanSqlite::of(Sqlite::new(self.directory).through_page_cache())
    }

    fn file(&self, global: u32) -> PathBuf {
        self.directory.join(format!("{NAME}{}.db", global + 1))
    }

    fn blocks_file(&self) -> PathBuf {
        self.directory.join(BLOCKS)
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
}

impl Adapter for RanSqlite {
    fn instance(&self) -> Arc<dyn Instance> {
        self.instance.clone()
    }

    fn describe(&self) -> Result<Description> {
        // Before there is a file nothing has refused O_DIRECT yet.
        let direct = self.instance.reads_direct(&self.blocks_file()).unwrap_or(!self.instance.is_cached());
        let how = if direct { "past the page cache (O_DIRECT)" } else { "through the page cache" };
        let mut instance = self.instance.describe(self.durability)?;
        let page = block_header(&self.blocks_file()).map_or(PAGE, |header| header.page);
        instance.block = Bytes(page);
        let setting = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        instance.settings.extend([
            setting("page_size", &format!("{page} (blocks), {GLOBAL_PAGE} (globals)")),
            setting(
                "wal_autocheckpoint",
                &format!("twice the global's pages, {FEWEST_LOGGED} to {MAX_LOGGED}"),
            ),
            setting("cache_size for reads", &READ_CACHE_PAGES.to_string()),
            setting("cache_size for writes", &format!("-{WRITE_CACHE_KIB}")),
            setting("files", "one for the blocks to read, one per global"),
        ]);
        Ok(Description {
            instance,
            read_path: format!("page by number through SQLite's pager (sqlite_dbpage), {how}"),
            write_path: "UPDATE by primary key, prepared".to_owned(),
            direct,
        })
    }

    fn counts_block_reads(&self) -> bool {
        true
    }

    fn create_blocks(&self, blocks: &NewBlocks, progress: &mut Progress<'_>) -> Result<()> {
        create::setup(self, blocks, progress)
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
        // Held until the files are gone: nobody is at work in them. Who opened one just before only finds that it has no name any more.
        let _alone: Vec<_> = ours.iter().map(|path| alone(path)).collect::<Result<_>>()?;
        self.remove(&ours)
    }

    fn size(&self) -> Result<Bytes> {
        let mut total = 0;
        for path in self.existing()? {
            let meta = fs::metadata(&path).map_err(|e| Error::io("examine", &path, e))?;
            total += meta.len();
        }
        Ok(Bytes(total))
    }

    fn global_size(&self, subscripts: u64) -> Bytes {
        create::global_size(subscripts)
    }

    fn max_subscripts(&self) -> u64 {
        create::MAX_SUBSCRIPTS
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

    fn session(&self, worker: u32) -> Result<Box<dyn Session>> {
        let files = self.existing()?;
        Ok(Box::new(session::SqliteSession::open(self, &files, worker)?))
    }

    fn within(&self, _worker: u32) -> Result<Option<Box<dyn Within>>> {
        // It runs within this program: there is nothing to be saved by a batch.
        Ok(None)
    }

    fn settle(&self) -> Result<()> {
        self.existing()?.iter().try_for_each(|path| self.instance.checkpoint(path))
    }
}

impl RanSqlite {
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
                    return Err(Error::io("remove", &path, error));
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
        self.pages.saturating_mul(2).clamp(FEWEST_LOGGED, MAX_LOGGED)
    }

    /// Readable blocks: all pages but the first, which SQLite always holds in memory, and the lock page.
    fn blocks(self) -> u64 {
        self.pages.saturating_sub(1 + u64::from(self.pages >= self.lock_page()))
    }

    /// The page of a block, from 0.
    fn page_of(self, block: u64) -> u64 {
        let page = block + 2;
        page + u64::from(page >= self.lock_page())
    }

    fn lock_page(self) -> u64 {
        LOCK_BYTE / self.page + 1
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
        entries => entries.map_err(|e| Error::io("list", directory, e))?,
    };
    let ours = |name: &str| {
        let number = name.strip_prefix(NAME).and_then(|rest| rest.strip_suffix(".db"));
        name == BLOCKS
            || number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
    };
    let names = entries.filter_map(|entry| Some(entry.ok()?.file_name()));
    Ok(names.filter(|name| name.to_str().is_some_and(ours)).map(|name| directory.join(name)).collect())
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
    let length = fs::metadata(path).map_err(|e| Error::io("examine", path, e))?.len();
    let page = size.unsigned_abs();
    if length < pages.saturating_mul(page) {
        return Err(damaged(path));
    }
    Ok(Header { pages, page })
}

/// The header of the file of the blocks, whose pages are as long as a block.
fn block_header(path: &Path) -> Result<Header> {
    header(path).and_then(|header| if PAGES.contains(&header.page) { Ok(header) } else { Err(damaged(path)) })
}

fn damaged(path: &Path) -> Error {
    engine("read the header of", path, ffi_error(rusqlite::ffi::SQLITE_CORRUPT))
}

/// The subscripts of a global's file, counted.
fn count(path: &Path) -> Result<u64> {
    let count = |connection: &Connection| {
        connection.query_row("SELECT count(*) FROM global", [], |row| row.get::<_, i64>(0))
    };
    let connection = open(path, OpenFlags::SQLITE_OPEN_READ_WRITE, vfs::CACHED)?;
    Ok(count(&connection).map_err(|e| engine("count the subscripts of", path, e))?.unsigned_abs())
}
