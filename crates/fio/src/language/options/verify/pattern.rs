//! Patterns: bytes given as text.

/// The bytes that a pattern stands for: hexadecimal digits after `0x`, text in double quotes, and decimal numbers, one
/// after the other. A decimal number is written with its least byte first, in as many bytes as it needs; a negative one in four.
///
/// # Errors
/// It is no pattern, or one whose bytes follow from where they are written (`%o`) or from a file.
pub(crate) fn parse(text: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        rest = if let Some(digits) = rest.strip_prefix("0x").or_else(|| rest.strip_prefix("0X")) {
            hexadecimal(digits, &mut bytes)?
        } else if let Some(quoted) = rest.strip_prefix('"') {
            let (text, after) = quoted.split_once('"').ok_or("a double quote has no end")?;
            bytes.extend_from_slice(text.as_bytes());
            after
        } else if rest.starts_with('%') {
            return Err("`%o`: offsets in a pattern are not built: leave it out, verify reports misplaced blocks anyway".into());
        } else if rest.starts_with('\'') {
            return Err("files as patterns are not built: give the bytes in hexadecimal after 0x".into());
        } else {
            decimal(rest, &mut bytes)?
        };
    }
    if bytes.is_empty() { Err("it has no bytes: give some, such as 0xdeadbeef".into()) } else { Ok(bytes) }
}

fn hexadecimal<'a>(digits: &'a str, bytes: &mut Vec<u8>) -> Result<&'a str, String> {
    let end = digits.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(digits.len());
    let (digits, rest) = digits.split_at(end);
    if digits.is_empty() {
        return Err("`0x` needs hexadecimal digits after it".into());
    }
    let values = digits.chars().filter_map(|c| c.to_digit(16)).map(|digit| digit as u8);
    // An odd number of digits has a zero before the first.
    let padded: Vec<u8> = (digits.len() % 2 == 1).then_some(0).into_iter().chain(values).collect();
    bytes.extend(padded.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]));
    Ok(rest)
}

fn decimal<'a>(text: &'a str, bytes: &mut Vec<u8>) -> Result<&'a str, String> {
    let sign = usize::from(text.starts_with('-'));
    let end = text[sign..].find(|c: char| !c.is_ascii_digit()).map_or(text.len(), |end| end + sign);
    let (number, rest) = text.split_at(end);
    let fits = |number: &i64| (i64::from(i32::MIN)..=i64::from(u32::MAX)).contains(number);
    let value = number.parse().ok().filter(fits).ok_or_else(|| {
        format!("`{text}` is no pattern: write 0x and hexadecimal digits, text in double quotes, or a number of 32 bits")
    })?;
    let all = (value as u32).to_le_bytes();
    let needed = (4 - (value as u32).leading_zeros() as usize / 8).max(1);
    bytes.extend_from_slice(&all[..needed]);
    Ok(rest)
}

#[cfg(test)]
mod tests {
    use super::parse;

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
            ("0xff\"ab\"-1", &[0xff, b'a', b'b', 0xff, 0xff, 0xff, 0xff]),
        ] {
            assert_eq!(parse(text).as_deref(), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for (text, part) in [
            ("", "no bytes"),
            ("\"\"", "no bytes"),
            ("0x", "digits after"),
            ("abc", "no pattern"),
            ("-", "no pattern"),
            ("4294967296", "32 bits"),
            ("\"ab", "no end"),
            ("0xff%o", "not built"),
            ("'/etc/passwd'", "not built"),
            ("ü", "no pattern"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
