//! What a phase's figures do not show: errors, operations that did not come back, whether the rate was kept, what
//! verification found.

use iolite_model::{
    CacheStamp, Ending, ErrorTally, Iops, Layer, Nanos, OpKind, Outstanding, RateKept, Stuck, Task, Verified,
};
use iolite_stats::{Change, Estimate, PhaseChanges, PhaseResult};

use crate::styler::{Emphasis, Styler, count};

/// Max stuck operations that are printed one by one.
const STUCK: usize = 8;

/// Changes that are reported one by one.
const CHANGES: usize = 8;

/// A note: what it is about, how bad it is, and what it says.
pub(crate) struct Note {
    pub(super) label: &'static str,
    pub(super) ink: Option<Emphasis>,
    pub(super) text: String,
}

impl Note {
    pub(crate) fn plain(label: &'static str, text: String) -> Note {
        Note { label, ink: None, text }
    }

    fn of(label: &'static str, ink: Emphasis, text: String) -> Note {
        Note { label, ink: Some(ink), text }
    }
}

/// All notes of a phase. `together` says that it did not run alone.
pub(super) fn notes(phase: &PhaseResult, together: bool) -> Vec<Note> {
    let end = &phase.end;
    let mut notes = Vec::new();
    notes.extend(end.rate.map(|rate| rate_kept(rate, &phase.info.task)));
    notes.extend(end.errors.iter().map(errors));
    notes.extend(unlisted_errors(phase));
    notes.extend(outstanding(phase));
    notes.extend(end.stuck.iter().take(STUCK).map(stuck));
    if let Some(more) = end.stuck.len().checked_sub(STUCK).filter(|&more| more > 0) {
        notes.push(Note::of("", Emphasis::Bad, format!("and {more} more")));
    }
    notes.extend(PhaseChanges::of(phase).iter().flat_map(changes));
    notes.extend(cache(phase, together));
    match &end.ending {
        Ending::Completed => {}
        Ending::Interrupted => notes.push(Note::of("ended", Emphasis::Caution, "interrupted".into())),
        Ending::Failed(error) => notes.push(Note::of("failed", Emphasis::Bad, error.clone())),
    }
    notes
}

fn rate_kept(rate: RateKept, task: &Task) -> Note {
    let RateKept { asked, achieved, backlog, kept } = rate;
    if kept {
        let behind =
            if backlog > 0 { format!(", {} behind at the end", count(backlog)) } else { String::new() };
        return Note::plain("rate", format!("reached: {asked} IOPS requested, {achieved} achieved{behind}"));
    }
    let text = format!(
        "NOT REACHED: {asked} IOPS requested, {achieved} achieved; {} operations were due but not yet issued at the end: the \
         storage does not reach this rate with {} outstanding",
        count(backlog),
        task.concurrency()
    );
    Note::of("rate", Emphasis::Caution, text)
}

fn errors(tally: &ErrorTally) -> Note {
    let ErrorTally { kind, class, count: number, first_offsets, first, number: _ } = tally;
    let offsets = first_offsets.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    let more = if *number > first_offsets.len() as u64 { "..." } else { "" };
    let places = if offsets.is_empty() { String::new() } else { format!("; at byte {offsets}{more}") };
    let times = if *number == 1 { "once".to_owned() } else { format!("{} times", count(*number)) };
    let text = format!("{} failed {times} ({}): {first}{places}", kind.name(), class.name());
    Note::of("errors", Emphasis::Bad, text)
}

/// Errors that were counted but are not listed.
fn unlisted_errors(phase: &PhaseResult) -> Option<Note> {
    let counted = OpKind::all().map(|kind| phase.totals.errors(kind)).sum::<u64>();
    let listed = phase.end.errors.is_empty() && counted > 0;
    listed.then(|| Note::of("errors", Emphasis::Bad, count(counted)))
}

/// What was in flight at the end, where it took its time or never completed.
fn outstanding(phase: &PhaseResult) -> Option<Note> {
    let Outstanding { at_end, lost, oldest, .. } = phase.end.outstanding;
    if lost > 0 {
        let what = match phase.info.task.layer() {
            Layer::Database => "database",
            _ => "device",
        };
        let text = format!(
            "{} operations never completed; the oldest was abandoned after {oldest}: the {what} hangs",
            count(lost)
        );
        return Some(Note::of("hung", Emphasis::Bad, text));
    }
    let longest = flow_max(phase);
    (at_end > 0 && phase.totals.drain_max > longest).then(|| {
        let text = format!(
            "of {} operations in flight at the end, the slowest took {}, longer than any before",
            count(at_end),
            Nanos(phase.totals.drain_max)
        );
        Note::of("drain", Emphasis::Caution, text)
    })
}

/// What did not stay as it was, each change with its instant.
fn changes(found: &PhaseChanges) -> Vec<Note> {
    let time = Nanos::from_secs_f64;
    let level = |level: &Estimate| {
        format!("{} IOPS ({} to {})", Iops(level.value), Iops(level.low), Iops(level.high))
    };
    let text = |change: &Change| match change {
        Change::LevelShift { at, before, after } => {
            format!(
                "at {} the rate went permanently from {} to {}; 95 % intervals, within this run",
                time(*at),
                level(before),
                level(after)
            )
        }
        Change::Stall { at, seconds } => {
            format!(
                "at {} there was a stall of {}: less than a tenth of the usual rate",
                time(*at),
                time(*seconds)
            )
        }
        Change::Periodic { seconds, amplitude } => {
            format!(
                "the rate oscillates with a period of {}, by {:.0} % of its mean",
                time(*seconds),
                amplitude * 100.0
            )
        }
    };
    let shown = found.changes.iter().take(CHANGES).map(text);
    let mut notes: Vec<Note> = shown.map(|text| Note::of("changed", Emphasis::Caution, text)).collect();
    if let Some(more) = found.changes.len().checked_sub(CHANGES).filter(|&more| more > 0) {
        notes.push(Note::of("", Emphasis::Caution, format!("and {more} more changes")));
    }
    notes
}

fn flow_max(phase: &PhaseResult) -> u64 {
    let max = |kind| phase.summary(kind).and_then(|summary| summary.max).map_or(0, |max| max.0);
    OpKind::all().map(max).max().unwrap_or(0)
}

fn stuck(stuck: &Stuck) -> Note {
    let Stuck { worker, kind, offset, age } = stuck;
    let text = format!("{} at byte {offset} of worker {worker}, in flight for {age}", kind.name());
    Note::of("stuck", Emphasis::Bad, text)
}

fn cache(phase: &PhaseResult, together: bool) -> Option<Note> {
    let cache = phase.end.cache;
    if cache.requested_read.0 + cache.requested_written.0 == 0 {
        return None;
    }
    let whose = if together { " (of all phases that ran together)" } else { "" };
    let stamp = cache.stamp();
    let caveat = !matches!(stamp, CacheStamp::Device | CacheStamp::Unknown);
    let (ink, meaning) = (caveat.then_some(Emphasis::Caution), stamp.meaning());
    Some(Note { label: "cache", ink, text: format!("{stamp}: {meaning}{whose}") })
}

/// What verification found, after a label, with the first findings.
pub(super) fn verified(found: &Verified, label: &str, styler: Styler) -> String {
    let Verified { units, wrong, unknown, unreadable, incomplete, damage, first } = found;
    let bad = *wrong + *unreadable > 0;
    let mut parts = Vec::new();
    parts.push(match (bad, *units) {
        (true, _) => {
            format!("WRONG: {} of {} units differ from the data written", count(*wrong), count(*units))
        }
        (false, 0) => "nothing was compared".to_owned(),
        (false, _) => format!("all {} units match the data written", count(*units)),
    });
    let kinds = damage.iter().map(|(damage, units)| format!("{} {}", count(*units), damage.name()));
    parts.extend(kinds);
    if *unreadable > 0 {
        parts.push(format!("{} could not be read", count(*unreadable)));
    }
    if *unknown > 0 {
        parts.push(format!("{} could not be compared (not written, or being written)", count(*unknown)));
    }
    if *incomplete {
        parts.push("verification is incomplete: interrupted".to_owned());
    }
    let ink = if bad {
        Some(Emphasis::Bad)
    } else if *incomplete || *units == 0 {
        Some(Emphasis::Caution)
    } else {
        None
    };
    let painted = ink.map_or(label.to_owned(), |ink| styler.paint(ink, label));
    let mut out = styler.item(&painted, label.len(), parts.join("; "));
    let indent = " ".repeat(label.len());
    for finding in first {
        out +=
            &styler.item(&indent, label.len(), format_args!("at byte {}: {}", finding.offset, finding.what));
    }
    out
}
