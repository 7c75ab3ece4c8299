//! What a run measured, on what: tables of the page.

use iolite_model::{Bytes, Ending, Iops, Nanos, OpKind, Quantile};
use iolite_results::Run;
use iolite_stats::{Estimate, PhaseResult};
use maud::{Markup, html};

use crate::answer;
use crate::runs::utc;
use crate::styler::{count, escaped};
use crate::{configuration, machine};

/// The quantiles that have a column, with their headings.
const QUANTILES: [(&str, f64); 4] = [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999), ("p99.99", 0.9999)];

/// Rows of a table that is open at first: a longer one would hide what follows.
const OPEN_ROWS: usize = 24;

/// Where there is no value, or too few operations for it.
const NONE: &str = "–";

/// What was measured, on which storage, when, and how it ended.
pub(super) fn facts(run: &Run) -> Markup {
    let id = escaped(&run.info.id.0);
    html! {
        h3 { "What was measured: run " (id) }
        div.scroll tabindex="0" role="region" aria-label=(format!("What run {id} measured")) {
            table.facts {
                tbody {
                    @for (name, value) in facts_of(run) {
                        tr { th scope="row" { (name) } td { (escaped(value)) } }
                    }
                }
            }
        }
    }
}

fn facts_of(run: &Run) -> Vec<(&'static str, String)> {
    let (host, storage) = (&run.info.host, &run.info.storage);
    let filesystem = &storage.filesystem;
    let device = |device: &iolite_model::Device| {
        let mut text = format!("{} ({})", device.name, device.kind);
        text += &device.model.as_ref().map(|model| format!(", {model}")).unwrap_or_default();
        text += &format!(", {}", device.size);
        text += &device.scheduler.as_ref().map(|name| format!(", scheduler {name}")).unwrap_or_default();
        text + &device.write_cache.as_ref().map(|name| format!(", {name}")).unwrap_or_default()
    };
    let mut facts = vec![
        ("Command", run.info.command.join(" ")),
        ("Started", utc(run.info.started_unix, "%Y-%m-%d %H:%M:%S UTC")),
        ("Ended", ended(run).to_owned()),
        ("Directory", storage.directory.display().to_string()),
    ];
    if machine::is_device(filesystem) {
        facts.push(("Target", format!("{} {}, {}", filesystem.kind, filesystem.source, filesystem.size)));
    } else if !filesystem.kind.is_empty() {
        let text = format!(
            "{} on {}, {} of {} free, {}",
            filesystem.kind,
            filesystem.source,
            filesystem.free,
            filesystem.size,
            filesystem.options.join(",")
        );
        facts.push(("File system", text));
    }
    facts.extend(storage.devices.iter().map(|each| ("Device", device(each))));
    facts.push((
        "Host",
        format!(
            "{}, {} CPUs ({}), {} of memory, kernel {}",
            host.name, host.cpus, host.cpu, host.memory, host.kernel
        ),
    ));
    let configuration = configuration::of(run).map(|found| configuration::settings(&found.settings));
    facts.extend(configuration.filter(|text| !text.is_empty()).map(|text| ("Settings of the host", text)));
    let database = |facts: &iolite_model::DatabaseFacts| {
        format!("{} {}, {}, blocks of {}", facts.engine, facts.version, facts.size, facts.block)
    };
    let mut databases: Vec<String> = run.databases.values().map(database).collect();
    databases.dedup();
    facts.extend(databases.into_iter().map(|text| ("Database", text)));
    facts.push(("iolite", run.info.version.clone()));
    facts
}

fn ended(run: &Run) -> &str {
    match &run.ending {
        None => "not ended: it runs, or was cut short",
        Some(Ending::Completed) => "completed",
        Some(Ending::Interrupted) => "interrupted",
        Some(Ending::Failed(reason)) => reason,
    }
}

/// The warnings of a run; nothing without any.
pub(super) fn warnings(run: &Run) -> Markup {
    html! {
        @if !run.warnings.is_empty() {
            h3 { "Warnings of run " (escaped(&run.info.id.0)) }
            @let shown = answer::condensed(&run.warnings);
            ol { @for warning in &shown { li { (escaped(warning)) } } }
            @if shown.len() < run.warnings.len() {
                details {
                    summary { "All " (run.warnings.len()) " warnings" }
                    ol { @for warning in &run.warnings { li { (escaped(warning)) } } }
                }
            }
        }
    }
}

/// What of the host's configuration is worth changing for a database; nothing without any.
pub(super) fn configuration_notes(run: &Run) -> Markup {
    let notes = configuration::of(run).map(|found| found.notes).unwrap_or_default();
    html! {
        @if !notes.is_empty() {
            h3 { "Configuration for databases: run " (escaped(&run.info.id.0)) }
            ol { @for note in &notes {
                li { (escaped(note)) " (" a href=(note.source()) { "source" } ")" }
            } }
        }
    }
}

/// A row for each phase and kind of operation.
pub(super) fn figures(run: &Run) -> Markup {
    let id = escaped(&run.info.id.0);
    let kinds = |phase: &PhaseResult| OpKind::all().filter(|kind| phase.totals.operations(*kind) > 0).count();
    let rows: usize = run.phases.iter().map(kinds).sum();
    let headings = ["Phase", "Operation", "Source", "In flight", "Per second", "± 95 %", "MiB/s", "Mean"];
    html! {
        @if rows > 0 {
            h3 { "Figures of run " (id) }
            details open[rows <= OPEN_ROWS] {
            summary { (rows) " rows: each phase and kind of operation" }
            div.scroll tabindex="0" role="region" aria-label=(format!("Figures of run {id}")) {
                table.figures {
                    thead {
                        tr {
                            @for heading in headings { th scope="col" { (heading) } }
                            @for (name, _) in QUANTILES { th scope="col" { (name) } }
                            @for heading in ["Max", "Errors"] { th scope="col" { (heading) } }
                        }
                    }
                    tbody {
                        @for phase in &run.phases { @for kind in OpKind::all() { (row(phase, kind)) } }
                    }
                }
            }
            p.note {
                "± 95 %: interval of the rate within this run. Percentiles are omitted where too few operations were measured. "
                "Source: whether the data came from the device or from a cache."
            }
            }
        }
    }
}

fn row(phase: &PhaseResult, kind: OpKind) -> Markup {
    let Some(summary) = phase.summary(kind) else { return html! {} };
    let operations = phase.totals.operations(kind);
    let name = format!("{}. {}", u64::from(phase.info.index) + 1, phase.info.task.name());
    let half = (summary.rate.high - summary.rate.low) / 2.0;
    let relative = 100.0 * half / summary.rate.value;
    let quantile = |share: f64| {
        let known = Estimate::resolves(Quantile(share), operations);
        let estimate = phase.quantile(kind, Quantile(share)).filter(|_| known);
        estimate.map_or_else(|| NONE.to_owned(), |estimate| nanos(estimate.value))
    };
    let bytes = summary.bytes_per_second / Bytes::MIB.0 as f64;
    html! {
        tr {
            th scope="row" { (escaped(name)) }
            td { (kind.name()) }
            td { (phase.end.cache.stamp()) }
            td.number { (phase.info.task.concurrency()) }
            td.number { (Iops(summary.rate.value)) }
            td.number { @if relative.is_finite() { (format!("{relative:.1} %")) } @else { (NONE) } }
            td.number { @if bytes > 0.0 { (format!("{bytes:.1}")) } @else { (NONE) } }
            td.number { @if summary.mean.value.is_finite() { (nanos(summary.mean.value)) } @else { (NONE) } }
            @for (_, share) in QUANTILES { td.number { (quantile(share)) } }
            td.number { @if let Some(max) = summary.max { (max) } @else { (NONE) } }
            td.number { (count(summary.errors)) }
        }
    }
}

fn nanos(value: f64) -> String {
    Nanos(value.round() as u64).to_string()
}
