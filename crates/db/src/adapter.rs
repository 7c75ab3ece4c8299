//! The contract every database adapter fulfils.

use std::ops::{AddAssign, ControlFlow};
use std::path::PathBuf;

use iolite_model::Bytes;

/// Result of an adapter's operation.
pub type Result<T> = std::result::Result<T, Error>;

/// Told while a database is made: bytes done and bytes in total. [`ControlFlow::Break`] ends the making with
/// [`Error::Cancelled`].
pub type Progress<'a> = dyn FnMut(u64, u64) -> ControlFlow<()> + 'a;

/// What to create.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Globals (`RanWriteGlobal1`..N): as many workers can write at once. At least 1.
    pub globals: u32,
    /// Subscripts in each global, numbered from 1. At least 1.
    pub subscripts: u64,
    /// Least size of the whole database; what the globals leave of it is filled with incompressible rows.
    pub size: Bytes,
}

/// A database as the results state it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// Name of the engine, for example `SQLite`.
    pub engine: String,
    /// Version of the engine.
    pub version: String,
    /// Size of a block (page).
    pub block: Bytes,
    /// How [`Session::read_block`] reads a block.
    pub read_path: String,
    /// What makes a commit durable.
    pub durability: String,
    /// Whether block reads bypass the operating system's page cache.
    pub direct: bool,
    /// What else determines the figures, as (name, value).
    pub settings: Vec<(String, String)>,
}

/// What a session, or a checkpoint, asked of the operating system on the database's behalf. Counts of calls, so one
/// logical operation may be none (cached) or several of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Physical {
    /// Reads of data files that bypassed the page cache.
    pub reads: u64,
    /// Bytes of those reads.
    pub read_bytes: Bytes,
    /// Reads of data files through the page cache, which may or may not have reached the device.
    pub cached_reads: u64,
    /// Writes of data files, cached or not.
    pub writes: u64,
    /// Bytes of those writes.
    pub write_bytes: Bytes,
    /// Synchronisations (fsync) of data files.
    pub syncs: u64,
    /// Reads of the log.
    pub log_reads: u64,
    /// Writes of the log.
    pub log_writes: u64,
    /// Bytes of those writes.
    pub log_write_bytes: Bytes,
    /// Synchronisations (fsync) of the log.
    pub log_syncs: u64,
}

impl Physical {
    /// What was added since `earlier`, a reading of the same session.
    pub fn since(&self, earlier: &Physical) -> Physical {
        let bytes = |now: Bytes, then: Bytes| Bytes(now.0.saturating_sub(then.0));
        Physical {
            reads: self.reads.saturating_sub(earlier.reads),
            read_bytes: bytes(self.read_bytes, earlier.read_bytes),
            cached_reads: self.cached_reads.saturating_sub(earlier.cached_reads),
            writes: self.writes.saturating_sub(earlier.writes),
            write_bytes: bytes(self.write_bytes, earlier.write_bytes),
            syncs: self.syncs.saturating_sub(earlier.syncs),
            log_reads: self.log_reads.saturating_sub(earlier.log_reads),
            log_writes: self.log_writes.saturating_sub(earlier.log_writes),
            log_write_bytes: bytes(self.log_write_bytes, earlier.log_write_bytes),
            log_syncs: self.log_syncs.saturating_sub(earlier.log_syncs),
        }
    }
}

impl AddAssign for Physical {
    fn add_assign(&mut self, other: Physical) {
        self.reads += other.reads;
        self.read_bytes.0 += other.read_bytes.0;
        self.cached_reads += other.cached_reads;
        self.writes += other.writes;
        self.write_bytes.0 += other.write_bytes.0;
        self.syncs += other.syncs;
        self.log_reads += other.log_reads;
        self.log_writes += other.log_writes;
        self.log_write_bytes.0 += other.log_write_bytes.0;
        self.log_syncs += other.log_syncs;
    }
}

/// A database under test.
pub trait Database: Send + Sync {
    /// What it is and how it does its work.
    fn describe(&self) -> Description;

    /// Makes the database. Never opens for writing what it did not make.
    ///
    /// # Errors
    /// [`Error::Exists`] when there is one already, [`Error::Layout`] and [`Error::NoSpace`] before anything is made,
    /// [`Error::Cancelled`] when `progress` said so. What was made until then stays until [`Database::purge`].
    fn create(&self, layout: &Layout, progress: &mut Progress<'_>) -> Result<()>;

    /// Removes exactly what [`Database::create`] made, finished or not; nothing there is no error. No session may be
    /// open. (PerfTools' Purge; not named `drop`, which a boxed value takes for its destructor.)
    ///
    /// # Errors
    /// [`Error::Foreign`], before anything is removed, when something of that name was made by someone else.
    fn purge(&self) -> Result<()>;

    /// Size of the data files, without logs.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is no database.
    fn size(&self) -> Result<Bytes>;

    /// Globals there are: the number of workers that can write at once.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is no database.
    fn globals(&self) -> Result<u32>;

    /// Blocks that [`Session::read_block`] can read, over all globals.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is no database, [`Error::Engine`] when one can't be read.
    fn blocks(&self) -> Result<u64>;

    /// The data files, where this process can see them, to find the devices beneath. Do not open and close them while
    /// a session is open: closing any descriptor of a file drops the locks this process holds on it (fcntl(2)).
    fn files(&self) -> Vec<PathBuf>;

    /// Opens the session of one worker, numbered from 0, on the worker's own thread.
    ///
    /// # Errors
    /// [`Error::Missing`], [`Error::Incomplete`], [`Error::Foreign`] or [`Error::Engine`].
    fn session(&self, worker: u32) -> Result<Box<dyn Session>>;

    /// Brings everything committed from the log into the data files, so that a following RanRead reads those alone.
    /// Returns what it took.
    ///
    /// # Errors
    /// [`Error::Engine`], among others when a session is in the middle of a transaction.
    fn checkpoint(&self) -> Result<Physical>;
}

/// One worker's connection. Stays on the thread that opened it.
pub trait Session {
    /// Opens beforehand what block reads, or writes, will need: otherwise the first of them pay for it.
    ///
    /// # Errors
    /// As those operations.
    fn prepare(&mut self, reads: bool, writes: bool) -> Result<()>;

    /// Reads the block of this number, from 0 up to [`Database::blocks`]; returns the bytes read.
    ///
    /// # Errors
    /// [`Error::NoBlock`] beyond the last, [`Error::Engine`] when it can't be read.
    fn read_block(&mut self, number: u64) -> Result<Bytes>;

    /// Starts a transaction.
    ///
    /// # Errors
    /// [`Error::NoGlobal`] when there is no global for this worker, [`Error::Engine`].
    fn begin(&mut self) -> Result<()>;

    /// Sets a subscript (from 1) of this worker's global to a new value; returns the value's size.
    ///
    /// # Errors
    /// [`Error::NoSubscript`], [`Error::NoGlobal`], [`Error::Engine`].
    fn write(&mut self, subscript: u64) -> Result<Bytes>;

    /// Commits; on return everything written is on stable storage.
    ///
    /// # Errors
    /// [`Error::Engine`]; the transaction is then rolled back.
    fn commit(&mut self) -> Result<()>;

    /// Subscripts in this worker's global; 0 when it has none and so can't write.
    fn subscripts(&self) -> u64;

    /// Physical operations of this session since it was opened.
    fn physical(&self) -> Physical;
}

/// Why a database operation failed: what, where, likely cause, remedy.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Something to be created is there already.
    #[error("{path} exists already: nothing was changed; purge that database or choose another directory")]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// There is no database.
    #[error("no database in {place}: create it first (setup)")]
    Missing {
        /// Where it was looked for.
        place: String,
    },
    /// Creation did not come to its end.
    #[error(
        "{path} was never finished: its creation was interrupted; purge the database and create it again"
    )]
    Incomplete {
        /// The file.
        path: PathBuf,
    },
    /// A file has the right name and the wrong contents.
    #[error("{path} was not made by iolite: it is left alone; move it away or choose another directory")]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The layout makes no sense.
    #[error(
        "the database can't have {what}; ask for at least one global with one subscript, and fewer than {limit}"
    )]
    Layout {
        /// What is wrong.
        what: String,
        /// The limit that was passed.
        limit: u64,
    },
    /// Too little space.
    #[error(
        "{path} has {free} free and the database needs {needed}: free some, or ask for a smaller database"
    )]
    NoSpace {
        /// The directory.
        path: PathBuf,
        /// Space wanted.
        needed: Bytes,
        /// Space there is.
        free: Bytes,
    },
    /// Stopped by the caller.
    #[error("cancelled while the database was being created: purge removes what is there")]
    Cancelled,
    /// More writers than globals.
    #[error(
        "worker {worker} has no global to write to, there are {globals}: start fewer workers or create more globals"
    )]
    NoGlobal {
        /// The worker, from 0.
        worker: u32,
        /// Globals there are.
        globals: u32,
    },
    /// A subscript that does not exist.
    #[error("subscript {subscript} is not in {path}, which has 1 to {subscripts}: choose one of those")]
    NoSubscript {
        /// The subscript.
        subscript: u64,
        /// Subscripts there are.
        subscripts: u64,
        /// The global's file or name.
        path: PathBuf,
    },
    /// A block that does not exist.
    #[error("block {number} is beyond the database's {blocks} blocks: choose a smaller one")]
    NoBlock {
        /// The block.
        number: u64,
        /// Blocks there are.
        blocks: u64,
    },
    /// The operating system refused.
    #[error("could not {doing} {path}: {source}; {remedy}")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// To what.
        path: PathBuf,
        /// The answer.
        source: std::io::Error,
        /// What may help.
        remedy: &'static str,
    },
    /// The database refused.
    #[error("could not {doing} {place}: {cause}; {remedy}")]
    Engine {
        /// What was being done.
        doing: &'static str,
        /// To which file or server.
        place: String,
        /// The database's answer.
        cause: Box<dyn std::error::Error + Send + Sync>,
        /// What may help.
        remedy: &'static str,
    },
    /// This binary lacks something.
    #[error("this build can't {what}: {remedy}")]
    Build {
        /// What it can't do.
        what: &'static str,
        /// How to build it so that it can.
        remedy: &'static str,
    },
}
