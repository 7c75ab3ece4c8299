//! Pictures in terminals that can show them.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

/// Bytes of a part of a picture at most, after encoding: what the protocol allows.
const PART: usize = 4096;

/// How a chart is drawn in a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TerminalPicture {
    /// By braille characters, in any terminal whose font has them.
    Braille,
    /// As a picture by the protocol of the terminal kitty, which other terminals have too.
    Kitty,
}

impl TerminalPicture {
    /// What a terminal can show by what it announces in the environment: variables by their names.
    pub fn announced(variable: impl Fn(&str) -> Option<String>) -> TerminalPicture {
        let set = |name| variable(name).filter(|value| !value.is_empty());
        // Multiplexers pass pictures on only if they are configured to.
        if set("TMUX").is_some() || set("STY").is_some() {
            return TerminalPicture::Braille;
        }
        let term = set("TERM").unwrap_or_default();
        let program = set("TERM_PROGRAM").unwrap_or_default().to_lowercase();
        let takes_pictures = set("KITTY_WINDOW_ID").is_some()
            || term.contains("kitty")
            || term.contains("ghostty")
            || ["kitty", "ghostty", "wezterm"].contains(&program.as_str());
        if takes_pictures { TerminalPicture::Kitty } else { TerminalPicture::Braille }
    }
}

/// A PNG as a terminal with kitty's graphics protocol shows it
/// (<https://sw.kovidgoyal.net/kitty/graphics-protocol/>): at the cursor, which goes below it.
pub fn kitty(png: &[u8]) -> String {
    let encoded = BASE64_STANDARD.encode(png);
    let mut out = String::with_capacity(encoded.len() + encoded.len() / 64 + 64);
    let mut rest = encoded.as_str();
    let mut control = "a=T,f=100,";
    loop {
        let (part, behind) = rest.split_at(rest.len().min(PART));
        rest = behind;
        let more = u8::from(!rest.is_empty());
        out += &format!("\u{1b}_G{control}m={more};{part}\u{1b}\\");
        control = "";
        if rest.is_empty() {
            return out + "\n";
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_sent_in_parts_that_make_it_up_again() {
        let png: Vec<u8> = (0..10_000u32).map(|at| (at * 7 % 251) as u8).collect();
        let sent = kitty(&png);
        let parts: Vec<(&str, &str)> = sent
            .trim_end()
            .split("\u{1b}\\")
            .filter(|part| !part.is_empty())
            .map(|part| part.strip_prefix("\u{1b}_G").unwrap().split_once(';').unwrap())
            .collect();
        let controls: Vec<&str> = parts.iter().map(|part| part.0).collect();
        assert_eq!(controls, ["a=T,f=100,m=1", "m=1", "m=1", "m=0"]);
        assert!(parts.iter().all(|part| part.1.len() <= PART));
        let all: String = parts.iter().map(|part| part.1).collect();
        assert_eq!(BASE64_STANDARD.decode(all).unwrap(), png);
    }

    #[test]
    fn a_terminal_announces_what_it_shows() {
        let of = |variables: &[(&str, &str)]| {
            TerminalPicture::announced(|name| {
                variables.iter().find(|(own, _)| *own == name).map(|(_, value)| (*value).to_owned())
            })
        };
        for variables in [
            &[("TERM", "xterm-kitty")][..],
            &[("TERM", "xterm-256color"), ("KITTY_WINDOW_ID", "1")],
            &[("TERM_PROGRAM", "WezTerm")],
            &[("TERM", "xterm-ghostty")],
        ] {
            assert_eq!(of(variables), TerminalPicture::Kitty, "{variables:?}");
        }
        for variables in
            [&[][..], &[("TERM", "xterm-256color")], &[("TERM", "xterm-kitty"), ("TMUX", "/tmp/tmux")]]
        {
            assert_eq!(of(variables), TerminalPicture::Braille, "{variables:?}");
        }
    }
}
