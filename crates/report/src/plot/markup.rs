//! Parts of a scalable picture (SVG): texts and colours.

use crate::styler::escaped;

/// Characters of a name in full.
pub(super) const NAME_CHARACTERS: usize = 200;

/// From one label of a vertical axis to the next at least.
pub(super) const LABEL_HEIGHT: f64 = 13.0;

/// A colour for a value from 0 to 1, from dark blue to yellow: lightness grows evenly, so that it holds in grey as well (the
/// end points and three between of matplotlib's viridis).
pub(super) fn color(share: f64) -> (u8, u8, u8) {
    const STOPS: [[f64; 3]; 5] = [
        [68.0, 1.0, 84.0],
        [59.0, 82.0, 139.0],
        [33.0, 145.0, 140.0],
        [94.0, 201.0, 98.0],
        [253.0, 231.0, 37.0],
    ];
    let at = if share.is_finite() { share.clamp(0.0, 1.0) * 4.0 } else { 0.0 };
    let below = (at.floor() as usize).min(3);
    let mix = |channel: usize| {
        let (from, to) = (STOPS[below][channel], STOPS[below + 1][channel]);
        (from + (to - from) * (at - below as f64)).round() as u8
    };
    (mix(0), mix(1), mix(2))
}

/// A text element; the content is escaped already.
pub(super) fn words(x: f64, y: f64, class: &str, anchor: &str, content: &str) -> String {
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" class=\"{class}\" text-anchor=\"{anchor}\">{content}</text>\n")
}

/// A text cut to a number of characters, without markup and without characters that XML does not allow or that hide or
/// reorder others.
pub(super) fn text(text: &str, characters: usize) -> String {
    let mut cut: String = text.chars().take(characters).collect();
    if text.chars().nth(characters).is_some() {
        cut.pop();
        cut.push('…');
    }
    let mut out = String::with_capacity(cut.len());
    for c in escaped(cut).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
