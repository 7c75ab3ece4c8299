//! Patterns: bytes given as text.

use crate::language::error::{OptionError, Result};

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::FileTypeExt;

/// The longest pattern: what fio keeps of one that is read from a file is less.
const LONGEST: usize = 64 << 10;

/// A pattern: bytes, and the places in them of eight bytes each that the offset of the block goes to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pattern {
    /// The bytes; zeros where an offset goes to.
    pub bytes: Vec<u8>,
    /// Where offsets go to.
    pub offsets: Vec<u32>,
}

/// The bytes that a pattern without offsets stands for: see [`with_offsets`].
///
/// # Errors
/// It is not a pattern, or one whose bytes follow from where they are written (`%o`).
pub(crate) fn parse(text: &str) -> Result<Vec<u8>> {
    let pattern = with_offsets(text)?;
    if pattern.offsets.is_empty() {
        return Ok(pattern.bytes);
    }
    Err(OptionError::refused("`%o`: only verify_pattern has offsets", "remove it"))
}

/// What a pattern stands for: hexadecimal digits after `0x`, text in double quotes, the contents of a file whose name is in
/// single quotes, `%o` for the offset of the block in eight bytes, and decimal numbers, one after the other. A decimal number is
/// written with its least byte first, in as many bytes as it needs; a negative one in four.
///
/// # Errors
/// It is not a pattern, too long, or its file can't be read.
pub(crate) fn with_offsets(text: &str) -> Result<Pattern> {
    let mut pattern = Pattern::default();
    let bytes = &mut pattern.bytes;
    let mut rest = text.trim();
    while !rest.is_empty() {
        rest = if let Some(digits) = rest.strip_prefix("0x").or_else(|| rest.strip_prefix("0X")) {
            hexadecimal(digits, bytes)?
        } else if let Some(quoted) = rest.strip_prefix('"') {
            let (text, after) = quoted
                .split_once('"')
                .ok_or_else(|| OptionError::refused("a double quote has no end", "add another"))?;
            bytes.extend_from_slice(text.as_bytes());
            after
        } else if let Some(after) = rest.strip_prefix("%o") {
            pattern.offsets.push(bytes.len() as u32);
            bytes.extend_from_slice(&[0; 8]);
            after
        } else if let Some(quoted) = rest.strip_prefix('\'') {
            let (name, after) = quoted
                .split_once('\'')
                .ok_or_else(|| OptionError::refused("a single quote has no end", "add another"))?;
            contents(name, bytes)?;
            after
        } else {
            decimal(rest, bytes)?
        };
        if bytes.len() > LONGEST {
            return Err(OptionError::refused(
                format!("it has more than {LONGEST} bytes"),
                "specify a shorter one",
            ));
        }
    }
    if bytes.is_empty() {
        return Err(OptionError::refused("it has no bytes", "specify some, such as 0xdeadbeef"));
    }
    Ok(pattern)
}

/// Adds what a file holds.
fn contents(name: &str, bytes: &mut Vec<u8>) -> Result {
    // Opening a named pipe would wait for whoever writes to it.
    if fs::metadata(name).is_ok_and(|found| found.file_type().is_fifo()) {
        return Err(OptionError::refused(format!("`{name}` is a named pipe"), "name a file"));
    }
    let read = File::open(name).and_then(|file| file.take(LONGEST as u64 + 1).read_to_end(bytes));
    read.map(drop).map_err(|source| OptionError::unreadable(format!("the pattern in `{name}`"), source))
}

fn hexadecimal<'a>(digits: &'a str, bytes: &mut Vec<u8>) -> Result<&'a str> {
    let end = digits.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(digits.len());
    let (digits, rest) = digits.split_at(end);
    if digits.is_empty() {
        return Err(OptionError::refused("`0x` needs hexadecimal digits after it", "add them"));
    }
    let values = digits.chars().filter_map(|c| c.to_digit(16)).map(|digit| digit as u8);
    // An odd number of digits has a zero before the first.
    let padded: Vec<u8> = (digits.len() % 2 == 1).then_some(0).into_iter().chain(values).collect();
    bytes.extend(padded.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]));
    Ok(rest)
}

fn decimal<'a>(text: &'a str, bytes: &mut Vec<u8>) -> Result<&'a str> {
    let sign = usize::from(text.starts_with('-'));
    let mut end = text[sign..].find(|c: char| !c.is_ascii_digit()).map_or(text.len(), |end| end + sign);
    // The digit may belong to a hexadecimal number behind it: 10xff is 1 and 0xff.
    if end > sign + 1 && text[..end].ends_with('0') && text[end..].starts_with(['x', 'X']) {
        end -= 1;
    }
    let (number, rest) = text.split_at(end);
    let fits = |number: &i64| (i64::from(i32::MIN)..=i64::from(u32::MAX)).contains(number);
    let value = number.parse().ok().filter(fits).ok_or_else(|| {
        OptionError::refused(
            format!("`{text}` is not a pattern"),
            "write 0x and hexadecimal digits, text in double quotes, or a number of 32 bits",
        )
    })?;
    let all = (value as u32).to_le_bytes();
    let needed = (4 - (value as u32).leading_zeros() as usize / 8).max(1);
    bytes.extend_from_slice(&all[..needed]);
    Ok(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected bytes are those that fio 3.33 wrote.
    #[test]
    fn patterns_are_as_fio_writes_them() {
        for (text, bytes) in [
            ("0xaa555aa5", &[0xaa, 0x55, 0x5a, 0xa5][..]),
            ("12", &[12]),
            ("0", &[0]),
            ("-12", &[0xf4, 0xff, 0xff, 0xff]),
            ("\"abcd\"", b"abcd"),
            ("0xabc", &[0x0a, 0xbc]),
            ("257", &[1, 1]),
            ("65536", &[0, 0, 1]),
            ("10xff", &[1, 0xff]),
            ("12345678990xff", &[0xdb, 0x02, 0x96, 0x49, 0xff]),
            ("\"ab\"0x0102", &[b'a', b'b', 1, 2]),
            ("0xff\"ab\"-1", &[0xff, b'a', b'b', 0xff, 0xff, 0xff, 0xff]),
        ] {
            assert_eq!(parse(text).unwrap(), bytes, "{text}");
        }
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for (text, part) in [
            ("", "no bytes"),
            ("\"\"", "no bytes"),
            ("0x", "digits after"),
            ("abc", "not a pattern"),
            ("-", "not a pattern"),
            ("4294967296", "32 bits"),
            ("\"ab", "no end"),
            ("0xff%o", "only verify_pattern"),
            ("'/no/such/file'", "cannot read"),
            ("'/etc/passwd", "no end"),
            ("12 0xff", "not a pattern"),
            ("ü", "not a pattern"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn offsets_and_files_are_parts_of_patterns() {
        let pattern = with_offsets("0xff%o\"ab\"").unwrap();
        let bytes = [&[0xff][..], &[0; 8], b"ab"].concat();
        assert_eq!(pattern, Pattern { bytes, offsets: vec![1] });
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f");
        std::fs::write(&path, b"xyz\n").unwrap();
        assert_eq!(parse(&format!("'{}'1", path.display())).unwrap(), b"xyz\n\x01");
        std::fs::write(&path, vec![1; LONGEST + 1]).unwrap();
        assert!(parse(&format!("'{}'", path.display())).unwrap_err().to_string().contains("shorter"));
    }
}
