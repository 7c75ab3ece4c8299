//! Stall attribution as text and JSON: what the outliers of each phase fall into.

use iolite_model::{BlockLatency, Nanos, StallParts, StalledOperation, StallsFound};
use iolite_results::Run;
use serde_json::{Value, json};

use crate::styler::{Emphasis, Style, Styler, count};
use crate::words::database::at_once;

/// Operations that are printed one by one.
const SHOWN: usize = 4;
/// Phases up to which the operations and devices of each are printed; of the steps of a sweep, only a sentence and the longest one.
const FEW_PHASES: usize = 2;

/// The phases whose outliers were attributed.
pub(crate) fn of(run: &Run) -> Vec<(u32, StallsFound)> {
    let numbers = run.phases.iter().map(|phase| phase.info.index);
    numbers.filter_map(|number| Some((number, run.of_phase(number)?))).collect()
}

/// What a document has as `stalls`; `None` where nothing was found.
pub(crate) fn member(run: &Run) -> Option<Value> {
    let found = of(run);
    (!found.is_empty()).then(|| found.iter().map(|(phase, found)| json(*phase, found)).collect())
}

/// What was found; empty where nothing was asked for.
pub(crate) fn text(run: &Run, style: Style) -> String {
    let styler = Styler(style);
    let found = of(run);
    if found.is_empty() {
        return String::new();
    }
    let mut out = styler.paint(Emphasis::Strong, "slowest operations") + "\n";
    let few = found.len() <= FEW_PHASES;
    for (number, stalls) in &found {
        let name = name(run, *number, found.len() > 1);
        out += &styler.item("", 2, format_args!("{name}: {}", sentence(stalls)));
        for operation in stalls.longest.iter().take(if few { SHOWN } else { 1 }) {
            out += &styler.item("    ", 6, described(operation, stalls.traced));
        }
        for latency in stalls.devices.iter().filter(|_| few) {
            out += &styler.item("    ", 6, device(latency));
        }
    }
    if !few {
        out += &styler.item(
            "",
            2,
            "latency of the devices in each phase: see the JSON document (iolite results json)",
        );
    }
    out
}

/// A phase's name; of several that have the same, with what distinguishes them.
fn name(run: &Run, number: u32, several: bool) -> String {
    let Some(phase) = run.phases.iter().find(|phase| phase.info.index == number) else {
        return String::new();
    };
    let task = &phase.info.task;
    let same = run.phases.iter().filter(|other| other.info.task.name() == task.name()).count();
    if !several || same < 2 {
        return task.name().to_owned();
    }
    format!("{}. {}, {}", u64::from(number) + 1, task.name(), at_once(task))
}

/// For example: 23 of 10,000 operations took longer than 5 ms; in 15 the device itself took most of the time...
fn sentence(found: &StallsFound) -> String {
    let bound = match found.quantile {
        Some(quantile) => format!("{} (p{})", found.bound, quantile * 100.0),
        None => found.bound.to_string(),
    };
    let mut text = format!(
        "{} of {} operations took longer than {bound}",
        count(found.outliers),
        count(found.operations)
    );
    if found.examined == 0 {
        return text;
    }
    if found.examined < found.outliers {
        text += &format!("; of these, the longest {} are attributed", count(found.examined));
    }
    let neither = if found.traced {
        "neither (file system, throttle, system call, CPU)"
    } else {
        "the operation once issued"
    };
    let parts = [
        (found.device, "the device itself"),
        (found.scheduler, "the I/O scheduler"),
        (found.waiting, "the wait until they were issued"),
        (found.elsewhere, neither),
    ];
    let took = parts.iter().filter(|(operations, _)| *operations > 0);
    for (number, (operations, what)) in took.enumerate() {
        let verb = if number == 0 { " took most of the time" } else { "" };
        text += &format!("{} {what}{verb} in {}", if number == 0 { ";" } else { "," }, count(*operations));
    }
    for beside in &found.beside {
        text += &format!(
            "; {} of {} coincide with {} (in progress {:.1} % of the time)",
            count(beside.operations),
            count(found.examined),
            beside.cause.name(),
            beside.share_of_time * 100.0
        );
    }
    if found.lost_events > 0 {
        text += &format!("; {} events of the trace were lost", count(found.lost_events));
    }
    text
}

fn described(operation: &StalledOperation, traced: bool) -> String {
    let StallParts { waiting, scheduler, device, elsewhere } = operation.parts;
    let mut parts = vec![(waiting, "until issued")];
    if traced {
        parts.extend([(scheduler, "in the scheduler"), (device, "in the device"), (elsewhere, "elsewhere")]);
    } else {
        parts.push((elsewhere, "once issued"));
    }
    let parts: Vec<String> = parts
        .iter()
        .filter(|(time, _)| *time > Nanos(0))
        .map(|(time, where_to)| format!("{time} {where_to}"))
        .collect();
    let beside: Vec<&str> = operation.beside.iter().map(|cause| cause.name()).collect();
    let beside = if beside.is_empty() { String::new() } else { format!("; beside {}", beside.join(", ")) };
    format!(
        "{} at {:.3} s: {}: {}{beside}",
        operation.kind.name(),
        operation.at.as_secs_f64(),
        operation.parts.response(),
        parts.join(", ")
    )
}

fn device(latency: &BlockLatency) -> String {
    let [p50, p99, p999] = latency.in_device;
    format!(
        "{} {}: {} {}; in the device p50 {p50}, p99 {p99}, p99.9 {p999}; in the scheduler p99 {}",
        latency.device,
        latency.class.name(),
        count(latency.requests),
        if latency.requests == 1 { "request" } else { "requests" },
        latency.scheduler[1]
    )
}

/// Of a phase: `phase`, `bound_ns`, `quantile`, `operations`, `outliers`, `examined`, `traced`, `largest_part` (outliers by `device`,
/// `scheduler`, `waiting`, `elsewhere`), `beside`, `longest`, `devices`, `lost_events`.
pub(crate) fn json(phase: u32, found: &StallsFound) -> Value {
    let longest = |operation: &StalledOperation| {
        json!({
            "kind": operation.kind.name(),
            "at_ns": operation.at.0,
            "waiting_ns": operation.parts.waiting.0,
            "scheduler_ns": operation.parts.scheduler.0,
            "device_ns": operation.parts.device.0,
            "elsewhere_ns": operation.parts.elsewhere.0,
            "beside": operation.beside,
        })
    };
    let three = |[p50, p99, p999]: [Nanos; 3]| json!({ "p50": p50.0, "p99": p99.0, "p99_9": p999.0 });
    let device = |latency: &BlockLatency| {
        json!({
            "device": latency.device,
            "class": latency.class,
            "requests": latency.requests,
            "scheduler_ns": three(latency.scheduler),
            "device_ns": three(latency.in_device),
        })
    };
    json!({
        "phase": phase,
        "bound_ns": found.bound.0,
        "quantile": found.quantile,
        "operations": found.operations,
        "outliers": found.outliers,
        "examined": found.examined,
        "traced": found.traced,
        "largest_part": {
            "device": found.device,
            "scheduler": found.scheduler,
            "waiting": found.waiting,
            "elsewhere": found.elsewhere,
        },
        "beside": found.beside,
        "longest": found.longest.iter().map(longest).collect::<Vec<_>>(),
        "devices": found.devices.iter().map(device).collect::<Vec<_>>(),
        "lost_events": found.lost_events,
    })
}

#[cfg(test)]
mod tests {
    use iolite_model::{OpKind, StallCause, StallsBeside};

    use super::*;

    fn found() -> StallsFound {
        let parts =
            StallParts { device: Nanos(9_000_000), elsewhere: Nanos(1_000_000), ..StallParts::default() };
        let beside = vec![StallCause::Flush];
        StallsFound {
            bound: Nanos(5_000_000),
            quantile: None,
            operations: 10_000,
            outliers: 23,
            examined: 23,
            traced: true,
            waiting: 0,
            scheduler: 2,
            device: 15,
            elsewhere: 6,
            beside: vec![StallsBeside { cause: StallCause::Flush, operations: 17, share_of_time: 0.1 }],
            longest: vec![StalledOperation { kind: OpKind::Read, at: Nanos(1_500_000_000), parts, beside }],
            devices: Vec::new(),
            lost_events: 0,
        }
    }

    #[test]
    fn the_sentence_says_what_took_the_time() {
        let expected = "23 of 10,000 operations took longer than 5.00 ms; the device itself took most of the time in 15, the I/O \
                        scheduler in 2, neither (file system, throttle, system call, CPU) in 6; 17 of 23 coincide with a flush of the device \
                        (in progress 10.0 % of the time)";
        assert_eq!(sentence(&found()), expected);
        let longest = described(&found().longest[0], true);
        assert_eq!(
            longest,
            "read at 1.500 s: 10.0 ms: 9.00 ms in the device, 1.00 ms elsewhere; beside a flush of the device"
        );
    }

    #[test]
    fn without_a_trace_nothing_is_said_of_the_device() {
        let untraced = StallsFound { traced: false, device: 0, scheduler: 0, elsewhere: 23, ..found() };
        assert!(!sentence(&untraced).contains("device itself"), "{}", sentence(&untraced));
        assert_eq!(json(0, &untraced)["largest_part"]["elsewhere"], 23);
    }
}
