//! What a probe is: something that can be read again and again while a run goes on.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

use iolite_model::ReadingValue;

/// Something that is read once per interval of a [`Sampler`](crate::Sampler).
///
/// One file per probe. A probe is created, and first read, before the run: what it holds open then is what it reads later. It must
/// not write, and it should take well below a millisecond.
pub trait Probe: Send {
    /// Name of the probe, the same for the whole of its life: `device`, `cpu`...
    fn name(&self) -> &'static str;

    /// What it reads now: values by subject (empty for the whole host). No subject is no reading.
    ///
    /// # Errors
    /// Nothing can be read. The sampler reports the first error of each probe and goes on.
    fn read(&mut self) -> Result<Vec<Subject>, ProbeError>;
}

/// What a probe read of one subject.
#[derive(Debug, Clone, PartialEq)]
pub struct Subject {
    /// Name of the device, control group, database...; empty for the whole host.
    pub name: String,
    /// The values.
    pub values: Vec<ReadingValue>,
}

/// Why a probe could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// A file of /proc, /sys or a control group can't be read.
    #[error("cannot read `{}`: {source}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The kernel's reason.
        source: io::Error,
    },
    /// A file is not of the documented shape.
    #[error("`{}` does not have the format described in {documentation}", .path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Where its shape is documented.
        documentation: &'static str,
    },
    /// What is watched by other means than files, such as a database, gave another reason.
    #[error(transparent)]
    Other(#[from] Box<dyn std::error::Error + Send + Sync>),
}

/// A probe made of a function, for what this crate does not know, such as a database's counters.
pub fn probe_from<F>(name: &'static str, read: F) -> Box<dyn Probe>
where
    F: FnMut() -> Result<Vec<Subject>, ProbeError> + Send + 'static,
{
    Box::new(Function { name, read })
}

struct Function<F> {
    name: &'static str,
    read: F,
}

impl<F> Probe for Function<F>
where
    F: FnMut() -> Result<Vec<Subject>, ProbeError> + Send,
{
    fn name(&self) -> &'static str {
        self.name
    }

    fn read(&mut self) -> Result<Vec<Subject>, ProbeError> {
        (self.read)()
    }
}

impl Subject {
    /// Values of the whole host.
    pub fn host(values: Vec<ReadingValue>) -> Subject {
        Subject { name: String::new(), values }
    }
}

/// A file of /proc or /sys that is read again and again: held open, and read into the same memory.
#[derive(Debug)]
pub(crate) struct HeldFile {
    path: PathBuf,
    file: File,
    text: String,
}

impl HeldFile {
    pub(crate) fn open(path: impl AsRef<Path>) -> Result<HeldFile, ProbeError> {
        let path = path.as_ref().to_path_buf();
        match File::open(&path) {
            Ok(file) => Ok(HeldFile { path, file, text: String::new() }),
            Err(source) => Err(ProbeError::Unreadable { path, source }),
        }
    }

    /// The content now.
    pub(crate) fn read(&mut self) -> Result<&str, ProbeError> {
        self.text.clear();
        let read = self.file.rewind().and_then(|()| self.file.read_to_string(&mut self.text));
        match read {
            Ok(_) => Ok(&self.text),
            Err(source) => Err(ProbeError::Unreadable { path: self.path.clone(), source }),
        }
    }

    /// The error of a content that is not as documented.
    pub(crate) fn malformed(&self, documentation: &'static str) -> ProbeError {
        ProbeError::Malformed { path: self.path.clone(), documentation }
    }
}

/// The value of a line `name value` or `name: value kB`, as found at the start of a line.
pub(crate) fn number_of(text: &str, name: &str) -> Option<f64> {
    text.lines().find_map(|line| {
        let rest = line.strip_prefix(name)?;
        let rest = rest.strip_prefix(':').unwrap_or(rest);
        rest.starts_with([' ', '\t']).then(|| rest.split_whitespace().next()?.parse().ok())?
    })
}
