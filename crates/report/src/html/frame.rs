//! The frame of every page: head, style, script, and what may be loaded.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

const STYLE: &str = include_str!("style.css");

const SCRIPT: &str = include_str!("chart.js");

/// What the script does besides in pages that follow what goes on; a page in a file asks nobody for anything.
const FOLLOW: &str = include_str!("follow.js");

/// What the script ends with.
const END: &str = "})();\n";

/// The script of the page.
fn script(frame: &Frame) -> String {
    match (frame.follow, SCRIPT.strip_suffix(END)) {
        (Some(_), Some(begin)) => format!("{begin}\n{FOLLOW}{END}"),
        _ => SCRIPT.to_owned(),
    }
}

/// What is around the content of a page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frame {
    /// Where the list of runs is, for pages that are served.
    pub home: Option<String>,
    /// Seconds after which the page is fetched again and what has changed is shown: of a run that goes on, and of the list.
    pub follow: Option<u32>,
}

/// What the page may load: nothing but its own style, the pictures that it draws to save them, and this one script, by its hash: no
/// markup in a name can be a script.
fn policy(frame: &Frame, script: &str) -> String {
    let hash = BASE64_STANDARD.encode(Sha256::digest(script.as_bytes()));
    let connect = if frame.follow.is_some() { "; connect-src 'self'" } else { "" };
    let form = if frame.home.is_some() { "; form-action 'self'" } else { "; form-action 'none'" };
    format!(
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; script-src 'sha256-{hash}'{form}{connect}"
    )
}

/// A whole page with this title and content.
pub fn framed(frame: &Frame, title: &str, content: &Markup) -> String {
    let script = script(frame);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(policy(frame, &script));
                link rel="icon" href="data:,";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body data-follow=[frame.follow] {
                @if let Some(home) = &frame.home { header { a href=(home) { "All runs" } } }
                main { (content) }
                script { (PreEscaped(&script)) }
            }
        }
    };
    page.into_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_page_that_is_served_asks_for_more() {
        let page = |follow| framed(&Frame { home: None, follow }, "title", &html! {});
        let (file, served) = (page(None), page(Some(5)));
        assert!(
            !file.contains("fetch(") && !file.contains("connect-src") && !file.contains("<body data-follow")
        );
        assert!(served.contains("fetch(") && served.contains("connect-src 'self'"));
        assert!(served.contains("<body data-follow=\"5\"") && served.contains("followLater();\n})();"));
    }
}
