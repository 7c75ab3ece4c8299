//! RanRead, RanWrite and RanIO in GT.M (and YottaDB, which grew out of it): the globals of the PerfTools, in the language they
//! come from.
//!
//! One global directory with two regions, hence two database files, of 8 KiB blocks (those to read may have another size), both opened with O_DIRECT
//! (asynchronous I/O). `READ` holds the blocks to read: each a node of `^RanReadBlock` that fills a block of its own, so
//! that reading the node of a random number reads its block; the blocks of the index stay in the global buffers, which are
//! few beside the blocks. `DEFAULT` holds the globals to write and has a journal with before-images. A commit returns when
//! its journal records are on stable storage (write and fdatasync); relaxed durability marks transactions as batch, which
//! don't wait for that. Nothing is timed from outside: a `mumps` process per worker runs our routine (`iolite.m`) within the
//! database, gets a batch per line and answers with what each operation took.

mod bulk;
mod commits;
mod counters;
mod files;
mod journal;
mod session;
mod setup;
mod wire;

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use iolite_model::{Bytes, Durability, ErrorCause, Physical};

use iolite_db::gtm::{ENGINE, Installation, Process, engine, process};
use iolite_db::{Error, Files, Instance, Result};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

pub use commits::GtmCommits;

use super::contract::{Adapter, Description, NewBlocks, Progress, Session, Settings, Within};
use files::Catalogue;

/// Size of a block of the globals, and of one to read where no other is asked for: as the databases of PerfTools have it.
const BLOCK: u64 = 8192;
/// Files over which a name and GT.M's own additions to it go would be refused by GT.M, whose limit is 255.
const LONGEST_PATH: usize = 200;
/// How long another process of this program may be busy opening, closing or recovering the database, and how often to look.
const ALONE: Duration = Duration::from_secs(300);
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// Where our routine takes commands.
const ENTRY: &str = "serve^iolite";

/// RanRead, RanWrite and RanIO in a GT.M database in a directory of its own.
#[derive(Debug)]
pub struct RanGtm(Arc<Gtm>);

/// The database: its layout is this workload's, and so are its files and the routine that reads its counters.
#[derive(Debug)]
struct Gtm {
    directory: PathBuf,
    settings: Settings,
    installation: Installation,
    /// The process that is asked for counters: it stays, for it is asked several times a second.
    keeper: Mutex<Option<Process>>,
    /// Whether what dead processes may have left behind has been looked for. Sessions take that back when theirs dies.
    ready: Arc<AtomicBool>,
    /// Held while that is done.
    readying: Mutex<()>,
}

impl RanGtm {
    /// The database in `directory`, which must exist before [`Adapter::setup`]. Opens nothing yet.
    ///
    /// # Errors
    /// [`Error::Engine`] when GT.M is not installed.
    pub fn new(directory: PathBuf, settings: Settings) -> Result<RanGtm> {
        Gtm::new(directory, settings).map(|gtm| RanGtm(Arc::new(gtm)))
    }
}

impl Gtm {
    fn new(directory: PathBuf, settings: Settings) -> Result<Gtm> {
        let installation = Installation::find()?;
        // Every process of GT.M's works in it.
        let directory = std::path::absolute(&directory).unwrap_or(directory);
        Ok(Gtm {
            directory,
            settings,
            installation,
            keeper: Mutex::default(),
            ready: Arc::default(),
            readying: Mutex::default(),
        })
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// What is there, when setup has ended.
    fn catalogue(&self) -> Result<Catalogue> {
        let place = || self.directory.display().to_string();
        let catalogue = Catalogue::read(&self.directory)?.ok_or_else(|| Error::Missing { place: place() })?;
        match catalogue.blocks {
            Some(_) => Ok(catalogue),
            None => Err(Error::Incomplete { path: self.directory.clone() }),
        }
    }

    fn keeper(&self) -> MutexGuard<'_, Option<Process>> {
        self.keeper.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the process that is asked for counters. A database that nobody else has open is then closed.
    fn release(&self) {
        drop(self.keeper().take());
    }

    /// Waits until no other process of this program opens, closes or recovers this database, and lets none begin until the file
    /// is dropped: GT.M's administration fails where two do so at once (CRITSEMFAIL).
    fn alone(&self) -> Result<fs::File> {
        let path = self.file(files::CATALOGUE);
        let failed = |e| Error::io("lock", &path, e);
        let file = fs::File::open(&path).map_err(failed)?;
        let until = Instant::now() + ALONE;
        while let Err(error) = flock(&file, FlockOperation::NonBlockingLockExclusive) {
            if error != Errno::WOULDBLOCK {
                return Err(failed(error.into()));
            }
            if Instant::now() > until {
                return Err(Error::Busy { what: format!("the database in {}", self.directory.display()) });
            }
            std::thread::sleep(LOOK_AGAIN);
        }
        Ok(file)
    }

    /// A process, after what dead ones may have left behind has been seen to.
    fn process(&self) -> Result<Process> {
        if self.ready.load(Ordering::Relaxed) {
            return Process::start(&self.installation, &self.directory, ENTRY);
        }
        let _alone = self.alone()?;
        self.process_alone()
    }

    /// The same for who holds [`Gtm::alone`].
    fn process_alone(&self) -> Result<Process> {
        let guard = self.readying.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.ready.load(Ordering::Relaxed) {
            setup::write_routine(&self.directory)?;
            journal::recover(self)?;
            self.ready.store(true, Ordering::Relaxed);
        }
        drop(guard);
        Process::start(&self.installation, &self.directory, ENTRY)
    }

    fn mupip(&self, arguments: &[&str]) -> Result<process::Reply> {
        process::mupip(&self.installation, &self.directory, arguments, None)
    }

    /// The same, where nothing but success will do.
    fn administer(&self, doing: &'static str, arguments: &[&str]) -> Result<String> {
        self.mupip(arguments)?
            .map_err(|cause| engine(doing, &self.directory, cause.into(), ErrorCause::GtmInUse))
    }
}

impl Instance for Gtm {
    fn describe(&self, durability: Durability) -> Result<iolite_db::Description> {
        let catalogue = self.catalogue()?;
        Ok(iolite_db::Description {
            engine: self.installation.product().to_owned(),
            version: self.installation.check()?,
            namespace: "DEFAULT".to_owned(),
            block: Bytes(catalogue.block),
            durability: durable_by(durability).to_owned(),
            settings: self.described_settings(&catalogue),
        })
    }

    fn files(&self) -> Result<Files> {
        let log = Some(self.file(files::JOURNAL));
        // Its processes are children of this program.
        let process = Some(std::process::id());
        Ok(Files { here: true, data: Some(self.directory.clone()), log, unseen: None, process })
    }

    fn settle(&self) -> Result<()> {
        let catalogue = self.catalogue()?;
        let _alone = self.alone()?;
        self.release();
        // The last process to leave a database writes out all of it.
        let mut process = self.process_alone()?;
        process.ask("write out the buffers of", "flush")?;
        let journaled = process.ask("look for the journal of", "journal")?;
        drop(process);
        if journaled != journal::ON {
            // GT.M gives it up where the disk is full.
            journal::on(self)?;
        }
        journal::prepare(self, &catalogue)?;
        if !catalogue.direct {
            for name in [files::READ, files::WRITE] {
                let path = self.file(name);
                fs::File::open(&path)
                    .and_then(|file| iolite_sys::page_cache::evict(&file, 0, file.metadata()?.len()))
                    .map_err(|e| Error::io("empty the page cache of", &path, e))?;
            }
        }
        Ok(())
    }

    fn counters(&self) -> Result<Physical> {
        let mut keeper = self.keeper();
        let process = match keeper.as_mut() {
            Some(process) => process,
            None => {
                self.catalogue()?;
                keeper.insert(self.process()?)
            }
        };
        let counted = process.ask("ask for the counters of", "counters");
        if counted.is_err() {
            *keeper = None;
        }
        let block = self.catalogue()?.block;
        counters::physical(&counted?, [block, BLOCK]).ok_or_else(|| Error::Unexpected {
            doing: "read the counters of",
            place: self.directory.display().to_string(),
            cause: "$VIEW(\"GVSTAT\") did not respond as in the versions known".into(),
        })
    }
}

impl Adapter for RanGtm {
    fn instance(&self) -> Arc<dyn Instance> {
        self.0.clone()
    }

    fn describe(&self) -> Result<Description> {
        let catalogue = self.0.catalogue()?;
        let (direct, blocks) = (catalogue.direct, catalogue.blocks.unwrap_or(0));
        let how = if direct { "past the page cache (O_DIRECT)" } else { "through the page cache" };
        Ok(Description {
            instance: self.0.describe(self.0.settings.durability)?,
            read_path: format!(
                "node of ^RanReadBlock, each in a block of its own, through {} global buffers, {how}",
                setup::read_buffers(blocks)
            ),
            write_path:
                "SET ^RanWriteGlobalN(subscript) within TSTART SERIAL and TCOMMIT, by our routine within the \
                         database; a worker's global is read into the buffers when its session is prepared"
                    .to_owned(),
            direct,
        })
    }

    fn counts_block_reads(&self) -> bool {
        true
    }

    fn create_blocks(&self, blocks: &NewBlocks, progress: &mut Progress<'_>) -> Result<()> {
        setup::setup(&self.0, blocks, progress)
    }

    fn add_globals(&self, count: u32, subscripts: u64, progress: &mut Progress<'_>) -> Result<()> {
        setup::add_globals(&self.0, count, subscripts, progress)
    }

    fn drop_globals(&self) -> Result<()> {
        setup::drop_globals(&self.0)
    }

    fn purge(&self) -> Result<()> {
        setup::purge(&self.0)
    }

    fn size(&self) -> Result<Bytes> {
        self.0.catalogue()?;
        let mut total = 0;
        for name in [files::READ, files::WRITE] {
            let path = self.0.file(name);
            let meta = fs::metadata(&path).map_err(|e| Error::io("examine", &path, e))?;
            total += meta.len();
        }
        Ok(Bytes(total))
    }

    fn global_size(&self, subscripts: u64) -> Bytes {
        files::global_size(subscripts)
    }

    fn max_subscripts(&self) -> u64 {
        setup::MAX_SUBSCRIPTS
    }

    fn sizes(&self) -> Result<Vec<u64>> {
        Ok(self.0.catalogue()?.globals)
    }

    fn count_subscripts(&self, progress: &mut Progress<'_>) -> Result<Vec<u64>> {
        bulk::count(&self.0, &self.0.catalogue()?, progress)
    }

    fn blocks(&self) -> Result<u64> {
        let catalogue = self.0.catalogue()?;
        let path = self.0.file(files::READ);
        // The catalogue lists it.
        let lost = Some(ErrorCause::ContentsChanged);
        fs::metadata(&path).map_err(|source| Error::Io {
            doing: "examine",
            path: path.clone(),
            source,
            likely: lost,
        })?;
        Ok(catalogue.blocks.unwrap_or(0))
    }

    fn settle(&self) -> Result<()> {
        Instance::settle(self.0.as_ref())
    }

    fn session(&self, _worker: u32) -> Result<Box<dyn Session>> {
        Err(Error::Unsupported {
            database: ENGINE,
            what: "have its operations timed by the client",
            remedy: ErrorCause::GtmTimedWithin,
        })
    }

    fn within(&self, worker: u32) -> Result<Option<Box<dyn Within>>> {
        let catalogue = self.0.catalogue()?;
        let process = self.0.process()?;
        Ok(Some(Box::new(session::GtmSession::open(&self.0, process, &catalogue, worker)?)))
    }
}

impl Gtm {
    fn described_settings(&self, catalogue: &Catalogue) -> Vec<(String, String)> {
        let setting = |name: &str, value: String| (name.to_owned(), value);
        let files = format!("{} (blocks to read), {} (globals)", files::READ, files::WRITE);
        vec![
            setting("access method", "BG".to_owned()),
            setting("block size", format!("{} (blocks to read), {BLOCK} (globals)", catalogue.block)),
            setting("bytes left free in blocks of globals", setup::RESERVED.to_string()),
            setting("asynchronous I/O", if catalogue.direct { "on" } else { "off" }.to_owned()),
            setting(
                "global buffers for blocks",
                setup::read_buffers(catalogue.blocks.unwrap_or(0)).to_string(),
            ),
            setting("global buffers for globals", setup::write_buffers(&catalogue.globals).to_string()),
            setting("journal", journal::OPTIONS.to_owned()),
            setting("journal prepared", format!("up to {}", Bytes(journal::ahead(&catalogue.globals)))),
            setting("files", files),
        ]
    }
}

fn durable_by(durability: Durability) -> &'static str {
    match durability {
        Durability::Full | Durability::AsConfigured => {
            "before-image journal; TCOMMIT waits for its write and fdatasync (GT.M's default)"
        }
        Durability::Relaxed => {
            "before-image journal that is synced within about a second; TCOMMIT does not wait (TRANSACTIONID BATCH)"
        }
    }
}
