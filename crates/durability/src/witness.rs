//! The witness's notes: a line for the plan, and a line for each acknowledgment, in a file here or on another host.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use iolite_model::acknowledged::Plan;
use iolite_model::errno::ETIMEDOUT;
use iolite_model::{ErrorCause, ErrorOrigin};

use crate::error::{Error, Result};
use crate::error::{found, io as failed};
use crate::record::Identity;

/// First line of the notes.
pub(crate) const HEADING: &str = "iolite-witness 1";
/// What a witness answers to who has another token, instead of its heading.
pub(crate) const REFUSED: &str = "no";
/// What it answers while it takes notes of a run.
pub(crate) const BUSY: &str = "busy";
/// The longest line with which a run and a witness introduce themselves, in bytes.
pub(crate) const LONGEST: usize = 512;
/// How long another host may take to answer, or to receive a note.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often a file here is made durable: what is noted later than that may be lost with this host, and is not missed.
const SYNC_EVERY: Duration = Duration::from_millis(500);

/// Takes notes of what was acknowledged. Workers share it; a note that returns has left this process.
#[derive(Debug)]
pub struct Witness {
    place: String,
    notes: Mutex<Notes>,
}

#[derive(Debug)]
struct Notes {
    to: Recipient,
    /// Why nothing is noted any more, after a note that failed: what follows half a line would be no notes.
    broken: Option<Broken>,
}

/// Why notes are at their end.
#[derive(Debug, Clone, Copy)]
enum Broken {
    /// They are discarded, or the thread that was writing one has panicked.
    Ended,
    /// The system's error, by its number.
    Failed(i32),
}

impl Broken {
    fn of(error: &io::Error) -> Broken {
        error.raw_os_error().map_or(Broken::Ended, Broken::Failed)
    }

    fn error(self) -> io::Error {
        match self {
            Broken::Ended => io::Error::other("an earlier note could not be written"),
            Broken::Failed(number) => io::Error::from_raw_os_error(number),
        }
    }
}

#[derive(Debug)]
enum Recipient {
    Here { file: File, path: PathBuf, synced: Instant },
    Elsewhere(TcpStream),
}

/// A timeout of this program's own (SO_SNDTIMEO, SO_RCVTIMEO) is EAGAIN, which reads as if one should try again: it is the same as the kernel's.
fn timed_out(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::WouldBlock => io::Error::from_raw_os_error(ETIMEDOUT),
        _ => error,
    }
}

impl Recipient {
    /// Writes a note whole, or as good as not at all.
    fn write(&mut self, text: &str, durably: bool) -> io::Result<()> {
        let (file, synced) = match self {
            Recipient::Elsewhere(stream) => return stream.write_all(text.as_bytes()).map_err(timed_out),
            Recipient::Here { file, synced, .. } => (file, synced),
        };
        let whole = file.stream_position()?;
        if let Err(error) = file.write_all(text.as_bytes()) {
            // Half a line is left where that fails, too, and is not read.
            let _ = file.set_len(whole);
            return Err(error);
        }
        if durably || synced.elapsed() > SYNC_EVERY {
            file.sync_data()?;
            *synced = Instant::now();
        }
        Ok(())
    }

    /// The file that is still at its path, if there is one.
    fn path(&self) -> Option<&Path> {
        let Recipient::Here { file, path, .. } = self else { return None };
        let identity = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
        let there = std::fs::symlink_metadata(path).map(identity).ok()?;
        file.metadata().is_ok_and(|metadata| identity(metadata) == there).then_some(path)
    }
}

/// Notes of a run that has acknowledged nothing have no purpose, and would prevent the next run.
impl Drop for Witness {
    fn drop(&mut self) {
        let notes = self.notes.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(path) = notes.to.path()
            && path.metadata().is_ok_and(|metadata| metadata.len() == 0)
        {
            // It is left where it cannot be removed.
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Witness {
    /// A new file, which must not be on the file system of `directory`.
    ///
    /// # Errors
    /// [`Error::SamePlace`], [`Error::Io`] for a file that is there already.
    pub fn file(path: &Path, directory: Option<&Path>) -> Result<Witness> {
        let file = create(path)?;
        if let Some(directory) = directory {
            let device =
                |metadata: io::Result<std::fs::Metadata>| metadata.map(|metadata| metadata.dev()).ok();
            if device(file.metadata()) == device(std::fs::metadata(directory)) {
                let _ = std::fs::remove_file(path);
                return Err(Error::SamePlace { witness: path.to_owned(), directory: directory.to_owned() });
            }
        }
        let to = Recipient::Here { file, path: path.to_owned(), synced: Instant::now() };
        Ok(Witness { place: path.display().to_string(), notes: Mutex::new(Notes { to, broken: None }) })
    }

    /// `iolite durability witness` at `HOST:PORT`, to whom `token` is shown.
    ///
    /// # Errors
    /// [`Error::Witness`].
    pub fn host(address: &str, token: &str) -> Result<Witness> {
        let unreachable = |source| Error::Witness {
            place: address.to_owned(),
            source,
            likely: ErrorCause::WitnessUnreachable,
        };
        let to = Recipient::Elsewhere(introduced(address, token).map_err(unreachable)?);
        Ok(Witness { place: address.to_owned(), notes: Mutex::new(Notes { to, broken: None }) })
    }

    /// Notes what the run is going to do. In a file, it is durable when this returns; to another host, it has been sent.
    ///
    /// # Errors
    /// [`Error::Witness`].
    pub fn plan(&self, plan: &Plan) -> Result<()> {
        let plan = serde_json::to_string(plan).map_err(Error::Plan)?;
        self.note(&format!("{HEADING}\nplan {plan}\n"), true)
    }

    /// Notes that a write was acknowledged. Nothing waits until the note is durable, or has arrived: what a crash takes of the notes is
    /// not checked.
    ///
    /// # Errors
    /// [`Error::Witness`]: without a witness there is nothing to go on for.
    pub fn acknowledged(&self, identity: Identity) -> Result<()> {
        self.note(&format!("ack {} {}\n", identity.worker, identity.number), false)
    }

    /// Notes the end; all notes are durable when this returns, in a file and with another host, which closes the connection then.
    ///
    /// # Errors
    /// [`Error::Witness`].
    pub fn end(&self) -> Result<()> {
        self.note("end\n", true)?;
        let notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        match &notes.to {
            Recipient::Here { .. } => Ok(()),
            Recipient::Elsewhere(stream) => {
                until_closed(stream).map_err(|source| self.failed(&notes.to, source))
            }
        }
    }

    /// What was noted in a file is durable when this returns.
    ///
    /// # Errors
    /// [`Error::Witness`].
    pub fn sync(&self) -> Result<()> {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        let synced = match &mut notes.to {
            Recipient::Here { file, .. } => file.sync_data(),
            Recipient::Elsewhere(_) => Ok(()),
        };
        synced.map_err(|source| self.failed(&notes.to, source))
    }

    /// Removes the notes of a run that has acknowledged nothing, where they are a file that this run has created.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn discard(&self) -> Result<()> {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        notes.broken = Some(Broken::Ended);
        let Some(path) = notes.to.path() else { return Ok(()) };
        std::fs::remove_file(path).map_err(failed("remove", path))
    }

    fn note(&self, text: &str, durably: bool) -> Result<()> {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(broken) = notes.broken {
            return Err(self.failed(&notes.to, broken.error()));
        }
        // Also where a thread panics meanwhile.
        notes.broken = Some(Broken::Ended);
        let written = notes.to.write(text, durably);
        notes.broken = written.as_ref().err().map(Broken::of);
        written.map_err(|source| self.failed(&notes.to, source))
    }

    fn failed(&self, to: &Recipient, source: io::Error) -> Error {
        let likely = match to {
            Recipient::Here { path, .. } => ErrorCause::of(&source, ErrorOrigin::Path(path)),
            Recipient::Elsewhere(_) => None,
        };
        let likely = likely.unwrap_or(ErrorCause::WitnessLost);
        Error::Witness { place: self.place.clone(), source, likely }
    }
}

/// A new file for notes, whose name survives a crash.
///
/// # Errors
/// [`Error::Io`], also for a file that is there already.
pub(crate) fn create(path: &Path) -> Result<File> {
    let create = || {
        let file = File::options().write(true).create_new(true).open(path)?;
        let directory = path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
        // A directory that this user may not read cannot be synchronised.
        if let Ok(directory) = File::open(directory)
            && let Err(error) = directory.sync_all()
        {
            // It was created a moment ago, and is empty.
            let _ = std::fs::remove_file(path);
            return Err(error);
        }
        Ok(file)
    };
    create().map_err(failed("create", path))
}

/// A connection to the first of a host's addresses that responds in time: a firewall may drop what is sent to it.
fn connected(address: &str) -> io::Result<TcpStream> {
    let mut failed = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    for place in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&place, PATIENCE) {
            Ok(stream) => return Ok(stream),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

/// Connects to a witness that accepts the token.
fn introduced(address: &str, token: &str) -> io::Result<TcpStream> {
    let mut stream = connected(address)?;
    stream.set_nodelay(true)?;
    stream.set_write_timeout(Some(PATIENCE))?;
    // Notes that a network swallows would be taken for recorded until the buffers are full.
    socket2::SockRef::from(&stream).set_tcp_user_timeout(Some(PATIENCE))?;
    // Whole: who reads part of it and closes the connection resets it.
    stream.write_all(format!("{HEADING} {token}\n").as_bytes())?;
    let denied = |why: &str| Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    match answer(&stream)?.as_str() {
        HEADING => Ok(stream),
        REFUSED => denied("it does not accept the token"),
        BUSY => denied("it records another run"),
        "" => denied("it has closed the connection"),
        _ => denied("something else than `iolite durability witness` responds there"),
    }
}

/// Waits until another host has all notes and closes the connection.
fn until_closed(mut stream: &TcpStream) -> io::Result<()> {
    stream.shutdown(Shutdown::Write)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    // It sends nothing more.
    match stream.read(&mut [0; 1]).map_err(timed_out)? {
        0 => Ok(()),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// The line that another host answers with; of what is longer, the beginning.
fn answer(stream: &TcpStream) -> io::Result<String> {
    let (deadline, mut line) = (Instant::now() + PATIENCE, Vec::new());
    while line.len() < LONGEST && !line.contains(&b'\n') {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        let (mut byte, mut reader) = ([0], stream);
        match reader.read(&mut byte) {
            Ok(0) => break,
            Ok(_) => line.extend(byte),
            Err(error) => return Err(timed_out(error)),
        }
    }
    Ok(String::from_utf8_lossy(&line).trim().to_owned())
}

/// What the witness knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acknowledged {
    /// What the run did.
    pub plan: Plan,
    /// Number of the last write of each worker that was acknowledged; a worker's writes follow one another.
    pub last: BTreeMap<u32, u64>,
    /// Whether the run came to its end.
    pub ended: bool,
}

impl Acknowledged {
    /// Writes acknowledged in all.
    pub fn writes(&self) -> u64 {
        self.last.values().sum()
    }
}

/// Reads a witness's notes. A last line that is cut off, or lost in zeros, is what was being noted when the crash came.
///
/// # Errors
/// [`Error::Io`]; [`Error::Foreign`] for anything else than such notes.
pub fn read(path: &Path) -> Result<Acknowledged> {
    let foreign = |why: String| Error::Foreign { path: path.to_owned(), why };
    // A pipe would be waited for, and a device may have no end.
    if std::fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(foreign("it is not a regular file".to_owned()));
    }
    let bytes = std::fs::read(path).map_err(found("read", path, ErrorCause::WitnessFile))?;
    parse(path, &bytes)
}

/// As [`read`], of what the file at `path` holds.
///
/// # Errors
/// [`Error::Foreign`], [`Error::Asked`] for a plan that no run can have.
pub fn parse(path: &Path, bytes: &[u8]) -> Result<Acknowledged> {
    let foreign = |why: String| Error::Foreign { path: path.to_owned(), why };
    // File systems leave zeros where the last notes were not yet durable.
    let durable = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
    let text = String::from_utf8_lossy(durable);
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let mut lines = whole.lines();
    if lines.next() != Some(HEADING) {
        return Err(foreign(format!("it does not begin with `{HEADING}`")));
    }
    let plan = lines.next().and_then(|line| line.strip_prefix("plan ")).unwrap_or_default();
    let plan: Plan = serde_json::from_str(plan).map_err(|error| foreign(format!("its plan: {error}")))?;
    crate::plan::check(&plan)?;
    let mut known = Acknowledged { plan, last: BTreeMap::new(), ended: false };
    for (at, line) in lines.enumerate() {
        if line == "end" {
            known.ended = true;
            continue;
        }
        let mut words = line.split(' ');
        let number = |word: Option<&str>| word.and_then(|word| word.parse::<u64>().ok());
        let ack = (words.next(), number(words.next()), number(words.next()), words.next());
        let (Some("ack"), Some(worker), Some(number), None) = ack else {
            return Err(foreign(format!("line {}: `{}`", at + 3, line.escape_debug())));
        };
        let worker = u32::try_from(worker).ok().filter(|worker| *worker < known.plan.workers);
        let worker =
            worker.ok_or_else(|| foreign(format!("line {} has a worker that is not in the plan", at + 3)))?;
        let last = known.last.entry(worker).or_default();
        if number != *last + 1 {
            let why = format!("line {} has write {number} of worker {worker} after write {last}", at + 3);
            return Err(foreign(why));
        }
        *last = number;
    }
    Ok(known)
}

#[cfg(test)]
mod tests {
    use iolite_model::Bytes;

    use iolite_model::acknowledged::{Method, RunKey};

    use super::*;

    fn plan() -> Plan {
        Plan {
            run: RunKey([9; 16]),
            method: Method::Append,
            block: Bytes(4096),
            workers: 2,
            slots: 1,
            place: "/x".into(),
        }
    }

    #[test]
    fn notes_are_read_up_to_where_they_were_cut_off() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("notes");
        let witness = Witness::file(&path, None).unwrap();
        witness.plan(&plan()).unwrap();
        for (worker, number) in [(0, 1), (1, 1), (0, 2)] {
            witness.acknowledged(Identity { worker, number }).unwrap();
        }
        let known = read(&path).unwrap();
        assert_eq!((&known.plan, known.ended), (&plan(), false));
        assert_eq!(known.last, BTreeMap::from([(0, 2), (1, 1)]));
        File::options().append(true).open(&path).unwrap().write_all(b"ack 0 3").unwrap();
        assert_eq!(read(&path).unwrap().last[&0], 2);
        let zeros = [&std::fs::read(&path).unwrap()[..], &[0; 4096], b"\nack 1 9\n"].concat();
        assert_eq!(parse(&path, &zeros).unwrap(), known);
        File::options().append(true).open(&path).unwrap().write_all(b"\nack 7 1\n").unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("not in the plan"));
        // Otherwise as many writes as there are numbers would be looked for.
        let jump =
            format!("{HEADING}\nplan {}\nack 0 {}\n", serde_json::to_string(&plan()).unwrap(), u64::MAX);
        let error = parse(&path, jump.as_bytes()).unwrap_err().to_string();
        assert!(error.contains("after write 0"), "{error}");
    }

    #[test]
    fn a_witness_on_the_storage_under_test_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("notes");
        let error = Witness::file(&path, Some(directory.path())).unwrap_err();
        assert!(matches!(error, Error::SamePlace { .. }) && !path.exists(), "{error}");
        let unused = Witness::file(&path, None).unwrap();
        let error = Witness::file(&path, None).unwrap_err().to_string();
        assert!(error.contains("choose another name"), "{error}");
        drop(unused);
        assert!(!path.exists(), "what holds nothing is removed");
    }

    #[test]
    fn what_is_no_file_is_refused_without_being_read() {
        for path in ["/dev/zero", "/"] {
            let error = read(Path::new(path)).unwrap_err().to_string();
            assert!(error.contains("not a regular file"), "{error}");
        }
    }

    #[test]
    fn what_is_no_notes_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for text in ["", "x\n", "iolite-witness 1\n", "iolite-witness 1\nplan {}\n"] {
            std::fs::write(file.path(), text).unwrap();
            assert!(matches!(read(file.path()), Err(Error::Foreign { .. })), "{text}");
        }
    }
}
