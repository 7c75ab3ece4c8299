//! The frame of every page: head, style, script, and what may be loaded.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

const STYLE: &str = include_str!("style.css");

const SCRIPT: &str = include_str!("chart.js");

/// What is around the content of a page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frame {
    /// Where the list of runs is, for pages that are served.
    pub home: Option<String>,
    /// Seconds after which the page is loaded again: of a run that goes on.
    pub reload: Option<u32>,
}

/// What the page may load: nothing but its own style, the pictures that it draws to save them, and this one script, by its hash: no
/// markup in a name can be a script.
fn policy(frame: &Frame) -> String {
    let hash = BASE64_STANDARD.encode(Sha256::digest(SCRIPT.as_bytes()));
    let form = if frame.home.is_some() { "; form-action 'self'" } else { "; form-action 'none'" };
    format!(
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; script-src 'sha256-{hash}'{form}"
    )
}

/// A whole page with this title and content.
pub fn framed(frame: &Frame, title: &str, content: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(policy(frame));
                @if let Some(seconds) = frame.reload { meta http-equiv="refresh" content=(seconds); }
                link rel="icon" href="data:,";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                @if let Some(home) = &frame.home { header { a href=(home) { "All runs" } } }
                main { (content) }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string()
}
