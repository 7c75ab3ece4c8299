//! Units as types: a raw integer never has to be guessed at.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize, de};

/// A duration or an instant since some stated origin, in nanoseconds. Read from a number of nanoseconds or a text as
/// `5ms`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize)]
#[serde(transparent)]
pub struct Nanos(pub u64);

/// A size in bytes. Read from a number of bytes or a text as `8KiB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// A rate in operations per second.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Iops(pub f64);

/// A rate in bytes per second. Read from a number of bytes or a text as `50MB` or `50MB/s`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize)]
#[serde(transparent)]
pub struct Bandwidth(pub f64);

/// A quantile between 0 and 1: 0.99 is the 99th percentile.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Quantile(pub f64);

/// Why a text is not a quantity; says what was expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// Neither a number nor a known unit.
    #[error("`{text}` is not a {what}: specify a number and a unit, for example {example}")]
    Unreadable {
        /// What was written.
        text: String,
        /// The quantity that was expected.
        what: &'static str,
        /// How it is written.
        example: &'static str,
    },
    /// A number that could be meant in several units: seconds or milliseconds, bytes or, as PerfTools take it, gigabytes.
    #[error("`{text}` has no unit: specify {} or {}", examples[0], examples[1])]
    NoUnit {
        /// What was written.
        text: String,
        /// The same number with units that are likely meant.
        examples: [String; 2],
    },
}

impl UnitError {
    fn no_unit(text: &str, examples: [String; 2]) -> UnitError {
        UnitError::NoUnit { text: text.into(), examples }
    }
}

/// Reads a quantity that is a number in a unit of its own or a text: what programs and users write.
struct NumberOrText<T> {
    whole: fn(u64) -> T,
    /// `None` where only whole numbers will do.
    real: Option<fn(f64) -> T>,
}

impl<T: FromStr<Err = UnitError>> de::Visitor<'_> for NumberOrText<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, or a text with a unit")
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<T, E> {
        Ok((self.whole)(number))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        let whole =
            u64::try_from(number).map_err(|_| E::invalid_value(de::Unexpected::Signed(number), &self))?;
        Ok((self.whole)(whole))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<T, E> {
        let real = self.real.ok_or_else(|| E::invalid_type(de::Unexpected::Float(number), &self))?;
        Ok(real(number))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }
}

impl<'de> Deserialize<'de> for Nanos {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Nanos, D::Error> {
        deserializer.deserialize_any(NumberOrText { whole: Nanos, real: None })
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
        deserializer.deserialize_any(NumberOrText { whole: Bytes, real: None })
    }
}

impl<'de> Deserialize<'de> for Bandwidth {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Bandwidth, D::Error> {
        let whole = |number| Bandwidth(number as f64);
        deserializer.deserialize_any(NumberOrText { whole, real: Some(Bandwidth) })
    }
}

impl Nanos {
    /// One second.
    pub const SECOND: Nanos = Nanos(1_000_000_000);
    /// One millisecond.
    pub const MILLISECOND: Nanos = Nanos(1_000_000);

    /// A duration from seconds; negative or non-finite values become zero, too large ones the largest.
    pub fn from_secs_f64(seconds: f64) -> Nanos {
        Nanos((seconds * 1e9) as u64)
    }

    /// The duration in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The duration in milliseconds.
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// The duration as the standard library's type.
    pub fn as_duration(self) -> Duration {
        Duration::from_nanos(self.0)
    }

    /// `self - other`, or zero when `other` is larger.
    pub fn saturating_sub(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(other.0))
    }
}

impl Bytes {
    /// One kibibyte.
    pub const KIB: Bytes = Bytes(1 << 10);
    /// One mebibyte.
    pub const MIB: Bytes = Bytes(1 << 20);
    /// One gibibyte.
    pub const GIB: Bytes = Bytes(1 << 30);

    /// The largest multiple of `unit` that is not above this size; `unit` 0 leaves it as it is.
    pub fn round_down(self, unit: u64) -> Bytes {
        Bytes(self.0.checked_div(unit).map_or(self.0, |units| units * unit))
    }

    /// The greatest common divisor of two sizes (Euclid's algorithm); that of 0 and a size is the size.
    pub fn common_divisor(mut self, mut other: Bytes) -> Bytes {
        while other.0 > 0 {
            (self, other) = (other, Bytes(self.0 % other.0));
        }
        self
    }
}

impl From<Duration> for Nanos {
    fn from(duration: Duration) -> Nanos {
        Nanos(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for Nanos {
    /// Three significant digits in the unit a reader would choose: `41.2 µs`, `0.63 ms` is `630 µs`, `1.30 s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0 as f64;
        let text = match self.0 {
            0..=999 => format!("{} ns", self.0),
            1_000..=999_499 => format!("{} µs", three_digits(ns / 1e3)),
            999_500..=999_499_999 => format!("{} ms", three_digits(ns / 1e6)),
            _ => format!("{} s", three_digits(ns / 1e9)),
        };
        f.pad(&text)
    }
}

impl fmt::Display for Bytes {
    /// Three significant digits with a binary unit: `8 KiB`, `1.50 GiB`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
        if self.0 < 1024 {
            return f.pad(&format!("{} B", self.0));
        }
        let mut value = self.0 as f64 / 1024.0;
        let mut unit = 0;
        while value >= 999.5 && unit + 1 < UNITS.len() {
            value /= 1024.0;
            unit += 1;
        }
        let number = if value.fract() == 0.0 { format!("{value:.0}") } else { three_digits(value) };
        f.pad(&format!("{number} {}", UNITS[unit]))
    }
}

impl fmt::Display for Iops {
    /// A whole number with thousands separated: `65,513`; one decimal below ten.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 10.0 {
            f.pad(&format!("{:.1}", self.0))
        } else {
            f.pad(&thousands(self.0.round() as u64))
        }
    }
}

impl fmt::Display for Bandwidth {
    /// As sizes are printed: `47.7 MiB/s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}/s", Bytes(self.0.round() as u64)))
    }
}

impl fmt::Display for Quantile {
    /// As the field writes percentiles: `p50`, `p99.9`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = format!("{:.4}", self.0 * 100.0);
        f.pad(&format!("p{}", percent.trim_end_matches('0').trim_end_matches('.')))
    }
}

impl FromStr for Nanos {
    type Err = UnitError;

    /// A number with `ns`, `us`/`µs`, `ms`, `s`, `m`/`min`, `h` or `d`; only 0 needs no unit.
    fn from_str(text: &str) -> Result<Nanos, UnitError> {
        let error = || UnitError::Unreadable { text: text.into(), what: "duration", example: "5ms or 90s" };
        let (number, unit) = split(text).ok_or_else(error)?;
        let factor = match unit {
            "ns" => 1.0,
            "us" | "µs" | "usec" => 1e3,
            "ms" | "msec" => 1e6,
            "s" | "sec" => 1e9,
            "" if number == 0.0 => 1.0,
            "" => return Err(UnitError::no_unit(text, [format!("{number}s"), format!("{number}ms")])),
            "m" | "min" => 60e9,
            "h" => 3600e9,
            "d" => 86_400e9,
            _ => return Err(error()),
        };
        scaled(number, factor).map(Nanos).ok_or_else(error)
    }
}

impl FromStr for Bytes {
    type Err = UnitError;

    /// A number with `B`, with `K`, `M`, `G`, `T` (or `KiB`...), powers of 1024, or with `KB`, `MB`, `GB`, `TB`, powers of 1000;
    /// only 0 needs no unit.
    fn from_str(text: &str) -> Result<Bytes, UnitError> {
        let error = || UnitError::Unreadable { text: text.into(), what: "size", example: "4GiB or 512M" };
        let (number, unit) = split(text).ok_or_else(error)?;
        let factor = match unit.to_ascii_lowercase().as_str() {
            "b" => 1.0,
            "" if number == 0.0 => 1.0,
            "" => return Err(UnitError::no_unit(text, [format!("{number}GiB"), format!("{number}B")])),
            "k" | "kib" => 1024.0,
            "m" | "mib" => 1024f64.powi(2),
            "g" | "gib" => 1024f64.powi(3),
            "t" | "tib" => 1024f64.powi(4),
            "kb" => 1e3,
            "mb" => 1e6,
            "gb" => 1e9,
            "tb" => 1e12,
            _ => return Err(error()),
        };
        scaled(number, factor).map(Bytes).ok_or_else(error)
    }
}

impl FromStr for Bandwidth {
    type Err = UnitError;

    /// A size, with or without `/s`.
    fn from_str(text: &str) -> Result<Bandwidth, UnitError> {
        let size: Result<Bytes, UnitError> = text.trim().trim_end_matches("/s").parse();
        let error = |_| UnitError::Unreadable { text: text.into(), what: "bandwidth", example: "50MB/s" };
        size.map(|bytes| Bandwidth(bytes.0 as f64)).map_err(error)
    }
}

/// A count with its thousands separated by commas: `1,234,567`.
fn thousands(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn three_digits(value: f64) -> String {
    match value {
        v if v < 9.995 => format!("{v:.2}"),
        v if v < 99.95 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

fn split(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let number = text[..end].parse().ok()?;
    Some((number, text[end..].trim()))
}

fn scaled(number: f64, factor: f64) -> Option<u64> {
    let value = number * factor;
    (value.is_finite() && value >= 0.0 && value < u64::MAX as f64).then_some(value.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn durations_read_as_people_write_them() {
        for (text, nanos) in [
            ("5ms", 5_000_000),
            ("90s", 90_000_000_000),
            ("0", 0),
            ("1.5 us", 1_500),
            ("2d", 172_800_000_000_000),
        ] {
            assert_eq!(text.parse::<Nanos>(), Ok(Nanos(nanos)), "{text}");
        }
        for text in ["", "ms", "-5ms", "5 parsecs", "1e400", "NaN", "inf", "99999999999999h"] {
            assert!(text.parse::<Nanos>().is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_know_binary_from_decimal() {
        for (text, bytes) in [
            ("4GiB", 4 << 30),
            ("4G", 4 << 30),
            ("4GB", 4_000_000_000),
            ("512B", 512),
            ("0", 0),
            ("0.5k", 512),
        ] {
            assert_eq!(text.parse::<Bytes>(), Ok(Bytes(bytes)), "{text}");
        }
    }

    #[test]
    fn numbers_without_a_unit_are_refused_with_likely_units() {
        let refused = |error: Option<UnitError>| error.map(|error| error.to_string());
        let time = refused("100".parse::<Nanos>().err());
        assert_eq!(time.as_deref(), Some("`100` has no unit: specify 100s or 100ms"));
        let size = refused("0.5".parse::<Bytes>().err());
        assert_eq!(size.as_deref(), Some("`0.5` has no unit: specify 0.5GiB or 0.5B"));
        assert!("100".parse::<Bandwidth>().is_err());
    }

    #[test]
    fn quantities_print_in_the_unit_a_reader_would_choose() {
        let durations =
            [0, 999, 41_230, 630_000, 999_600, 2_000_000, 12_345_000_000].map(|n| Nanos(n).to_string());
        assert_eq!(durations, ["0 ns", "999 ns", "41.2 µs", "630 µs", "1.00 ms", "2.00 ms", "12.3 s"]);
        let sizes = [512, 8192, 1_610_612_736, 1_048_000].map(|n| Bytes(n).to_string());
        assert_eq!(sizes, ["512 B", "8 KiB", "1.50 GiB", "1.00 MiB"]);
        assert_eq!(
            [Iops(6144.4), Iops(2.25), Iops(1e6)].map(|i| i.to_string()),
            ["6,144", "2.2", "1,000,000"]
        );
        assert_eq!(
            [0.5, 0.99, 0.999, 0.99999].map(|q| Quantile(q).to_string()),
            ["p50", "p99", "p99.9", "p99.999"]
        );
    }

    #[test]
    fn quantities_are_read_from_numbers_and_texts() {
        let nanos = |json| serde_json::from_str::<Nanos>(json).map_err(|error| error.to_string());
        assert_eq!(nanos("5"), Ok(Nanos(5)));
        assert_eq!(nanos("18446744073709551615"), Ok(Nanos(u64::MAX)));
        assert_eq!(nanos("\"5ms\""), Ok(Nanos(5_000_000)));
        assert!(nanos("-1").is_err() && nanos("1.5").is_err() && nanos("\"soon\"").is_err());
        assert_eq!(serde_json::to_string(&Nanos(7)).unwrap(), "7");
        let bandwidth = |json| serde_json::from_str::<Bandwidth>(json).unwrap();
        assert_eq!([bandwidth("1.5"), bandwidth("\"50MB/s\"")], [Bandwidth(1.5), Bandwidth(50e6)]);
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parsers_panic(text in ".{0,24}") {
            let _ = (text.parse::<Nanos>(), text.parse::<Bytes>());
        }

        #[test]
        fn printed_durations_read_back_within_their_digits(nanos in 0u64..4_000_000_000_000) {
            let back: Nanos = Nanos(nanos).to_string().parse().unwrap();
            prop_assert!(back.0.abs_diff(nanos) as f64 <= nanos as f64 * 0.006);
        }
    }
}
