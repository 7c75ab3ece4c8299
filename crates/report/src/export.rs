//! Runs as a table in CSV: a row per run, phase and kind of operation.
//!
//! Columns: `run`, `started_unix_ns`, `host`, `directory`, `phase`, `name`, `concurrency`, `kind`, `operations`, `errors`, `bytes`, `seconds`,
//! `iops`, `iops_low` and `iops_high` (its 95 % interval), `bytes_per_second`, `mean_ns`, `p50_ns`, `p99_ns`, `p99_9_ns`, `max_ns`, `stamp`, `ending`, `rehearsal` (`true` in a rehearsal of `iolite pts`). Percentiles come from the merged
//! histogram; a percentile for which there are too few operations is empty.

use iolite_model::OpKind;
use iolite_results::Run;
use iolite_results::comparison::Figure;
use iolite_stats::{Estimate, PhaseResult};

const COLUMNS: [&str; 24] = [
    "run",
    "started_unix_ns",
    "host",
    "directory",
    "phase",
    "name",
    "concurrency",
    "kind",
    "operations",
    "errors",
    "bytes",
    "seconds",
    "iops",
    "iops_low",
    "iops_high",
    "bytes_per_second",
    "mean_ns",
    "p50_ns",
    "p99_ns",
    "p99_9_ns",
    "max_ns",
    "stamp",
    "ending",
    "rehearsal",
];

/// The table.
///
/// # Errors
/// The text can't be put together: a defect.
pub fn csv(runs: &[Run]) -> Result<String, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(COLUMNS)?;
    for run in runs {
        for phase in &run.phases {
            for kind in OpKind::all() {
                if let Some(row) = row(run, phase, kind) {
                    writer.write_record(row)?;
                }
            }
        }
    }
    let bytes = writer.into_inner().map_err(|error| error.into_error())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn row(run: &Run, phase: &PhaseResult, kind: OpKind) -> Option<[String; 24]> {
    let totals = &phase.totals;
    if totals.operations(kind) == 0 && totals.errors(kind) == 0 {
        return None;
    }
    let summary = phase.summary(kind);
    let figure = |figure: Figure| {
        figure.of(phase, kind).map(|estimate| estimate.value.to_string()).unwrap_or_default()
    };
    let end = |of: fn(&Estimate) -> f64| {
        let known = summary.as_ref().filter(|summary| summary.rate.high.is_finite());
        known.map(|summary| of(&summary.rate).to_string()).unwrap_or_default()
    };
    Some([
        run.info.id.0.clone(),
        run.info.started_unix.0.to_string(),
        run.info.host.name.clone(),
        run.info.storage.directory.display().to_string(),
        phase.info.index.to_string(),
        phase.info.task.name().to_owned(),
        phase.info.task.concurrency().to_string(),
        kind.name().to_owned(),
        totals.operations(kind).to_string(),
        totals.errors(kind).to_string(),
        totals.bytes(kind).to_string(),
        (totals.measured as f64 / 1e9).to_string(),
        figure(Figure::Rate),
        end(|rate| rate.low),
        end(|rate| rate.high),
        figure(Figure::Bandwidth),
        figure(Figure::Mean),
        figure(Figure::P50),
        figure(Figure::P99),
        figure(Figure::P999),
        summary.as_ref().and_then(|summary| Some(summary.max?.0.to_string())).unwrap_or_default(),
        phase.end.cache.stamp().to_string(),
        phase.end.ending.name().to_owned(),
        run.rehearsal().is_some().to_string(),
    ])
}
