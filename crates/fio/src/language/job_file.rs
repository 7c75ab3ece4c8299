//! Job files: text becomes sections of settings, as written. What depends on where they run (variables, keywords) is worked
//! out by [`Document::expanded`].

use std::io::{self, BufRead};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::quoted;
use super::problem::{Origin, Problem};

/// A job file is read up to this size, in bytes: what is larger is no job file.
pub const LARGEST_FILE: usize = 16 << 20;

/// Bytes of a job file and of all that it includes.
const LARGEST_TOTAL: usize = 2 * LARGEST_FILE;

/// Settings and sections of a document.
const MAX_ENTRIES: usize = 100_000;

/// A line is at most so long, in bytes, without its comment.
pub(super) const LONGEST_LINE: usize = 64 << 10;

/// How deep files may include each other.
const DEEPEST: usize = 16;

/// What a job file depends on besides its text: the caller looks it up, so that nothing here does I/O.
#[derive(Clone, Copy)]
pub struct HostContext<'a> {
    /// An environment variable.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// The machine's page size, in bytes.
    pub page_size: u64,
    /// The machine's memory, in MiB.
    pub memory_mib: u64,
    /// The machine's CPUs.
    pub cpus: u64,
    /// Reads an included file. It may stop after [`LARGEST_FILE`] bytes and one more.
    pub read_file: &'a dyn Fn(&Path) -> io::Result<Vec<u8>>,
    /// Opens a trace, which may be large; standard input for `-`.
    pub open_trace: &'a dyn Fn(&Path) -> io::Result<Box<dyn BufRead>>,
}

/// A job file, with what it includes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Its name, as given by the user.
    pub file: Arc<str>,
    /// Its sections, in order.
    pub sections: Vec<Section>,
}

/// A section: a job, or defaults for the jobs after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// Its name.
    pub name: String,
    /// Where it starts.
    pub origin: Origin,
    /// Its settings, in order.
    pub settings: Vec<Setting>,
}

/// A setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The option's name, as written.
    pub name: String,
    /// All after the `=`; `None` where there is none.
    pub value: Option<String>,
    /// The variable without a value that has left the setting without one.
    pub emptied_by: Option<String>,
    /// Where it is.
    pub origin: Origin,
}

impl Section {
    /// Whether it holds defaults for the jobs after it, rather than a job.
    pub fn is_global(&self) -> bool {
        self.name.starts_with("global")
    }
}

impl Setting {
    /// From `name=value` or `name`, without white space around it.
    pub(super) fn split(line: &str, origin: Origin) -> Setting {
        let (name, value) = match line.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (line, None),
        };
        Setting { name: name.trim_end_matches(is_blank).to_owned(), value, emptied_by: None, origin }
    }
}

/// White space within a line, as in C.
pub(super) fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\x0b' | '\x0c')
}

/// Reads a job file and what it includes. `file` is its name as given by the user: messages repeat it, and includes are
/// relative to its directory.
///
/// # Errors
/// It is not a job file; the first thing that is wrong with it.
pub fn read(file: &str, bytes: &[u8], context: &HostContext<'_>) -> Result<Document, Problem> {
    let mut reader = Reader { context, sections: Vec::new(), entries: 0, bytes: 0, open: Vec::new() };
    reader.file(Arc::from(file), Path::new(file), bytes)?;
    Ok(Document { file: Arc::from(file), sections: reader.sections })
}

struct Reader<'a> {
    context: &'a HostContext<'a>,
    sections: Vec<Section>,
    /// Settings and sections so far.
    entries: usize,
    /// Bytes read so far.
    bytes: usize,
    /// Files being read: the job file first, then the one that it includes, and so on.
    open: Vec<PathBuf>,
}

impl Reader<'_> {
    fn file(&mut self, name: Arc<str>, path: &Path, bytes: &[u8]) -> Result<(), Problem> {
        let start = Origin { file: Some(name.clone()), line: 1, column: 1 };
        self.bytes += bytes.len();
        if bytes.len() > LARGEST_FILE || self.bytes > LARGEST_TOTAL {
            let what = format!("it is larger than {} MiB", LARGEST_FILE >> 20);
            return Err(start.problem(what, "specify a job file, which is text of some lines"));
        }
        self.open.push(path.to_owned());
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
            let origin = Origin { line: u32::try_from(index + 1).unwrap_or(u32::MAX), ..start.clone() };
            self.line(text(line, &origin)?, origin)?;
        }
        self.open.pop();
        Ok(())
    }

    /// A line with its comment.
    fn line(&mut self, line: &str, origin: Origin) -> Result<(), Problem> {
        let line = line.split([';', '#']).next().unwrap_or(line).trim_end_matches(is_blank);
        let said = line.trim_start_matches(is_blank);
        if said.is_empty() {
            return Ok(());
        }
        let column = u32::try_from(line.len() - said.len() + 1).unwrap_or(u32::MAX);
        let origin = Origin { column, ..origin };
        if said.len() > LONGEST_LINE {
            let what = format!("the line is longer than {} KiB", LONGEST_LINE >> 10);
            return Err(origin.problem(what, "a job file has one setting a line"));
        }
        self.entries += 1;
        if self.entries > MAX_ENTRIES {
            let what = format!("there are more than {MAX_ENTRIES} settings and sections");
            return Err(origin.problem(what, "split the job file"));
        }
        if said.starts_with('[') {
            return self.section(said, origin);
        }
        match said.strip_prefix("include").filter(|rest| rest.is_empty() || rest.starts_with(is_blank)) {
            Some(included) => self.include(included.trim_matches(is_blank), &origin),
            None => self.setting(said, origin),
        }
    }

    fn section(&mut self, line: &str, origin: Origin) -> Result<(), Problem> {
        let name = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let Some(name) = name else {
            let what = format!("the section {} does not end with `]`", quoted(line));
            return Err(origin.problem(what, "write its name in brackets, alone on a line: [name]"));
        };
        if name.trim_matches(is_blank).is_empty() {
            return Err(origin.problem("the section has no name", "name the job: [name]"));
        }
        if self.open.len() > 1 {
            let what = format!("the section {} is in a file that is included", quoted(line));
            return Err(origin.problem(what, "an included file holds settings only: move the section"));
        }
        self.sections.push(Section { name: name.to_owned(), origin, settings: Vec::new() });
        Ok(())
    }

    fn setting(&mut self, line: &str, origin: Origin) -> Result<(), Problem> {
        let Some(section) = self.sections.last_mut() else {
            let what = format!("{} is before the first section", quoted(line));
            return Err(origin.problem(what, "put [global] or the job's name, as [name], above it"));
        };
        section.settings.push(Setting::split(line, origin));
        Ok(())
    }

    fn include(&mut self, name: &str, origin: &Origin) -> Result<(), Problem> {
        if name.is_empty() {
            return Err(origin.problem("`include` names no file", "write: include FILE"));
        }
        if self.sections.is_empty() {
            let what = format!("`include` of {} is before the first section", quoted(name));
            return Err(origin.problem(what, "put [global] or the job's name, as [name], above it"));
        }
        let directory = self.open.last().and_then(|path| path.parent()).unwrap_or(Path::new(""));
        let path = directory.join(name);
        if self.open.contains(&path) {
            let what = format!("{} includes itself", quoted(&path.display().to_string()));
            return Err(origin.problem(what, "take the `include` out of one of the files"));
        }
        if self.open.len() > DEEPEST {
            let what = format!("files include each other more than {DEEPEST} deep");
            return Err(origin.problem(what, "bring the settings together in fewer files"));
        }
        let bytes = (self.context.read_file)(&path).map_err(|error| {
            let what = format!("cannot read {}: {error}", quoted(&path.display().to_string()));
            origin.problem(what, "included files are searched for in the directory of the including file")
        })?;
        self.file(Arc::from(path.display().to_string()), &path, &bytes)
    }
}

/// The line as text.
fn text<'a>(line: &'a [u8], origin: &Origin) -> Result<&'a str, Problem> {
    let at = |valid: &[u8]| Origin {
        column: u32::try_from(String::from_utf8_lossy(valid).chars().count() + 1).unwrap_or(u32::MAX),
        ..origin.clone()
    };
    let text = std::str::from_utf8(line).map_err(|error| {
        let place = at(&line[..error.valid_up_to()]);
        place.problem("it is not UTF-8 text", "save the job file as UTF-8")
    })?;
    match text.find('\0') {
        Some(nul) => {
            Err(at(&line[..nul]).problem("there is a NUL character", "a job file is text: take it out"))
        }
        None => Ok(text),
    }
}

#[cfg(test)]
mod tests;
