//! Any run as its command prints it: live at its end, or read back from the store.

use iolite_model::{BlockPoint, CachePoint, Conclusion, ReadAheadPoint};
use iolite_results::Run;
use serde_json::Value;

use crate::study::Circumstance;
use crate::styler::{Style, filled};
use crate::{
    ab, cachestat, check, classic, configuration, durability, iometer, latency_target, meanwhile, observed,
    pts, ran, result_table, run as job, stalls, study, sweep, tproc_c, waits,
};

/// How a run is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Terminal output.
    Text,
    /// For readers who want only the answer; the text where a command has no shorter one.
    Short,
    /// One JSON document.
    Json,
}

/// The output of a run: what its command prints when it ends.
pub fn show(run: &Run, format: Format, style: Style) -> String {
    match of_procedure(run, Output { format, style }) {
        Shown::Json(document) => format!("{document:#}\n"),
        Shown::Text(text) if format == Format::Short => text,
        Shown::Text(text) => {
            // A run without phases, such as an observation, is about nothing else, or over at once.
            let meanwhile = if run.phases.is_empty() { String::new() } else { meanwhile::text(run, style) };
            filled([text, stalls::text(run, style), configuration::text(run, style), meanwhile])
        }
    }
}

#[derive(Clone, Copy)]
struct Output {
    format: Format,
    style: Style,
}

/// The output of a run without what was sampled meanwhile.
enum Shown {
    Text(String),
    Json(Value),
}

fn of_procedure(run: &Run, to: Output) -> Shown {
    match run.procedure().as_str() {
        "check" if to.format == Format::Short => Shown::Text(check::judgement(run, to.style)),
        "check" => whole(run, to, check::text, check::json),
        "ab" => about(run, to, ab::text, ab::json),
        "latency-target" => about(run, to, latency_target::text, latency_target::json),
        "durability" => about(run, to, durability::text, durability::json),
        "durability-run" => about(run, to, durability::run_text, durability::run_json),
        "observe" => whole(run, to, observed::text, observed::json),
        "cachestat" => whole(run, to, cachestat::text, cachestat::json),
        "classic" => about(run, to, classic::text, classic::json),
        "iometer" => about(run, to, iometer::text, iometer::json),
        "pts" => about(run, to, pts::text, pts::json),
        "verify" => about(run, to, job::verified_text, job::verified_json),
        CachePoint::STUDY => whole(run, to, study::text::<CachePoint>, study::json::<CachePoint>),
        ReadAheadPoint::STUDY => whole(run, to, study::text::<ReadAheadPoint>, study::json::<ReadAheadPoint>),
        BlockPoint::STUDY => whole(run, to, study::text::<BlockPoint>, study::json::<BlockPoint>),
        "sweep" => about(run, to, sweep::text, sweep::json),
        "ranread" | "ranwrite" | "ranio" => whole(run, to, ran::text, ran::json),
        "waits" => whole(run, to, waits::text, waits::json),
        "tproc-c" | "tproc-c-sweep" => whole(run, to, tproc_c::text, tproc_c::json),
        "tproc-c-check" => about(run, to, tproc_c::checked_text, tproc_c::checked_json),
        // Of a procedure that concludes with tables.
        _ => about(run, to, result_table::text, result_table::json),
    }
}

/// A run about which a conclusion says everything; without that, the phases.
fn about<C: Conclusion>(
    run: &Run,
    to: Output,
    text: fn(&Run, &C, Style) -> String,
    json: fn(&Run, &C) -> Value,
) -> Shown {
    match (run.concluded::<C>().last(), to.format) {
        (None, _) => whole(run, to, job::text, job::json),
        (Some(concluded), Format::Json) => Shown::Json(json(run, &concluded)),
        (Some(concluded), _) => Shown::Text(text(run, &concluded, to.style)),
    }
}

fn whole(run: &Run, to: Output, text: fn(&Run, Style) -> String, json: fn(&Run) -> Value) -> Shown {
    match to.format {
        Format::Json => Shown::Json(json(run)),
        Format::Text | Format::Short => Shown::Text(text(run, to.style)),
    }
}
