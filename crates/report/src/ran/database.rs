//! The database under test, one fact a line.

use iolite_model::{DatabaseFacts, TimedBy};

use crate::machine::line;
use crate::styler::{Styler, count};

/// The lines below the machine's.
pub(crate) fn describe(facts: &DatabaseFacts, styler: Styler) -> String {
    let mut lines = vec![
        ("database", engine(facts)),
        ("contents", holds(facts)),
        ("reads", facts.read_path.clone()),
        ("sets", facts.write_path.clone()),
        ("direct", direct(facts.direct).to_owned()),
        ("durable", format!("{}: {}", facts.durability.name(), facts.durable_by)),
        ("timed", timed(facts).to_owned()),
    ];
    if !facts.settings.is_empty() {
        let settings = facts.settings.iter().map(|(name, value)| format!("{name} {value}"));
        lines.push(("settings", settings.collect::<Vec<_>>().join(", ")));
    }
    lines.into_iter().map(|(label, text)| line(styler, label, text)).collect()
}

/// Whether the database runs within this program, so that its CPU time is this program's.
pub(super) fn is_embedded(facts: &DatabaseFacts) -> bool {
    facts.url.starts_with("sqlite:")
}

fn engine(facts: &DatabaseFacts) -> String {
    let mut text = format!("{} {}", facts.engine, facts.version);
    if !facts.namespace.is_empty() {
        text += &format!(", {}", facts.namespace);
    }
    if is_embedded(facts) {
        text.push_str(", inside the iolite process");
    }
    text
}

fn holds(facts: &DatabaseFacts) -> String {
    format!(
        "{}; {} blocks of {} to read; {}",
        facts.size,
        count(facts.blocks),
        facts.block,
        globals(&facts.globals)
    )
}

/// `10 globals × 1,000,000 subscripts`.
fn globals(sizes: &[u64]) -> String {
    let (Some(&min), Some(&max)) = (sizes.iter().min(), sizes.iter().max()) else {
        return "no globals".to_owned();
    };
    let number = count(sizes.len() as u64);
    let globals = if sizes.len() == 1 { "global" } else { "globals" };
    if min == max {
        format!("{number} {globals} × {} subscripts", count(max))
    } else {
        format!("{number} {globals} of {} to {} subscripts", count(min), count(max))
    }
}

fn direct(direct: bool) -> &'static str {
    if direct {
        "yes: block reads bypass the page cache"
    } else {
        "no: block reads may be served by the page cache"
    }
}

fn timed(facts: &DatabaseFacts) -> &'static str {
    match facts.timed_by {
        TimedBy::Client if is_embedded(facts) => "by the client, around each call",
        TimedBy::Client => "by the client, around each call, including the round trip to the database",
        TimedBy::Database => {
            "by the database, which runs whole batches; response times exclude the round trip"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globals_are_reported_by_their_sizes() {
        let rendered = [&[] as &[u64], &[1_000_000], &[1_000_000; 10], &[900_000, 1_000_000, 5]].map(globals);
        insta::assert_snapshot!(rendered.join("\n"), @"
    no globals
    1 global × 1,000,000 subscripts
    10 globals × 1,000,000 subscripts
    3 globals of 5 to 1,000,000 subscripts
    ");
    }
}
