//! How text reaches the terminal: escaped, wrapped, with or without colour and Unicode.

use std::fmt::Display;
use std::io::{self, Write};

use anstyle::AnsiColor;
use iolite_model::Iops;
use unicode_width::UnicodeWidthStr;

/// Columns of running text at most: longer lines are hard to read. Tables may be wider.
const TEXT: usize = 120;

/// What the terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// ANSI colours; without, the text holds no escape sequence at all.
    pub color: bool,
    /// Characters beyond ASCII; without, the text is pure ASCII.
    pub unicode: bool,
    /// Columns of a terminal: tables that are wider are folded, and text is wrapped, at 120 at most. Less than 60 is taken as 60.
    pub width: usize,
}

/// What a piece of text means, for its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Emphasis {
    /// Green.
    Good,
    /// Yellow.
    Caution,
    /// Red.
    Bad,
    /// Bold without a colour.
    Strong,
}

/// Writes in a style.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Styler(pub(crate) Style);

impl Styler {
    /// Columns that may be used.
    pub(crate) fn width(self) -> usize {
        self.0.width.max(60)
    }

    /// Columns of running text, and of what is drawn in a line.
    pub(crate) fn text_width(self) -> usize {
        self.width().min(TEXT)
    }

    /// The first text where Unicode is allowed, else the second.
    pub(crate) fn glyph(self, unicode: &'static str, ascii: &'static str) -> &'static str {
        if self.0.unicode { unicode } else { ascii }
    }

    /// A text that came from elsewhere (a device, a path, an error) made harmless: see [`escaped`]. Without Unicode,
    /// units and letters that have an ASCII spelling get it and all else is escaped.
    pub(crate) fn clean(self, text: impl Display) -> String {
        spelled(escaped(text), self.0.unicode)
    }

    /// The text in a colour, where colours are on.
    pub(crate) fn paint(self, ink: Emphasis, text: &str) -> String {
        let bold = anstyle::Style::new().bold();
        let style = match ink {
            Emphasis::Good => bold.fg_color(Some(AnsiColor::Green.into())),
            Emphasis::Caution => bold.fg_color(Some(AnsiColor::Yellow.into())),
            Emphasis::Bad => bold.fg_color(Some(AnsiColor::Red.into())),
            Emphasis::Strong => bold,
        };
        if self.0.color { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }

    /// The cleaned text after a label of the given width in columns, wrapped, with the further lines indented to it.
    pub(crate) fn item(self, label: &str, indent: usize, text: impl Display) -> String {
        let mut out = String::from(label);
        for (number, line) in self.wrap(&self.clean(text), indent).iter().enumerate() {
            if number > 0 {
                out.push_str(&" ".repeat(indent));
            }
            out.push_str(line);
            out.push('\n');
        }
        out
    }

    /// Lines that fit beside an indentation. A word longer than the line stays whole: paths are there to be copied.
    fn wrap(self, text: &str, indent: usize) -> Vec<String> {
        let room = self.text_width().saturating_sub(indent).max(20);
        let mut lines = vec![String::new()];
        for word in with_units(text) {
            let word = word.as_str();
            if let Some(line) =
                lines.last_mut().filter(|line| line.is_empty() || line.width() + 1 + word.width() <= room)
            {
                if !line.is_empty() {
                    line.push(' ');
                }
                line.push_str(word);
            } else {
                lines.push(word.to_owned());
            }
        }
        lines
    }
}

/// A text for a terminal, of several lines perhaps, without escape sequences; without `unicode`, in ASCII.
pub fn harmless(text: &str, unicode: bool) -> String {
    let lines: Vec<String> = text.split('\n').map(|line| spelled(escaped(line), unicode)).collect();
    lines.join("\n")
}

/// Standard error for lines of text, which are in ASCII where they may not be Unicode.
pub(crate) fn plain_stderr(unicode: bool) -> Box<dyn Write + Send> {
    if unicode { Box::new(io::stderr()) } else { Box::new(Ascii(io::stderr())) }
}

/// What is written in whole characters, as formatted text is, in ASCII.
struct Ascii<W>(W);

impl<W: Write> Write for Ascii<W> {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        let spelled = spelled(String::from_utf8_lossy(text).into_owned(), false);
        self.0.write_all(spelled.as_bytes()).map(|()| text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// The text, in ASCII where it may not be Unicode.
fn spelled(text: String, unicode: bool) -> String {
    if unicode || text.is_ascii() {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match spelling(c) {
            Some(ascii) => out.push_str(ascii),
            None if c.is_ascii() => out.push(c),
            None => out.extend(c.escape_default()),
        }
    }
    out
}

/// The words of a text, a number and its unit as one.
fn with_units(text: &str) -> Vec<String> {
    const UNITS: [&str; 12] = ["%", "ns", "µs", "us", "ms", "s", "B", "KiB", "MiB", "GiB", "TiB", "IOPS"];
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let is_unit = UNITS.contains(&word.trim_end_matches(|c: char| c.is_ascii_punctuation() && c != '%'));
        let number = |last: &&mut String| is_unit && last.ends_with(|c: char| c.is_ascii_digit());
        match words.last_mut().filter(number) {
            Some(last) => *last += &format!(" {word}"),
            None => words.push(word.to_owned()),
        }
    }
    words
}

/// The sections that say anything, an empty line between them.
pub(crate) fn filled(sections: impl IntoIterator<Item = String>) -> String {
    let filled: Vec<_> = sections.into_iter().filter(|section| !section.is_empty()).collect();
    filled.join("\n")
}

/// A text with everything escaped that a terminal could act on or that would hide or reorder what is read: control
/// characters, line separators, and the invisible and bidirectional formatting characters of Unicode.
///
/// Names of devices, files and mount points are in the hands of whoever made them.
pub(crate) fn escaped(text: impl Display) -> String {
    let text = text.to_string();
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_unsafe(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out
}

/// A count with its thousands separated.
pub fn count(value: u64) -> String {
    // A rate below ten would show a decimal.
    if value < 10 { value.to_string() } else { Iops(value as f64).to_string() }
}

/// `17 errors`.
pub(crate) fn errors(value: u64) -> String {
    format!("{} {}", count(value), if value == 1 { "error" } else { "errors" })
}

/// Whether a character must not reach a terminal as it is.
pub(crate) fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{feff}' | '\u{200b}'..='\u{200f}')
        || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}')
        || matches!(c, '\u{e0000}'..='\u{e0fff}')
}

/// How ASCII spells a character that iolite itself prints.
fn spelling(c: char) -> Option<&'static str> {
    Some(match c {
        'µ' | 'μ' => "u",
        '±' => "+/-",
        'σ' => "sigma",
        'κ' => "kappa",
        'λ' => "lambda",
        '×' => "x",
        '≤' => "<=",
        '≥' => ">=",
        '–' | '—' | '−' => "-",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PLAIN: Style = Style { color: false, unicode: true, width: 60 };

    #[test]
    fn lines_outside_of_utf_8_are_ascii() {
        let mut out = Ascii(Vec::new());
        let (iops, mean) = (7, "41.2 µs");
        writeln!(out, "random read: {iops} IOPS, mean {mean}").unwrap();
        assert_eq!(String::from_utf8(out.0).unwrap(), "random read: 7 IOPS, mean 41.2 us\n");
    }

    #[test]
    fn what_a_terminal_could_act_on_is_escaped() {
        assert_eq!(escaped("a\x1b[2J\u{9b}\r\n\u{202e}b"), "a\\u{1b}[2J\\u{9b}\\r\\n\\u{202e}b");
        assert_eq!(Styler(PLAIN).clean("41.2 µs, Größe"), "41.2 µs, Größe");
        assert_eq!(
            Styler(Style { unicode: false, ..PLAIN }).clean("41.2 µs, Größe"),
            "41.2 us, Gr\\u{f6}\\u{df}e"
        );
    }

    #[test]
    fn long_text_is_wrapped_under_its_label() {
        let text = "the device moved 2 GiB for 1 GiB asked: something else uses it, or reads are amplified";
        insta::assert_snapshot!(Styler(PLAIN).item("1. ", 3, text), @r#"
1. the device moved 2 GiB for 1 GiB asked: something else
   uses it, or reads are amplified
"#);
    }

    proptest! {
        #[test]
        fn no_text_escapes(text in any::<String>(), unicode in any::<bool>(), indent in 0usize..200) {
            let out = Styler(Style { unicode, ..PLAIN }).item("", indent, &text);
            prop_assert!(out.chars().all(|c| c == '\n' || !is_unsafe(c)), "{out:?}");
            prop_assert!(unicode || out.is_ascii(), "{out:?}");
        }
    }
}
