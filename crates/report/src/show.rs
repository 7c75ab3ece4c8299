//! Any run as its command prints it: live at its end, or read back from the store.

use iolite_model::acknowledged::{Findings, Plan};
use iolite_model::{
    BlockPoint, CachePoint, ClassicTerms, Conclusion, IometerTerms, PtsTerms, ReadAheadPoint, ResultTable,
};
use iolite_results::{Run, StateVerified};
use serde_json::Value;

use crate::ab::AbReport;
use crate::document::Report;
use crate::json::stored;
use crate::latency_target::LatencyReport;
use crate::meanwhile::Meanwhile;
use crate::observed::ObservedReport;
use crate::ran::RanReport;
use crate::run::RunReport;
use crate::study::{Circumstance, StudyReport};
use crate::styler::Style;
use crate::sweep::SweepReport;
use crate::tproc_c::TprocCReport;
use crate::waits::WaitsReport;
use crate::{
    ab, cachestat, classic, configuration, durability, iometer, latency_target, meanwhile, observed, pts,
    ran, result_table, run as job, stalls, study, sweep, tproc_c, waits,
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
    let procedure = run.asked().map(|asked| asked.procedure).unwrap_or_default();
    match of_procedure(&procedure, run, format, style) {
        Shown::Json(mut document) => {
            document["meanwhile"] = stored(Meanwhile::of(run));
            stalls::member(run).into_iter().for_each(|member| document["stalls"] = member);
            configuration::member(run).into_iter().for_each(|member| document["configuration"] = member);
            format!("{document:#}\n")
        }
        Shown::Text(text) if format == Format::Short => text,
        Shown::Text(text) => {
            // A run without phases, such as an observation, is about nothing else, or over at once.
            let meanwhile = if run.phases.is_empty() { String::new() } else { meanwhile::text(run, style) };
            crate::text::filled([text, stalls::text(run, style), configuration::text(run, style), meanwhile])
        }
    }
}

/// The output of a run without what was sampled meanwhile.
enum Shown {
    Text(String),
    Json(Value),
}

fn of_procedure(procedure: &str, run: &Run, format: Format, style: Style) -> Shown {
    match procedure {
        "check" => check(run, format, style),
        "ab" => match AbReport::of(run) {
            Some(report) => either(format, || ab::text(&report, style), || ab::json(&report)),
            None => of_job(run, format, style),
        },
        "latency-target" => match LatencyReport::of(run) {
            Some(report) => {
                either(format, || latency_target::text(&report, style), || latency_target::json(&report))
            }
            None => of_job(run, format, style),
        },
        "durability" => about(
            run,
            format,
            style,
            |found: &Findings| durability::text(found, style),
            |found| durability::json(run, found),
        ),
        "durability-run" => about(
            run,
            format,
            style,
            |plan: &Plan| durability::run_text(run, plan, style),
            |plan| durability::run_json(run, plan),
        ),
        "observe" => {
            let report = ObservedReport::of(run);
            either(format, || observed::text(&report, style), || observed::json(&report))
        }
        "cachestat" => either(format, || cachestat::text(run, style), || cachestat::json(run)),
        "classic" => about(
            run,
            format,
            style,
            |terms: &ClassicTerms| classic::text(run, terms, style),
            |terms| classic::json(run, terms),
        ),
        "iometer" => about(
            run,
            format,
            style,
            |terms: &IometerTerms| iometer::text(run, terms, style),
            |terms| iometer::json(run, terms),
        ),
        "pts" => about(
            run,
            format,
            style,
            |terms: &PtsTerms| pts::text(run, terms, style),
            |terms| pts::json(run, terms),
        ),
        "verify" => about(
            run,
            format,
            style,
            |state: &StateVerified| job::verified_text(&state.task, &state.found),
            |state| job::verified_json(&state.task, &state.found),
        ),
        CachePoint::STUDY => of_study::<CachePoint>(run, format, style),
        ReadAheadPoint::STUDY => of_study::<ReadAheadPoint>(run, format, style),
        BlockPoint::STUDY => of_study::<BlockPoint>(run, format, style),
        procedure => in_database(procedure, run, format, style),
    }
}

/// A run inside a database; any other is shown phase by phase.
fn in_database(procedure: &str, run: &Run, format: Format, style: Style) -> Shown {
    match procedure {
        "sweep" => match SweepReport::of(run) {
            Some(report) => either(format, || sweep::text(&report, style), || sweep::json(&report)),
            None => of_job(run, format, style),
        },
        "ranread" | "ranwrite" | "ranio" => {
            let report = RanReport::of(run);
            either(format, || ran::text(&report, style), || ran::json(&report))
        }
        "waits" => {
            let report = WaitsReport::of(run);
            either(format, || waits::text(&report, style), || waits::json(&report))
        }
        "tproc-c" | "tproc-c-sweep" => {
            let report = TprocCReport::of(run);
            either(format, || tproc_c::text(&report, style), || tproc_c::json(&report))
        }
        "tproc-c-check" => match (run.concluded().last(), run.concluded().last()) {
            (Some(database), Some(checked)) => either(
                format,
                || tproc_c::checked_text(&database, &checked, style),
                || tproc_c::checked_json(&database, &checked),
            ),
            _ => of_job(run, format, style),
        },
        _ => with_tables(procedure, run, format, style),
    }
}

/// A run that concludes with tables; any other is shown phase by phase.
fn with_tables(procedure: &str, run: &Run, format: Format, style: Style) -> Shown {
    let tables: Vec<ResultTable> = run.concluded().collect();
    if tables.is_empty() {
        return of_job(run, format, style);
    }
    either(
        format,
        || result_table::text(run, procedure, &tables, style),
        || result_table::json(run, procedure, &tables),
    )
}

/// What is printed of a conclusion, where the run has it.
fn about<C: Conclusion>(
    run: &Run,
    format: Format,
    style: Style,
    text: impl FnOnce(&C) -> String,
    json: impl FnOnce(&C) -> Value,
) -> Shown {
    match run.concluded::<C>().last() {
        Some(concluded) => either(format, || text(&concluded), || json(&concluded)),
        None => of_job(run, format, style),
    }
}

fn check(run: &Run, format: Format, style: Style) -> Shown {
    let report = Report::of(run);
    match format {
        Format::Short => Shown::Text(crate::text::judgement(&report, style)),
        format => either(format, || crate::text(&report, style), || crate::json(&report)),
    }
}

/// Phase by phase: what any run can be shown as.
fn of_job(run: &Run, format: Format, style: Style) -> Shown {
    let report = RunReport::of(run);
    either(format, || job::text(&report, style), || job::json(&report))
}

fn of_study<C: Circumstance>(run: &Run, format: Format, style: Style) -> Shown {
    let report = StudyReport::<C>::of(run);
    either(format, || study::text(&report, style), || study::json(&report))
}

fn either(format: Format, text: impl FnOnce() -> String, json: impl FnOnce() -> Value) -> Shown {
    match format {
        Format::Json => Shown::Json(json()),
        Format::Text | Format::Short => Shown::Text(text()),
    }
}
