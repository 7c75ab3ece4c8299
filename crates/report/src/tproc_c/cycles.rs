//! Cycles of checkpoints in the measured time of a phase.

use iolite_model::{CheckpointCycles, Nanos};
use iolite_stats::WholeCycles;
use serde_json::{Value, json};

use super::TprocCPhase;
use crate::run::Note;
use crate::styler::count;
use crate::table::percent;
use crate::words::number;

/// Starts, and rates of cycles, that are listed.
const LISTED: usize = 8;

/// How many cycles were measured, and when they started.
pub(super) fn checkpoints(cycles: &CheckpointCycles) -> Note {
    let mut text = format!("{:.1} checkpoint cycles in the measured time", cycles.cycles);
    match (cycles.has_starts, cycles.due.log) {
        (true, _) => {
            text += &format!(
                ", from {:.2} of one to {:.2} of one; {}",
                cycles.at[0],
                cycles.at[1],
                started(cycles)
            );
            text += &due(cycles);
        }
        (false, Some(log)) => text += &format!("; a cycle is {log} of redo log (the largest checkpoint age)"),
        (false, None) => {}
    }
    if let Some([start, end]) = cycles.age {
        text += &format!(
            "; {:.0} % of the largest checkpoint age at its start, {:.0} % at its end",
            100.0 * start,
            100.0 * end
        );
    }
    Note::plain("cycles", text)
}

fn started(cycles: &CheckpointCycles) -> String {
    let starts = cycles.within();
    match starts.len() {
        0 => "none started".to_owned(),
        many => format!("started at {}{}", list(starts.iter().map(seconds)), rest(many)),
    }
}

fn due(cycles: &CheckpointCycles) -> String {
    let (time, log) =
        (cycles.due.time.as_ref().map(seconds), cycles.due.log.map(|log| format!("{log} of log")));
    let due: Vec<String> = time.into_iter().chain(log).collect();
    if due.is_empty() { String::new() } else { format!("; due every {}", due.join(" or ")) }
}

/// The rate of whole cycles.
pub(super) fn whole(whole: &WholeCycles) -> Note {
    let rate = |rate: f64| count(rate.round() as u64);
    let each = match whole.each.len() {
        1 => String::new(),
        many => format!("; each: {}{}", list(whole.each.iter().map(|each| rate(*each))), rest(many)),
    };
    let text = format!(
        "{} NOPM ± {} over {} from {} to {}{each}",
        rate(whole.nopm.value),
        percent(whole.nopm.relative_half_width()),
        number(whole.each.len() as u32, "whole cycle", "whole cycles"),
        seconds(&whole.span[0]),
        seconds(&whole.span[1])
    );
    Note::plain("whole", text)
}

/// The cycles of each of several runs, where they are known of all.
pub(super) fn of_runs(phases: &[TprocCPhase<'_>]) -> Option<Note> {
    let all: Option<Vec<f64>> = phases.iter().map(|phase| Some(phase.cycles.as_ref()?.cycles)).collect();
    let all = all?;
    let text = list(all.iter().map(|cycles| format!("{cycles:.1}"))) + &rest(all.len());
    Some(Note::plain("cycles", format!("checkpoint cycles in the measured times: {text}")))
}

fn list(items: impl Iterator<Item = String>) -> String {
    items.take(LISTED).collect::<Vec<_>>().join(", ")
}

fn rest(all: usize) -> String {
    if all > LISTED { format!(" and {} more", all - LISTED) } else { String::new() }
}

fn seconds(time: &Nanos) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

/// The cycles in a document; null where they are not known.
pub(super) fn json(phase: &TprocCPhase<'_>) -> Value {
    let Some(cycles) = &phase.cycles else { return Value::Null };
    json!({
        "cycles": cycles.cycles,
        "whole": cycles.is_whole(),
        "at_start": cycles.at[0],
        "at_end": cycles.at[1],
        "started": cycles.within(),
        "has_starts": cycles.has_starts,
        "due_time": cycles.due.time,
        "due_log": cycles.due.log,
        "age_at_start": cycles.age.map(|age| age[0]),
        "age_at_end": cycles.age.map(|age| age[1]),
    })
}

/// The rate of whole cycles in a document; null where there are none.
pub(super) fn whole_json(phase: &TprocCPhase<'_>) -> Value {
    let Some(whole) = &phase.whole else { return Value::Null };
    json!({
        "start": whole.span[0],
        "end": whole.span[1],
        "nopm": whole.nopm.value,
        "nopm_low": whole.nopm.low,
        "nopm_high": whole.nopm.high,
        "each": whole.each,
    })
}
