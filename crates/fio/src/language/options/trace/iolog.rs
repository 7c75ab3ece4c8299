//! fio's trace files, versions 2 and 3.

use crate::language::error::{OptionError, Result};

use std::collections::HashMap;
use std::io::{BufRead, Read};

use iolite_model::{Nanos, TracedKind, TracedOp};

/// The most operations of a trace: some 400 MB of them.
pub(super) const MAX_OPERATIONS: usize = 1 << 24;

/// The longest line, in bytes: a path and what is said of it.
const LONGEST_LINE: u64 = 8192;

/// Waits below this, in microseconds, are left out, as the manual says.
const MIN_WAIT: u64 = 100;

/// A trace as its file says.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Iolog {
    /// The files that something is done to.
    pub(super) files: Vec<String>,
    /// The operations, in the order of their instants.
    pub(super) operations: Vec<TracedOp>,
    /// Whether it says when.
    pub(super) timed: bool,
}

/// A line of a trace.
enum Line<'a> {
    Wait(u64),
    Operation {
        name: &'a str,
        kind: TracedKind,
        offset: u64,
        length: u32,
    },
    /// Files are opened before the first operation here.
    Nothing,
}

/// Reads a trace.
///
/// # Errors
/// It can't be read, or is none: a sentence with the line's number and a remedy.
pub(super) fn read(mut from: impl BufRead) -> Result<Iolog> {
    let mut line = Vec::new();
    next_line(&mut from, &mut line)?;
    let stamped = match line.trim_ascii() {
        b"fio version 3 iolog" => true,
        b"fio version 2 iolog" => false,
        _ => return Err(no_iolog()),
    };
    let mut reader = Reader { stamped, now: 0, names: HashMap::new(), found: Iolog::default() };
    for number in 2u64.. {
        if !next_line(&mut from, &mut line)? {
            break;
        }
        let text =
            std::str::from_utf8(&line).map_err(|_| OptionError::refused("it is not text", "correct it"));
        text.and_then(|text| reader.line(text.trim())).map_err(|error| error.at(format!("line {number}")))?;
    }
    let mut found = reader.found;
    if !found.operations.is_sorted_by_key(|operation| operation.at) {
        found.operations.sort_by_key(|operation| operation.at);
    }
    found.timed = found.operations.last().is_some_and(|last| last.at.0 > 0);
    Ok(found)
}

/// Takes the next line. False where there is none.
fn next_line(from: &mut impl BufRead, line: &mut Vec<u8>) -> Result<bool> {
    line.clear();
    let read = from.by_ref().take(LONGEST_LINE).read_until(b'\n', line);
    let length = read.map_err(|source| OptionError::unreadable("it", source))?;
    if length as u64 == LONGEST_LINE && !line.ends_with(b"\n") {
        // What is binary has no lines.
        return Err(no_iolog());
    }
    Ok(length > 0)
}

fn no_iolog() -> OptionError {
    OptionError::refused(
        "its first line is neither `fio version 2 iolog` nor `fio version 3 iolog`",
        "specify a file that write_iolog has written, or one of `blkparse DEVICE -o /dev/null -d FILE`",
    )
}

struct Reader {
    /// Each line begins with its instant.
    stamped: bool,
    /// The instant of the next operation, in microseconds.
    now: u64,
    names: HashMap<String, u16>,
    found: Iolog,
}

impl Reader {
    fn line(&mut self, text: &str) -> Result {
        let mut text = text;
        if text.is_empty() {
            return Ok(());
        }
        if self.stamped {
            let (stamp, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
            self.now = number(stamp)?;
            text = rest.trim();
        }
        match parse(text)? {
            Line::Nothing => {}
            Line::Wait(_) if self.stamped => {
                return Err(OptionError::refused(
                    "`wait` is not allowed in version 3, whose lines have times",
                    "remove it",
                ));
            }
            Line::Wait(time) if time < MIN_WAIT => {}
            Line::Wait(time) => self.now = self.now.saturating_add(time),
            Line::Operation { name, kind, offset, length } => self.operation(name, kind, offset, length)?,
        }
        Ok(())
    }

    fn operation(&mut self, name: &str, kind: TracedKind, offset: u64, length: u32) -> Result {
        if self.found.operations.len() == MAX_OPERATIONS {
            return Err(OptionError::refused(
                format!("a trace has {MAX_OPERATIONS} operations at most"),
                "split it",
            ));
        }
        let file = match self.names.get(name) {
            Some(file) => *file,
            None => {
                let file = u16::try_from(self.found.files.len())
                    .map_err(|_| OptionError::refused("a trace has 65536 files at most", "split it"))?;
                self.names.insert(name.to_owned(), file);
                self.found.files.push(name.to_owned());
                file
            }
        };
        let at = Nanos(self.now.saturating_mul(1000));
        self.found.operations.push(TracedOp { at, offset, length, file, kind });
        Ok(())
    }
}

/// What a line says after its instant: `NAME ACTION` or `NAME ACTION OFFSET LENGTH`. The name may hold spaces.
fn parse(text: &str) -> Result<Line<'_>> {
    let unknown = || {
        OptionError::refused(
            format!("`{}` is not a line of a trace", text.chars().take(60).collect::<String>()),
            "write PATH ACTION OFFSET LENGTH",
        )
    };
    let (rest, last) = last_word(text).ok_or_else(unknown)?;
    if matches!(last, "add" | "open" | "close") {
        return Ok(Line::Nothing);
    }
    let (rest, offset) = last_word(rest).ok_or_else(unknown)?;
    let (name, action) = last_word(rest).ok_or_else(unknown)?;
    let (offset, length) = (number(offset)?, number(last)?);
    let kind = match action {
        "wait" => return Ok(Line::Wait(offset)),
        "read" => TracedKind::Read,
        "write" => TracedKind::Write,
        "trim" => TracedKind::Trim,
        "sync" => return Ok(Line::Operation { name, kind: TracedKind::Fsync, offset: 0, length: 0 }),
        "datasync" => return Ok(Line::Operation { name, kind: TracedKind::Fdatasync, offset: 0, length: 0 }),
        other => {
            return Err(OptionError::refused(
                format!("`{}` is not an action of a trace", other.chars().take(30).collect::<String>()),
                "write read, write, trim, sync, datasync, wait, add, open or close",
            ));
        }
    };
    let length = u32::try_from(length).ok().filter(|length| *length > 0);
    let length = length.ok_or_else(|| {
        OptionError::refused("an operation has between 1 byte and 4 GiB", "correct its length")
    })?;
    if offset.checked_add(u64::from(length)).is_none_or(|end| i64::try_from(end).is_err()) {
        return Err(OptionError::refused("it ends beyond the largest offset there is", "correct it"));
    }
    Ok(Line::Operation { name, kind, offset, length })
}

/// The last word, and what is before it; `None` where nothing is.
fn last_word(text: &str) -> Option<(&str, &str)> {
    let (rest, word) = text.trim_end().rsplit_once(char::is_whitespace)?;
    let rest = rest.trim_end();
    (!rest.is_empty()).then_some((rest, word))
}

fn number(text: &str) -> Result<u64> {
    text.parse().map_err(|_| OptionError::malformed(text, "number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn op(at: u64, kind: TracedKind, file: u16, offset: u64, length: u32) -> TracedOp {
        TracedOp { at: Nanos(at * 1000), offset, length, file, kind }
    }

    #[test]
    fn version_3_has_times() {
        let text = "fio version 3 iolog\n1 /a add\n1 /b c add\n2 /a open\n5 /a read 4096 512\n\n\
                    9 /b c write 0 8192\n9 /b c datasync 0 0\n 10 /a trim 5 6 \n11 /a sync 4 0\n12 /a close\n";
        let found = read(text.as_bytes()).unwrap();
        assert_eq!((found.files, found.timed), (vec!["/a".to_owned(), "/b c".to_owned()], true));
        let expected = [
            op(5, TracedKind::Read, 0, 4096, 512),
            op(9, TracedKind::Write, 1, 0, 8192),
            op(9, TracedKind::Fdatasync, 1, 0, 0),
            op(10, TracedKind::Trim, 0, 5, 6),
            op(11, TracedKind::Fsync, 0, 0, 0),
        ];
        assert_eq!(found.operations, expected);
        let text = "fio version 3 iolog\n7 f write 0 1\n5 f read 0 1";
        let sorted = read(text.as_bytes()).unwrap().operations;
        assert_eq!(sorted, [op(5, TracedKind::Read, 0, 0, 1), op(7, TracedKind::Write, 0, 0, 1)]);
    }

    #[test]
    fn version_2_has_waits() {
        let text = "fio version 2 iolog\nf add\nf open\nf read 0 1\nf wait 99 0\nf read 1 1\nf wait 500 0\n\
                    f write 2 1\nf wait 100 0\nf write 3 1\nf close\n";
        let found = read(text.as_bytes()).unwrap();
        let instants: Vec<u64> = found.operations.iter().map(|op| op.at.0 / 1000).collect();
        assert_eq!((instants, found.timed), (vec![0, 0, 500, 600], true));
        let text = "fio version 2 iolog\nf read 0 1\nf read 1 1\n";
        assert!(!read(text.as_bytes()).unwrap().timed);
    }

    #[test]
    fn what_is_no_trace_is_reported_with_its_line() {
        let error = |text: &[u8]| read(text).unwrap_err().to_string();
        assert!(error(b"").contains("neither"));
        assert!(error(b"fio version 1 iolog\n").contains("neither"));
        assert!(error(b"fi").contains("neither"));
        assert!(error(&[b'x'; 10_000]).contains("neither"));
        for (line, part) in [
            ("1 f fly 0 1", "`fly` is not an action"),
            ("f read 0 1", "`f` is not a number"),
            ("1 f read 0", "not a line of a trace"),
            ("1 f read 0 x", "`x` is not a number"),
            ("1 f read 0 0", "between 1 byte"),
            ("1 f read 0 5000000000", "between 1 byte"),
            ("1 f read 18446744073709551615 1", "largest offset"),
            ("1 f wait 5 0", "not allowed in version 3"),
            ("1", "not a line of a trace"),
        ] {
            let error = error(format!("fio version 3 iolog\n{line}\n").as_bytes());
            assert!(error.starts_with("line 2: ") && error.contains(part), "{line}: {error}");
        }
        assert!(error(b"fio version 3 iolog\n\xff\xfe\n").contains("line 2: it is not text"));
    }
}
