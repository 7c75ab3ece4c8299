//! What can go wrong with the results database: what, where, the likely cause and what to do about it.

use std::io;
use std::path::{Path, PathBuf};

use iolite_model::{ErrorCause, ErrorOrigin, RunId};
use rusqlite::{ErrorCode, ffi};

/// Why the results database could not be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No place to keep results in could be derived from the environment.
    #[error(
        "no location for the results database: XDG_DATA_HOME is not set and HOME is not an existing directory; set one of them \
         or specify --results FILE"
    )]
    NoHome,
    /// The directory of the database could not be made.
    #[error(
        "cannot create the directory {path} for the results: {source}; specify another location with --results FILE"
    )]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The file exists and is no SQLite database.
    #[error("{path} is not a database and was not changed; specify another file with --results FILE")]
    NotADatabase {
        /// The file.
        path: PathBuf,
    },
    /// The file is empty, where a results database was to be read.
    #[error("{path} is empty and not a results database; specify another file with --results FILE")]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// A question in SQL would write.
    #[error("this statement would change the results: only queries (SELECT) are allowed")]
    Writes,
    /// The file is a SQLite database of some other program.
    #[error(
        "{path} is a database of another program (application id {found:#010x}, expected {expected:#010x}) and was not changed; \
         specify another file with --results FILE"
    )]
    NotIolite {
        /// The file.
        path: PathBuf,
        /// The application id it carries.
        found: i32,
        /// The application id of results databases.
        expected: i32,
    },
    /// A newer iolite wrote the database.
    #[error(
        "{path} was written by a newer version of iolite (schema version {found}, supported is {known}): use that version, or \
         specify another file with --results FILE"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The version of its schema.
        found: i64,
        /// The newest version this program knows.
        known: i64,
    },
    /// The database was written by an earlier version of the schema.
    #[error(
        "{path} was written by an earlier version of iolite (schema version {found}, supported is {known}) and was not changed; \
         rename it, or specify another file with --results FILE"
    )]
    Older {
        /// The database.
        path: PathBuf,
        /// Version in the file.
        found: i64,
        /// Version of this program.
        known: i64,
    },
    /// SQLite refused something.
    #[error("{doing} the results in {path} failed: {source}; {cause}")]
    Sql {
        /// What was being done, as a participle: `opening`, `storing`.
        doing: &'static str,
        /// The database.
        path: PathBuf,
        /// The likely cause.
        cause: ErrorCause,
        /// SQLite's answer.
        source: rusqlite::Error,
    },
    /// The file went away, or another took its name, while it was in use.
    #[error(
        "{path} was deleted or replaced while in use: results measured since then are lost; do not touch the file or its -wal \
         and -shm files while iolite is running"
    )]
    Deleted {
        /// The database.
        path: PathBuf,
    },
    /// The log beside the file was cut short, or another took its name, while it was in use.
    #[error(
        "{path} was cut short, deleted or replaced while in use: results that were only there are lost, and no more are stored; do not \
         touch the files beside a results database while iolite is running"
    )]
    LogLost {
        /// The log.
        path: PathBuf,
    },
    /// There is no such run.
    #[error(
        "{path} has no run {run}: see `iolite results list`, or specify another file with --results FILE"
    )]
    NoSuchRun {
        /// The database.
        path: PathBuf,
        /// The run asked for.
        run: RunId,
    },
    /// It is read without locks, because its directory can't be written to, and somebody has written to it meanwhile.
    #[error("{path} was changed by another program while it was read: try again")]
    Changed {
        /// The database.
        path: PathBuf,
    },
    /// A run can't be declared as ended while its process is there.
    #[error("run {run} is running on this host: stop it (kill -INT {process})")]
    RunsHere {
        /// The run.
        run: RunId,
        /// Number of the process.
        process: u32,
    },
    /// A run that has not ended can't be copied: what comes later would be lost.
    #[error(
        "run {run} is still running: wait until it ends, or stop it, and try again; if it was killed on another host or in a \
         container, mark it as interrupted: iolite results end {run}"
    )]
    Running {
        /// The run.
        run: RunId,
    },
    /// No run has such a name.
    #[error("no run `{name}` in {path}: see `iolite results list`")]
    NoMatch {
        /// The database.
        path: PathBuf,
        /// As the user named it.
        name: String,
    },
    /// Several runs have ids that begin so.
    #[error("`{name}` matches several runs ({}, ...): specify more of the id, or `latest`", .runs.join(", "))]
    Ambiguous {
        /// As the user named it.
        name: String,
        /// Some of the runs.
        runs: Vec<String>,
    },
    /// A stored value is not one that this program writes.
    #[error(
        "{path}: cannot read {what} ({reason}): the row was changed manually or by a newer version of iolite"
    )]
    Unreadable {
        /// The database.
        path: PathBuf,
        /// Which value.
        what: &'static str,
        /// Why not.
        reason: String,
    },
    /// An event came before the one it depends on.
    #[error("cannot store {event} before {missing}; this is a bug, please report it")]
    OutOfOrder {
        /// The event.
        event: &'static str,
        /// What has to come first.
        missing: &'static str,
    },
    /// A value could not be written as JSON.
    #[error("cannot store {what}: {source}; the likely cause is a path that is not valid UTF-8")]
    Json {
        /// Which value.
        what: &'static str,
        /// The reason.
        source: serde_json::Error,
    },
    /// The thread that stores could not be started.
    #[error("the thread that stores results could not be started: {source}{}", ErrorCause::advice(.source, ErrorOrigin::Thread))]
    Thread {
        /// The system's answer.
        source: io::Error,
    },
    /// The thread that stores ended by a panic.
    #[error("the thread that stores results has ended unexpectedly; this is a bug, please report it")]
    WriterDied,
}

impl Error {
    /// An error of SQLite while `doing` something to the database at `path`.
    pub(crate) fn sql(doing: &'static str, path: &Path, source: rusqlite::Error) -> Error {
        let path = path.to_owned();
        if matches!(source, rusqlite::Error::SqlInputError { .. }) {
            return Error::Sql { doing, path, cause: ErrorCause::ResultsQuery, source };
        }
        match source.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => Error::NotADatabase { path },
            // For its -shm file SQLite has no error of its own that says so.
            Some(ErrorCode::SystemIoFailure) if is_full(&path) => {
                Error::Sql { doing, path, cause: ErrorCause::ResultsFull, source }
            }
            Some(ErrorCode::SystemIoFailure) if is_of_index(&source) => {
                Error::Sql { doing, path, cause: ErrorCause::ResultsIndex, source }
            }
            code => Error::Sql { doing, path, cause: cause(code), source },
        }
    }

    /// Whether a transfer failed, or the memory that SQLite shares with others beside the database.
    pub(crate) fn is_of_input_or_output(&self) -> bool {
        matches!(self, Error::Sql { source, .. } if source.sqlite_error_code() == Some(ErrorCode::SystemIoFailure))
    }

    /// Whether a row is there already.
    pub(crate) fn is_contradiction(&self) -> bool {
        matches!(self, Error::Sql { cause: ErrorCause::ResultsContradiction, .. })
    }

    /// Whether SQLite could not open a file.
    pub(crate) fn is_cannot_open(&self) -> bool {
        matches!(self, Error::Sql { source, .. } if source.sqlite_error_code() == Some(ErrorCode::CannotOpen))
    }
}

/// Whether SQLite could not use the index of its log, which all users of a database map from its -shm file.
fn is_of_index(source: &rusqlite::Error) -> bool {
    source.sqlite_error().is_some_and(|error| error.extended_code == ffi::SQLITE_IOERR_SHMMAP)
}

/// Whether the file system of a database has too little space for SQLite's -shm file.
fn is_full(path: &Path) -> bool {
    /// What that file grows by.
    const SHARED: u64 = 32 << 10;
    let directory = path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
    let space = rustix::fs::statvfs(directory);
    space.is_ok_and(|space| space.f_bavail.saturating_mul(space.f_frsize) < SHARED)
}

/// What SQLite's answer comes from.
fn cause(code: Option<ErrorCode>) -> ErrorCause {
    match code {
        Some(ErrorCode::DiskFull) => ErrorCause::ResultsFull,
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => ErrorCause::ResultsNotWritable,
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => ErrorCause::ResultsLocked,
        Some(ErrorCode::CannotOpen) => ErrorCause::ResultsUnopened,
        Some(ErrorCode::SystemIoFailure) => ErrorCause::ResultsStorage,
        Some(ErrorCode::DatabaseCorrupt) => ErrorCause::ResultsDamaged,
        Some(ErrorCode::ConstraintViolation) => ErrorCause::ResultsContradiction,
        _ => ErrorCause::ResultsOther,
    }
}
