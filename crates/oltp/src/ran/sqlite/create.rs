//! Making the database: in bulk, through the page cache and without a journal, and synced at the end.

use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::sync::PoisonError;

use iolite_model::Bytes;
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use rusqlite::{Connection, OpenFlags, params};

use super::super::contract::{NewBlocks, Progress};
use super::super::layout::{proceed, validate};
use super::{COMPLETE, GLOBAL_PAGE, PAGE, PAGES, RanSqlite, companions, databases_in};
use iolite_db::space::check_space;
use iolite_db::sqlite::{APPLICATION_ID, engine, open, vfs};
use iolite_db::{Error, Result};

/// Rows of subscripts per transaction.
const SUBSCRIPTS_AT_ONCE: u64 = 50_000;
/// Bytes of filler per transaction.
const FILLER_AT_ONCE: u64 = 16 << 20;
/// Bytes of a page that a filler row's blob leaves free. One such row fits a page with its headers and two don't; with 39 or
/// fewer a part of it would move to an overflow page (file format, 1.6: a cell holds at most U-35 bytes of payload).
const FREE_BYTES: u64 = 92;
/// Mean size of a subscript's row with its headers, to compute the total beforehand.
const ROW_BYTES: u64 = 85;
/// Most subscripts that a global may have: row numbers stay far from SQLite's limit.
pub(super) const MAX_SUBSCRIPTS: u64 = 1 << 40;

/// See [`Adapter::setup`](super::super::Adapter::setup).
pub(super) fn setup(database: &RanSqlite, new: &NewBlocks, progress: &mut Progress<'_>) -> Result<()> {
    let page = page_size(new.block)?;
    let pages = new.size.0.div_ceil(page);
    refuse_existing(database)?;
    check_space(&database.directory, Bytes(pages.saturating_mul(page)))?;
    let path = database.blocks_file();
    make(database, &path)?;
    let mut report = |pages_done: u64| proceed(progress((pages_done.min(pages)) * page, pages * page));
    report(0)?;
    Fill { path: &path, seed: RandomState::new().hash_one(0), report: &mut report }.blocks(page, pages)?;
    sync_directory(&database.directory)
}

/// The size of the pages.
///
/// # Errors
/// [`Error::BlockSize`].
fn page_size(asked: Option<Bytes>) -> Result<u64> {
    match asked {
        None => Ok(PAGE),
        Some(Bytes(page)) if PAGES.contains(&page) && page.is_power_of_two() => Ok(page),
        Some(asked) => Err(Error::BlockSize {
            database: "SQLite",
            asked,
            why: "its pages have 4, 8, 16, 32 or 64 KiB; specify one of them".into(),
        }),
    }
}

/// See [`Adapter::add_globals`](super::super::Adapter::add_globals).
pub(super) fn add_globals(
    database: &RanSqlite,
    count: u32,
    subscripts: u64,
    progress: &mut Progress<'_>,
) -> Result<()> {
    let blocks = database.existing_blocks()?;
    let first = super::catalogue::sizes(&blocks)?.len() as u32;
    validate(first, count, subscripts, MAX_SUBSCRIPTS)?;
    let needed = global_size(subscripts).0.saturating_mul(count.into());
    check_space(&database.directory, Bytes(needed))?;
    let total = subscripts.saturating_mul(count.into());
    for global in first..first + count {
        let path = database.file(global);
        // Of an earlier attempt that did not end.
        let left: Vec<_> = [path.clone()].into_iter().filter(|path| path.exists()).collect();
        database.refuse_foreign(&left)?;
        database.remove(&left)?;
        make(database, &path)?;
        let before = u64::from(global - first) * subscripts;
        let mut report = |done: u64| proceed(progress(before + done, total));
        report(0)?;
        let seed = RandomState::new().hash_one(global);
        let filled = Fill { path: &path, seed, report: &mut report }.subscripts(subscripts);
        filled.and_then(|()| super::catalogue::add(&blocks, global, subscripts)).inspect_err(|_| {
            // What can't be removed now is replaced by the next attempt.
            let _ = database.remove(std::slice::from_ref(&path));
        })?;
    }
    sync_directory(&database.directory)
}

/// About what a global of so many subscripts takes.
pub(super) fn global_size(subscripts: u64) -> Bytes {
    Bytes(subscripts.saturating_mul(ROW_BYTES))
}

/// Makes an empty file, and remembers that it is ours.
fn make(database: &RanSqlite, path: &Path) -> Result<()> {
    OpenOptions::new().write(true).create_new(true).open(path).map_err(|e| Error::io("create", path, e))?;
    database.created.lock().unwrap_or_else(PoisonError::into_inner).push(path.to_owned());
    Ok(())
}

fn sync_directory(directory: &Path) -> Result<()> {
    File::open(directory)
        .and_then(|directory| directory.sync_all())
        .map_err(|e| Error::io("sync", directory, e))
}

/// # Errors
/// [`Error::Exists`] for a database of ours, which purge removes; [`Error::Foreign`] for what purge refuses.
fn refuse_existing(database: &RanSqlite) -> Result<()> {
    let existing = databases_in(&database.directory)?;
    database.refuse_foreign(&existing)?;
    if let Some(path) = existing.into_iter().next() {
        return Err(Error::Exists { path });
    }
    // A log left behind by another database of that name would be taken for ours.
    match companions(&database.blocks_file()).find(|path| fs::symlink_metadata(path).is_ok()) {
        Some(path) => Err(Error::Foreign { path }),
        None => Ok(()),
    }
}

/// Filling one file.
struct Fill<'a> {
    path: &'a Path,
    seed: u64,
    /// Called with the number of pages, or subscripts, that exist.
    report: &'a mut dyn FnMut(u64) -> Result<()>,
}

impl Fill<'_> {
    fn blocks(self, page: u64, pages: u64) -> Result<()> {
        let schema = format!(
            "CREATE TABLE filler(page INTEGER PRIMARY KEY, data BLOB NOT NULL); {}",
            super::catalogue::SCHEMA
        );
        let connection = self.open(page, &schema)?;
        let mut insert =
            connection.prepare("INSERT INTO filler(data) VALUES (?1)").map_err(|e| self.failed(e))?;
        let (mut noise, mut buffer) = (Noise::new(!self.seed), vec![0; (page - FREE_BYTES) as usize]);
        loop {
            let there: i64 = connection
                .pragma_query_value(None, "page_count", |row| row.get(0))
                .map_err(|e| self.failed(e))?;
            let there = there.unsigned_abs();
            (self.report)(there)?;
            if there >= pages {
                break;
            }
            self.transaction(&connection, || {
                for _ in 0..(FILLER_AT_ONCE / page).min(pages - there) {
                    noise.fill(&mut buffer);
                    insert.execute([&buffer])?;
                }
                Ok(())
            })?;
        }
        drop(insert);
        self.finish(connection)
    }

    fn subscripts(self, subscripts: u64) -> Result<()> {
        let schema = "CREATE TABLE global(subscript INTEGER PRIMARY KEY, value BLOB NOT NULL);";
        let connection = self.open(GLOBAL_PAGE, schema)?;
        let mut insert =
            connection.prepare("INSERT INTO global VALUES (?1, ?2)").map_err(|e| self.failed(e))?;
        let (mut noise, mut buffer) = (Noise::new(self.seed), [0; Noise::LONGEST]);
        let mut first = 1;
        while first <= subscripts {
            let last = subscripts.min(first + SUBSCRIPTS_AT_ONCE - 1);
            self.transaction(&connection, || {
                for subscript in first..=last {
                    insert.execute(params![subscript as i64, noise.value(subscript, &mut buffer)])?;
                }
                Ok(())
            })?;
            (self.report)(last)?;
            first = last + 1;
        }
        drop(insert);
        self.finish(connection)
    }

    fn failed(&self, error: rusqlite::Error) -> Error {
        engine("fill", self.path, error)
    }

    /// Opened through the cache: the pages are written out in large pieces by the sync at the end.
    fn open(&self, page: u64, schema: &str) -> Result<Connection> {
        let connection = open(self.path, OpenFlags::SQLITE_OPEN_READ_WRITE, vfs::CACHED)?;
        // The mark comes with the first commit: from then on purge knows the file in any process. No journal: a file
        // whose making was interrupted is thrown away, never repaired.
        let batch = format!(
            "PRAGMA page_size={page}; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-65536;
             PRAGMA application_id={APPLICATION_ID}; {schema}"
        );
        connection.execute_batch(&batch).map_err(|e| self.failed(e))?;
        Ok(connection)
    }

    fn transaction(
        &self,
        connection: &Connection,
        work: impl FnOnce() -> rusqlite::Result<()>,
    ) -> Result<()> {
        let all = || {
            connection.execute_batch("BEGIN")?;
            work()?;
            connection.execute_batch("COMMIT")
        };
        all().map_err(|e| self.failed(e))
    }

    /// Makes the contents durable, then marks the file as complete, and leaves nothing of it in the page cache.
    fn finish(&self, connection: Connection) -> Result<()> {
        let sync = || {
            let file = OpenOptions::new().write(true).open(self.path)?;
            file.sync_all()?;
            // Advice: where it is not taken, direct reads bypass the cached pages anyway.
            let _ = rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed);
            Ok(())
        };
        let synced = |e| Error::io("sync", self.path, e);
        // Our own descriptor is closed while SQLite holds no lock in this process: see `direct`.
        connection.close().map_err(|(_, e)| self.failed(e))?;
        sync().map_err(synced)?;
        let connection = open(self.path, OpenFlags::SQLITE_OPEN_READ_WRITE, vfs::CACHED)?;
        let batch = format!(
            "PRAGMA synchronous=FULL; PRAGMA journal_mode=WAL; PRAGMA user_version={COMPLETE};
             PRAGMA wal_checkpoint(TRUNCATE);"
        );
        connection.execute_batch(&batch).map_err(|e| self.failed(e))?;
        connection.close().map_err(|(_, e)| self.failed(e))?;
        sync().map_err(synced)
    }
}

/// Bytes that don't compress, cheaply.
#[derive(Debug, Clone)]
pub(super) struct Noise(SplitMix64);

impl Noise {
    /// Longest value of a subscript.
    pub(super) const LONGEST: usize = 100;

    pub(super) fn new(seed: u64) -> Noise {
        Noise(SplitMix64::seed_from_u64(seed))
    }

    fn fill(&mut self, buffer: &mut [u8]) {
        self.0.fill_bytes(buffer);
    }

    /// A new value for a subscript: 50 to 100 bytes, as long as every other value of that subscript, so that a set
    /// never splits a page and the database keeps its size.
    pub(super) fn value<'b>(&mut self, subscript: u64, buffer: &'b mut [u8; Noise::LONGEST]) -> &'b [u8] {
        let value = &mut buffer[..50 + (subscript % 51) as usize];
        self.fill(value);
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_length_and_change_their_contents() {
        let mut noise = Noise::new(1);
        for subscript in 1..200 {
            let first = noise.value(subscript, &mut [0; 100]).to_vec();
            let second = noise.value(subscript, &mut [0; 100]).to_vec();
            assert_eq!(first.len(), second.len());
            assert!((50..=100).contains(&first.len()));
            assert_ne!(first, second);
        }
    }
}
