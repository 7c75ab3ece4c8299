//! The contract of RanRead, RanWrite and RanIO with a database that they are written for.

use std::ops::ControlFlow;
use std::sync::Arc;

use iolite_db::{Instance, Result};
use iolite_model::{Bytes, Durability, Nanos, OpKind};

/// Called while something long is done: how much of how much, in bytes for [`Adapter::setup`], in subscripts for
/// [`Adapter::add_globals`] and [`Adapter::count_subscripts`]. [`ControlFlow::Break`] ends it with
/// [`Error::Cancelled`](iolite_db::Error::Cancelled).
pub type Progress<'a> = dyn FnMut(u64, u64) -> ControlFlow<()> + 'a;

/// How sessions do their work: the same for all of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Settings {
    /// What a commit has to have done when it returns.
    pub durability: Durability,
    /// Blocks are read through the database's own buffers, where the adapter knows a way around them.
    pub through_buffers: bool,
}

/// The blocks that [`Adapter::create_blocks`] makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewBlocks {
    /// What they take in all.
    pub size: Bytes,
    /// Size of each; `None` for the database's own choice.
    pub block: Option<Bytes>,
    /// Their rows are written to a binary log, where there is one, although the role may keep them out of it.
    pub binary_log: bool,
}

impl NewBlocks {
    /// So many bytes of blocks as the database has them by itself.
    pub fn of(size: Bytes) -> NewBlocks {
        NewBlocks { size, block: None, binary_log: false }
    }
}

/// A database as the results state it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// What the instance is.
    pub instance: iolite_db::Description,
    /// How a block is read.
    pub read_path: String,
    /// How a subscript is set.
    pub write_path: String,
    /// Whether block reads bypass the operating system's page cache.
    pub direct: bool,
}

/// A database in which RanRead, RanWrite and RanIO can run.
///
/// What it holds: blocks to read at random (made by [`setup`](Adapter::setup), never written again) and globals to write,
/// `RanWriteGlobal1`..N, each a map from the subscripts 1..S to values of 50 to 100 bytes that keep their length. Values
/// do not compress.
pub trait Adapter: Send + Sync {
    /// The instance that it is in.
    fn instance(&self) -> Arc<dyn Instance>;

    /// What it is and how its sessions will do their work. To be asked when it is set up.
    ///
    /// # Errors
    /// [`Error::Missing`](iolite_db::Error::Missing), [`Error::TooOld`](iolite_db::Error::TooOld), [`Error::Engine`](iolite_db::Error::Engine) (no server, wrong password, no such database...).
    fn describe(&self) -> Result<Description>;

    /// As [`create_blocks`](Adapter::create_blocks), with blocks as the database has them by itself.
    ///
    /// # Errors
    /// As there.
    fn setup(&self, size: Bytes, progress: &mut Progress<'_>) -> Result<()> {
        self.create_blocks(&NewBlocks::of(size), progress)
    }

    /// Makes an empty database with such blocks, all of them really written with what does not compress. Never opens
    /// for writing what it did not make.
    ///
    /// # Errors
    /// [`Error::BlockSize`](iolite_db::Error::BlockSize), [`Error::Exists`](iolite_db::Error::Exists) when there is one already, [`Error::Foreign`](iolite_db::Error::Foreign) when something of its names was made by someone else, [`Error::Layout`](iolite_db::Error::Layout) and [`Error::NoSpace`](iolite_db::Error::NoSpace) (where the space can be seen)
    /// before anything is made, [`Error::Cancelled`](iolite_db::Error::Cancelled) when `progress` said so. `progress` gets 0 once something has been made,
    /// not before. What was made until an error stays until [`Adapter::purge`]; nothing else uses it: it is
    /// [`Error::Incomplete`](iolite_db::Error::Incomplete).
    fn create_blocks(&self, blocks: &NewBlocks, progress: &mut Progress<'_>) -> Result<()>;

    /// Adds `count` globals with `subscripts` each, in bulk, numbered on from those there are.
    ///
    /// # Errors
    /// [`Error::Missing`](iolite_db::Error::Missing) without setup, [`Error::Layout`](iolite_db::Error::Layout), [`Error::NoSpace`](iolite_db::Error::NoSpace), [`Error::Cancelled`](iolite_db::Error::Cancelled). What is not whole is
    /// removed again, or is at least not among [`Adapter::sizes`] afterwards and replaced by the next call.
    fn add_globals(&self, count: u32, subscripts: u64, progress: &mut Progress<'_>) -> Result<()>;

    /// Removes all globals, and leaves the blocks to read.
    ///
    /// # Errors
    /// [`Error::Missing`](iolite_db::Error::Missing), [`Error::Engine`](iolite_db::Error::Engine).
    fn drop_globals(&self) -> Result<()>;

    /// Removes exactly what [`setup`](Adapter::setup) and [`add_globals`](Adapter::add_globals) have made, finished or
    /// not; nothing there is no error. No session may be open. (PerfTools' Purge; not named `drop`, which a boxed value
    /// takes for its destructor.)
    ///
    /// # Errors
    /// [`Error::Foreign`](iolite_db::Error::Foreign), before anything is removed, when something of that name was made by someone else.
    fn purge(&self) -> Result<()>;

    /// Size of the data files, without logs.
    ///
    /// # Errors
    /// [`Error::Missing`](iolite_db::Error::Missing) when there is no database.
    fn size(&self) -> Result<Bytes>;

    /// About what a global of so many subscripts takes, to compare with the free space.
    fn global_size(&self, subscripts: u64) -> Bytes;

    /// The most subscripts that a global may have.
    fn max_subscripts(&self) -> u64;

    /// Subscripts of each global as recorded when it was made, in order: quick.
    ///
    /// # Errors
    /// [`Error::Missing`](iolite_db::Error::Missing) when there is no database.
    fn sizes(&self) -> Result<Vec<u64>>;

    /// Subscripts of each global, counted one by one: slow.
    ///
    /// # Errors
    /// As [`Adapter::sizes`]; [`Error::Cancelled`](iolite_db::Error::Cancelled).
    fn count_subscripts(&self, progress: &mut Progress<'_>) -> Result<Vec<u64>>;

    /// Blocks that can be read by number.
    ///
    /// # Errors
    /// [`Error::Missing`](iolite_db::Error::Missing) when there is no database, [`Error::Incomplete`](iolite_db::Error::Incomplete), [`Error::Engine`](iolite_db::Error::Engine) when it can't be read.
    fn blocks(&self) -> Result<u64>;

    /// Brings everything committed from the log into the data files, and gives back what the operating system's page cache
    /// holds of them where that is possible, so that a following RanRead reads from the device.
    ///
    /// # Errors
    /// [`Error::Engine`](iolite_db::Error::Engine), among others when a session is in the middle of a transaction.
    fn settle(&self) -> Result<()>;

    /// Whether the server counts the reads of blocks among its reads of data files. Where it does not, its count says nothing
    /// of a RanRead.
    fn counts_block_reads(&self) -> bool;

    /// Opens the session of one worker, numbered from 0, on the worker's own thread, which keeps it.
    ///
    /// # Errors
    /// [`Error::Missing`](iolite_db::Error::Missing), [`Error::Incomplete`](iolite_db::Error::Incomplete), [`Error::Foreign`](iolite_db::Error::Foreign), [`Error::Engine`](iolite_db::Error::Engine); [`Error::Unsupported`](iolite_db::Error::Unsupported) where
    /// operations can't be done one by one from outside.
    fn session(&self, worker: u32) -> Result<Box<dyn Session>>;

    /// The same for a session that does whole batches within the database; `None` for a database in which nothing can be
    /// within.
    ///
    /// # Errors
    /// As [`Adapter::session`].
    fn within(&self, worker: u32) -> Result<Option<Box<dyn Within>>>;
}

/// One worker's connection, one operation per call, timed by the caller. Stays on the thread that opened it.
pub trait Session {
    /// Opens beforehand what block reads, or writes, will need: otherwise the first of them pay for it.
    ///
    /// # Errors
    /// As those operations; [`Error::NoGlobal`](iolite_db::Error::NoGlobal) where there is no global for this worker to write.
    fn prepare(&mut self, reads: bool, writes: bool) -> Result<()>;

    /// Reads the block of this number, from 0 up to [`Adapter::blocks`]; returns the bytes read.
    ///
    /// # Errors
    /// [`Error::NoBlock`](iolite_db::Error::NoBlock) beyond the last, [`Error::Engine`](iolite_db::Error::Engine) when it can't be read.
    fn read_block(&mut self, number: u64) -> Result<Bytes>;

    /// Starts a transaction.
    ///
    /// # Errors
    /// [`Error::NoGlobal`](iolite_db::Error::NoGlobal) when there is no global for this worker, [`Error::Engine`](iolite_db::Error::Engine).
    fn begin(&mut self) -> Result<()>;

    /// Sets a subscript (from 1) of this worker's global to a new value; returns the value's size.
    ///
    /// # Errors
    /// [`Error::NoSubscript`](iolite_db::Error::NoSubscript), [`Error::NoGlobal`](iolite_db::Error::NoGlobal), [`Error::Engine`](iolite_db::Error::Engine).
    fn write(&mut self, subscript: u64) -> Result<Bytes>;

    /// Commits; on return everything written is as durable as [`Settings::durability`] says.
    ///
    /// # Errors
    /// [`Error::Engine`](iolite_db::Error::Engine); the transaction is then rolled back.
    fn commit(&mut self) -> Result<()>;

    /// Subscripts in this worker's global; 0 when it has none and so can't write.
    fn subscripts(&self) -> u64;
}

/// One worker's connection that does many operations per call, within the database, where each is timed. Stays on the
/// thread that opened it.
pub trait Within {
    /// As [`Session::prepare`].
    ///
    /// # Errors
    /// As there.
    fn prepare(&mut self, reads: bool, writes: bool) -> Result<()>;

    /// As [`Session::subscripts`].
    fn subscripts(&self) -> u64;

    /// Does the batch's cycles in order, one right after the other, until all are done or its time is over, and appends to
    /// `done` what was done, in order. A cycle of sets is a transaction: its sets, then its commit.
    ///
    /// # Errors
    /// As the operations of [`Session`]. What was done before the error, as far as it is known, is in `done`.
    fn perform(&mut self, batch: &Batch, done: &mut Vec<Timed>) -> Result<()>;
}

/// Work for one call of [`Within::perform`]: about a tenth of a second's.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Batch {
    /// What to do, in this order.
    pub cycles: Vec<Cycle>,
    /// Time from the batch's beginning after which no read and no transaction is begun any more. A transaction begun is
    /// ended.
    pub limit: Nanos,
}

/// What is done without a pause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cycle {
    /// Reads of these blocks, one after the other; each may be the last where the time is over.
    Reads(Vec<u64>),
    /// One transaction that sets these subscripts of the worker's global, one after the other.
    Sets(Vec<u64>),
}

impl Cycle {
    /// Its blocks or subscripts.
    pub fn numbers(&self) -> &[u64] {
        match self {
            Cycle::Reads(numbers) | Cycle::Sets(numbers) => numbers,
        }
    }
}

/// One operation that was done within a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timed {
    /// [`OpKind::Read`], [`OpKind::Write`] or [`OpKind::Commit`].
    pub kind: OpKind,
    /// Its start on the database's clock, in nanoseconds since any instant that is the same for the whole batch. Where
    /// somebody sets that clock it may even go back: who reads it has to expect that.
    pub started: i64,
    /// Its end on the same clock.
    pub ended: i64,
    /// Bytes read, or the size of the value set; 0 for a commit.
    pub bytes: Bytes,
}
