//! Numbers as fio's text shows them: so many significant figures, a unit, the other base in brackets.

/// How numbers are shown in normal text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Figures {
    /// `kb_base`: 1024 or 1000 comes first.
    pub kb_base: u64,
    /// `unit_base`: 1 for bits, otherwise bytes.
    pub unit_base: u8,
    /// `significant_figures`: digits of a number at most.
    pub significant: u32,
}

impl Default for Figures {
    /// Bytes in powers of 1024, four digits.
    fn default() -> Figures {
        Figures { kb_base: 1024, unit_base: 0, significant: 4 }
    }
}

const BINARY: [&str; 6] = ["", "Ki", "Mi", "Gi", "Ti", "Pi"];
const DECIMAL: [&str; 6] = ["", "k", "M", "G", "T", "P"];

impl Figures {
    /// A count: `16.0k`, `1632k`.
    pub(crate) fn count(self, value: f64) -> String {
        let (number, power) = scaled(value.round().max(0.0), 1000.0, self.significant);
        format!("{number}{}", DECIMAL[power])
    }

    /// A number of bytes in the first base: `64.0KiB`, or `65.5kB` with `kb_base` 1000.
    pub(crate) fn size(self, bytes: f64) -> String {
        self.bytes(bytes, self.kb_base)
    }

    /// The same in the other base.
    pub(crate) fn size_in_other(self, bytes: f64) -> String {
        self.bytes(bytes, if self.kb_base == 1000 { 1024 } else { 1000 })
    }

    /// Bytes a second, with the other base in brackets: `62.5MiB/s (65.5MB/s)`.
    pub(crate) fn rate_in_both(self, bytes: f64) -> String {
        let (first, other) = self.rate(bytes);
        format!("{first} ({other})")
    }

    /// Bytes a second in the first base and in the other; a plain 0 where there are none.
    pub(crate) fn rate(self, bytes: f64) -> (String, String) {
        if bytes.round() < 1.0 {
            return ("0".into(), "0".into());
        }
        let other = if self.kb_base == 1000 { 1024 } else { 1000 };
        (self.rate_in(bytes, self.kb_base), self.rate_in(bytes, other))
    }

    fn rate_in(self, bytes: f64, base: u64) -> String {
        if self.unit_base != 1 {
            return self.bytes(bytes, base) + "/s";
        }
        let (number, power) = scaled((bytes * 8.0).round(), base as f64, self.significant);
        format!("{number}{}bit/s", prefix(base, power))
    }

    fn bytes(self, bytes: f64, base: u64) -> String {
        let (number, power) = scaled(bytes.round().max(0.0), base as f64, self.significant);
        format!("{number}{}B", prefix(base, power))
    }
}

fn prefix(base: u64, power: usize) -> &'static str {
    if base == 1000 { DECIMAL[power] } else { BINARY[power] }
}

/// A whole number in at most so many digits, and the power of `base` that it is scaled by. The digits that are left behind
/// the point are counted before rounding: 9.999 becomes 10.00.
fn scaled(value: f64, base: f64, digits: u32) -> (String, usize) {
    let digits = digits.clamp(1, 20) as usize;
    let mut value = value;
    let mut power = 0;
    while whole_digits(value) > digits && power + 1 < DECIMAL.len() {
        value /= base;
        power += 1;
    }
    // A point takes the place of a digit.
    let decimals = if power == 0 { 0 } else { digits.saturating_sub(1 + whole_digits(value)) };
    (format!("{value:.decimals$}"), power)
}

fn whole_digits(value: f64) -> usize {
    let mut digits = 1;
    let mut rest = value.trunc();
    while rest >= 10.0 {
        rest /= 10.0;
        digits += 1;
    }
    digits
}

/// A time in at most six places, as in `max=3999.2k`.
pub(crate) fn in_six(value: f64) -> String {
    Figures { significant: 6, ..Figures::default() }.count(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_as_fio_shows_them() {
        let plain = Figures::default();
        for (value, text) in [
            (88.0, "88"),
            (9999.0, "9999"),
            (16_000.0, "16.0k"),
            (90_686.6, "90.7k"),
            (496_000.0, "496k"),
            (1_632_000.0, "1632k"),
            (0.0, "0"),
        ] {
            assert_eq!(plain.count(value), text);
        }
        for (bytes, text) in [
            (9216, "9216B"),
            (10_000, "9.77KiB"),
            (65_536, "64.0KiB"),
            (99_999, "97.7KiB"),
            (1_024_000, "1000KiB"),
            (10_484_736, "10.00MiB"),
            (8_388_608, "8192KiB"),
            (126_418_944, "121MiB"),
        ] {
            assert_eq!(plain.size(f64::from(bytes)), text);
        }
        assert_eq!(plain.rate_in_both(99_999_000.0), "95.4MiB/s (100.0MB/s)");
        assert_eq!(plain.rate_in_both(126_418_944_000.0), "118GiB/s (126GB/s)");
        assert_eq!(plain.rate_in_both(0.0), "0 (0)");
        assert_eq!(plain.size_in_other(65_536.0), "65.5kB");
    }

    #[test]
    fn bases_and_units_can_be_chosen() {
        let decimal = Figures { kb_base: 1000, ..Figures::default() };
        assert_eq!(decimal.rate_in_both(61_440_000.0), "61.4MB/s (58.6MiB/s)");
        let bits = Figures { unit_base: 1, ..Figures::default() };
        assert_eq!(bits.rate_in_both(65_536_000.0), "500Mibit/s (524Mbit/s)");
        let exact = Figures { significant: 6, ..Figures::default() };
        assert_eq!(exact.count(1_632_567.0), "1632.6k");
    }

    #[test]
    fn long_times_are_cut_to_six_places() {
        assert_eq!([in_six(8_035_800.0), in_six(251_294.0), in_six(25.0)], ["8035.8k", "251294", "25"]);
    }
}
