//! Documents of iolite's that have no table of their own keys: what they are, what all documents have in common, and the rest by
//! its names and units.

use serde_json::{Map, Value};

use super::iolite;
use super::tree::{Unit, Walk, brief};
use crate::styler::{Emphasis, Styler, count, filled};

/// The documents, without their versions, and what they are.
const DOCUMENTS: &[(&str, &str)] = &[
    ("iolite-ran/", "a run of RanRead, RanWrite or RanIO inside a database"),
    ("iolite-sweep/", "a sweep: RanRead, RanWrite or RanIO with an increasing number of jobs"),
    ("iolite-history/", "list of runs of RanRead, RanWrite or RanIO"),
    ("iolite-tproc-c/", "a run of TPROC-C inside a database"),
    ("iolite-tproc-c-check/", "results of the consistency conditions of TPROC-C"),
    ("iolite-classic/", "figures of dd, Bonnie++ and IOzone"),
    ("iolite-pts/", "a run of the SNIA Performance Test Specification on a drive"),
    ("iolite-iometer/", "a run of Iometer's access specifications"),
    ("iolite-observe/", "activity of the host and its devices, without a workload of iolite"),
    ("iolite-cachestat/", "hits and misses of the page cache"),
    ("iolite-waits/", "wait events of the sessions of a database"),
    ("iolite-durability-run/", "acknowledged writes until a crash"),
    ("iolite-durability/", "result of a check for acknowledged writes after a crash"),
    ("iolite-verified/", "result of verifying the data written by an earlier run"),
    ("iolite-tables/", "tables of figures with their intervals, and what they say"),
    ("iolite-ab/", "comparison of two jobs, run alternately"),
    ("iolite-comparison/", "comparison of stored runs"),
    ("iolite-runs/", "list of stored runs"),
    ("iolite-ratios/", "ratios of the best and the worst results of stored runs"),
];

/// Keys that several documents have, and what they mean.
const GLOSSARY: &[(&str, &str)] = &[
    ("iops", "operations per second"),
    ("nopm", "New-Order transactions per minute (NOPM)"),
    ("tpm", "transactions per minute counted by the server"),
    ("jobs", "number of concurrent sessions"),
    ("users", "virtual users"),
    ("mean", "the mean; hides a few operations that took very long"),
    ("p50", "half of the operations took less"),
    ("p95", "one in twenty took longer"),
    ("p99", "one in a hundred took longer"),
    ("p99_9", "one in a thousand took longer"),
    ("max", "the longest"),
    ("low", "lower limit of the 95 % confidence interval"),
    ("high", "upper limit of the 95 % confidence interval"),
    ("cache", "how much of what was requested reached the device"),
    ("stamp", "whether the device was measured (`device`) or memory (`cached`)"),
    ("knee", "load beyond which more load gains little"),
    ("plateau", "rate that more load does not increase"),
    ("physical", "physical I/O of the database and its devices"),
    ("database", "the database, with the settings that matter"),
    ("settings", "what was configured"),
    ("steady", "whether the figure no longer changed"),
    ("difference", "of the second to the first, with its uncertainty"),
    ("lost", "acknowledged, and not there"),
    ("missing", "not there"),
    ("wrong", "differ from the data written"),
    ("waits", "what sessions waited for, by share of their time"),
    ("durability", "what a commit has done when it returns"),
    ("steps", "step by step"),
    ("runs", "run by run"),
    ("rounds", "round by round"),
    ("cells", "mix by mix and size by size"),
];

/// Members of a list that are walked through; the others are alike.
const SHOWN: usize = 1;

/// What a document is; `None` where it is none of these.
pub(super) fn what(format: &str) -> Option<&'static str> {
    DOCUMENTS.iter().find(|(known, _)| format.starts_with(known)).map(|(_, what)| *what)
}

/// Walks through a document.
pub(super) fn explain(document: &Value, what: &str, all: bool, styler: Styler) -> String {
    let walk = Walk { all, styler };
    let empty = Map::new();
    let top = document.as_object().unwrap_or(&empty);
    let (common, own): (Map<_, _>, Map<_, _>) = top
        .clone()
        .into_iter()
        .filter(|(key, _)| key != "warnings")
        .partition(|(key, _)| iolite::is_common(key));
    let list = document.get("warnings").and_then(Value::as_array).into_iter().flatten();
    let warned = list.filter_map(|warning| warning.get("text")?.as_str());
    let head = styler.paint(Emphasis::Strong, &format!("a result of iolite: {what}"))
        + "\n"
        + &walk.object(&common, iolite::TOP, 0)
        + &super::caveats(warned, styler);
    filled([head, fields(walk, &own, 0), super::legend(all, styler)])
}

/// Walks through the answer to a question in SQL: rows with the columns that the question has named.
pub(super) fn explain_rows(rows: &[Value], all: bool, styler: Styler) -> String {
    let walk = Walk { all, styler };
    let number = count(rows.len() as u64);
    let head = format!(
        "{number} {}, as printed by `iolite results sql --json`",
        if rows.len() == 1 { "row" } else { "rows" }
    );
    let mut text = styler.paint(Emphasis::Strong, &head) + "\n";
    text += &styler.item("", 0, "each column has the name given by the query; units follow from the names");
    let shown = if all { rows.len() } else { SHOWN };
    for (number, row) in rows.iter().filter_map(Value::as_object).take(shown).enumerate() {
        text += &walk.line(false, &format!("row {}", number + 1), "", 0);
        text += &fields(walk, row, 1);
    }
    filled([text, super::legend(all, styler)])
}

/// The fields of an object, each with its unit and, where it is known, its meaning.
fn fields(walk: Walk, object: &Map<String, Value>, depth: usize) -> String {
    object
        .iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(key, value)| field(walk, key, value, depth))
        .collect()
}

fn field(walk: Walk, key: &str, value: &Value, depth: usize) -> String {
    let known = GLOSSARY.iter().find(|(known, _)| *known == key);
    let text = known.map_or("", |(_, text)| *text);
    match value {
        Value::Object(inner) => walk.line(false, key, text, depth) + &fields(walk, inner, depth + 1),
        Value::Array(members) => {
            let shown = if walk.all { members.len() } else { SHOWN };
            let head = walk.line(false, &format!("{key}: {} entries", members.len()), text, depth);
            let member = |(number, member): (usize, &Value)| match member {
                Value::Object(inner) => {
                    walk.line(false, &format!("{key} {}", number + 1), "", depth + 1)
                        + &fields(walk, inner, depth + 2)
                }
                other => walk.line(false, &brief(other, Unit::Plain), "", depth + 1),
            };
            head + &members.iter().take(shown).enumerate().map(member).collect::<String>()
        }
        value => walk.line(known.is_some(), &format!("{key}: {}", brief(value, unit(key))), text, depth),
    }
}

/// The unit that a key's name says.
fn unit(key: &str) -> Unit {
    let units = [
        ("unix_ns", Unit::Plain),
        ("_ns", Unit::Nanos),
        ("_seconds", Unit::Seconds),
        ("bytes_per_second", Unit::BytesPerSecond),
        ("_bytes", Unit::Bytes),
        ("_percent", Unit::Percent),
        ("iops", Unit::Iops),
        ("_share", Unit::Share),
    ];
    units.into_iter().find(|(suffix, _)| key.ends_with(suffix)).map_or(Unit::Plain, |(_, unit)| unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::styler::Style;

    const STYLE: Style = Style { color: false, unicode: true, width: 100 };

    #[test]
    fn fields_have_the_unit_of_their_name_and_lists_are_shown_by_their_first_member() {
        let document = serde_json::json!({
            "format": "iolite-tproc-c/1",
            "warnings": [{"kind": "x", "text": "it was cold"}],
            "steps": [{"users": 1, "response_ns": 1_500_000, "written_bytes": 8192}, {"users": 2}],
            "\u{1b}[2Jname": "x",
        });
        let text = explain(&document, what("iolite-tproc-c/1").unwrap(), false, Styler(STYLE));
        for part in ["a run of TPROC-C", "it was cold", "1.50 ms", "8 KiB", "virtual users", "2 entries"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains('\u{1b}') && !text.contains("users: 2"), "{text}");
        assert_eq!(what("iolite-tproc-c-check/1"), Some("results of the consistency conditions of TPROC-C"));
        assert_eq!(what("iolite-unknown/1"), None);
    }
}
