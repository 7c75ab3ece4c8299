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
    /// As a picture of DEC's sixel graphics.
    Sixel,
}

/// Version of Konsole from which it shows sixel graphics, as it announces it: 22.04.
const KONSOLE_WITH_SIXEL: u32 = 220_400;

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
        let konsole = set("KONSOLE_VERSION").and_then(|version| version.parse::<u32>().ok());
        let takes_sixels = ["foot", "mlterm", "contour", "yaft"].iter().any(|name| term.starts_with(name))
            || ["contour", "iterm.app"].contains(&program.as_str())
            || konsole.is_some_and(|version| version >= KONSOLE_WITH_SIXEL);
        match (takes_pictures, takes_sixels) {
            (true, _) => TerminalPicture::Kitty,
            (_, true) => TerminalPicture::Sixel,
            _ => TerminalPicture::Braille,
        }
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

/// Why a PNG can't be shown as sixel graphics.
#[derive(Debug, thiserror::Error)]
pub enum SixelPictureError {
    /// It can't be read.
    #[error("the picture cannot be read: {0}")]
    Picture(#[from] png::DecodingError),
    /// It can't be encoded.
    #[error("the picture cannot be encoded: {0}")]
    Encoding(#[from] icy_sixel::SixelError),
}

/// A PNG in DEC's sixel graphics (<https://vt100.net/docs/vt3xx-gp/chapter14.html>), with a palette of its own colours: at the cursor,
/// which goes below it.
///
/// # Errors
/// The bytes are no PNG, or one of a size that sixel graphics do not have.
pub fn sixel(png: &[u8]) -> Result<String, SixelPictureError> {
    let mut decoder = png::Decoder::new(std::io::Cursor::new(png));
    decoder.set_transformations(png::Transformations::normalize_to_color8() | png::Transformations::ALPHA);
    let mut reader = decoder.read_info()?;
    let mut pixels = vec![0; reader.output_buffer_size().unwrap_or_default()];
    let info = reader.next_frame(&mut pixels)?;
    pixels.truncate(info.buffer_size());
    let picture = icy_sixel::SixelImage::from_rgba(pixels, info.width as usize, info.height as usize);
    Ok(picture.encode()? + "\n")
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
        for variables in [
            &[("TERM", "foot")][..],
            &[("TERM", "mlterm-256color")],
            &[("TERM", "xterm-256color"), ("KONSOLE_VERSION", "220401")],
            &[("TERM_PROGRAM", "iTerm.app")],
        ] {
            assert_eq!(of(variables), TerminalPicture::Sixel, "{variables:?}");
        }
        for variables in [
            &[][..],
            &[("TERM", "xterm-256color")],
            &[("TERM", "xterm-kitty"), ("TMUX", "/tmp/tmux")],
            &[("TERM", "foot"), ("STY", "1")],
            &[("TERM", "xterm-256color"), ("KONSOLE_VERSION", "210800")],
        ] {
            assert_eq!(of(variables), TerminalPicture::Braille, "{variables:?}");
        }
    }
}
