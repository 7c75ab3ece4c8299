//! What differs between runs besides their figures.

use iolite_model::{CacheStamp, Iops};
use iolite_stats::PhaseChanges;
use serde_json::Value;

use super::figures::{Matched, Part};
use super::settings::settings;
use crate::run::Run;

/// Longest value that is quoted.
const QUOTED: usize = 60;

/// What differs in a part: settings, cache stamps, errors, rates that were not kept.
pub(super) fn of_part(matched: &Matched<'_>) -> Vec<String> {
    let (before, after) = (matched.before[0], matched.after[0]);
    let name = &before.name;
    let mut said = Vec::new();
    let (one, other) = (settings(&before.phase.info.task), settings(&after.phase.info.task));
    let mut names: Vec<&String> = one.keys().chain(other.keys()).collect();
    names.sort();
    names.dedup();
    let changed = names.into_iter().filter(|name| one.get(*name) != other.get(*name));
    let changed: Vec<_> = changed
        .map(|name| format!("{name} {} -> {}", quoted(one.get(name)), quoted(other.get(name))))
        .collect();
    if !changed.is_empty() {
        said.push(format!("`{name}` was run with different settings: {}.", changed.join(", ")));
    }
    said.extend(stamps(matched));
    for (side, parts) in [("before", &matched.before), ("after", &matched.after)] {
        let failed: u64 = parts.iter().map(|part| part.phase.errors()).sum();
        if failed > 0 {
            said.push(format!(
                "`{name}`: {failed} operations failed {side}; the figures do not include failed operations."
            ));
        }
        if parts.iter().any(|part| part.phase.end.rate.is_some_and(|rate| !rate.kept)) {
            said.push(format!(
                "`{name}`: the requested rate was not reached {side}, so response times grow with the duration."
            ));
        }
        said.extend(parts.iter().find_map(|part| changed_rate(part, side)));
    }
    said
}

/// That the rate went from one level to another within a run of a side: the mean is that of neither.
fn changed_rate(part: &Part, side: &str) -> Option<String> {
    let changes = PhaseChanges::of(&part.phase)?;
    let levels = changes.levels(&part.phase, changes.operation);
    let text: Vec<_> = levels.iter().map(|level| Iops(level.value).to_string()).collect();
    (!text.is_empty()).then(|| {
        format!(
            "`{}`: the rate changed permanently in mid-run {side} ({} IOPS); the figures are means over these levels.",
            part.name,
            text.join(" > ")
        )
    })
}

/// Whether as much of the I/O reached the devices.
fn stamps(matched: &Matched<'_>) -> Option<String> {
    let of = |parts: &[&Part]| {
        let mut stamps: Vec<CacheStamp> = parts.iter().map(|part| part.phase.end.cache.stamp()).collect();
        stamps.dedup_by_key(|stamp| std::mem::discriminant(stamp));
        stamps
    };
    let (before, after) = (of(&matched.before), of(&matched.after));
    let kinds = |stamps: &[CacheStamp]| stamps.iter().map(std::mem::discriminant).collect::<Vec<_>>();
    if kinds(&before) == kinds(&after) && before.len() == 1 {
        return None;
    }
    let list =
        |stamps: &[CacheStamp]| stamps.iter().map(CacheStamp::to_string).collect::<Vec<_>>().join(", ");
    Some(format!(
        "Not comparable: `{}` had the cache stamp {} before and {} after; one side measured a cache and the other the device, or \
         this is unknown.",
        matched.before[0].name,
        list(&before),
        list(&after)
    ))
}

/// What differs between the runs as wholes: commands of another kind, machines, storage, versions.
pub(super) fn of_runs(before: &[&Run], after: &[&Run]) -> Vec<String> {
    let device = |run: &Run| {
        let leaves: Vec<_> = run.info.storage.leaves().map(|device| device.name.clone()).collect();
        leaves.join(", ")
    };
    let procedure = |run: &Run| run.asked().map(|asked| asked.procedure).unwrap_or_default();
    let said = [
        ("commands of another kind", list(before, after, &procedure)),
        ("other machines", list(before, after, &|run| run.info.host.name.clone())),
        ("other kernels", list(before, after, &|run| run.info.host.kernel.clone())),
        ("other devices", list(before, after, &device)),
        ("other file systems", list(before, after, &|run| run.info.storage.filesystem.kind.clone())),
        ("other versions of iolite", list(before, after, &|run| run.info.version.clone())),
        ("other databases", list(before, after, &engines)),
    ];
    let said = said.into_iter().filter_map(|(what, differing)| Some((what, differing?)));
    let said = said.map(|(what, differing)| format!("The runs are of {what}: {differing}."));
    said.chain(rehearsals(before, after)).collect()
}

/// Which runs are rehearsals of SNIA's specification.
fn rehearsals(before: &[&Run], after: &[&Run]) -> Option<String> {
    let rehearsals = before.iter().chain(after).filter_map(|run| Some((run, run.rehearsal()?)));
    let named: Vec<_> = rehearsals.map(|(run, scale)| format!("{} (scale {scale})", run.info.id.0)).collect();
    let verb = if named.len() == 1 { "is a rehearsal" } else { "are rehearsals" };
    (!named.is_empty())
        .then(|| format!("{} {verb}: the figures do not conform to the specification.", named.join(" and ")))
}

fn engines(run: &Run) -> String {
    let mut engines: Vec<_> =
        run.databases.values().map(|facts| format!("{} {}", facts.engine, facts.version)).collect();
    engines.dedup();
    engines.join(", ")
}

/// `before -> after`, where they differ.
fn list(before: &[&Run], after: &[&Run], of: &dyn Fn(&Run) -> String) -> Option<String> {
    let all = |runs: &[&Run]| {
        let mut values: Vec<String> = runs.iter().map(|run| of(run)).collect();
        values.sort();
        values.dedup();
        values
    };
    let (one, other) = (all(before), all(after));
    if one == other && one.len() <= 1 {
        return None;
    }
    let text = |values: &[String]| values.iter().map(|value| named(value)).collect::<Vec<_>>().join(" and ");
    Some(format!("{} -> {}", text(&one), text(&other)))
}

fn named(value: &str) -> String {
    if value.is_empty() { "none".to_owned() } else { shortened(value) }
}

fn quoted(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => "none".to_owned(),
        Some(Value::String(text)) => shortened(text),
        Some(value) => shortened(&value.to_string()),
    }
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= QUOTED {
        return text.to_owned();
    }
    text.chars().take(QUOTED - 3).collect::<String>() + "..."
}
