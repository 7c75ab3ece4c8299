//! Why a run can't begin or go on.

use std::io;
use std::path::PathBuf;

use iolite_durability::Error as DurabilityError;
use iolite_engine::EngineError;
use iolite_model::{Bytes, ErrorCause, Nanos, PtsPurge};
use iolite_observe::{IoSchedulerError, ReadAheadError, WriteCacheError};
use iolite_oltp::OltpError;

/// What may fail with an [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a run can't begin or go on. Each says what, where, the likely cause and the remedy; what another crate says is passed on as it
/// is, and is the [source](std::error::Error::source).
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The engine refuses a task, or could not run it. The user's interruption is one of its errors.
    #[error("{0}")]
    Engine(#[from] EngineError),
    /// The database refuses, does not respond, or is not there.
    #[error("{0}")]
    Database(#[from] iolite_db::Error),
    /// A workload inside a database could not run.
    #[error("{0}")]
    Workload(#[from] OltpError),
    /// The storage can't be examined.
    #[error("{0}")]
    Storage(#[from] iolite_observe::Error),
    /// Acknowledged writes can't be made or compared.
    #[error("{0}")]
    Durability(#[from] DurabilityError),
    /// A device has no such I/O scheduler, or refuses it.
    #[error("{0}")]
    Scheduler(#[from] IoSchedulerError),
    /// The read-ahead of a device can't be set.
    #[error("{0}")]
    ReadAhead(#[from] ReadAheadError),
    /// The write cache of a drive could not be restored.
    #[error("{source}; restore it manually: {command}")]
    WriteCache {
        /// What to type.
        command: String,
        /// What the drive or the kernel said.
        source: WriteCacheError,
    },
    /// A control group can't be created.
    #[error("cgroup {name}")]
    ControlGroup {
        /// Its name.
        name: String,
        /// Why not, and what to do.
        source: io::Error,
    },
    /// A file can't be read into the page cache before a job.
    #[error("cannot read {} into the page cache", path.display())]
    PreRead {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A file can't be dropped from the page cache.
    #[error("what the page cache holds of {} cannot be dropped", path.display())]
    Cached {
        /// The file or device.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A drive can't be purged.
    #[error(
        "cannot purge {} by {}; specify another --purge, or `none` and erase it with its own command before",
        target.display(), purge.name()
    )]
    Purge {
        /// The device.
        target: PathBuf,
        /// The way.
        purge: PtsPurge,
        /// Why not.
        source: PurgeError,
    },
    /// A task inside a database without the database that it is for.
    #[error("there is no database to run {task} on: specify its URL with --db, or as the target of the job")]
    NoDatabase {
        /// The task.
        task: String,
    },
    /// A database hangs.
    #[error(
        "the database has not responded in {waited}: another service uses this port, or the server hangs; check host and port of the \
         URL, and the server's log"
    )]
    NoResponse {
        /// How long it was waited for.
        waited: Nanos,
    },
    /// A database whose sessions were sampled went away.
    #[error("{url} has stopped responding: check that the server still runs, and its log")]
    StoppedResponding {
        /// Its URL, without a password.
        url: String,
    },
    /// The sampling of a database's sessions has ended early.
    #[error("{reason}")]
    Sampling {
        /// What the database said.
        reason: String,
    },
    /// The run's own database can't be created.
    #[error("the database cannot be created: {reason}")]
    NotCreated {
        /// Why not.
        reason: String,
    },
    /// A checkpoint takes longer than the run has time.
    #[error("the checkpoint before it exceeded the time budget; use a larger --budget-time")]
    LateCheckpoint,
    /// No thread can be started for what must not hold up the user, or for the counters of a database.
    #[error("a thread cannot be started: {}", ErrorCause::Threads)]
    NoThread,
    /// Nothing may be written any more.
    #[error("--max-write {max}: nothing of it is left for what comes next; allow more")]
    AllowanceSpent {
        /// What was allowed.
        max: Bytes,
    },
    /// Less may be written than the next tasks need.
    #[error(
        "--max-write {max}: only {left} remain, too little for the next tasks; increase --max-write, or write less before them"
    )]
    AllowanceShort {
        /// What was allowed.
        max: Bytes,
        /// What is left of it.
        left: Bytes,
    },
    /// The procedure can't go on.
    #[error("{reason}")]
    Procedure {
        /// Why not.
        reason: String,
    },
    /// A task of a set has failed.
    #[error("`{task}`: {reason}")]
    Task {
        /// Its name.
        task: String,
        /// How its phase ended.
        reason: String,
    },
    /// A thread of this program has died, or was used twice.
    #[error("{what}, which is a bug")]
    Bug {
        /// What has happened.
        what: &'static str,
    },
}

/// Why a command of a drive did not purge it.
#[derive(Debug, thiserror::Error)]
pub enum PurgeError {
    /// The device can't be opened.
    #[error("{0}")]
    Open(#[from] EngineError),
    /// The drive or the kernel has refused the command.
    #[error("{0}")]
    Command(#[from] io::Error),
    /// What is not the drive itself has no such command.
    #[error("{} is not an NVMe drive itself: only these have this command", target.display())]
    NotADrive {
        /// The target.
        target: PathBuf,
    },
    /// A discard is a phase of trims.
    #[error("a discard is no command of the drive")]
    Discard,
}
