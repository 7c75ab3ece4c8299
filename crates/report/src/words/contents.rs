//! Contents of what is written, in words.

use iolite_model::{Bytes, Contents, Duplicates, Fill, Lifetime};

use crate::styler::count;

/// What is written, where it is not the usual random bytes.
pub(super) fn contents(contents: &Contents) -> Vec<String> {
    let mut parts = Vec::new();
    match &contents.fill {
        Fill::Random => {}
        Fill::Zeros => parts.push("zeros".to_owned()),
        Fill::Pattern(_) => parts.push("a pattern".to_owned()),
        Fill::Compressible { percent, chunk, .. } => {
            let of = match chunk {
                Bytes(4096) => String::new(),
                Bytes(0) => " of each block".to_owned(),
                chunk => format!(" of every {chunk}"),
            };
            parts.push(format!("{percent} % compressible{of}"));
        }
    }
    if contents.duplicate_percent > 0 {
        let of = match contents.duplicates {
            Duplicates::Set(16) => String::new(),
            Duplicates::Set(blocks) => format!(" of {} blocks", count(blocks)),
            Duplicates::Common(blocks) => format!(" of {} blocks of all jobs", count(blocks)),
            Duplicates::Previous => " of the block before".to_owned(),
        };
        parts.push(format!("{} % duplicates{of}", contents.duplicate_percent));
    }
    if !contents.refill {
        parts.push("the same buffers repeatedly".to_owned());
    }
    parts.extend(contents.lifetime.map(|lifetime| {
        let lifetime = match lifetime {
            Lifetime::None => "no particular",
            Lifetime::Short => "a short",
            Lifetime::Medium => "a medium",
            Lifetime::Long => "a long",
            Lifetime::Extreme => "an extremely long",
        };
        format!("data with {lifetime} lifetime")
    }));
    parts
}
