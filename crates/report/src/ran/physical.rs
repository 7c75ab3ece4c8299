//! Physical against logical counts as text: the counts side by side, then what they say.

use iolite_model::{Bytes, DatabaseFacts, DatabaseUse, DeviceCounters, Iops, Physical, Task};
use iolite_stats::PhaseResult;

use super::database::is_embedded;
use super::ratios::{Log, Logical, Ratios};
use crate::grid::{Line, columns};
use crate::run::{INDENT, Note, rendered};
use crate::styler::{Emphasis, Styler, count};
use crate::table::{NONE, percent};

const COLUMNS: usize = 5;

/// Bytes are left out first where there is no room.
const SPARED: [usize; 3] = [1, 3, 4];

/// A ratio this far from 1 is no longer 1 to a reader.
const ALIKE: f64 = 0.02;

/// The whole section.
pub(super) fn section(
    phase: &PhaseResult,
    used: &DatabaseUse,
    facts: Option<&DatabaseFacts>,
    styler: Styler,
) -> String {
    let ratios = Ratios::of(phase, used);
    let title = styler.clean(format_args!("physical against logical, over {}", used.observed));
    let mut out = styler.paint(Emphasis::Strong, &title) + "\n" + &counts(phase, used, styler);
    let counted = counted_by(facts);
    let notes = [
        unseen(used),
        ramp(phase, used),
        reads(phase, &ratios, counted),
        sets(phase, used, &ratios, counted),
        log(used, &ratios),
        writer(phase, used, &ratios),
        Some(cpu(used, facts, &ratios)),
    ];
    notes.iter().flatten().for_each(|note| out += &rendered(note, styler));
    out
}

/// The counts, a line for each that counted.
fn counts(phase: &PhaseResult, used: &DatabaseUse, styler: Styler) -> String {
    let logical = Logical::of(phase);
    let heading = ["reads", "bytes", "writes", "bytes", "syncs"].map(str::to_owned);
    let asked = [
        count(logical.reads),
        logical.read.to_string(),
        count(logical.sets),
        logical.set.to_string(),
        count(logical.commits),
    ];
    let mut lines = vec![Line::new("", heading), Line::new("requested", asked)];
    if let Some(data) = used.data_device {
        let label = if used.log_device.is_some() { "data device" } else { "device" };
        lines.push(Line::new(label, of_device(data)));
    }
    lines.extend(used.log_device.map(|log| Line::new("log device", of_device(log))));
    lines.extend(of_database(&used.database));
    columns(&lines, &SPARED, INDENT, styler)
}

/// What the database counts of its data and of its log; nothing where it counts nothing.
fn of_database(own: &Physical) -> Vec<Line<COLUMNS>> {
    if *own == Physical::default() {
        return Vec::new();
    }
    let number = |value: Option<u64>| value.map_or_else(|| NONE.to_owned(), count);
    let size = |value: Option<u64>| value.map_or_else(|| NONE.to_owned(), |bytes| Bytes(bytes).to_string());
    let data = [
        number(own.data_reads),
        size(own.data_read_bytes),
        number(own.data_writes),
        size(own.data_write_bytes),
        number(own.data_syncs),
    ];
    let log = [
        NONE.to_owned(),
        NONE.to_owned(),
        number(own.log_writes),
        size(own.log_write_bytes),
        number(own.log_syncs),
    ];
    vec![Line::new("database: data", data), Line::new("database: log", log)]
}

fn of_device(device: DeviceCounters) -> [String; COLUMNS] {
    let DeviceCounters { reads, read, writes, written, flushes } = device;
    [count(reads), read.to_string(), count(writes), written.to_string(), count(flushes)]
}

fn unseen(used: &DatabaseUse) -> Option<Note> {
    (used.data_device.is_none() && used.log_device.is_none()).then(|| {
        let mut text =
            "the device counters of the database are not available: it is on another host, or on a file system without a device"
                .to_owned();
        if used.database == Physical::default() {
            text.push_str("; the database does not count its own operations either");
        }
        Note::plain("device", text)
    })
}

fn ramp(phase: &PhaseResult, used: &DatabaseUse) -> Option<Note> {
    let ramp = Some(phase.info.task.ramp().known_time()).filter(|ramp| ramp.0 > 0)?;
    let text = format!("all counts refer to the whole {}, including the ramp of {ramp}", used.observed);
    Some(Note::plain("over", text))
}

/// Whose count of the database's calls it is. A database within this program counts nothing: the program does it in its place.
fn counted_by(facts: Option<&DatabaseFacts>) -> &'static str {
    match facts {
        Some(facts) if is_embedded(facts) => "according to iolite's count of the database's system calls",
        _ => "according to the database's own counters",
    }
}

/// What block reads took, or what sets had to read.
fn reads(phase: &PhaseResult, ratios: &Ratios, counted: &str) -> Option<Note> {
    if let Some(per_set) = ratios.device_reads_per_set {
        let text = format!(
            "{} device reads per set, including I/O of other programs: blocks that are not in the database's memory are read \
             before they are changed",
            short(per_set)
        );
        return (per_set > 0.0).then(|| Note::plain("reads", text));
    }
    let own = ratios.database_reads_per_read;
    let Some(device) = ratios.device_reads_per_read else {
        return own
            .map(|own| Note::plain("reads", format!("{} reads per block read, {counted}", short(own))));
    };
    let mut text = format!("{} device reads per block read", short(device));
    if let Some(own) = own {
        text += &format!(" ({} {counted})", short(own));
    }
    let sets = Logical::of(phase).sets > 0;
    if device < 1.0 - ALIKE {
        let cached = percent(ratios.cached_share.unwrap_or_default());
        text += &format!(": at least {cached} of the blocks came from a cache");
    } else if device > 1.0 + ALIKE {
        text.push_str(match sets {
            true => ", including reads caused by sets",
            false => ": other programs also read, or a block takes several reads",
        });
    } else {
        text.push_str(": no cache served them");
    }
    Some(Note::plain("reads", text))
}

/// What sets took in the data files and on the device.
fn sets(phase: &PhaseResult, used: &DatabaseUse, ratios: &Ratios, counted: &str) -> Option<Note> {
    let logical = Logical::of(phase);
    let mut parts = Vec::new();
    if let Some(own) = ratios.database_writes_per_set {
        let of_what = shared(own, "sets were coalesced into each", "all are still in its log and in memory");
        parts.push(format!("{} data writes per set {counted}{of_what}", short(own)));
    }
    if let (Some(writes), Some(bytes)) = (ratios.device_writes_per_set, ratios.device_written_bytes_per_set) {
        let whose = if used.log_device.is_some() { "" } else { ", the log's among them" };
        let of_what = match ratios.database_writes_per_set {
            Some(_) => String::new(),
            None => shared(writes, "sets were coalesced into each", "none has reached it"),
        };
        parts.push(format!(
            "{} device writes and {} per set of {}{whose}{of_what}",
            short(writes),
            bytes_of(bytes),
            bytes_of(logical.set.0 as f64 / logical.sets.max(1) as f64)
        ));
    }
    (!parts.is_empty()).then(|| Note::plain("sets", parts.join("; ")))
}

/// Number of logical operations per physical one; `none` is said where there is none.
fn shared(ratio: f64, how: &str, none: &str) -> String {
    match ratio {
        0.0 => format!(": {none}"),
        ratio if ratio < 1.0 - ALIKE => format!(": {} {how}", short(1.0 / ratio)),
        _ => String::new(),
    }
}

/// What commits took in the log.
fn log(used: &DatabaseUse, ratios: &Ratios) -> Option<Note> {
    let mut parts = Vec::new();
    if let (Some(set), Some(commit)) = (ratios.log_bytes_per_set, ratios.log_bytes_per_commit) {
        parts.push(format!("{} per set, {} per commit", bytes_of(set), bytes_of(commit)));
    }
    parts.extend(ratios.log_writes_per_commit.map(|writes| format!("{} writes per commit", short(writes))));
    if let Some(syncs) = ratios.log_syncs_per_commit {
        let of_what = shared(syncs, "commits share one", "the log is synced later, or written synchronously");
        parts.push(format!("{} syncs per commit{of_what}", short(syncs)));
    }
    if Log::of(used).by_device && !parts.is_empty() {
        parts.push("by its device".to_owned());
    } else {
        let flushes = ratios.device_flushes_per_commit;
        parts.extend(flushes.map(|flushes| format!("{} device flushes per commit", short(flushes))));
    }
    (!parts.is_empty()).then(|| Note::plain("log", parts.join(", ")))
}

/// When the database wrote its data files.
fn writer(phase: &PhaseResult, used: &DatabaseUse, ratios: &Ratios) -> Option<Note> {
    if let (Some(active), Some(share)) = (used.writer_active, ratios.writer_active) {
        let text =
            format!("data files were written during {active} of {} ({})", used.observed, percent(share));
        return Some(Note::plain("writer", text));
    }
    let unknown = "when data files were written is not known: the database does not count it";
    (Logical::of(phase).sets > 0).then(|| Note::plain("writer", unknown.to_owned()))
}

/// This program's own share.
fn cpu(used: &DatabaseUse, facts: Option<&DatabaseFacts>, ratios: &Ratios) -> Note {
    let mut text = format!("iolite used {}", used.tool_cpu);
    if let Some(cpus) = ratios.tool_cpus {
        text += &format!(" in {} ({} of one CPU)", used.observed, percent(cpus));
    }
    match (ratios.tool_of_host, used.host_cpu) {
        (Some(share), Some(busy)) => {
            text += &format!(": {} of the {busy} of CPU time used on this host", percent(share));
        }
        _ => text.push_str("; the CPU time used on this host is not known"),
    }
    if facts.is_some_and(is_embedded) {
        text.push_str("; this includes the database");
    }
    Note::plain("CPU", text)
}

/// Three digits.
fn short(ratio: f64) -> String {
    match ratio {
        0.0 => "0".to_owned(),
        ratio if ratio < 0.0995 => {
            let digits = (1.0 - ratio.log10().floor()).clamp(2.0, 9.0);
            format!("{ratio:.*}", digits as usize)
        }
        ratio if ratio < 9.995 => format!("{ratio:.2}"),
        ratio if ratio < 99.95 => format!("{ratio:.1}"),
        ratio => Iops(ratio).to_string(),
    }
}

fn bytes_of(bytes: f64) -> String {
    Bytes(bytes.round() as u64).to_string()
}

/// What the columns mean.
pub(super) fn legend(task: &Task, facts: Option<&DatabaseFacts>) -> String {
    let requested = match task {
        Task::Database(task) if !task.operation.writes() => "block reads",
        _ => "block reads, sets, commits",
    };
    let database = match facts {
        Some(facts) if is_embedded(facts) => "its system calls, counted by iolite",
        _ => "its own system calls",
    };
    format!("requested: {requested}; device: including I/O of other programs; database: {database}")
}
