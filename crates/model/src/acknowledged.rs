//! Acknowledged writes, and what became of them: what a durability test is to do, and what its check finds.

use serde::{Deserialize, Serialize};

use crate::parse::ParseError;
use crate::units::{Bytes, Nanos};

/// Names a run in every block that it writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct RunKey(pub [u8; 16]);

impl From<RunKey> for String {
    fn from(key: RunKey) -> String {
        key.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl TryFrom<String> for RunKey {
    type Error = ParseError;

    fn try_from(text: String) -> Result<RunKey, ParseError> {
        let wrong = || ParseError::new(&text, "key of a run", "write 32 hexadecimal digits");
        let mut key = [0; 16];
        if text.len() != 32 || !text.is_ascii() {
            return Err(wrong());
        }
        for (at, byte) in key.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).map_err(|_| wrong())?;
        }
        Ok(RunKey(key))
    }
}

/// How a write is made durable before it counts as acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Method {
    /// Written to the end of a file that grows, then fdatasync(2): a log such as etcd's.
    Append,
    /// Written over an older block, then fdatasync(2): a log whose files are recycled, such as PostgreSQL's or InnoDB's.
    Overwrite,
    /// Written over an older block of a file opened with O_DSYNC: nothing to synchronise afterwards.
    Dsync,
    /// Written to a new file, fsync(2), renamed over the old one, fsync(2) of the directory: configuration, SSTables.
    Rename,
    /// A transaction that inserts a row, committed, in a database as it is configured.
    Commit,
}

impl Method {
    /// All that write files.
    pub const FILES: [Method; 4] = [Method::Append, Method::Overwrite, Method::Dsync, Method::Rename];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Whether a block replaces an older one in its place.
    pub fn replaces(self) -> bool {
        matches!(self, Method::Overwrite | Method::Dsync | Method::Rename)
    }
}

impl std::str::FromStr for Method {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Method, ParseError> {
        let method = Method::FILES.into_iter().find(|method| method.name() == text);
        method.ok_or_else(|| ParseError::new(text, "method", "write append, overwrite, dsync or rename"))
    }
}

/// What a run does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Names the run.
    pub run: RunKey,
    /// How writes are made durable.
    pub method: Method,
    /// Size of each write.
    pub block: Bytes,
    /// Workers, each with files of its own.
    pub workers: u32,
    /// Places that a worker's writes take turns in, where they replace older ones.
    pub slots: u64,
    /// Where its own directory is, or the database without its password.
    pub place: String,
}

/// What became of a run that was ended by its user or a limit, not by a crash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Writes that were acknowledged, and noted by the witness.
    pub acknowledged: u64,
    /// Time from the first to the last.
    #[serde(rename = "elapsed_ns")]
    pub elapsed: Nanos,
    /// Why it ended before its time, where a limit was met.
    pub limit: Option<String>,
}

/// How an acknowledged write is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LossKind {
    /// There is no file, no row, or the file ends before it.
    Missing,
    /// Zeros are in its place.
    Zeros,
    /// An older write is in its place.
    Stale,
    /// It is there in part.
    Torn,
    /// Another write of this run is in its place.
    Misplaced,
    /// Something that this run did not write is in its place.
    Foreign,
    /// Its place can't be read.
    Unreadable,
}

impl LossKind {
    /// In words.
    pub fn meaning(self) -> &'static str {
        match self {
            LossKind::Missing => "missing: no such file or row, or the file ends before it",
            LossKind::Zeros => "zeros in its place",
            LossKind::Stale => "an older write in its place",
            LossKind::Torn => "there in part",
            LossKind::Misplaced => "another write of this run in its place",
            LossKind::Foreign => "something else in its place",
            LossKind::Unreadable => "its place cannot be read",
        }
    }
}

/// An acknowledged write that is not there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loss {
    /// Its worker.
    pub worker: u32,
    /// Its number.
    pub number: u64,
    /// How it is missing.
    pub kind: LossKind,
    /// Where: file and offset, or table, as text to print.
    pub place: String,
}

/// What a check has found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Findings {
    /// What was done.
    pub plan: Plan,
    /// Whether the run came to its end before the crash, if there was one.
    pub ended: bool,
    /// Writes that were acknowledged.
    pub acknowledged: u64,
    /// Those whose place still had to hold them: the others had been replaced by later ones.
    pub judged: u64,
    /// Those that are not there.
    pub lost: u64,
    /// The first of them.
    pub losses: Vec<Loss>,
    /// Writes in progress at the crash that are there in part, in the place of an older, acknowledged one: no broken promise, but
    /// the storage does not write blocks of this size in one piece.
    pub torn_in_progress: u64,
}
