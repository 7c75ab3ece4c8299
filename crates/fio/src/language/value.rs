//! Values of options: numbers with units, times, percentages, lists.

use std::fmt;

use iolite_model::{Bytes, Nanos};

use super::error::{OptionError, Result, quoted};

/// The value that an option was given.
#[derive(Debug, Clone, Copy)]
pub struct OptionValue<'a> {
    /// As written, with keywords and arithmetic worked out already; `None` where the option stands alone.
    pub text: Option<&'a str>,
    /// What `k` stands for: 1024 (`kb_base=1024`, where `kib` is 1000) or 1000 (`kb_base=1000`, where `kib` is 1024).
    pub kb_base: u64,
}

/// A unit that a bare number has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Milliseconds,
    /// Microseconds.
    Microseconds,
    /// Nanoseconds.
    Nanoseconds,
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unit::Seconds => "seconds",
            Unit::Milliseconds => "milliseconds",
            Unit::Microseconds => "microseconds",
            Unit::Nanoseconds => "nanoseconds",
        })
    }
}

/// A number of bytes, or a share of something.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Amount {
    /// So many bytes.
    Bytes(Bytes),
    /// In percent.
    Percent(f64),
}

impl Default for Amount {
    fn default() -> Amount {
        Amount::Bytes(Bytes(0))
    }
}

impl<'a> OptionValue<'a> {
    /// The value's text.
    ///
    /// # Errors
    /// There is none, or it is empty.
    pub fn text(&self) -> Result<&'a str> {
        self.text.map(str::trim).filter(|text| !text.is_empty()).ok_or(OptionError::NoValue)
    }

    /// The same option with another value: for the parts of a list.
    pub fn part(&self, text: &'a str) -> OptionValue<'a> {
        OptionValue { text: Some(text), ..*self }
    }

    /// A flag: alone it is true.
    ///
    /// # Errors
    /// The value is no number.
    pub fn flag(&self) -> Result<bool> {
        match self.text.map(str::trim) {
            None | Some("") => Ok(true),
            Some(_) => Ok(self.integer(i64::MIN, i64::MAX)? != 0),
        }
    }

    /// An integer; `0x` is hexadecimal, and the units of sizes may follow.
    ///
    /// # Errors
    /// It is not an integer, or out of its bounds.
    pub fn integer(&self, min: i64, max: i64) -> Result<i64> {
        let text = self.text()?;
        let (negative, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let size = i128::from(scaled(digits, self.kb_base)?);
        let value = if negative { -size } else { size };
        i64::try_from(value)
            .ok()
            .filter(|value| (min..=max).contains(value))
            .ok_or_else(|| OptionError::out_of_range(text, min, max))
    }

    /// A number with a fraction.
    ///
    /// # Errors
    /// It is not a number, or out of its bounds.
    pub fn number(&self, min: f64, max: f64) -> Result<f64> {
        let text = self.text()?.trim_end_matches('%');
        let number: f64 = text.parse().map_err(|_| OptionError::malformed(text, "number"))?;
        if number.is_finite() && (min..=max).contains(&number) {
            Ok(number)
        } else {
            Err(OptionError::out_of_range(text, min, max))
        }
    }

    /// A number of bytes.
    ///
    /// # Errors
    /// It is not a number, has an unknown unit, or is too large.
    pub fn size(&self) -> Result<Bytes> {
        scaled(self.text()?, self.kb_base).map(Bytes)
    }

    /// A number of bytes, or a percentage (`20%`, and `20%%` as some callers write it).
    ///
    /// # Errors
    /// It is neither.
    pub fn amount(&self) -> Result<Amount> {
        let text = self.text()?;
        if text.ends_with('%') {
            return self.number(0.0, 100.0).map(Amount::Percent);
        }
        self.size().map(Amount::Bytes)
    }

    /// A number of zones, as in `4z`; `None` where the value has another form.
    ///
    /// # Errors
    /// It is none before its `z`.
    pub fn zones(&self) -> Result<Option<u64>> {
        let Some(number) = self.text()?.strip_suffix(['z', 'Z']) else { return Ok(None) };
        self.part(number).integer(0, i64::from(u32::MAX)).map(|number| Some(number as u64))
    }

    /// A time; a bare number has the unit `unit`.
    ///
    /// # Errors
    /// It is not a time.
    pub fn time(&self, unit: Unit) -> Result<Nanos> {
        let text = self.text()?;
        let at = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, suffix) = text.split_at(at);
        let nanos = match suffix.trim().to_ascii_lowercase().as_str() {
            "" => match unit {
                Unit::Seconds => 1e9,
                Unit::Milliseconds => 1e6,
                Unit::Microseconds => 1e3,
                Unit::Nanoseconds => 1.0,
            },
            "ns" | "nsec" => 1.0,
            "us" | "usec" => 1e3,
            "ms" | "msec" => 1e6,
            "s" | "sec" => 1e9,
            "m" | "min" => 60e9,
            "h" | "hour" => 3600e9,
            "d" | "day" => 86_400e9,
            other => {
                return Err(OptionError::refused(
                    format!("`{other}` is not a unit of time"),
                    "use us, ms, s, m, h or d",
                ));
            }
        };
        let number: f64 = number.parse().map_err(|_| OptionError::malformed(text, "time"))?;
        let nanos = number * nanos;
        if nanos.is_finite() && nanos < 9.2e18 {
            Ok(Nanos(nanos as u64))
        } else {
            Err(OptionError::refused(format!("{} is too long", quoted(text)), "specify a shorter time"))
        }
    }

    /// One of these words.
    ///
    /// # Errors
    /// It is none of them.
    pub fn word(&self, words: &[&str]) -> Result {
        let text = self.text()?;
        if words.contains(&text) {
            Ok(())
        } else {
            Err(OptionError::unknown_word(text, words.iter().copied()))
        }
    }

    /// What one of these words stands for.
    ///
    /// # Errors
    /// It is none of them.
    pub fn choice<T: Copy>(&self, choices: &[(&str, T)]) -> Result<T> {
        let text = self.text()?;
        let found = choices.iter().find(|(name, _)| *name == text);
        found
            .map(|(_, value)| *value)
            .ok_or_else(|| OptionError::unknown_word(text, choices.iter().map(|(name, _)| *name)))
    }

    /// The values for reads, writes and trims of a list such as `4k,8k`: those that are left out at the end are as the one
    /// before; an empty one is left at `before`.
    ///
    /// # Errors
    /// A part is wrong, or there are more than three.
    pub fn triplet<T: Copy>(
        &self,
        before: [T; 3],
        parse: impl Fn(&OptionValue<'a>) -> Result<T>,
    ) -> Result<[T; 3]> {
        let parts: Vec<&str> = self.text()?.split(',').map(str::trim).collect();
        if parts.len() > 3 && parts[3..].iter().any(|part| !part.is_empty()) {
            return Err(OptionError::refused("it has more than three values", "reads, writes, trims"));
        }
        let mut values = before;
        let mut last = None;
        for (index, value) in values.iter_mut().enumerate() {
            match parts.get(index) {
                Some(part) if !part.is_empty() => {
                    *value = parse(&self.part(part))?;
                    last = Some(*value);
                }
                // A trailing comma says nothing; what is not there at all follows the one before.
                _ => {
                    if let Some(last) = last {
                        *value = last;
                    }
                }
            }
        }
        Ok(values)
    }
}

/// A number with a unit of size.
fn scaled(text: &str, kb_base: u64) -> Result<u64> {
    let text = text.trim();
    let lower = text.to_ascii_lowercase();
    if let Some(digits) = lower.strip_prefix("0x") {
        let end = digits.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(digits.len());
        return match (&digits[..end], &digits[end..]) {
            (number, "") => {
                u64::from_str_radix(number, 16).map_err(|_| OptionError::malformed(text, "number"))
            }
            _ => Err(OptionError::malformed(text, "hexadecimal number")),
        };
    }
    let at = lower.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(lower.len());
    let (number, suffix) = lower.split_at(at);
    let scale = scale(suffix.trim(), kb_base).ok_or_else(|| {
        OptionError::refused(format!("`{suffix}` is not a unit of size"), "use k, m, g, t or p")
    })?;
    let whole = number.parse::<u64>().ok().map(|number| number.checked_mul(scale));
    match whole {
        Some(Some(value)) => Ok(value),
        Some(None) => {
            Err(OptionError::refused(format!("{} is too large", quoted(text)), "specify a smaller one"))
        }
        None => match number.parse::<f64>() {
            Ok(number) if (number * scale as f64) < 1.8e19 => Ok((number * scale as f64) as u64),
            _ => Err(OptionError::malformed(text, "number")),
        },
    }
}

/// What a unit stands for.
fn scale(suffix: &str, kb_base: u64) -> Option<u64> {
    let (letter, rest) = match suffix.chars().next() {
        None | Some('b') if suffix.len() <= 1 => return Some(1),
        Some(letter) => (letter, &suffix[letter.len_utf8()..]),
        None => return Some(1),
    };
    let power = "kmgtp".find(letter)? as u32 + 1;
    // With a base of 1024 `kib` is 1000: historical, and kept for old job files.
    let base = match rest {
        "" | "b" | "i" => kb_base,
        "ib" => {
            if kb_base == 1024 {
                1000
            } else {
                1024
            }
        }
        _ => return None,
    };
    base.checked_pow(power)
}
