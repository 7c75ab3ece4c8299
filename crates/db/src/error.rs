//! Why operations on a database fail.

use std::path::{Path, PathBuf};

use iolite_model::{Bytes, ErrorCause, ErrorOrigin};

/// Result of an operation on a database.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a database operation failed: what, where, likely cause, remedy.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Something to be created is there already.
    #[error("{path} already exists and was not changed; purge it, or specify another directory or database")]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// There is no database.
    #[error("there is no database in {place}: create it with setup")]
    Missing {
        /// Where it was looked for.
        place: String,
    },
    /// Creation did not end.
    #[error(
        "{path} is incomplete, because its creation was interrupted; purge the database and create it again"
    )]
    Incomplete {
        /// The file.
        path: PathBuf,
    },
    /// A file has the right name and the wrong contents.
    #[error(
        "{path} was not created by iolite and was not changed; remove it, or specify another directory or database"
    )]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// Something with the name of a copy that nothing shows to be ours.
    #[error(
        "{what} has no mark that iolite created it, and was not changed; if it is a copy that was interrupted, or nobody needs it, remove \
         it yourself: {remove}"
    )]
    Unmarked {
        /// What it is.
        what: String,
        /// The command that removes it.
        remove: String,
    },
    /// The layout is invalid.
    #[error(
        "the database cannot have {what}; specify at least one global with one subscript, and fewer than {limit}"
    )]
    Layout {
        /// What is wrong.
        what: String,
        /// The limit that was passed.
        limit: u64,
    },
    /// Blocks can't have that size.
    #[error("{database} has no blocks of {asked} to read: {why}")]
    BlockSize {
        /// The kind of database.
        database: &'static str,
        /// What was asked for.
        asked: Bytes,
        /// Which sizes are possible, and how to get them.
        why: String,
    },
    /// There are globals already.
    #[error(
        "{place} already has {globals} globals, nothing was changed; add more with add-globals, or replace them with \
         create-globals --replace"
    )]
    Globals {
        /// The database.
        place: String,
        /// Globals there are.
        globals: u32,
    },
    /// A global is not there, or not whole.
    #[error("{global} is missing in {place}: create the globals again (create-globals --replace)")]
    GlobalMissing {
        /// Its name.
        global: String,
        /// The database.
        place: String,
    },
    /// The database's version is one that can't do what is needed.
    #[error("{place} runs {found}, but {needed} or later is required: {likely}")]
    TooOld {
        /// The server or installation.
        place: String,
        /// What was found.
        found: String,
        /// The oldest that will do.
        needed: &'static str,
        /// The cause, for what may help.
        likely: ErrorCause,
    },
    /// The URL or its options make no sense.
    #[error("{0}")]
    Url(String),
    /// An option of the command has a value that is not possible, or not with this database.
    #[error("{option} {value}: {why}")]
    Option {
        /// The option, as it is typed.
        option: &'static str,
        /// Its value.
        value: u32,
        /// Why not, and which values are possible.
        why: String,
    },
    /// What was asked for is not possible with this database.
    #[error("{database} cannot {what}: {remedy}")]
    Unsupported {
        /// The kind of database.
        database: &'static str,
        /// What was asked for.
        what: &'static str,
        /// Why not, for what to do instead.
        remedy: ErrorCause,
    },
    /// Too little space.
    #[error(
        "{path} has {free} free, but the database needs {needed}: free some space, or create a smaller database"
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
    #[error("cancelled while the database was being created: remove the incomplete database with purge")]
    Cancelled,
    /// More writers than globals.
    #[error(
        "worker {worker} has no global to write to, there are only {globals}: use fewer workers or create more globals"
    )]
    NoGlobal {
        /// The worker, from 0.
        worker: u32,
        /// Globals there are.
        globals: u32,
    },
    /// More jobs that write than globals to write to.
    #[error(
        "{jobs} jobs need {jobs} globals, one each, but there are only {globals}: use fewer jobs, or create more globals \
         (create-globals, add-globals)"
    )]
    FewGlobals {
        /// Jobs asked for.
        jobs: u32,
        /// Globals there are.
        globals: u32,
    },
    /// Somebody else is at it.
    #[error("{what} is in use by another run or command: wait until it ends, or stop it (stop)")]
    Busy {
        /// What is in use.
        what: String,
    },
    /// A subscript that does not exist.
    #[error("subscript {subscript} is not in {path}, which has subscripts 1 to {subscripts}")]
    NoSubscript {
        /// The subscript.
        subscript: u64,
        /// Subscripts there are.
        subscripts: u64,
        /// The global's file or name.
        path: PathBuf,
    },
    /// A block that does not exist.
    #[error("block {number} is out of range: the database has {blocks} blocks")]
    NoBlock {
        /// The block.
        number: u64,
        /// Blocks there are.
        blocks: u64,
    },
    /// The operating system refused.
    #[error("could not {doing} {path}: {source}{}", ErrorCause::appended(.likely))]
    Io {
        /// What was being done.
        doing: &'static str,
        /// To what.
        path: PathBuf,
        /// The answer.
        source: std::io::Error,
        /// The likely cause, where the answer does not say all there is.
        likely: Option<ErrorCause>,
    },
    /// The database refused.
    #[error("could not {doing} {place}: {cause}; {likely}")]
    Engine {
        /// What was being done.
        doing: &'static str,
        /// To which file or server.
        place: String,
        /// The database's answer.
        cause: Box<dyn std::error::Error + Send + Sync>,
        /// What that most likely comes from.
        likely: ErrorCause,
    },
    /// What a version that iolite knows does not do, or a defect of iolite.
    #[error("could not {doing} {place}: {cause}; please report this, with the version of the database")]
    Unexpected {
        /// What was being done.
        doing: &'static str,
        /// To which file or server.
        place: String,
        /// What was not expected.
        cause: String,
    },
    /// This binary, or this host, lacks something.
    #[error("cannot {what}: {remedy}")]
    Build {
        /// What it can't do.
        what: &'static str,
        /// What is missing, for how to get it.
        remedy: ErrorCause,
    },
}

impl Error {
    /// A refusal of the operating system, for a path.
    pub fn io(doing: &'static str, path: &Path, source: std::io::Error) -> Error {
        let likely = ErrorCause::of(&source, ErrorOrigin::Path(path));
        Error::Io { doing, path: path.to_owned(), source, likely }
    }

    /// A thread that could not be started.
    pub fn thread(source: std::io::Error) -> Error {
        Error::engine("start a thread for", "this database", source, ErrorCause::Threads)
    }

    /// Something that failed at `place` for a cause that is known.
    pub fn engine(
        doing: &'static str,
        place: impl std::fmt::Display,
        cause: impl Into<Box<dyn std::error::Error + Send + Sync>>,
        likely: ErrorCause,
    ) -> Error {
        Error::Engine { doing, place: place.to_string(), cause: cause.into(), likely }
    }
}
